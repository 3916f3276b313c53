//! What the manager knows of files: where they lie, and how long they are.

use crate::ids::FileId;
use crate::layout::Home;

/// What the manager knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Unknown,
    LookingUp,
    Missing,
    Here { home: Home, blocks: u64 },
}

/// How far a file's name was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// Nobody asked for that.
    Unasked,
    /// The host was asked to.
    UnderWay,
    /// It is known what the name leads to.
    Done,
}

/// What the manager knows of each file.
#[derive(Debug, Default)]
pub(crate) struct Files(Vec<Known>);

impl Files {
    pub fn of(&self, file: FileId) -> Known {
        self.0.get(file.0 as usize).copied().unwrap_or(Known::Unknown)
    }

    pub fn set(&mut self, file: FileId, known: Known) {
        let at = file.0 as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, Known::Unknown);
        }
        self.0[at] = known;
    }
}
