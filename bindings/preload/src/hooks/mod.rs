//! The functions we stand in front of. Each calls the one behind it, and tells of what that did.

mod advice;
mod directory;
mod exec;
mod fd;
mod load;
mod map;
mod mount;
mod open;
pub(crate) mod read;
mod sandbox;
mod stat;
mod stdio;
pub(crate) mod write;
