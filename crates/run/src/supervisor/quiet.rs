//! When nobody waits for a device, programs need not tell which files they look up, open and read:
//! telling, and taking it in, is what foresee costs them then. A program ends that by itself at its
//! first call of these that waits (`Region::set_quiet`).
//!
//! Worked example: `du` of 35,000 names in memory: 0.18 s, and 0.65 under foresee as long as each
//! was told, and listed and looked up ahead besides.
//!
//! What is not told is not recorded. So a run of which nothing is known yet goes on telling for
//! longer, and one that went by an earlier run's profile leaves that in its place, unless it told
//! more, or in any case if it did not tell how it began.
//!
//! Threads that wait for each other end it, too, and what is told then is told in vain. So where
//! nothing had to be brought since, it goes on for some milliseconds whatever waits. And where
//! reading ahead is suspended until programs wait, they need not tell anything but for how long
//! (`Region::counts_waits`).
//!
//! Where all that a command read was in memory, its next run begins so (`Findings::in_memory`). What
//! it waits for then is read ahead, as what the profile says is disclosed from there on.

use std::time::Duration;

use foresee_manager::{FileId, Statistics};
use foresee_ring::{FAR_PART, ticks};

use super::read::BLOCKS_A_CALL;
use super::{COPY_MAX, STALL_MIN, Supervisor};
use crate::host::HEAD_START;

/// Reads and look-ups that found all in memory, after which no more need be told: the first of them
/// cost a millisecond. A long read counts as several: it is as much to take in.
const AFTER: u32 = 1024;
/// The same where a run is recorded of which nothing is known. Opens and reads of twice as many
/// files are what the ring holds: of a program that reads more, faster than we follow, some would
/// be lost, and a record with gaps is not kept at all.
const AFTER_RECORDED: u32 = 8192;
/// So many of them make up for one that waited, and for one that may have: each may also have
/// waited for a processor.
const MAKE_UP_FOR_WAIT: u32 = 256;
const MAKE_UP_FOR_FAR: u32 = 64;
/// Each time that a walk goes on where the program waits it may find so much even if nobody waits by
/// then: a program that finds the names of a whole directory in memory is quiet again before the
/// next directory is listed.
const FOUND_QUIET_MAX: u32 = 512;
/// For so long nothing ends it after it was ended in vain: first, and at most. To tell what makes
/// up for one that waited takes us 0.1 to 0.2 ms.
const HELD_MIN: Duration = Duration::from_millis(1);
const HELD_MAX: Duration = Duration::from_millis(8);

/// Less than such a part of a stream is read again.
const READ_AGAIN_PART: u64 = 64;

/// The last tick there is: none that waits ends it (`Region::set_quiet`).
const UNTIL_TAKEN_UP: u64 = u64::MAX;

/// What was heard of programs: reads, and look-ups but for opens that took no time; how long calls and
/// faults took that waited; and whether programs disclosed what they read, or some told nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heard {
    pub calls: u64,
    pub waited: Duration,
    pub otherwise: bool,
}

/// Whether it is so.
#[derive(Default)]
pub(super) struct Quiet {
    /// What is read is recorded, and no earlier run's record is there.
    is_first: bool,
    /// Reads and look-ups that found all in memory, but for those that made up for others.
    near: u32,
    /// What had been brought from devices when their count began, and names by now.
    brought: u64,
    names_brought: u64,
    /// Something was brought since memory was full.
    has_brought_when_full: bool,
    /// What we said last.
    is_quiet: bool,
    /// Until when (in ticks) nothing that waits ends it: [`UNTIL_TAKEN_UP`] for as long as reading
    /// ahead is suspended.
    until: u64,
    /// How long that was, and what had been brought when it began last.
    held: Duration,
    brought_before: Option<u64>,
    /// It ended, and what was recorded is to be disclosed from the next file on that is heard of.
    is_to_resume: bool,
    /// A mapping ends it as soon as something may: no fault of it will be seen.
    mapped: Option<FileId>,
    heard: Heard,
    /// Some of the run was not told, or how it begins.
    was_quiet: bool,
    was_quiet_at_first: bool,
    /// Programs read on while the walk ahead of them stood still.
    is_walk_behind: bool,
    /// What the walk may find yet while nobody waits, and what had been brought when that was said.
    may_find: u32,
    may_find_since: Option<u64>,
}

impl Quiet {
    /// What is to be done with what a run reads, and whether an earlier one's record is there.
    pub fn new(is_recorded: bool, is_known: bool) -> Self {
        Quiet { is_first: is_recorded && !is_known, ..Quiet::default() }
    }

    /// Whether programs tell nothing now.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Whether some of the run was not told.
    pub fn was_quiet(&self) -> bool {
        self.was_quiet
    }

