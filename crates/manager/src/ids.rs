//! The names of things: files, blocks, readers, devices, fetches, and the time.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty))*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIntError;
            fn from_str(text: &str) -> Result<Self, ParseIntError> {
                text.parse().map($name)
            }
        }
    )*};
}

ids! {
    /// Nanoseconds since the manager's host began. The manager has no clock of its own: time is an argument.
    Time(u64)
    /// A file, as numbered by the host. Names stay with the host. Below [`FileId::LIMIT`].
    FileId(u32)
    /// A device: one queue of requests with its own limits.
    DeviceId(u16)
    /// Whoever reads and discloses: a process, a run, a stream of a trace.
    ReaderId(u32)
    /// Where in a program a read came from (a call-site signature); 0 where it is not known.
    Site(u64)
    /// A fetch the manager asked for; its host answers with this number.
    FetchId(u64)
    /// A reader's request that waits for its blocks.
    WaiterId(u64)
    /// A reader's view of bytes that are here.
    ViewId(u64)
}

impl FileId {
    /// Files are numbered below 2^24 - 1, so that a block's whole identity packs into 64 bits, and one
    /// value of these is left for none.
    pub const LIMIT: u32 = (1 << 24) - 1;

    pub(crate) fn is_in_range(self) -> bool {
        self.0 < Self::LIMIT
    }
}

/// One block of one file. A block's identity is (file, index), never with a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block {
    /// The file.
    pub file: FileId,
    /// The block's place in the file, counted from 0. Below [`Block::INDEX_LIMIT`].
    pub index: u64,
}

/// The key of no block.
pub(crate) const NO_KEY: u64 = u64::MAX;

const _: () = assert!(((FileId::LIMIT as u64 - 1) << 40 | (Block::INDEX_LIMIT - 1)) < NO_KEY);

impl Block {
    /// Block indices lie below 2^40 (4 PiB of 4 KiB blocks).
    pub const INDEX_LIMIT: u64 = 1 << 40;

    pub(crate) fn is_in_range(self) -> bool {
        self.file.is_in_range() && self.index < Self::INDEX_LIMIT
    }

    pub(crate) fn key(self) -> u64 {
        debug_assert!(self.is_in_range());
        (u64::from(self.file.0) << 40) | self.index
    }

    pub(crate) fn from_key(key: u64) -> Self {
        Block { file: FileId((key >> 40) as u32), index: key & (Self::INDEX_LIMIT - 1) }
    }
}

/// A page: an index into the table, reused when its block goes.
pub type Page = u32;
