//! Which sequences may have a next step. To look at each of 4,096 sequences at each event would
//! cost more than the event; one that had nothing to do stays aside until it changes.

/// A set of sequence numbers, as bits.
#[derive(Default)]
pub struct Awake(Vec<u64>);

impl Awake {
    /// This sequence changed.
    pub fn wake(&mut self, id: u16) {
        let (word, bit) = place(id);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bit;
    }

    /// This sequence has nothing to do until it changes.
    pub fn sleep(&mut self, id: u16) {
        let (word, bit) = place(id);
        if let Some(word) = self.0.get_mut(word) {
            *word &= !bit;
        }
    }

    /// The least number in the set that is at least `from`.
    pub fn at_or_after(&self, from: u16) -> Option<u16> {
        let (first, bit) = place(from);
        let words = self.0.iter().enumerate().skip(first);
        words
            .map(|(at, &word)| (at, if at == first { word & !(bit - 1) } else { word }))
            .find(|&(_, word)| word != 0)
            .map(|(at, word)| (at as u32 * u64::BITS + word.trailing_zeros()) as u16)
    }
}

fn place(id: u16) -> (usize, u64) {
    (usize::from(id) / u64::BITS as usize, 1 << (u32::from(id) % u64::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_order_until_they_sleep() {
        let mut awake = Awake::default();
        assert_eq!(awake.at_or_after(0), None);
        awake.sleep(900);
        [4095, 64, 0, 63].iter().for_each(|&id| awake.wake(id));
        let all = |awake: &Awake| {
            let first = awake.at_or_after(0);
            std::iter::successors(first, |&id| awake.at_or_after(id + 1)).collect::<Vec<_>>()
        };
        assert_eq!(all(&awake), [0, 63, 64, 4095]);
        [0, 64].iter().for_each(|&id| awake.sleep(id));
        assert_eq!(all(&awake), [63, 4095]);
    }
}
