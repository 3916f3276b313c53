//! The page-cache host: the kernel's page cache holds the data, and we steer it.
//!
//! - *Fetch* brings pages unused, and waits for them (see [`super::scratch`]).
//! - *Drop* is `posix_fadvise(DONTNEED)`. Not all goes at once ([`super::drops`]).
//! - The program's own reads are never delayed, altered or served by us.
//! - A file is open here while something is fetched from it, dropped or asked, and no longer: a
//!   file held open cannot be unmounted, nor freed when it is deleted, and some file systems rename
//!   it instead of removing it.
//! - What may be done at all depends on the mount ([`super::mounts`]).

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldhash::HashMap;
use foresee_driver::Host;
use foresee_manager::{DeviceId, Event, FetchId, FileId, Order, Time};

use super::doorbell::Doorbell;
use super::drops::Drops;
use super::leases;
use super::mounts::{Answer, Conduct, Kind, MountAccount, Mounts, Table};
use super::open::{Descriptor, Opened, borrow};
use super::pieces::Fetches;
use super::residency::{BLOCK_BYTES, Residency};
use super::scratch::Scratch;
use super::untouched::{Question, Untouched};
use super::uring::Uring;
use super::window::readahead_window;
use super::workers::{Done, Found, Listed, Purpose, Subject, Workers};
use crate::names::{Identity, Names};
use crate::pool::lock;

/// Nothing is looked up or opened for so long from the beginning of a run: what is over by then
/// gains nothing, and its end would have to wait for what is under way (to be told of leases takes
/// some milliseconds). 5 ms storage is asked 2 ms later.
pub(crate) const HEAD_START: Duration = Duration::from_millis(2);
/// Files of which what is here is checked now and then: those fetched from last.
const CHECKED_FILES_MAX: usize = 256;
/// Files of which it is known when they were fetched from.
const FETCHED_FILES_MAX: usize = 65_536;
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

/// What a file is called, what is known to be behind the name, and which program has it open.
pub trait Files {
    /// Its name.
    fn path(&self, file: FileId) -> &Path;
    /// What the name led to last.
    fn identity(&self, file: FileId) -> Option<Identity>;
    /// A descriptor that a program opened it as, and may have closed since.
    fn descriptor(&self, file: FileId) -> Option<Descriptor>;
}

/// A file that is open here.
struct Held {
    opened: Arc<Opened>,
    in_flight: u32,
}

/// The host.
pub struct PageCache {
    workers: Workers,
    uring: Option<Uring>,
    doorbell: Doorbell,
    mounts: Arc<Mutex<Mounts>>,
    untouched: Untouched,
    /// What was not asked, as if it had been in vain.
    unasked: Vec<Report>,
    devices: Vec<u64>,
    /// What the manager is to be told of devices, one after the other.
    of_devices: VecDeque<Event>,
    held: HashMap<FileId, Held>,
    /// Open, and nothing is fetched from them just now: what is fetched at once need not open them
    /// again, nor close them, which a daemon hears of each time.
    idle: Vec<FileId>,
    /// Names to be looked up, and files to be opened, from [`PageCache::submit`] on: what the
    /// programs did meanwhile may make it needless.
    to_look: Vec<FileId>,
    to_open: HashMap<FileId, ToOpen>,
    /// Fetches that wait for their file, which is being opened.
    opening: HashMap<FileId, Vec<(FetchId, Range<u64>)>>,
    /// Fetches of what is here by now: programs have read it by themselves, or it was here before.
    needless: Vec<FetchId>,
    /// Fetches of what was being given up, which is done by now.
    released: Vec<(FetchId, DeviceId, FileId, Range<u64>)>,
    fetches: Fetches,
    /// Fetches that could not be begun.
    failed: Vec<FetchId>,
    to_close: Vec<Arc<Opened>>,
    drops: Drops,
    /// Files looked up on mounts that have not shown what they are, and their sizes. They are told
    /// of when the mount has, or when a program opens them.
    unanswered: HashMap<u64, Vec<(FileId, u64)>>,
    /// Fetched from last, in that order.
    recent: VecDeque<FileId>,
    /// When a file was fetched from last.
    fetched_at: HashMap<FileId, Instant>,
    bytes_fetched: u64,
    /// Fetches of what was not here already.
    brought: u64,
    began: Instant,
    /// Nothing new is begun: somebody waits until no file is open here.
    is_paused: bool,
}

