//! Where the readers of a sequence are in it.
//!
//! What was recorded of a run may be read by several processes and threads side by side, each in
//! its order, and one of them may be far ahead of another. So the cursor follows the hindmost of
//! them: the least of the places that came true of late. Names are apart from blocks: who lists all
//! directories first and reads the files after that has two places.
//!
//! What one program disclosed is read by one until it reads what the cursor has just passed over:
//! then it reads by several threads.

use std::collections::VecDeque;

use super::JUMP_ENTRIES_MAX;

/// Places that came true of late, of those who read together.
const RECENT: usize = 64;

/// Of as many that came true near each other some reader is there.
pub(super) const NEAR: usize = 4;

/// The entries of a sequence that one cursor passes over.
#[derive(Debug)]
pub(super) struct Lane {
    /// The positions of its entries that the cursor has not passed, some of which are closed.
    positions: VecDeque<u64>,
    /// Where its readers came true of late, one place if there is one reader.
    recent: VecDeque<u64>,
    readers: usize,
    /// The last read beyond the jump, and how many before it came in order.
    far: u64,
    far_run: u64,
}

impl Lane {
    /// Of entries that are read by one, or by several `together`.
    pub fn new(together: bool) -> Self {
        let readers = if together { RECENT } else { 1 };
        Lane { positions: VecDeque::new(), recent: VecDeque::new(), readers, far: 0, far_run: 0 }
    }

    /// From now on several read together.
    pub fn is_of_several(&mut self) {
        self.readers = RECENT;
    }

    pub fn is_together(&self) -> bool {
        self.readers > 1
    }

    /// The furthest place that came true of late.
    pub fn foremost(&self) -> Option<u64> {
        self.recent.iter().max().copied()
    }

    /// An entry, after all others.
    pub fn push(&mut self, position: u64) {
        self.positions.push_back(position);
    }

    /// A reader read what is disclosed at `position`. Returns where the cursor is by that, which
    /// may be where it was; None if that is far from where the readers are. `base` is the
    /// position of the first entry that is kept.
    pub fn read(&mut self, position: u64, base: u64) -> Option<u64> {
        let foremost = self.foremost().map_or(base, |it| it.max(base));
        if position <= foremost + JUMP_ENTRIES_MAX {
            self.far_run = 0;
        } else if !self.has_gone_to(position) {
            return None;
        }
        if self.recent.len() == self.readers {
            self.recent.pop_front();
        }
        self.recent.push_back(position);
        let hindmost = self.hindmost().filter(|_| self.recent.len() == self.readers);
        Some(hindmost.unwrap_or(base))
    }

    /// The least place near which others came true of late as well: one by itself came true by
    /// chance, where much is disclosed wrongly.
    fn hindmost(&self) -> Option<u64> {
        let is_place = |place: u64| {
            let near = self.recent.iter().filter(|&&it| (place..=place + JUMP_ENTRIES_MAX).contains(&it)).count();
            near >= self.readers.min(NEAR)
        };
        let mut place = self.recent.iter().min().copied()?;
        while !is_place(place) {
            place = self.recent.iter().copied().filter(|&it| it > place).min()?;
        }
        Some(place)
    }

    /// Whether enough reads far away, in order, say that the reader is there.
    fn has_gone_to(&mut self, position: u64) -> bool {
        if position != self.far {
            let in_order = position > self.far && position - self.far <= JUMP_ENTRIES_MAX;
            self.far_run = if in_order { self.far_run + 1 } else { 0 };
            self.far = position;
        }
        let is_there = self.far_run >= JUMP_ENTRIES_MAX;
        if is_there {
            self.recent.clear();
        }
        is_there
    }

    /// The next position that the cursor passes on its way to this one.
    pub fn pass(&mut self, to: u64) -> Option<u64> {
        self.positions.front().filter(|&&position| position < to)?;
        self.positions.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cursor after these places came true, where several read together.
    fn cursor(places: impl Iterator<Item = u64>) -> u64 {
        let mut lane = Lane::new(true);
        places.filter_map(|place| lane.read(place, 0)).last().unwrap()
    }

    #[test]
    fn what_comes_true_by_chance_holds_nobody_back() {
        let strays = |at: u64| if at % 8 == 7 { (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % at } else { at };
        let cursor = cursor((0..2000).map(strays));
        assert!(cursor > 1900 - JUMP_ENTRIES_MAX, "{cursor}");
    }

    #[test]
    fn the_cursor_is_where_the_hindmost_reads() {
        // Three are where they may be by the jump, one far behind them.
        let readers = |at: u64| if at % 4 == 3 { at / 4 } else { at };
        let cursor = cursor((0..4000).map(readers));
        assert!((900..1000).contains(&cursor), "{cursor}");
    }
}
