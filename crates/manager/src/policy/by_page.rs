//! What is noted by page: vectors that grow by an eighth. One that doubles, as vectors do, takes twice
//! as much where there are just more pages than a power of two.

use crate::ids::Page;

/// The least growth, of pages, or of words of pages' flags.
const GROWTH_MIN: usize = 64;
/// The part of itself by which a vector grows.
const GROWTH_PART: usize = 8;

/// For how many more there is to be room where there are so many.
pub fn growth(len: usize) -> usize {
    (len / GROWTH_PART).max(GROWTH_MIN)
}

/// Makes room for what is noted of a page; `none` of those before it of which nothing was yet.
#[inline]
pub fn reach<T: Clone>(notes: &mut Vec<T>, page: Page, none: T) {
    if page as usize >= notes.len() {
        extend(notes, page as usize + 1, none);
    }
}

/// Whether something holds of a page: a bit each.
#[derive(Default)]
pub struct Flags(Vec<u64>);

impl Flags {
    /// Whether it does.
    pub fn holds(&self, page: Page) -> bool {
        let (word, bit) = place(page);
        self.0.get(word as usize).is_some_and(|word| word & bit != 0)
    }

    /// Of how many pages it does.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// It does from now on.
    pub fn set(&mut self, page: Page) {
        let (word, bit) = place(page);
        reach(&mut self.0, word, 0);
        self.0[word as usize] |= bit;
    }

    /// It does no longer.
    pub fn clear(&mut self, page: Page) {
        let (word, bit) = place(page);
        self.0.get_mut(word as usize).into_iter().for_each(|word| *word &= !bit);
    }
}

/// The word of a page's bit, and the bit.
fn place(page: Page) -> (u32, u64) {
    (page / u64::BITS, 1 << (page % u64::BITS))
}

#[cold]
fn extend<T: Clone>(notes: &mut Vec<T>, len: usize, none: T) {
    if len > notes.capacity() {
        notes.reserve_exact((len - notes.len()).max(growth(notes.len())));
    }
    notes.resize(len, none);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_an_eighth_more_and_no_further() {
        let mut notes = Vec::new();
        let mut grown = 0;
        for page in 0..100_000 {
            let before = notes.capacity();
            reach(&mut notes, page, 7_u64);
            assert!(notes.capacity() <= (notes.len() * 9 / 8).max(notes.len() + GROWTH_MIN), "{}", notes.len());
            grown += u64::from(notes.capacity() > before);
        }
        assert!(notes.len() == 100_000 && notes.iter().all(|&note| note == 7));
        assert!(grown < 80, "{grown} times");
        reach(&mut notes, 5, 0);
        assert_eq!(notes.len(), 100_000);
    }
}
