//! Advice: which of its own pages a program would give up first (002 section 3). Whose page goes is
//! never its to say.
//!
//! The paper's calls are [`Advice`]; a reader's advice comes as an [`Event`] each, and what it
//! asked is answered by an action of the same event.
//!
//! ```text
//! the paper's call                                  event
//! set_priority(file, prio)                          set-priority
//! get_priority(file)                                get-priority             -> priority
//! set_policy(prio, policy)                          set-policy
//! get_policy(prio)                                  get-policy               -> level-policy
//! set_temppri(file, startBlock, endBlock, prio)     set-temporary-priority
//! becoming a manager, as the first set call does    manage-caching
//! ceasing to be one                                 give-up-control
//! ```

mod file;

use crate::event::{Event, LevelOrder};
use crate::ids::{FileId, ReaderId};

pub use file::AdviceFile;

/// Readers that may advise at once. An eviction asks one of them; their levels take some kilobytes
/// each.
pub const MANAGERS_MAX: usize = 64;
/// Priorities of one reader that are in use: each has a list, and a decision may look at all that
/// are empty.
pub const LEVELS_MAX: usize = 32;
/// Files of one reader whose priority is not 0. All readers together: 25 MB at most.
pub const FILE_RECORDS_MAX: usize = 1 << 14;

/// What a reader says about its own pages, or asks of what it said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named after their types; each variant says what they mean together")]
pub enum Advice {
    /// It will advise.
    Manage,
    /// It will no more.
    GiveUp,
    /// The long-term priority of a file.
    SetPriority { file: FileId, priority: i32 },
    /// Asks for it.
    GetPriority { file: FileId },
    /// Which of the pages of a priority goes first.
    SetPolicy { priority: i32, order: LevelOrder },
    /// Asks for it.
    GetPolicy { priority: i32 },
    /// The priority of those of these blocks that are here, until they are referenced.
    SetTemporaryPriority { file: FileId, first: u64, count: u64, priority: i32 },
}

/// What advice led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is taken.
    Taken,
    /// The priority asked for.
    Priority(i32),
    /// The policy asked for.
    Order(LevelOrder),
}

impl Advice {
    /// The event that tells a manager.
    pub fn event(self, reader: ReaderId) -> Event {
        match self {
            Advice::Manage => Event::ManageCaching { reader },
            Advice::GiveUp => Event::GiveUpControl { reader },
            Advice::SetPriority { file, priority } => Event::SetPriority { reader, file, priority },
            Advice::GetPriority { file } => Event::GetPriority { reader, file },
            Advice::SetPolicy { priority, order } => Event::SetPolicy { reader, priority, order },
            Advice::GetPolicy { priority } => Event::GetPolicy { reader, priority },
            Advice::SetTemporaryPriority { file, first, count, priority } => {
                Event::SetTemporaryPriority { reader, file, first, count, priority }
            }
        }
    }

    /// What an event advises, and who.
    pub(crate) fn of(event: Event) -> Option<(ReaderId, Advice)> {
        Some(match event {
            Event::ManageCaching { reader } => (reader, Advice::Manage),
            Event::GiveUpControl { reader } => (reader, Advice::GiveUp),
            Event::SetPriority { reader, file, priority } => (reader, Advice::SetPriority { file, priority }),
            Event::GetPriority { reader, file } => (reader, Advice::GetPriority { file }),
            Event::SetPolicy { reader, priority, order } => (reader, Advice::SetPolicy { priority, order }),
            Event::GetPolicy { reader, priority } => (reader, Advice::GetPolicy { priority }),
            Event::SetTemporaryPriority { reader, file, first, count, priority } => {
                (reader, Advice::SetTemporaryPriority { file, first, count, priority })
            }
            _ => return None,
        })
    }
}
