//! What the tests share: random events over a small world, and a driver that stands for the host.
//! The driver carries the actions out, and checks on the way what must hold of any policy, citing
//! the invariants' numbers.

use std::collections::{BTreeMap, BTreeSet};

use foresee_manager::policy::{Choice, Domain, Registry, Spec};
use foresee_manager::*;
use proptest::prelude::*;

/// Files of the small world; the last one's name leads nowhere.
pub const FILES: u32 = 4;
pub const MISSING: FileId = FileId(FILES - 1);
/// Blocks of each file, and of the longest it may become.
pub const BLOCKS: u64 = 12;
pub const BLOCKS_MAX: u64 = 16;

/// One thing that happens; what needs an answer later is picked by number from what is open.
#[derive(Clone)]
pub enum Op {
    Plain(Event),
    Read { reader: ReaderId, site: Site, file: FileId, first: u64, count: u64, served: bool },
    Answer { pick: usize, fails: bool },
    Resolve { pick: usize },
    Pin { file: FileId, index: u64 },
    Release { pick: usize },
    Abandon { pick: usize },
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Op::Plain(event) => write!(f, "{event}"),
            Op::Read { reader, site, file, first, count, served } => {
                write!(f, "read reader={reader} site={site} file={file} {first}+{count} served={served}")
            }
            Op::Answer { pick, fails } => write!(f, "answer {pick} fails={fails}"),
            Op::Resolve { pick } => write!(f, "resolve {pick}"),
            Op::Pin { file, index } => write!(f, "pin {file}:{index}"),
            Op::Release { pick } => write!(f, "release {pick}"),
            Op::Abandon { pick } => write!(f, "abandon {pick}"),
        }
    }
}

pub fn block(file: u32, index: u64) -> Block {
    Block { file: FileId(file), index }
}

pub fn every_block() -> impl Iterator<Item = Block> {
    (0..FILES).flat_map(|file| (0..BLOCKS_MAX + 4).map(move |index| block(file, index)))
}

pub fn want() -> impl Strategy<Value = Want> {
    prop_oneof![
        1 => Just(Want::Name),
        2 => Just(Want::All),
        6 => (0..BLOCKS_MAX, 1..5u64).prop_map(|(first, count)| Want::Range { first, count }),
    ]
}

/// Where in its program a reader is; 0: nobody knows.
pub fn site() -> impl Strategy<Value = Site> {
    (0..3u64).prop_map(Site)
}

pub fn op() -> impl Strategy<Value = Op> {
    let reader = || (1..3u32).prop_map(ReaderId);
    let file = || (0..FILES).prop_map(FileId);
    let source = || proptest::sample::select(Source::ALL);
    let plain = prop_oneof![
        10 => (reader(), source(), file(), want())
            .prop_map(|(reader, source, file, want)| Event::Hint { reader, source, file, want }),
        1 => (reader(), source()).prop_map(|(reader, source)| Event::Cancel { reader, source }),
        1 => reader().prop_map(|reader| Event::ReaderExited { reader }),
        1 => (reader(), file()).prop_map(|(reader, file)| Event::Named { reader, file }),
        1 => (file(), 0..BLOCKS_MAX).prop_map(|(file, blocks)| Event::FileChanged { file, blocks }),
        1 => (file(), 0..BLOCKS_MAX, 1..5u64).prop_map(|(file, first, count)| Event::Gone { file, first, count }),
        1 => (1..20u64).prop_map(|pages| Event::Capacity { pages }),
    ];
    prop_oneof![
        7 => plain.prop_map(Op::Plain),
        16 => (reader(), site(), file(), 0..BLOCKS_MAX, 1..5u64, any::<bool>())
            .prop_map(|(reader, site, file, first, count, served)| Op::Read { reader, site, file, first, count, served }),
        10 => (0..64usize, proptest::bool::weighted(0.15)).prop_map(|(pick, fails)| Op::Answer { pick, fails }),
        3 => (0..64usize).prop_map(|pick| Op::Resolve { pick }),
        1 => (file(), 0..BLOCKS).prop_map(|(file, index)| Op::Pin { file, index }),
        2 => (0..64usize).prop_map(|pick| Op::Release { pick }),
        2 => (0..64usize).prop_map(|pick| Op::Abandon { pick }),
    ]
}

