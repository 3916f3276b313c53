//! What hits leave for the manager: a batch for each thread, handed over when it is full or when
//! somebody speaks with the manager anyway.
//!
//! A hit must not wait. What must be told is the first read of what was brought ahead, reads of who
//! disclosed what it reads, long reads, and views. Of the rest, a batch is forgotten once it is full;
//! and what was used last matters when a page is given up, so that after each of those a thread
//! tells one batch, and else one in [`SPARED`], [`PAUSE`] apart at least. What quick threads use the
//! manager so knows less well until it gives up pages.
//!
//! Who must tell what it left, and finds that another speaks with the manager, reads on for some
//! blocks: the other tells it in the end. What is read ahead is hardly later for that, as the other
//! has the lock in any case.
//!
//! A long read may go on a run of which a part stayed here: what is missing behind that part is
//! read ahead when it is told, and else when somebody waits for it. To tell it takes a small part
//! of what it takes to copy it.
//!
//! Views are taken and given back here as well. Each of the first threads has some places for them,
//! which whoever speaks with the manager looks into: a view that is given back before, as most are,
//! takes no more than that. Who has more views at once counts them, and tells of each; a thread has
//! an allowance of those, so that two threads need not count on the same line.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, fence};
use std::time::Instant;

use foresee_manager::{Block, FileId, ReaderId};
use thread_local::ThreadLocal;

use super::asked::Slot;
use super::places::{COUNTED, PLACES, Places, THREADS, Viewed};
use super::trail::{ROOM, Trail};

thread_local! {
    /// The number of the posts to which this thread left something last, and its batch there: to look
    /// it up takes four times as long.
    static LAST: Cell<(u64, *const Batch)> = const { Cell::new(NONE) };
    /// Whether this thread is ending, and has no batch of any cache any more: what it keeps for itself
    /// may go later than that.
    static HAS_ENDED: Cell<bool> = const { Cell::new(false) };
    /// Goes before what knows its batches, as it is made after that.
    static ENDING: Ending = const { Ending };
}

/// No posts have the number 0.
const NONE: (u64, *const Batch) = (0, ptr::null());

/// The number that posts had last.
static NUMBER: AtomicU64 = AtomicU64::new(NONE.0);

struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        LAST.set(NONE);
        HAS_ENDED.set(true);
    }
}

/// Blocks of hits that must be told count as so many posts: what is read ahead goes by them.
const MUST_WEIGHT: u64 = 8;
/// A read of so many blocks is long, and fills a batch.
const LONG: u64 = ROOM as u64 / MUST_WEIGHT;
/// About how many blocks that must be told a thread may read while another speaks with the manager.
const LAG_MAX: u64 = ROOM as u64;
/// Of so many batches that need not be told, one is: to tell a hit takes ten times as long as to
/// have it.
const SPARED: u64 = 128;
/// Milliseconds between two of those: of who reads as fast as it can, telling took an eighth of the time.
const PAUSE: u64 = 10;

/// A reader found blocks here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Who.
    pub reader: ReaderId,
    /// The first of the blocks.
    pub first: Block,
    /// How many.
    pub count: u64,
    /// Whether it must be told, however short it is.
    pub must: bool,
}

impl Hit {
    fn must_be_told(&self) -> bool {
        self.must || self.count >= LONG
    }

    /// As an entry of a trail: its number, the block, the reader and how many.
    fn packed(self, order: u64) -> [u64; 3] {
        let count = self.count.min(u64::from(u32::MAX));
        [order << 1 | u64::from(self.must), super::memory::key(self.first), u64::from(self.reader.0) << 32 | count]
    }

    fn unpacked([order, key, rest]: [u64; 3]) -> (u64, Hit) {
        let first = Block { file: FileId((key >> 40) as u32), index: key & (Block::INDEX_LIMIT - 1) };
        let (reader, count) = (ReaderId((rest >> 32) as u32), rest & u64::from(u32::MAX));
        (order >> 1, Hit { reader, first, count, must: order & 1 != 0 })
    }
}

