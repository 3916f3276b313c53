//! The model of the running programs: which file a descriptor is, where it stands, what a relative path means.
//!
//! The programs post what they did and nothing more, because a system call in their read path would cost them time. The
//! model may be wrong (a record was lost, a program is hostile); then foresee learns nonsense about that program, and
//! nothing else happens.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use foresee_manager::{Advice, FileId, Order};
use foresee_ring::{Advice as FileAdvice, Class, Counters, Entry, OFFSET_CURRENT, Record, segments};

use crate::host::blocks;
use crate::names::{Identity, Names, absolute};
use crate::programs::{ProgramId, Programs};

/// Descriptors of one process that are followed; a program that claims more is not believed.
const DESCRIPTORS_MAX: usize = 65_536;
/// Mappings of one process that are followed, for `madvise`.
const MAPPINGS_MAX: usize = 1024;

/// An open file, shared by all descriptors that are duplicates of one another.
#[derive(Debug)]
struct OpenFile {
    /// Its number, if it is a regular file.
    file: Option<FileId>,
    path: PathBuf,
    /// Where its next read begins.
    position: u64,
}

/// One use of a descriptor number.
#[derive(Clone)]
struct Descriptor {
    generation: u32,
    open: Rc<RefCell<OpenFile>>,
}

#[derive(Clone)]
struct Mapping {
    addr: u64,
    len: u64,
    offset: u64,
    file: FileId,
}

#[derive(Default, Clone)]
struct Process {
    directory: PathBuf,
    descriptors: HashMap<i32, Descriptor>,
    mappings: Vec<Mapping>,
    slot: Option<u32>,
    /// The order in which processes began, for profiles.
    ordinal: u32,
    /// Of which of the runs that share the supervisor it is.
    run: u32,
    program: ProgramId,
}

/// Bytes of a file that a program read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// The file.
    pub file: FileId,
    /// From where.
    pub offset: u64,
    /// How many came.
    pub bytes: u64,
    /// How long it took, in ticks.
    pub ticks: u64,
    /// The call site, or 0.
    pub site: u64,
    /// The process's slot and the descriptor with its generation, for attention.
    pub descriptor: (Option<u32>, i32, u32),
}

/// Something that matters to the manager or the record of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A regular file was opened.
    Opened {
        /// The file.
        file: FileId,
        /// Its device and inode.
        identity: Identity,
        /// Its size in bytes.
        size: u64,
        /// It was opened anew, not found open.
        named: bool,
    },
    /// A name was looked up: opened, stat'ed, listed, or found missing.
    Named {
        /// The file.
        file: FileId,
    },
    /// Bytes of a file were read.
    Read(Read),
    /// A part of a file was written.
    Wrote {
        /// The file.
        file: FileId,
        /// From where.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// The call site, or 0.
        site: u64,
    },
    /// A file was mapped: it is read without calls.
    Mapped {
        /// The file.
        file: FileId,
    },
    /// The program said it will read this. A length of 0 is to the file's end.
    Advised {
        /// The file.
        file: FileId,
        /// From where.
        offset: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// The process said something through the hint library.
    Disclosed(Disclosure),
    /// The process advised which of its pages go first, or asked what it advised (002 section 3).
    Advises(Advising),
    /// The process ended.
    Ended {
        /// Its number in the order of their beginnings.
        ordinal: u32,
    },
}

/// What a process says through the hint library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disclosure {
    /// It will read this.
    Hint {
        /// The file, if it is one that can be followed.
        file: Option<FileId>,
        /// All of it; else the segments that follow.
        whole: bool,
    },
    /// The next segments of the file it hinted last: from where, and how many bytes.
    Segments(Vec<(u64, u64)>),
    /// What its last hints disclosed is read again and again.
    Repeat {
        /// So many of its hints.
        hints: u64,
        /// How often in all; 0 is without end.
        passes: u64,
    },
    /// What it disclosed and has not read is withdrawn.
    Cancel,
}

/// A call of the hint library's other half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advising {
    /// What it says; None if it speaks of a file or range that cannot be followed.
    pub advice: Option<Advice>,
    /// The slot of the process, and what it knows its answer by; None if it waits for none.
    pub slot: Option<u32>,
    /// See `slot`.
    pub ticket: Option<u32>,
}

