//! A cache that shares the file of another one: it reads what that keeps and writes nothing. It
//! looks the other's entries over when it misses something, some at a time, and takes its place
//! once that is gone.

use std::time::{Duration, Instant};

/// Entries that are looked at at once: 640 KiB of the file.
pub const LOOKED_AT_ONCE: u32 = 1 << 14;
/// After all were looked at, they are left alone for so long at least.
const PAUSE: Duration = Duration::from_secs(5);
/// And for so many times as long as it took: a long file's entries are no stream of their own.
const PAUSE_TIMES: u32 = 20;

/// How far it is.
pub struct Guest {
    /// The entry that is looked at next.
    next: u32,
    /// Of how many.
    slots: u32,
    is_looking: bool,
    /// When it began with the first one.
    begun: Instant,
    /// Before that it does not begin anew.
    not_before: Instant,
    /// The other one is gone, and all that it left is known once they all were looked at.
    is_alone: bool,
}

impl Guest {
    /// It has just seen all of so many entries.
    pub fn new(slots: u32, now: Instant) -> Self {
        Guest { next: 0, slots, is_looking: false, begun: now, not_before: now + PAUSE, is_alone: false }
    }

    /// Something is missed: the first of the entries that are to be looked at now, if it is time.
    pub fn look(&mut self, now: Instant) -> Option<u32> {
        if self.is_looking || now < self.not_before {
            return None;
        }
        (self.is_looking, self.begun) = (true, now);
        Some(self.next)
    }

    /// Some were looked at, so many, and whether nobody else has the file. The first of those to be
    /// looked at next.
    pub fn looked(&mut self, entries: u32, is_alone: bool, now: Instant) -> Option<u32> {
        self.is_alone |= is_alone;
        self.next += entries;
        if entries > 0 && self.next < self.slots {
            return Some(self.next);
        }
        (self.next, self.is_looking) = (0, false);
        self.not_before = now + PAUSE.max((now - self.begun) * PAUSE_TIMES);
        None
    }

    /// Whether it is the other one's heir.
    pub fn is_heir(&self) -> bool {
        self.is_alone && !self.is_looking
    }

    /// What it knew proved to be old.
    pub fn was_wrong(&mut self, now: Instant) {
        self.not_before = self.not_before.min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_looked_at_and_then_nothing_for_a_while() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut guest = Guest::new(25, begun);
        assert_eq!((guest.look(after(4)), guest.look(after(5)), guest.look(after(5))), (None, Some(0), None));
        assert_eq!((guest.looked(10, false, after(5)), guest.looked(10, true, after(6))), (Some(10), Some(20)));
        assert!(!guest.is_heir());
        assert_eq!((guest.looked(5, false, after(6)), guest.look(after(25)), guest.is_heir()), (None, None, true));
        assert_eq!(guest.look(after(26)), Some(0));
        // It cannot be read.
        assert_eq!((guest.looked(0, false, after(26)), guest.look(after(26))), (None, None));
        guest.was_wrong(after(27));
        assert_eq!(guest.look(after(27)), Some(0));
    }
}
