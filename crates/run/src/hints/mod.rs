//! Where hints come from: the command's own words, walks of the directories they name, the hint
//! library, and the order in which a directory's files are read. (Recorded runs are in
//! [`crate::profile`]; what the program tells the kernel comes through [`crate::source::ring`].)

mod library;
mod listing;
mod walk;
mod words;

pub use library::Library;
pub use listing::Listings;
pub use walk::{Found, Walk};
pub use words::{Words, read_words};
