//! What every host is held to: orders are carried out as [`Host`] says, whatever the manager asks
//! for.
//!
//! A host passes by calling [`check`] in a test of its own, with a [`Stand`] that sets it up.
//! Failures panic and say what was not so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foresee_manager::{
    Action, Block, Config, Demand, DeviceId, DeviceLimits, Event, FetchId, FileId, LevelOrder, Manager, Order,
    ReaderId, Reply, Site, Source, Time, ViewId, WaiterId, Want,
};

use crate::{Driver, Host, Tap};

const READER: ReaderId = ReaderId(1);
/// Seeds of the random scripts, and steps of each.
const SCRIPTS: u64 = 16;
const STEPS: u64 = 200;
/// So often the host goes on, at most, before a file is another.
const STEPS_BEFORE: u64 = 6;
/// Policies that fetch what is disclosed, and one that takes advice.
const POLICIES: [&str; 3] = ["tip1:unread_share=0.5", "informed", "lru-sp"];

/// A host set up to be tried.
pub trait Stand: Sized {
    /// The host.
    type Host: Host;
    /// So long it has to do what it was asked for.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// A driver over a host that has these files, by number: of so many blocks, none of them in
    /// memory; None, at the end, where there is no such file. `spoiled`: names can be looked
    /// up, and no fetch succeeds.
    fn new(files: &[Option<u64>], spoiled: bool, config: &Config, tap: Box<Tap<'static>>) -> Self;

    /// The driver.
    fn driver(&mut self) -> &mut Driver<'static, Self::Host>;

    /// What the manager is told when a reader opens a file that is there.
    fn opened(&mut self, file: FileId) -> Event;

    /// Puts other bytes in the place of a file that a reader has open, as many, and tells the driver
    /// what it is told when the next reader opens them: those that [`byte_of`] says of the file
    /// `like`. Returns which file they are.
    fn replace(&mut self, file: FileId, like: FileId) -> FileId;

    /// Lets the host go on for a moment, and tells the driver what became of what it was asked for.
    fn step(&mut self);

    /// Whether the bytes of this block are here, if the host can tell.
    fn is_here(&self, block: Block) -> Option<bool>;

    /// The bytes that are here of this block, if the host has them itself, and its files those that
    /// [`byte_of`] says, of what they are like once they were replaced.
    fn bytes_here(&self, _block: Block) -> Option<Vec<u8>> {
        None
    }
}

/// Each byte of this block, where blocks are to be told apart.
pub fn byte_of(Block { file, index }: Block) -> u8 {
    (file.0 as u8).wrapping_mul(41).wrapping_add(index as u8)
}

/// Tries everything.
///
/// # Panics
/// If something is not as it must be.
pub fn check<S: Stand>() {
    names_are_looked_up::<S>();
    what_is_disclosed_comes::<S>();
    what_fails_is_said::<S>();
    what_is_given_up_goes_and_comes_again::<S>();
    for steps in 0..STEPS_BEFORE {
        what_a_file_held_before_is_never_read_again::<S>(steps);
    }
    for seed in 0..SCRIPTS {
        whatever_is_asked_for_is_answered_once::<S>(seed);
    }
}

/// All that passed the tap, and what of it is still to come.
#[derive(Default)]
struct Record {
    log: Vec<(Time, Event, Vec<Action>)>,
    fetches: BTreeSet<FetchId>,
    lookups: BTreeSet<FileId>,
    waiters: BTreeSet<WaiterId>,
    known: BTreeMap<FileId, Option<u64>>,
    devices: BTreeSet<DeviceId>,
    failed: usize,
    dropped: BTreeSet<Block>,
    viewed: BTreeSet<Block>,
    /// Read by somebody who was not served: where that brought them is not the host's affair.
    observed: BTreeSet<Block>,
}

impl Record {
    fn see(&mut self, now: Time, event: Event, actions: &[Action], manager: &Manager) {
        let before = self.log.last().map_or(Time(0), |&(time, ..)| time);
        assert!(before <= now, "time went back from {before} to {now}, at '{event}'");
        self.see_event(event);
        for &action in actions {
            self.see_action(action);
        }
        manager.check();
        self.log.push((now, event, actions.to_vec()));
    }

