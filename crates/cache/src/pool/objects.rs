//! Which object, in which version, each of the manager's files is.
//!
//! **A file of the manager's is one version of one object.** What is remembered of a version can
//! never be taken for another's, and no event, page or hint needs to say which version it means. A
//! name leads to the file of the version that was seen last; the one before stays for as long as
//! somebody has it open, and is then forgotten with all its pages.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foresee_manager::{DeviceId, Event, FileId};
use foresee_store::{Error as StoreError, Object, Store, Version};

use super::devices::{Devices, Served, StoreId};
use super::gone::Gone;
use super::opened::Opened;
use super::workers::Workers;
use crate::error::Error;
use crate::tier::ObjectKey;

/// Objects that are kept open without a reader, those of files only until they had one: more than
/// the 256 names that are looked up ahead of a plan, where the process may have 768 descriptors or more.
const KEPT_OPEN_MAX: usize = 512;
/// And no more than one of so many descriptors that the process may have, for each may take one: what is
/// being read is open as well, and the program has files of its own. Where more names are looked up
/// ahead (of a device that serves requests one by one 8,192 are), the first of them are opened once more.
const KEPT_OPEN_PART: u64 = 3;
/// Files that are remembered though nothing of them is left: some 8 MB. To open one of them again
/// within the time that names last asks nobody.
const REMEMBERED_MAX: usize = 1 << 14;
/// Files that are looked at, whether they can be forgotten, for each that is added: more than one,
/// so that there are no more for long than must be.
const LOOKS: usize = 2;

enum State {
    Unknown,
    Missing,
    Known {
        size: u64,
        version: Version,
        device: DeviceId,
        is_in_file: bool,
        asked: Instant,
        lasting: Option<ObjectKey>,
    },
}

struct Entry {
    store: StoreId,
    name: Arc<str>,
    state: State,
    /// Readers that have it open.
    handles: u64,
    object: Option<Arc<dyn Object>>,
    /// It is among those that are kept open.
    is_kept: bool,
    /// The store has other bytes by now: nothing more can be read.
    changed: bool,
    /// It was opened since it was looked at, whether it can be forgotten.
    was_opened: bool,
    /// A program has advised on it, for as long as it runs.
    is_advised: bool,
}

/// Where the bytes of a file come from.
pub struct Origin {
    /// The store it is in.
    pub store: Arc<dyn Store>,
    /// Its name there.
    pub name: Arc<str>,
    /// The object, if it is open.
    pub object: Option<Arc<dyn Object>>,
    /// Its version.
    pub version: Version,
    /// Its length in bytes.
    pub size: u64,
}

/// All of them.
pub struct Objects {
    /// Where they lie.
    pub devices: Devices,
    block_bytes: u64,
    by_name: HashMap<(StoreId, Arc<str>), FileId>,
    /// By the files' numbers.
    entries: Vec<Option<Entry>>,
    /// Numbers that no file has.
    free: Vec<FileId>,
    /// Open without a reader, the oldest first.
    kept_open: VecDeque<FileId>,
    /// So many at most.
    kept_open_max: usize,
    /// Whose turn it is to be looked at, whether it can be forgotten.
    hand: usize,
    /// What nothing holds any more, for who has given the pool's lock back.
    gone: Gone,
}

/// How many this process may keep open. Its limit is the one that there is when its cache begins.
fn kept_open_max() -> usize {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is filled in, or stays as it is.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    usize::try_from(limit.rlim_cur / KEPT_OPEN_PART).map_or(KEPT_OPEN_MAX, |part| part.min(KEPT_OPEN_MAX))
}

impl Objects {
    /// None, on these devices.
    pub fn new(devices: Devices, block_bytes: u64) -> Self {
        Objects {
            devices,
            block_bytes,
            by_name: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            kept_open: VecDeque::new(),
            kept_open_max: kept_open_max(),
            hand: 0,
            gone: Gone::default(),
        }
    }

