//! Every schedule there is, of small cases: a reader that takes one unit of time a reference, and
//! devices of which each serves so many requests at once, and sends blocks over one link.

use std::collections::HashSet;

use foresee_manager::{Config, DeviceId, DeviceLimits, FileId, ReaderId, Stripe, Want};
use foresee_sim::device::{Choice, Constant};
use foresee_sim::host::{self, HostFile, Reader, Report, Setup, Step};
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Disclosure, Think};

/// One unit of time.
pub const UNIT_NS: u64 = 100_000;
const BLOCK_BYTES: u64 = 4096;
/// No two blocks are neighbours.
const APART: u64 = 10;
const FILE_BLOCKS: u64 = 10_000;

/// What blocks are fetched from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Over which blocks are dealt out in turns.
    pub disks: u64,
    /// Whether these are one array, and all blocks of one file; else each disk has a file of its
    /// own.
    pub striped: bool,
    /// Requests that a disk serves at once; 0: any number.
    pub servers: u32,
    /// Units that a block takes on its disk's link after the time of a fetch, one block after the
    /// other.
    pub sends: u64,
}

impl Storage {
    /// The papers' disk.
    pub const DISK: Storage = Storage { disks: 1, striped: false, servers: 1, sends: 0 };

    fn disk(self, block: u64) -> u64 {
        block % self.disks
    }
}

/// The blocks that are read in turn, pages, and the time of a fetch, of the first byte if a link
/// sends it.
#[derive(Debug, Clone)]
pub struct Case {
    pub reads: Vec<u64>,
    pub pages: u64,
    pub fetch: u64,
    pub storage: Storage,
}

/// Disks and a memory, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Reads that are over.
    pub read: usize,
    /// The blocks here, sorted.
    here: Vec<u64>,
    /// The blocks on their way, sorted, and how long each takes still.
    pub fetching: Vec<(u64, u64)>,
}

impl State {
    pub fn first() -> Self {
        State { read: 0, here: Vec::new(), fetching: Vec::new() }
    }

    /// Blocks that are on their way may come, and one be read.
    pub fn goes_on(&mut self, case: &Case) {
        let here = &mut self.here;
        self.fetching.retain(|&(block, left)| {
            here.extend((left == 0).then_some(block));
            left > 0
        });
        here.sort_unstable();
        if self.read < case.reads.len() && self.here.contains(&case.reads[self.read]) {
            self.read += 1;
        }
    }

    fn passes(&mut self) {
        self.fetching.iter_mut().for_each(|(_, left)| *left -= 1);
    }

    /// How long those take still that are on their way from a disk.
    fn busy(&self, disk: u64, case: &Case) -> impl Iterator<Item = u64> {
        self.fetching.iter().filter(move |(block, _)| case.storage.disk(*block) == disk).map(|(_, left)| *left)
    }

    /// Whether a block is missing, and its disk takes a request.
    fn may_begin(&self, block: u64, case: &Case) -> bool {
        let servers = case.storage.servers as usize;
        let is_free = servers == 0 || self.busy(case.storage.disk(block), case).count() < servers;
        is_free && self.is_missing(block)
    }

    fn is_missing(&self, block: u64) -> bool {
        !self.here.contains(&block) && self.fetching.iter().all(|(it, _)| *it != block)
    }

    /// A fetch begins, and a page goes for it unless one is free.
    fn begins(&self, block: u64, gone: Option<u64>, case: &Case) -> State {
        // On the link blocks come in the order of their fetches.
        let link_free = self.busy(case.storage.disk(block), case).max().unwrap_or(0);
        let mut state = self.clone();
        state.here.retain(|&it| Some(it) != gone);
        state.fetching.push((block, case.fetch.max(link_free) + case.storage.sends));
        state.fetching.sort_unstable();
        state
    }

    /// Any of these blocks is fetched, in the place of any page.
    pub fn begins_any(&self, blocks: impl IntoIterator<Item = u64>, case: &Case) -> Vec<State> {
        let of = |block| match self.has_room(case) {
            true => vec![self.begins(block, None, case)],
            false => self.here.iter().map(|&gone| self.begins(block, Some(gone), case)).collect(),
        };
        blocks.into_iter().filter(|&block| self.may_begin(block, case)).flat_map(of).collect()
    }