/// All processes of a supervisor's runs.
#[derive(Default)]
pub struct Processes {
    by_pid: HashMap<u32, Process>,
    started: u32,
    started_of: HashMap<u32, u32>,
    /// Who starts programs of runs other than the first: a `foresee run`, by process number.
    starters: HashMap<u32, u32>,
    programs: Programs,
}

impl Processes {
    /// How many processes of a run were seen so far.
    pub fn count(&self, run: u32) -> u32 {
        self.started_of.get(&run).copied().unwrap_or(0)
    }

    /// The number of a process in the order of their beginnings.
    pub fn ordinal(&self, pid: u32) -> u32 {
        self.by_pid.get(&pid).map_or(0, |process| process.ordinal)
    }

    /// What a process executes.
    pub fn program(&self, pid: u32) -> ProgramId {
        self.by_pid.get(&pid).map_or(ProgramId::default(), |process| process.program)
    }

    /// The programs.
    pub fn programs(&mut self) -> &mut Programs {
        &mut self.programs
    }

    /// What this process starts is of this run, from now on.
    pub fn starts(&mut self, pid: u32, run: u32) {
        self.starters.insert(pid, run);
    }

    /// It starts nothing any more.
    pub fn starts_no_more(&mut self, pid: u32) {
        self.starters.remove(&pid);
    }

    /// A process is gone. Returns the number it had in the order of their beginnings.
    pub fn forget(&mut self, pid: u32) -> Option<u32> {
        self.by_pid.remove(&pid).map(|process| process.ordinal)
    }

    /// Takes one record in. Returns what it means, if it means anything outside this model.
    pub fn learn(&mut self, entry: &Entry, names: &mut Names) -> Option<Seen> {
        let pid = entry.stamp.pid;
        match entry.record {
            Record::ProcessStarted { ppid, slot } => {
                self.started(pid, ppid, slot, absolute(Path::new("/"), entry.path));
            }
            Record::Executed { reads, bytes, stall_ticks } => {
                let process = self.by_pid.get_mut(&pid)?;
                let program = self.programs.executed(process.run, entry.path);
                let before = std::mem::replace(&mut process.program, program);
                if let Some(slot) = process.slot {
                    self.programs.count(slot, before, Counters { reads, bytes, stall_ticks });
                }
                return None;
            }
            Record::Forked { parent, slot } => self.forked(pid, parent, slot),
            Record::Exited {} => return Some(Seen::Ended { ordinal: self.exited(pid)? }),
            _ => return self.by_pid.get_mut(&pid)?.learn(entry, names),
        }
        None
    }

    /// One with a slot is remembered until the slot is given back: what it counted is its program's.
    fn exited(&mut self, pid: u32) -> Option<u32> {
        match self.by_pid.get(&pid)?.slot {
            Some(_) => Some(self.ordinal(pid)),
            None => self.forget(pid),
        }
    }

    fn started(&mut self, pid: u32, ppid: u32, slot: u32, directory: PathBuf) {
        let (run, program) = match (self.starters.get(&ppid), self.by_pid.get(&ppid)) {
            (Some(&run), _) => (run, ProgramId::default()),
            (None, Some(parent)) => (parent.run, parent.program),
            (None, None) => (0, ProgramId::default()),
        };
        if !self.by_pid.contains_key(&pid) {
            self.started += 1;
            *self.started_of.entry(run).or_default() += 1;
        }
        let ordinal = self.started;
        let process = self.by_pid.entry(pid).or_insert_with(|| Process { ordinal, run, program, ..Process::default() });
        // After exec, what was not close-on-exec is still open; what was is overwritten by the next use of its number.
        process.mappings.clear();
        process.directory = directory;
        process.slot = (slot != foresee_ring::NO_PROCESS_SLOT).then_some(slot);
    }

    fn forked(&mut self, pid: u32, parent: u32, slot: u32) {
        self.started += 1;
        let mut child = self.by_pid.get(&parent).cloned().unwrap_or_default();
        child.slot = (slot != foresee_ring::NO_PROCESS_SLOT).then_some(slot);
        child.ordinal = self.started;
        *self.started_of.entry(child.run).or_default() += 1;
        self.by_pid.insert(pid, child);
    }
}