/// A file that is to be opened, and what is to be fetched from it then.
struct ToOpen {
    device: DeviceId,
    fetches: Vec<(FetchId, Range<u64>)>,
}

impl Host for PageCache {
    fn now(&self) -> Time {
        Time(self.began.elapsed().as_nanos() as u64)
    }

    fn news(&mut self) -> Option<Event> {
        self.of_devices.pop_front()
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Lookup { file } => {
                self.workers.want(file);
                self.to_look.push(file);
            }
            Order::Fetch { fetch, device, file, first, count, .. } => {
                let (held, drops) = (self.held.get(&file), &self.drops);
                let stays = |blocks: &_| {
                    held.is_some_and(|held| is_here(&held.opened, blocks)) && !drops.is_to_go(file, blocks)
                };
                for piece in self.fetches.begin(fetch, file, first..first + count, stays) {
                    self.fetch(fetch, device, file, piece);
                }
            }
            Order::PassOver { first, count, .. } => self.fetches.pass_over(first..first + count),
            Order::Drop { file, first, count } => self.drops.add(file, first..first + count),
        }
    }
}

fn in_bytes(blocks: &Range<u64>) -> Range<u64> {
    blocks.start * BLOCK_BYTES..blocks.end * BLOCK_BYTES
}

impl PageCache {
    /// A host; with `uring` false it reads with threads even where io_uring is allowed. What it
    /// finds out of mounts is kept in `directory`, if any.
    pub fn new(uring: bool, directory: Option<PathBuf>) -> io::Result<Self> {
        let (doorbell, scratch) = (Doorbell::new()?, Scratch::new()?);
        let uring = if uring { Uring::new(scratch).ok() } else { None };
        let mounts = Arc::new(Mutex::new(Mounts::new(directory)));
        Ok(PageCache {
            workers: Workers::new(doorbell.clone(), scratch, Arc::clone(&mounts)),
            uring,
            doorbell,
            mounts,
            untouched: Untouched::new(Table::read()),
            unasked: Vec::new(),
            devices: Vec::new(),
            of_devices: VecDeque::new(),
            held: HashMap::default(),
            idle: Vec::new(),
            to_look: Vec::new(),
            to_open: HashMap::default(),
            opening: HashMap::default(),
            needless: Vec::new(),
            released: Vec::new(),
            fetches: Fetches::default(),
            failed: Vec::new(),
            to_close: Vec::new(),
            drops: Drops::default(),
            unanswered: HashMap::default(),
            recent: VecDeque::new(),
            fetched_at: HashMap::default(),
            bytes_fetched: 0,
            brought: 0,
            began: Instant::now(),
            is_paused: false,
        })
    }

