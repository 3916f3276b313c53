//! A reference model of `lru` and `tip1`: lists searched from end to end, compared with the manager
//! step by step. It has one device and believes all hints (`Trust::Full`); windows.rs tests windows.

mod hints;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::support::{BLOCKS, Driver, Op, block, config, every_block, fetched, fetches, op};
use foresee_manager::*;
use proptest::prelude::*;

#[derive(Clone, Copy, PartialEq, Debug, Default)]
enum Phase {
    #[default]
    Queued,
    InFlight,
    Present,
}

/// A block that has a page.
#[derive(Clone, Debug, Default)]
struct Cell {
    phase: Phase,
    /// Disclosed by this source and not read.
    unread: Option<(ReaderId, Source)>,
    /// The class it counts under while unread, or in flight though that was withdrawn.
    class: Option<Class>,
    ahead: bool,
    passed: bool,
    stale: bool,
    views: BTreeSet<ViewId>,
    waiters: Vec<WaiterId>,
}

#[derive(Clone, Debug)]
struct Hint {
    order: u64,
    file: FileId,
    want: Want,
    looked_at: u64,
    read: u64,
    done: bool,
    /// Its name is being looked up.
    asked: bool,
    /// The walk, which looks names up and stops at each that is not known, came by.
    walked: bool,
    /// There was nothing left to do for it when the walk came by.
    behind: bool,
}

/// Where those are who read what a run's record discloses: of its names, or of its blocks.
#[derive(Default, Clone, Debug)]
struct Lane {
    far: Option<u64>,
    several: bool,
    far_run: u64,
    came_true: Vec<u64>,
}

/// First block and number of blocks.
type Span = Option<(u64, u64)>;

/// Places that came true of late, the least of which is where the hindmost is.
const TOGETHER: usize = 64;

#[derive(Default, Clone, Debug)]
struct Sequence {
    hints: Vec<Hint>,
    lanes: [Lane; 2],
    /// What was passed over of late: its place, and which blocks of which file.
    behind: Vec<(u64, FileId, u64, u64)>,
    gone: u64,
    consumed: u64,
    skipped: u64,
}

