//! What a process did, and what follows from it.

use std::path::Path;
use std::time::Duration;

use foresee_manager::{Event, FileId, ReaderId, Source, Want};
use foresee_ring::FAR_PART;

use super::{RUN, STALL_MIN, Supervisor};
use crate::host::{BLOCK_BYTES, blocks};
use crate::names::Identity;
use crate::source::ring::{Read, Seen};
use crate::source::{Sighting, mappings};

/// The kernel acts on advice itself as far as one readahead window, by default; the program reads
/// there next.
const KERNEL_READAHEAD_BYTES: u64 = 128 << 10;

/// What a read or a write of a regular file was, for traces.
#[derive(Debug, Clone, Copy)]
pub struct TransferSeen<'a> {
    /// Whether it was a write.
    pub write: bool,
    /// When it began, since the run did; of a write, when it was over.
    pub time: Duration,
    /// The process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// The file's path.
    pub path: &'a Path,
    /// From which byte.
    pub offset: u64,
    /// How many bytes came or went.
    pub bytes: u64,
    /// The call site, or 0.
    pub site: u64,
    /// How long it took; not known of a write.
    pub took: Duration,
}

impl<'a> TransferSeen<'a> {
    /// What was seen, if it is a read or a write; files have these paths, and the source's ticks are so
    /// long.
    pub fn of(
        sighting: &Sighting,
        path: impl FnOnce(FileId) -> &'a Path,
        duration: impl Fn(u64) -> Duration,
    ) -> Option<Self> {
        let &Sighting { process, thread, time, ref seen, .. } = sighting;
        let (write, file, offset, bytes, site, took) = match *seen {
            Seen::Read(Read { file, offset, bytes, site, ticks, .. }) => {
                (false, file, offset, bytes, site, duration(ticks))
            }
            Seen::Wrote { file, offset, bytes, site, .. } => (true, file, offset, bytes, site, Duration::ZERO),
            _ => return None,
        };
        Some(TransferSeen { write, time, process, thread, path: path(file), offset, bytes, site, took })
    }
}

/// What goes into traces.
#[derive(Debug, Clone, Copy)]
pub enum Traced<'a> {
    /// A read or a write.
    Transfer(TransferSeen<'a>),
    /// What lies at a call site.
    Site {
        /// The call site.
        site: u64,
        /// The object that its innermost caller outside of libc lies in.
        object: &'a Path,
        /// Where that goes on, within the object.
        offset: u64,
    },
}

/// Takes what goes into a run's trace, as it happened.
pub type TraceSink<'a> = Box<dyn FnMut(Traced) + 'a>;