/// Advice of every kind.
pub fn advice() -> impl Strategy<Value = Advice> {
    let file = || (0..FILES).prop_map(FileId);
    let priority = || -1..2i32;
    prop_oneof![
        1 => Just(Advice::Manage),
        1 => Just(Advice::GiveUp),
        3 => (file(), priority()).prop_map(|(file, priority)| Advice::SetPriority { file, priority }),
        1 => file().prop_map(|file| Advice::GetPriority { file }),
        5 => (priority(), proptest::sample::select(LevelOrder::ALL))
            .prop_map(|(priority, order)| Advice::SetPolicy { priority, order }),
        1 => priority().prop_map(|priority| Advice::GetPolicy { priority }),
        5 => (file(), 0..BLOCKS_MAX, 1..6u64, priority()).prop_map(|(file, first, count, priority)| {
            Advice::SetTemporaryPriority { file, first, count, priority }
        }),
    ]
}

/// What happens besides, which the reference model leaves out.
pub fn every_op() -> impl Strategy<Value = Op> {
    let reader = || (1..3u32).prop_map(ReaderId);
    let source = || proptest::sample::select(Source::ALL);
    let besides = prop_oneof![
        2 => (reader(), source(), 0..6u64, 0..4u64)
            .prop_map(|(reader, source, entries, passes)| Event::Repeat { reader, source, entries, passes }),
        2 => (reader(), source(), any::<bool>()).prop_map(|(reader, source, more)| {
            if more { Event::More { reader, source } } else { Event::NoMore { reader, source } }
        }),
        1 => (reader(), source(), 0..120u64)
            .prop_map(|(reader, source, percent)| Event::Confidence { reader, source, percent }),
        2 => ((0..FILES).prop_map(FileId), 0..BLOCKS_MAX, 1..5u64)
            .prop_map(|(file, first, count)| Event::ReadAhead { file, first, count }),
        1 => (0..FILES).prop_map(|file| Event::FileForgotten { file: FileId(file) }),
        1 => (0..3u64).prop_map(|blocks| Event::Caution { device: DeviceId(0), blocks }),
        1 => any::<bool>().prop_map(|suspended| Event::Suspend { suspended }),
        1 => (0..64u64).prop_map(|blocks| Event::ReadaheadWindow { device: DeviceId(0), blocks }),
        2 => (1..5u32, 1..9u64, any::<bool>()).prop_map(|(requests, blocks, shaped)| {
            Event::DeviceLimits { device: DeviceId(0), requests, blocks, shaped }
        }),
        4 => (reader(), advice()).prop_map(|(reader, advice)| advice.event(reader)),
    ];
    prop_oneof![8 => op(), 1 => besides.prop_map(Op::Plain)]
}

/// Reads of a file in its order, a block or two at a time, once or again and again, from one place
/// in a program. What is fetched for them arrives.
fn passes() -> impl Strategy<Value = Vec<Op>> {
    let reader = (1..3u32).prop_map(ReaderId);
    let file = proptest::sample::select(&[0, 0, 0, 1, 2][..]).prop_map(FileId);
    let passes = prop_oneof![3 => Just(1usize), 1 => 2..5usize];
    let part = (0..BLOCKS, 1..BLOCKS, 1..3u64, passes);
    (reader, site(), file, part, proptest::bool::weighted(0.2)).prop_map(|(reader, site, file, part, served)| {
        let (from, blocks, count, passes) = part;
        let end = (from + blocks).min(BLOCKS);
        let read = move |first| {
            let arrives = served.then_some(Op::Answer { pick: 0, fails: false });
            std::iter::once(Op::Read { reader, site, file, first, count, served }).chain(arrives)
        };
        let pass = (from..end).step_by(count as usize).flat_map(read);
        std::iter::repeat_n(pass, passes).flatten().collect()
    })
}

