//! A trace on the simulated host: its requests become the steps of readers, one for each of its
//! threads.
//!
//! Each thread is a closed loop: it makes its next request when the one before is served, after the
//! time it thought in between; and it begins when the thread before it has ended (`chains`). A
//! machine faster or slower than the traced one therefore sees the same program, not the same
//! moments.

mod chains;
mod disclosure;

use std::collections::HashMap;

use foresee_manager::{Config, DeviceId, ReaderId, Source, Stripe, Time};

use crate::cells::{Progress, map};
use crate::device::Choice;
use crate::faults::Faults;
use crate::host::{self, Fault, HostFile, Readahead, Reader, Report, Setup, Step};
use crate::load::{Trace, TracedFile};
use crate::untimed::Cell;
use chains::Chains;
pub use disclosure::Disclosure;
use disclosure::RECORDED;

/// Blocks of one unit of an array: 64 KiB of 4 KiB each (000 section 3.1).
const UNIT_BLOCKS: u64 = 16;

/// How long a thread thinks before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Think {
    /// Not at all: the storage alone is measured.
    None,
    /// As long as in the trace: from the end of its request before (or the trace's begin) to the
    /// begin of this one.
    Traced,
    /// Always so long, in nanoseconds.
    Fixed(u64),
}

/// How a trace is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Thinking time.
    pub think: Think,
    /// What is disclosed of what will be read.
    pub disclose: Option<Disclosure>,
    /// The device all files lie on.
    pub device: Choice,
    /// How many of these there are, over which files are striped.
    pub disks: u16,
    /// How long it takes to look a name up.
    pub lookup_ns: u64,
}

/// Makes all runs of what `setup` makes of each configuration, as many at once as there are
/// processors. Results come in the order of `cells`. `progress` is told how many of the runs are
/// done.
pub fn sweep(
    setup: impl Fn(Config) -> Setup + Sync,
    cells: &[Cell],
    progress: &Progress<'_>,
) -> Vec<Result<Report, Fault>> {
    map(cells, progress, |cell| {
        let mut setup = setup(Config::new(cell.cache_blocks, cell.policy.clone()));
        setup.besides.extend(cell.taught.iter().map(|&event| (Time(0), event)));
        host::run(&setup)
    })
}

/// How many readers there will be of this trace: threads that follow one another are one.
pub fn readers(trace: &Trace) -> usize {
    Chains::of(trace).readers().len()
}

/// What to run on the simulated host for this trace.
pub fn setup(trace: &Trace, options: &Options, mut config: Config) -> Setup {
    let chains = Chains::of(trace);
    let mut readers: Vec<Reader> = chains.readers().iter().map(|&id| Reader { id, steps: Vec::new() }).collect();
    if options.disclose.is_some_and(|it| it.source == Source::Profile) {
        readers.iter_mut().for_each(|reader| reader.id = RECORDED);
    }
    config.trust = options.disclose.map_or(config.trust, |it| it.trust);
    if options.disks > 1 {
        config.stripe = Stripe { disks: options.disks, unit_blocks: UNIT_BLOCKS };
    }
    let begin = (0..trace.len()).map(|at| trace.entry(at).time_ns).min().unwrap_or(0);
    // When the request before on each chain ended, in the trace.
    let mut ended = vec![begin; readers.len()];
    // Each is made once.
    let mut disclosures = options.disclose.map_or_else(HashMap::new, |it| it.steps(trace));
    // Before the request of this number, by this reader.
    let mut advice: HashMap<(usize, ReaderId), Vec<Step>> = HashMap::new();
    for &(at, reader, said) in trace.advised() {
        advice.entry((at, reader)).or_default().push(Step::Advise { advice: said });
    }
    for at in 0..trace.len() {
        let entry = trace.entry(at);
        let reader = trace.lanes[entry.lane].reader;
        let chain = chains.chain(entry.lane);
        let steps = &mut readers[chain].steps;
        let think = match options.think {
            Think::None => 0,
            Think::Traced => entry.time_ns.saturating_sub(ended[chain]),
            Think::Fixed(ns) => ns,
        };
        ended[chain] = entry.time_ns.saturating_add(entry.took_ns);
        let thinks = (think > 0).then_some(Step::Think { ns: think });
        let hints = disclosures.remove(&reader).unwrap_or_default();
        match options.think {
            // What passed before a process's first request, it was not there for.
            Think::Traced => steps.extend(thinks.into_iter().chain(hints)),
            Think::None | Think::Fixed(_) => steps.extend(hints.into_iter().chain(thinks)),
        }
        let (file, first) = (entry.first.file, entry.first.index);
        steps.extend(advice.remove(&(at, reader)).into_iter().flatten());
        steps.push(Step::Read { file, first, count: entry.count, site: entry.site });
        // Of a request that is over it is said before the next one, whoever makes that.
        steps.extend(advice.remove(&(at + 1, reader)).into_iter().flatten());
    }
    Setup {
        config,
        block_bytes: trace.block_bytes,
        devices: vec![options.device; usize::from(options.disks.max(1))],
        files: files(trace),
        lookup_ns: options.lookup_ns,
        processor: None,
        readahead: Readahead::None,
        readers,
        faults: Faults::NONE,
        besides: Vec::new(),
    }
}

/// The files, laid out one after the other.
fn files(trace: &Trace) -> Vec<HostFile> {
    let mut end = 0;
    let place = |file: &TracedFile| {
        let place = end;
        end += file.blocks;
        HostFile { device: DeviceId(0), blocks: file.blocks, place }
    };
    trace.files.iter().map(place).collect()
}
