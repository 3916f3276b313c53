//! A trace on the simulated host: its requests become the steps of readers, one for each of its threads.
//!
//! Each thread is a closed loop: it makes its next request when the one before is served, after the time it thought in
//! between. A machine faster or slower than the traced one therefore sees the same program, not the same moments.

use std::collections::HashMap;

use foresee_manager::{Config, DeviceId, Source, Want};

use crate::cells::{Progress, map};
use crate::device::Choice;
use crate::faults::Faults;
use crate::host::{self, Fault, HostFile, Readahead, Reader, Report, Setup, Step};
use crate::load::{Trace, TracedFile};
use crate::untimed::Cell;

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
    /// Whether each reader discloses, before it begins, all it will read, and through what.
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
    let mut readers: Vec<Reader> =
        trace.lanes.iter().map(|lane| Reader { id: lane.reader, steps: Vec::new() }).collect();
    if let Some(source) = options.disclose {
        disclose(trace, source, &mut readers);
    }
    let begin = (0..trace.len()).map(|at| trace.entry(at).time_ns).min().unwrap_or(0);
    // When each thread's request before ended, in the trace.
    let mut ended = vec![begin; readers.len()];
    for at in 0..trace.len() {
        let entry = trace.entry(at);
        let steps = &mut readers[entry.lane].steps;
        let ns = match options.think {
            Think::None => 0,
            Think::Traced => entry.time_ns.saturating_sub(ended[entry.lane]),
            Think::Fixed(ns) => ns,
        };
        ended[entry.lane] = entry.time_ns.saturating_add(entry.took_ns);
        if ns > 0 {
            steps.push(Step::Think { ns });
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

/// Lets the first thread of each process disclose the process's requests, in the order of the trace, before anything else.
fn disclose(trace: &Trace, source: Source, readers: &mut [Reader]) {
    let mut first_of = HashMap::new();
    for (lane, reader) in readers.iter().enumerate() {
        first_of.entry(reader.id).or_insert(lane);
    }
    for at in 0..trace.len() {
        let entry = trace.entry(at);
        let want = Want::Range { first: entry.first.index, count: entry.count };
        readers[first_of[&readers[entry.lane].id]].steps.push(Step::Hint { source, file: entry.first.file, want });
    }
}
