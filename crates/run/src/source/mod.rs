//! Sources: they see what programs read.
//!
//! - [`ring`]: what the preload library posts from inside each program, in the order it happened.
//!   `foresee run` goes by it.
//! - [`outside`]: what can be seen from outside of those that do not post (static ones).
//! - [`mappings`]: what programs touch of the files that they have mapped, of which no call tells.
//! - [`fanotify`]: what the kernel tells root of any process, mappings and static programs among
//!   them. `foresee record` goes by it for programs that it did not start.
//!
//! Two of them hear from fanotify, and share what is made of its descriptor (`group`).

pub mod fanotify;
mod group;
mod looks;
pub mod mappings;
pub mod outside;
pub mod ring;

use std::time::Duration;

use foresee_manager::FileId;

use crate::names::Names;
use crate::programs::ProgramId;
use ring::Seen;

/// Something a process did.
#[derive(Debug)]
pub struct Sighting {
    /// The process, its number in the order of their beginnings, and what it executes.
    pub process: u32,
    /// See `process`.
    pub ordinal: u32,
    /// See `process`.
    pub program: ProgramId,
    /// The thread.
    pub thread: u32,
    /// When it began, since the run did; of a write, when it was over.
    pub time: Duration,
    /// What it did.
    pub seen: Seen,
}

/// A part of a file in a process's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Where it is in memory.
    pub addr: u64,
    /// How many bytes.
    pub len: u64,
    /// From which byte of the file on.
    pub offset: u64,
    /// The file.
    pub file: FileId,
}

/// Sees what processes do.
pub trait Source {
    /// What was seen next, in the order it happened as far as the source knows; None if there is
    /// nothing more by now, or `room` records have been looked at. Each lowers it. Waits for
    /// nothing.
    fn next(&mut self, names: &mut Names, room: &mut usize) -> Option<Sighting>;
}