impl Process {
    fn learn(&mut self, entry: &Entry, names: &mut Names) -> Option<Seen> {
        match entry.record {
            Record::Opened { .. } => self.opened(entry, names),
            Record::OpenFailed { dirfd, .. } | Record::Stated { dirfd, .. } => {
                let path = self.resolve(dirfd, entry.path)?;
                Some(Seen::Named { file: names.of_path(&path)? })
            }
            Record::Listed { fd } => {
                let path = match entry.path {
                    [] => self.descriptors.get(&fd)?.open.borrow().path.clone(),
                    path => self.resolve(libc::AT_FDCWD, path)?,
                };
                Some(Seen::Named { file: names.of_path(&path)? })
            }
            Record::ChangedDirectory { fd } => {
                self.directory = match entry.path {
                    [] => self.descriptors.get(&fd)?.open.borrow().path.clone(),
                    path => absolute(&self.directory, path),
                };
                None
            }
            Record::Closed { fd, generation } => {
                // Told by another thread, it may come after the number's next use.
                if self.descriptors.get(&fd).is_some_and(|it| it.generation == generation) {
                    self.descriptors.remove(&fd);
                }
                None
            }
            Record::Duplicated { from, to, generation } => {
                match self.descriptors.get(&from).map(|it| Rc::clone(&it.open)) {
                    Some(open) => self.descriptors.insert(to, Descriptor { generation, open }),
                    None => self.descriptors.remove(&to),
                };
                None
            }
            Record::Seeked { fd, generation, offset } => {
                self.open_file(fd, generation)?.position = offset;
                None
            }
            Record::Read { fd, generation, offset, got, took, site, .. } => {
                let bytes = u64::try_from(got).ok()?;
                let (file, offset) = self.advance(fd, generation, offset, bytes)?;
                let descriptor = (self.slot, fd, generation);
                let (ticks, site) = (took.ticks(), u64::from(site));
                (bytes > 0).then_some(Seen::Read(Read { file, offset, bytes, ticks, site, descriptor }))
            }
            Record::Wrote { fd, generation, offset, len, site } => {
                let (file, offset) = self.advance(fd, generation, offset, len)?;
                Some(Seen::Wrote { file, offset, bytes: len, site: u64::from(site) })
            }
            Record::Mapped { fd, generation, addr, offset, len, .. } => {
                let file = self.open_file(fd, generation)?.file?;
                if self.mappings.len() < MAPPINGS_MAX {
                    self.mappings.push(Mapping { addr, len, offset, file });
                }
                Some(Seen::Mapped { file })
            }
            // Without a slash, only the dynamic linker knows which file it is; it is told once it is loaded.
            Record::Loading {} if !entry.path.contains(&b'/') => None,
            Record::Loaded { .. } | Record::Loading {} => {
                let path = self.resolve(libc::AT_FDCWD, entry.path)?;
                Some(Seen::Mapped { file: names.of_path(&path)? })
            }
            Record::Advised { fd, generation, advice: FileAdvice::WillNeed | FileAdvice::Sequential, offset, len } => {
                let file = self.open_file(fd, generation)?.file?;
                Some(Seen::Advised { file, offset, bytes: len })
            }
            Record::AdvisedMemory { advice: FileAdvice::WillNeed, addr, len } => {
                let mapping = self.mappings.iter().rev().find(|it| addr.wrapping_sub(it.addr) < it.len)?;
                let offset = mapping.offset.saturating_add(addr - mapping.addr);
                Some(Seen::Advised { file: mapping.file, offset, bytes: len })
            }
            Record::Hinted { whole } => {
                let path = self.resolve(libc::AT_FDCWD, entry.path);
                let file = path.and_then(|path| names.of_path(&path));
                Some(Seen::Disclosed(Disclosure::Hint { file, whole }))
            }
            Record::HintedSegments {} => Some(Seen::Disclosed(Disclosure::Segments(segments(entry.path).collect()))),
            Record::HintsRepeated { hints, passes } => Some(Seen::Disclosed(Disclosure::Repeat { hints, passes })),
            Record::HintsCancelled {} => Some(Seen::Disclosed(Disclosure::Cancel)),
            _ => Some(Seen::Advises(self.advises(entry, names)?)),
        }
    }

