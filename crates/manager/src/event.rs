//! What the manager is told (events) and what it asks for (actions), and the one text form of both.
//!
//! The text form is a line: a word, then `field=value` for each field in order. A log of a real run
//! is such lines, and replaying it must give the same actions byte for byte (invariant I8; the twin
//! test).

use std::fmt;
use std::str::FromStr;

use crate::ids::{Block, DeviceId, FetchId, FileId, ReaderId, Site, Time, ViewId, WaiterId};

/// A line that is no event or action: what was wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub(crate) String);

impl Malformed {
    /// Quotes the beginning of a word, and says what is wrong with it.
    pub(crate) fn quoting(word: &str, complaint: impl fmt::Display) -> Self {
        Malformed(format!("'{}' {complaint}", beginning(word)))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// As much of what stands in a log as a message has room for: it may be no log, and one line.
pub(crate) fn beginning(text: &str) -> String {
    const LETTERS_MAX: usize = 40;
    let mut letters = text.chars();
    let quoted: String = letters.by_ref().take(LETTERS_MAX).collect();
    let rest = if letters.next().is_some() { "..." } else { "" };
    format!("{}{rest}", quoted.escape_debug())
}

pub(crate) fn field<T: FromStr>(word: Option<&str>, name: &str) -> Result<T, Malformed> {
    let word = word.ok_or_else(|| Malformed(format!("the field '{name}' is missing")))?;
    word.strip_prefix(name)
        .and_then(|rest| rest.strip_prefix('='))
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| Malformed::quoting(word, format_args!("is not a value of the field '{name}'")))
}

fn is_none_of(word: Option<&str>, name: &str, words: &[&str]) -> Malformed {
    let complaint = format!("is no {} (one of: {})", name.to_lowercase(), words.join(", "));
    Malformed::quoting(word.unwrap_or(""), complaint)
}

/// Declares an enum together with its text form, so that the two cannot drift apart.
macro_rules! messages {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$vdoc:meta])* $variant:ident = $word:literal { $($(#[$fdoc:meta])* $field:ident: $ty:ty),* $(,)? })*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "fields are named after their types; each variant says what they mean together")]
        pub enum $name {
            $($(#[$vdoc])* $variant { $($(#[$fdoc])* $field: $ty),* }),*
        }

        impl $name {
            /// What each of them begins with as text.
            const WORDS: &'static [&'static str] = &[$($word),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant { $($field),* } => {
                        f.write_str($word)?;
                        $(write!(f, concat!(" ", stringify!($field), "={}"), $field)?;)*
                        Ok(())
                    })*
                }
            }
        }

        impl FromStr for $name {
            type Err = Malformed;
            fn from_str(line: &str) -> Result<Self, Malformed> {
                let mut words = line.split_ascii_whitespace();
                let message = match words.next() {
                    $(Some($word) => Self::$variant { $($field: field::<$ty>(words.next(), stringify!($field))?),* },)*
                    other => return Err(is_none_of(other, stringify!($name), Self::WORDS)),
                };
                match words.next() {
                    None => Ok(message),
                    Some(word) => Err(Malformed::quoting(word, "is one word too many")),
                }
            }
        }
    };
}

