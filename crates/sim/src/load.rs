//! A trace in memory, as compact as it comes, read once and shared by all runs.
//!
//! A request is its block's key, 8 bytes; what a trace does not vary (times of a block trace, the
//! reader of a single process) takes nothing.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use foresee_manager::{
    Advice, AdviceFile, Block, Demand, Event, FileId, Future, REFERENCE_BLOCKS_MAX, ReaderId, Site, Time,
};

use crate::column::Column;
use crate::error::Error;
use crate::sample::Sample;
use crate::trace::{self, Format, Numbering, Reader, Request, Span};

/// A thread of the trace: its requests follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// The process's number in the trace.
    pub process: i32,
    /// The thread's number in the trace.
    pub thread: i32,
    /// The reader it is to the manager: one a process, numbered from 0 as they appear.
    pub reader: ReaderId,
}

/// A file of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedFile {
    /// Its name; "" where the format knows none.
    pub name: String,
    /// Its blocks, as far as the trace shows: up to the last one asked for.
    pub blocks: u64,
}

/// One request of a loaded trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When it began.
    pub time_ns: u64,
    /// How long it took.
    pub took_ns: u64,
    /// An index into [`Trace::lanes`].
    pub lane: usize,
    /// The call site.
    pub site: Site,
    /// The first block.
    pub first: Block,
    /// How many blocks, at least one.
    pub count: u64,
}

/// What of a trace is taken. From a number: all of it, in blocks of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taking {
    /// The size of a block.
    pub block_bytes: u64,
    /// Whether writes are left out.
    pub reads_only: bool,
    /// Whether a request is one block whatever its size, known by where it begins, as libCacheSim
    /// takes it.
    pub whole_requests: bool,
    /// The share of the blocks that is taken, chosen by their names' hash; 1: all.
    pub share: f64,
}

impl From<u64> for Taking {
    fn from(block_bytes: u64) -> Self {
        Taking { block_bytes, reads_only: false, whole_requests: false, share: 1.0 }
    }
}

/// A trace in memory.
#[derive(Debug)]
pub struct Trace {
    /// The size of a block.
    pub block_bytes: u64,
    /// Its threads.
    pub lanes: Vec<Lane>,
    /// Its files, by [`FileId`].
    pub files: Vec<TracedFile>,
    /// What lies at call sites, where the trace says it.
    pub sites_named: HashMap<Site, String>,
    /// Blocks asked for, each as often as it was asked for; of a sampled trace, those in the
    /// sample.
    pub references: u64,
    keys: Vec<u64>,
    counts: Column<u32>,
    lane: Column<u32>,
    sites: Column<u64>,
    times: Column<u64>,
    tooks: Column<u64>,
    future: OnceLock<Arc<Future>>,
    /// What readers advise, each before the request of this number.
    advice: Vec<(usize, ReaderId, Advice)>,
    sample: Option<Sample>,
}

impl Trace {
    /// Reads a trace: all of it in blocks of so many bytes, or what of it is to be taken. Requests
    /// of no bytes are left out.
    ///
    /// # Errors
    /// If the trace cannot be read, or a number in it is beyond what the manager's block names can
    /// say.
    pub fn load(path: &Path, format: Option<&'static Format>, taking: impl Into<Taking>) -> Result<Trace, Error> {
        let taking = taking.into();
        Trace::read(path, trace::open(path, format, taking.block_bytes)?, taking)
    }

    /// The same from its reader. Errors name this path.
    ///
    /// # Errors
    /// If the trace cannot be read, or a number in it is beyond what the manager's block names can
    /// say.
    pub fn read(path: &Path, mut reader: impl Reader, taking: impl Into<Taking>) -> Result<Trace, Error> {
        let mut loader = Loader::new(taking.into());
        while let Some(request) = reader.next()? {
            loader.push(&request).map_err(|what| Error::new(path, reader.at(), what))?;
        }
        let mut trace = loader.trace;
        for (file, name) in trace.files.iter_mut().zip(reader.names()) {
            file.name.clone_from(name);
        }
        trace.sites_named.extend(reader.sites().iter().map(|(site, name)| (Site(*site), name.clone())));
        Ok(trace)
    }

    /// A trace of block numbers below 2^40 that are at hand.
    ///
    /// # Panics
    /// If a number is not below 2^40.
    pub fn of_blocks(numbers: impl IntoIterator<Item = u64>, block_bytes: u64) -> Trace {
        Trace::of_runs(numbers.into_iter().map(|number| (number, 1)), block_bytes)
    }

