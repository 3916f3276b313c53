//! Where hints come from: the command's own words, walks of the directories they name, and the hint library. (Recorded runs
//! are in [`crate::profile`]; what the program tells the kernel comes through [`crate::watch`].)

mod library;
mod walk;
mod words;

pub use library::Library;
pub use walk::{Found, Walk};
pub use words::{Words, read_words};
