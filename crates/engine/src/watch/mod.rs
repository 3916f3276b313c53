//! What the programs do, made sense of: their descriptors, positions and working directories.

mod process;

pub use process::{Advising, Disclosure, Processes, Read, Seen};
