//! The ring that programs post to, and what they do, made sense of: their descriptors, positions and working directories.

mod consumer;
mod process;
mod processes;
mod room;
mod says;
mod seen;
#[cfg(test)]
mod tests;
mod view;

pub use consumer::Ring;
pub use processes::Processes;
pub use seen::{Advising, Disclosure, Read, Seen};
