//! A trace on the simulated host: its requests become the steps of readers, one for each of its threads.
//!
//! Each thread is a closed loop: it makes its next request when the one before is served, after the time it thought in
//! between; and it begins when the thread before it has ended (`chains`). A machine faster or slower than the traced one
//! therefore sees the same program, not the same moments.

mod chains;

use std::collections::HashMap;

use foresee_manager::{Config, DeviceId, ReaderId, Source, Want};

use crate::cells::{Progress, map};
use crate::device::Choice;
use crate::faults::Faults;
use crate::host::{self, Fault, HostFile, Readahead, Reader, Report, Setup, Step};
use crate::load::{Trace, TracedFile};
use crate::untimed::Cell;
use chains::Chains;

/// Who is first in a trace, and all of a recorded run.
const FIRST: ReaderId = ReaderId(0);

/// How long a thread thinks before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Think {
    /// Not at all: the storage alone is measured.
    None,
    /// As long as in the trace: from the end of its request before (or the trace's begin) to the begin of this one.
    Traced,
    /// Always so long, in nanoseconds.
    Fixed(u64),
}

/// How a trace is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Thinking time.
    pub think: Think,
    /// Whether what will be read is disclosed, and through what: of a recorded run all of it, before anything else; else by each
    /// process what it will read itself, when it begins.
    pub disclose: Option<Source>,
    /// The device all files lie on.
    pub device: Choice,
    /// How long it takes to look a name up.
    pub lookup_ns: u64,
}

/// Makes all runs, as many at once as there are processors. Results come in the order of `cells`. `progress` is told how many of
/// the runs are done.
pub fn sweep(trace: &Trace, options: &Options, cells: &[Cell], progress: &Progress<'_>) -> Vec<Result<Report, Fault>> {
    map(cells, progress, |cell| {
        let config = Config::new(cell.cache_blocks, cell.policy.clone());
        host::run(&setup(trace, options, config))
    })
}

/// What to run on the simulated host for this trace.
pub fn setup(trace: &Trace, options: &Options, config: Config) -> Setup {
    let chains = Chains::of(trace);
    let mut readers: Vec<Reader> = chains.readers().iter().map(|&id| Reader { id, steps: Vec::new() }).collect();
    if options.disclose == Some(Source::Profile) {
        readers.iter_mut().for_each(|reader| reader.id = FIRST);
    }
    let begin = (0..trace.len()).map(|at| trace.entry(at).time_ns).min().unwrap_or(0);
    // When the request before on each chain ended, in the trace.
    let mut ended = vec![begin; readers.len()];
    let mut disclosures = Disclosures::of(trace, options.disclose);
    for at in 0..trace.len() {
        let entry = trace.entry(at);
        let chain = chains.chain(entry.lane);
        let steps = &mut readers[chain].steps;
        let think = match options.think {
            Think::None => 0,
            Think::Traced => entry.time_ns.saturating_sub(ended[chain]),
            Think::Fixed(ns) => ns,
        };
        ended[chain] = entry.time_ns.saturating_add(entry.took_ns);
        let thinks = (think > 0).then_some(Step::Think { ns: think });
        let hints = disclosures.before(trace.lanes[entry.lane].reader);
        match options.think {
            // What passed before a process's first request, it was not there for.
            Think::Traced => steps.extend(thinks.into_iter().chain(hints)),
            Think::None | Think::Fixed(_) => steps.extend(hints.into_iter().chain(thinks)),
        }
        let (file, first) = (entry.first.file, entry.first.index);
        steps.push(Step::Read { file, first, count: entry.count, site: entry.site });
    }
    Setup {
        config,
        block_bytes: trace.block_bytes,
        devices: vec![options.device],
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

/// What is disclosed, by who will disclose it.
struct Disclosures(HashMap<ReaderId, Vec<Step>>);

impl Disclosures {
    /// In the order of the trace.
    fn of(trace: &Trace, source: Option<Source>) -> Self {
        let mut by_reader: HashMap<ReaderId, Vec<Step>> = HashMap::new();
        if let Some(source) = source {
            for entry in (0..trace.len()).map(|at| trace.entry(at)) {
                let own = trace.lanes[entry.lane].reader;
                let want = Want::Range { first: entry.first.index, count: entry.count };
                let reader = if source == Source::Profile { FIRST } else { own };
                by_reader.entry(reader).or_default().push(Step::Hint { source, file: entry.first.file, want });
            }
        }
        Disclosures(by_reader)
    }

    /// Those of this reader; none the second time.
    fn before(&mut self, reader: ReaderId) -> Vec<Step> {
        self.0.remove(&reader).unwrap_or_default()
    }
}