/// One of each in turn, and then what is left of the longer.
fn in_turns((one, other): (Vec<Op>, Vec<Op>)) -> Vec<Op> {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    let mut all = Vec::new();
    while one.len() + other.len() > 0 {
        all.extend(one.next());
        all.extend(other.next());
    }
    all
}

/// What programs do, up to so many times. Runs and loops, alone, beside each other, and with other
/// things between their reads; advice that comes before what it is about. A third is anything in
/// any order, and a third nothing but what programs do on purpose.
pub fn ops(max: usize) -> impl Strategy<Value = Vec<Op>> {
    let anything = |most| proptest::collection::vec(every_op(), 1..most);
    let reader = (1..3u32).prop_map(ReaderId);
    let advice = (reader, proptest::collection::vec(advice(), 1..5))
        .prop_map(|(reader, advice)| advice.into_iter().map(|advice| Op::Plain(advice.event(reader))).collect());
    let on_purpose = prop_oneof![
        2 => advice,
        5 => passes(),
        2 => (passes(), passes()).prop_map(in_turns),
    ];
    let on_purpose = on_purpose.boxed();
    let mixed = prop_oneof![anything(8), on_purpose.clone(), (on_purpose.clone(), anything(24)).prop_map(in_turns)];
    let pieces = prop_oneof![
        anything(max).prop_map(|ops| vec![ops]),
        proptest::collection::vec(mixed, 1..9),
        proptest::collection::vec(on_purpose, 2..12),
    ];
    pieces.prop_map(move |pieces| pieces.into_iter().flatten().take(max).collect())
}

/// As many cases as are asked for, or else so many. None are kept in a file: a failure prints what
/// it takes to see it again.
pub fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    let cases = if asked { default.cases } else { cases };
    ProptestConfig { cases, max_shrink_iters: 4000, failure_persistence: None, ..default }
}

/// Every policy with default parameters, and with each of them at its ends; of one policy only, if
/// FORESEE_POLICY names it.
pub fn choices() -> Vec<Choice> {
    fn holds_a_part(spec: &Spec) -> bool {
        spec.name.parse::<Choice>().is_ok_and(|choice| choice.build().holds_a_part())
    }
    fn name(spec: &&Spec) -> String {
        spec.name.to_owned()
    }
    fn of(registry: &Registry, spec: &Spec) -> Vec<String> {
        let ends = spec.parameters.iter().flat_map(|parameter| {
            let values: Vec<String> = match parameter.domain {
                Domain::Number { min, max, .. } | Domain::Whole { min, max, .. } => {
                    vec![min.to_string(), max.to_string()]
                }
                Domain::Policy { .. } => registry.specs().iter().filter(|it| holds_a_part(it)).map(name).collect(),
            };
            values.into_iter().map(|value| format!("{}:{}={value}", spec.name, parameter.name))
        });
        std::iter::once(spec.name.to_owned()).chain(ends).collect()
    }
    let only = std::env::var("FORESEE_POLICY").ok();
    let registry = Registry::default();
    let wanted = registry.specs().iter().filter(|spec| only.as_deref().is_none_or(|name| name == spec.name));
    let nested = ["readahead:keep=pcc,keep.onward=0", "readahead:keep=pcc,keep.other=2q,keep.other.recent=0.5"];
    let texts = wanted
        .flat_map(|spec| of(&registry, spec))
        .chain(nested.iter().filter(|_| only.is_none()).map(ToString::to_string));
    texts.map(|text| text.parse().expect("a registered policy")).collect()
}

