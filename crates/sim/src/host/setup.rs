//! What a run depends on: devices, files, readers and their steps, and what goes wrong.

use foresee_manager::{Config, DeviceId, Event, FileId, ReaderId, Site, Source, Time, Want};

use crate::device::Constant;
use crate::faults::Faults;

/// What a reader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Computes, or sleeps.
    Think {
        /// For how long.
        ns: u64,
    },
    /// Reads blocks, and waits for them.
    Read {
        /// The file.
        file: FileId,
        /// The first block.
        first: u64,
        /// How many.
        count: u64,
        /// From where in the program.
        site: Site,
    },
    /// Discloses what it will read.
    Hint {
        /// Through what.
        source: Source,
        /// The file.
        file: FileId,
        /// What of it.
        want: Want,
    },
    /// Withdraws what it disclosed.
    Cancel {
        /// Through what.
        source: Source,
    },
}

/// A reader and its steps. Several may have one id: threads of a process.
#[derive(Debug, Clone)]
pub struct Reader {
    /// Who it is to the manager.
    pub id: ReaderId,
    /// What it does, in order.
    pub steps: Vec<Step>,
}

/// A file that exists. Files are numbered by their place in [`Setup::files`]; hints may speak of others, which do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostFile {
    /// Where it lies, an index into [`Setup::devices`].
    pub device: DeviceId,
    /// How long it is.
    pub blocks: u64,
    /// Where on the device it begins, in blocks.
    pub place: u64,
}

/// All a run depends on.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The manager's.
    pub config: Config,
    /// The size of a block.
    pub block_bytes: u64,
    /// The devices.
    pub devices: Vec<Constant>,
    /// The files.
    pub files: Vec<HostFile>,
    /// How long it takes to look a name up.
    pub lookup_ns: u64,
    /// The readers; all begin at time 0, in this order.
    pub readers: Vec<Reader>,
    /// What goes wrong.
    pub faults: Faults,
    /// What happens besides: the capacity changes, a file changes, views are taken and given back.
    pub besides: Vec<(Time, Event)>,
}