    fn entry(&mut self, file: FileId) -> Option<&mut Entry> {
        self.entries.get_mut(file.0 as usize)?.as_mut()
    }

    fn of(&self, file: FileId) -> Option<&Entry> {
        self.entries.get(file.0 as usize)?.as_ref()
    }

    /// How many files are known.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// The next files that may be forgotten, if there are more than are worth remembering: those
    /// that nobody has open, nor opened since they were looked at last.
    pub fn outworn(&mut self) -> Vec<FileId> {
        let looks = if self.len() > REMEMBERED_MAX { LOOKS } else { 0 };
        let mut outworn = Vec::new();
        for _ in 0..looks {
            self.hand = if self.hand + 1 < self.entries.len() { self.hand + 1 } else { 0 };
            let file = FileId(self.hand as u32);
            if let Some(entry) = self.entry(file)
                && !std::mem::take(&mut entry.was_opened)
                && entry.handles == 0
                && !entry.is_kept
                && !entry.is_advised
            {
                outworn.push(file);
            }
        }
        outworn
    }

    /// The manager knows nothing of this file any more: its number is free.
    pub fn forgotten(&mut self, file: FileId) {
        if let Some(Entry { store, name, object, .. }) = self.entries.get_mut(file.0 as usize).and_then(Option::take) {
            self.gone.add(object);
            self.free.push(file);
            if self.by_name.get(&(store, Arc::clone(&name))) == Some(&file) {
                self.by_name.remove(&(store, name));
            }
        }
    }

    /// A program advises on a file: that is said of its number.
    pub fn advised(&mut self, file: FileId) {
        self.entry(file).into_iter().for_each(|entry| entry.is_advised = true);
    }

    /// What the name leads to, as far as that is known.
    pub fn named(&mut self, store: StoreId, name: &str) -> Result<FileId, Error> {
        match self.by_name.get(&(store, Arc::from(name))).copied() {
            Some(file) => {
                self.entry(file).into_iter().for_each(|entry| entry.was_opened = true);
                Ok(file)
            }
            None => self.add(store, name),
        }
    }