/// What is to be told: hits, and frames whose views are to be looked at.
#[derive(Default)]
pub struct Told {
    /// Hits. Those that must be told are numbered as they came; the others have the number of what was
    /// before them in their batch.
    pub hits: Vec<(u64, Hit)>,
    /// Frames that are viewed, perhaps without the manager's knowing it, or lost their last view.
    pub views: Vec<u32>,
    /// As they were taken; kept for its memory.
    taken: Vec<[u64; 3]>,
    frames: Vec<[u64; 1]>,
}

/// What one thread leaves. On lines of its own, or two threads would wait for each other's. What has
/// no word to others is written by the thread alone, and they but read it.
#[repr(align(128))]
#[derive(Default)]
struct Batch {
    hits: Trail<3>,
    /// Up to where hits go on that need not be told, as far as was seen: there is room, and nothing before
    /// them must be told.
    plain_until: AtomicU64,
    /// Frames whose views are to be looked at.
    views: Trail<1>,
    /// Which places for views are its own, counted from 1; beyond them all, it has none. 0 before its first
    /// view: threads that take none leave the places to others.
    places: AtomicUsize,
    /// Views that may be taken; whoever has none left takes it from others.
    allowance: AtomicUsize,
    /// Where the last hit ended that must be told, and what those since `weighed` weigh beyond one each.
    must_end: AtomicU64,
    weight: AtomicU64,
    weighed: AtomicU64,
    /// Where the batch ended of which was said that it is due.
    announced: AtomicU64,
    /// Blocks of hits but for their first ones.
    further: AtomicU64,
    /// Full batches since one was to be told, or was not as another had been told just before.
    spared: AtomicU64,
    /// Pages that had been given up when one was told last.
    given_up: AtomicU64,
    /// When that was, in milliseconds.
    told_at: AtomicU64,
    /// What it asks.
    slot: Slot,
}

/// What all threads look at, on a line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Alone(AtomicU64);

/// The batches.
pub struct Posts {
    /// No others have it, nor will.
    number: u64,
    batches: ThreadLocal<Batch>,
    /// Threads that viewed something so far; who begins has the batch of one that ended.
    threads: AtomicUsize,
    places: Box<[Places]>,
    /// Views that may be counted, those of them that are no thread's allowance, and how many a thread
    /// takes of them at once.
    counted_max: usize,
    allowance: AtomicUsize,
    portion: usize,
    begun: Instant,
    /// Pages that the manager gave up.
    given_up: Alone,
    /// Hits so far that must be told.
    numbers: Alone,
    /// Whether a batch is due that its thread could not hand over.
    due: Due,
}

/// Written when a thread finds that another speaks with the manager, and read after each session.
#[repr(align(128))]
#[derive(Default)]
struct Due(AtomicBool);

/// What a post led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// It waits to be told.
    Waits,
    /// The batch is to be handed over, if that is possible at once.
    Full,
    /// The batch is to be handed over, by who speaks with the manager if somebody does.
    Due,
    /// The batch is to be handed over.
    Must,
    /// Nothing waits, and the manager is to look at the views of this frame.
    Look(u32),
}

/// Adds to a number that only this thread writes.
#[inline]
fn add(to: &AtomicU64, count: u64) {
    to.store(to.load(Relaxed) + count, Relaxed);
}

impl Batch {
    /// Which places for views are its own, counted from 0.
    #[inline]
    fn places(&self) -> usize {
        self.places.load(Relaxed).wrapping_sub(1)
    }

    /// A hit, and what is to be done with the batch.
    #[inline]
    fn hit(&self, hit: Hit, posts: &Posts) -> Posted {
        if hit.must || hit.count > 1 {
            return self.weighty_hit(hit.packed(0), posts);
        }
        let end = self.hits.leave_in_room(hit.packed(0));
        if end < self.plain_until.load(Relaxed) { Posted::Waits } else { self.posted(posts) }
    }

