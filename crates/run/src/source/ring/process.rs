//! The model of a running program: which file a descriptor is, where it stands, what a relative
//! path means.
//!
//! The programs post what they did and nothing more, because a system call in their read path would
//! cost them time. The model may be wrong (a record was lost, a program is hostile); then foresee
//! learns nonsense about that program, and nothing else happens.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use foldhash::HashMap;
use foresee_manager::FileId;
use foresee_ring::{Class, Entry, OFFSET_APPENDED, OFFSET_CURRENT, PATH_BYTES_MAX, Record};

use super::room::Room;
use super::seen::{Read, Seen};
use crate::names::{Names, absolute};
use crate::programs::ProgramId;
use crate::source::Mapping;

/// Descriptors of one process that are followed; a program that claims more is not believed.
const DESCRIPTORS_MAX: usize = 65_536;
/// Mappings of one process that are followed, for `madvise`.
const MAPPINGS_MAX: usize = 1024;

/// A path that can be followed: absolute, and no longer than one that can be opened.
fn known(path: PathBuf) -> Option<PathBuf> {
    Some(path).filter(|path| path.is_absolute() && path.as_os_str().len() <= PATH_BYTES_MAX)
}

/// An open file, shared by all descriptors that are duplicates of one another.
#[derive(Debug)]
pub(super) struct OpenFile {
    /// Its number, if it is a regular file and read through the page cache.
    pub(super) file: Option<FileId>,
    /// What it is called, if that is known.
    name: Option<FileId>,
    /// It is a regular file, and read past the page cache (O_DIRECT).
    is_past_cache: bool,
    /// Where its next read begins.
    position: u64,
}

/// Where a transfer lies.
struct Place {
    file: FileId,
    offset: u64,
    is_past_cache: bool,
}

/// One use of a descriptor number.
#[derive(Clone)]
struct Descriptor {
    generation: u32,
    open: Rc<RefCell<OpenFile>>,
}

/// Whether a process tells of what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// As far as is known.
    Told,
    /// It opened a file to read it, and has not told of a read since: so often that was so when it was
    /// asked.
    Awaited(u32),
    /// It reads by a queue, as was found, or by system calls of its own, as it said.
    Untold,
}

pub(super) struct Process {
    /// Empty if it is not known.
    pub directory: PathBuf,
    descriptors: HashMap<i32, Descriptor>,
    mappings: Vec<Mapping>,
    pub slot: Option<u32>,
    /// The order in which processes began, for profiles.
    pub ordinal: u32,
    /// Of which of the runs that share the supervisor it is.
    pub run: u32,
    pub program: ProgramId,
    /// Names lead it elsewhere than us: none of them is followed.
    pub is_elsewhere: bool,
    /// What it is about to execute, or has executed, that does not tell of itself.
    pub unseen_as: Option<Box<[u8]>>,
    pub reads: Reads,
    room: Room,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.room.give(self.descriptors.len() + self.mappings.len());
    }
}

impl Process {
    pub fn new(ordinal: u32, run: u32, program: ProgramId, room: &Room) -> Self {
        Process {
            directory: PathBuf::new(),
            descriptors: HashMap::default(),
            mappings: Vec::new(),
            slot: None,
            ordinal,
            run,
            program,
            is_elsewhere: false,
            unseen_as: None,
            reads: Reads::Told,
            room: room.clone(),
        }
    }

    /// A child as `fork` makes it, with what is open here as far as there is room.
    pub fn fork(&self, ordinal: u32, slot: Option<u32>) -> Process {
        let mut child = Process::new(ordinal, self.run, self.program, &self.room);
        child.directory = self.directory.clone();
        child.slot = slot;
        child.is_elsewhere = self.is_elsewhere;
        if self.room.take(self.descriptors.len() + self.mappings.len()) {
            child.descriptors = self.descriptors.clone();
            child.mappings = self.mappings.clone();
        }
        child
    }

    /// Another program began in this process. What was not close-on-exec is still open; what was is
    /// overwritten by the next use of its number.
    pub fn exec(&mut self, directory: PathBuf, slot: Option<u32>) {
        self.room.give(self.mappings.len());
        self.mappings.clear();
        (self.unseen_as, self.reads) = (None, Reads::Told);
        (self.directory, self.slot) = (directory, slot);
    }