    fn see_event(&mut self, event: Event) {
        match event {
            Event::FetchDone { fetch } | Event::FetchFailed { fetch } => {
                assert!(self.fetches.remove(&fetch), "'{event}', which was not asked for, or is said twice");
                self.failed += usize::from(matches!(event, Event::FetchFailed { .. }));
            }
            Event::FileKnown { file, device, blocks, .. } => {
                self.lookups.remove(&file);
                self.known.insert(file, Some(blocks));
                self.devices.insert(device);
            }
            Event::FileMissing { file } => {
                assert!(self.lookups.remove(&file), "'{event}', which was not asked for, or is said twice");
                self.known.insert(file, None);
            }
            Event::ReadaheadWindow { device, .. } | Event::DeviceLimits { device, .. } => {
                assert!(!self.devices.contains(&device), "'{event}' comes after a file on that device");
            }
            Event::Reference { demand: Demand::Served(waiter), .. } => {
                self.waiters.insert(waiter);
            }
            Event::Reference { file, first, count, .. } => {
                self.observed.extend((first..first + count).map(|index| Block { file, index }));
            }
            Event::Abandoned { waiter } => _ = self.waiters.remove(&waiter),
            Event::Pinned { file, index, .. } => _ = self.viewed.insert(Block { file, index }),
            // What is viewed stays for who views it, and is nobody else's.
            Event::FileChanged { file, .. } => self.viewed.retain(|block| block.file != file),
            Event::Released { file, index, .. } => _ = self.viewed.remove(&Block { file, index }),
            _ => {}
        }
    }

    fn see_action(&mut self, action: Action) {
        match action {
            Action::Order(Order::Fetch { fetch, file, first, count, .. }) => {
                assert!(self.fetches.insert(fetch), "{fetch} is used twice");
                let is_other = |block: &Block| block.file != file || !(first..first + count).contains(&block.index);
                self.dropped.retain(is_other);
                self.observed.retain(is_other);
            }
            Action::Order(Order::Lookup { file }) => {
                self.lookups.insert(file);
            }
            Action::Order(Order::Drop { file, first, count }) => {
                let blocks = (first..first + count).map(|index| Block { file, index });
                for block in blocks {
                    assert!(!self.viewed.contains(&block), "{block:?} is given up, and viewed");
                    self.dropped.insert(block);
                }
            }
            Action::Order(Order::PassOver { .. }) => {}
            Action::Reply(Reply::Wake { waiter, .. }) => {
                assert!(self.waiters.remove(&waiter), "{waiter} is woken twice, or waits no more");
            }
            Action::Reply(_) => {}
        }
    }

    fn awaits(&self) -> String {
        format!("{:?}, {:?}, {:?}", self.fetches, self.lookups, self.waiters)
    }

    fn is_settled(&self) -> bool {
        self.fetches.is_empty() && self.lookups.is_empty() && self.waiters.is_empty()
    }
}

fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stand and what it did.
struct Trial<S> {
    stand: S,
    config: Config,
    record: Arc<Mutex<Record>>,
    viewed: Option<(ViewId, Block)>,
    /// A file that was put in the place of another, and the one that it is like.
    replaced: Option<(FileId, FileId)>,
}

impl<S: Stand> Trial<S> {
    fn new(files: &[Option<u64>], spoiled: bool, capacity: u64) -> Self {
        Trial::by("tip1:unread_share=0.5", files, spoiled, capacity)
    }

    fn by(policy: &str, files: &[Option<u64>], spoiled: bool, capacity: u64) -> Self {
        let policy = policy.parse().expect("a policy that fetches what is disclosed");
        let device = DeviceLimits { outstanding_max: 8, cluster_blocks_max: 4, ..DeviceLimits::default() };
        let config = Config { device, ..Config::new(capacity, policy) };
        let record = Arc::new(Mutex::new(Record::default()));
        let tapped = Arc::clone(&record);
        let tap = Box::new(move |now, event, actions: &[Action], manager: &Manager| {
            lock(&tapped).see(now, event, actions, manager);
        });
        Trial { stand: S::new(files, spoiled, &config, tap), config, record, viewed: None, replaced: None }
    }

    fn tell(&mut self, event: Event) {
        self.stand.driver().tell(event, |_, _| {});
    }

    fn hint(&mut self, file: u32, want: Want) {
        self.tell(Event::Hint { reader: READER, source: Source::Library, file: FileId(file), want });
    }

    fn open(&mut self, file: u32) {
        let known = self.stand.opened(FileId(file));
        self.tell(known);
    }

    fn read(&mut self, file: u32, first: u64, count: u64, demand: Demand) {
        self.tell(Event::Reference { reader: READER, site: Site(0), file: FileId(file), first, count, demand });
    }

    /// Other bytes are in this file's place from now on. Returns which file they are.
    fn replace(&mut self, file: u32, like: u32) -> u32 {
        let now = self.stand.replace(FileId(file), FileId(like));
        self.replaced = Some((now, FileId(like)));
        now.0
    }