    /// The same of requests for several blocks, each by its first and how many they are.
    ///
    /// # Panics
    /// If a block's number is not below 2^40.
    pub fn of_runs(runs: impl IntoIterator<Item = (u64, u32)>, block_bytes: u64) -> Trace {
        let mut loader = Loader::new(block_bytes.into());
        for (first, count) in runs {
            assert!(first + u64::from(count) <= Block::INDEX_LIMIT, "blocks {first} and {count} on are not below 2^40");
            loader.append(Request::default(), FileId(0), first, count);
        }
        loader.trace
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// One request.
    ///
    /// # Panics
    /// If there is none at this place.
    pub fn entry(&self, at: usize) -> Entry {
        let key = self.keys[at];
        Entry {
            time_ns: self.times.get(at),
            took_ns: self.tooks.get(at),
            lane: self.lane.get(at) as usize,
            site: Site(self.sites.get(at)),
            first: Block { file: FileId((key / Block::INDEX_LIMIT) as u32), index: key % Block::INDEX_LIMIT },
            count: u64::from(self.counts.get(at)),
        }
    }

    /// One request as the manager is told of it, by a host that only watches.
    pub fn observed(&self, at: usize) -> (Time, Event) {
        let Entry { time_ns, lane, site, first, count, .. } = self.entry(at);
        let (reader, demand) = (self.lanes[lane].reader, Demand::Observed);
        (Time(time_ns), Event::Reference { reader, site, file: first.file, first: first.index, count, demand })
    }

    /// Lets each reader give this advice: the policies of its levels before its first request, a
    /// file's priority before its first request to that file; what is read once is done with
    /// after each.
    pub fn advise(&mut self, advice: &AdviceFile) {
        let (mut readers, mut files) = (HashSet::new(), HashSet::new());
        let mut advised = Vec::new();
        for at in 0..self.len() {
            let Entry { lane, first: Block { file, index }, count, .. } = self.entry(at);
            let reader = self.lanes[lane].reader;
            if readers.insert(reader) {
                let policies = advice.levels.iter().map(|&(priority, order)| Advice::SetPolicy { priority, order });
                advised.extend(policies.map(|policy| (at, reader, policy)));
            }
            let name = &self.files[file.0 as usize].name;
            if files.insert((reader, file))
                && let Some(priority) = advice.priority(name)
            {
                advised.push((at, reader, Advice::SetPriority { file, priority }));
            }
            if advice.is_read_once(name) {
                advised.push((at + 1, reader, AdviceFile::done_with(file, index, count)));
            }
        }
        self.advice = advised;
    }

    /// What is advised and by whom, each before the request of this number, in order.
    pub(crate) fn advised(&self) -> &[(usize, ReaderId, Advice)] {
        &self.advice
    }

    /// Which reference follows which to the same block; found at the first call.
    pub fn future(&self) -> &Arc<Future> {
        self.future.get_or_init(|| {
            let blocks = |at: usize| {
                let Entry { first, count, .. } = self.entry(at);
                (first.index..first.index + count).rev().map(move |index| Block { index, ..first })
            };
            Arc::new(Future::of_reversed((0..self.len()).rev().flat_map(blocks), self.references))
        })
    }

    /// The process of each reader, by its number; 0 where the format knows none.
    pub fn processes(&self) -> Vec<i32> {
        let mut processes = Vec::new();
        for lane in &self.lanes {
            if lane.reader.0 as usize == processes.len() {
                processes.push(lane.process);
            }
        }
        processes
    }

    /// Whether it says from where in a program any request came.
    pub fn knows_sites(&self) -> bool {
        (0..self.len()).any(|at| self.entry(at).site != Site(0))
    }

    /// Whether it says when requests came.
    pub fn knows_times(&self) -> bool {
        (0..self.len()).any(|at| self.entry(at).time_ns != self.entry(0).time_ns)
    }

    /// Whether it says when requests came, but of none how long it took.
    pub fn knows_no_durations(&self) -> bool {
        self.knows_times() && self.took_ns() == 0
    }

    /// How long its requests took in all; 0 where the format knows no durations.
    pub fn took_ns(&self) -> u64 {
        (0..self.len()).fold(0, |sum, at| sum.saturating_add(self.tooks.get(at)))
    }

    /// How many different blocks there are; of a sampled trace, about how many. To count them takes
    /// longer than to read the trace.
    pub fn distinct_blocks(&self) -> u64 {
        self.of_all(self.future().distinct_blocks())
    }

    /// The same, if they were counted already.
    pub fn counted_distinct_blocks(&self) -> Option<u64> {
        self.future.get().map(|future| self.of_all(future.distinct_blocks()))
    }

    fn of_all(&self, here: u64) -> u64 {
        self.sample.map_or(here, |sample| sample.of_all(here))
    }

    /// What was sampled; None where the trace is whole.
    pub(crate) fn sample(&self) -> Option<&Sample> {
        self.sample.as_ref()
    }

    /// Requests and references of the whole trace, sampled or not.
    pub fn whole(&self) -> (u64, u64) {
        self.sample.map_or((self.len() as u64, self.references), |sample| (sample.requests, sample.references))
    }
}

struct Loader {
    trace: Trace,
    taking: Taking,
    numbering: Numbering,
    lane_of: HashMap<(i32, i32), u32>,
    reader_of: HashMap<i32, ReaderId>,
}

impl Loader {
    fn new(taking: Taking) -> Self {
        let trace = Trace {
            block_bytes: taking.block_bytes,
            lanes: Vec::new(),
            files: Vec::new(),
            sites_named: HashMap::new(),
            references: 0,
            keys: Vec::new(),
            counts: Column::default(),
            lane: Column::default(),
            sites: Column::default(),
            times: Column::default(),
            tooks: Column::default(),
            future: OnceLock::new(),
            advice: Vec::new(),
            sample: (taking.share < 1.0).then(|| Sample::new(taking.share)),
        };
        let numbering = Numbering::default();
        Loader { trace, taking, numbering, lane_of: HashMap::new(), reader_of: HashMap::new() }
    }