impl Supervisor<'_> {
    pub(super) fn take_sighting(&mut self, sighting: Sighting) {
        if let Some(trace) = &mut self.trace {
            if let Seen::Site { site, ref object, offset } = sighting.seen {
                trace(Traced::Site { site, object, offset });
            } else {
                let path = |file| self.names.path(self.one_name.of(file, &self.names));
                if let Some(transfer) = TransferSeen::of(&sighting, path, |ticks| self.ring.duration(ticks)) {
                    trace(Traced::Transfer(transfer));
                }
            }
        }
        let Sighting { ordinal, program, time, ref seen, .. } = sighting;
        if let &Seen::Mapped { file, at } = seen {
            let is_watched = at.is_some_and(|mapping| self.mappings.watch(&sighting, mapping));
            if at.is_some_and(|mapping| mapping.len >= mappings::BYTES_MIN) {
                self.notice_mapping(file, is_watched);
            }
            return self.take_mapping(ordinal, file, is_watched);
        }
        match sighting.seen {
            Seen::Opened { file, identity, size, named, ticks } => {
                self.driver.host.was_named(self.names.path(file));
                let took = self.duration(ticks);
                self.notice_lookup(file, took);
                // What was near is counted with the read that follows.
                if let Some(took) = took.filter(|&took| took >= STALL_MIN / FAR_PART) {
                    self.notice_pace(took, 0, took >= STALL_MIN);
                }
                self.find_recorded(file, false);
                self.know(file, identity, size);
                self.find_walk(file);
                if named {
                    self.recorder.named(file, ordinal);
                    self.tell(Event::Named { reader: RUN, file });
                    if size == 0 {
                        self.notice_visit(file, false);
                    }
                }
            }
            Seen::Quiesces { slot, ticket } => self.quiesce(slot, ticket),
            // For a device, or for whom it spoke with meanwhile.
            Seen::ListingWaited => {
                self.notice_wait_of(STALL_MIN);
                self.notice_pace(STALL_MIN / FAR_PART, 0, false);
            }
            Seen::Named { file, ticks } => {
                self.driver.host.was_named(self.names.path(file));
                let took = self.duration(ticks);
                self.notice_lookup(file, took);
                if let Some(took) = took {
                    self.notice_pace(took, 0, took >= STALL_MIN);
                }
                self.find_recorded(file, false);
                self.find_walk(file);
                self.recorder.named(file, ordinal);
                self.tell(Event::Named { reader: RUN, file });
            }
            // What is not in the page cache is none of the manager's.
            Seen::Read(Read { is_past_cache: true, .. }) | Seen::Wrote { is_past_cache: true, .. } => {}
            Seen::Read(read) => {
                let took = self.ring.duration(read.ticks);
                self.take_read(ordinal, program, &read, time, took);
            }
            Seen::Wrote { file, offset, bytes, site, .. } => {
                if let Some(size) = self.sizes.get_mut(&file) {
                    *size = offset.saturating_add(bytes).max(*size);
                }
                if let Some(written) = blocks(offset, bytes) {
                    self.take_write(program, file, written, site);
                }
            }
            Seen::Mapped { .. } | Seen::Site { .. } => {}
            Seen::Touched(touched) => self.take_touch(ordinal, program, touched, time),
            Seen::Unseen => self.wake_outside(),
            Seen::PastCache { file, identity } => self.pass_by(file, identity, ordinal),
            Seen::Stalled { took } => {
                self.notice_wait_of(took);
                let ticks = self.ring.ticks(took);
                self.ring.processes.programs().stalled(program, ticks);
            }
            Seen::Advised { file, offset, bytes } => {
                let bytes = self.bytes_or_rest(file, offset, bytes);
                let beyond = bytes.saturating_sub(KERNEL_READAHEAD_BYTES);
                if let Some((first, count)) = blocks(offset.saturating_add(KERNEL_READAHEAD_BYTES), beyond) {
                    let want = Want::Range { first, count };
                    self.tell(Event::Hint { reader: RUN, source: Source::Advice, file, want });
                }
            }
            Seen::GivenUp { file, offset, bytes } => {
                if let Some((first, count)) = blocks(offset, self.bytes_or_rest(file, offset, bytes)) {
                    self.check_again(file, Want::Range { first, count });
                }
            }
            Seen::Ended { ordinal } => self.ended(ordinal),
            Seen::Disclosed(disclosure) => self.take_disclosure(ReaderId(ordinal), disclosure),
            Seen::Advises(advising) => self.take_advice(program, advising),
        }
    }

    /// A program looked this name up, in so long if that is known.
    fn notice_lookup(&mut self, file: FileId, took: Option<Duration>) {
        self.suspension.done(0);
        if let Some(took) = took {
            let lookup = self.driver.manager().lookup_of(file);
            self.suspension.savings.looked_up(file, lookup, took, took >= STALL_MIN);
        }
    }

    /// How long these ticks are, if they are known.
    fn duration(&self, ticks: Option<u64>) -> Option<Duration> {
        ticks.map(|ticks| self.ring.duration(ticks))
    }

    /// So many bytes of a file from there on; 0 is to its end.
    fn bytes_or_rest(&self, file: FileId, offset: u64, bytes: u64) -> u64 {
        let size = self.sizes.get(&file).copied().unwrap_or(0);
        if bytes == 0 { size.saturating_sub(offset) } else { bytes }
    }

    /// What a path leads to, as an open found it. Another file than before, or a smaller one, means
    /// other contents.
    fn know(&mut self, file: FileId, identity: Identity, size: u64) {
        let before = self.sizes.insert(file, size);
        let host = &mut self.driver.host;
        host.was_opened(file);
        let (device, blocks) = (host.device(identity.0, self.names.path(file)), size.div_ceil(BLOCK_BYTES));
        let is_replaced = self.names.identify(file, identity);
        match before {
            _ if is_replaced => {
                self.tell(Event::FileChanged { file, blocks });
                // What is to be given up is the other file's.
                self.driver.host.forget(file);
            }
            Some(before) if before == size => {}
            Some(before) if before > size => {
                self.tell(Event::FileChanged { file, blocks });
            }
            _ => {
                self.tell(Event::FileKnown { file, device, blocks, place: 0 });
            }
        }
    }

    /// A process is gone, and what it disclosed by itself goes with it.
    pub(super) fn ended(&mut self, ordinal: u32) {
        let reader = ReaderId(ordinal);
        if self.library.end(reader) {
            self.tell(Event::ReaderExited { reader });
        }
    }
}
