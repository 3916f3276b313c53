//! What a run depends on: devices, files, readers and their steps, and what goes wrong.

use foresee_manager::{Advice, Config, DeviceId, Event, FileId, ReaderId, Site, Source, Time, Trust, Want};

use crate::device::Choice;
use crate::faults::Faults;

use super::readahead::Readahead;

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
    /// Writes one block whole, and does not wait: the device has it at once, behind the program's
    /// back.
    Write {
        /// The file.
        file: FileId,
        /// The block.
        index: u64,
    },
    /// Removes a file: its blocks are given up.
    Remove {
        /// The file.
        file: FileId,
    },
    /// Advises which of its own blocks go first.
    Advise {
        /// What it says.
        advice: Advice,
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

impl Step {
    /// The same step of a program whose files are numbered from this one on.
    pub fn numbered(self, first_file: u32) -> Step {
        use Advice::{GetPriority, SetPriority, SetTemporaryPriority};
        let at = |FileId(file)| FileId(first_file + file);
        match self {
            Step::Read { file, first, count, site } => Step::Read { file: at(file), first, count, site },
            Step::Write { file, index } => Step::Write { file: at(file), index },
            Step::Remove { file } => Step::Remove { file: at(file) },
            Step::Hint { source, file, want } => Step::Hint { source, file: at(file), want },
            Step::Advise { advice } => Step::Advise {
                advice: match advice {
                    GetPriority { file } => GetPriority { file: at(file) },
                    SetPriority { file, priority } => SetPriority { file: at(file), priority },
                    SetTemporaryPriority { file, first, count, priority } => {
                        SetTemporaryPriority { file: at(file), first, count, priority }
                    }
                    other => other,
                },
            },
            other => other,
        }
    }
}

/// A reader and its steps. Several may have one id: threads of a process.
#[derive(Debug, Clone)]
pub struct Reader {
    /// Who it is to the manager.
    pub id: ReaderId,
    /// What it does, in order.
    pub steps: Vec<Step>,
}

/// A file that exists. Files are numbered by their place in [`Setup::files`]; hints may speak of
/// others, which do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostFile {
    /// Where it lies, an index into [`Setup::devices`]: the first disk of its array, where files
    /// are striped.
    pub device: DeviceId,
    /// How long it is.
    pub blocks: u64,
    /// Where on the device, or on the array, it begins, in blocks.
    pub place: u64,
}

/// The one processor that all readers share, and what the system takes of it.
///
/// 000's equation 1 in these words: an application of N reads takes N times the time it thinks
/// between two of them and `hit_ns`, plus `driver_ns` for each request to a device, plus the time
/// the processor is idle. A request of several blocks has a buffer to be allotted and handed back
/// for each: `driver_block_ns` for each beyond the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor {
    /// A block read from the cache (000's T_hit).
    pub hit_ns: u64,
    /// A request to a device (000's T_driver).
    pub driver_ns: u64,
    /// Each further block of a request.
    pub driver_block_ns: u64,
}

/// All a run depends on.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The manager's.
    pub config: Config,
    /// The size of a block.
    pub block_bytes: u64,
    /// The devices.
    pub devices: Vec<Choice>,
    /// The files.
    pub files: Vec<HostFile>,
    /// How long it takes to look a name up.
    pub lookup_ns: u64,
    /// The processor; None: as many as are needed, and the system takes nothing of them.
    pub processor: Option<Processor>,
    /// What the file system reads ahead by itself.
    pub readahead: Readahead,
    /// The readers; all begin at time 0, in this order.
    pub readers: Vec<Reader>,
    /// What goes wrong.
    pub faults: Faults,
    /// What happens besides: the capacity changes, a file changes, views are taken and given back.
    pub besides: Vec<(Time, Event)>,
}

impl Setup {
    /// Lets the readers of another setup read beside these, in one memory and on the same devices:
    /// its files lie behind these, and whoever must earn trust in either must earn it here.
    pub fn add(&mut self, other: Setup) {
        let first_file = self.files.len() as u32;
        let first_place = self.files.iter().map(|file| file.place + file.blocks).max().unwrap_or(0);
        let first_id = self.readers.iter().map(|reader| reader.id.0 + 1).max().unwrap_or(0);
        self.files.extend(other.files.iter().map(|file| HostFile { place: first_place + file.place, ..*file }));
        self.readers.extend(other.readers.into_iter().map(|reader| Reader {
            id: ReaderId(first_id + reader.id.0),
            steps: reader.steps.into_iter().map(|step| step.numbered(first_file)).collect(),
        }));
        if self.config.trust == Trust::Full {
            self.config.trust = other.config.trust;
        }
    }
}