    /// What was heard of programs so far.
    pub fn heard(&self) -> Heard {
        self.heard
    }

    /// It begins, and so much was brought by now. Returns for how long nothing is to end it.
    fn begin(&mut self, brought: u64) -> Duration {
        let is_in_vain = self.brought_before.replace(brought) == Some(brought);
        self.held = if is_in_vain { (self.held * 2).clamp(HELD_MIN, HELD_MAX) } else { Duration::ZERO };
        self.held
    }

    /// The run begins. Whether how it does is not told shows by now.
    pub fn begin_run(&mut self) {
        self.was_quiet_at_first = self.is_quiet;
    }

    /// Whether how the run began was not told.
    pub fn was_quiet_at_first(&self) -> bool {
        self.was_quiet_at_first
    }

    /// So many are enough.
    fn after(&self) -> u32 {
        if self.is_first { AFTER_RECORDED } else { AFTER }
    }

    /// Programs read on while the walk ahead of them stood still, and are heard of again.
    pub fn is_walk_behind(&self) -> bool {
        self.is_walk_behind && !self.is_quiet
    }

    /// Programs go on, and the walk ahead of them does not.
    pub fn walk_falls_behind(&mut self) {
        self.is_walk_behind = true;
    }

    /// The walk is where they are.
    ///
    /// So much was brought by now. Where nothing was since it was so the last time, what is found may
    /// all be in memory, and programs that lose the processor now and then must not have all of it
    /// found.
    pub fn walk_goes_on(&mut self, brought: u64) {
        self.is_walk_behind = false;
        if self.may_find_since.replace(brought) != Some(brought) {
            self.may_find = FOUND_QUIET_MAX;
        }
    }

    /// Nothing is to be found ahead of programs: they do not wait, or it is not known where they
    /// are.
    pub fn stops_walk(&self) -> bool {
        self.is_walk_behind || (self.is_quiet && self.may_find == 0)
    }

    /// The walk found something ahead of them.
    pub fn found(&mut self) {
        if self.is_quiet {
            self.may_find = self.may_find.saturating_sub(1);
        }
    }
}

/// Calls that are as much work as one that reads so many blocks.
fn calls(blocks: u64) -> u32 {
    u32::try_from(blocks / BLOCKS_A_CALL).unwrap_or(u32::MAX).saturating_add(1)
}

