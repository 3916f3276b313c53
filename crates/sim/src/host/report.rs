//! What came of a run: how the readers fared, or why it has no end.

use std::fmt;

use foresee_manager::{DeviceId, FileId, ReaderId, Statistics, Time};

use crate::device::DeviceReport;

/// How a reader fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReaderReport {
    /// Who it is to the manager.
    pub id: ReaderId,
    /// Reads it made.
    pub reads: u64,
    /// Blocks it wrote.
    pub writes: u64,
    /// Reads that failed.
    pub failed: u64,
    /// The time it waited for its reads.
    pub stall_ns: u64,
    /// The time it thought.
    pub think_ns: u64,
    /// The time the system took to hand it what it read ([`Processor::hit_ns`](super::Processor)).
    pub hit_ns: u64,
    /// The time it waited for the processor.
    pub queued_ns: u64,
    /// When it was through.
    pub finished: Time,
}

/// What the processor did until the last reader was through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessorReport {
    /// Thinking.
    pub think_ns: u64,
    /// Handing readers what they read.
    pub hit_ns: u64,
    /// Asking devices.
    pub driver_ns: u64,
    /// Nothing, because all readers waited: the stall time of 000.
    pub idle_ns: u64,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// When the last reader was through.
    pub elapsed_ns: u64,
    /// The readers, in the order of the setup.
    pub readers: Vec<ReaderReport>,
    /// The processor, if the setup has one.
    pub processor: Option<ProcessorReport>,
    /// The devices, in the order of the setup.
    pub devices: Vec<DeviceReport>,
    /// What the manager counted, and what was fetched ahead and not read by the end among the wasted.
    pub statistics: Statistics,
}

impl Report {
    /// The time all readers together waited.
    pub fn stall_ns(&self) -> u64 {
        self.readers.iter().map(|reader| reader.stall_ns).sum()
    }
}

/// Why a run came to no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A file lies on a device that is not there.
    NoDevice {
        /// The device.
        device: DeviceId,
    },
    /// A file lies beyond the end of its device, or of its array.
    NoRoom {
        /// The file.
        file: FileId,
        /// The device on which it does not fit.
        device: DeviceId,
    },
    /// A reader reads a file that is not there.
    NoFile {
        /// The file.
        file: FileId,
    },
    /// Nothing is left to happen, and a reader was not woken: a fault of the manager.
    Stuck {
        /// The reader.
        reader: ReaderId,
        /// Since when it waits.
        since: Time,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoDevice { device } => write!(f, "there is no device {device}; add it to the setup's devices"),
            Fault::NoRoom { file, device } => {
                write!(
                    f,
                    "file {file} reaches beyond the end of device {device}; place it lower, or take a larger device"
                )
            }
            Fault::NoFile { file } => {
                write!(f, "a reader reads file {file}, which is not there; add it to the setup's files")
            }
            Fault::Stuck { reader, since } => {
                write!(f, "reader {reader} waits since {since} ns, and nothing will wake it; please report this")
            }
        }
    }
}

impl std::error::Error for Fault {}