messages! {
    /// What happened, in the order it happened.
    Event {
        /// The host resolved a file's name, or the reader opened it: its device and size are known, and `place`, where on the
        /// device it begins, in blocks (0 where it is not known).
        FileKnown = "file-known" { file: FileId, device: DeviceId, blocks: u64, place: u64 }
        /// Reading ahead on this device may cost more than it gains: it lies behind a network or a daemon. Of files longer than `blocks`,
        /// only what a reader discloses through the hint library is fetched ahead, and no run that nobody disclosed; one request
        /// to a file at a time at first, more as they prove to be served side by side.
        Caution = "caution" { device: DeviceId, blocks: u64 }
        /// This device is given so many requests at once ahead of readers, of at most so many blocks each, in place of what the
        /// manager was set up with. `shaped`: requests go by what was measured of it. Gaps that are cheaper read than asked around are
        /// read over, long runs are split.
        DeviceLimits = "device-limits" { device: DeviceId, requests: u32, blocks: u64, shaped: bool }
        /// The readers' own system reads at most so many blocks ahead on this device (32 where nobody says). Where requests
        /// are quick enough for that to keep up, runs are left to it, as far as
        /// [`crate::DeviceLimits::quick_run_blocks_max`] says.
        ReadaheadWindow = "readahead-window" { device: DeviceId, blocks: u64 }
        /// Nothing that was disclosed is looked up or fetched from now on, as the host has better to do with its processors; or,
        /// with false, it is again. What is under way comes, and what the policy reads ahead by itself.
        Suspend = "suspend" { suspended: bool }
        /// The name led nowhere; hints that speak of the file are dropped.
        FileMissing = "file-missing" { file: FileId }
        /// The file holds other bytes now: nothing remembered of its blocks is true any more.
        FileChanged = "file-changed" { file: FileId, blocks: u64 }
        /// The host gives this number to another file from now on; taken only if the manager needs it no more
        /// ([`crate::Manager::is_forgettable`]).
        FileForgotten = "file-forgotten" { file: FileId }
        /// A reader disclosed that it will read this, after all it disclosed before (000 section 2, 001 section 2).
        Hint = "hint" { reader: ReaderId, source: Source, file: FileId, want: Want }
        /// The last `entries` of what this reader disclosed through this source are read `passes` times in all. What it discloses
        /// afterwards comes after them.
        Repeat = "repeat" { reader: ReaderId, source: Source, entries: u64, passes: u64 }
        /// The reader has more to disclose through this source than it has said: a generator, to be asked with `Pull`.
        More = "more" { reader: ReaderId, source: Source }
        /// The reader's generator is through: what the reader reads from now on was not read before it is disclosed.
        NoMore = "no-more" { reader: ReaderId, source: Source }
        /// What the reader discloses through this source comes true so often, in percent, as far as whoever says it knows.
        Confidence = "confidence" { reader: ReaderId, source: Source, percent: u64 }
        /// What the reader disclosed through this source and has not read is withdrawn.
        Cancel = "cancel" { reader: ReaderId, source: Source }
        /// The reader is gone; all it disclosed goes with it.
        ReaderExited = "reader-exited" { reader: ReaderId }
        /// The reader looked a name up (opened, stat'ed or listed it).
        Named = "named" { reader: ReaderId, file: FileId }
        /// The reader reads `count` blocks from `first` on. A host that serves it hands it what is here before it
        /// carries out the actions, which may give those very blocks up.
        Reference = "reference" { reader: ReaderId, site: Site, file: FileId, first: u64, count: u64, demand: Demand }
        /// Who waited with this request waits no more: what found no page yet is not fetched for it. Its number is nobody else's
        /// ever after.
        Abandoned = "abandoned" { waiter: WaiterId }
        /// The file system's own readahead wants these blocks, whatever is disclosed. What finds no page and no place in the queue
        /// is forgotten.
        ReadAhead = "read-ahead" { file: FileId, first: u64, count: u64 }
        /// All blocks of a fetch arrived. A host that serves readers has handed them their bytes already.
        FetchDone = "fetch-done" { fetch: FetchId }
        /// A fetch failed.
        FetchFailed = "fetch-failed" { fetch: FetchId }
        /// The system gave these blocks up by itself: they are here no longer.
        Gone = "gone" { file: FileId, first: u64, count: u64 }
        /// The reader will advise which of its blocks are given up, and has advised nothing yet (002 section 3). Its first
        /// advice says so as well.
        ManageCaching = "manage-caching" { reader: ReaderId }
        /// The reader's advice counts no more.
        GiveUpControl = "give-up-control" { reader: ReaderId }
        /// Of the reader's blocks, those of files of lower priority are given up first. 0 is every file's at first.
        SetPriority = "set-priority" { reader: ReaderId, file: FileId, priority: i32 }
        /// Answered by `Priority`.
        GetPriority = "get-priority" { reader: ReaderId, file: FileId }
        /// Among the reader's blocks of this priority, which one goes first.
        SetPolicy = "set-policy" { reader: ReaderId, priority: i32, order: LevelOrder }
        /// Answered by `LevelPolicy`.
        GetPolicy = "get-policy" { reader: ReaderId, priority: i32 }
        /// Those of these blocks that are here and the reader's have another priority until they are referenced next.
        SetTemporaryPriority = "set-temporary-priority" {
            reader: ReaderId, file: FileId, first: u64, count: u64, priority: i32,
        }
        /// A reader holds a view of this block: it cannot go.
        Pinned = "pinned" { view: ViewId, file: FileId, index: u64 }
        /// The view was given back.
        Released = "released" { view: ViewId, file: FileId, index: u64 }
        /// What an earlier run learned of a call site (004 section 4.3), for policies that learn; before the first reference.
        SiteLearned = "site-learned" { site: Site, sequential: u64, looping: u64, period: u64, spread: u64 }
        /// What an earlier run learned of how soon blocks are used again (`policy/reuse`); before the first reference.
        ReuseLearned = "reuse-learned" { interval: u64, age: u64, used: u64, open: u64 }
        /// The memory there is for blocks, in pages of one block, changed.
        Capacity = "capacity" { pages: u64 }
    }
}

