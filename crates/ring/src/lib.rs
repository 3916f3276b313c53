//! The memory that programs under `foresee run` share with their supervisor.
//!
//! A program posts what it opens, lists, seeks and reads, and what it hints; the supervisor learns
//! from it. Three things hold throughout: the ring never makes a program wait (a full ring drops
//! the record and counts it in `lost`), the supervisor trusts nothing it reads here (every field is
//! validated, and a torn record is found by its checksum), and a program may die or stop at any
//! instruction without stopping the others.
//!
//! ```text
//! Region   header | tail | lost | claims [512] | processes [512] | slots [65,536 of 64 bytes]
//! ```
//!
//! **The supervisor** makes a memfd of [`Region::layout_size`] bytes (sealed against shrinking, so
//! that no program can be made to fault on it), maps it shared, and calls [`Region::initialise`]
//! and [`Consumer::new`]. Then
//!
//! ```text
//! loop { match consumer.next(&mut path_buffer) {
//!     Next::Record(entry)  => learn from entry.stamp (pid, tid, ticks), entry.record (an enum), entry.path (bytes)
//!     Next::Empty          => sleep a little
//!     Next::Stalled { at } => a program is between reserving and committing its record; if `at` is the same after a
//!                             grace period (say 100 ms): consumer.skip_hole()
//! } }
//! ```
//!
//! It sets how often reads of a descriptor are posted ([`Process::set_attention`]) and whether
//! files that are opened are ([`Region::set_quiet`]), answers what a program asked
//! ([`Process::answer`]), reads the counters
//! ([`Process::counters`]), gives back the slots of dead processes ([`Region::release`]), says what
//! counts as a stall ([`Region::set_stall_ticks_min`]), and says when it leaves
//! ([`Region::close`]).
//!
//! **A program's library** calls [`Region::attach`], [`Region::claim`] and [`Region::post`]; for
//! what may wait, [`Region::is_half_free`] says when.
//!
//! What both must know of a file before it is executed is in `image.rs`.
//!
//! The records are in `record.rs`, one table; how a record lies in slots is in `slot.rs`.
#![cfg_attr(not(any(test, loom)), no_std)]

mod consumer;
mod image;
#[cfg(all(test, loom))]
mod models;
mod process;
mod producer;
mod record;
mod region;
mod slot;
mod sync;
#[cfg(all(test, not(loom)))]
mod tests;
mod ticks;
mod wire;

pub use consumer::{Consumer, Entry, Next};
pub use image::{IMAGE_BYTES, Image, RIGHTS, RIGHTS_BYTES, gives_rights};
pub use process::{Attention, Counters, Process};
pub use record::{
    Advice, Class, LevelOrder, NO_PROCESS_SLOT, OFFSET_APPENDED, OFFSET_CURRENT, Record, SEGMENT_BYTES, Stamp, Took,
    Unseen, segments,
};
pub use region::{Mismatch, Region};
pub use slot::PATH_BYTES_MAX;
pub use ticks::ticks;
pub use wire::FIELD_WORDS_MAX;

/// Process slots in a region: more programs than this at one time run without attention words.
pub const PROCESS_SLOTS: usize = if cfg!(loom) {
    1
} else if cfg!(miri) {
    32
} else {
    512
};

/// Descriptors with an attention word. Higher ones are always posted.
pub const ATTENTION_FDS: usize = if cfg!(any(loom, miri)) { 8 } else { 1024 };

/// While the run is quiet, what takes this part of a stall is taken to have come from a device: it
/// may be one that answers sooner than a read counts as stalled, and one told for nothing costs
/// little.
pub const FAR_PART: u32 = 4;

/// One call that waits is counted as so many stalls at most ([`Region::counts_waits`]): a disk that is
/// quick at most times has its moments.
pub const COUNTED_STALLS_MAX: u32 = 125;

/// Slots in the ring: at 64 bytes each 4 MiB, which a program reading 4 KiB at a time from the page
/// cache fills in about 20 ms if the supervisor does not run at all. Models and miri, to which a
/// region of megabytes takes hours, have few: enough to go round, and under miri for the longest
/// record.
pub const SLOTS: usize = if cfg!(loom) {
    2
} else if cfg!(miri) {
    128
} else {
    65_536
};