    /// The same without what is no better than what is left, as Cao et al. show of one disk. Blocks
    /// of one disk are alike but for their reads, so that two of them can change places in all that
    /// a schedule does from here on:
    ///
    /// - of a disk the missing block is fetched that is read next. Had another been, this one would
    ///   be later on, and nobody reads the other before that;
    /// - of a disk's pages that one goes that is read last. Had another gone, it would be fetched
    ///   again before either is read, and this one can be in its place;
    /// - nor does one go that is read before the block of the same disk for which it would: it
    ///   would be fetched again, and before either is read. That block can be in its place, and
    ///   this fetch be left out.
    ///
    /// Blocks that are not read again are alike wherever they lie, and one of them goes before all
    /// others: whoever keeps it in place of one that is fetched again can leave that fetch out. And
    /// none goes where a page is free.
    fn begins_well(&self, case: &Case) -> Vec<State> {
        let disks = 0..case.storage.disks;
        let next_missing = |disk| self.next_missing(case, |block| case.storage.disk(block) == disk);
        let of = |block: u64| {
            if self.has_room(case) {
                return vec![self.begins(block, None, case)];
            }
            let last = self.last(case, |_| true).filter(|&last| self.next(last, case) == usize::MAX);
            let of_disk = |disk| self.last(case, |block| case.storage.disk(block) == disk);
            let goes = |gone: &u64| {
                case.storage.disk(*gone) != case.storage.disk(block) || self.next(*gone, case) > self.next(block, case)
            };
            let gone = last.map_or_else(|| disks.clone().filter_map(of_disk).collect(), |last| vec![last]);
            gone.into_iter().filter(goes).map(|gone| self.begins(block, Some(gone), case)).collect()
        };
        disks.clone().filter_map(next_missing).filter(|&block| self.may_begin(block, case)).flat_map(of).collect()
    }

    /// All that the disks may do now, where `begins` says which fetches may begin, and the moment
    /// passes.
    pub fn ways(self, begins: impl Fn(&State) -> Vec<State>) -> HashSet<State> {
        let (mut ways, mut new) = (HashSet::new(), vec![self]);
        while let Some(way) = new.pop() {
            if !ways.contains(&way) {
                new.extend(begins(&way));
                ways.insert(way);
            }
        }
        ways.into_iter().map(State::passed).collect()
    }

    fn passed(mut self) -> State {
        self.passes();
        self
    }

    fn has_room(&self, case: &Case) -> bool {
        ((self.here.len() + self.fetching.len()) as u64) < case.pages
    }

    /// When a block is read next.
    fn next(&self, block: u64, case: &Case) -> usize {
        (self.read..case.reads.len()).find(|&at| case.reads[at] == block).unwrap_or(usize::MAX)
    }

    /// Of these blocks the missing one that is read next.
    fn next_missing(&self, case: &Case, is_one: impl Fn(u64) -> bool) -> Option<u64> {
        case.reads[self.read..].iter().copied().find(|&block| is_one(block) && self.is_missing(block))
    }

    /// Of these pages the one that is read last.
    fn last(&self, case: &Case, is_one: impl Fn(u64) -> bool) -> Option<u64> {
        let pages = self.here.iter().copied().filter(|&block| is_one(block));
        pages.max_by_key(|&block| self.next(block, case))
    }

    /// Whether the reader waits for a block, or a page is left for one that it may wait for.
    fn leaves_page(&self, block: u64, case: &Case) -> bool {
        case.reads.get(self.read) == Some(&block) || (self.fetching.len() as u64) + 1 < case.pages
    }

    /// What the paper's aggressive begins to fetch, each disk by itself, as many as each takes, but
    /// that a page is left for who waits.
    fn aggressive(&self, case: &Case) -> Option<State> {
        let may_begin = |block| self.may_begin(block, case) && self.leaves_page(block, case);
        let missing = self.next_missing(case, may_begin)?;
        if self.has_room(case) {
            return Some(self.begins(missing, None, case));
        }
        let last = self.last(case, |_| true)?;
        (self.next(last, case) > self.next(missing, case)).then(|| self.begins(missing, Some(last), case))
    }
}

impl Case {
    /// The least time that any schedule takes, in units.
    pub fn least(&self) -> u64 {
        self.least_where(|state| state.begins_well(self))
    }

    /// The same by all schedules, of which most can be seen not to be the best.
    pub fn least_of_all(&self) -> u64 {
        let blocks: HashSet<u64> = self.reads.iter().copied().collect();
        self.least_where(|state| state.begins_any(blocks.iter().copied(), self))
    }

    fn least_where(&self, begins: impl Fn(&State) -> Vec<State>) -> u64 {
        let mut states = HashSet::from([State::first()]);
        for time in 0.. {
            let mut next = HashSet::new();
            for mut state in states {
                state.goes_on(self);
                if state.read == self.reads.len() {
                    return time + 1;
                }
                next.extend(state.ways(&begins));
            }
            states = next;
        }
        unreachable!()
    }

