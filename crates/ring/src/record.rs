//! What programs say. One table makes the enum, its encoding and its decoding.

use crate::wire::{FIELD_WORDS_MAX, Field, Packer, Unpacker};

/// The offset of a read or write at the descriptor's own position.
pub const OFFSET_CURRENT: u64 = u64::MAX;

/// Added to the place of what was written at a file's end (O_APPEND): the position is behind it then.
pub const OFFSET_APPENDED: u64 = 1 << 63;

/// The slot of a process that found none free.
pub const NO_PROCESS_SLOT: u32 = u32::MAX;

/// Who posted a record, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The process, as the supervisor's PID namespace numbers it.
    pub pid: u32,
    /// The thread, as its own PID namespace numbers it.
    pub tid: u32,
    /// [`crate::ticks`] when the record's event was over; for [`Record::Read`], when the read
    /// began.
    pub ticks: u64,
}

/// How long a call took. Kept in units of 16 ticks in 32 bits, which is enough for 30 s at 2.3 GHz;
/// longer ones saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Took(u32);

impl Took {
    /// Rounds down to the unit.
    #[inline(always)]
    pub fn from_ticks(ticks: u64) -> Self {
        Took((ticks >> 4).min(u64::from(u32::MAX)) as u32)
    }

    /// In ticks.
    #[inline(always)]
    pub fn ticks(self) -> u64 {
        u64::from(self.0) << 4
    }
}

impl Field for Took {
    #[inline(always)]
    fn put(self, out: &mut Packer) {
        self.0.put(out);
    }

    #[inline(always)]
    fn take(from: &mut Unpacker) -> Option<Self> {
        u32::take(from).map(Took)
    }
}

macro_rules! enum_field {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$value_doc])* $value = $number,)* }

        impl Field for $name {
            #[inline(always)]
            fn put(self, out: &mut Packer) {
                (self as u32).put(out);
            }

            #[inline(always)]
            fn take(from: &mut Unpacker) -> Option<Self> {
                match u32::take(from)? {
                    $($number => Some($name::$value),)*
                    _ => None,
                }
            }
        }
    };
}

enum_field! {
    /// What a descriptor refers to.
    Class {
        /// A regular file: its reads are posted.
        Regular = 1,
        /// A directory.
        Directory = 2,
        /// A pipe, socket, terminal, device and the like: its reads are not posted.
        Other = 3,
    }
}

enum_field! {
    /// What the program said of a range, by `posix_fadvise`, `madvise` or `readahead`.
    Advice {
        /// No particular order (takes other advice back).
        Normal = 0,
        /// Will be read in order.
        Sequential = 1,
        /// Will be read in no order.
        Random = 2,
        /// Will be read soon.
        WillNeed = 3,
        /// Will not be read again soon.
        DontNeed = 4,
        /// Will be read once.
        NoReuse = 5,
    }
}

enum_field! {
    /// Which of a program's pages of one priority goes first.
    LevelOrder {
        /// The one whose last reference is longest ago.
        Lru = 0,
        /// The one that was referenced last.
        Mru = 1,
    }
}

enum_field! {
    /// Why a program will not tell of itself.
    Unseen {
        /// It is for another machine, or another size of words.
        Foreign = 1,
        /// It has no dynamic linker.
        Static = 2,
        /// It runs with other rights than whoever starts it: its dynamic linker loads nothing of theirs.
        Privileged = 3,
        /// From where it will run, or as whom, the library or the ring cannot be reached.
        Unreachable = 4,
        /// It is confined to system calls, or parts of the processor, that the library cannot do with.
        Confined = 5,
        /// It tells of what it opens, and reads by io_uring.
        Uring = 6,
        /// It tells of what it opens, and reads by Linux AIO (`io_submit`).
        Aio = 7,
        /// It is given an environment that does not name the library, or no ring.
        Bare = 8,
        /// It makes its system calls itself, past libc, and says so as it begins.
        OwnCalls = 9,
    }
}

