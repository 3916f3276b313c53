//! The host: carries the manager's orders out on frames of its own, and hands what comes to who
//! waits for it.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::HashMap;
use foresee_driver::Host;
use foresee_manager::{Block, Class, Event, FetchId, FileId, Order, Reply, Standing, Time, ViewId, WaiterId};
use foresee_store::Error;

use super::fetch::{Done, Fetch, Task};
use super::frame::Pin;
use super::holding::HeldUp;
use super::memory::{Memory, key};
use super::objects::Objects;
use super::second::{Offered, Recall, Second, rest};
use super::vain::InVain;
use super::wait::{Arrived, Wait};
use super::workers::Workers;

/// What is read ahead is held up for no longer by what is to be written, though nobody came for it:
/// the manager counts it as on its way, and orders no more than some. A tenth of a second is a
/// disk's busy moment, and nothing beside the minutes for which one may stall.
const HELD_UP_MAX_NS: u64 = 100_000_000;

/// A fetch that was ordered.
struct Ordered {
    first: Block,
    count: u64,
    class: Class,
    /// Where its blocks go; none while there are not enough that are free.
    frames: Vec<u32>,
    /// A reader waits for some of it, or it has waited too long itself.
    is_waited_for: bool,
    /// It had to wait for frames that hold what is to be written, since then.
    held_up: Option<(HeldUp, Time)>,
    /// Tasks that fill them and are not done.
    parts: usize,
    /// Why its store is not asked for it, if it just failed.
    in_vain: Option<Error>,
    /// What went wrong with one of them.
    error: Option<Error>,
}

impl Ordered {
    /// How urgent it is by now.
    fn urgency(&self) -> Class {
        if self.is_waited_for { Class::Demand } else { self.class }
    }
}

/// The host.
pub struct PoolHost {
    begun: Instant,
    now: Time,
    memory: Arc<Memory>,
    /// Frames that the manager knows of; the rest is for what is written to the second tier.
    capacity: usize,
    second: Option<Second>,
    /// Those that wait for programs.
    generating: Arc<Workers>,
    /// What the files are.
    pub objects: Objects,
    free: Vec<u32>,
    fetches: HashMap<FetchId, Ordered>,
    /// Those that are ahead of readers and that nobody waits for, by their first blocks.
    ahead: BTreeSet<(u64, FetchId)>,
    /// Fetches without frames: a frame that is given up is another's when the last of its readers
    /// has copied it.
    frameless: VecDeque<FetchId>,
    /// Fetches that will get none.
    unfilled: Vec<FetchId>,
    /// What is not asked of stores once more.
    in_vain: InVain,
    /// Fetches that the manager was told have failed, and that no store was asked for.
    failed_unasked: u64,
    /// Who waits for each block.
    waiting: HashMap<u64, Vec<(Arc<Wait>, u32)>>,
    /// Whose request each waiter's is.
    waiters: HashMap<WaiterId, Arc<Wait>>,
    numbers: u64,
    /// Frames that were given up and that views keep, and how many of them the manager knows of.
    kept: HashSet<u32>,
    kept_told: usize,
    /// Frames whose views the manager was told of.
    viewed: HashMap<u32, (ViewId, Block)>,
    /// What was ordered last because a reader waits, and has not been handed to threads: its reader
    /// may do it itself.
    demanded: Option<(Arc<Workers>, Fetch)>,
    /// Bytes that came.
    bytes: u64,
    /// Futures that something came for: it is taken when the lock is free.
    pub came: Vec<Arc<Wait>>,
    /// What was answered to the advice at hand.
    pub answer: Option<Reply>,
}

impl Host for PoolHost {
    fn now(&self) -> Time {
        self.now
    }

