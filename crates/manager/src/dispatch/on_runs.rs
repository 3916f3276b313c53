//! How much of what readers find brought, or bring by themselves, goes on runs, and whether that is
//! far more than when reading runs ahead was tried last.
//!
//! A trial speaks of what was read while it was made. Where hardly anything was read in runs, as
//! while a database looks up its index, nothing could be gained, and that says nothing of the scan
//! that comes later. So where runs were given up, a trial comes early once [`FAR_MORE`] times as
//! large a part of the reads goes on runs. The trial's part is the lesser of those with and without:
//! of a scan that began between two turns it knows no more.
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

/// Reads for the first time, and those of them that went on a run.
#[derive(Debug, Clone, Copy, Default)]
struct Reads {
    all: u32,
    on_runs: u32,
}

impl Reads {
    fn count(&mut self, referenced: Referenced) {
        let Referenced { missed, brought, on_run } = referenced;
        self.all = self.all.saturating_add(u32::from(missed + brought > 0));
        self.on_runs = self.on_runs.saturating_add(u32::from(on_run || brought > 0));
    }

    fn part(self) -> f64 {
        f64::from(self.on_runs) / f64::from(self.all.max(1))
    }
}

/// What is known of a device's reads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OnRuns {
    with: Reads,
    without: Reads,
    /// What part went on runs when it was tried last.
    tried_at: f64,
}

impl OnRuns {
    /// A reader read, while runs are read ahead or are left alone.
    pub fn count(&mut self, reads_runs: bool, referenced: Referenced) {
        let reads = if reads_runs { &mut self.with } else { &mut self.without };
        reads.count(referenced);
    }

    /// A trial begins; `early`, because of what was counted.
    pub fn trial_began(&mut self, early: bool) {
        *self = OnRuns { tried_at: if early { self.without.part() } else { 0.0 }, ..OnRuns::default() };
    }

    /// A trial is over, in which this was counted.
    pub fn trial_ended(&mut self) {
        let tried = self.with.part().min(self.without.part());
        *self = OnRuns { tried_at: tried.max(self.tried_at), ..OnRuns::default() };
    }

    /// Whether far more of what was read lately, while runs were left alone, goes on runs than when
    /// it was tried.
    pub fn are_far_more(&mut self) -> bool {
        if self.without.on_runs < READS {
            return false;
        }
        let far_more = self.without.part() > FAR_MORE * self.tried_at;
        if !far_more {
            self.without = Reads::default();
        }
        far_more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts so many reads more, of which the last so many went on runs.
    fn read(reads: &mut OnRuns, reads_runs: bool, count: u32, on_runs: u32) {
        for number in 0..count {
            let on_run = number >= count - on_runs;
            reads.count(reads_runs, Referenced { missed: 2, brought: 0, on_run });
        }
    }

    /// As a trial leaves it in which so many of 1,000 reads went on runs, with and without.
    fn tried_at(with: u32, without: u32) -> OnRuns {
        let mut reads = OnRuns::default();
        reads.trial_began(false);
        read(&mut reads, true, 1000, with);
        read(&mut reads, false, 1000, without);
        reads.trial_ended();
        reads
    }

    #[test]
    fn far_more_is_twice_as_many() {
        for (then, far_more) in [(0, true), (20, true), (450, true), (550, false), (1000, false)] {
            let mut reads = tried_at(then, then);
            read(&mut reads, false, READS, READS);
            assert_eq!(reads.are_far_more(), far_more, "after {then} of 1,000");
        }
    }

    #[test]
    fn a_scan_that_began_between_two_turns_was_not_tried() {
        for (with, without) in [(20, 1000), (1000, 20)] {
            let mut reads = tried_at(with, without);
            read(&mut reads, false, READS, READS);
            assert!(reads.are_far_more(), "{with} of 1,000 with, {without} without");
        }
    }

    #[test]
    fn what_was_read_long_before_does_not_hide_a_scan() {
        let mut reads = tried_at(20, 20);
        read(&mut reads, false, 10_000, 30);
        read(&mut reads, false, READS - 30, READS - 30);
        assert!(!reads.are_far_more());
        read(&mut reads, false, READS, READS);
        assert!(reads.are_far_more());
    }

    #[test]
    fn an_early_trial_that_finds_fewer_counts_as_made_at_what_it_came_for() {
        let mut reads = tried_at(20, 20);
        read(&mut reads, false, READS, READS);
        reads.trial_began(true);
        read(&mut reads, true, 1000, 20);
        read(&mut reads, false, 1000, 20);
        reads.trial_ended();
        read(&mut reads, false, READS, READS);
        assert!(!reads.are_far_more());
    }
}
