//! Where hints come from: the command's own words, and walks of the directories they name. (Recorded runs are in
//! [`crate::profile`]; what the program tells the kernel comes through [`crate::watch`].)

mod walk;
mod words;

pub use walk::{Found, Walk};
pub use words::{Words, read_words};
