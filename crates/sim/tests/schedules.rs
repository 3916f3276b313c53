//! Every schedule there is, of small cases: one disk that serves one request at a time, a reader that takes
//! one unit of time a reference, and fetches of `fetch` units.

use std::collections::HashSet;

use foresee_manager::{Config, DeviceLimits, ReaderId};
use foresee_sim::host::{self, Reader, Report, Setup, Step};
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Disclosure, Think};

/// One unit of time.
pub const UNIT_NS: u64 = 100_000;

/// The blocks that are read in turn, pages, and the time of a fetch.
#[derive(Debug, Clone)]
pub struct Case {
    pub reads: Vec<u64>,
    pub pages: u64,
    pub fetch: u64,
}

/// A disk and a memory, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Reads that are over.
    pub read: usize,
    /// The blocks here.
    here: Vec<u64>,
    /// The block on its way, and how long it takes still.
    pub fetching: Option<(u64, u64)>,
}

impl State {
    pub fn first() -> Self {
        State { read: 0, here: Vec::new(), fetching: None }
    }

    /// A block that is on its way may come, and be read.
    pub fn goes_on(&mut self, case: &Case) {
        if let Some((block, 0)) = self.fetching {
            self.here.push(block);
            self.here.sort_unstable();
            self.fetching = None;
        }
        if self.read < case.reads.len() && self.here.contains(&case.reads[self.read]) {
            self.read += 1;
        }
    }

    fn passes(&mut self) {
        if let Some((_, left)) = &mut self.fetching {
            *left -= 1;
        }
    }

    /// A fetch begins, and a page goes for it unless one is free.
    fn begins(&self, block: u64, gone: Option<u64>, case: &Case) -> State {
        let here = self.here.iter().copied().filter(|&it| Some(it) != gone).collect();
        State { here, fetching: Some((block, case.fetch)), ..self.clone() }
    }

    /// What the disk may do now, and the moment passes: nothing, or fetch any of these in the place of any page.
    pub fn ways(&self, blocks: impl IntoIterator<Item = u64>, case: &Case) -> Vec<State> {
        let mut ways = vec![self.clone()];
        if self.fetching.is_none() {
            for block in blocks.into_iter().filter(|block| !self.here.contains(block)) {
                match self.has_room(case) {
                    true => ways.push(self.begins(block, None, case)),
                    false => ways.extend(self.here.iter().map(|&gone| self.begins(block, Some(gone), case))),
                }
            }
        }
        ways.iter_mut().for_each(State::passes);
        ways
    }

    fn has_room(&self, case: &Case) -> bool {
        (self.here.len() as u64) < case.pages
    }

    /// When a block is read next.
    fn next(&self, block: u64, case: &Case) -> usize {
        (self.read..case.reads.len()).find(|&at| case.reads[at] == block).unwrap_or(usize::MAX)
    }

    /// What the paper's aggressive begins to fetch.
    fn aggressive(&self, case: &Case) -> State {
        let missing = (self.read..case.reads.len()).find(|&at| !self.here.contains(&case.reads[at]));
        let Some(missing) = missing.filter(|_| self.fetching.is_none()) else { return self.clone() };
        if self.has_room(case) {
            return self.begins(case.reads[missing], None, case);
        }
        let last = self.here.iter().copied().max_by_key(|&block| self.next(block, case)).unwrap();
        match self.next(last, case) > missing {
            true => self.begins(case.reads[missing], Some(last), case),
            false => self.clone(),
        }
    }
}

impl Case {
    /// The least time that any schedule takes, in units.
    pub fn least(&self) -> u64 {
        let blocks: HashSet<u64> = self.reads.iter().copied().collect();
        let mut states = HashSet::from([State::first()]);
        for time in 0.. {
            let mut next = HashSet::new();
            for mut state in states {
                state.goes_on(self);
                if state.read == self.reads.len() {
                    return time + 1;
                }
                next.extend(state.ways(blocks.iter().copied(), self));
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
            state = state.aggressive(self);
            state.passes();
        }
        unreachable!()
    }

    /// What a policy of ours is run on that is told all.
    pub fn setup(&self, policy: &str) -> Setup {
        self.setup_told(policy, Disclosure::TOLD)
    }

    fn setup_told(&self, policy: &str, told: Disclosure) -> Setup {
        // No two are neighbours.
        let trace = Trace::of_blocks(self.reads.iter().map(|block| block * 10), 4096);
        let device = format!("servers=1,latency_us={}", self.fetch * UNIT_NS / 1000).parse().unwrap();
        let how = timed::Options { think: Think::None, disclose: Some(told), device, disks: 1, lookup_ns: 0 };
        let mut config = Config::new(self.pages, policy.parse().unwrap());
        config.device = DeviceLimits { outstanding_max: 1, cluster_blocks_max: 1, ..DeviceLimits::default() };
        let mut setup = timed::setup(&trace, &how, config);
        setup.readers.resize(1, Reader { id: ReaderId(0), steps: Vec::new() });
        let steps = std::mem::take(&mut setup.readers[0].steps);
        let think = |step| {
            std::iter::once(step).chain(matches!(step, Step::Read { .. }).then_some(Step::Think { ns: UNIT_NS }))
        };
        setup.readers[0].steps = steps.into_iter().flat_map(think).collect();
        setup
    }

    /// What a policy takes that is told what was recorded in place of what is read, in units.
    pub fn units_told(&self, policy: &str, told: Disclosure, recorded: &[u64]) -> u64 {
        let mut setup = Case { reads: recorded.to_vec(), ..*self }.setup_told(policy, told);
        setup.files.iter_mut().for_each(|file| file.blocks = 1000);
        let mut reads = self.reads.iter();
        for step in setup.readers.iter_mut().flat_map(|reader| &mut reader.steps) {
            if let Step::Read { first, .. } = step {
                *first = 10 * reads.next().unwrap();
            }
        }
        host::run(&setup).unwrap().elapsed_ns / UNIT_NS
    }

    /// What it does.
    pub fn run(&self, policy: &str) -> Report {
        host::run(&self.setup(policy)).unwrap()
    }

    pub fn units(&self, policy: &str) -> u64 {
        let ns = self.run(policy).elapsed_ns;
        assert_eq!(ns % UNIT_NS, 0, "{self:?}");
        ns / UNIT_NS
    }
}