    fn add(&mut self, store: StoreId, name: &str) -> Result<FileId, Error> {
        let file = match self.free.pop() {
            Some(file) => file,
            None => FileId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX)),
        };
        if file.0 >= FileId::LIMIT {
            return Err(Error::TooManyFiles);
        }
        let name = Arc::from(name);
        self.by_name.insert((store, Arc::clone(&name)), file);
        if file.0 as usize >= self.entries.len() {
            self.entries.push(None);
        }
        self.entries[file.0 as usize] = Some(Entry {
            store,
            name,
            state: State::Unknown,
            handles: 0,
            object: None,
            is_kept: false,
            changed: false,
            was_opened: true,
            is_advised: false,
        });
        Ok(file)
    }

    /// A reader opened an object, which fits. Returns its file, and what the manager must hear of it.
    pub fn opened(&mut self, store: StoreId, name: &str, opened: &Opened) -> Result<(FileId, Vec<Event>), Error> {
        let (mut file, mut events) = (self.named(store, name)?, Vec::new());
        // A store may be wrong about a length: what is cut to one is not another's.
        let is_other = |size: &u64, version: &Version| (*size, version) != (opened.size, &opened.version);
        let is_another = |known: &Entry| {
            known.changed || matches!(&known.state, State::Known { size, version, .. } if is_other(size, version))
        };
        if self.of(file).is_some_and(is_another) {
            let before = std::mem::replace(&mut file, self.add(store, name)?);
            events.extend(self.forget_unless_open(before));
        }
        let is_known = |entry: &Entry| matches!(entry.state, State::Known { .. });
        if !self.of(file).is_some_and(is_known) {
            events.extend(self.resolved(file, opened));
        }
        let mut before = None;
        if let Some(entry) = self.entry(file) {
            if let State::Known { asked, .. } = &mut entry.state {
                *asked = opened.asked;
            }
            entry.handles += 1;
            // What was opened now may be by other credentials. A file is open already.
            if opened.is_in_file {
                entry.object.get_or_insert_with(|| Arc::clone(&opened.object));
            } else {
                before = entry.object.replace(Arc::clone(&opened.object));
            }
        }
        self.gone.add(before);
        Ok((file, events))
    }

    /// A reader opens what was asked for no longer ago than this: its file, with its length and
    /// version. None if it was not.
    pub fn reopened(&mut self, store: StoreId, name: &str, max_age: Duration) -> Option<(FileId, u64, Version)> {
        let file = *self.by_name.get(&(store, Arc::from(name)))?;
        let entry = self.entry(file).filter(|entry| !entry.changed)?;
        let State::Known { size, version, is_in_file, asked, .. } = &entry.state else { return None };
        // To open it for each read would take longer than to ask once.
        let is_open = !is_in_file || entry.object.is_some();
        let found = (is_open && asked.elapsed() < max_age).then(|| (file, *size, version.clone()))?;
        entry.handles += 1;
        entry.was_opened = true;
        Some(found)
    }

    fn resolved(&mut self, file: FileId, opened: &Opened) -> Option<Event> {
        let entry = self.entries.get_mut(file.0 as usize)?.as_mut()?;
        let Opened { size, version, place, begins_at, is_in_file, asked, .. } = opened;
        let (size, version, is_in_file, asked) = (*size, version.clone(), *is_in_file, *asked);
        let device = self.devices.device(entry.store, place, is_in_file);
        let Served { scheme, versions_last, .. } = self.devices.store(entry.store);
        let lasting = versions_last.then(|| ObjectKey::new(scheme, &entry.name, &version, size));
        entry.state = State::Known { size, version, device, is_in_file, asked, lasting };
        let (blocks, place) = (size.div_ceil(self.block_bytes), begins_at / self.block_bytes);
        Some(Event::FileKnown { file, device, blocks, place })
    }

    /// A reader closed it.
    pub fn closed(&mut self, file: FileId) -> Option<Event> {
        let entry = self.entry(file)?;
        entry.handles -= 1;
        if entry.handles > 0 {
            return None;
        }
        // A file that is deleted takes room until nobody has it open.
        let is_in_file = matches!(entry.state, State::Known { is_in_file: true, .. });
        match (self.is_current(file), is_in_file) {
            (false, _) => return self.forget_unless_open(file),
            (true, true) => self.release(file),
            (true, false) => self.keep_open(file),
        }
        None
    }

    /// Whether its name leads to it.
    fn is_current(&self, file: FileId) -> bool {
        let leads_to_it = |it: &Entry| self.by_name.get(&(it.store, Arc::clone(&it.name))) == Some(&file);
        self.of(file).is_some_and(|it| !it.changed && leads_to_it(it))
    }

    fn forget_unless_open(&mut self, file: FileId) -> Option<Event> {
        let entry = self.entry(file).filter(|entry| entry.handles == 0)?;
        // What is on its way is nobody's: the manager keeps nothing of it.
        entry.changed = true;
        let object = entry.object.take();
        self.gone.add(object);
        Some(Event::FileChanged { file, blocks: 0 })
    }

    fn keep_open(&mut self, file: FileId) {
        if self.entry(file).is_some_and(|entry| !std::mem::replace(&mut entry.is_kept, true)) {
            self.kept_open.push_back(file);
        }
        if self.kept_open.len() > self.kept_open_max
            && let Some(oldest) = self.kept_open.pop_front()
        {
            self.keep_open_no_more(oldest);
        }
    }

    fn keep_open_no_more(&mut self, file: FileId) {
        let Some(entry) = self.entry(file) else { return };
        entry.is_kept = false;
        self.release(file);
    }

    /// Its object is open no more, but for readers.
    fn release(&mut self, file: FileId) {
        let object = self.entry(file).filter(|entry| entry.handles == 0).and_then(|entry| entry.object.take());
        self.gone.add(object);
    }

    /// What is open without a reader is so no more: the system gives no more descriptors.
    pub fn close_kept(&mut self) {
        while let Some(file) = self.kept_open.pop_front() {
            self.keep_open_no_more(file);
        }
    }

    /// What nothing holds any more.
    pub fn take_gone(&mut self) -> Gone {
        std::mem::take(&mut self.gone)
    }

    /// All objects, as the pool goes.
    pub fn close_all(&mut self) -> Gone {
        let all = self.entries.iter_mut().flatten().filter_map(|entry| entry.object.take());
        self.gone.add(all);
        self.take_gone()
    }

    /// A name was looked up ahead of its reader. What the manager must hear of it, unless a reader
    /// has opened it meanwhile.
    pub fn looked_up(&mut self, file: FileId, opened: Result<Opened, StoreError>) -> Option<Event> {
        let block_bytes = self.block_bytes;
        self.gone.add(opened.iter().map(|opened| Arc::clone(&opened.object)));
        let entry = self.entry(file).filter(|entry| matches!(entry.state, State::Unknown))?;
        let Some(opened) = opened.ok().filter(|opened| opened.fits(block_bytes)) else {
            entry.state = State::Missing;
            return Some(Event::FileMissing { file });
        };
        entry.object = Some(Arc::clone(&opened.object));
        self.keep_open(file);
        self.resolved(file, &opened)
    }

    /// What is read of it is of another version.
    pub fn changed(&mut self, file: FileId) {
        if let Some(entry) = self.entry(file) {
            entry.changed = true;
        }
    }

    /// Where a name is looked up.
    pub fn whereabouts(&self, file: FileId) -> Option<(&Served, Arc<str>)> {
        let Entry { store, name, .. } = self.of(file)?;
        Some((self.devices.store(*store), Arc::clone(name)))
    }

    /// The threads that read a file.
    pub fn workers(&self, file: FileId) -> Option<&Arc<Workers>> {
        let Entry { store, state, .. } = self.of(file)?;
        Some(match state {
            State::Known { device, .. } => self.devices.workers(*device),
            State::Unknown | State::Missing => &self.devices.store(*store).lookups,
        })
    }

    /// What the file is called where names must last, if its store's versions do.
    pub fn lasting(&self, file: FileId) -> Option<(DeviceId, ObjectKey)> {
        let Entry { state, changed, .. } = self.of(file)?;
        let State::Known { device, lasting, .. } = state else { return None };
        lasting.filter(|_| !changed).map(|lasting| (*device, lasting))
    }

    /// Where the bytes of a file come from, if they can be had.
    pub fn origin(&self, file: FileId) -> Result<Origin, StoreError> {
        let entry = self.of(file).ok_or(StoreError::NotFound)?;
        let State::Known { size, version, .. } = &entry.state else { return Err(StoreError::NotFound) };
        if entry.changed {
            return Err(StoreError::Changed);
        }
        let (store, name) = (Arc::clone(&self.devices.store(entry.store).store), Arc::clone(&entry.name));
        let (object, version) = (entry.object.clone(), version.clone());
        Ok(Origin { store, name, object, version, size: *size })
    }
}

#[cfg(test)]
mod tests {
    use foresee_store::Memory;

    use super::*;

    #[test]
    fn the_manager_hears_where_a_file_begins() {
        let bytes = Memory::default();
        bytes.put("a", *b"bytes");
        let opened = Opened { begins_at: 123 * 4096, ..Opened::open(&bytes, "a").unwrap() };
        let stores: Vec<(String, Arc<dyn Store>)> = vec![("test".to_owned(), Arc::new(bytes))];
        let make = |threads_max| Workers::new(threads_max, |_: &mut dyn Iterator<Item = _>| {});
        let mut objects = Objects::new(Devices::new(stores, 64, Box::new(make)), 4096);
        let (_, events) = objects.opened(StoreId(0), "a", &opened).unwrap();
        let told = events.iter().find_map(|event| match event {
            Event::FileKnown { place, .. } => Some(*place),
            _ => None,
        });
        assert_eq!(told, Some(123));
    }
}
