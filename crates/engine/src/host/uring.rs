//! Reads ahead through io_uring: one thread, many requests.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use foresee_manager::FetchId;
use io_uring::{IoUring, opcode, types};

use super::scratch::{SCRATCH_BYTES, Scratch};

/// Requests in the kernel at once; the manager's own limit for a device is lower, so this bounds several devices together.
const ENTRIES: u32 = 512;

struct Read {
    fetch: FetchId,
    file: Arc<File>,
    offset: u64,
    bytes: usize,
}

/// A ring and what waits to enter it.
pub struct Uring {
    ring: IoUring,
    scratch: Scratch,
    waiting: VecDeque<Read>,
    /// Reads in the kernel, by slot; their files stay open meanwhile.
    running: Vec<Option<Read>>,
    free: Vec<usize>,
}

impl Uring {
    /// A ring, unless the kernel has none or forbids it.
    pub fn new(scratch: Scratch) -> io::Result<Self> {
        let ring = IoUring::builder().setup_clamp().build(ENTRIES)?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Read::CODE) {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let running = (0..ENTRIES).map(|_| None).collect();
        Ok(Uring { ring, scratch, waiting: VecDeque::new(), running, free: (0..ENTRIES as usize).rev().collect() })
    }

    /// What to poll: readable when something has completed.
    pub fn fd(&self) -> RawFd {
        self.ring.as_raw_fd()
    }

    /// Lets a read wait for [`Uring::submit`].
    pub fn read(&mut self, fetch: FetchId, file: Arc<File>, offset: u64, bytes: usize) {
        self.waiting.push_back(Read { fetch, file, offset, bytes });
    }

    /// Hands over what waits, as far as the ring has room.
    pub fn submit(&mut self) -> io::Result<()> {
        while let Some(slot) = self.free.pop() {
            let Some(read) = self.waiting.pop_front() else {
                self.free.push(slot);
                break;
            };
            let length = read.bytes.min(SCRATCH_BYTES) as u32;
            let entry = opcode::Read::new(types::Fd(read.file.as_raw_fd()), self.scratch.pointer(), length)
                .offset(read.offset)
                .build()
                .user_data(slot as u64);
            // SAFETY: the buffer lives as long as the process, and the file stays open in `running` until its completion.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                self.waiting.push_front(read);
                self.free.push(slot);
                break;
            }
            self.running[slot] = Some(read);
        }
        if self.ring.submission().is_empty() {
            return Ok(());
        }
        match self.ring.submit() {
            Ok(_) => Ok(()),
            // Busy and interrupted are for another time: the entries stay queued.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN | libc::EINTR)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes what completed: each fetch with the bytes that came, or its error. A short read that is not the file's end is
    /// continued.
    pub fn take_done(&mut self, mut done: impl FnMut(FetchId, io::Result<u64>)) {
        let completed: Vec<_> = self.ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        for (slot, result) in completed {
            let Some(read) = self.running.get_mut(slot as usize).and_then(Option::take) else { continue };
            self.free.push(slot as usize);
            match result {
                result if -result == libc::EINTR => self.waiting.push_back(read),
                result if result < 0 => done(read.fetch, Err(io::Error::from_raw_os_error(-result))),
                result => {
                    let got = result as usize;
                    if got > 0 && got < read.bytes {
                        let (offset, bytes) = (read.offset + got as u64, read.bytes - got);
                        self.waiting.push_front(Read { offset, bytes, ..read });
                    } else {
                        done(read.fetch, Ok(got as u64));
                    }
                }
            }
        }
    }
}