    fn news(&mut self) -> Option<Event> {
        self.objects.devices.news()
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Lookup { file } => {
                if let Some((served, name)) = self.objects.whereabouts(file) {
                    served.lookups.add(Task::Open(file, Arc::clone(&served.store), name), Class::Hinted);
                }
            }
            Order::Fetch { fetch, file, first, count, class, .. } => {
                let first = Block { file, index: first };
                // Looked for at once, as the manager has counted it at once.
                let is_alone = class == Class::Demand && count == 1;
                let in_vain = if is_alone { self.in_vain.take(key(first)) } else { None };
                let ordered = Ordered {
                    first,
                    count,
                    class,
                    frames: Vec::new(),
                    is_waited_for: class == Class::Demand,
                    held_up: None,
                    parts: 0,
                    in_vain,
                    error: None,
                };
                self.fetches.insert(fetch, ordered);
                if class == Class::Demand {
                    self.frameless.push_front(fetch);
                } else {
                    self.ahead.insert((key(first), fetch));
                    self.frameless.push_back(fetch);
                }
                self.begin_fetches();
            }
            // Not asked for: each device has its shape told before anything is fetched from it.
            Order::PassOver { .. } => debug_assert!(false, "passed over where requests are shaped"),
            Order::Drop { file, first, count } => {
                let lasting = self.second.as_ref().and_then(|_| self.objects.lasting(file));
                for index in first..first + count {
                    if let Some(((_, object), second)) = lasting.zip(self.second.as_mut()) {
                        second.offer(Block { file, index }, object);
                    }
                    if let Some((frame, views)) = self.memory.give_up(Block { file, index }) {
                        if views {
                            self.kept.insert(frame);
                        }
                        self.put_back(frame);
                    }
                }
                self.begin_fetches();
            }
        }
    }
}

impl PoolHost {
    /// Over this memory, of which nothing is used and `capacity` frames are the manager's.
    pub fn new(
        memory: Arc<Memory>,
        capacity: usize,
        objects: Objects,
        generating: Arc<Workers>,
        second: Option<Second>,
    ) -> Self {
        PoolHost {
            begun: Instant::now(),
            now: Time(0),
            free: (0..memory.len() as u32).rev().collect(),
            memory,
            capacity,
            second,
            generating,
            objects,
            fetches: HashMap::default(),
            ahead: BTreeSet::new(),
            frameless: VecDeque::new(),
            unfilled: Vec::new(),
            in_vain: InVain::default(),
            failed_unasked: 0,
            waiting: HashMap::default(),
            waiters: HashMap::default(),
            numbers: 0,
            kept: HashSet::new(),
            kept_told: 0,
            viewed: HashMap::default(),
            demanded: None,
            bytes: 0,
            came: Vec::new(),
            answer: None,
        }
    }