#[derive(Default, Debug, PartialEq)]
struct Counts {
    hits: u64,
    late_hits: u64,
    misses: u64,
    evictions: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Name {
    Asked,
    Missing,
    Here(u64),
}

struct Model {
    capacity: u64,
    /// tip1: the share of unread pages, and whether found blocks count.
    ahead: Option<(f64, bool)>,
    limits: DeviceLimits,
    cells: BTreeMap<Block, Cell>,
    /// Present blocks, the least recent first.
    recency: Vec<Block>,
    /// Waiting fetches ahead: (rank, batch, block). What was told goes first, runs last.
    queue: Vec<(u8, u64, Block)>,
    queued_ever: u64,
    /// Behind what was sent last.
    head: (u64, Block),
    starved: Vec<(Block, WaiterId)>,
    requests: BTreeMap<WaiterId, (u64, Outcome)>,
    names: BTreeMap<FileId, Name>,
    sequences: Vec<((ReaderId, Source), Sequence)>,
    ended: BTreeMap<Source, (u64, u64)>,
    hints_ever: u64,
    counts: Counts,
    outcomes: [Outcomes; Source::ALL.len()],
    /// What one event leads to.
    dropped: Vec<Block>,
    demanded: Vec<Block>,
    woken: Vec<(WaiterId, Outcome)>,
    asked: Vec<FileId>,
}

impl Model {
    fn new(config: &Config, ahead: Option<(f64, bool)>) -> Self {
        Model {
            capacity: config.capacity,
            ahead,
            limits: config.device,
            cells: BTreeMap::new(),
            recency: Vec::new(),
            queue: Vec::new(),
            queued_ever: 0,
            head: (0, block(0, 0)),
            starved: Vec::new(),
            requests: BTreeMap::new(),
            names: BTreeMap::new(),
            sequences: Vec::new(),
            ended: BTreeMap::new(),
            hints_ever: 0,
            counts: Counts::default(),
            outcomes: [Outcomes::default(); Source::ALL.len()],
            dropped: Vec::new(),
            demanded: Vec::new(),
            woken: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// One event. `flights` are those the event's fetch number speaks of.
    fn handle(&mut self, event: Event, flight: Option<(Class, Vec<Block>)>) {
        match event {
            Event::FileKnown { file, blocks, .. } => self.named_file(file, Name::Here(blocks)),
            Event::FileMissing { file } => self.named_file(file, Name::Missing),
            Event::FileChanged { file, blocks } => self.changed(file, blocks),
            Event::Gone { file, first, count } => self.gone(file, first, count),
            Event::Hint { reader, source, file, want } => self.hint(reader, source, file, want),
            Event::Cancel { reader, source } => self.cancel(|key| key == (reader, source)),
            Event::ReaderExited { reader } => {
                self.cancel(|key| key.0 == reader);
                for (key, it) in self.sequences.extract_if(.., |(key, _)| key.0 == reader) {
                    let ended = self.ended.entry(key.1).or_default();
                    *ended = (ended.0 + it.consumed, ended.1 + it.skipped);
                }
            }
            Event::Named { reader, file } => {
                let is_it = |hint: &mut Hint, _: Span| (hint.want == Want::Name && hint.file == file).then_some(1);
                (0..self.sequences.len()).for_each(|at| _ = self.consume(reader, at, is_it));
            }
            Event::Reference { reader, file, first, count, demand, .. } => {
                self.read_hints(reader, file, first, count);
                if let Demand::Served(waiter) = demand {
                    self.requests.insert(waiter, (count, Outcome::Ready));
                }
                for index in first..first + count {
                    self.read(Block { file, index }, demand);
                }
                if !matches!(demand, Demand::Served(_)) {
                    self.dropped.retain(|block| !self.cells.contains_key(block));
                }
            }
            Event::Abandoned { waiter } => {
                self.requests.remove(&waiter);
                self.starved.retain(|it| it.1 != waiter);
                self.cells.values_mut().for_each(|cell| cell.waiters.retain(|it| *it != waiter));
            }
            Event::FetchDone { .. } => self.ended(flight, true),
            Event::FetchFailed { .. } => self.ended(flight, false),
            Event::Pinned { view, file, index } => {
                let block = Block { file, index };
                if self.cells.get(&block).is_some_and(|cell| cell.phase == Phase::Present) {
                    self.settle(block, |it| it.timely += 1, true);
                    self.cell(block).views.insert(view);
                }
            }
            Event::Released { view, file, index } => {
                if self.cells.get_mut(&Block { file, index }).is_some_and(|cell| cell.views.remove(&view)) {
                    self.shrink();
                }
            }
            Event::Capacity { pages } => {
                self.capacity = pages;
                self.shrink();
            }
            _ => unreachable!("left out here"),
        }
        self.feed_starved();
        self.read_ahead();
    }

    fn cell(&mut self, block: Block) -> &mut Cell {
        self.cells.get_mut(&block).expect("a block with a page")
    }

    fn touch(&mut self, block: Block) {
        self.recency.retain(|&other| other != block);
        self.recency.push(block);
    }

    /// A block's disclosure comes to its end: read or not.
    fn settle(&mut self, block: Block, outcome: impl FnOnce(&mut Outcomes), read: bool) {
        let cell = self.cell(block);
        let (key, ahead, passed) = (cell.unread.take(), std::mem::take(&mut cell.ahead), cell.passed);
        (cell.class, cell.passed) = (None, false);
        let Some(key) = key else { return };
        if ahead {
            outcome(&mut self.outcomes[key.1 as usize]);
        }
        if read && passed {
            let (_, it) = self.sequences.iter_mut().find(|(other, _)| *other == key).expect("its sequence");
            it.consumed += 1;
            it.skipped = it.skipped.saturating_sub(1);
        }
    }

    fn read(&mut self, block: Block, demand: Demand) {
        let phase = self.cells.get(&block).map(|cell| cell.phase);
        match phase {
            Some(Phase::Present) => {
                self.counts.hits += 1;
                self.settle(block, |it| it.timely += 1, true);
                self.touch(block);
                self.settled(demand, Outcome::Ready);
            }
            Some(Phase::InFlight) => {
                self.counts.late_hits += 1;
                self.settle(block, |it| it.late += 1, true);
                self.wait(block, demand);
            }
            Some(Phase::Queued) => {
                self.counts.misses += 1;
                self.queue.retain(|it| it.2 != block);
                self.settle(block, |it| it.cancelled += 1, true);
                self.bring(block, demand);
            }
            None => {
                self.counts.misses += 1;
                if self.make_room(matches!(demand, Demand::Served(_))) {
                    self.insert(block);
                    self.bring(block, demand);
                } else if let Demand::Served(waiter) = demand {
                    self.starved.push((block, waiter));
                }
            }
        }
    }

    fn insert(&mut self, block: Block) {
        self.cells.insert(block, Cell::default());
    }

    /// The read itself brings the block, or it is fetched for who waits.
    fn bring(&mut self, block: Block, demand: Demand) {
        if !matches!(demand, Demand::Served(_)) {
            self.cell(block).phase = Phase::Present;
            self.touch(block);
        } else {
            self.cell(block).phase = Phase::InFlight;
            self.demanded.push(block);
            self.wait(block, demand);
        }
    }

    fn wait(&mut self, block: Block, demand: Demand) {
        if let Demand::Served(waiter) = demand {
            self.cell(block).waiters.push(waiter);
        }
    }

    fn settled(&mut self, demand: Demand, outcome: Outcome) {
        let Demand::Served(waiter) = demand else { return };
        let request = self.requests.get_mut(&waiter).expect("a waiter waits");
        request.0 -= 1;
        if outcome == Outcome::Failed {
            request.1 = outcome;
        }
        if request.0 == 0 {
            self.woken.push((waiter, request.1));
            self.requests.remove(&waiter);
        }
    }

    fn make_room(&mut self, demand: bool) -> bool {
        if (self.cells.len() as u64) < self.capacity {
            return true;
        }
        let victim = self.recency.iter().copied().find(|block| self.cells[block].views.is_empty());
        if let Some(block) = victim {
            self.evict(block);
        } else if demand && let Some(block) = self.last_queued() {
            self.withdraw(block);
        }
        (self.cells.len() as u64) < self.capacity
    }

    fn last_queued(&self) -> Option<Block> {
        self.queue.iter().max().map(|it| it.2)
    }

    fn evict(&mut self, block: Block) {
        self.counts.evictions += 1;
        self.drop(block);
    }

    fn drop(&mut self, block: Block) {
        self.settle(block, |it| it.wasted += 1, false);
        self.recency.retain(|&other| other != block);
        self.cells.remove(&block);
        self.dropped.push(block);
    }

    fn withdraw(&mut self, block: Block) {
        self.settle(block, |it| it.cancelled += 1, false);
        self.queue.retain(|it| it.2 != block);
        self.cells.remove(&block);
    }

    fn shrink(&mut self) {
        while self.cells.len() as u64 > self.capacity {
            let victim = self.recency.iter().copied().find(|block| self.cells[block].views.is_empty());
            match (self.last_queued(), victim) {
                (Some(block), _) => self.withdraw(block),
                (None, Some(block)) => self.evict(block),
                (None, None) => return,
            }
        }
    }

    fn ended(&mut self, flight: Option<(Class, Vec<Block>)>, came: bool) {
        let Some((class, blocks)) = flight else { return };
        for &block in &blocks {
            let cell = self.cell(block);
            let stale = std::mem::take(&mut cell.stale);
            if came && !stale {
                cell.phase = Phase::Present;
                if cell.unread.is_none() {
                    cell.class = None;
                }
                let waiters = std::mem::take(&mut cell.waiters);
                self.touch(block);
                waiters.iter().for_each(|&waiter| self.settled(Demand::Served(waiter), Outcome::Ready));
            } else if !stale && class == Class::Demand && blocks.len() == 1 {
                let waiters = self.cells.remove(&block).expect("in flight").waiters;
                waiters.iter().for_each(|&waiter| self.settled(Demand::Served(waiter), Outcome::Failed));
            } else if cell.waiters.is_empty() {
                self.settle(block, |it| it.cancelled += 1, false);
                self.cells.remove(&block);
            } else {
                self.demanded.push(block);
            }
        }
        self.shrink();
    }

    fn feed_starved(&mut self) {
        while let Some(&(block, waiter)) = self.starved.first() {
            match self.cells.get(&block).map(|cell| cell.phase) {
                Some(Phase::Present) => self.settled(Demand::Served(waiter), Outcome::Ready),
                Some(_) => self.wait(block, Demand::Served(waiter)),
                None if self.make_room(true) => {
                    self.insert(block);
                    self.bring(block, Demand::Served(waiter));
                }
                None => return,
            }
            self.starved.remove(0);
        }
    }

    /// As a drop, but nobody is asked to drop anything.
    fn gone(&mut self, file: FileId, first: u64, count: u64) {
        let asked_before = self.dropped.clone();
        for block in (first..first + count).map(|index| Block { file, index }) {
            if self.cells.get(&block).is_some_and(|cell| cell.phase == Phase::Present && cell.views.is_empty()) {
                self.drop(block);
            }
        }
        self.dropped = asked_before;
    }

    fn changed(&mut self, file: FileId, blocks: u64) {
        if let Some(name @ Name::Here(_)) = self.names.get_mut(&file) {
            *name = Name::Here(blocks);
        }
        let of_file: Vec<Block> = self.cells.keys().copied().filter(|block| block.file == file).collect();
        for block in of_file {
            match self.cells[&block].phase {
                Phase::Queued => self.withdraw(block),
                Phase::InFlight => self.cell(block).stale = true,
                Phase::Present => self.drop(block),
            }
        }
    }

    // ---- fetches ahead

    fn read_ahead(&mut self) {
        let Some((share, counts_present)) = self.ahead else { return };
        // A full queue holds blocks up, not names.
        let mut full = false;
        loop {
            let unread = self.cells.values().filter(|cell| cell.class.is_some()).count() as u64;
            if unread >= (self.capacity as f64 * share).round() as u64 {
                return;
            }
            let Some((at, hint)) = self.next_hint(full) else { return };
            let key = self.sequences[at].0;
            let hint_now = self.sequences[at].1.hints[hint].clone();
            let Some(&Name::Here(_)) = self.names.get(&hint_now.file) else {
                if let Entry::Vacant(name) = self.names.entry(hint_now.file) {
                    name.insert(Name::Asked);
                    self.asked.push(hint_now.file);
                }
                let hint = &mut self.sequences[at].1.hints[hint];
                (hint.asked, hint.walked, hint.behind) = (true, true, hint.want == Want::Name);
                continue;
            };
            let first = Self::span(&hint_now, &self.names).expect("a known file").0;
            let next = hint_now.looked_at.max(hint_now.read);
            let block = Block { file: hint_now.file, index: first + next };
            if let Some(cell) = self.cells.get(&block) {
                let free = cell.phase == Phase::Present && cell.views.is_empty() && cell.class.is_none();
                if free && counts_present {
                    self.touch(block);
                    let cell = self.cell(block);
                    (cell.unread, cell.class) = (Some(key), Some(key.1.class()));
                }
            } else {
                let busy = |cell: &&Cell| cell.phase != Phase::Present || !cell.views.is_empty();
                let busy = self.cells.values().filter(busy).count() as u64;
                if self.queue.len() as u64 >= self.limits.queued_blocks_max {
                    full = true;
                    continue;
                }
                if busy + 1 >= self.capacity || !self.make_room(false) {
                    return;
                }
                self.insert(block);
                let cell = self.cell(block);
                (cell.unread, cell.class, cell.ahead) = (Some(key), Some(key.1.class()), true);
                self.outcomes[key.1 as usize].fetched += 1;
                let batch = self.queued_ever / self.limits.sort_blocks;
                let rank = match key.1 {
                    Source::Readahead => 2,
                    source => u8::from(source.class() == Class::Guessed),
                };
                self.queue.push((rank, batch, block));
                self.queued_ever += 1;
            }
            self.sequences[at].1.hints[hint].looked_at = next + 1;
        }
    }

    /// The oldest hint for which something can be done: (sequence, place in it).
    fn next_hint(&mut self, full: bool) -> Option<(usize, usize)> {
        let names = &self.names;
        let mut found = Vec::new();
        for (at, (_, sequence)) in self.sequences.iter_mut().enumerate() {
            let mut has_blocks = false;
            for (place, hint) in sequence.hints.iter_mut().enumerate() {
                if hint.done || hint.behind || hint.asked || has_blocks && hint.walked {
                    continue;
                }
                let todo = match (names.get(&hint.file), Self::span(hint, names)) {
                    (None, _) => true,
                    (Some(Name::Asked), _) => hint.want != Want::Name,
                    (_, Some((_, len))) => hint.looked_at.max(hint.read) < len,
                    (_, None) => unreachable!("a resolved name has a span"),
                };
                if todo && !matches!(names.get(&hint.file), Some(Name::Here(_))) {
                    found.push((hint.order, at, place));
                    break;
                }
                hint.walked = true;
                if todo {
                    if !has_blocks && !full {
                        found.push((hint.order, at, place));
                    }
                    has_blocks = true;
                    continue;
                }
                hint.behind = true;
                // What can never be read does not hold the cursor up.
                hint.done = hint.want != Want::Name && Self::span(hint, names).is_some_and(|(_, len)| len == 0);
            }
        }
        let best = found.into_iter().min().map(|(order, at, _)| (order, at));
        self.sequences.iter_mut().for_each(|(_, sequence)| sequence.trim());
        let (order, at) = best?;
        let place = self.sequences[at].1.hints.iter().position(|hint| hint.order == order).expect("it is open");
        Some((at, place))
    }

    /// Takes over the fetches ahead that the manager sent: they may go, and none is held back.
    fn sent(&mut self, sent: &[(Class, Vec<Block>)], outstanding: u64) {
        for (class, blocks) in sent {
            let least = self.queue.iter().min().expect("it waits");
            let rank = least.0;
            assert_eq!(*class == Class::Guessed, rank > 0, "a guess goes before what was told");
            let ahead = |it: &&(u8, u64, Block)| it.0 == rank && it.1 == least.1 && (it.1, it.2) >= self.head;
            assert_eq!(blocks[0], self.queue.iter().filter(ahead).min().unwrap_or(least).2, "what goes first");
            for block in blocks {
                let at = self.queue.iter().position(|it| it.2 == *block && it.0 == rank).expect("it waits");
                let (_, batch, last) = self.queue.remove(at);
                self.head = (batch, Block { index: last.index + 1, ..last });
                self.cell(*block).phase = Phase::InFlight;
            }
        }
        let full = outstanding >= u64::from(self.limits.outstanding_max);
        assert!(self.queue.is_empty() || full, "a fetch ahead is held back");
    }

    fn state_of(&self, block: Block) -> Option<State> {
        let cell = self.cells.get(&block)?;
        Some(match (cell.class, cell.phase) {
            _ if !cell.views.is_empty() => State::Pinned,
            (Some(Class::Guessed), _) => State::Guessed,
            (Some(_), _) => State::Hinted,
            (None, Phase::Present) => State::Cached,
            (None, _) => State::Demand,
        })
    }
}

impl Sequence {
    fn trim(&mut self) {
        let done = self.hints.iter().take_while(|hint| hint.done).count();
        self.hints.drain(..done);
        self.gone += done as u64;
    }
}

/// Runs the ops through both, and compares after each.
fn compare(policy: &str, ahead: Option<(f64, bool)>, capacity: u64, device: DeviceLimits, ops: &[Op]) {
    let policy = policy.parse().expect("a policy");
    let config = Config { device, ..Config::new(capacity, policy) };
    let (mut driver, mut model) = (Driver::new(&config), Model::new(&config, ahead));
    let first = Op::Plain(Event::FileKnown { file: FileId(0), device: DeviceId(0), blocks: BLOCKS, place: 0 });
    for op in std::iter::once(&first).chain(ops) {
        let Some(event) = driver.event(op) else { continue };
        let flight = match event {
            Event::FetchDone { fetch } | Event::FetchFailed { fetch } => driver.flights.get(&fetch),
            _ => None,
        };
        let flight = flight.map(|it| (it.class, it.blocks().collect()));
        let actions = driver.handle(event);
        model.handle(event, flight);
        let ahead = |action: &&Action| {
            matches!(action, Action::Order(Order::Fetch { class: Class::Hinted | Class::Guessed, .. }))
        };
        let sent: Vec<_> =
            actions.iter().filter(ahead).map(|&action| (fetches(&[action])[0].0, fetched(&[action]))).collect();
        model.sent(&sent, driver.flights.len() as u64);
        let demand: Vec<Action> = actions
            .iter()
            .copied()
            .filter(|it| matches!(it, Action::Order(Order::Fetch { class: Class::Demand, .. })))
            .collect();
        assert_eq!(fetched(&demand), std::mem::take(&mut model.demanded), "demand after {event}");
        let mut dropped = BTreeSet::new();
        let (mut woken, mut asked) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Order(Order::Drop { file, first, count }) => {
                    dropped.extend((first..first + count).map(|index| Block { file, index }));
                }
                Action::Reply(Reply::Wake { waiter, outcome }) => woken.push((waiter, outcome)),
                Action::Order(Order::Lookup { file }) => asked.push(file),
                Action::Order(Order::Fetch { .. }) | Action::Reply(Reply::Pull { .. }) => {}
                _ => unreachable!("nobody advises"),
            }
        }
        assert_eq!(dropped, std::mem::take(&mut model.dropped).into_iter().collect(), "drops after {event}");
        assert_eq!(woken, std::mem::take(&mut model.woken), "wakes after {event}");
        assert_eq!(asked, std::mem::take(&mut model.asked), "lookups after {event}");
        let statistics = driver.manager.statistics();
        let (hits, late_hits) = (statistics.hits, statistics.late_hits);
        let counts = Counts { hits, late_hits, misses: statistics.misses, evictions: statistics.evictions };
        assert_eq!(counts, model.counts, "after {event}");
        assert_eq!(statistics.ahead, model.outcomes, "outcomes after {event}");
        for block in every_block() {
            assert_eq!(driver.manager.state_of(block), model.state_of(block), "{block:?} after {event}");
        }
        for &source in Source::ALL {
            let of_source = model.sequences.iter().filter(|(key, _)| key.1 == source);
            let ended = model.ended.get(&source).copied().unwrap_or_default();
            let accuracy = of_source.fold(ended, |sum, (_, it)| (sum.0 + it.consumed, sum.1 + it.skipped));
            assert_eq!(driver.manager.accuracy(source), accuracy, "accuracy of {source} after {event}");
        }
    }
    driver.end();
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20000, ..config(400) })]

    #[test]
    fn lru_is_as_modelled(ops in proptest::collection::vec(op(), 1..150), capacity in 1..24u64) {
        compare("lru", None, capacity, DeviceLimits::default(), &ops);
    }

    #[test]
    fn tip1_is_as_modelled(
        ops in proptest::collection::vec(op(), 1..150),
        capacity in 1..24u64,
        outstanding_max in 1..4u32,
        sort_blocks in 1..6u64,
        share in proptest::sample::select(&["0", "0.34", "0.8", "1"][..]),
        count_present in any::<bool>(),
    ) {
        let device = DeviceLimits { outstanding_max, sort_blocks, ..small_device() };
        let policy = format!("tip1:unread_share={share},count_present={}", u8::from(count_present));
        let ahead = Some((share.parse().expect("a number"), count_present));
        compare(&policy, ahead, capacity, device, &ops);
    }
}