    /// The byte that this block consists of.
    fn byte_of(&self, block: Block) -> u8 {
        let like = self.replaced.filter(|(file, _)| *file == block.file).map(|(_, like)| like);
        byte_of(Block { file: like.unwrap_or(block.file), ..block })
    }

    /// A reader that waits gives up, if one does.
    fn abandon(&mut self) {
        let waiter = lock(&self.record).waiters.first().copied();
        waiter.into_iter().for_each(|waiter| self.tell(Event::Abandoned { waiter }));
    }

    /// A block that is here is viewed from now on, and no other.
    fn view(&mut self, view: ViewId, block: Block) {
        self.unview();
        if self.is_present(block) {
            let Block { file, index } = block;
            self.tell(Event::Pinned { view, file, index });
            self.viewed = Some((view, block));
        }
    }

    fn unview(&mut self) {
        if let Some((view, Block { file, index })) = self.viewed.take() {
            self.tell(Event::Released { view, file, index });
        }
    }

    /// Until nothing is under way.
    fn settle(&mut self) {
        let begun = Instant::now();
        while !lock(&self.record).is_settled() {
            let awaits = lock(&self.record).awaits();
            assert!(begun.elapsed() < S::PATIENCE, "never answered: {awaits}");
            self.stand.step();
        }
        // What is given up is answered by nothing.
        self.stand.step();
    }

    fn is_present(&mut self, block: Block) -> bool {
        let is_present = self.stand.driver().manager().is_present(block);
        if lock(&self.record).observed.contains(&block) {
            return is_present;
        }
        if is_present && let Some(is_here) = self.stand.is_here(block) {
            assert!(is_here, "{block:?} was said to be here, and is not");
        }
        if is_present && let Some(bytes) = self.stand.bytes_here(block) {
            assert!(bytes.iter().all(|&byte| byte == self.byte_of(block)), "{block:?} has the bytes of another");
        }
        is_present
    }