    /// Looks at the clock: what is told from now on happens now.
    pub fn tick(&mut self) {
        self.now = Time(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }

    /// Bytes that came from stores.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Fetches that the manager was told have failed, and that no store was asked for: there were no
    /// frames for them, or one for their blocks had just failed.
    pub fn failed_unasked(&self) -> u64 {
        self.failed_unasked
    }

    /// Fetches that the manager counts among what readers waited for, though no store is asked.
    pub fn demanded_unasked(&self) -> u64 {
        self.in_vain.unasked()
    }

    /// Frames that are neither free nor about to be.
    pub fn used(&self) -> usize {
        let held = self.second.as_ref().map_or(0, |second| second.holding.held());
        self.memory.len() - self.free.len() - held
    }

    /// Frames that hold what the manager keeps, if views keep none.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The second tier.
    pub fn second(&self) -> Option<&Second> {
        self.second.as_ref()
    }

    /// What was ordered gets frames, as far as there are any: demand first, and nothing goes before
    /// what waits. What is to be written to the second tier gives way where a reader waits, and holds
    /// up what is read ahead. While views keep frames there may never be enough for several blocks at
    /// once: the manager is told so, and asks for one by one what is waited for.
    fn begin_fetches(&mut self) {
        while let Some(&fetch) = self.frameless.front()
            && let Some(ordered) = self.fetches.get_mut(&fetch)
        {
            let count = ordered.count as usize;
            if count <= self.free.len() {
                ordered.frames = self.free.split_off(self.free.len() - count);
                self.begin(fetch);
            } else if self.make_way() {
                continue;
            } else if count > 1 && !self.kept.is_empty() && self.held_up().is_none() {
                self.take_ordered(fetch);
                self.unfilled.push(fetch);
            } else {
                return;
            }
            self.frameless.pop_front();
        }
    }

    /// Whether what is to be written to the second tier has frames that fetches wait for.
    fn held_up(&self) -> Option<HeldUp> {
        self.second.as_ref()?.holding.holds_up()
    }

    /// What is to be written gives way to a reader, by one block. Returns whether it did.
    fn make_way(&mut self) -> bool {
        let Some(second) = self.second.as_mut().filter(|it| it.holding.holds_up().is_some()) else { return false };
        // Those that are waited for are the first.
        let next = self.frameless.front().and_then(|fetch| self.fetches.get(fetch));
        if !next.is_some_and(|it| it.is_waited_for) {
            return false;
        }
        let given = second.give_way();
        if let Some(frame) = given {
            self.unhold(frame);
        }
        given.is_some()
    }

    /// What is ahead and still has no frames is held up, if it is by what is to be written; and if it
    /// has been for long, late.
    fn note_held_up(&mut self) {
        let Some(held_up) = self.held_up() else { return };
        let mut late = None;
        for fetch in &self.frameless {
            if let Some(ordered) = self.fetches.get_mut(fetch).filter(|it| !it.is_waited_for) {
                let (first, since) = *ordered.held_up.get_or_insert((held_up, self.now));
                if self.now.0 - since.0 > HELD_UP_MAX_NS {
                    ordered.is_waited_for = true;
                    late = Some(first);
                }
            }
        }
        if let Some((second, first)) = self.second.as_mut().zip(late) {
            second.holding.was_late(first);
            self.begin_waited_for();
        }
    }

    /// Fetches that have no frames.
    #[cfg(test)]
    pub fn frameless(&self) -> usize {
        self.frameless.len()
    }

    /// What is waited for comes first.
    fn begin_waited_for(&mut self) {
        let fetches = &self.fetches;
        let is_ahead = |fetch: &FetchId| fetches.get(fetch).is_some_and(|it| !it.is_waited_for);
        self.frameless.make_contiguous().sort_by_key(is_ahead);
        self.begin_fetches();
    }

    /// A fetch has its frames: what lies on the second tier comes from there, and each run of the
    /// rest from the store.
    fn begin(&mut self, fetch: FetchId) {
        let Some(ordered) = self.fetches.get_mut(&fetch) else { return };
        let urgency = ordered.urgency();
        let Ordered { first, frames, .. } = ordered;
        let (found, parts) = match (&mut self.second, self.objects.lasting(first.file)) {
            (Some(second), Some(object)) => second.recall(fetch, urgency, object, first.index, frames),
            _ => (Vec::new(), 0),
        };
        ordered.parts = parts;
        for part in rest(0..frames.len(), &found) {
            self.fetch_part(fetch, part);
        }
    }

    fn fetch_part(&mut self, fetch: FetchId, part: Range<usize>) {
        let Some(ordered) = self.fetches.get_mut(&fetch) else { return };
        ordered.parts += 1;
        let file = ordered.first.file;
        let urgency = ordered.urgency();
        let task = Fetch {
            fetch,
            part: part.clone(),
            origin: ordered.in_vain.clone().map_or_else(|| self.objects.origin(file), Err),
            offset: (ordered.first.index + part.start as u64) * self.memory.frame_bytes() as u64,
            frames: ordered.frames[part].to_vec(),
            memory: Arc::clone(&self.memory),
        };
        let Some(workers) = self.objects.workers(file).map(Arc::clone) else { return };
        if urgency == Class::Demand {
            self.hand_over_demanded();
            self.demanded = Some((workers, task));
        } else {
            workers.add(Task::Fetch(task), urgency);
        }
    }

    /// What was ordered last because a reader waits, if it is of these blocks.
    pub fn take_demanded(&mut self, file: FileId, blocks: Range<u64>) -> Option<(Arc<Workers>, Fetch)> {
        let fetches = &self.fetches;
        let is_of_them = |(_, it): &mut (Arc<Workers>, Fetch)| {
            let ordered = fetches.get(&it.fetch);
            ordered.is_some_and(|ordered| ordered.first.file == file && blocks.contains(&ordered.first.index))
        };
        self.demanded.take_if(is_of_them)
    }

    /// Threads do what no reader did itself.
    pub fn hand_over_demanded(&mut self) {
        if let Some((workers, fetch)) = self.demanded.take() {
            workers.add(Task::Fetch(fetch), Class::Demand);
        }
    }

    /// Blocks that were given up in this session, and may be kept on the second tier.
    pub fn offered(&mut self) -> Vec<Offered> {
        self.second.as_mut().map_or(Vec::new(), Second::offered)
    }

    /// What becomes of them, by how the reads of each stand that are to come.
    pub fn judge(&mut self, judged: Vec<(Standing, Offered)>) {
        let Some(second) = &mut self.second else { return };
        let not_kept = judged.into_iter().filter_map(|(standing, offered)| second.judge(offered, standing)).collect();
        self.let_go(not_kept);
    }

    /// What waits to be written is, as far as the disk is free for it. What waits for its frames
    /// waits on.
    pub fn begin_keeping(&mut self) {
        let not_kept = self.second.as_mut().map_or(Vec::new(), Second::begin_keeping);
        self.let_go(not_kept);
        self.note_held_up();
    }

    /// Frames are not held for the second tier any more.
    fn let_go(&mut self, frames: Vec<u32>) {
        let freed = frames.into_iter().filter(|&frame| self.unhold(frame)).count();
        if freed > 0 {
            self.begin_fetches();
        }
    }

    /// A frame that was given up is free, if nobody has it pinned any more.
    pub fn reclaim(&mut self, frame: u32) {
        if self.put_back(frame) {
            self.begin_fetches();
        }
    }

    /// A frame is not held any more. Returns whether it is free now.
    fn unhold(&mut self, frame: u32) -> bool {
        self.memory.frame(frame).unpin(Pin::Copy).reclaim && self.put_back(frame)
    }

    /// As [`PoolHost::reclaim`], but that no fetch begins. Returns whether it is free now.
    fn put_back(&mut self, frame: u32) -> bool {
        let is_free = self.memory.frame(frame).reclaim();
        if is_free {
            self.kept.remove(&frame);
            self.free.push(frame);
        }
        is_free
    }

    /// What the manager must hear of the memory, if there is something: what views keep is not its
    /// to fill.
    pub fn correction(&mut self) -> Option<Event> {
        let kept = self.kept.len();
        match std::mem::replace(&mut self.kept_told, kept) == kept {
            true => {
                let fetch = self.unfilled.pop()?;
                self.failed_unasked += 1;
                Some(Event::FetchFailed { fetch })
            }
            false => Some(Event::Capacity { pages: (self.capacity - kept) as u64 }),
        }
    }

    /// What the manager is to hear of a frame's views: that the last one of what it held is gone,
    /// that there are some of what it holds.
    pub fn viewed(&mut self, frame: u32) -> impl Iterator<Item = Event> + use<> {
        let held = self.memory.frame(frame).look_for_views();
        let before = self.viewed.get(&frame).copied();
        let is_news = before.map(|(_, block)| key(block)) != held;
        let released = before.filter(|_| is_news).map(|(view, Block { file, index })| {
            self.viewed.remove(&frame);
            Event::Released { view, file, index }
        });
        let pinned = held.filter(|_| is_news).map(|held| {
            let view = ViewId(self.number());
            let (file, index) = (FileId((held >> 40) as u32), held & (Block::INDEX_LIMIT - 1));
            self.viewed.insert(frame, (view, Block { file, index }));
            Event::Pinned { view, file, index }
        });
        released.into_iter().chain(pinned)
    }

    /// Frames of which the manager knows views.
    #[cfg(test)]
    pub fn told_views(&self) -> usize {
        self.viewed.len()
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// A reader waits for these blocks. Those that are here are handed over at once, for what
    /// follows may give them up.
    pub fn wait(&mut self, first: Block, count: u64, wait: &Arc<Wait>) -> WaiterId {
        for at in 0..count {
            let block = Block { index: first.index + at, ..first };
            // Nothing is given up just now: that is for who has the lock.
            match self.memory.pin(block, wait.pin, 0, |_, _| debug_assert!(false, "given up meanwhile")) {
                Some((frame, _)) => self.hand(wait, Arrived { at: at as u32, frame }),
                None => self.waiting.entry(key(block)).or_default().push((Arc::clone(wait), at as u32)),
            }
        }
        self.hurry(first, count);
        let waiter = WaiterId(self.number());
        self.waiters.insert(waiter, Arc::clone(wait));
        waiter
    }

    /// A reader waits for these blocks: what was ordered of them ahead and was not begun is urgent now,
    /// whether it has no frames or no thread.
    fn hurry(&mut self, first: Block, count: u64) {
        let mut is_frameless = false;
        while let Some(&ahead) = self.ahead.range(..(key(first) + count, FetchId(0))).next_back()
            && let Some(ordered) = self.fetches.get_mut(&ahead.1)
            // No two fetches bring the same block: those before this one end where it begins.
            && ahead.0 + ordered.count > key(first)
        {
            self.ahead.remove(&ahead);
            ordered.is_waited_for = true;
            if ordered.frames.is_empty() {
                is_frameless = true;
                continue;
            }
            self.objects.workers(first.file).into_iter().for_each(|workers| workers.hurry(ahead.1));
            self.second.iter().for_each(|second| second.hurry(ahead.1));
        }
        if is_frameless {
            self.begin_waited_for();
        }
    }

    /// A fetch is over.
    fn take_ordered(&mut self, fetch: FetchId) -> Option<Ordered> {
        let ordered = self.fetches.remove(&fetch)?;
        self.ahead.remove(&(key(ordered.first), fetch));
        Some(ordered)
    }

    fn hand(&mut self, wait: &Arc<Wait>, arrived: Arrived) {
        wait.hand(arrived);
        self.note(wait);
    }

    /// Something came for this one, or no more will.
    fn note(&mut self, wait: &Arc<Wait>) {
        if wait.taker.is_some() {
            self.came.push(Arc::clone(wait));
        }
    }

    /// Nothing more is handed over to who waited for these blocks.
    pub fn forget(&mut self, first: Block, count: u64, wait: &Arc<Wait>) {
        for index in first.index..first.index + count {
            let key = key(Block { index, ..first });
            if let Some(waits) = self.waiting.get_mut(&key) {
                waits.retain(|(it, _)| !Arc::ptr_eq(it, wait));
                if waits.is_empty() {
                    self.waiting.remove(&key);
                }
            }
        }
    }

    /// Nobody waits with this any more.
    pub fn abandoned(&mut self, waiter: WaiterId) {
        self.waiters.remove(&waiter);
    }

    /// A reply of the manager's.
    pub fn hear(&mut self, reply: Reply) {
        match reply {
            Reply::Wake { waiter, outcome } => {
                if let Some(wait) = self.waiters.remove(&waiter) {
                    wait.end(outcome);
                    self.note(&wait);
                }
            }
            Reply::Pull { reader, .. } => self.generating.add(Task::Pull(reader), Class::Hinted),
            Reply::Refused { .. } | Reply::Priority { .. } | Reply::LevelPolicy { .. } => self.answer = Some(reply),
            Reply::Revoked { .. } => {}
        }
    }

    /// A task is done: what the manager must hear.
    pub fn done(&mut self, done: Done) -> Option<Event> {
        match done {
            Done::Opened(file, object) => self.objects.looked_up(file, object),
            Done::Fetched(fetch, part, result, took) => self.fetched(fetch, part, result, took),
            Done::Recalled(recall, good, took) => self.recalled(&recall, &good, took),
            Done::Kept(keep, written) => {
                self.second.as_mut()?.kept(&keep, written);
                self.let_go(keep.frames().collect());
                None
            }
            Done::Looked(first, looked) => {
                self.second.as_mut()?.looked(first, looked);
                None
            }
            Done::Asked(_) | Done::Pull(_) => None,
        }
    }

    /// Nothing is known of a file any more; its number may be another's.
    pub fn forgotten(&mut self, file: FileId) {
        self.in_vain.forget();
        self.objects.forgotten(file);
    }

    /// A part of a fetch came from its store, or not.
    fn fetched(
        &mut self,
        fetch: FetchId,
        part: Range<usize>,
        result: Result<(), Error>,
        took: Duration,
    ) -> Option<Event> {
        let ordered = self.fetches.get_mut(&fetch)?;
        let Ordered { first, frames, .. } = ordered;
        match result {
            Ok(()) => {
                self.bytes += (part.len() * self.memory.frame_bytes()) as u64;
                if let Some(second) = &mut self.second
                    && let Some((device, object)) = self.objects.lasting(first.file)
                {
                    second.came(device, object, first.index + part.start as u64, &frames[part], took);
                }
            }
            Err(error) => {
                let blocks = (first.index + part.start as u64..first.index + part.end as u64)
                    .map(|index| key(Block { index, ..*first }));
                let is_persistent =
                    || self.objects.whereabouts(first.file).is_some_and(|it| it.0.store.is_persistent());
                if ordered.count > 1 && is_persistent() {
                    self.in_vain.add(blocks.filter(|block| self.waiting.contains_key(block)), &error);
                }
                ordered.error = Some(error);
            }
        }
        self.part_done(fetch)
    }

    /// A part of a fetch came from the second tier; what did not is asked of the store.
    fn recalled(&mut self, recall: &Recall, good: &[bool], took: Duration) -> Option<Event> {
        let bad = self.second.as_mut()?.recalled(recall, good, took);
        bad.into_iter().for_each(|at| self.fetch_part(recall.fetch, at..at + 1));
        self.part_done(recall.fetch)
    }

    /// A part of a fetch is done. Once all are: what the manager must hear.
    fn part_done(&mut self, fetch: FetchId) -> Option<Event> {
        let ordered = self.fetches.get_mut(&fetch)?;
        ordered.parts -= 1;
        if ordered.parts > 0 {
            return None;
        }
        let Ordered { first, class, frames, held_up, in_vain, error, .. } = self.take_ordered(fetch)?;
        let result = error.map_or(Ok(()), Err);
        let blocks = (first.index..).map(|index| Block { index, ..first });
        // The manager does not take what came of a version that it was told to forget.
        match result.and_then(|()| self.objects.origin(first.file).map(drop)) {
            Ok(()) => {
                let mut is_late = false;
                for (block, frame) in blocks.zip(frames) {
                    self.memory.fill(frame, block, class != Class::Demand);
                    for (wait, at) in self.waiting.remove(&key(block)).unwrap_or_default() {
                        is_late = true;
                        // It was filled with this very block, and nobody gives it up meanwhile.
                        if self.memory.pin_frame(frame, key(block), wait.pin).is_ok() {
                            self.hand(&wait, Arrived { at, frame });
                        }
                    }
                }
                if let Some((second, (held_up, _))) = self.second.as_mut().zip(held_up).filter(|_| is_late) {
                    second.holding.was_late(held_up);
                }
                Some(Event::FetchDone { fetch })
            }
            Err(error) => {
                if matches!(error, Error::Changed) {
                    self.objects.changed(first.file);
                }
                for (block, frame) in blocks.zip(frames) {
                    self.free.push(frame);
                    for (wait, _) in self.waiting.get(&key(block)).into_iter().flatten() {
                        wait.went_wrong(error.clone());
                    }
                }
                self.failed_unasked += u64::from(in_vain.is_some());
                self.begin_fetches();
                Some(Event::FetchFailed { fetch })
            }
        }
    }
}
