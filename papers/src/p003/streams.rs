//! Many streams at once, which the paper speaks of and does not measure: how far should be read
//! ahead? On one disk of the testbed, with memories from too small to ample, `sarc` with several
//! fixed degrees beside `sarc-amp`.

use foresee_manager::{Config, DeviceId, DeviceLimits, FileId, ReaderId, Site};
use foresee_sim::faults::Faults;
use foresee_sim::host::{self, HostFile, Readahead, Reader, Setup, Step};

use crate::{Effort, Progress, Random, Report, map};

/// Streams, and blocks of 4 KiB each of them reads.
pub const STREAMS: [(u64, u64); 4] = [(1, 20_000), (10, 5000), (100, 1000), (1000, 200)];
/// Pages of memory for each stream.
pub const PAGES: [u64; 4] = [8, 32, 128, 512];
const DEGREES: [u64; 5] = [6, 24, 96, 192, 384];
/// What a reader does with a block, on average; each stream has a pace of its own, from nought to
/// twice that.
const THINK_NS: u64 = 400_000;
/// Between two streams' files.
const GAP_BLOCKS: u64 = 10_000;

/// Streams of so many blocks, with so many pages each.
///
/// # Errors
/// If the machine cannot be built.
pub fn run(policy: &str, (streams, blocks): (u64, u64), pages: u64) -> Result<host::Report, String> {
    let mut random = Random::new(streams);
    let files =
        (0..streams).map(|stream| HostFile { device: DeviceId(0), blocks, place: stream * (blocks + GAP_BLOCKS) });
    let reader = |stream: u64| {
        let think = Step::Think { ns: random.below(2 * THINK_NS) };
        let read = |first| Step::Read { file: FileId(stream as u32), first, count: 1, site: Site(0) };
        Reader { id: ReaderId(stream as u32), steps: (0..blocks).flat_map(|block| [think, read(block)]).collect() }
    };
    // All streams may wait for the disk at once, and still something is fetched ahead.
    let outstanding_max = 4 * streams as u32 + 128;
    let device = DeviceLimits { outstanding_max, ..DeviceLimits::default() };
    let setup = Setup {
        config: Config { device, ..Config::new((streams * pages).max(64), policy.parse()?) },
        block_bytes: 4096,
        devices: vec!["disk10k".parse()?],
        files: files.collect(),
        lookup_ns: 0,
        processor: None,
        readahead: Readahead::None,
        readers: (0..streams).map(reader).collect(),
        faults: Faults::NONE,
        besides: Vec::new(),
    };
    host::run(&setup).map_err(|fault| fault.to_string())
}

/// Adds rows.
///
/// # Errors
/// If the machine cannot be built.
pub fn report(effort: Effort, progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    const EXPERIMENT: &str = "Many streams: until the last is through";
    const BEST: &str = "Many streams: sarc-amp / the best fixed degree";
    let policies: Vec<(String, String)> = DEGREES
        .map(|degree| {
            (format!("degree {degree}"), format!("sarc:group=1,degree={degree},trigger_offset={}", degree / 4))
        })
        .into_iter()
        .chain([("sarc-amp".to_owned(), "sarc-amp".to_owned())])
        .collect();
    let mut cells = Vec::new();
    for (streams, blocks) in STREAMS {
        let blocks = if effort == Effort::Quick { blocks / 50 } else { blocks };
        for pages in PAGES {
            cells.extend(policies.iter().map(|(name, policy)| (name, policy, (streams, blocks), pages)));
        }
    }
    let made = map(&cells, progress, |(_, policy, streams, pages)| {
        run(policy, *streams, *pages).map(|report| report.elapsed_ns as f64 / 1e9)
    });
    let made: Vec<f64> = made.into_iter().collect::<Result<_, String>>()?;
    let rows = || cells.chunks(policies.len()).zip(made.chunks(policies.len()));
    let cell = |streams: u64, pages: u64| format!("{streams} streams; {} pages", (streams * pages).max(64));
    for (cells, seconds) in rows() {
        for ((name, _, (streams, _), pages), seconds) in cells.iter().zip(seconds) {
            report.row(EXPERIMENT, format!("{}; {name}", cell(*streams, *pages)), *seconds, "s");
        }
    }
    for (cells, seconds) in rows() {
        let (_, _, (streams, _), pages) = cells[0];
        let best = seconds[..DEGREES.len()].iter().copied().fold(f64::INFINITY, f64::min);
        report.row(BEST, cell(streams, pages), seconds[DEGREES.len()] / best, "");
    }
    Ok(())
}
