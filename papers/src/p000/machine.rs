//! The testbed of 000 (sections 3.1 and 4.2; its times as the SOSP'95 version of the paper reports
//! them).
//!
//! ```text
//! DEC 3000/500, one processor    T_hit 243 us, T_driver 580 us, T_disk 15 ms, blocks of 8 KB, 1,536 buffers
//! striper, units of 64 KB        at most five prefetches outstanding at a disk, demand at once; C-SCAN or FIFO behind them
//! 1 to 15 HP 2247 disks          each sorts what it was given
//! ```
//!
//! Worked example: a program that misses one block from time to time pays 243 us + 580 us + some 15
//! ms for it.

use foresee_manager::{Action, Config, DeviceId, DeviceLimits, Event, FileId, Order, Stripe};
use foresee_sim::device::Choice;
use foresee_sim::faults::Faults;
use foresee_sim::host::{HostFile, Processor, Readahead, Report, Setup, run_watched};

use super::work::Load;

/// The size of a block.
pub const BLOCK_BYTES: u64 = 8192;
/// The file cache: 12 MB.
pub const CACHE_BLOCKS: u64 = 1536;
/// T_hit.
const HIT_NS: u64 = 243_000;
/// T_driver.
const DRIVER_NS: u64 = 580_000;
/// What a request costs for each block beyond the first. Fitted to Figure 10(a).
const DRIVER_BLOCK_NS: u64 = 300_000;

/// Disks do not turn in step: each stands so much of a turn further than the one before.
const TURNED_PERCENT: u64 = 61;

/// Whose file system it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// OSF/1 as it comes: LRU and readahead.
    Osf1,
    /// Informed prefetching.
    Tip1,
    /// Informed caching as well; the marginal hit rate as section 4.3 has it.
    Tip2,
    /// The same; the marginal hit rate as section 5.2 has it.
    Tip2Point,
}

impl System {
    /// As tables and plots name it.
    pub fn name(self) -> &'static str {
        match self {
            System::Osf1 => "OSF/1",
            System::Tip1 => "TIP-1",
            System::Tip2 => "TIP-2",
            System::Tip2Point => "TIP-2 (point estimate)",
        }
    }

    /// Whether programs disclose what they will read.
    pub fn takes_hints(self) -> bool {
        self != System::Osf1
    }

    /// The manager's policy.
    fn policy(self) -> &'static str {
        match self {
            System::Osf1 => "lru",
            // Section 3.6: on Davidson TIP-1 is nearly as good as OSF/1's readahead, so it fetches in clusters as well.
            System::Tip1 => "tip1:unread_share=0.3333333333,resume_blocks=8",
            System::Tip2 => "tip2:t_hit_us=243,t_driver_us=580,t_disk_us=15000",
            System::Tip2Point => "tip2:t_hit_us=243,t_driver_us=580,t_disk_us=15000,majorant=0,segment=256",
        }
    }
}

/// An array of so many disks, in words.
pub fn array(disks: u16) -> String {
    format!("{disks} disk{}", if disks == 1 { "" } else { "s" })
}

/// A configuration of the testbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Disks of the array.
    pub disks: u16,
    /// Buffers of the file cache.
    pub cache_blocks: u64,
    /// The file system.
    pub system: System,
    /// Whether the striper sorts the prefetches that wait.
    pub sorts: bool,
}

impl Machine {
    /// With 12 MB of cache, and a striper that sorts.
    pub fn new(system: System, disks: u16) -> Self {
        Machine { disks, cache_blocks: CACHE_BLOCKS, system, sorts: true }
    }

    fn setup(&self, load: Load) -> Result<Setup, String> {
        let device = DeviceLimits {
            outstanding_max: 5,
            cluster_blocks_max: 8,
            sort_blocks: if self.sorts { u64::MAX } else { 1 },
            ..DeviceLimits::default()
        };
        let stripe = Stripe { disks: self.disks, unit_blocks: 8 };
        let config = Config { device, stripe, ..Config::new(self.cache_blocks, self.system.policy().parse()?) };
        let disk = |nth: u16| format!("hp2247:turned_percent={}", u64::from(nth) * TURNED_PERCENT % 100).parse();
        let file = |file: super::work::File| HostFile { device: DeviceId(0), blocks: file.blocks, place: file.place };
        Ok(Setup {
            config,
            block_bytes: BLOCK_BYTES,
            devices: (0..self.disks).map(disk).collect::<Result<Vec<Choice>, _>>()?,
            files: load.files.into_iter().map(file).collect(),
            lookup_ns: 0,
            processor: Some(Processor { hit_ns: HIT_NS, driver_ns: DRIVER_NS, driver_block_ns: DRIVER_BLOCK_NS }),
            readahead: Readahead::Osf1,
            readers: load.readers,
            faults: Faults::NONE,
            besides: Vec::new(),
        })
    }

    /// Runs a load.
    ///
    /// # Errors
    /// If the load does not fit the machine.
    pub fn run(&self, load: Load) -> Result<Outcome, String> {
        let setup = self.setup(load)?;
        let mut first_file = Traffic::default();
        let mut tap = |_, event, actions: &[Action], _: &_| first_file.note(event, actions);
        let report = run_watched(&setup, &mut tap).map_err(|fault| fault.to_string())?;
        Ok(Outcome { report, first_file })
    }
}

/// The first file's blocks that were read, and that came from disk, until the first reader is
/// through.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    read: u64,
    fetched: u64,
    over: bool,
}

impl Traffic {
    fn note(&mut self, event: Event, actions: &[Action]) {
        self.over |= matches!(event, Event::ReaderExited { .. });
        if self.over {
            return;
        }
        if let Event::Reference { file: FileId(0), count, .. } = event {
            self.read += count;
        }
        for action in actions {
            if let Action::Order(Order::Fetch { file: FileId(0), count, .. }) = action {
                self.fetched += count;
            }
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    report: Report,
    first_file: Traffic,
}

impl Outcome {
    /// Until the last reader was through, in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.report.elapsed_ns as f64 / 1e9
    }

    /// The time the processor was idle.
    pub fn stall_s(&self) -> f64 {
        self.report.processor.map_or(0, |spent| spent.idle_ns) as f64 / 1e9
    }

    /// Requests that the disks were asked for.
    pub fn requests(&self) -> u64 {
        self.report.devices.iter().map(|device| device.requests).sum()
    }

    /// Blocks that came from disk.
    pub fn blocks(&self) -> u64 {
        self.report.devices.iter().map(|device| device.bytes / BLOCK_BYTES).sum()
    }

    /// Of the first file's blocks that were read until the first reader was through, the part that
    /// came from disk.
    pub fn miss_ratio(&self) -> f64 {
        self.first_file.fetched as f64 / self.first_file.read.max(1) as f64
    }
}