    /// The same events lead to the same actions (I8).
    fn replay(&self) {
        let mut manager = Manager::new(&self.config);
        for (now, event, actions) in &lock(&self.record).log {
            let mut again = Vec::new();
            manager.handle(*now, *event, &mut again);
            assert_eq!(&again, actions, "I8: '{event}' led to something else than in the run");
        }
    }
}

fn names_are_looked_up<S: Stand>() {
    let mut trial = Trial::<S>::new(&[Some(3), Some(0), None], false, 16);
    for file in 0..3 {
        trial.hint(file, Want::Name);
    }
    trial.settle();
    let known = lock(&trial.record).known.clone();
    let expected = BTreeMap::from([(FileId(0), Some(3)), (FileId(1), Some(0)), (FileId(2), None)]);
    assert_eq!(known, expected, "what the names led to");
}

fn what_is_disclosed_comes<S: Stand>() {
    let mut trial = Trial::<S>::new(&[Some(7), Some(1)], false, 64);
    trial.hint(0, Want::All);
    trial.hint(1, Want::All);
    trial.settle();
    for (file, blocks) in [(0, 7), (1, 1)] {
        for index in 0..blocks {
            assert!(trial.is_present(Block { file: FileId(file), index }), "block {index} of file {file} did not come");
        }
    }
    assert_eq!(lock(&trial.record).failed, 0);
}

fn what_fails_is_said<S: Stand>() {
    let mut trial = Trial::<S>::new(&[Some(5)], true, 16);
    trial.hint(0, Want::Name);
    trial.settle();
    trial.hint(0, Want::Range { first: 0, count: 5 });
    trial.settle();
    assert!(lock(&trial.record).failed > 0, "fetches of a file that cannot be read were not said to fail");
    assert!(!trial.is_present(Block { file: FileId(0), index: 0 }));
}

fn what_is_given_up_goes_and_comes_again<S: Stand>() {
    let mut trial = Trial::<S>::new(&[Some(32)], false, 8);
    trial.open(0);
    for round in 0..3 {
        for first in (0..32).step_by(2) {
            trial.hint(0, Want::Range { first, count: 2 });
        }
        for index in 0..32 {
            trial.settle();
            trial.read(0, index, 1, Demand::Served(WaiterId(1 + round * 32 + index)));
        }
        trial.settle();
    }
    let dropped = lock(&trial.record).dropped.clone();
    assert!(!dropped.is_empty(), "nothing was given up");
    for &block in &dropped {
        assert!(!trial.is_present(block), "{block:?} was given up, and counts as here");
    }
    // A page may stay that is part of something larger; not all of them are.
    let (begun, stays) = (Instant::now(), |stand: &S, block: &Block| stand.is_here(*block).unwrap_or(false));
    while dropped.iter().all(|block| stays(&trial.stand, block)) {
        assert!(begun.elapsed() < S::PATIENCE, "nothing of what was given up went: {dropped:?}");
        trial.stand.step();
    }
    for index in 0..32 {
        trial.is_present(Block { file: FileId(0), index });
    }
    trial.replay();
}

/// Whatever of it was here, viewed, waited for or on its way.
fn what_a_file_held_before_is_never_read_again<S: Stand>(steps: u64) {
    const BLOCKS: u64 = 24;
    let mut trial = Trial::<S>::new(&[Some(BLOCKS)], false, 2 * BLOCKS);
    trial.open(0);
    trial.hint(0, Want::Range { first: 0, count: BLOCKS / 2 });
    trial.settle();
    trial.view(ViewId(1), Block { file: FileId(0), index: 0 });
    trial.hint(0, Want::Range { first: BLOCKS / 2, count: BLOCKS / 2 });
    trial.read(0, BLOCKS - 1, 1, Demand::Served(WaiterId(1)));
    (0..steps).for_each(|_| trial.stand.step());
    let file = trial.replace(0, 1);
    let before = (0..BLOCKS).map(|index| Block { file: FileId(0), index });
    for block in before.clone() {
        let is_present = trial.stand.driver().manager().is_present(block);
        assert!(!is_present, "{block:?} is of before, and counts as here");
    }
    for index in 0..BLOCKS {
        trial.read(file, index, 1, Demand::Served(WaiterId(2 + index)));
    }
    // The view ends after what it is of.
    trial.unview();
    trial.settle();
    for index in 0..BLOCKS {
        assert!(
            trial.is_present(Block { file: FileId(file), index }),
            "block {index} of what is there now did not come"
        );
    }
    for block in before.filter(|block| block.file != FileId(file)) {
        assert!(!trial.is_present(block), "{block:?} is of before, and came");
    }
    trial.replay();
}

/// splitmix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

fn whatever_is_asked_for_is_answered_once<S: Stand>(seed: u64) {
    const BLOCKS: [Option<u64>; 5] = [Some(40), Some(9), Some(1), Some(17), None];
    const CAPACITY: u64 = 12;
    let mut random = Random(seed);
    let policy = POLICIES[seed as usize / 4 % POLICIES.len()];
    let mut trial = Trial::<S>::by(policy, &BLOCKS, seed % 4 == 3, CAPACITY);
    let mut opened = BTreeSet::new();
    for step in 0..STEPS {
        let file = random.below(BLOCKS.len() as u64) as u32;
        let blocks = BLOCKS[file as usize].unwrap_or(8);
        let (first, count) = (random.below(blocks), 1 + random.below(4));
        let (reader, source) = (READER, Source::Library);
        match random.below(20) {
            0 => trial.hint(file, Want::Name),
            1 => trial.hint(file, Want::All),
            2..=4 => trial.hint(file, Want::Range { first, count }),
            // A reader reads what it has open.
            5..=8 if BLOCKS[file as usize].is_some() => {
                if opened.insert(file) {
                    trial.open(file);
                }
                let count = count.min(blocks - first);
                let served = Demand::Served(WaiterId(step + 1));
                trial.read(file, first, count, if random.below(2) == 0 { served } else { Demand::Observed });
            }
            9 => trial.tell(Event::Cancel { reader, source }),
            10 => trial.settle(),
            11 => trial.abandon(),
            12 => trial.tell(Event::Repeat { reader, source, entries: count, passes: 2 }),
            13 => trial.view(ViewId(step), Block { file: FileId(file), index: first }),
            14 => trial.tell(Event::SetPriority { reader, file: FileId(file), priority: count as i32 - 2 }),
            15 => trial.tell(Event::SetPolicy { reader, priority: 0, order: LevelOrder::Mru }),
            16 => trial.tell(Event::Capacity { pages: CAPACITY - random.below(4) }),
            17 => {
                // Nobody is there to be asked for more.
                trial.tell(Event::More { reader, source });
                trial.tell(Event::NoMore { reader, source });
            }
            _ => trial.stand.step(),
        }
    }
    trial.unview();
    trial.tell(Event::ReaderExited { reader: READER });
    trial.settle();
    for (file, blocks) in (0..).zip(BLOCKS) {
        (0..blocks.unwrap_or(0)).for_each(|index| _ = trial.is_present(Block { file: FileId(file), index }));
    }
    trial.replay();
}