    /// One of more blocks, or that must be told. It comes packed: to be handed over by reference, each
    /// hit would be written to memory first.
    fn weighty_hit(&self, packed: [u64; 3], posts: &Posts) -> Posted {
        let (_, hit) = Hit::unpacked(packed);
        add(&self.further, hit.count - 1);
        let order = if hit.must { posts.numbers.0.fetch_add(1, Relaxed) } else { 0 };
        let begin = self.hits.entries().begin;
        let end = self.hits.leave(hit.packed(order));
        if hit.must_be_told() {
            // Those before were taken.
            if begin > self.weighed.load(Relaxed) {
                self.weight.store(0, Relaxed);
                self.weighed.store(begin, Relaxed);
            }
            add(&self.weight, MUST_WEIGHT * hit.count - 1);
            self.must_end.store(end, Relaxed);
        }
        self.posted(posts)
    }

    fn must(&self) -> bool {
        self.must_end.load(Relaxed) > self.hits.entries().begin
    }

    /// What is to be done with it now.
    #[cold]
    fn posted(&self, posts: &Posts) -> Posted {
        let (hits, views, must) = (self.hits.len(), self.views.len(), self.must());
        self.plain_until.store(if must { 0 } else { self.hits.entries().begin + ROOM as u64 }, Relaxed);
        let weight = if must { hits as u64 + self.weight.load(Relaxed) } else { 0 };
        if views >= ROOM || must && (hits >= ROOM || weight >= MUST_WEIGHT * LAG_MAX) {
            return Posted::Must;
        }
        if weight >= ROOM as u64 && !self.is_announced() {
            return Posted::Due;
        }
        if hits < ROOM {
            return Posted::Waits;
        }
        self.full(posts.given_up.0.load(Relaxed), || posts.now())
    }

    /// That it is due was said, and nobody took it since.
    fn is_announced(&self) -> bool {
        self.announced.load(Relaxed) > self.hits.entries().begin
    }

    fn announce(&self) {
        self.announced.store(self.hits.entries().end, Relaxed);
    }

    fn full(&self, given_up: u64, now: impl FnOnce() -> u64) -> Posted {
        add(&self.spared, 1);
        if self.given_up.load(Relaxed) == given_up && !self.is_due_by_now(now) {
            self.forget();
            return Posted::Waits;
        }
        self.spared.store(0, Relaxed);
        Posted::Full
    }

    /// It was full, and was told.
    fn told(&self, given_up: u64, now: u64) {
        self.given_up.store(given_up, Relaxed);
        self.told_at.store(now, Relaxed);
    }

    /// Whether one that need not be told is.
    fn is_due_by_now(&self, now: impl FnOnce() -> u64) -> bool {
        if self.spared.load(Relaxed) < SPARED {
            return false;
        }
        self.spared.store(0, Relaxed);
        now() >= self.told_at.load(Relaxed) + PAUSE
    }

    /// Forgets its hits, unless one must be told.
    fn forget(&self) {
        if !self.must() {
            self.hits.forget();
            self.plain_until.store(self.hits.count() + ROOM as u64, Relaxed);
        }
    }

    /// Takes all that waits to be told.
    fn collect(&self, into: &mut Told) {
        self.hits.take(&mut into.taken);
        let mut before = 0;
        into.hits.extend(into.taken.drain(..).map(|entry| {
            let (order, hit) = Hit::unpacked(entry);
            before = if hit.must { order } else { before };
            (before, hit)
        }));
        self.views.take(&mut into.frames);
        into.views.extend(into.frames.drain(..).map(|[frame]| frame as u32));
    }
}

impl Posts {
    /// No posts, and so many views at most.
    pub fn new(views_max: usize) -> Self {
        let (threads, each) = Places::shared(views_max);
        let counted_max = views_max - threads * each;
        Posts {
            number: NUMBER.fetch_add(1, Relaxed) + 1,
            batches: ThreadLocal::new(),
            threads: AtomicUsize::new(0),
            places: (0..threads).map(|_| Places::new(each)).collect(),
            counted_max,
            allowance: AtomicUsize::new(counted_max),
            portion: (counted_max / (4 * THREADS)).clamp(1, ROOM),
            begun: Instant::now(),
            given_up: Alone::default(),
            numbers: Alone::default(),
            due: Due::default(),
        }
    }

