//! Reads that the system is at, by io_uring: it writes to the frames of each until that is over.
//!
//! So what is read, where it goes and the file that it is read from stay here until then, whatever
//! becomes of the cache, and of the thread.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use foresee_store::{Error, Object, Version};
use io_uring::{IoUring, opcode, squeue, types};

use super::bell::Bell;
use super::fetch::{Done, Fetch};
use super::opened::caught;

/// What the bell's completions are known by; reads are numbered from 0.
const BELL: u64 = u64::MAX;
/// When the system has no room for what it is asked, it is asked again so much later.
const BUSY: Duration = Duration::from_millis(1);

/// A read.
struct Flight {
    fetch: Fetch,
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
        let of_open = |(object, file): (&dyn Object, &File)| Ok(object.version().of_open(&file.metadata()?));
        caught(|| object_of(&self.fetch).and_then(|it| Some((it, it.file()?))).map(of_open).transpose())
    }
}

/// What it is read from. The object stays the fetch's, which takes care of how it goes ([`Fetch::done`]).
fn object_of(fetch: &Fetch) -> Option<&dyn Object> {
    fetch.origin.as_ref().ok()?.object.as_deref()
}

/// The file that it can be read from so, if it is in one.
fn file_of(fetch: &Fetch) -> Option<&File> {
    object_of(fetch)?.file()
}

/// All of them, of one thread.
pub struct Flights {
    uring: IoUring,
    /// By their numbers. What is here is what the system is at: how much room there is follows from
    /// it, and is kept nowhere else.
    flying: HashMap<u64, Flight>,
    flights_max: usize,
    /// How many there were.
    flown: u64,
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
        // It may be forbidden to use what may be made.
        uring.submitter().submit()?;
        let flying = HashMap::with_capacity(flights_max);
        Ok(Flights { uring, flying, flights_max, flown: 0, bell, hears: false })
    }

    /// How many more can begin.
    pub fn room(&self) -> usize {
        self.flights_max - self.flying.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }

    /// Prepares a read, which [`Flights::submit`] or [`Flights::wait`] begins. What is in no file
    /// that can be read so is given back, as is what there is no room for.
    pub fn prepare(&mut self, fetch: Fetch) -> Option<Fetch> {
        let Ok(Some(descriptor)) = caught(|| Ok(file_of(&fetch).map(AsRawFd::as_raw_fd))) else { return Some(fetch) };
        // SAFETY: the frames are this fetch's until it is reported, and it stays here until its completion.
        let pieces = unsafe { fetch.memory.pieces(&fetch.frames) };
        let read = opcode::Readv::new(types::Fd(descriptor), pieces.as_ptr().cast(), pieces.len() as u32);
        if self.room() == 0 || !self.push(&read.offset(fetch.offset).build().user_data(self.flown)) {
            return Some(fetch);
        }
        self.flying.insert(self.flown, Flight { fetch, _pieces: pieces, since: Instant::now() });
        self.flown += 1;
        None
    }

    /// Whether there was room for it.
    fn push(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: what a read writes to, and the pieces that say so, stay in its flight until its
        // completion; the bell is polled, which takes no memory.
        unsafe { self.uring.submission().push(entry) }.is_ok()
    }

    /// Begins what was prepared.
    pub fn submit(&mut self) {
        // What cannot begin now does at the next call.
        let _ = self.uring.submit();
    }

    /// Begins what was prepared, and waits until a read is over or the bell rings.
    pub fn wait(&mut self) {
        if !self.hears {
            let poll = opcode::PollAdd::new(types::Fd(self.bell.descriptor()), libc::POLLIN as u32);
            self.hears = self.push(&poll.build().user_data(BELL));
        }
        match self.uring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => thread::sleep(BUSY),
            _ => {}
        }
    }

    /// Takes what is over: what has come, and what [`Object::read`] must bring, as it did not come
    /// whole.
    pub fn take_done(&mut self, done: &mut VecDeque<Done>, refused: &mut Vec<Fetch>) {
        for entry in self.uring.completion() {
            if entry.user_data() == BELL {
                self.hears = false;
                self.bell.silence();
                continue;
            }
            let Some(flight) = self.flying.remove(&entry.user_data()) else { continue };
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
            done.push_back(fetch.done(result, since.elapsed()));
        }
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        let (mut done, mut refused) = (VecDeque::new(), Vec::new());
        while !self.is_empty() {
            self.wait();
            self.take_done(&mut done, &mut refused);
        }
    }
}
