//! Why a block that was disclosed, or not, has not been brought.

use std::fmt;

use super::Hints;
use super::sequence::Sequence;
use crate::event::Source;
use crate::files::Known;
use crate::ids::Block;

/// How a block stands with those who disclose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody disclosed it.
    Undisclosed,
    /// It was disclosed, and its reader passed it over, or has read it.
    Passed(Source),
    /// Its file's name leads nowhere.
    Missing,
    /// Its file's name is not resolved yet.
    NameUnknown(Source),
    /// The rest of its run is left to the reader's own system.
    Left(Source),
    /// As much is out and unread as its source has earned; or was, and what is in no order rests until less than half is.
    WindowFull(Source),
    /// It waits for its turn: for others that are wanted sooner, for memory, or for its device.
    Waiting(Source),
    /// It was looked at for fetching.
    Issued(Source),
}

impl Standing {
    /// Whether somebody disclosed a read of it that is still to come.
    #[must_use]
    pub fn is_to_come(self) -> bool {
        matches!(self, Standing::Waiting(_) | Standing::WindowFull(_) | Standing::Issued(_))
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, what) = match self {
            Standing::Undisclosed => return f.write_str("nobody had disclosed it"),
            Standing::Missing => return f.write_str("its file was not there when it was looked up"),
            Standing::Passed(source) => (source, "its reader had passed it over"),
            Standing::NameUnknown(source) => (source, "its file's name was not resolved yet"),
            Standing::Left(source) => (source, "it was left to the system's own readahead, the device being quick"),
            Standing::WindowFull(source) => {
                (source, "as much was out and unread as that has earned, or had been and half of it still was")
            }
            Standing::Waiting(source) => (source, "its turn had not come"),
            Standing::Issued(source) => (source, "it had been looked at for fetching"),
        };
        write!(f, "disclosed by {}, but {what}", source.word())
    }
}

impl Sequence {
    fn standing(&self, block: Block, known: Known) -> Standing {
        let source = self.source;
        let device = match known {
            Known::Missing => return Standing::Missing,
            Known::Unknown | Known::LookingUp => return Standing::NameUnknown(source),
            Known::Here { home, .. } => home.device,
        };
        match self.entry_of(block, known) {
            None => Standing::Passed(source),
            Some((into, entry)) if into < u64::from(entry.issued) => Standing::Issued(source),
            Some((_, entry)) if entry.left => Standing::Left(source),
            Some(_) if !self.window.has_room(device) => Standing::WindowFull(source),
            Some(_) => Standing::Waiting(source),
        }
    }
}

impl Hints {
    /// How this block stands, with the source that has come furthest with it.
    pub fn standing(&self, block: Block, known: Known) -> Standing {
        let of_file = self.of_file.get(&block.file.0).map_or(&[][..], Vec::as_slice);
        let standings = of_file.iter().filter_map(|&id| Some(self.sequence(id)?.standing(block, known)));
        let reached = |standing: &Standing| match standing {
            Standing::Undisclosed => 0,
            Standing::Passed(_) => 1,
            Standing::Missing => 2,
            Standing::NameUnknown(_) => 3,
            Standing::Left(_) => 4,
            Standing::WindowFull(_) => 5,
            Standing::Waiting(_) => 6,
            Standing::Issued(_) => 7,
        };
        standings.max_by_key(reached).unwrap_or(Standing::Undisclosed)
    }
}
