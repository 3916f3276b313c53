//! What the programs do, made sense of: their descriptors, positions and working directories.

mod process;
mod processes;
mod room;
mod says;
mod seen;
#[cfg(test)]
mod tests;
mod view;

pub use processes::{Processes, is_dead};
pub use seen::{Advising, Disclosure, Read, Seen};