    /// What a call that advises says, if the record is one.
    fn advises(&self, entry: &Entry, names: &mut Names) -> Option<Advising> {
        let mut file = || names.of_path(&self.resolve(libc::AT_FDCWD, entry.path)?);
        let (ticket, advice) = match entry.record {
            Record::Managed { ticket, on } => (Some(ticket), Some(if on { Advice::Manage } else { Advice::GiveUp })),
            Record::PrioritySet { ticket, priority } => {
                (Some(ticket), file().map(|file| Advice::SetPriority { file, priority }))
            }
            Record::PriorityAsked { ticket } => (Some(ticket), file().map(|file| Advice::GetPriority { file })),
            Record::PolicySet { ticket, priority, order } => {
                let order = match order {
                    foresee_ring::Order::Lru => Order::Lru,
                    foresee_ring::Order::Mru => Order::Mru,
                };
                (Some(ticket), Some(Advice::SetPolicy { priority, order }))
            }
            Record::PolicyAsked { ticket, priority } => (Some(ticket), Some(Advice::GetPolicy { priority })),
            Record::TemporaryPrioritySet { priority, offset, len } => {
                let advice = file().zip(blocks(offset, len.min((i64::MAX as u64).saturating_sub(offset))));
                let advice =
                    advice.map(|(file, (first, count))| Advice::SetTemporaryPriority { file, first, count, priority });
                (None, advice)
            }
            _ => return None,
        };
        Some(Advising { advice, slot: self.slot, ticket })
    }