    /// When its time began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// How reads ahead are made: "io_uring" or "threads".
    pub fn method(&self) -> &'static str {
        if self.uring.is_some() { "io_uring" } else { "threads" }
    }

    /// Bytes of the ranges read ahead, up to the ends of their files.
    pub fn bytes_fetched(&self) -> u64 {
        self.bytes_fetched
    }

    /// Fetches of what was not in memory already, as far as the kernel said so.
    pub fn brought(&self) -> u64 {
        self.brought
    }

    /// Names and directories that were asked for ahead, and were not in memory.
    pub fn names_brought(&self) -> u64 {
        self.workers.names_brought()
    }

    /// The manager's number for a device, on which this file lies.
    pub fn device(&mut self, dev: u64, path: &Path) -> DeviceId {
        let known = self.devices.iter().position(|&known| known == dev);
        let at = known.unwrap_or_else(|| {
            if self.devices.len() >= DEVICES_MAX {
                return DEVICES_MAX - 1;
            }
            let at = self.devices.len();
            self.devices.push(dev);
            self.caution(dev, path);
            if let Some(blocks) = readahead_window(dev) {
                self.of_devices.push_back(Event::ReadaheadWindow { device: DeviceId(at as u16), blocks });
            }
            at
        });
        DeviceId(at as u16)
    }

    /// A program opened the file: what is known of it is told from there.
    pub fn was_opened(&self, file: FileId) {
        self.workers.need_not_look(file);
    }

    /// These blocks are referenced, or will be: they are not what is to go.
    pub fn keep(&mut self, file: FileId, blocks: &Range<u64>) {
        self.drops.keep(file, blocks);
    }

    /// A program read or wrote these blocks by itself: to fetch them would be to open the file for
    /// nothing.
    pub fn was_used(&mut self, file: FileId, blocks: &Range<u64>) {
        if let Some(ToOpen { fetches, .. }) = self.to_open.get_mut(&file) {
            let needless = |fetch: &Range<u64>| blocks.start <= fetch.start && fetch.end <= blocks.end;
            self.needless.extend(fetches.iter().filter(|(_, fetch)| needless(fetch)).map(|&(id, _)| id));
            fetches.retain(|(_, fetch)| !needless(fetch));
        }
    }

    /// Notes what may be done on a device.
    fn caution(&mut self, dev: u64, path: &Path) {
        let Some(at) = self.devices.iter().position(|&known| known == dev) else { return };
        if let Some(blocks) = lock(&self.mounts).conduct(dev, path).file_blocks_max() {
            self.of_devices.push_back(Event::Caution { device: DeviceId(at as u16), blocks });
        }
    }

    fn conduct(&self, dev: u64, path: &Path) -> Conduct {
        lock(&self.mounts).conduct(dev, path)
    }

    /// A program read what had been brought ahead of it, on a foreign mount, beginning at `began`.
    /// Returns whether that took as long as if it had not been brought.
    pub fn was_read(&mut self, file: FileId, began: Instant, took: Duration, waited: bool, files: &impl Files) -> bool {
        let Some((dev, _)) = files.identity(file) else { return false };
        // What it read may have been on its way.
        if self.fetched_at.get(&file).is_none_or(|&fetched| began < fetched) {
            return false;
        }
        let is_far = lock(&self.mounts).is_far(dev, took, waited);
        if lock(&self.mounts).read(dev, is_far) {
            self.caution(dev, files.path(file));
        }
        is_far
    }

    /// Whether the file lies behind a network or a daemon.
    pub fn is_foreign(&self, file: FileId, files: &impl Files) -> bool {
        files.identity(file).is_some_and(|(dev, _)| lock(&self.mounts).kind(dev, files.path(file)) == Kind::Foreign)
    }

    /// What was found out of mounts that are not this machine's own.
    pub fn mount_accounts(&self) -> Vec<MountAccount> {
        lock(&self.mounts).accounts()
    }

    /// Keeps what was found out of them for later runs.
    pub fn remember(&self) {
        lock(&self.mounts).remember();
    }

    /// Lists a directory; the answer comes as [`Report::Listed`].
    pub fn list(&mut self, purpose: Purpose, directory: &Path) {
        if !self.untouched.hold(directory, Question::List(purpose)) {
            self.workers.list(purpose, directory.to_owned());
        }
    }

    /// A program named this file or directory: what was to be asked of its mount need not wait for
    /// that any more.
    pub fn was_named(&mut self, path: &Path) {
        let [passed, asked] = self.untouched.named(path);
        // Who asked goes on: a walk from the next of its roots.
        self.unasked.extend(passed.into_iter().map(|(path, question)| match question {
            Question::Look(file) => Report::Event(Event::FileMissing { file }),
            Question::List(purpose) => Report::Listed(purpose, path, Err(io::ErrorKind::Unsupported.into())),
        }));
        for (path, question) in asked {
            match question {
                Question::Look(file) => self.to_look.push(file),
                Question::List(purpose) => self.workers.list(purpose, path),
            }
        }
    }

    /// From now on nothing is begun, until it is said otherwise: somebody sets a lease, or
    /// unmounts.
    pub fn pause(&mut self, pauses: bool) {
        self.is_paused = pauses;
        leases::forget();
    }

    /// Whether no file is open here, and no name is being looked up.
    pub fn is_still(&self) -> bool {
        self.held.is_empty() && self.to_close.is_empty() && self.opening.is_empty() && self.workers.is_still()
    }

    /// Nothing is begun any more; waits so long at most for what the kernel is reading already. It
    /// would call a file system busy until that is done, though our process were gone.
    pub fn let_go(&mut self, longest: Duration) {
        self.is_paused = true;
        self.needless.clear();
        self.failed.clear();
        let since = Instant::now();
        self.uring.iter_mut().for_each(Uring::cancel);
        loop {
            let is_busy = self.uring.as_mut().is_some_and(|uring| {
                uring.take_done(|_, _| ());
                uring.forget_waiting();
                uring.is_busy()
            });
            let left = longest.saturating_sub(since.elapsed());
            if !is_busy || left.is_zero() {
                return;
            }
            self.doorbell.answer();
            self.wait(&[], left);
        }
    }

    /// Hands over what [`Host::carry_out`] collected, and closes what is not needed any more.
    pub fn submit(&mut self, files: &impl Files) -> io::Result<()> {
        if !self.is_paused && self.began.elapsed() >= HEAD_START {
            self.begin(files);
        }
        for file in std::mem::take(&mut self.idle) {
            self.close_unless_used(file);
        }
        if !self.to_close.is_empty() {
            self.workers.close(std::mem::take(&mut self.to_close));
        }
        self.workers.tend();
        self.uring.as_mut().map_or(Ok(()), Uring::submit)
    }

    fn begin(&mut self, files: &impl Files) {
        for (fetch, device, file, blocks) in std::mem::take(&mut self.released) {
            self.fetch(fetch, device, file, blocks);
        }
        for file in self.to_look.drain(..) {
            if !self.untouched.hold(files.path(file), Question::Look(file)) {
                self.workers.look(file, files.path(file));
            }
        }
        for (file, ToOpen { device, fetches }) in std::mem::take(&mut self.to_open) {
            if !fetches.is_empty() {
                self.open(file, device, fetches, files);
            }
        }
        self.start_drops(files);
    }

    /// Has a file opened that is to be fetched from, or borrows it from who has it open, as its
    /// mount demands.
    fn open(&mut self, file: FileId, device: DeviceId, fetches: Vec<(FetchId, Range<u64>)>, files: &impl Files) {
        let path = files.path(file);
        let dev = self.devices.get(usize::from(device.0)).copied().unwrap_or_default();
        let (kind, conduct) = {
            let mut mounts = lock(&self.mounts);
            (mounts.kind(dev, path), mounts.conduct(dev, path))
        };
        if kind == Kind::Foreign
            && !self.held.contains_key(&file)
            && let Some(opened) = borrowed(file, files)
        {
            self.held.insert(file, Held { opened: Arc::new(opened), in_flight: 0 });
        }
        if self.held.contains_key(&file) {
            for (fetch, blocks) in fetches {
                self.fetch_from_held(fetch, file, &blocks);
            }
        } else if conduct.opens() {
            self.workers.open(file, path.to_owned(), files.identity(file));
            self.opening.insert(file, fetches);
        } else {
            self.failed.extend(fetches.into_iter().map(|(fetch, _)| fetch));
        }
    }

    fn fetch(&mut self, fetch: FetchId, device: DeviceId, file: FileId, blocks: Range<u64>) {
        if self.is_paused {
            self.released.push((fetch, device, file, blocks));
            return;
        }
        self.drops.keep(file, &blocks);
        if self.drops.hold_back(file, fetch, device, &blocks) {
            return;
        }
        if self.held.contains_key(&file) {
            return self.fetch_from_held(fetch, file, &blocks);
        }
        if let Some(waiting) = self.opening.get_mut(&file) {
            return waiting.push((fetch, blocks));
        }
        let to_open = self.to_open.entry(file).or_insert(ToOpen { device, fetches: Vec::new() });
        to_open.fetches.push((fetch, blocks));
    }

    fn fetch_from_held(&mut self, fetch: FetchId, file: FileId, blocks: &Range<u64>) {
        let Some(held) = self.held.get_mut(&file) else { return };
        held.in_flight += 1;
        if is_here(&held.opened, blocks) {
            return self.needless.push(fetch);
        }
        self.brought += u64::from(self.fetches.brings(fetch));
        let opened = Arc::clone(&held.opened);
        match &mut self.uring {
            Some(uring) => uring.fetch(fetch, opened, in_bytes(blocks)),
            None => self.workers.fetch(fetch, opened, in_bytes(blocks)),
        }
    }

    fn close_unless_used(&mut self, file: FileId) {
        if self.held.get(&file).is_some_and(|held| held.in_flight == 0)
            && let Some(held) = self.held.remove(&file)
        {
            self.to_close.push(held.opened);
        }
    }

    fn start_drops(&mut self, files: &impl Files) {
        for file in self.drops.due(Instant::now()) {
            match self.subject(file, files) {
                Some(subject) => self.workers.drop(file, subject, self.drops.begin(file)),
                // It is not open anywhere, and may not be opened: the kernel gives its pages up in its own time.
                None => self.drops.forget(file),
            }
        }
    }

    /// How a thread comes to a file; None if it may not be opened there and no program has it open.
    fn subject(&self, file: FileId, files: &impl Files) -> Option<Subject> {
        if let Some(held) = self.held.get(&file) {
            return Some(Subject::Open(Arc::clone(&held.opened)));
        }
        // What the program read, or nothing.
        let identity = files.identity(file)?;
        let kind = lock(&self.mounts).kind(identity.0, files.path(file));
        match kind {
            Kind::Local | Kind::Overlay => Some(Subject::Named(files.path(file).to_owned(), Some(identity))),
            Kind::Foreign => borrowed(file, files).map(|opened| Subject::Open(Arc::new(opened))),
            Kind::Memory => None,
        }
    }

    /// Asks which of these stretches of blocks are not in memory at all; those come as
    /// [`Event::Gone`].
    pub fn check(&mut self, file: FileId, blocks: Vec<Range<u64>>, files: &impl Files) {
        if self.is_paused || blocks.is_empty() {
            return;
        }
        if let Some(subject) = self.subject(file, files) {
            self.workers.check(file, subject, blocks);
        }
    }

    /// One of the files that were fetched from, a different one each time.
    pub fn sample(&mut self) -> Option<FileId> {
        self.recent.rotate_left(usize::from(self.recent.len() > 1));
        self.recent.back().copied()
    }

    /// Takes what was done since the last call.
    pub fn collect(&mut self, names: &mut Names, reports: &mut Vec<Report>) {
        self.doorbell.answer();
        reports.append(&mut self.unasked);
        let mut fetched: Vec<(FetchId, io::Result<u64>)> = Vec::new();
        if let Some(uring) = &mut self.uring {
            uring.take_done(|fetch, result| fetched.push((fetch, result)));
        }
        for done in self.workers.take_done() {
            match done {
                Done::Fetched(fetch, result) => fetched.push((fetch, result)),
                Done::Opened(file, result) => self.opened(file, result, names, reports),
                Done::Dropped(file, stayed) => {
                    let released = self.drops.done(file, stayed, Instant::now()).into_iter();
                    self.released.extend(released.map(|(fetch, device, blocks)| (fetch, device, file, blocks)));
                }
                Done::Checked(file, gone) => reports.extend(gone.into_iter().map(|blocks| {
                    let count = blocks.end - blocks.start;
                    Report::Event(Event::Gone { file, first: blocks.start, count })
                })),
                Done::Listed(purpose, path, result) => reports.push(Report::Listed(purpose, path, result)),
                Done::Looked(file, Ok(found)) => self.looked(file, found, names, reports),
                Done::Looked(file, Err(_)) => reports.push(Report::Event(Event::FileMissing { file })),
                Done::Answered(dev, answer) => self.answered(dev, &answer, names, reports),
            }
        }
        fetched.extend(self.needless.drain(..).map(|fetch| (fetch, Ok(0))));
        fetched.extend(self.failed.drain(..).map(|fetch| (fetch, Err(io::ErrorKind::PermissionDenied.into()))));
        for (fetch, result) in fetched {
            self.bytes_fetched += result.as_ref().map_or(0, |&bytes| bytes);
            let Some((file, event)) = self.fetches.piece_done(fetch, result.is_err()) else { continue };
            if let Some(held) = self.held.get_mut(&file) {
                held.in_flight = held.in_flight.saturating_sub(1);
                if held.in_flight == 0 {
                    self.idle.push(file);
                }
                if self.fetched_at.len() >= FETCHED_FILES_MAX {
                    self.fetched_at.clear();
                }
                self.fetched_at.insert(file, Instant::now());
                if self.recent.back() != Some(&file) {
                    self.recent.push_back(file);
                    if self.recent.len() > CHECKED_FILES_MAX {
                        self.recent.pop_front();
                    }
                }
            }
            reports.extend(event.map(Report::Event));
        }
    }

    /// A file is open here, or could not be opened.
    fn opened(
        &mut self,
        file: FileId,
        result: io::Result<(Arc<Opened>, std::fs::Metadata)>,
        names: &mut Names,
        reports: &mut Vec<Report>,
    ) {
        let waiting = self.opening.remove(&file).unwrap_or_default();
        let Ok((opened, metadata)) = result else {
            self.failed.extend(waiting.into_iter().map(|(fetch, _)| fetch));
            return;
        };
        if names.identify(file, (metadata.dev(), metadata.ino())) {
            let blocks = metadata.len().div_ceil(BLOCK_BYTES);
            reports.push(Report::Event(Event::FileChanged { file, blocks }));
        }
        self.held.insert(file, Held { opened, in_flight: 0 });
        for (fetch, blocks) in waiting {
            self.fetch_from_held(fetch, file, &blocks);
        }
        self.idle.push(file);
    }

    /// A name was looked up.
    fn looked(&mut self, file: FileId, found: Found, names: &mut Names, reports: &mut Vec<Report>) {
        let Found { opened, is_file, identity, size, place } = found;
        let is_replaced = names.identify(file, identity);
        let device = self.device(identity.0, names.path(file));
        let conduct = self.conduct(identity.0, names.path(file));
        let may_be_brought = opened.is_some() || (is_file && conduct == Conduct::SmallFiles);
        let blocks = if may_be_brought { size.div_ceil(BLOCK_BYTES) } else { 0 };
        if is_replaced {
            reports.push(Report::Event(Event::FileChanged { file, blocks }));
        }
        if let Some(opened) = opened
            && !self.held.contains_key(&file)
        {
            self.held.insert(file, Held { opened, in_flight: 0 });
            self.idle.push(file);
        }
        match conduct {
            Conduct::Names if is_file && size > 0 => {}
            Conduct::Undecided if is_file && size > 0 => {
                self.unanswered.entry(identity.0).or_default().push((file, size));
                if lock(&self.mounts).begin_probe(identity.0, size) {
                    self.workers.ask(identity, names.path(file).to_owned());
                }
            }
            _ => reports.push(Report::Event(Event::FileKnown { file, device, blocks, place })),
        }
    }

    /// A mount was asked through one of its files: what waited for that is told of, or asked next.
    fn answered(&mut self, dev: u64, answer: &Answer, names: &Names, reports: &mut Vec<Report>) {
        lock(&self.mounts).answered(dev, answer);
        let unanswered = self.unanswered.remove(&dev).unwrap_or_default();
        let Some(&(first, _)) = unanswered.first() else { return };
        let path = names.path(first).to_owned();
        match self.conduct(dev, &path) {
            Conduct::Undecided => {
                let next = unanswered.iter().rev().find(|&&(_, size)| lock(&self.mounts).begin_probe(dev, size));
                if let Some(&(file, _)) = next
                    && let Some(identity) = names.identity(file)
                {
                    self.workers.ask(identity, names.path(file).to_owned());
                }
                self.unanswered.insert(dev, unanswered);
            }
            Conduct::SmallFiles => {
                let device = self.device(dev, &path);
                self.caution(dev, &path);
                reports.extend(unanswered.into_iter().map(|(file, size)| {
                    let blocks = size.div_ceil(BLOCK_BYTES);
                    Report::Event(Event::FileKnown { file, device, blocks, place: 0 })
                }));
            }
            Conduct::Free | Conduct::Nothing | Conduct::Names => {}
        }
    }

    /// The file of this number is another one now.
    pub fn forget(&mut self, file: FileId) {
        if let Some(held) = self.held.remove(&file) {
            self.to_close.push(held.opened);
        }
        self.drops.forget(file);
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
        // What needs nothing to be done is done.
        let timeout = if self.needless.is_empty() && self.failed.is_empty() { timeout } else { Duration::ZERO };
        let time = libc::timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        // SAFETY: the array and the time live through the call; no signal mask is changed.
        unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &raw const time, std::ptr::null()) };
    }
}

/// Whether all of these blocks are in memory: asked where that waits for nothing.
fn is_here(opened: &Opened, blocks: &Range<u64>) -> bool {
    let (bytes, count) = (in_bytes(blocks), blocks.end - blocks.start);
    let pages = || opened.residency.pages(&opened.file, bytes.start, bytes.end - bytes.start);
    opened.residency == Residency::Cachestat && pages().is_ok_and(|pages| pages >= count)
}

/// The file through the descriptor of a program that has it open.
fn borrowed(file: FileId, files: &impl Files) -> Option<Opened> {
    let opened = borrow(files.descriptor(file)?, files.identity(file)?).ok()?;
    Some(Opened::new(opened, Kind::Foreign))
}