/// A fetch on its way, as the host knows it.
#[derive(Debug, Clone)]
pub struct Flight {
    pub first: Block,
    pub count: u64,
    pub class: Class,
    pub device: DeviceId,
    /// Its file changed since it was asked for.
    pub stale: bool,
    /// What it goes over and does not bring.
    pub passed_over: BTreeSet<Block>,
}

impl Flight {
    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<'_> {
        let Flight { first, count, .. } = *self;
        let over = (first.index..first.index + count).map(move |index| Block { index, ..first });
        over.filter(|block| !self.passed_over.contains(block))
    }

    pub fn brings(&self) -> u64 {
        self.count - self.passed_over.len() as u64
    }
}

/// A view of a block that the host has not given back.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub view: ViewId,
    pub block: Block,
    /// Its file changed since: the page is not held by it any more.
    pub stale: bool,
}

/// The host: carries actions out and reports back.
pub struct Driver {
    pub manager: Manager,
    pub limits: DeviceLimits,
    /// Devices that have limits of their own.
    own_limits: BTreeMap<DeviceId, DeviceLimits>,
    /// Whether the host lets requests to a device go by what was measured.
    shaped: BTreeMap<DeviceId, bool>,
    /// Blocks that fetches went over and did not bring.
    pub passed_over: u64,
    pub capacity: u64,
    pub now: u64,
    pub flights: BTreeMap<FetchId, Flight>,
    pub lookups: BTreeSet<FileId>,
    pub waiting: BTreeSet<WaiterId>,
    pub views: Vec<View>,
    pub woken: Vec<(WaiterId, Outcome)>,
    /// All happens in the small world, so that every block can be looked at.
    pub small: bool,
    /// After each event it asks which block would go for several others.
    pub curious: bool,
    next_waiter: u64,
    next_view: u64,
}

impl Driver {
    pub fn new(config: &Config) -> Self {
        Driver {
            manager: Manager::new(config),
            limits: config.device,
            own_limits: BTreeMap::new(),
            shaped: BTreeMap::new(),
            passed_over: 0,
            capacity: config.capacity.max(1),
            now: 0,
            flights: BTreeMap::new(),
            lookups: BTreeSet::new(),
            waiting: BTreeSet::new(),
            views: Vec::new(),
            woken: Vec::new(),
            small: true,
            curious: false,
            next_waiter: 1,
            next_view: 1,
        }
    }

    /// A driver for the tests of one matter: one policy, a generous device, any file and block.
    pub fn simple(policy: &str, capacity: u64, trust: Trust) -> Self {
        let policy = policy.parse().expect("a policy");
        let config = Config { trust, ..Config::new(capacity, policy) };
        Driver { small: false, ..Driver::new(&config) }
    }

    /// Turns an op into the event it stands for now, if it stands for one.
    pub fn event(&mut self, op: &Op) -> Option<Event> {
        match *op {
            Op::Plain(event) => Some(event),
            Op::Read { reader, site, file, first, count, served } => {
                let own = match first % 2 {
                    0 => Demand::Observed,
                    _ => Demand::Timed { over: Time(first), waited: reader.0.is_multiple_of(2) },
                };
                let demand = if served { Demand::Served(self.waiter()) } else { own };
                Some(Event::Reference { reader, site, file, first, count, demand })
            }
            Op::Answer { pick, fails } => {
                let fetch = *self.flights.keys().nth(pick.checked_rem(self.flights.len())?)?;
                Some(if fails { Event::FetchFailed { fetch } } else { Event::FetchDone { fetch } })
            }
            Op::Resolve { pick } => {
                let file = *self.lookups.iter().nth(pick.checked_rem(self.lookups.len())?)?;
                Some(match file {
                    MISSING => Event::FileMissing { file },
                    _ => Event::FileKnown { file, device: DeviceId(0), blocks: BLOCKS, place: 0 },
                })
            }
            Op::Pin { file, index } => {
                let view = ViewId(self.next_view);
                self.next_view += 1;
                Some(Event::Pinned { view, file, index })
            }
            Op::Release { pick } => {
                let View { view, block: Block { file, index }, .. } =
                    *self.views.get(pick.checked_rem(self.views.len())?)?;
                Some(Event::Released { view, file, index })
            }
            Op::Abandon { pick } => {
                let waiter = *self.waiting.iter().nth(pick.checked_rem(self.waiting.len())?)?;
                Some(Event::Abandoned { waiter })
            }
        }
    }

