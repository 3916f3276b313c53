//! Reads ahead through io_uring: one thread, many requests.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow::{Break, Continue};
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use foldhash::HashSet;
use foresee_manager::FetchId;
use io_uring::{IoUring, opcode, types};

use super::open::Opened;
use super::scratch::{SCRATCH_BYTES, Scratch, came, last_page, takes_advice};
use crate::processes;

/// Fetches in the kernel at once; the manager has fewer at a device, so this bounds several devices
/// together.
const FETCHES_MAX: u32 = 1024;
/// Kernel threads for advice at most: it may wait for where a file's blocks lie to be read. The
/// kernel's own limit is four for each processor.
const ADVISERS_MAX: usize = 64;

/// What completions are known by that are of no fetch.
const NO_FETCH: u64 = u64::MAX;

struct Fetch {
    id: FetchId,
    file: Arc<Opened>,
    bytes: Range<u64>,
    how: How,
}

/// What is to be done next, or is being done. The last page is not linked to the advice: the
/// kernel's thread would wait for it, and so would all advice behind it.
#[derive(Clone, Copy)]
enum How {
    Advise,
    ReadLastPage,
    /// A read of all of it; this much of it is done.
    Read {
        done: u64,
    },
}

/// A ring and what waits to enter it.
pub struct Uring {
    ring: IoUring,
    scratch: Scratch,
    waiting: VecDeque<Fetch>,
    /// Fetches in the kernel, by slot; their files stay open meanwhile.
    running: Vec<Option<Fetch>>,
    free: Vec<usize>,
    /// Files that advice is given on just now. A file gets one piece after the other: the kernel's
    /// threads would give them in any order, and a disk's arm would follow.
    advised: HashSet<RawFd>,
}

impl Uring {
    /// A ring, unless the kernel has none or forbids it.
    pub fn new(scratch: Scratch) -> io::Result<Self> {
        let ring = IoUring::builder().setup_clamp().build(FETCHES_MAX)?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Read::CODE) || !probe.is_supported(opcode::Fadvise::CODE) {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        // Not known before Linux 5.15; then it is slower where it matters.
        let _ = ring.submitter().register_iowq_max_workers(&mut [processes::threads(ADVISERS_MAX) as u32, 0]);
        let running = (0..FETCHES_MAX).map(|_| None).collect();
        let free = (0..FETCHES_MAX as usize).rev().collect();
        Ok(Uring { ring, scratch, waiting: VecDeque::new(), running, free, advised: HashSet::default() })
    }

    /// What to poll: readable when something has completed.
    pub fn fd(&self) -> RawFd {
        self.ring.as_raw_fd()
    }

    /// Lets a fetch wait for [`Uring::submit`].
    pub fn fetch(&mut self, id: FetchId, file: Arc<Opened>, bytes: Range<u64>) {
        let how = if takes_advice(&file, &bytes) { How::Advise } else { How::Read { done: 0 } };
        self.waiting.push_back(Fetch { id, file, bytes, how });
    }

    /// Forgets what waits to enter the ring.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Has the kernel forget what it has not begun (Linux 5.19).
    pub fn cancel(&mut self) {
        let all = opcode::AsyncCancel2::new(types::CancelBuilder::any()).build().user_data(NO_FETCH);
        // SAFETY: it takes no memory.
        if self.is_busy() && unsafe { self.ring.submission().push(&all) }.is_ok() {
            let _ = self.ring.submit();
        }
    }

    /// Whether the kernel has anything to do.
    pub fn is_busy(&self) -> bool {
        self.free.len() < self.running.len()
    }

