//! The testbed of 002 (section 5.2): a DEC 5000/240 under Ultrix 4.3, an RZ56 and an RZ26 disk,
//! blocks of 8 KB, no readahead.
//!
//! ```text
//! processor    one, shared: what a program computes, a block's way to it, and the asking of a disk
//! RZ56         cscope, dinero, glimpse, ld, ReadN        RZ26    Postgres, sort
//! cache        6.4, 8, 12 and 16 MB: 819, 1024, 1536 and 2048 blocks
//! ```

use foresee_manager::{Action, Config, DeviceId, FileId, Order, ReaderId};
use foresee_sim::faults::Faults;
use foresee_sim::host::{HostFile, Processor, Readahead, Reader, Setup, run_watched};

use super::work::Program;

/// The size of a block.
pub const BLOCK_BYTES: u64 = 8192;
/// A block's way to its program.
const HIT_NS: u64 = 500_000;
/// Asking a disk.
const DRIVER_NS: u64 = 1_000_000;
/// What lies between one program's files and the next one's: other users' data.
const GAP_BLOCKS: u64 = 2000;

/// What decides which block goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The original kernel: global LRU.
    Lru,
    /// Two-level replacement with swapping and placeholders.
    LruSp,
    /// Without placeholders.
    LruS,
    /// Without swapping either.
    AllocLru,
}

impl System {
    /// As tables name it.
    pub fn name(self) -> &'static str {
        match self {
            System::Lru => "LRU",
            System::LruSp => "LRU-SP",
            System::LruS => "LRU-S",
            System::AllocLru => "ALLOC-LRU",
        }
    }

    /// The manager's policy. The paper's runs revoke nobody's control.
    pub fn policy(self) -> &'static str {
        match self {
            System::Lru => "lru",
            System::LruSp => "lru-sp:revoke_share=1",
            System::LruS => "lru-s",
            System::AllocLru => "alloc-lru",
        }
    }
}

/// A cache of the paper: its name and its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// As in the paper.
    pub name: &'static str,
    /// Its size.
    pub blocks: u64,
}

/// The paper's four.
pub const CACHES: [Cache; 4] = [
    Cache { name: "6.4 MB", blocks: 819 },
    Cache { name: "8 MB", blocks: 1024 },
    Cache { name: "12 MB", blocks: 1536 },
    Cache { name: "16 MB", blocks: 2048 },
];

/// How a program fared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fared {
    /// Blocks that were read from disk or written to it.
    pub ios: u64,
    /// When it was through.
    pub elapsed_s: f64,
}

/// How all of them did, in the order given.
#[derive(Debug, Clone)]
pub struct Outcome(pub Vec<Fared>);

impl Outcome {
    /// Block I/Os of all.
    pub fn ios(&self) -> u64 {
        self.0.iter().map(|fared| fared.ios).sum()
    }

    /// Until the last was through.
    pub fn elapsed_s(&self) -> f64 {
        self.0.iter().map(|fared| fared.elapsed_s).fold(0.0, f64::max)
    }
}

/// Runs programs at once. `turned_percent` says where in their turn the disks begin: real runs
/// differ in that at least.
///
/// # Errors
/// If they do not fit the machine.
pub fn run(system: System, cache: Cache, programs: &[&Program], turned_percent: u64) -> Result<Outcome, String> {
    let mut files = Vec::new();
    let (mut readers, mut owners) = (Vec::new(), Vec::new());
    let mut ends = [0, 0];
    for (program, number) in programs.iter().zip(0..) {
        let first_file = files.len() as u32;
        let device = program.disk as u16;
        let end = &mut ends[usize::from(device)];
        files.extend(program.files.iter().map(|file| HostFile {
            device: DeviceId(device),
            blocks: file.blocks,
            place: *end + file.place,
        }));
        owners.resize(files.len(), number as usize);
        *end += program.files.iter().map(|file| file.place + file.blocks).max().unwrap_or(0) + GAP_BLOCKS;
        readers.push(Reader { id: ReaderId(number), steps: program.steps(first_file) });
    }
    let disk = |name| format!("{name}:turned_percent={turned_percent}").parse();
    let setup = Setup {
        config: Config::new(cache.blocks, system.policy().parse()?),
        block_bytes: BLOCK_BYTES,
        // In the order of `Disk`.
        devices: vec![disk("rz56")?, disk("rz26")?],
        files,
        lookup_ns: 0,
        processor: Some(Processor { hit_ns: HIT_NS, driver_ns: DRIVER_NS, driver_block_ns: 0 }),
        readahead: Readahead::None,
        readers,
        faults: Faults::NONE,
        besides: Vec::new(),
    };
    let mut ios = vec![0; programs.len()];
    let mut tap = |_, _, actions: &[Action], _: &_| {
        for action in actions {
            if let Action::Order(Order::Fetch { file: FileId(file), count, .. }) = *action {
                ios[owners[file as usize]] += count;
            }
        }
    };
    let report = run_watched(&setup, &mut tap).map_err(|fault| fault.to_string())?;
    let fared = report.readers.iter().zip(ios);
    Ok(Outcome(
        fared
            .map(|(reader, ios)| Fared { ios: ios + reader.writes, elapsed_s: reader.finished.0 as f64 / 1e9 })
            .collect(),
    ))
}