    /// What the paper's aggressive takes.
    pub fn aggressive(&self) -> u64 {
        let mut state = State::first();
        for time in 0.. {
            state.goes_on(self);
            if state.read == self.reads.len() {
                return time + 1;
            }
            while let Some(next) = state.aggressive(self) {
                state = next;
            }
            state.passes();
        }
        unreachable!()
    }

    /// What a policy of ours is run on that is told all.
    pub fn setup(&self, policy: &str) -> Setup {
        self.setup_told(policy, Some(Disclosure::TOLD), &self.reads)
    }

    /// The same where this is disclosed in place of what is read.
    fn setup_told(&self, policy: &str, told: Option<Disclosure>, disclosed: &[u64]) -> Setup {
        let Storage { disks, striped, servers, sends } = self.storage;
        let trace = Trace::of_blocks(disclosed.iter().map(|block| block * APART), BLOCK_BYTES);
        let bytes_per_s = (BLOCK_BYTES * 1_000_000_000).checked_div(sends * UNIT_NS).unwrap_or(0);
        let device = Choice::Constant(Constant { servers, latency_ns: self.fetch * UNIT_NS, bytes_per_s });
        let how = timed::Options { think: Think::None, disclose: told, device, disks: disks as u16, lookup_ns: 0 };
        let mut config = Config::new(self.pages, policy.parse().unwrap());
        let outstanding_max = if servers == 0 { config.device.outstanding_max } else { servers };
        config.device = DeviceLimits { outstanding_max, cluster_blocks_max: 1, ..DeviceLimits::default() };
        let mut setup = timed::setup(&trace, &how, config);
        let dealt_out = Stripe { disks: disks as u16, unit_blocks: APART };
        setup.config.stripe = if striped { dealt_out } else { Stripe::default() };
        let files = if striped { 1 } else { disks };
        let file = |device| HostFile { device: DeviceId(device), blocks: FILE_BLOCKS, place: 0 };
        setup.files = (0..files as u16).map(file).collect();
        let file_of = |block| FileId((block % files) as u32);
        setup.readers.resize(1, Reader { id: ReaderId(0), steps: Vec::new() });
        let steps = std::mem::take(&mut setup.readers[0].steps);
        let mut reads = self.reads.iter();
        for mut step in steps {
            let mut think = None;
            match &mut step {
                Step::Read { file, first, .. } => {
                    let block = *reads.next().unwrap();
                    (*file, *first) = (file_of(block), block * APART);
                    think = Some(Step::Think { ns: UNIT_NS });
                }
                Step::Hint { file, want: Want::Range { first, .. }, .. } => *file = file_of(*first / APART),
                _ => {}
            }
            setup.readers[0].steps.extend([step].into_iter().chain(think));
        }
        setup
    }

    /// What a policy takes that is told what was recorded in place of what is read, in units.
    pub fn units_told(&self, policy: &str, told: Disclosure, recorded: &[u64]) -> u64 {
        units_of(&self.setup_told(policy, Some(told), recorded))
    }

    /// What a policy takes, in units, whose reader has read other blocks before, each twice, and
    /// disclosed them if it is told anything: it knows what a fetch takes, and how fast the reader
    /// is.
    pub fn units_after_others(&self, policy: &str, told: Option<Disclosure>) -> u64 {
        const ROUNDS: u64 = 10;
        let steps_of = |reads: &[u64]| {
            let case = Case { reads: reads.to_vec(), ..*self };
            std::mem::take(&mut case.setup_told(policy, told, reads).readers[0].steps)
        };
        // A few at a time, and none of them one that is read afterwards.
        let before = |round| steps_of(&(0..12).map(|at| 50 + round * 6 + at / 2).collect::<Vec<_>>());
        let before: Vec<Step> = (0..ROUNDS).flat_map(before).collect();
        let units_of = |steps| {
            let mut setup = self.setup_told(policy, told, &self.reads);
            setup.readers[0].steps = steps;
            units_of(&setup)
        };
        units_of([&before[..], &steps_of(&self.reads)].concat()) - units_of(before)
    }

    /// What a policy takes that is told nothing, in units.
    pub fn units_untold(&self, policy: &str) -> u64 {
        units_of(&self.setup_told(policy, None, &self.reads))
    }

    /// What it does.
    pub fn run(&self, policy: &str) -> Report {
        host::run(&self.setup(policy)).unwrap()
    }

    pub fn units(&self, policy: &str) -> u64 {
        units_of(&self.setup(policy))
    }
}

/// What it takes, in units.
pub fn units_of(setup: &Setup) -> u64 {
    let ns = host::run(setup).unwrap().elapsed_ns;
    assert_eq!(ns % UNIT_NS, 0, "{setup:?}");
    ns / UNIT_NS
}