    /// Hands over what waits, as far as the ring has room.
    pub fn submit(&mut self) -> io::Result<()> {
        let may_go = |fetch: &Fetch, advised: &HashSet<RawFd>| {
            !matches!(fetch.how, How::Advise) || !advised.contains(&fetch.file.file.as_raw_fd())
        };
        while let Some(&slot) = self.free.last()
            && let Some(at) = self.waiting.iter().position(|fetch| may_go(fetch, &self.advised))
        {
            let fetch = &self.waiting[at];
            let fd = types::Fd(fetch.file.file.as_raw_fd());
            let read = |bytes: Range<u64>| {
                let length = (bytes.end - bytes.start).min(SCRATCH_BYTES as u64) as u32;
                opcode::Read::new(fd, self.scratch.pointer(), length).offset(bytes.start).build().user_data(slot as u64)
            };
            let bytes = &fetch.bytes;
            let entry = match fetch.how {
                How::Advise => {
                    let length = (bytes.end - bytes.start) as libc::off_t;
                    let advice = opcode::Fadvise::new(fd, length, libc::POSIX_FADV_WILLNEED).offset(bytes.start);
                    advice.build().user_data(slot as u64)
                }
                How::ReadLastPage => read(last_page(bytes)),
                How::Read { done } => read(bytes.start + done..bytes.end),
            };
            // SAFETY: the buffer lives as long as the process, and the file stays open in `running` until its
            // completion.
            if unsafe { self.ring.submission().push(&entry) }.is_err() {
                break;
            }
            if matches!(fetch.how, How::Advise) {
                self.advised.insert(fetch.file.file.as_raw_fd());
            }
            self.free.pop();
            self.running[slot] = self.waiting.remove(at);
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

    /// Takes what completed: each fetch with the bytes that came, or its error. A short read that
    /// is not the file's end is continued.
    pub fn take_done(&mut self, mut done: impl FnMut(FetchId, io::Result<u64>)) {
        let completed: Vec<_> = self.ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        for (slot, result) in completed {
            let Some(fetch) = self.running.get_mut(slot as usize).and_then(Option::take) else { continue };
            self.free.push(slot as usize);
            if matches!(fetch.how, How::Advise) {
                self.advised.remove(&fetch.file.file.as_raw_fd());
            }
            let got = result as u64;
            let next = match fetch.how {
                how if -result == libc::EINTR => Continue(how),
                // Whoever refuses advice may read.
                How::Advise if result < 0 => Continue(How::Read { done: 0 }),
                How::Advise => Continue(How::ReadLastPage),
                _ if result < 0 => Break(Err(io::Error::from_raw_os_error(-result))),
                How::ReadLastPage => match came(&fetch.file, &fetch.bytes, got) {
                    Some(bytes) => Break(Ok(bytes)),
                    None => Continue(How::Read { done: 0 }),
                },
                How::Read { done } if got > 0 && done + got < fetch.bytes.end - fetch.bytes.start => {
                    Continue(How::Read { done: done + got })
                }
                How::Read { done } => Break(Ok(done + got)),
            };
            match next {
                Continue(how) => self.waiting.push_front(Fetch { how, ..fetch }),
                Break(result) => done(fetch.id, result),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::mounts::Kind;
    use super::super::residency::{BLOCK_BYTES, drop_pages};
    use super::*;

    #[test]
    fn fetches_say_what_came_or_why_not() {
        let Ok(mut uring) = Scratch::new().and_then(Uring::new) else {
            println!("skipped: io_uring is not allowed here");
            return;
        };
        let path = std::env::temp_dir().join(format!("foresee-uring-{}", std::process::id()));
        let size = 600 * BLOCK_BYTES - 5;
        std::fs::write(&path, vec![7; size as usize]).unwrap();
        let opened = |file| Arc::new(Opened::new(file, Kind::Local));
        let file = opened(File::open(&path).unwrap());
        file.file.sync_all().unwrap();
        drop_pages(&file.file, 0, 0);
        let unreadable = opened(std::fs::OpenOptions::new().write(true).open(&path).unwrap());
        let directory = opened(File::open(std::env::temp_dir()).unwrap());
        let blocks = |first: u64, end: u64| first * BLOCK_BYTES..end * BLOCK_BYTES;
        let fetches = [(&file, 0, 512), (&file, 590, 600), (&file, 599, 600), (&file, 590, 700), (&file, 600, 700)];
        let broken = [(&unreadable, 512, 513), (&directory, 0, 2)];
        for (id, (file, first, end)) in fetches.into_iter().chain(broken).enumerate() {
            uring.fetch(FetchId(id as u64), Arc::clone(file), blocks(first, end));
        }
        let mut came = std::collections::BTreeMap::new();
        while came.len() < fetches.len() + broken.len() {
            uring.submit().unwrap();
            uring.take_done(|fetch, result| {
                came.insert(fetch.0, result.ok());
            });
            std::thread::yield_now();
        }
        std::fs::remove_file(&path).unwrap();
        let tail = Some(10 * BLOCK_BYTES - 5);
        let expected = [Some(512 * BLOCK_BYTES), tail, Some(BLOCK_BYTES - 5), tail, Some(0), None, None];
        assert_eq!(came.into_values().collect::<Vec<_>>(), expected);
        assert_eq!(file.residency.pages(&file.file, 0, 512 * BLOCK_BYTES).unwrap(), 512);
    }
}
