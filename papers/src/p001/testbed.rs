//! 001's machine: a DECstation 5000/200 under Mach 3.0 with the TIP prototype, a cache of 400
//! buffers of 8 KB, one to four IBM 0661 disks striped in units of 64 KB.
//!
//! **The processor.** What it takes is 001's own Table 2, shared out by what is bound by the
//! processor in Tables 1 and 3:
//!
//! ```text
//!                        blocks   files   hints   published busy
//! search, no TIP         218      158     0       1.51 s     218 x 5.7 ms + 158 x 1.7 ms             = 1.51 s
//! search, with TIP       218      158     158     1.99 s                      ... + 158 x (1 + 2.1)  = 2.00 s
//! Y-Z slice, 2-4 disks   722                      4.3 s      722 x 5.7 ms + 0.16 s                   = 4.28 s
//! X-Y slice, 4 disks     361                      2.23 s     361 x 5.7 ms + 0.16 s                   = 2.22 s
//! ```
//!
//! Of a file's 1.7 ms, 2 x 0.47 are its two look-ups in a directory of 158, and so are 0.47 of the
//! 2.1 ms of TIP's own; that an entry takes 6 us is fitted to the man pages, whose directories are
//! larger.
//!
//! **The disks.** How the 5.7 ms of a block divide into asking a disk for it (UX, Striper,
//! microkernel, interrupt) and handing it out (copies, system call, the program), and how fast the
//! bus is, is fitted to two cells of Table 3. A disk is asked for one block at a time, and rests
//! while the processor sees to that. So a block of the Y-Z slice on one disk takes `DRIVER_NS`, the
//! command and the way over the bus, 7.3 ms (published 5.12 s / 722); a block of the X-Y slice on
//! two disks takes a move and half a turn besides, 18 ms (published 2 x 3.33 s / 361).

use foresee_manager::{Config, DeviceLimits, FileId, ReaderId, Site, Source, Stripe};
use foresee_sim::faults::Faults;
use foresee_sim::host::{HostFile, Processor, Readahead, Reader, Report, Setup, Step, run};

use crate::Random;

/// A program, as it runs on this machine.
pub struct Program {
    /// The files there are.
    pub files: Vec<HostFile>,
    /// What it does.
    pub steps: Vec<Step>,
}

/// The source of all hints.
pub const HINTS: Source = Source::Library;

const MS: u64 = 1_000_000;
/// An entry of a directory, when a name is looked up in it.
pub const ENTRY_NS: u64 = 6 * MS / 1000;
/// Opening and closing a file, besides look-ups.
pub const FILE_NS: u64 = 76 * MS / 100;
/// A hint's way into the system.
pub const HINT_NS: u64 = MS;
/// What the system does with a hint, besides the look-up.
pub const RESOLVE_NS: u64 = 163 * MS / 100;
/// Buffers of the cache, and how many of them may hold blocks prefetched and not yet read: 150 of
/// 400 (section 2).
const BUFFERS: u64 = 400;
const TIP: &str = "tip1:unread_share=0.375,count_present=0";
const BLOCK_BYTES: u64 = 8192;
const UNIT_BLOCKS: u64 = 8;
/// Asking a disk for a block.
const DRIVER_NS: u64 = 25 * MS / 10;
/// Handing a block out, and what the program does with it.
const HIT_NS: u64 = 32 * MS / 10;
/// The disk, on a bus that moves 1.9 MB/s.
const DISK: &str = "ibm0661:bus_kb_per_s=1900";

/// Runs a program on an array of so many disks, from a cold cache. The seed decides where in its
/// turn each disk stands.
pub fn execute(disks: u16, program: Program, seed: u64) -> Result<Report, String> {
    // Not the numbers that the program drew from the same seed.
    let mut random = Random::new(!seed);
    let mut device = || format!("{DISK},turned_percent={}", random.below(100)).parse();
    let devices = (0..disks).map(|_| device()).collect::<Result<_, _>>()?;
    let limits = DeviceLimits { outstanding_max: 1, cluster_blocks_max: 1, sort_blocks: 1, ..DeviceLimits::default() };
    let stripe = Stripe { disks, unit_blocks: UNIT_BLOCKS };
    let setup = Setup {
        config: Config { device: limits, stripe, ..Config::new(BUFFERS, TIP.parse()?) },
        block_bytes: BLOCK_BYTES,
        devices,
        files: program.files,
        lookup_ns: 0,
        processor: Some(Processor { hit_ns: HIT_NS, driver_ns: DRIVER_NS, driver_block_ns: 0 }),
        readahead: Readahead::OneBlock,
        readers: vec![Reader { id: ReaderId(1), steps: program.steps }],
        faults: Faults::NONE,
        besides: Vec::new(),
    };
    run(&setup).map_err(|fault| fault.to_string())
}

/// Reads one block.
pub fn read(file: FileId, first: u64) -> Step {
    Step::Read { file, first, count: 1, site: Site(0) }
}