    /// The open file of this use of a descriptor number. Another use than we know of: its opening was lost, or another
    /// thread was faster to tell; then nothing is known of it.
    fn open_file(&self, fd: i32, generation: u32) -> Option<std::cell::RefMut<'_, OpenFile>> {
        let descriptor = self.descriptors.get(&fd)?;
        (descriptor.generation == generation).then(|| descriptor.open.borrow_mut())
    }

    fn resolve(&self, dirfd: i32, path: &[u8]) -> Option<PathBuf> {
        match path {
            [] => None,
            [b'/', ..] => Some(absolute(Path::new("/"), path)),
            _ if dirfd == libc::AT_FDCWD => Some(absolute(&self.directory, path)).filter(|path| path.is_absolute()),
            _ => Some(absolute(&self.descriptors.get(&dirfd)?.open.borrow().path, path)),
        }
    }

    fn opened(&mut self, entry: &Entry, names: &mut Names) -> Option<Seen> {
        let Record::Opened { fd, generation, dirfd, class, adopted, dev, ino, size, offset, .. } = entry.record else {
            return None;
        };
        let path = self.resolve(dirfd, entry.path)?;
        if self.descriptors.len() >= DESCRIPTORS_MAX && !self.descriptors.contains_key(&fd) {
            return None;
        }
        let regular = class == Class::Regular;
        let file = if regular { names.of_path(&path) } else { None };
        let seen = match file {
            Some(file) => Some(Seen::Opened { file, identity: (dev, ino), size, named: !adopted }),
            None => names.of_path(&path).filter(|_| !adopted).map(|file| Seen::Named { file }),
        };
        let open = Rc::new(RefCell::new(OpenFile { file, path, position: offset }));
        self.descriptors.insert(fd, Descriptor { generation, open });
        seen
    }

    /// Where a transfer of `bytes` lies; moves the position if it is at it.
    fn advance(&mut self, fd: i32, generation: u32, offset: u64, bytes: u64) -> Option<(FileId, u64)> {
        let mut open = self.open_file(fd, generation)?;
        let from = match offset {
            OFFSET_CURRENT => {
                let from = open.position;
                open.position = from.saturating_add(bytes);
                from
            }
            offset => offset,
        };
        Some((open.file?, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foresee_ring::{Stamp, Took};

    fn learn(processes: &mut Processes, names: &mut Names, pid: u32, record: Record, path: &str) -> Option<Seen> {
        let stamp = Stamp { pid, tid: pid, ticks: 0 };
        processes.learn(&Entry { stamp, record, path: path.as_bytes() }, names)
    }

    fn open(fd: i32, dirfd: i32, class: Class) -> Record {
        Record::Opened {
            fd,
            generation: 1,
            flags: 0,
            dirfd,
            class,
            adopted: false,
            dev: 1,
            ino: fd as u64,
            size: 9000,
            offset: 0,
        }
    }

    fn read(fd: i32, got: i32) -> Record {
        let (took, asked) = (Took::from_ticks(0), 100);
        Record::Read { fd, generation: 1, offset: OFFSET_CURRENT, asked, got, took, site: 0 }
    }

    fn offset_of(seen: Option<Seen>) -> u64 {
        match seen {
            Some(Seen::Read(read)) => read.offset,
            other => panic!("not a read: {other:?}"),
        }
    }

    #[test]
    fn positions_follow_reads_seeks_duplicates_and_forks() {
        let (mut processes, mut names) = (Processes::default(), Names::default());
        let (p, n) = (&mut processes, &mut names);
        learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/home");
        learn(p, n, 1, open(3, libc::AT_FDCWD, Class::Directory), "dir");
        let opened = learn(p, n, 1, open(4, 3, Class::Regular), "file");
        let Some(Seen::Opened { file, .. }) = opened else { panic!("{opened:?}") };
        assert_eq!(n.path(file), Path::new("/home/dir/file"));
        assert_eq!(offset_of(learn(p, n, 1, read(4, 100), "")), 0);
        assert_eq!(offset_of(learn(p, n, 1, read(4, 50), "")), 100);
        learn(p, n, 1, Record::Duplicated { from: 4, to: 9, generation: 1 }, "");
        learn(p, n, 2, Record::Forked { parent: 1, slot: 1 }, "");
        assert_eq!(offset_of(learn(p, n, 2, read(9, 10), "")), 150);
        assert_eq!(offset_of(learn(p, n, 1, read(4, 10), "")), 160);
        learn(p, n, 1, Record::Seeked { fd: 9, generation: 1, offset: 7 }, "");
        assert_eq!(offset_of(learn(p, n, 2, read(4, 10), "")), 7);
        assert_eq!(learn(p, n, 2, read(4, 0), ""), None);
        assert_eq!(learn(p, n, 2, read(4, -5), ""), None);
    }

    #[test]
    fn advice_on_a_mapping_finds_its_file() {
        let (mut processes, mut names) = (Processes::default(), Names::default());
        let (p, n) = (&mut processes, &mut names);
        learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/");
        learn(p, n, 1, open(3, libc::AT_FDCWD, Class::Regular), "f");
        let map = Record::Mapped { fd: 3, generation: 1, prot: 1, addr: 0x10000, offset: 4096, len: 0x8000 };
        learn(p, n, 1, map, "");
        let advice = Record::AdvisedMemory { advice: FileAdvice::WillNeed, addr: 0x11000, len: 0x1000 };
        let Some(Seen::Advised { offset, bytes, .. }) = learn(p, n, 1, advice, "") else { panic!() };
        assert_eq!((offset, bytes), (4096 + 0x1000, 0x1000));
    }

    #[test]
    fn hints_name_files_as_opens_do() {
        let (mut processes, mut names) = (Processes::default(), Names::default());
        let (p, n) = (&mut processes, &mut names);
        let file_of = |seen: Option<Seen>| match seen {
            Some(Seen::Disclosed(Disclosure::Hint { file, whole: true })) => file,
            other => panic!("not a hint: {other:?}"),
        };
        let hint = Record::Hinted { whole: true };
        assert_eq!(learn(p, n, 1, hint, "f"), None, "a process that nobody knows");
        learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 0 }, "/home");
        let Some(Seen::Opened { file, .. }) = learn(p, n, 1, open(3, libc::AT_FDCWD, Class::Regular), "f") else {
            panic!("not opened")
        };
        assert_eq!(file_of(learn(p, n, 1, hint, "./f")), Some(file));
        learn(p, n, 1, Record::ChangedDirectory { fd: -1 }, "..");
        assert_eq!(file_of(learn(p, n, 1, hint, "/home//f")), Some(file));
        assert_ne!(file_of(learn(p, n, 1, hint, "f")), Some(file));
        assert_eq!(file_of(learn(p, n, 1, hint, "")), None);
        assert_eq!(learn(p, n, 1, Record::Exited {}, ""), Some(Seen::Ended { ordinal: 1 }));
        assert_eq!(p.forget(1), Some(1), "it is remembered until its slot is given back");
        assert_eq!(learn(p, n, 1, Record::Exited {}, ""), None);
    }

    #[test]
    fn nonsense_is_ignored() {
        let (mut processes, mut names) = (Processes::default(), Names::default());
        let (p, n) = (&mut processes, &mut names);
        assert_eq!(learn(p, n, 77, read(3, 100), ""), None);
        learn(p, n, 1, Record::ProcessStarted { ppid: 0, slot: 5000 }, "relative");
        assert_eq!(learn(p, n, 1, read(-1, 100), ""), None);
        assert_eq!(learn(p, n, 1, Record::Closed { fd: i32::MIN, generation: 0 }, ""), None);
    }
}
