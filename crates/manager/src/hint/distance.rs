//! How many blocks lie between the cursor and a later entry: sums over chunks of entries, over
//! chunks of these and once more, so that entries that are read or turn out longer than thought
//! change three numbers each, and a million entries ahead are few to add up.

use std::collections::VecDeque;

/// Entries of one chunk, and chunks of a larger one.
pub const CHUNK: u64 = 64;
const LEVELS: usize = 3;

/// Blocks still to be read, by chunk.
#[derive(Default)]
pub struct Distance {
    levels: [Level; LEVELS],
}

/// Of chunks of one size.
#[derive(Default)]
struct Level {
    /// The number of the first chunk that is kept.
    first: u64,
    sums: VecDeque<u64>,
}

impl Level {
    fn sum(&mut self, chunk: u64) -> Option<&mut u64> {
        let at = chunk.checked_sub(self.first)? as usize;
        if at >= self.sums.len() {
            self.sums.resize(at + 1, 0);
        }
        self.sums.get_mut(at)
    }

    /// Takes the first chunk off; returns its number and what it came to.
    fn pop(&mut self) -> (u64, u64) {
        self.first += 1;
        (self.first - 1, self.sums.pop_front().unwrap_or(0))
    }

    /// What these chunks come to, as far as they are kept.
    fn between(&self, from: u64, to: u64) -> u64 {
        let at = |chunk: u64| (chunk.saturating_sub(self.first) as usize).min(self.sums.len());
        self.sums.range(at(from)..at(to)).sum()
    }
}

impl Distance {
    /// The entry at `position` has `to` blocks to be read, and no longer `from`.
    pub fn change(&mut self, position: u64, from: u64, to: u64) {
        if position / CHUNK < self.levels[0].first {
            return;
        }
        let mut chunk = position;
        for level in &mut self.levels {
            chunk /= CHUNK;
            if let Some(sum) = level.sum(chunk) {
                *sum = *sum - from + to;
            }
        }
    }

    /// Nothing before `base` is asked about any more.
    pub fn trim(&mut self, base: u64) {
        let [small, larger @ ..] = &mut self.levels;
        while small.first < base / CHUNK {
            let (mut chunk, sum) = small.pop();
            let mut is_empty = true;
            for level in &mut *larger {
                is_empty &= (chunk + 1).is_multiple_of(CHUNK);
                chunk /= CHUNK;
                if let Some(it) = level.sum(chunk) {
                    *it -= sum;
                }
                if is_empty {
                    level.pop();
                }
            }
        }
    }

    /// Blocks of the chunks before that of `position`.
    pub fn before_chunk(&self, position: u64) -> u64 {
        let (mut blocks, mut from) = (0, 0);
        for (level, entries) in self.levels.iter().zip([CHUNK, CHUNK.pow(2), CHUNK.pow(3)]).rev() {
            let to = position / entries;
            blocks += level.between(from / entries, to);
            from = to * entries;
        }
        blocks
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

    #[test]
    fn a_million_are_added_up() {
        const ENTRIES: u64 = 600_000;
        let blocks = |position: u64| position * 7 % 11;
        let mut distance = Distance::default();
        (0..ENTRIES).for_each(|position| distance.change(position, 0, blocks(position)));
        for base in [0, 63, 64, 4095, 4096, 5000, 262_144, 500_001] {
            distance.trim(base);
            let base = base - base % CHUNK;
            for position in
                [base, base + 64, base + 70_000, 262_144, ENTRIES, u64::MAX].into_iter().filter(|&it| it >= base)
            {
                let to = (position - position % CHUNK).min(ENTRIES);
                assert_eq!(distance.before_chunk(position), (base..to).map(blocks).sum(), "{base} to {position}");
            }
        }
    }
}