messages! {
    /// What the host is to do.
    Order {
        /// Resolve the file's name; answer with `FileKnown` or `FileMissing`.
        Lookup = "lookup" { file: FileId }
        /// Read `count` blocks from `first` on; answer with `FetchDone` or `FetchFailed`.
        Fetch = "fetch" { fetch: FetchId, device: DeviceId, file: FileId, first: u64, count: u64, class: Class }
        /// The next fetch goes over these blocks and does not bring them: they are here, or on their way, or there is no room.
        /// Only where requests are not shaped (`DeviceLimits`): a host that shapes them has memory for each block.
        PassOver = "pass-over" { file: FileId, first: u64, count: u64 }
        /// Give up the memory of these blocks.
        Drop = "drop" { file: FileId, first: u64, count: u64 }
    }
}

messages! {
    /// What the readers are to hear: an answer to what they asked or did.
    Reply {
        /// Have the reader's generator disclose more; answer with `Hint`, and with `More` if that is not all, else with
        /// `NoMore`.
        Pull = "pull" { reader: ReaderId, source: Source }
        /// All blocks of this reader's request arrived, or one of them failed.
        Wake = "wake" { waiter: WaiterId, outcome: Outcome }
        /// What the reader just advised, or asked, changed nothing, and why.
        Refused = "refused" { reader: ReaderId, why: Refusal }
        /// The reader lost control: too many of its decisions proved wrong.
        Revoked = "revoked" { reader: ReaderId }
        /// The long-term priority of the file it asked about.
        Priority = "priority" { reader: ReaderId, file: FileId, priority: i32 }
        /// The policy of the priority it asked about.
        LevelPolicy = "level-policy" { reader: ReaderId, priority: i32, order: LevelOrder }
    }
}

/// What the manager asks for because of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Of the host.
    Order(Order),
    /// Of whoever speaks with the readers.
    Reply(Reply),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Order(order) => order.fmt(f),
            Action::Reply(reply) => reply.fmt(f),
        }
    }
}

impl FromStr for Action {
    type Err = Malformed;

    fn from_str(line: &str) -> Result<Self, Malformed> {
        match line.split_ascii_whitespace().next() {
            Some(word) if Order::WORDS.contains(&word) => line.parse().map(Action::Order),
            Some(word) if Reply::WORDS.contains(&word) => line.parse().map(Action::Reply),
            other => Err(is_none_of(other, "Action", &[Order::WORDS, Reply::WORDS].concat())),
        }
    }
}

/// Blocks of one reference. Linux moves at most 2 GiB in one read, which are 524,288 blocks of 4
/// KiB.
pub const REFERENCE_BLOCKS_MAX: u64 = 1 << 19;

/// Places lie below 2^62, so that no sum of a place and an index overflows.
const PLACE_LIMIT: u64 = 1 << 62;

/// Numbers of what was learned lie below this, so that no sum of them overflows.
const LEARNED_MAX: u64 = 1 << 48;
/// Blocks that an earlier run may have seen: 16 TiB. What is said of more is soon outweighed as well.
const LEARNED_BLOCKS_MAX: u64 = 1 << 32;

/// Whether a read is not empty and lies within the limits.
#[inline]
pub(crate) fn reads_within(file: FileId, first: u64, count: u64) -> bool {
    file.is_in_range()
        && first < Block::INDEX_LIMIT
        && count.wrapping_sub(1) < REFERENCE_BLOCKS_MAX
        && first + count <= Block::INDEX_LIMIT
}

