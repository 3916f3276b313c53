//! The account of a run: what was read, how long the program stood still for it, what was read
//! ahead and what became of it.

use std::path::PathBuf;
use std::time::Duration;

use foresee_manager::Statistics;
pub use foresee_ring::Unseen;

use crate::host::MountAccount;
pub use crate::process_stat::Transfers;
use crate::processors;
pub use crate::programs::UnseenProgram;
use crate::supervisor::Tally;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It returned this status.
    Status(i32),
    /// This signal ended it.
    Signal(i32),
}

/// What one program of a run read: all processes of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramAccount {
    /// Its name; "" where it is not known.
    pub name: String,
    /// How often it was executed.
    pub executions: u32,
    /// Reads of regular files.
    pub reads: u64,
    /// Bytes they gave.
    pub bytes: u64,
    /// Time in those that had to wait.
    pub stall: Duration,
    /// Blocks that, as far as foresee knew, were neither in memory nor on their way when they were
    /// read.
    pub missed: u64,
}

/// What reads of one file came to, as far as they were told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAccount {
    /// The file.
    pub path: PathBuf,
    /// How often it was read.
    pub reads: u64,
    /// Time in reads that had to wait; of mappings it is the program's.
    pub stall: Duration,
    /// Blocks that were on their way when they were read.
    pub late: u64,
    /// Blocks that were neither in memory nor on their way.
    pub missed: u64,
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Account {
    /// From the program's start to its end.
    pub elapsed: Duration,
    /// How it ended.
    pub ending: Ending,
    /// Reads of regular files by the program and its children.
    pub reads: u64,
    /// Bytes they gave.
    pub bytes: u64,
    /// Time spent in reads that had to wait ([`crate::supervisor::STALL_MIN`] and longer).
    pub stall: Duration,
    /// Programs that were watched, if only from outside. 0: the command could not be (one of
    /// another user).
    pub programs: u32,
    /// What each program read, in the order in which they appeared.
    pub by_program: Vec<ProgramAccount>,
    /// Programs that do not tell of what they read.
    pub unseen: Vec<UnseenProgram>,
    /// What the manager counted.
    pub statistics: Statistics,
    /// Bytes read ahead.
    pub bytes_ahead: u64,
    /// How reads ahead were made: io_uring or threads.
    pub method: &'static str,
    /// Whose runs the profile is of, if one was found: "own", the same command's, "alike", one
    /// nearly the same, or "related", others like it.
    pub profile_of: Option<&'static str>,
    /// The steps it has.
    pub profile_steps: Option<usize>,
    /// Records lost because the programs posted faster than they were taken.
    pub records_lost: u64,
    /// How long nothing was read ahead, as it cost more than it gained.
    pub suspended: Duration,
    /// Processor time of foresee itself.
    pub own_cpu: Duration,
    /// Largest memory of foresee itself, in bytes.
    pub own_memory: u64,
    /// From foresee's start to the program's.
    pub start_up: Duration,
    /// What the kernel counted for the programs, if that is known.
    pub transfers: Option<Transfers>,
    /// Foresee was not there itself: a warning says why.
    pub without: bool,
    /// What went wrong without stopping the run.
    pub warnings: Vec<String>,
    /// Mounts behind a network or a daemon: what was found out of them.
    pub mounts: Vec<MountAccount>,
    /// Programs that outlive the run, and are foreseen no more.
    pub going_on: Vec<String>,
}

impl Account {
    /// From what the supervisor counted, and what of the run itself only whoever started it knows.
    /// What it costs is what this process has cost so far.
    pub fn new(tally: Tally, elapsed: Duration, ending: Ending, start_up: Duration) -> Self {
        let Tally {
            by_program,
            unseen,
            statistics,
            programs,
            bytes_ahead,
            method,
            profile_of,
            profile_steps,
            records_lost,
            suspended,
            warnings,
            mounts,
            going_on,
        } = tally;
        let (own_cpu, own_memory) = own_usage();
        Account {
            elapsed,
            ending,
            reads: by_program.iter().map(|it| it.reads).sum(),
            bytes: by_program.iter().map(|it| it.bytes).sum(),
            stall: by_program.iter().map(|it| it.stall).sum(),
            programs,
            by_program,
            unseen,
            statistics,
            bytes_ahead,
            method,
            profile_of,
            profile_steps,
            records_lost,
            suspended,
            own_cpu,
            own_memory,
            start_up,
            transfers: None,
            without: false,
            warnings,
            mounts,
            going_on,
        }
    }

    /// Bytes that came from devices and were read in ways that were not seen, as far as can be
    /// told: what was seen may have been in memory, and what was given may have come from a
    /// pipe. What io_uring and Linux AIO give is not counted as given; where they were used, pages of
    /// mapped files are among these.
    pub fn bytes_unseen(&self) -> Option<u64> {
        let is_by_queue = self.unseen.iter().any(|it| matches!(it.why, Unseen::Uring | Unseen::Aio));
        let bytes = |it: Transfers| if is_by_queue { it.from_devices } else { it.given.min(it.from_devices) };
        self.transfers.map(|it| bytes(it).saturating_sub(self.bytes))
    }
}

fn own_usage() -> (Duration, u64) {
    // Not ru_maxrss: that is inherited from whoever started us.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    (processors::own(), peak.unwrap_or(0) << 10)
}