    /// This thread's, unless it is ending.
    #[inline]
    fn own(&self) -> Option<&Batch> {
        let (number, batch) = LAST.get();
        if number != self.number {
            return self.look_up();
        }
        // SAFETY: it is of these posts, by their number, and batches lie where they are for as long as the
        // posts are there.
        Some(unsafe { &*batch })
    }

    #[cold]
    fn look_up(&self) -> Option<&Batch> {
        if HAS_ENDED.get() {
            return None;
        }
        let batch = self.batches.get_or(Batch::default);
        ENDING.with(|_| ());
        LAST.set((self.number, batch));
        Some(batch)
    }

    /// A hit.
    #[inline]
    pub fn hit(&self, hit: Hit) -> Posted {
        self.own().map_or(Posted::Waits, |batch| batch.hit(hit, self))
    }

    /// A view of a frame was taken, and perhaps the manager does not know that there are any. None if
    /// there may be no more views.
    #[inline]
    pub fn view(&self, frame: u32, untold: bool, hit: Option<Hit>) -> Option<(Viewed, Posted)> {
        let Some(batch) = self.own() else { return self.count_of_none(frame) };
        let (viewed, is_full) = match self.place(batch, frame) {
            Some(viewed) => (viewed, false),
            None => self.count(batch, frame, untold)?,
        };
        let posted = hit.map_or(Posted::Waits, |hit| batch.hit(hit, self));
        Some((viewed, if is_full { Posted::Must } else { posted }))
    }

    /// Notes a view in a place of its thread's own, if one is free.
    #[inline]
    fn place(&self, batch: &Batch, frame: u32) -> Option<Viewed> {
        let own = batch.places();
        let at = self.places.get(own)?.note(frame)?;
        Some(Viewed::new(frame, (own * PLACES + at) as u32))
    }

    /// Counts a view, if there may be one more, and its thread has no place for it. Whether there is no
    /// room for another to be told, too.
    #[cold]
    fn count(&self, batch: &Batch, frame: u32, untold: bool) -> Option<(Viewed, bool)> {
        if batch.places.load(Relaxed) == 0 {
            batch.places.store(self.threads.fetch_add(1, Relaxed) + 1, Relaxed);
            if let Some(viewed) = self.place(batch, frame) {
                return Some((viewed, false));
            }
        }
        if !self.take_allowance(batch) {
            self.gather_allowances();
            if !self.take_allowance(batch) {
                return None;
            }
        }
        if untold {
            batch.views.leave([u64::from(frame)]);
        }
        Some((Viewed::new(frame, COUNTED), batch.views.len() >= ROOM))
    }

    /// Counts a view of a thread that is ending.
    #[cold]
    fn count_of_none(&self, frame: u32) -> Option<(Viewed, Posted)> {
        let less = |left: usize| left.checked_sub(1);
        self.allowance.fetch_update(AcqRel, Acquire, less).ok()?;
        Some((Viewed::new(frame, COUNTED), Posted::Look(frame)))
    }

    /// Makes what threads may take and have not taken anybody's.
    #[cold]
    fn gather_allowances(&self) {
        for batch in &self.batches {
            self.allowance.fetch_add(batch.allowance.swap(0, AcqRel), AcqRel);
        }
    }

    /// Takes one of what a thread may take. Whether there was one.
    fn take_allowance(&self, batch: &Batch) -> bool {
        let less = |left: usize| left.checked_sub(1);
        batch.allowance.fetch_update(AcqRel, Relaxed, less).is_ok() || self.begin_portion(batch)
    }

    /// Gives a thread a portion, of which it takes one at once. Whether there was one.
    #[cold]
    fn begin_portion(&self, batch: &Batch) -> bool {
        let take = |left: usize| (left > 0).then(|| left - left.min(self.portion));
        let Ok(before) = self.allowance.fetch_update(AcqRel, Acquire, take) else { return false };
        batch.allowance.fetch_add(before.min(self.portion) - 1, AcqRel);
        true
    }

