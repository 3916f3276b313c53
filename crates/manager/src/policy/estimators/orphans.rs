//! Pages that nobody owns: they go before all others, in the order in which they came to be.

use crate::ids::Page;
use crate::policy::Candidate;
use crate::policy::list::List;

/// Pages that no estimator owned when they were put here.
#[derive(Default)]
pub struct Orphans {
    pages: List,
    /// What those that are here were worth when nobody owned them any more.
    worth: Vec<Option<f32>>,
}

impl Orphans {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Nobody owns this page, which was worth so much.
    pub fn push(&mut self, page: Page, worth: f64) {
        let at = page as usize;
        if at >= self.worth.len() {
            self.worth.resize(at + 1, None);
        }
        if self.worth[at].replace(worth as f32).is_none() {
            self.pages.push_newest(page);
        }
    }

    /// The page goes, or is owned again.
    pub fn remove(&mut self, page: Page) {
        if self.worth.get_mut(page as usize).and_then(Option::take).is_some() {
            self.pages.remove(page);
        }
    }

    /// The first page that can go and is not owned by now.
    pub fn first(&self, is_owned: impl Fn(Page) -> bool, can_go: impl Fn(Page) -> bool) -> Option<Candidate> {
        let page = self.pages.oldest_first().find(|&page| !is_owned(page) && can_go(page))?;
        let price = self.worth[page as usize].map_or(f64::NEG_INFINITY, f64::from);
        Some(Candidate::orphan(page, price))
    }

    /// Those before the first page that can go are no orphans any more if they are owned by now.
    pub fn clear(&mut self, is_owned: impl Fn(Page) -> bool, can_go: impl Fn(Page) -> bool) {
        let before = self.pages.oldest_first().take_while(|&page| is_owned(page) || !can_go(page));
        let owned: Vec<Page> = before.filter(|&page| is_owned(page)).collect();
        owned.into_iter().for_each(|page| self.remove(page));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_first_that_can_go() {
        let mut orphans = Orphans::default();
        [3, 1, 4, 1, 5].iter().for_each(|&page| orphans.push(page, f64::from(page)));
        assert_eq!(orphans.first(|_| false, |page| page != 3), Some(Candidate::orphan(1, 1.0)));
        orphans.remove(1);
        orphans.remove(9);
        assert_eq!(orphans.first(|page| page == 3, |_| true), Some(Candidate::orphan(4, 4.0)));
        assert_eq!(orphans.first(|_| false, |_| true), Some(Candidate::orphan(3, 3.0)));
        // It is owned when all are looked at: it is an orphan no longer.
        orphans.clear(|page| page == 3, |_| true);
        assert_eq!(orphans.first(|_| false, |_| true), Some(Candidate::orphan(4, 4.0)));
        orphans.push(3, 3.0);
        orphans.remove(4);
        assert_eq!(orphans.first(|_| false, |_| true), Some(Candidate::orphan(5, 5.0)));
    }

    /// A reader that exits leaves as many as it had pages; each goes without a look at the others.
    #[test]
    fn many_go_one_by_one() {
        let looks = Cell::new(0);
        let mut orphans = Orphans::default();
        (0..10_000).for_each(|page| orphans.push(page, f64::from(page)));
        let is_owned = |_| {
            looks.set(looks.get() + 1);
            false
        };
        while let Some(Candidate { page, .. }) = orphans.first(is_owned, |_| true) {
            orphans.remove(page);
        }
        assert_eq!(looks.get(), 10_000);
    }
}
