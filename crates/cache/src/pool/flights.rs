//! Reads that the system is at, by io_uring: it writes to the frames of each until that is over.
//!
//! So what is read, where it goes and the file that it is read from stay here until then, whatever
//! becomes of the cache, and of the thread.

use std::io::{self, IoSliceMut};
use std::mem;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use foresee_store::{Error, Object, Version};
use io_uring::{IoUring, opcode, squeue, types};

use super::bell::Bell;
use super::fetch::{Done, Fetch};
use super::opened::caught;

/// What the bell's completions are known by; reads are known by their slots.
const BELL: u64 = u64::MAX;
/// When the system has no room for what it is asked, it is asked again so much later.
const BUSY: Duration = Duration::from_millis(1);

/// A read.
struct Flight {
    fetch: Fetch,
    object: Arc<dyn Object>,
    /// Which the system may look at for as long as it reads.
    _pieces: Vec<IoSliceMut<'static>>,
    since: Instant,
}

impl Flight {
    /// Which version came, if all came that is wanted.
    fn version(&self, came: i32) -> Result<Option<Version>, Error> {
        if !usize::try_from(came).is_ok_and(|came| came >= self.fetch.wanted()) {
            return Ok(None);
        }
        // By now it may be one that is read otherwise.
        caught(|| self.object.file().map(|file| Ok(Version::from(&file.metadata()?))).transpose())
    }
}

/// All of them, of one thread.
pub struct Flights {
    uring: IoUring,
    slots: Vec<Option<Flight>>,
    free: Vec<usize>,
    /// Calls the thread; whether it would hear it.
    bell: Arc<Bell>,
    hears: bool,
}

impl Flights {
    /// So many at most, of the thread that calls, and of no other process that is forked from this
    /// one.
    ///
    /// # Errors
    /// If the kernel has no io_uring, or forbids it.
    pub fn new(flights_max: usize, bell: Arc<Bell>) -> io::Result<Self> {
        let entries = u32::try_from(flights_max + 1).map_err(|_| io::ErrorKind::InvalidInput)?;
        // What completes waits until the thread asks for it: nobody interrupts it (Linux 6.1).
        let deferred = IoUring::builder().dontfork().setup_single_issuer().setup_defer_taskrun().build(entries);
        let uring = deferred.or_else(|_| IoUring::builder().dontfork().build(entries))?;
        let (slots, free) = ((0..flights_max).map(|_| None).collect(), (0..flights_max).rev().collect());
        Ok(Flights { uring, slots, free, bell, hears: false })
    }

    /// How many more can begin.
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Prepares a read, which [`Flights::submit`] or [`Flights::wait`] begins; there is room for
    /// one. What is in no file that can be read so is given back.
    pub fn prepare(&mut self, fetch: Fetch) -> Option<Fetch> {
        let Some(object) = fetch.origin.as_ref().ok().and_then(|origin| origin.object.clone()) else {
            return Some(fetch);
        };
        let descriptor = caught(|| Ok(object.file().map(AsRawFd::as_raw_fd)));
        let (Ok(Some(descriptor)), Some(slot)) = (descriptor, self.free.pop()) else { return Some(fetch) };
        // SAFETY: the frames are this fetch's until it is reported, and it stays here until its completion.
        let pieces = unsafe { fetch.memory.pieces(&fetch.frames) };
        let read = opcode::Readv::new(types::Fd(descriptor), pieces.as_ptr().cast(), pieces.len() as u32);
        let entry = read.offset(fetch.offset).build().user_data(slot as u64);
        self.slots[slot] = Some(Flight { fetch, object, _pieces: pieces, since: Instant::now() });
        self.push(&entry);
        None
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: what a read writes to, and the pieces that say so, stay in their slot until its
        // completion; the bell is polled, which takes no memory.
        let pushed = unsafe { self.uring.submission().push(entry) };
        // As many entries as slots, and one for the bell.
        debug_assert!(pushed.is_ok(), "the ring has no room");
    }

    /// Begins what was prepared.
    pub fn submit(&mut self) {
        // What cannot begin now does at the next call.
        let _ = self.uring.submit();
    }

    /// Begins what was prepared, and waits until a read is over or the bell rings.
    pub fn wait(&mut self) {
        if !mem::replace(&mut self.hears, true) {
            let poll = opcode::PollAdd::new(types::Fd(self.bell.descriptor()), libc::POLLIN as u32);
            self.push(&poll.build().user_data(BELL));
        }
        match self.uring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => thread::sleep(BUSY),
            _ => {}
        }
    }

    /// Takes what is over: what has come, and what [`Object::read`] must bring, as it did not come
    /// whole.
    pub fn take_done(&mut self, done: &mut Vec<Done>, refused: &mut Vec<Fetch>) {
        for entry in self.uring.completion() {
            if entry.user_data() == BELL {
                self.hears = false;
                self.bell.silence();
                continue;
            }
            let slot = entry.user_data() as usize;
            let Some(flight) = self.slots[slot].take() else { continue };
            self.free.push(slot);
            let version = flight.version(entry.result());
            let Flight { fetch, since, .. } = flight;
            let result = match version {
                Ok(Some(version)) => fetch.is_of(&version),
                Ok(None) => {
                    refused.push(fetch);
                    continue;
                }
                Err(error) => Err(error),
            };
            done.push(Done::Fetched(fetch.fetch, fetch.part, result, since.elapsed()));
        }
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        let (mut done, mut refused) = (Vec::new(), Vec::new());
        while !self.is_empty() {
            self.wait();
            self.take_done(&mut done, &mut refused);
        }
    }
}