    fn waiter(&mut self) -> WaiterId {
        let waiter = WaiterId(self.next_waiter);
        self.next_waiter += 1;
        waiter
    }

    /// Hands an event to the manager, checks what must hold of the actions, and carries them out.
    pub fn handle(&mut self, event: Event) -> Vec<Action> {
        self.now += 1;
        if !self.small {
            return self.handle_unwatched(event);
        }
        let before: BTreeSet<Block> = every_block().filter(|&block| self.manager.is_present(block)).collect();
        let held = self.frames_held(&before);
        let came = self.take_in(event, &before);
        let starved = self.manager.statistics().starved;
        let mut actions = Vec::new();
        self.manager.handle(Time(self.now), event, &mut actions);
        self.manager.check();
        let dropped = self.carry_out(&actions, Some(&before | &came));
        for block in every_block() {
            let is_here = self.manager.is_present(block);
            let may_be_here = (before.contains(&block) || came.contains(&block)) && !dropped.contains(&block);
            assert!(!is_here || may_be_here, "I6: {block:?} is present and nothing brought it");
            let went = dropped.contains(&block) || matches!(event, Event::Gone { file, .. } if file == block.file);
            assert!(is_here || !before.contains(&block) || went, "{block:?} went without a drop");
        }
        for View { view, block, .. } in self.views.iter().filter(|view| !view.stale) {
            assert_eq!(self.manager.state_of(*block), Some(State::Pinned), "I2: {block:?}, held by view {view}");
        }
        self.check_frames(held);
        if let Event::Reference { file, first, count: 1, demand: Demand::Served(waiter), .. } = event {
            let starved = self.manager.statistics().starved > starved;
            self.check_demand(Block { file, index: first }, waiter, starved, &before);
        }
        actions
    }

    /// As `handle`, without the checks that look at every block.
    fn handle_unwatched(&mut self, event: Event) -> Vec<Action> {
        self.take_in(event, &BTreeSet::new());
        let mut actions = Vec::new();
        self.manager.handle(Time(self.now), event, &mut actions);
        self.carry_out(&actions, None);
        actions
    }

    /// Pages that cannot go: on their way, or pinned.
    fn frames_held(&self, present: &BTreeSet<Block>) -> u64 {
        let on_their_way: u64 = self.flights.values().map(Flight::brings).sum();
        let pinned = present.iter().filter(|&&block| self.manager.state_of(block) == Some(State::Pinned));
        on_their_way + pinned.count() as u64
    }