/// What can never be read is passed over when the walk comes by, or all before it was fetched: not
/// because the device's queue is full. A file that grows meanwhile has what was disclosed of it.
#[test]
fn a_full_queue_closes_nothing() {
    let event = |text: &str| Op::Plain(text.parse().expect("an event"));
    let read =
        |first, count| Op::Read { reader: ReaderId(1), site: Site(0), file: FileId(0), first, count, served: false };
    let ops = [
        read(2, 1),
        read(3, 3),
        event("hint reader=1 source=command file=1 want=0+1"),
        event("hint reader=1 source=advice file=0 want=all"),
        Op::Resolve { pick: 0 },
        event("capacity pages=13"),
        event("hint reader=1 source=library file=0 want=all"),
        read(2, 3),
        event("hint reader=1 source=advice file=2 want=12+3"),
        event("hint reader=1 source=command file=0 want=name"),
        Op::Resolve { pick: 0 },
        event("hint reader=1 source=command file=0 want=name"),
        event("file-changed file=2 blocks=13"),
        event("named reader=1 file=0"),
        event("gone file=0 first=0 count=1"),
        Op::Answer { pick: 0, fails: false },
        Op::Pin { file: FileId(0), index: 0 },
    ];
    let device = DeviceLimits { outstanding_max: 1, sort_blocks: 1, ..small_device() };
    compare("tip1:unread_share=0.8,count_present=0", Some((0.8, false)), 6, device, &ops);
}

/// Whose limits small programs reach.
fn small_device() -> DeviceLimits {
    DeviceLimits { cluster_blocks_max: 3, queued_blocks_max: 6, ..DeviceLimits::default() }
}