impl Supervisor<'_> {
    /// A program read so many blocks, or looked a name up, and told of it.
    pub(super) fn notice_pace(&mut self, took: Duration, blocks: u64, waited: bool) {
        let is_far = took >= STALL_MIN / FAR_PART + COPY_MAX * blocks as u32;
        let (brought, names_brought) = (self.driver.host.brought(), self.driver.host.names_brought());
        self.quiet.heard.calls += 1;
        self.quiet.heard.waited += if waited { took } else { Duration::ZERO };
        // One that waited may have waited for another thread, where the processors are busy.
        let names = u32::try_from(names_brought - self.quiet.names_brought).unwrap_or(u32::MAX);
        self.quiet.near = self.quiet.near.saturating_sub(names.saturating_mul(MAKE_UP_FOR_FAR));
        self.quiet.names_brought = names_brought;
        if is_far && self.quiet.is_quiet && ticks() >= self.quiet.until {
            return self.end_quiet();
        }
        self.quiet.has_brought_when_full |=
            brought != self.quiet.brought && self.driver.manager().statistics().evictions > 0;
        let near = self.quiet.near;
        let calls = if self.quiet.is_first { 1 } else { calls(blocks) };
        self.quiet.near = match (waited, is_far) {
            _ if brought != self.quiet.brought => 0,
            (true, _) => near.saturating_sub(calls.saturating_mul(MAKE_UP_FOR_WAIT)),
            (false, true) => near.saturating_sub(calls.saturating_mul(MAKE_UP_FOR_FAR)),
            (false, false) => near.saturating_add(calls),
        };
        self.quiet.brought = brought;
        if self.quiet.near >= self.quiet.after() && !self.quiet.is_quiet && self.may_be_quiet() {
            let held = self.quiet.begin(brought + names_brought);
            self.be_quiet(ticks().saturating_add(self.ring.ticks(held)));
        }
    }

    /// The run begins so: when its command ran before, all was in memory. What programs consist of they
    /// wait for in any case, and for so long nothing is brought.
    pub(super) fn begin_quiet(&mut self) {
        if self.may_be_quiet() {
            let _ = self.quiet.begin(0);
            self.be_quiet(ticks().saturating_add(self.ring.ticks(HEAD_START)));
        }
    }

    /// A file was mapped that is large enough to be read through it: no call will say that it waits.
    /// Faults of what is watched do.
    pub(super) fn notice_mapping(&mut self, file: FileId, is_watched: bool) {
        if self.quiet.is_quiet && !self.end_quiet_at(file) && !is_watched {
            self.quiet.mapped = Some(file);
        }
    }

    /// What a program touched, or read unheard, had to be brought.
    pub(super) fn notice_fault(&mut self, file: FileId) {
        self.notice_wait_of(STALL_MIN);
        self.end_quiet_at(file);
    }

    /// A program waited for so long, in no call that is told of otherwise.
    pub(super) fn notice_wait_of(&mut self, took: Duration) {
        self.quiet.heard.waited += took;
    }

    /// All is told again, if something may end the quiet now, and what was recorded is disclosed from
    /// this file on.
    fn end_quiet_at(&mut self, file: FileId) -> bool {
        let ends = self.quiet.is_quiet && ticks() >= self.quiet.until;
        if ends {
            self.end_quiet();
            self.find_recorded(file, false);
        }
        ends
    }

    /// Whether the next file that is heard of is where programs are, now that they are heard again.
    pub(super) fn takes_up_recorded(&mut self) -> bool {
        std::mem::take(&mut self.quiet.is_to_resume)
    }

    /// The same, without taking it.
    pub(super) fn is_to_resume(&self) -> bool {
        self.quiet.is_to_resume
    }

    fn be_quiet(&mut self, until: u64) {
        (self.quiet.is_quiet, self.quiet.was_quiet, self.quiet.until) = (true, true, until);
        self.quiet.is_to_resume = false;
        self.ring.region.set_quiet(until);
        self.withdraw_recorded();
    }

    /// Not where somebody wants to hear of all reads, nor where they decide which page goes next,
    /// nor where programs disclose what they will read: what of that they have read must be
    /// known. Nor while some do not tell: whether those wait is not known.
    ///
    /// Which page goes matters once some did, if something was brought since, or is read again: not of a
    /// stream of what is in memory.
    pub(super) fn may_be_quiet(&self) -> bool {
        let manager = self.driver.manager();
        let &Statistics { evictions, hits, references, .. } = manager.statistics();
        let is_stream = !self.quiet.has_brought_when_full && hits * READ_AGAIN_PART <= references;
        let decides = manager.takes_advice() || evictions > 0 && !is_stream;
        self.trace.is_none() && !decides && self.library.is_silent() && !self.outside.is_awake()
    }

    /// Looks whether a program waited, or something else ended it, and whether nothing is read ahead.
    ///
    /// What the first run of a command reads is told though that is suspended, to be recorded.
    pub(super) fn follow_quiet(&mut self) {
        self.quiet.heard.otherwise |= !self.library.is_silent() || self.outside.is_awake();
        if let Some(file) = self.quiet.mapped.filter(|_| ticks() >= self.quiet.until) {
            self.end_quiet_at(file);
        }
        let is_suspended = self.suspension.is_suspended_until_waits() && !self.quiet.is_first && self.may_be_quiet();
        let was_suspended = self.quiet.is_quiet && self.quiet.until == UNTIL_TAKEN_UP;
        match (was_suspended, is_suspended) {
            (false, true) => self.be_quiet(UNTIL_TAKEN_UP),
            (true, false) => self.end_quiet(),
            _ if self.quiet.is_quiet && !(self.ring.region.is_quiet() && self.may_be_quiet()) => self.end_quiet(),
            _ => {}
        }
    }

    fn end_quiet(&mut self) {
        self.quiet.near = self.quiet.after() - MAKE_UP_FOR_FAR;
        self.quiet.is_quiet = false;
        self.quiet.is_to_resume = true;
        self.quiet.mapped = None;
        self.quiet.walk_falls_behind();
        self.ring.region.end_quiet();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_ended_in_vain_is_not_ended_so_soon_again() {
        let mut quiet = Quiet::default();
        let held: Vec<u128> = [5, 5, 5, 5, 5, 5, 6, 6].iter().map(|&it| quiet.begin(it).as_millis()).collect();
        assert_eq!(held, [0, 1, 2, 4, 8, 8, 0, 1]);
    }

    #[test]
    fn a_walk_that_goes_on_where_programs_wait_finds_a_part_though_they_are_quiet() {
        let mut quiet = Quiet { is_quiet: true, ..Quiet::default() };
        assert!(quiet.stops_walk());
        quiet.walk_goes_on(7);
        (1..FOUND_QUIET_MAX).for_each(|_| quiet.found());
        assert!(!quiet.stops_walk());
        quiet.found();
        assert!(quiet.stops_walk());
        quiet.walk_goes_on(7);
        assert!(quiet.stops_walk(), "nothing of that had to be brought");
        quiet.walk_goes_on(8);
        assert!(!quiet.stops_walk());
        quiet.is_quiet = false;
        assert!(!quiet.stops_walk());
    }
}