macro_rules! records {
    ($($(#[$doc:meta])* $number:literal $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        /// One thing a program did. The path that some of them carry lies beside them, in [`crate::Entry::path`]:
        /// the bytes the program gave, not resolved, relative to `dirfd` (or the working directory for `AT_FDCWD`).
        /// [`Record::HintedSegments`] has segments in its place.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Record { $($(#[$doc])* $name { $($(#[$field_doc])* $field: $type,)* },)* }

        impl Record {
            #[inline(always)]
            pub(crate) fn kind(&self) -> u8 {
                match self { $(Record::$name { .. } => $number,)* }
            }

            /// Words of fields.
            #[inline(always)]
            pub(crate) fn field_words(&self) -> usize {
                Self::field_words_of(self.kind()).unwrap_or(0)
            }

            /// Words of fields in a record of this kind, if there is such a kind.
            #[inline(always)]
            pub(crate) fn field_words_of(kind: u8) -> Option<usize> {
                match kind {
                    $($number => {
                        let wide: &[bool] = &[$(<$type as Field>::WIDE,)*];
                        let halves = wide.iter().fold(0usize, |halves, wide| match wide {
                            true => halves.next_multiple_of(2) + 2,
                            false => halves + 1,
                        });
                        Some(halves.div_ceil(2))
                    })*
                    _ => None,
                }
            }

            #[inline(always)]
            pub(crate) fn encode(&self, out: &mut Packer) {
                match *self { $(Record::$name { $($field,)* } => { let _ = &out; $($field.put(out);)* })* }
            }

            /// What these words say as a record of this kind, if they say anything.
            pub fn from_words(kind: u8, words: &[u64; FIELD_WORDS_MAX]) -> Option<Record> {
                Self::decode(kind, &mut Unpacker::new(words))
            }

            #[inline(always)]
            pub(crate) fn decode(kind: u8, from: &mut Unpacker) -> Option<Record> {
                match kind {
                    $($number => Some(Record::$name { $($field: <$type as Field>::take(from)?,)* }),)*
                    _ => None,
                }
            }
        }
    };
}

records! {
    /// A program image began (also: a process replaced its image by exec). Path: the working directory.
    1 ProcessStarted {
        /// The parent process.
        ppid: u32,
        /// Its process slot, or [`NO_PROCESS_SLOT`].
        slot: u32,
    }
    /// The posting process is a new child, with its parent's descriptors and working directory.
    2 Forked {
        /// The parent process.
        parent: u32,
        /// The child's process slot, or [`NO_PROCESS_SLOT`].
        slot: u32,
    }
    /// The process ends (only if it ends by `exit`: nobody may rely on it).
    3 Exited {}
    /// A descriptor appeared. Path: as given; for an adopted one, absolute.
    4 Opened {
        /// The descriptor.
        fd: i32,
        /// Which use of that descriptor number this is.
        generation: u32,
        /// `open` flags.
        flags: i32,
        /// What a relative path is relative to.
        dirfd: i32,
        /// What it is.
        class: Class,
        /// It was inherited, or opened where the library does not look, and found at its first use.
        adopted: bool,
        /// Device.
        dev: u64,
        /// Inode.
        ino: u64,
        /// Size in bytes.
        size: u64,
        /// The file position (zero unless adopted).
        offset: u64,
        /// How long it took (zero if adopted).
        took: Took,
    }
    /// An open that failed. Path: as given.
    5 OpenFailed {
        /// What a relative path is relative to.
        dirfd: i32,
        /// Why.
        errno: i32,
    }
    /// A `stat` or `access` by path. Path: as given.
    6 Stated {
        /// What a relative path is relative to.
        dirfd: i32,
        /// The file was there.
        ok: bool,
        /// How long it took.
        took: Took,
    }
    /// A directory is about to be listed. Path: as given, or empty.
    7 Listed {
        /// The directory's descriptor.
        fd: i32,
    }
    /// The working directory changed. Path: as given; empty for `fchdir`.
    8 ChangedDirectory {
        /// The directory's descriptor for `fchdir`, else -1.
        fd: i32,
    }
    /// A descriptor was closed.
    9 Closed {
        /// The descriptor.
        fd: i32,
        /// Which use of that descriptor number ended: another thread may have begun the next one already.
        generation: u32,
    }
    /// A descriptor became another name of an open file, sharing its position.
    10 Duplicated {
        /// The descriptor copied.
        from: i32,
        /// The new one (a previous use of that number ended).
        to: i32,
        /// Which use of the new number this is.
        generation: u32,
    }
    /// A file position was set.
    11 Seeked {
        /// The descriptor.
        fd: i32,
        /// Which use of that descriptor number.
        generation: u32,
        /// The resulting position.
        offset: u64,
    }
    /// A read of a regular file that gave something.
    12 Read {
        /// The descriptor.
        fd: i32,
        /// Which use of that descriptor number.
        generation: u32,
        /// Where, or [`OFFSET_CURRENT`].
        offset: u64,
        /// Bytes asked for (the kernel gives at most 2 GiB a call).
        asked: u32,
        /// Bytes given.
        got: i32,
        /// How long it took.
        took: Took,
        /// Where in the program it was called from; 0 is unknown.
        site: u32,
    }
    /// Bytes written to a regular file.
    13 Wrote {
        /// The descriptor.
        fd: i32,
        /// Which use of that descriptor number.
        generation: u32,
        /// Where, or [`OFFSET_CURRENT`]; with [`OFFSET_APPENDED`].
        offset: u64,
        /// Bytes written.
        len: u64,
        /// Where in the program it was called from; 0 is unknown.
        site: u32,
    }
    /// A file was mapped into memory.
    14 Mapped {
        /// The descriptor.
        fd: i32,
        /// Which use of that descriptor number.
        generation: u32,
        /// `mmap` protection.
        prot: i32,
        /// Where in memory.
        addr: u64,
        /// Where in the file.
        offset: u64,
        /// Bytes.
        len: u64,
    }
    /// The dynamic linker has loaded this object: told at start, and of later ones when the process ends. Path: the
    /// object's, as the linker knows it.
    15 Loaded {
        /// The lowest address of its segments.
        addr: u64,
    }
    /// Advice on a file.
    16 Advised {
        /// The descriptor.
        fd: i32,
        /// Which use of that descriptor number.
        generation: u32,
        /// The advice.
        advice: Advice,
        /// Where.
        offset: u64,
        /// Bytes; 0 means to the end.
        len: u64,
    }
    /// Advice on memory that may be a mapping told of by [`Record::Mapped`].
    17 AdvisedMemory {
        /// The advice.
        advice: Advice,
        /// Where in memory.
        addr: u64,
        /// Bytes.
        len: u64,
    }
    /// The program is about to `dlopen` this. Path: as given, which may be a bare name that the linker will search.
    18 Loading {}
    /// The process disclosed through the hint library that it will read this file. Path: as given.
    19 Hinted {
        /// All of it, in sequence; else the segments that follow in records of their own.
        whole: bool,
    }
    /// The next segments of the file that this process hinted last. In the path's place: what [`crate::segments`] reads.
    20 HintedSegments {}
    /// What the last hints disclosed is read again and again.
    21 HintsRepeated {
        /// How many hints, counted from the last one back.
        hints: u64,
        /// How often they are read in all; 0 is without end.
        passes: u64,
    }
    /// What the process hinted and has not read is withdrawn.
    22 HintsCancelled {}
    /// The process advises which of its pages go first, or does so no more (002 section 3). Like the next four, answered in
    /// its process slot: see [`crate::Process::answer`].
    23 Managed {
        /// What the answer is found by.
        ticket: u32,
        /// It does.
        on: bool,
    }
    /// The long-term priority of a file. Path: as given.
    24 PrioritySet {
        /// What the answer is found by.
        ticket: u32,
        /// Lower goes first.
        priority: i32,
    }
    /// Asks for it. Path: as given.
    25 PriorityAsked {
        /// What the answer is found by.
        ticket: u32,
    }
    /// Which of the pages of a priority goes first.
    26 PolicySet {
        /// What the answer is found by.
        ticket: u32,
        /// The priority.
        priority: i32,
        /// The policy.
        order: LevelOrder,
    }
    /// Asks for it.
    27 PolicyAsked {
        /// What the answer is found by.
        ticket: u32,
        /// The priority.
        priority: i32,
    }
    /// The priority of these bytes' pages until they are referenced. Path: as given. Not answered: programs say it often.
    28 TemporaryPrioritySet {
        /// The priority.
        priority: i32,
        /// Where.
        offset: u64,
        /// Bytes.
        len: u64,
    }
    /// What the process runs, after [`Record::ProcessStarted`]. Path: as it was given to `exec`.
    29 Executed {
        /// What its slot counted before, when it ran something else.
        reads: u64,
        /// See `reads`.
        bytes: u64,
        /// See `reads`.
        stall_ticks: u64,
    }
    /// The process is about to do what a file that is open elsewhere is in the way of, to unmount or to set a lease, and waits for the
    /// answer ([`crate::Process::answer`]).
    31 Quiesces {
        /// What the answer is found by.
        ticket: u32,
    }
    /// The program reads or writes from this call site for the first time, as far as is remembered. Path: of the object that the
    /// innermost caller outside of libc lies in, as the linker knows it.
    32 SiteMet {
        /// The site.
        site: u32,
        /// Where the caller goes on, within the object as that is on its disk.
        offset: u64,
    }
    /// The thread gave its processor up while it listed a directory: what was not in memory of that, most likely.
    33 ListingWaited {}
    /// The process, or a child of its, is about to execute a program that will not tell of itself, or
    /// executes one of [`Unseen::OwnCalls`]. Path: as given to `exec`.
    30 ExecutesUnseen {
        /// Why it will not.
        why: Unseen,
    }
}

/// Bytes of one segment: offset and length, 64 bits each, as the processor has them.
pub const SEGMENT_BYTES: usize = 16;

/// The segments in place of a path: (offset, length). Nothing is known of the numbers.
pub fn segments(bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let words = bytes.as_chunks::<8>().0;
    let segments = words.as_chunks::<2>().0.iter();
    segments.map(|[offset, length]| (u64::from_ne_bytes(*offset), u64::from_ne_bytes(*length)))
}