    /// It executes this, which does not tell of itself. Who has no slot, as a child of vfork's that does but
    /// this, may end without a word: nothing else of it is kept.
    pub fn goes_unseen(&mut self, path: &[u8]) {
        self.unseen_as = Some(path.into());
        if self.slot.is_none() {
            self.room.give(self.descriptors.len() + self.mappings.len());
            (self.descriptors, self.mappings) = (HashMap::default(), Vec::new());
        }
    }

    /// The mapping that holds this address.
    pub fn mapping(&self, addr: u64) -> Option<&Mapping> {
        self.mappings.iter().rev().find(|it| addr.wrapping_sub(it.addr) < it.len)
    }

    /// From now on this number is this descriptor, if there is room.
    fn insert(&mut self, fd: i32, descriptor: Descriptor) {
        let is_new = !self.descriptors.contains_key(&fd);
        if !is_new || self.descriptors.len() < DESCRIPTORS_MAX && self.room.take(1) {
            self.descriptors.insert(fd, descriptor);
        }
    }

    fn remove(&mut self, fd: i32) {
        if self.descriptors.remove(&fd).is_some() {
            self.room.give(1);
        }
    }

    /// What a descriptor is called.
    fn name<'n>(&self, fd: i32, names: &'n Names) -> Option<&'n Path> {
        Some(names.path(self.descriptors.get(&fd)?.open.borrow().name?))
    }

    /// Takes one record of its own in. Returns what it means, if it means anything outside this
    /// model.
    pub fn learn(&mut self, entry: &Entry, names: &mut Names) -> Option<Seen> {
        // It tells of itself: what it announced was a child's (vfork), or failed.
        self.unseen_as = None;
        match entry.record {
            Record::Opened { .. } => self.opened(entry, names),
            Record::OpenFailed { dirfd, .. } => self.named(dirfd, entry.path, None, names),
            Record::Stated { dirfd, took, .. } => self.named(dirfd, entry.path, Some(took.ticks()), names),
            Record::ListingWaited {} => Some(Seen::ListingWaited),
            Record::Listed { fd } => {
                let file = match entry.path {
                    [] => self.descriptors.get(&fd)?.open.borrow().name?,
                    path => names.of_path(&self.resolve(libc::AT_FDCWD, path, names)?)?,
                };
                Some(Seen::Named { file, ticks: None })
            }
            Record::ChangedDirectory { fd } => {
                self.directory = match entry.path {
                    [] => self.name(fd, names)?.to_owned(),
                    path => known(absolute(&self.directory, path)).unwrap_or_default(),
                };
                None
            }
            Record::Closed { fd, generation } => {
                // Told by another thread, it may come after the number's next use.
                if self.descriptors.get(&fd).is_some_and(|it| it.generation == generation) {
                    self.remove(fd);
                }
                None
            }
            Record::Duplicated { from, to, generation } => {
                match self.descriptors.get(&from).map(|it| Rc::clone(&it.open)) {
                    Some(open) => self.insert(to, Descriptor { generation, open }),
                    None => self.remove(to),
                }
                None
            }
            Record::Seeked { fd, generation, offset } => {
                self.open_file(fd, generation)?.position = offset;
                None
            }
            Record::Read { fd, generation, offset, got, took, site, .. } => {
                self.tells_reads();
                let bytes = u64::try_from(got).ok()?;
                let Place { file, offset, is_past_cache } = self.advance(fd, generation, offset, bytes)?;
                let descriptor = (self.slot, fd, generation);
                let (ticks, site) = (took.ticks(), u64::from(site));
                (bytes > 0).then_some(Seen::Read(Read { file, offset, bytes, ticks, site, descriptor, is_past_cache }))
            }
            Record::Wrote { fd, generation, offset, len, site } => {
                let Place { file, offset, is_past_cache } = self.advance(fd, generation, offset, len)?;
                Some(Seen::Wrote { file, offset, bytes: len, site: u64::from(site), is_past_cache })
            }
            Record::Mapped { fd, generation, addr, offset, len, .. } => {
                self.tells_reads();
                let file = self.open_file(fd, generation)?.file?;
                let mapping = Mapping { addr, len, offset, file };
                if self.mappings.len() < MAPPINGS_MAX && self.room.take(1) {
                    self.mappings.push(mapping);
                }
                Some(Seen::Mapped { file, at: Some(mapping) })
            }
            Record::SiteMet { site, offset } => {
                let object = self.resolve(libc::AT_FDCWD, entry.path, names)?;
                Some(Seen::Site { site: u64::from(site), object, offset })
            }
            Record::Quiesces { ticket } => Some(Seen::Quiesces { slot: self.slot, ticket }),
            // Without a slash, only the dynamic linker knows which file it is; it is told once it is loaded.
            Record::Loading {} if !entry.path.contains(&b'/') => None,
            Record::Loaded { .. } | Record::Loading {} => {
                let path = self.resolve(libc::AT_FDCWD, entry.path, names)?;
                Some(Seen::Mapped { file: names.of_path(&path)?, at: None })
            }
            _ => self.says(entry, names),
        }
    }

    /// The open file of this use of a descriptor number. Another use than we know of: its opening
    /// was lost, or another thread was faster to tell; then nothing is known of it.
    pub fn open_file(&self, fd: i32, generation: u32) -> Option<std::cell::RefMut<'_, OpenFile>> {
        let descriptor = self.descriptors.get(&fd)?;
        (descriptor.generation == generation).then(|| descriptor.open.borrow_mut())
    }

    fn tells_reads(&mut self) {
        if matches!(self.reads, Reads::Awaited(_)) {
            self.reads = Reads::Told;
        }
    }

    pub fn resolve(&self, dirfd: i32, path: &[u8], names: &Names) -> Option<PathBuf> {
        let base = match path {
            [] => return None,
            _ if self.is_elsewhere => return None,
            [b'/', ..] => Path::new("/"),
            _ if dirfd == libc::AT_FDCWD => &self.directory,
            _ => self.name(dirfd, names)?,
        };
        known(absolute(base, path))
    }

    fn named(&self, dirfd: i32, path: &[u8], ticks: Option<u64>, names: &mut Names) -> Option<Seen> {
        let path = self.resolve(dirfd, path, names)?;
        Some(Seen::Named { file: names.of_path(&path)?, ticks })
    }

    fn opened(&mut self, entry: &Entry, names: &mut Names) -> Option<Seen> {
        let Record::Opened { fd, generation, flags, dirfd, class, adopted, dev, ino, size, offset, took } =
            entry.record
        else {
            return None;
        };
        let path = self.resolve(dirfd, entry.path, names)?;
        let name = match class {
            Class::Directory => names.of_directory(&path, (dev, ino)),
            _ => names.of_path(&path),
        };
        let is_past_cache = class == Class::Regular && flags & libc::O_DIRECT != 0;
        let file = name.filter(|_| class == Class::Regular && !is_past_cache);
        let ticks = (!adopted).then(|| took.ticks());
        let seen = match file {
            None if is_past_cache => name.map(|file| Seen::PastCache { file, identity: Some((dev, ino)) }),
            Some(file) => Some(Seen::Opened { file, identity: (dev, ino), size, named: !adopted, ticks }),
            None => name.filter(|_| !adopted).map(|file| Seen::Named { file, ticks }),
        };
        let is_followed = file.is_some() || is_past_cache;
        if is_followed && size > 0 && flags & libc::O_ACCMODE != libc::O_WRONLY && self.reads == Reads::Told {
            self.reads = Reads::Awaited(0);
        }
        let open = Rc::new(RefCell::new(OpenFile { file, name, is_past_cache, position: offset }));
        self.insert(fd, Descriptor { generation, open });
        seen
    }

    /// Where a transfer of `bytes` lies; moves the position if it is at it.
    fn advance(&mut self, fd: i32, generation: u32, offset: u64, bytes: u64) -> Option<Place> {
        let mut open = self.open_file(fd, generation)?;
        let from = match offset {
            OFFSET_CURRENT => {
                let from = open.position;
                open.position = from.saturating_add(bytes);
                from
            }
            appended if appended & OFFSET_APPENDED != 0 => {
                let from = appended & !OFFSET_APPENDED;
                open.position = from.saturating_add(bytes);
                from
            }
            offset => offset,
        };
        let is_past_cache = open.is_past_cache;
        Some(Place { file: if is_past_cache { open.name } else { open.file }?, offset: from, is_past_cache })
    }
}
