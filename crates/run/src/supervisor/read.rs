//! A program's read: what it found, and what that says of what we believe to be in memory.

use std::ops::Range;
use std::time::Duration;

use foresee_manager::{Block, Counted, Demand, Event, FileId, ReaderId, Site, State, Time};

use super::{Met, RUN, Supervisor};
use crate::host::{BLOCK_BYTES, blocks};
use crate::programs::ProgramId;
use crate::source::ring::Read;

/// A read that takes at least so long waited for a device: reads from memory take a tenth of it.
pub const STALL_MIN: Duration = Duration::from_micros(100);

/// What it takes at most to copy a block that is here: three times what it takes on an idle
/// machine.
pub(super) const COPY_MAX: Duration = Duration::from_micros(1);

/// Blocks of a read that are as much work as the call.
pub(super) const BLOCKS_A_CALL: u64 = 16;

impl Supervisor<'_> {
    pub(super) fn take_read(&mut self, ordinal: u32, program: ProgramId, read: &Read, began: Duration, took: Duration) {
        let file = read.file;
        let Some((first, count)) = blocks(read.offset, read.bytes) else { return };
        self.driver.host.was_used(file, &(first..first + count));
        let waited = took >= STALL_MIN + COPY_MAX * count as u32;
        self.find_recorded(file, waited);
        let disclosed_by = self.library.reader_of(ReaderId(ordinal), file);
        let state = |index| self.driver.manager().state_of(Block { file, index });
        // What an earlier read left here need not be disclosed next time; what was brought for this read
        // must be, unless it was the program that disclosed it: it will again.
        let fresh = (first..first + count).find(|&index| !self.driver.manager().was_read(Block { file, index }));
        if let Some(fresh) = fresh
            && (disclosed_by.is_none() || state(fresh) != Some(State::Hinted))
        {
            self.recorder.read(file, ordinal, fresh, first + count - fresh);
        }
        // What lies before is cached.
        self.notice_wait(file, fresh.unwrap_or(first + count)..first + count, began, took, waited);
        let over = (began + took).min(self.driver.host.began().elapsed());
        let demand = Demand::Timed { over: Time(over.as_nanos() as u64), waited };
        let reader = self.reader_of_program(program, file).or(disclosed_by).unwrap_or(RUN);
        let counted = self.reference(reader, file, (first, count), read.site, demand);
        self.ring.processes.programs().missed(program, counted.misses);
        self.by_file.read(file, waited.then_some(took), counted);
        if read.offset == 0 {
            self.notice_visit(file, waited);
        }
        // Of the last block more may be read.
        let end = (read.offset + read.bytes) / BLOCK_BYTES;
        if end > first {
            self.notice_done_with(program, file, (first, end - first));
        }
        self.notice_habit(read.descriptor, fresh.is_none());
        self.suspension.done(count);
        if fresh.is_some() {
            let device = self.names.identity(file).map_or(0, |(device, _)| device);
            self.suspension.savings.read(device, count, counted, took, waited);
        }
        self.notice_pace(took, count, waited);
        if self.is_to_resume() {
            self.find_recorded(file, waited);
        }
    }

    /// A read of what we believe here, all of these blocks, that waits nevertheless: the kernel
    /// gave it up by itself.
    fn notice_wait(&mut self, file: FileId, mut blocks: Range<u64>, began: Duration, took: Duration, waited: bool) {
        let (first, count) = (blocks.start, blocks.end - blocks.start);
        let manager = self.driver.manager();
        let is_believed = blocks.all(|index| manager.is_present(Block { file, index }));
        if !is_believed {
            return;
        }
        let is_unread = manager.state_of(Block { file, index: first }).is_some_and(State::is_unread);
        let (files, host) = (Met(&self.names, &self.ring), &mut self.driver.host);
        if host.is_foreign(file, &files) {
            // An open may empty the page cache there, and the read has brought the blocks anew by now: nobody
            // else could tell.
            if is_unread && host.was_read(file, host.began() + began, took, waited, &files) {
                self.tell(Event::Gone { file, first, count });
                // They are here by this read: what was to be fetched again is not.
                self.driver.host.was_used(file, &(first..first + count));
            }
        } else if waited {
            self.check_beside(Block { file, index: first });
        }
        self.notice_share(waited);
    }

    pub(super) fn reference(
        &mut self,
        reader: ReaderId,
        file: FileId,
        (first, count): (u64, u64),
        site: u64,
        demand: Demand,
    ) -> Counted {
        self.driver.host.keep(file, &(first..first + count));
        self.tell(Event::Reference { reader, site: Site(site), file, first, count, demand })
    }
}
