//! The page-cache host: the kernel's page cache holds the data, and we steer it.
//!
//! - *Fetch* brings pages unused, and waits for them (see [`super::scratch`]).
//! - *Drop* is `posix_fadvise(DONTNEED)`. It does nothing to a page inside a larger folio, so what stays is remembered and
//!   tried again together with its neighbours' drop.
//! - The program's own reads are never delayed, altered or served by us.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foresee_manager::{Action, DeviceId, Event, FetchId, FileId};

use super::doorbell::Doorbell;
use super::residency::{BLOCK_BYTES, can_ask, drop_blocks};
use super::scratch::Scratch;
use super::uring::Uring;
use super::workers::{Done, Listed, Purpose, Workers};
use crate::names::Names;

/// Files kept open for reading ahead, of those that nothing is being read from. The rest of the descriptors is for those
/// in flight.
const IDLE_FILES_MAX: usize = 256;
/// How long such a file stays open: a file held open cannot be unmounted, nor freed when it is deleted.
const IDLE_MAX: Duration = Duration::from_millis(100);
/// Devices told apart; a machine has some tens, and a program may claim any number.
const DEVICES_MAX: usize = 1024;

/// What the host tells the supervisor.
#[derive(Debug)]
pub enum Report {
    /// Something for the manager.
    Event(Event),
    /// A directory was listed.
    Listed(Purpose, PathBuf, io::Result<Vec<Listed>>),
}

#[derive(Default)]
struct Held {
    file: Option<Arc<File>>,
    in_flight: u32,
    used: Option<Instant>,
}

/// The host.
pub struct PageCache {
    workers: Workers,
    uring: Option<Uring>,
    doorbell: Doorbell,
    devices: Vec<u64>,
    held: HashMap<FileId, Held>,
    /// Files held open, in the order they were opened.
    idle: VecDeque<FileId>,
    fetching: HashMap<FetchId, FileId>,
    /// What is to be given up of files that are being opened for it.
    to_drop: HashMap<FileId, Vec<Range<u64>>>,
    /// Ranges whose pages did not go, being part of folios that reach beyond them.
    stayed: HashMap<FileId, Range<u64>>,
    bytes_fetched: u64,
}

impl PageCache {
    /// A host; with `uring` false it reads with threads even where io_uring is allowed.
    pub fn new(uring: bool) -> io::Result<Self> {
        let (doorbell, scratch) = (Doorbell::new()?, Scratch::new()?);
        let uring = if uring { Uring::new(scratch).ok() } else { None };
        Ok(PageCache {
            workers: Workers::new(doorbell.clone(), scratch),
            uring,
            doorbell,
            devices: Vec::new(),
            held: HashMap::new(),
            idle: VecDeque::new(),
            fetching: HashMap::new(),
            to_drop: HashMap::new(),
            stayed: HashMap::new(),
            bytes_fetched: 0,
        })
    }

