//! How much of what readers bring by themselves goes on runs, and whether that is far more than
//! when reading runs ahead was tried last.
//!
//! A trial speaks of what was read while it was made. Where hardly anything was read in runs, as
//! while a database looks up its index, nothing could be gained, and that says nothing of the scan
//! that comes later. So where runs were given up, a trial comes early once [`FAR_MORE`] times as
//! large a part of the reads goes on runs.
//!
//! An early trial counts as made at the part that it came for, if it finds less. So the next early
//! one takes twice as much again, and a load that changes all the time is not tried all the time.
//!
//! Worked example: of 1,000 reads in the turns without, 20 go on runs: 2 %, and runs are given up.
//! Then a scan begins, nearly all of the next reads go on it, and runs are tried at once. If that
//! shows no gain either, no part is twice as large, and the rest is as long as any.

use super::Referenced;

/// So many times as large a part is far more: more than chance makes of [`READS`].
const FAR_MORE: f64 = 2.0;
/// After so many reads on runs it is looked what part of all they are.
const READS: u32 = 64;

/// What is known of reads while runs are left alone.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OnRuns {
    /// Reads that missed, and those of them that went on a run.
    reads: u32,
    on_runs: u32,
    /// What part went on runs when it was tried last.
    tried_at: f64,
}

impl OnRuns {
    /// A reader read, where runs are left alone.
    pub fn count(&mut self, referenced: Referenced) {
        self.reads = self.reads.saturating_add(u32::from(referenced.missed > 0));
        self.on_runs = self.on_runs.saturating_add(u32::from(referenced.on_run));
    }

    /// A trial begins; `early`, because of what was counted.
    pub fn trial_began(&mut self, early: bool) {
        *self = OnRuns { tried_at: if early { self.part() } else { 0.0 }, ..OnRuns::default() };
    }

    /// A trial is over, in which this was counted.
    pub fn trial_ended(&mut self) {
        *self = OnRuns { tried_at: self.part().max(self.tried_at), ..OnRuns::default() };
    }

    /// Whether far more of what was read lately goes on runs than when it was tried.
    pub fn are_far_more(&mut self) -> bool {
        if self.on_runs < READS {
            return false;
        }
        let far_more = self.part() > FAR_MORE * self.tried_at;
        if !far_more {
            (self.reads, self.on_runs) = (0, 0);
        }
        far_more
    }

    fn part(&self) -> f64 {
        f64::from(self.on_runs) / f64::from(self.reads.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts so many reads more, of which the last so many went on runs.
    fn read(reads: &mut OnRuns, count: u32, on_runs: u32) {
        for number in 0..count {
            reads.count(Referenced { missed: 2, brought: 0, on_run: number >= count - on_runs });
        }
    }

    /// As a trial leaves it in which so many of 1,000 reads went on runs.
    fn tried_at(on_runs: u32) -> OnRuns {
        let mut reads = OnRuns::default();
        reads.trial_began(false);
        read(&mut reads, 1000, on_runs);
        reads.trial_ended();
        reads
    }

    #[test]
    fn far_more_is_twice_as_many() {
        for (then, far_more) in [(0, true), (20, true), (450, true), (550, false), (1000, false)] {
            let mut reads = tried_at(then);
            read(&mut reads, READS, READS);
            assert_eq!(reads.are_far_more(), far_more, "after {then} of 1,000");
        }
    }

    #[test]
    fn what_was_read_long_before_does_not_hide_a_scan() {
        let mut reads = tried_at(20);
        read(&mut reads, 10_000, 30);
        read(&mut reads, READS - 30, READS - 30);
        assert!(!reads.are_far_more());
        read(&mut reads, READS, READS);
        assert!(reads.are_far_more());
    }

    #[test]
    fn an_early_trial_that_finds_fewer_counts_as_made_at_what_it_came_for() {
        let mut reads = tried_at(20);
        read(&mut reads, READS, READS);
        reads.trial_began(true);
        read(&mut reads, 1000, 20);
        reads.trial_ended();
        read(&mut reads, READS, READS);
        assert!(!reads.are_far_more());
    }
}