    /// What the event itself changes for the host. Returns the blocks it may make present.
    fn take_in(&mut self, event: Event, before: &BTreeSet<Block>) -> BTreeSet<Block> {
        let mut came = BTreeSet::new();
        match event {
            Event::Reference { file, first, count, demand, .. } => match demand {
                Demand::Observed | Demand::Timed { .. } => {
                    let flying: BTreeSet<Block> = self.flights.values().flat_map(Flight::blocks).collect();
                    let blocks = (first..first + count).map(|index| Block { file, index });
                    came.extend(blocks.filter(|block| !flying.contains(block)));
                }
                Demand::Served(waiter) => assert!(self.waiting.insert(waiter)),
            },
            Event::FetchDone { fetch } => {
                if let Some(flight) = self.flights.remove(&fetch).filter(|flight| !flight.stale) {
                    came.extend(flight.blocks());
                }
            }
            Event::FetchFailed { fetch } => drop(self.flights.remove(&fetch)),
            Event::Abandoned { waiter } => _ = self.waiting.remove(&waiter),
            Event::FileKnown { file, .. } | Event::FileMissing { file } => drop(self.lookups.remove(&file)),
            Event::FileChanged { file, .. } => {
                for flight in self.flights.values_mut().filter(|flight| flight.first.file == file) {
                    flight.stale = true;
                }
                for view in self.views.iter_mut().filter(|view| view.block.file == file) {
                    view.stale = true;
                }
            }
            Event::FileForgotten { file } if self.manager.is_forgettable(file) => {
                assert!(before.iter().all(|block| block.file != file), "I6: {file:?} is forgotten, and here");
                let flies = self.flights.values().any(|flight| flight.first.file == file);
                assert!(!flies && !self.lookups.contains(&file), "I6: {file:?} is forgotten, and on its way");
            }
            Event::Pinned { view, file, index } if before.contains(&Block { file, index }) => {
                self.views.push(View { view, block: Block { file, index }, stale: false });
            }
            Event::Released { view, file, index } => {
                self.views.retain(|it| (it.view, it.block) != (view, Block { file, index }));
            }
            Event::Capacity { pages } => self.capacity = pages.max(1),
            Event::DeviceLimits { device, requests, blocks, shaped } => {
                self.shaped.insert(device, shaped);
                let own = DeviceLimits { outstanding_max: requests, cluster_blocks_max: blocks, ..self.limits };
                self.own_limits.insert(device, own);
            }
            _ => {}
        }
        came
    }

    /// Carries the actions out; only what was here or came with the event may be dropped. Returns
    /// the blocks dropped.
    fn carry_out(&mut self, actions: &[Action], may_drop: Option<BTreeSet<Block>>) -> BTreeSet<Block> {
        let (mut dropped, mut passed_over) = (BTreeSet::new(), BTreeSet::new());
        for &action in actions {
            match action {
                Action::Order(Order::Lookup { file }) => {
                    assert!(self.lookups.insert(file), "{file} is looked up twice")
                }
                Action::Order(Order::Fetch { fetch, device, file, first, count, class }) => {
                    let first = Block { file, index: first };
                    let over = (first.index..first.index + count).map(|index| Block { index, ..first });
                    let inside = over.collect::<BTreeSet<Block>>();
                    assert!(passed_over.is_subset(&inside), "{passed_over:?} is not within the fetch");
                    let passed_over = std::mem::take(&mut passed_over);
                    let flight = Flight { first, count, class, device, stale: false, passed_over };
                    for block in flight.blocks().filter(|_| self.small) {
                        let twice = self.flights.values().flat_map(Flight::blocks).any(|other| other == block);
                        assert!(!twice, "I3: {block:?} is fetched twice at once");
                    }
                    if class != Class::Demand {
                        let limits = self.own_limits.get(&device).unwrap_or(&self.limits);
                        let outstanding = self.flights.values().filter(|it| it.device == device).count() as u64;
                        assert!(outstanding < u64::from(limits.outstanding_max), "too much at device {device}");
                        assert!(count <= limits.cluster_blocks_max.max(1), "a fetch ahead of {count} blocks");
                    }
                    assert!(self.flights.insert(fetch, flight).is_none(), "{fetch} is used twice");
                }
                Action::Order(Order::PassOver { file, first, count }) => {
                    assert!(!self.shaped.values().any(|&shaped| shaped), "the host has memory for each block");
                    self.passed_over += count;
                    passed_over.extend((first..first + count).map(|index| Block { file, index }));
                }
                Action::Order(Order::Drop { file, first, count }) => {
                    for index in first..first + count {
                        let block = Block { file, index };
                        let was_here = may_drop.as_ref().is_none_or(|blocks| blocks.contains(&block));
                        assert!(was_here, "{block:?} dropped, not present");
                        dropped.insert(block);
                    }
                }
                Action::Reply(Reply::Pull { .. })
                | Action::Reply(Reply::Refused { .. })
                | Action::Reply(Reply::Revoked { .. })
                | Action::Reply(Reply::Priority { .. })
                | Action::Reply(Reply::LevelPolicy { .. }) => {}
                Action::Reply(Reply::Wake { waiter, outcome }) => {
                    assert!(self.waiting.remove(&waiter), "{waiter} is woken, and does not wait");
                    self.woken.push((waiter, outcome));
                }
            }
        }
        dropped
    }

