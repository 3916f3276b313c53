//! One file dealt out over several disks, in turns, so that reads of it are answered by all of them
//! at once: the papers' array (000 section 3.1, 001 section 4) for users with several disks and no
//! RAID.
//!
//! [`split`] deals a file out to its *members*, one file on each disk; together they are a *set*.
//! [`Set::open`] finds out whether some files are a whole set, [`join`] writes the file back, and a
//! [`Reader`] answers reads of any range, from all members that hold a part of it at once. Which
//! member holds what is [`foresee_manager::Stripe`]'s arithmetic, in blocks of one byte.
//!
//! A member begins with a header of [`HEADER_BYTES`], which says where it belongs in words that
//! `head` shows, and then holds its units one after the other. Worked example: 150,000 bytes in
//! units of 64 KiB on two members.
//!
//! ```text
//! a.0    header "member 1 of 2"   bytes 0 to 65,535        bytes 131,072 to 149,999
//! a.1    header "member 2 of 2"   bytes 65,536 to 131,071
//! ```

mod buffer;
mod header;
mod reader;
mod set;
mod split;

pub use header::{ALIGN_BYTES, HEADER_BYTES, MEMBERS_MAX};
pub use reader::{Failure, Reader, join};
pub use set::Set;
pub use split::split;
