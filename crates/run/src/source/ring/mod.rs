//! The ring that programs post to, and what they do, made sense of: their descriptors, positions
//! and working directories.

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
pub(crate) use processes::is_dead;
pub use seen::{Advising, Disclosure, Read, Seen, Touch, Touched};
pub(crate) use view::is_elsewhere;