    fn check_frames(&self, held_before: u64) {
        let present: BTreeSet<Block> = every_block().filter(|&block| self.manager.is_present(block)).collect();
        let on_their_way: u64 = self.flights.values().map(Flight::brings).sum();
        let used = present.len() as u64 + on_their_way;
        assert!(used <= self.capacity.max(held_before), "I2: {used} pages of {}", self.capacity);
    }

    /// A single block demanded: here, on its way by now, or there is no frame it could take.
    fn check_demand(&self, block: Block, waiter: WaiterId, starved: bool, before: &BTreeSet<Block>) {
        if starved {
            let demanded = self
                .flights
                .values()
                .any(|flight| flight.blocks().any(|block| self.manager.state_of(block) == Some(State::Demand)));
            let squeezed = self.views.iter().any(|view| !view.stale)
                || self.flights.values().map(Flight::brings).sum::<u64>() > self.capacity;
            assert!(demanded || squeezed || self.shrunk(), "I4: {block:?} waits for a frame that fetches ahead hold");
        } else if self.waiting.contains(&waiter) {
            let flying = self.flights.values().flat_map(Flight::blocks).any(|other| other == block);
            assert!(flying, "I4: the fetch of {block:?} was held back");
        } else {
            assert!(before.contains(&block), "{waiter} was woken without its block");
        }
    }

    /// Fetches ahead may hold the last frame only if there were more frames when they were sent.
    fn shrunk(&self) -> bool {
        self.flights.values().map(Flight::brings).sum::<u64>() >= self.capacity
    }

    pub fn run(&mut self, ops: &[Op]) -> Vec<Action> {
        let mut all = Vec::new();
        for op in ops {
            if let Some(event) = self.event(op) {
                all.extend(self.handle(event));
            }
            for block in every_block().step_by(9).filter(|_| self.curious) {
                let candidate = self.manager.candidate(block);
                assert!(candidate.is_none_or(|block| self.manager.is_present(block)), "I2: {candidate:?} cannot go");
            }
        }
        all
    }

    /// Answers everything open until nothing is, and lets every reader exit.
    pub fn drain(&mut self) -> Vec<Action> {
        let mut all = Vec::new();
        while !self.views.is_empty() {
            all.extend(self.run(&[Op::Release { pick: 0 }]));
        }
        for _ in 0..10_000 {
            if self.flights.is_empty() && self.lookups.is_empty() {
                break;
            }
            all.extend(self.run(&[Op::Resolve { pick: 0 }, Op::Answer { pick: 0, fails: false }]));
        }
        assert!(self.flights.is_empty() && self.lookups.is_empty(), "it never comes to rest");
        assert_eq!(self.waiting, BTreeSet::new(), "I5: these were never woken");
        all
    }

    /// Lets every reader exit, and checks that all that was fetched ahead came to its end.
    pub fn end(&mut self) {
        self.drain();
        for reader in 0..8 {
            self.handle(Event::ReaderExited { reader: ReaderId(reader) });
        }
        // What the file system's own readahead brought is no reader's.
        for file in 0..FILES {
            self.handle(Event::FileChanged { file: FileId(file), blocks: 0 });
        }
        self.drain();
        for (source, outcomes) in Source::ALL.iter().zip(self.manager.statistics().ahead) {
            assert_eq!(outcomes.fetched, outcomes.settled(), "I9: outcomes of {source}: {outcomes:?}");
        }
        assert_eq!(self.manager.ledger().unread, 0, "I9: unread pages that nobody disclosed");
    }

    // ---- short forms

