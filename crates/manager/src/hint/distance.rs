//! How many blocks lie between the cursor and a later entry: sums over chunks of entries, so that entries that are read or
//! turn out longer than thought change one number each.

use std::collections::VecDeque;

/// Entries of one chunk.
pub const CHUNK: u64 = 64;

/// Blocks still to be read, by chunk.
#[derive(Default)]
pub struct Distance {
    /// The number of the first chunk that is kept.
    first: u64,
    sums: VecDeque<u64>,
}

impl Distance {
    fn sum(&mut self, position: u64) -> Option<&mut u64> {
        let at = (position / CHUNK).checked_sub(self.first)? as usize;
        if at >= self.sums.len() {
            self.sums.resize(at + 1, 0);
        }
        self.sums.get_mut(at)
    }

    /// The entry at `position` has `to` blocks to be read, and no longer `from`.
    pub fn change(&mut self, position: u64, from: u64, to: u64) {
        if let Some(sum) = self.sum(position) {
            *sum = *sum - from + to;
        }
    }

    /// Nothing before `base` is asked about any more.
    pub fn trim(&mut self, base: u64) {
        while self.first < base / CHUNK {
            self.sums.pop_front();
            self.first += 1;
        }
    }

    /// Blocks of the chunks before that of `position`.
    pub fn before_chunk(&self, position: u64) -> u64 {
        let chunks = (position / CHUNK).saturating_sub(self.first) as usize;
        self.sums.iter().take(chunks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_follow_changes_and_the_cursor() {
        let mut distance = Distance::default();
        (0..200).for_each(|position| distance.change(position, 0, 2));
        assert_eq!([0, 63, 64, 150, 900].map(|position| distance.before_chunk(position)), [0, 0, 128, 256, 400]);
        distance.change(70, 2, 10);
        assert_eq!(distance.before_chunk(128), 264);
        distance.trim(64);
        distance.change(3, 2, 9);
        assert_eq!([64, 128].map(|position| distance.before_chunk(position)), [0, 136]);
    }
}