    /// A view was given back: its frame's last one, perhaps, and the manager was told of views.
    #[inline]
    pub fn unview(&self, viewed: Viewed, tell: bool) -> Posted {
        if viewed.place() != COUNTED {
            let at = viewed.place() as usize;
            self.places[at / PLACES].free(at % PLACES);
            // Nobody was told that it came: nobody need be told that it went.
            if !tell {
                return Posted::Waits;
            }
        }
        self.unview_told(viewed, tell)
    }

    #[cold]
    fn unview_told(&self, viewed: Viewed, tell: bool) -> Posted {
        let Some(batch) = self.own() else {
            if viewed.place() == COUNTED {
                self.allowance.fetch_add(1, AcqRel);
            }
            return Posted::Look(viewed.frame());
        };
        if viewed.place() == COUNTED && batch.allowance.fetch_add(1, AcqRel) >= 2 * self.portion {
            self.return_portion(batch);
        }
        if tell {
            batch.views.leave([u64::from(viewed.frame())]);
        }
        batch.posted(self)
    }

    #[cold]
    fn return_portion(&self, batch: &Batch) {
        let less = |left: usize| left.checked_sub(self.portion);
        if batch.allowance.fetch_update(AcqRel, Relaxed, less).is_ok() {
            self.allowance.fetch_add(self.portion, AcqRel);
        }
    }

    /// Milliseconds since there are posts.
    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    /// This thread's batch was full, and was told. By who still speaks with the manager: what that gives up
    /// next, it has not been told of.
    pub fn told(&self) {
        self.own().into_iter().for_each(|batch| batch.told(self.given_up.0.load(Relaxed), self.now()));
    }

    /// Forgets this thread's hits, if none of them must be told.
    pub fn forget(&self) {
        self.own().into_iter().for_each(Batch::forget);
    }

    /// This thread's batch is due, and another speaks with the manager. Returns whether nothing was due
    /// before: then this thread must try once more to speak, as the other may have looked already.
    /// Else whoever made it due has seen to it that somebody looks. Until the batch is taken, nothing
    /// more is done for it before it holds [`LAG_MAX`] blocks.
    pub fn make_due(&self) -> bool {
        self.own().into_iter().for_each(Batch::announce);
        let is_new = !self.due.0.swap(true, AcqRel);
        fence(SeqCst);
        is_new
    }

    /// Whether a batch became due meanwhile. By who has just spoken with the manager.
    pub fn is_due(&self) -> bool {
        fence(SeqCst);
        self.due.0.load(Acquire)
    }

    /// Takes all that waits to be told, and puts it in order: a reader may read by one thread and then by
    /// another, and what it disclosed is followed by what it reads. What is left meanwhile comes next
    /// time, though it may be of before. By one at a time.
    pub fn collect(&self, into: &mut Told) {
        if self.due.0.load(Relaxed) {
            self.due.0.swap(false, AcqRel);
        }
        let mut batches = 0;
        for batch in &self.batches {
            let before = into.hits.len();
            batch.collect(into);
            into.views.extend(self.places.get(batch.places()).into_iter().flat_map(Places::frames));
            batches += usize::from(into.hits.len() > before);
        }
        if batches > 1 {
            into.hits.sort_by_key(|&(order, _)| order);
        }
    }

    /// Where this thread leaves what it asks, unless it is ending.
    pub fn slot(&self) -> Option<&Slot> {
        self.own().map(|batch| &batch.slot)
    }

    /// Where something is asked.
    pub fn asked(&self) -> impl Iterator<Item = &Slot> {
        self.batches.iter().map(|batch| &batch.slot).filter(|slot| slot.is_asked())
    }

    /// So many pages the manager has given up by now.
    pub fn gave_up(&self, pages: u64) {
        if self.given_up.0.load(Relaxed) != pages {
            self.given_up.0.store(pages, Relaxed);
        }
    }