    pub fn known(&mut self, file: u32, blocks: u64) -> Vec<Action> {
        self.handle(Event::FileKnown { file: FileId(file), device: DeviceId(0), blocks, place: 0 })
    }

    pub fn hint(&mut self, reader: u32, file: u32, want: Want) -> Vec<Action> {
        self.hint_from(reader, Source::Library, file, want)
    }

    pub fn hint_from(&mut self, reader: u32, source: Source, file: u32, want: Want) -> Vec<Action> {
        self.handle(Event::Hint { reader: ReaderId(reader), source, file: FileId(file), want })
    }

    pub fn read(&mut self, reader: u32, file: u32, first: u64, count: u64) -> Vec<Action> {
        let (reader, file) = (ReaderId(reader), FileId(file));
        self.handle(Event::Reference { reader, site: Site(0), file, first, count, demand: Demand::Observed })
    }

    pub fn serve(&mut self, reader: u32, file: u32, first: u64, count: u64) -> Vec<Action> {
        let (reader, file, demand) = (ReaderId(reader), FileId(file), Demand::Served(self.waiter()));
        self.handle(Event::Reference { reader, site: Site(0), file, first, count, demand })
    }

    /// All fetches arrive, in order, with those they lead to.
    pub fn arrive(&mut self) -> Vec<Action> {
        let mut all = Vec::new();
        while let Some((&fetch, _)) = self.flights.first_key_value() {
            all.extend(self.handle(Event::FetchDone { fetch }));
        }
        all
    }

    pub fn consumed(&self, source: Source) -> u64 {
        self.manager.accuracy(source).0
    }

    pub fn skipped(&self, source: Source) -> u64 {
        self.manager.accuracy(source).1
    }
}

/// The blocks fetched in these actions, in order.
pub fn fetched(actions: &[Action]) -> Vec<Block> {
    let blocks = |action: &Action| match *action {
        Action::Order(Order::Fetch { file, first, count, .. }) => {
            (first..first + count).map(|index| Block { file, index }).collect()
        }
        _ => Vec::new(),
    };
    actions.iter().flat_map(blocks).collect()
}

/// The fetches as (class, file, first, count).
pub fn fetches(actions: &[Action]) -> Vec<(Class, u32, u64, u64)> {
    let of = |action: &Action| match *action {
        Action::Order(Order::Fetch { file, first, count, class, .. }) => Some((class, file.0, first, count)),
        _ => None,
    };
    actions.iter().filter_map(of).collect()
}

/// Reads one block after the other, and counts misses; none is fetched ahead.
pub struct Cache(pub Manager);

impl Cache {
    pub fn new(policy: &str, pages: u64) -> Self {
        Cache(Manager::new(&Config::new(pages, policy.parse().expect("a policy"))))
    }

    pub fn read(&mut self, index: u64) {
        self.read_of(FileId(0), index);
    }

    pub fn read_of(&mut self, file: FileId, index: u64) {
        let (reader, site, demand) = (ReaderId(1), Site(0), Demand::Observed);
        let read = Event::Reference { reader, site, file, first: index, count: 1, demand };
        self.0.handle(Time(0), read, &mut Vec::new());
    }

    pub fn holds(&self, index: u64) -> bool {
        self.0.is_present(block(0, index))
    }

    pub fn misses(&self) -> u64 {
        self.0.statistics().misses
    }
}

/// Misses of these references, block by block.
pub fn misses(policy: &str, pages: u64, blocks: &[u64]) -> u64 {
    let mut cache = Cache::new(policy, pages);
    blocks.iter().for_each(|&index| cache.read(index));
    cache.0.check();
    cache.misses()
}

/// Passes over so many blocks, forward or there and back again.
pub fn passes_over(blocks: u64, returns: bool, references: usize) -> Vec<u64> {
    let there = 0..blocks;
    let back = (0..blocks).rev().filter(|_| returns);
    there.chain(back).cycle().take(references).collect()
}
