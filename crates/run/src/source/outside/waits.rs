//! Whether programs wait for what they read, as far as that can be told from outside.
//!
//! What the kernel reads from devices for a process, it counts. For FUSE it counts nothing: there
//! the time tells between a notice that a file was opened and the one that it was read, if nothing
//! much was done meanwhile.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use foresee_manager::FileId;

use super::members::Members;

/// From being opened to being read a file takes so long where the program waits, as far as can be
/// seen: our own sleep is half of it. Who did more than this meanwhile did not wait.
const WAIT_MIN: Duration = Duration::from_millis(1);
const DONE_MAX: usize = 8;
/// Files opened last, of which it is looked how long they take to be read.
const OPENED_MAX: usize = 64;
/// Notices of reads, none of which waited, after which no more are taken: each costs the program 5
/// us, and what it reads is in memory.
const RESTS_AFTER: u32 = 8192;

/// What is known of it.
#[derive(Default)]
pub(super) struct Waits {
    /// What was opened last, and when that was told.
    opened: VecDeque<(FileId, Instant)>,
    /// It was asked whether programs have waited since they were looked at last.
    has_asked: bool,
    /// Notices that were taken together with the one that is looked at.
    together: usize,
    /// Notices since a program waited, or something was brought ahead; and what had been brought by
    /// then.
    unwaited: u32,
    brought: u64,
}

impl Waits {
    /// What is told from here on happened since programs were looked at last.
    pub fn look_anew(&mut self) {
        self.has_asked = false;
    }

    /// So many notices were taken at one time.
    pub fn take_together(&mut self, notices: usize) {
        self.together = notices;
    }

    /// So much has been brought ahead by now: who does not wait may owe it to that.
    pub fn was_brought(&mut self, brought: u64) {
        if std::mem::replace(&mut self.brought, brought) != brought {
            self.unwaited = 0;
        }
    }

    /// A file was opened, as was told just now.
    pub fn was_opened(&mut self, file: FileId) {
        if self.opened.len() >= OPENED_MAX {
            self.opened.pop_front();
        }
        self.opened.push_back((file, Instant::now()));
    }

    /// The beginning of a file was read. Returns whether somebody waited for that.
    pub fn was_read(&mut self, file: FileId, members: &mut Members) -> bool {
        let opened = self.opened.iter().position(|(opened, _)| *opened == file).and_then(|at| self.opened.remove(at));
        let is_late = opened.is_some_and(|(_, at)| at.elapsed() >= WAIT_MIN) && self.together <= DONE_MAX;
        // What was read from devices meanwhile is asked once.
        let waited = is_late || !std::mem::replace(&mut self.has_asked, true) && members.has_waited();
        self.unwaited = if waited { 0 } else { self.unwaited + 1 };
        waited
    }

    /// Nobody has waited for so long that it need not be told what is read. Counts anew if so.
    pub fn are_rare(&mut self) -> bool {
        let are_rare = self.unwaited >= RESTS_AFTER;
        self.unwaited = if are_rare { 0 } else { self.unwaited };
        are_rare
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_waits_need_not_be_watched_unless_that_is_owed_to_us() {
        let (mut waits, mut members) = (Waits::default(), Members::default());
        for _ in 1..RESTS_AFTER {
            assert!(!waits.was_read(FileId(1), &mut members));
        }
        assert!(!waits.are_rare());
        waits.was_brought(7);
        waits.was_read(FileId(1), &mut members);
        assert!(!waits.are_rare(), "something was brought meanwhile");
        for _ in 1..RESTS_AFTER {
            waits.was_read(FileId(1), &mut members);
        }
        assert!(waits.are_rare() && !waits.are_rare());
    }

    #[test]
    fn who_reads_long_after_opening_has_waited_if_nothing_else_was_done() {
        let (mut waits, mut members) = (Waits::default(), Members::default());
        for (together, expected) in [(1, true), (100, false)] {
            waits.was_opened(FileId(1));
            std::thread::sleep(WAIT_MIN);
            waits.take_together(together);
            assert_eq!(waits.was_read(FileId(1), &mut members), expected);
            assert!(!waits.was_read(FileId(1), &mut members), "it was open before");
        }
    }
}