    /// How reads ahead are made: "io_uring" or "threads".
    pub fn method(&self) -> &'static str {
        if self.uring.is_some() { "io_uring" } else { "threads" }
    }

    /// Bytes of the ranges read ahead, up to the ends of their files.
    pub fn bytes_fetched(&self) -> u64 {
        self.bytes_fetched
    }

    /// The manager's number for a device.
    pub fn device(&mut self, dev: u64) -> DeviceId {
        let at = self.devices.iter().position(|&known| known == dev).unwrap_or_else(|| {
            if self.devices.len() < DEVICES_MAX {
                self.devices.push(dev);
            }
            self.devices.len() - 1
        });
        DeviceId(at as u16)
    }

    /// Lists a directory; the answer comes as [`Report::Listed`].
    pub fn list(&self, purpose: Purpose, directory: &Path) {
        self.workers.list(purpose, directory.to_owned());
    }

    /// Starts what the manager asked for.
    pub fn carry_out(&mut self, actions: &[Action], names: &Names) {
        for action in actions {
            match *action {
                Action::Lookup { file } => self.workers.look(file, names.path(file).to_owned()),
                Action::Fetch { fetch, file, first, count, .. } => self.fetch(fetch, file, first, count, names),
                Action::Drop { file, first, count } => self.drop(file, first..first + count, names),
                // Programs read by themselves here, and say all at once what they will read: nobody waits, nobody is asked.
                Action::Wake { .. } | Action::Pull { .. } => {}
                // Said to the programs, not to the page cache.
                Action::Refused { .. } | Action::Revoked { .. } => {}
                Action::Priority { .. } | Action::LevelPolicy { .. } => {}
            }
        }
    }

    /// Hands the kernel what [`PageCache::carry_out`] collected.
    pub fn submit(&mut self) -> io::Result<()> {
        self.uring.as_mut().map_or(Ok(()), Uring::submit)
    }

    fn fetch(&mut self, fetch: FetchId, file: FileId, first: u64, count: u64, names: &Names) {
        let bytes = first * BLOCK_BYTES..(first + count) * BLOCK_BYTES;
        let held = self.held.entry(file).or_default();
        held.in_flight += 1;
        held.used = Some(Instant::now());
        self.fetching.insert(fetch, file);
        match (&held.file, &mut self.uring) {
            (Some(file), Some(uring)) => uring.fetch(fetch, Arc::clone(file), bytes),
            (Some(file), None) => self.workers.fetch(fetch, Arc::clone(file), bytes),
            (None, _) => self.workers.reopen_and_fetch(fetch, file, names.path(file).to_owned(), bytes),
        }
    }

    /// Gives blocks up. A file that is not open is opened for it, and stays so as long as this goes on: what lies in one folio
    /// goes only when the last of it does, and each question where that is needs a descriptor.
    fn drop(&mut self, file: FileId, blocks: Range<u64>, names: &Names) {
        let Some(open) = self.held.get_mut(&file).and_then(|held| {
            held.used = Some(Instant::now());
            held.file.clone()
        }) else {
            let waiting = self.to_drop.entry(file).or_default();
            if waiting.is_empty() {
                self.workers.open(file, names.path(file).to_owned());
            }
            match waiting.last_mut() {
                Some(last) if last.end == blocks.start => last.end = blocks.end,
                _ => waiting.push(blocks),
            }
            return;
        };
        let mut blocks = blocks;
        if let Some(stayed) = self.stayed.remove(&file)
            && stayed.start <= blocks.end
            && blocks.start <= stayed.end
        {
            blocks = blocks.start.min(stayed.start)..blocks.end.max(stayed.end);
        }
        if !drop_blocks(&open, &blocks) {
            self.stayed.insert(file, blocks);
        }
    }

    /// Takes what was done since the last call.
    pub fn collect(&mut self, names: &mut Names, reports: &mut Vec<Report>) {
        self.doorbell.answer();
        let mut fetched = Vec::new();
        if let Some(uring) = &mut self.uring {
            uring.take_done(|fetch, result| fetched.push((fetch, result)));
        }
        for done in self.workers.take_done() {
            match done {
                Done::Fetched(fetch, result) => fetched.push((fetch, result)),
                // More than one fetch may have found it closed.
                Done::Opened(file, Ok(opened)) => {
                    if self.held.get(&file).is_none_or(|held| held.file.is_none())
                        && let Ok(metadata) = opened.metadata()
                    {
                        if names.identify(file, (metadata.dev(), metadata.ino())) {
                            let blocks = metadata.len().div_ceil(BLOCK_BYTES);
                            reports.push(Report::Event(Event::FileChanged { file, blocks }));
                        }
                        self.hold(file, opened);
                    }
                    for blocks in self.to_drop.remove(&file).unwrap_or_default() {
                        self.drop(file, blocks, names);
                    }
                }
                Done::Opened(file, Err(_)) => _ = self.to_drop.remove(&file),
                Done::Listed(purpose, path, result) => reports.push(Report::Listed(purpose, path, result)),
                Done::Looked(file, Ok(found)) => {
                    let device = self.device(found.dev);
                    let blocks = if found.file.is_some() { found.size.div_ceil(BLOCK_BYTES) } else { 0 };
                    if names.identify(file, (found.dev, found.ino)) {
                        reports.push(Report::Event(Event::FileChanged { file, blocks }));
                    }
                    if let Some(opened) = found.file {
                        self.hold(file, opened);
                    }
                    reports.push(Report::Event(Event::FileKnown { file, device, blocks, place: found.place }));
                }
                Done::Looked(file, Err(_)) => reports.push(Report::Event(Event::FileMissing { file })),
            }
        }
        for (fetch, result) in fetched {
            if let Some(file) = self.fetching.remove(&fetch)
                && let Some(held) = self.held.get_mut(&file)
            {
                held.in_flight -= 1;
                if held.in_flight == 0 && held.file.is_none() {
                    self.held.remove(&file);
                }
            }
            self.bytes_fetched += result.as_ref().map_or(0, |&bytes| bytes);
            let event = if result.is_ok() { Event::FetchDone { fetch } } else { Event::FetchFailed { fetch } };
            reports.push(Report::Event(event));
        }
    }

    fn hold(&mut self, id: FileId, file: Arc<File>) {
        let held = self.held.entry(id).or_default();
        held.file = Some(file);
        held.used = Some(Instant::now());
        self.idle.push_back(id);
    }

    /// Closes files that nothing has been read from for a while, and the oldest if there are many.
    pub fn close_idle(&mut self) {
        for _ in 0..self.idle.len() {
            let Some(oldest) = self.idle.pop_front() else { return };
            let Some(held) = self.held.get_mut(&oldest) else { continue };
            let recently = held.used.is_some_and(|used| used.elapsed() < IDLE_MAX);
            if held.in_flight > 0 || (recently && self.idle.len() < IDLE_FILES_MAX) {
                self.idle.push_back(oldest);
            } else {
                self.held.remove(&oldest);
            }
        }
    }

    /// The file of this number is another one now.
    pub fn forget(&mut self, file: FileId) {
        if let Some(held) = self.held.get_mut(&file) {
            held.file = None;
        }
        self.stayed.remove(&file);
    }

    /// The file, if it is open here and the kernel would tell what of it is in memory.
    pub fn held(&self, file: FileId) -> Option<Arc<File>> {
        self.held.get(&file)?.file.clone().filter(|open| can_ask(open))
    }

    /// One of the files held open, a different one each time.
    pub fn sample(&mut self) -> Option<(FileId, Arc<File>)> {
        let id = self.idle.pop_front()?;
        self.idle.push_back(id);
        Some((id, Arc::clone(self.held.get(&id)?.file.as_ref()?)))
    }

    /// Sleeps until something is done, one of `others` is readable, or the time is over.
    pub fn wait(&self, others: &[RawFd], timeout: Duration) {
        let own = [Some(self.doorbell.as_fd().as_raw_fd()), self.uring.as_ref().map(Uring::fd)];
        let mut polled: Vec<libc::pollfd> = own
            .into_iter()
            .flatten()
            .chain(others.iter().copied())
            .map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
            .collect();
        let time = libc::timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        // SAFETY: the array and the time live through the call; no signal mask is changed.
        unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &raw const time, std::ptr::null()) };
    }
}