impl Event {
    /// The part of the event that lies within the limits; None if nothing of it does. Events come
    /// from strangers' programs, over shared memory: no number in them may make the manager
    /// panic, spin or fill the memory. A file out of range is nobody's, an index out of range
    /// ends its range, and a reader who waits is never cut short but refused.
    pub(crate) fn within_limits(mut self) -> Option<Event> {
        let cut = |first: u64, count: &mut u64, max: u64| {
            *count = (*count).min(max).min(Block::INDEX_LIMIT.saturating_sub(first));
            *count > 0
        };
        let fits = match &mut self {
            Event::FileKnown { file, blocks, place, .. } => {
                *blocks = (*blocks).min(Block::INDEX_LIMIT);
                *place = (*place).min(PLACE_LIMIT);
                file.is_in_range()
            }
            Event::FileChanged { file, blocks } => {
                *blocks = (*blocks).min(Block::INDEX_LIMIT);
                file.is_in_range()
            }
            Event::Hint { file, want, .. } => {
                let some = match want {
                    Want::Range { first, count } => cut(*first, count, Block::INDEX_LIMIT),
                    Want::Name | Want::All => true,
                };
                some && file.is_in_range()
            }
            Event::Gone { file, first, count }
            | Event::ReadAhead { file, first, count }
            | Event::Reference { file, first, count, demand: Demand::Observed | Demand::Timed { .. }, .. } => {
                cut(*first, count, REFERENCE_BLOCKS_MAX) && file.is_in_range()
            }
            Event::Reference { file, first, count, .. } => reads_within(*file, *first, *count),
            Event::Pinned { file, index, .. } | Event::Released { file, index, .. } => {
                file.is_in_range() && *index < Block::INDEX_LIMIT
            }
            Event::FileMissing { file }
            | Event::FileForgotten { file }
            | Event::Named { file, .. }
            | Event::SetPriority { file, .. }
            | Event::GetPriority { file, .. } => file.is_in_range(),
            Event::SetTemporaryPriority { file, first, count, .. } => {
                cut(*first, count, Block::INDEX_LIMIT) && file.is_in_range()
            }
            Event::SiteLearned { sequential, looping, period, spread, .. } => {
                for number in [sequential, looping, period, spread] {
                    *number = (*number).min(LEARNED_MAX);
                }
                true
            }
            Event::ReuseLearned { used, open, .. } => {
                for number in [used, open] {
                    *number = (*number).min(LEARNED_BLOCKS_MAX);
                }
                true
            }
            Event::Cancel { .. }
            | Event::Caution { .. }
            | Event::Suspend { .. }
            | Event::DeviceLimits { .. }
            | Event::ReadaheadWindow { .. }
            | Event::Repeat { .. }
            | Event::More { .. }
            | Event::NoMore { .. }
            | Event::Confidence { .. }
            | Event::ManageCaching { .. }
            | Event::GiveUpControl { .. }
            | Event::SetPolicy { .. }
            | Event::GetPolicy { .. }
            | Event::ReaderExited { .. }
            | Event::FetchDone { .. }
            | Event::FetchFailed { .. }
            | Event::Abandoned { .. }
            | Event::Capacity { .. } => true,
        };
        fits.then_some(self)
    }
}

/// Declares an enum whose values are single words in the text form.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The value's word in logs and reports.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }

        impl FromStr for $name {
            type Err = Malformed;
            fn from_str(word: &str) -> Result<Self, Malformed> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => {
                        let words = [$($word),*].join(", ");
                        Err(Malformed::quoting(word, format_args!("is none of: {words}")))
                    }
                }
            }
        }
    };
}

words! {
    /// Why a fetch is made. Demand goes before hinted, hinted before guessed.
    Class {
        /// A reader waits for it.
        Demand = "demand",
        /// Told: its reader disclosed it.
        Hinted = "hinted",
        /// Learned: somebody watched its reader.
        Guessed = "guessed",
    }
}

words! {
    /// How a reader's request ended.
    Outcome {
        /// All its blocks are here.
        Ready = "ready",
        /// At least one could not be read.
        Failed = "failed",
    }
}

words! {
    /// Which of the blocks of one priority goes first: the policy of a level (002 section 3).
    LevelOrder {
        /// The one whose last reference is longest ago: every level's at first.
        Lru = "lru",
        /// The one that was referenced last: for what is read in a cycle.
        Mru = "mru",
    }
}

words! {
    /// Why advice was not taken.
    Refusal {
        /// The policy in force takes no advice.
        Policy = "policy",
        /// As many readers as may advise do already.
        Managers = "managers",
        /// The reader uses as many priorities as it may.
        Levels = "levels",
        /// As many of the reader's files as may have a priority of their own do already.
        Files = "files",
        /// There are no such blocks.
        Range = "range",
        /// The reader lost control.
        Revoked = "revoked",
    }
}

words! {
    /// Who disclosed. Accuracy is kept for each source of each reader: a wrong one loses its memory and its I/O.
    Source {
        /// The words of a command line, of a program known to read the files it is given.
        Command = "command",
        /// The words of a command line, of a program that may do anything with them.
        Arguments = "arguments",
        /// A recorded run of the same command. Nobody said it: somebody watched, so it is a guess.
        Profile = "profile",
        /// What was read by runs that were much alike: of the same program with other words, or of the same command where not most of
        /// its runs read it, or they read it in other orders. A guess, and in no order.
        Related = "related",
        /// The order of a directory's files, which its readers have followed so far: a guess as well.
        Listing = "listing",
        /// A directory's files, which its readers have read in no order so far: a guess too.
        Unordered = "unordered",
        /// posix_fadvise, readahead, madvise.
        Advice = "advice",
        /// The hint library.
        Library = "library",
        /// The file system's own readahead, where the host has one: nobody disclosed anything.
        Readahead = "readahead",
    }
}

