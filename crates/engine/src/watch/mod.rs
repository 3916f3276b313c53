//! What the programs do, made sense of: their descriptors, positions and working directories.

mod process;
mod processes;
mod says;
mod seen;
#[cfg(test)]
mod tests;

pub use processes::Processes;
pub use seen::{Advising, Disclosure, Read, Seen};