    /// Blocks that were found here, told or forgotten.
    pub fn found(&self) -> u64 {
        self.batches.iter().map(|batch| batch.hits.count() + batch.further.load(Relaxed)).sum()
    }

    /// Views that there are.
    pub fn views(&self) -> usize {
        let own: usize = self.batches.iter().map(|batch| batch.allowance.load(Acquire)).sum();
        let counted = self.counted_max.saturating_sub(own + self.allowance.load(Acquire));
        counted + self.places.iter().flat_map(Places::frames).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::{PLACES_FIRST, PLACES_PART, THREADS_FIRST};
    use super::*;
    use std::sync::OnceLock;
    use std::time::Duration;

    fn hit(must: bool) -> Hit {
        Hit { reader: ReaderId(1), first: Block { file: FileId(0), index: 0 }, count: 1, must }
    }

    fn collected(posts: &Posts) -> (usize, Vec<u32>) {
        let mut told = Told::default();
        posts.collect(&mut told);
        (told.hits.len(), told.views)
    }

    #[test]
    fn hits_are_told_in_batches_and_few_of_them_while_nothing_is_given_up() {
        let mut posts = Posts::new(8);
        posts.begun -= Duration::from_secs(1);
        // How many of so many batches are full, where this is done with those.
        let full = |batches: u64, done: fn(&Posts)| {
            let hits = 0..ROOM as u64 * batches;
            let full = hits.filter(|_| posts.hit(hit(false)) == Posted::Full);
            full.inspect(|_| (done(&posts), posts.forget()).1).count() as u64
        };
        // While another speaks with the manager, and they are not told.
        assert_eq!(full(400, |_| ()), 400 / SPARED);
        assert!((1..=400 / SPARED).contains(&full(400, Posts::told)));
        posts.gave_up(1);
        assert_eq!([full(4, |_| ()), full(4, Posts::told)], [4, 1]);
        posts.gave_up(2);
        assert_eq!(posts.hit(hit(true)), Posted::Waits);
        let waits = (0..).take_while(|_| posts.hit(hit(true)) == Posted::Waits).count();
        assert!(waits < LONG as usize, "{waits}");
        posts.forget();
        assert!(collected(&posts).0 > waits, "what must be told was forgotten");
        assert_eq!(collected(&posts).0, 0);
        assert_eq!(posts.found(), (ROOM * 808 + 2 + waits) as u64);
    }

    #[test]
    fn of_who_reads_quickly_few_are_told_while_nothing_is_given_up() {
        // How many of some batches are told, and how often it was asked what time it is.
        let told_of = |batch: &Batch, batches: u64, given_up: u64, at: &dyn Fn(u64) -> u64| {
            let asked = Cell::new(0);
            let is_told = |&number: &u64| {
                let now = || (asked.set(asked.get() + 1), at(number)).1;
                let is_told = batch.full(given_up, now) == Posted::Full;
                if is_told {
                    batch.told(given_up, at(number));
                }
                is_told
            };
            ((0..batches).filter(is_told).count(), asked.get())
        };
        // One each so many milliseconds.
        let told =
            |batch: &Batch, each: u64, given_up: u64| told_of(batch, SPARED * 40, given_up, &|number| number * each).0;
        assert_eq!([1, PAUSE].map(|each| told(&Batch::default(), each, 0)), [40, 40], "of who takes its time");
        let batch = Batch::default();
        assert_eq!([0, 0, 1, 1, 2].map(|given_up| told(&batch, 0, given_up)), [0, 0, 1, 0, 1]);
        // A hundred each millisecond: of those that are looked at, 1.28 ms apart, each eighth is.
        assert_eq!(told_of(&Batch::default(), SPARED * 400, 0, &|number| number / 100), (50, 400));
    }

    #[test]
    fn what_must_be_told_is_in_order_whichever_thread_it_is_of() {
        let posts = Posts::new(8);
        let hit_at = |index| posts.hit(Hit { first: Block { file: FileId(0), index }, ..hit(index % 5 != 4) });
        for index in 0..40 {
            if index % 3 == 0 {
                std::thread::scope(|scope| drop(scope.spawn(|| hit_at(index))));
            } else {
                hit_at(index);
            }
        }
        let mut told = Told::default();
        posts.collect(&mut told);
        let told: Vec<_> =
            told.hits.iter().map(|(_, hit)| hit).filter(|hit| hit.must).map(|it| it.first.index).collect();
        assert!(told.is_sorted() && told.len() == 32, "{told:?}");
    }

    #[test]
    fn a_long_read_is_told_at_once_or_when_another_has_spoken() {
        let posts = Posts::new(8);
        let long = |count| posts.hit(Hit { count, ..hit(false) });
        assert_eq!([LONG - 1, LONG].map(long), [Posted::Waits, Posted::Due]);
        assert_eq!(collected(&posts).0, 2);
        // While nobody takes it.
        assert_eq!([long(LONG), long(1)], [Posted::Due; 2]);
        assert_eq!([posts.make_due(), posts.make_due()], [true, false]);
        assert_eq!(long(LAG_MAX - LONG - 1), Posted::Waits, "it was said");
        assert_eq!((posts.hit(hit(true)), collected(&posts).0), (Posted::Must, 4));
        assert!(!posts.is_due() && long(LONG) == Posted::Due, "it was taken");
        assert_eq!(collected(&posts).0, 1);
        assert_eq!(long(LAG_MAX), Posted::Must);
    }

    #[test]
    fn a_view_that_was_given_back_in_time_is_not_told() {
        let posts = Posts::new(THREADS_FIRST * PLACES * PLACES_PART);
        let view = |frame| posts.view(frame, true, None).unwrap().0;
        posts.unview(view(7), false);
        assert_eq!(collected(&posts), (0, vec![]));
        let viewed = view(7);
        assert_eq!((viewed.frame(), collected(&posts), posts.views()), (7, (0, vec![7]), 1));
        posts.unview(viewed, true);
        let viewed = view(8);
        assert_eq!(collected(&posts), (0, vec![7, 8]));
        // By whichever thread.
        std::thread::scope(|scope| _ = scope.spawn(|| posts.unview(viewed, false)));
        assert_eq!((collected(&posts), posts.views()), ((0, vec![]), 0));
    }

    #[test]
    fn few_places_are_for_several_threads_and_many_for_many() {
        let shared = [0, 31, 32, 128, 512, 2048, 8192, 1 << 20].map(Places::shared);
        assert_eq!(shared, [(0, 0), (0, 1), (1, 2), (4, 2), (16, 2), (16, 8), (64, 8), (64, 8)]);
        let posts = Posts::new(32);
        let all: Vec<_> = (0..3).map(|frame| posts.view(frame, true, None).unwrap().0).collect();
        assert_eq!(all.iter().map(|it| it.place()).collect::<Vec<_>>(), [0, 1, COUNTED]);
        assert_eq!((posts.views(), collected(&posts).1.len()), (3, 3));
    }

    #[test]
    fn who_has_no_place_left_counts_and_tells() {
        let posts = Posts::new(THREADS_FIRST * PLACES * PLACES_PART);
        let all: Vec<_> = (0..20).map(|frame| posts.view(frame, frame != 19, None).unwrap().0).collect();
        let counted = all.iter().filter(|viewed| viewed.place() == COUNTED).count();
        assert_eq!((counted, posts.views()), (20 - PLACES, 20));
        let mut told = collected(&posts).1;
        told.sort();
        assert_eq!(told, (0..19).collect::<Vec<_>>());
        all.iter().for_each(|&viewed| _ = posts.unview(viewed, viewed.frame() % 2 == 0));
        assert_eq!((collected(&posts).1, posts.views()), ((0..20).step_by(2).collect(), 0));
    }

    #[test]
    fn hits_of_views_are_told_after_what_was_given_up_however_they_are_noted() {
        for views_max in [PLACES_FIRST * PLACES_PART - 1, PLACES_FIRST * PLACES_PART] {
            let posts = Posts::new(views_max);
            let mut told = 0;
            for number in 0..ROOM as u64 * 100 {
                posts.gave_up(number / ROOM as u64);
                let (viewed, posted) = posts.view(3, true, Some(hit(false))).unwrap();
                if posted != Posted::Waits {
                    told += collected(&posts).0;
                }
                posts.unview(viewed, false);
            }
            assert!(told >= ROOM * 98, "{told} with {views_max} views at most");
        }
    }

    #[test]
    fn a_thread_that_is_ending_may_take_and_give_back_views() {
        static POSTS: OnceLock<Posts> = OnceLock::new();
        struct Last(Cell<Option<Viewed>>);
        impl Drop for Last {
            fn drop(&mut self) {
                let posts = POSTS.get().unwrap();
                assert_eq!(posts.hit(hit(true)), Posted::Waits);
                let (viewed, posted) = posts.view(9, true, None).unwrap();
                assert_eq!((posted, posts.unview(viewed, true)), (Posted::Look(9), Posted::Look(9)));
                assert_eq!(posts.unview(self.0.take().unwrap(), true), Posted::Look(7));
                posts.forget();
            }
        }
        thread_local!(static LAST: Last = const { Last(Cell::new(None)) });
        let posts = POSTS.get_or_init(|| Posts::new(THREADS_FIRST * PLACES * PLACES_PART));
        std::thread::spawn(|| {
            // Made first, it goes last.
            LAST.with(|last| last.0.set(Some(posts.view(7, true, None).unwrap().0)));
        })
        .join()
        .unwrap();
        assert_eq!(posts.views(), 0);
    }

    #[test]
    fn a_thread_leaves_to_each_cache_what_is_for_it() {
        let mut all = Vec::from([0, 1].map(|_| Posts::new(8)));
        // The one that is replaced comes last, and first then.
        let leave = |posts: &[Posts]| [1, 0, 0, 1, 1].map(|at| posts[at].hit(hit(false)));
        leave(&all);
        assert_eq!(all.iter().map(|posts| collected(posts).0).collect::<Vec<_>>(), [2, 3]);
        // Where one was, another may be.
        let place = &raw const all[1];
        drop(all.pop());
        all.push(Posts::new(8));
        assert_eq!(place, &raw const all[1]);
        leave(&all);
        assert_eq!(all.iter().map(Posts::found).collect::<Vec<_>>(), [4, 3]);
    }

    #[test]
    fn what_a_thread_may_take_and_does_not_is_anybodys() {
        let posts = Posts::new(2);
        for _ in 0..8 {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let both = [0, 1].map(|frame| posts.view(frame, true, None).unwrap().0);
                    both.iter().for_each(|viewed| _ = posts.unview(*viewed, false));
                });
            });
        }
        assert_eq!(posts.views(), 0);
    }

    #[test]
    fn there_are_no_more_views_than_may_be() {
        for views_max in [3, 64, PLACES * PLACES_PART, 20 * PLACES * PLACES_PART] {
            let posts = Posts::new(views_max);
            let view = |frame| {
                let (viewed, posted) = posts.view(frame, true, None)?;
                if posted == Posted::Must {
                    collected(&posts);
                }
                Some(viewed)
            };
            let left = std::thread::scope(|scope| scope.spawn(|| view(0).unwrap()).join().unwrap());
            let all: Vec<_> = (1..).map_while(view).collect();
            let (threads, each) = Places::shared(views_max);
            let places = threads * each;
            // Another thread's places are its own.
            assert!((views_max - places..=views_max).contains(&(all.len() + 1)), "{} of {views_max}", all.len());
            assert_eq!(posts.views(), all.len() + 1);
            posts.unview(left, false);
            assert_eq!(posts.views(), all.len());
            all.iter().for_each(|&viewed| _ = posts.unview(viewed, false));
            assert_eq!(posts.views(), 0);
        }
    }
}