impl Source {
    /// The class of the fetches this source leads to: told (hinted) and learned (guessed) are kept
    /// apart to the end.
    pub fn class(self) -> Class {
        match self {
            Source::Command | Source::Arguments | Source::Advice | Source::Library => Class::Hinted,
            Source::Profile | Source::Related | Source::Listing | Source::Unordered | Source::Readahead => {
                Class::Guessed
            }
        }
    }

    /// What it may have out before any of it came true, where the first window is `initial`. A hard
    /// disk needs many requests at once to gain anything, so a known program's words begin with
    /// more. What may be anything begins when the program reads the first of it: nothing could
    /// come sooner than that read, and on a hard disk each wrong look-up costs a seek.
    pub(crate) fn first_window(self, initial: u64) -> u64 {
        match self {
            Source::Command => initial.saturating_mul(4),
            // Of what comes in no order, little is read soon that was brought first.
            Source::Unordered => initial.saturating_mul(16),
            Source::Arguments => 0,
            _ => initial,
        }
    }

    /// Whether what it discloses is read in that order, more or less: then what a reader has passed
    /// over will not be read.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Source::Related | Source::Unordered)
    }

    /// Whether several may read it together, each a part of it: the processes and threads of a run.
    pub(crate) fn is_read_together(self) -> bool {
        self == Source::Profile
    }

    /// Whether a program says by it what it needs, of which it may keep a part itself. The others
    /// say what is asked of the system.
    pub(crate) fn is_of_needs(self) -> bool {
        self == Source::Library
    }
}

/// Whether the host serves the reader or only watches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// The program reads by itself (page cache), or nothing takes time (a trace without a clock):
    /// an absent block becomes resident by the read itself.
    Observed,
    /// The same, and the host saw when the program's own read was over, and whether it had to wait.
    Timed {
        /// When it was over: at the time of the event or before.
        over: Time,
        /// Whether the program waited for a device.
        waited: bool,
    },
    /// The reader waits until the manager has had the blocks fetched.
    Served(WaiterId),
}

impl Demand {
    /// Who waits for the manager with it, if somebody does.
    pub(crate) fn waiter(self) -> Option<WaiterId> {
        match self {
            Demand::Served(waiter) => Some(waiter),
            Demand::Observed | Demand::Timed { .. } => None,
        }
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Demand::Observed => f.write_str("observed"),
            Demand::Timed { over, waited: false } => write!(f, "over@{}", over.0),
            Demand::Timed { over, waited: true } => write!(f, "waited@{}", over.0),
            Demand::Served(waiter) => waiter.fmt(f),
        }
    }
}

impl FromStr for Demand {
    type Err = Malformed;
    fn from_str(word: &str) -> Result<Self, Malformed> {
        let timed = |over: &str, waited| {
            let over = over.parse().map_err(|_| Malformed::quoting(over, "is no time"))?;
            Ok(Demand::Timed { over: Time(over), waited })
        };
        match word.split_once('@') {
            None if word == "observed" => Ok(Demand::Observed),
            Some(("over", over)) => timed(over, false),
            Some(("waited", over)) => timed(over, true),
            _ => word.parse().map(Demand::Served).map_err(|_| Malformed::quoting(word, "is no waiter")),
        }
    }
}

/// Which part of a file a hint speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Its name only: it will be opened or stat'ed.
    Name,
    /// The whole file, front to back, however long it proves to be.
    All,
    /// `count` blocks from `first` on.
    Range {
        /// The first block.
        first: u64,
        /// How many.
        count: u64,
    },
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Want::Name => f.write_str("name"),
            Want::All => f.write_str("all"),
            Want::Range { first, count } => write!(f, "{first}+{count}"),
        }
    }
}

impl FromStr for Want {
    type Err = Malformed;
    fn from_str(word: &str) -> Result<Self, Malformed> {
        let range = || {
            let (first, count) = word.split_once('+')?;
            Some(Want::Range { first: first.parse().ok()?, count: count.parse().ok()? })
        };
        match word {
            "name" => Ok(Want::Name),
            "all" => Ok(Want::All),
            _ => range().ok_or_else(|| Malformed::quoting(word, "is no part of a file (name, all, FIRST+COUNT)")),
        }
    }
}