    fn push(&mut self, request: &Request) -> Result<(), String> {
        if request.file >= FileId::LIMIT {
            return Err(format!("file number {} is beyond {}; split the trace", request.file, FileId::LIMIT - 1));
        }
        if request.write && self.taking.reads_only {
            return Ok(());
        }
        let (first, count) = match request.span {
            Span::Range { length: 0, .. } => return Ok(()),
            Span::Range { offset, .. } if self.taking.whole_requests => (self.numbering.index(offset), 1),
            Span::Range { offset, length } => trace::blocks_of(offset, length, self.trace.block_bytes)?,
            Span::Object { number, .. } => (self.numbering.index(number), 1),
        };
        let count = u32::try_from(count).map_err(|_| format!("a read of {count} blocks; 2^32 are too many for one"))?;
        let file = FileId(request.file);
        match &mut self.trace.sample {
            None => self.append(*request, file, first, count),
            Some(sample) => {
                sample.requests += 1;
                sample.references += u64::from(count);
                let sample = *sample;
                for index in (first..first + u64::from(count)).filter(|&index| sample.takes(Block { file, index })) {
                    self.append(*request, file, index, 1);
                }
            }
        }
        Ok(())
    }

    /// A request, in pieces of what the manager takes at most.
    #[inline]
    fn append(&mut self, request: Request, file: FileId, first: u64, count: u32) {
        let count = u64::from(count);
        for at in (0..count).step_by(REFERENCE_BLOCKS_MAX as usize) {
            self.append_piece(request, file, first + at, (count - at).min(REFERENCE_BLOCKS_MAX) as u32);
        }
    }

    #[inline]
    fn append_piece(&mut self, request: Request, file: FileId, first: u64, count: u32) {
        let lane = self.lane(request.process, request.thread);
        let trace = &mut self.trace;
        trace.keys.push(u64::from(file.0) * Block::INDEX_LIMIT + first);
        trace.counts.push(count);
        trace.lane.push(lane);
        trace.sites.push(request.site);
        trace.times.push(request.time_ns);
        trace.tooks.push(request.took_ns);
        trace.references += u64::from(count);
        if file.0 as usize >= trace.files.len() {
            trace.files.resize(file.0 as usize + 1, TracedFile { name: String::new(), blocks: 0 });
        }
        let known = &mut trace.files[file.0 as usize];
        known.blocks = known.blocks.max(first + u64::from(count));
    }

    fn lane(&mut self, process: i32, thread: i32) -> u32 {
        // Most requests are of the thread that made the one before.
        let last = self.trace.lane.last() as usize;
        if self.trace.lanes.get(last).is_some_and(|lane| (lane.process, lane.thread) == (process, thread)) {
            return last as u32;
        }
        if let Some(&lane) = self.lane_of.get(&(process, thread)) {
            return lane;
        }
        let next = ReaderId(self.reader_of.len() as u32);
        let reader = *self.reader_of.entry(process).or_insert(next);
        let lane = self.trace.lanes.len() as u32;
        self.trace.lanes.push(Lane { process, thread, reader });
        self.lane_of.insert((process, thread), lane);
        lane
    }
}
