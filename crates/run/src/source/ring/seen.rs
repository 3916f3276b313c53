//! What the programs' records mean outside the model of them.

use std::path::PathBuf;
use std::time::Duration;

use foresee_manager::{Advice, FileId};

use crate::names::Identity;
use crate::source::Mapping;

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
    /// They did not come through the page cache (O_DIRECT).
    pub is_past_cache: bool,
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
        /// How long that took, in ticks, if it is known.
        ticks: Option<u64>,
    },
    /// A process is about to unmount a file system or to set a lease, and waits for the answer in
    /// its slot.
    Quiesces {
        /// The process's slot, if it has one.
        slot: Option<u32>,
        /// What the answer is found by.
        ticket: u32,
    },
    /// A regular file was opened to be read past the page cache (O_DIRECT).
    PastCache {
        /// The file.
        file: FileId,
        /// Its device and inode, if they are known.
        identity: Option<Identity>,
    },
    /// A process is about to execute a program that does not tell of itself.
    Unseen,
    /// A name was looked up: opened, stat'ed, listed, or found missing.
    Named {
        /// The file.
        file: FileId,
        /// How long that took, in ticks, if it is known.
        ticks: Option<u64>,
    },
    /// A directory was listed, and that waited.
    ListingWaited,
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
        /// They did not go through the page cache (O_DIRECT).
        is_past_cache: bool,
    },
    /// What lies at a call site that a program met.
    Site {
        /// The call site.
        site: u64,
        /// The object that its innermost caller outside of libc lies in.
        object: PathBuf,
        /// Where that goes on, within the object.
        offset: u64,
    },
    /// A file was mapped: it is read without calls.
    Mapped {
        /// The file.
        file: FileId,
        /// Where, if that is known.
        at: Option<Mapping>,
    },
    /// A part of a file was found to have been read since it was looked at before.
    Touched(Touched),
    /// It waited so long for a page of a mapped file.
    Stalled {
        /// How long.
        took: Duration,
    },
    /// A program told the kernel that it needs a part of a file no longer.
    GivenUp {
        /// The file.
        file: FileId,
        /// From where.
        offset: u64,
        /// How many bytes; 0 is to the end.
        bytes: u64,
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

/// A part of a file that was read, of which no call told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// The file.
    pub file: FileId,
    /// The first block.
    pub first: u64,
    /// How many; 0 if it is not known what of the file was read.
    pub count: u64,
    /// Whether the program waited for a device, as far as is known.
    pub waited: bool,
    /// How it was read.
    pub by: Touch,
}

/// How a part of a file was read of which no call told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Through a mapping, for the first time or for the first time since its pages were taken away.
    Mapping,
    /// By calls, all of which were seen from outside.
    Calls,
    /// By calls, some of which were seen from outside.
    SomeCalls,
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
