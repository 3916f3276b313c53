//! What hits leave for the manager: a batch for each thread, handed over when it is full or when
//! somebody speaks with the manager anyway.
//!
//! A hit must not wait. What must be told is the first read of what was brought ahead, reads of who
//! disclosed what it reads, long reads, and views. Of the rest, a batch is forgotten if the manager
//! is spoken with just then; and what was used last matters when a page is given up, so that after
//! each of those a thread tells one batch, and else one in [`SPARED`].
//!
//! A long read may go on a run of which a part stayed here: what is missing behind that part is
//! read ahead when it is told, and else when somebody waits for it. To tell it takes a small part
//! of what it takes to copy it.
//!
//! Views are taken and given back here as well: a thread has an allowance of them, so that two
//! threads need not count on the same line.

use std::cell::Cell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foresee_manager::{Block, ReaderId};

/// Posts that a batch holds.
const BATCH: usize = 64;
/// Blocks of hits that must be told count as so many posts: what is read ahead goes by them.
const MUST_WEIGHT: usize = 8;
/// A read of so many blocks is long, and fills a batch.
const LONG: u64 = (BATCH / MUST_WEIGHT) as u64;
/// Of so many batches that need not be told, one is: to tell a hit takes ten times as long as to
/// have it.
const SPARED: u64 = 128;
/// Batches, a bit of a word each: threads share them if there are more.
const BATCHES: usize = u64::BITS as usize;

/// A reader found blocks here.
#[derive(Debug, Clone, Copy)]
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
}

/// What is to be told: hits, and frames whose views are to be looked at.
#[derive(Default)]
pub struct Told {
    /// Hits. Those that must be told are numbered as they came; the others have the number of what was
    /// before them in their batch.
    pub hits: Vec<(u64, Hit)>,
    /// Frames that are viewed without the manager's knowing it, or lost their last view.
    pub views: Vec<u32>,
}

#[derive(Default)]
struct Batch {
    posts: Told,
    weight: usize,
    must: bool,
    /// Blocks that were found here, told or forgotten.
    found: u64,
    /// Views that may be taken.
    allowance: usize,
    /// Batches that were spared since one was told, and what had been given up by then.
    spared: u64,
    given_up: u64,
}

/// On a line of its own, or two threads would wait for each other's.
#[repr(align(128))]
#[derive(Default)]
struct Shard(Mutex<Batch>);

/// Hits so far that must be told; on a line of its own, as all threads look at the rest.
#[repr(align(128))]
#[derive(Default)]
struct Numbers(AtomicU64);

/// The batches.
pub struct Posts {
    shards: Box<[Shard]>,
    /// Which of them are not empty: a bit each.
    waiting: AtomicU64,
    /// Views that there may be, and those of them that are no thread's allowance.
    views_max: usize,
    allowance: AtomicUsize,
    /// Pages that the manager gave up.
    given_up: AtomicU64,
    told: Numbers,
}

/// What a post led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// It waits to be told.
    Waits,
    /// The batch is to be handed over, if that is possible at once.
    Full,
    /// The batch is to be handed over.
    Must,
}

thread_local! {
    static BATCH_OF_THREAD: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[inline]
fn batch_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    BATCH_OF_THREAD.with(|it| {
        if it.get() == usize::MAX {
            it.set(NEXT.fetch_add(1, Relaxed) % BATCHES);
        }
        it.get()
    })
}

impl Batch {
    fn add(&mut self, hit: Hit, told: &Numbers) {
        self.found += hit.count;
        let before = || self.posts.hits.last().map_or(0, |&(order, _)| order);
        let order = if hit.must { told.0.fetch_add(1, Relaxed) } else { before() };
        self.posts.hits.push((order, hit));
        self.weight += if hit.must_be_told() { MUST_WEIGHT * hit.count.min(LONG) as usize } else { 1 };
        self.must |= hit.must_be_told();
    }

    /// What is to be done with it now.
    fn posted(&mut self, given_up: u64) -> Posted {
        if self.posts.views.len() >= BATCH || self.must && self.weight >= BATCH {
            return Posted::Must;
        }
        if self.weight < BATCH {
            return Posted::Waits;
        }
        self.spared += 1;
        if self.given_up == given_up && self.spared < SPARED {
            self.forget();
            return Posted::Waits;
        }
        (self.spared, self.given_up) = (0, given_up);
        Posted::Full
    }

    /// Forgets its hits, unless one must be told.
    fn forget(&mut self) {
        if !self.must {
            self.posts.hits.clear();
            self.weight = 0;
        }
    }
}

impl Posts {
    /// No posts, and so many views at most.
    pub fn new(views_max: usize) -> Self {
        let shards = (0..BATCHES).map(|_| Shard::default()).collect();
        let (waiting, given_up, told) = (AtomicU64::new(0), AtomicU64::new(0), Numbers::default());
        Posts { shards, waiting, views_max, allowance: AtomicUsize::new(views_max), given_up, told }
    }

    fn lock(shard: &Shard) -> MutexGuard<'_, Batch> {
        // Nothing is left half done in it.
        shard.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody else's, but for who collects it: it is waited for no longer than that takes.
    #[inline]
    fn own<T>(&self, act: impl FnOnce(&mut Batch) -> T) -> T {
        let at = batch_of_thread();
        let batch = &mut *Self::lock(&self.shards[at]);
        if self.waiting.load(Relaxed) & 1 << at == 0 {
            self.waiting.fetch_or(1 << at, Release);
        }
        act(batch)
    }

    /// A hit.
    #[inline]
    pub fn hit(&self, hit: Hit) -> Posted {
        self.own(|batch| {
            batch.add(hit, &self.told);
            batch.posted(self.given_up.load(Relaxed))
        })
    }

    /// A view of a frame was taken, and perhaps the manager does not know that there are any. None if
    /// there may be no more views.
    #[inline]
    pub fn view(&self, frame: u32, untold: bool, hit: Option<Hit>) -> Option<Posted> {
        self.view_of_allowance(frame, untold, hit).or_else(|| {
            self.gather_allowances();
            self.view_of_allowance(frame, untold, hit)
        })
    }

    /// Makes what threads may take and have not taken anybody's.
    fn gather_allowances(&self) {
        for shard in &self.shards {
            let allowance = std::mem::take(&mut Self::lock(shard).allowance);
            self.allowance.fetch_add(allowance, AcqRel);
        }
    }

    #[inline]
    fn view_of_allowance(&self, frame: u32, untold: bool, hit: Option<Hit>) -> Option<Posted> {
        self.own(|batch| {
            if batch.allowance == 0 {
                let take = |left: usize| Some(left - left.min(self.portion()));
                let before = self.allowance.fetch_update(AcqRel, Acquire, take).unwrap_or(0);
                batch.allowance = before.min(self.portion());
            }
            batch.allowance = batch.allowance.checked_sub(1)?;
            hit.into_iter().for_each(|hit| batch.add(hit, &self.told));
            if untold {
                batch.posts.views.push(frame);
            }
            Some(batch.posted(self.given_up.load(Relaxed)))
        })
    }

    /// A view of a frame was given back: the frame's last one, perhaps, of which the manager was
    /// told or not; and whether there is another one by now.
    #[inline]
    pub fn unview(&self, frame: u32, last: bool, told: bool, is_viewed: impl FnOnce() -> bool) -> Posted {
        self.own(|batch| {
            batch.allowance += 1;
            if batch.allowance > 2 * self.portion() {
                batch.allowance -= self.portion();
                self.allowance.fetch_add(self.portion(), AcqRel);
            }
            match (last, told) {
                (true, true) => batch.posts.views.push(frame),
                // Nobody was told that it came: nobody need be told that it went. But where threads share a
                // batch, the post may be of another view.
                (true, false) => _ = batch.posts.views.pop_if(|it| *it == frame && !is_viewed()),
                (false, _) => {}
            }
            batch.posted(self.given_up.load(Relaxed))
        })
    }

    /// What a thread takes of the allowance at once.
    fn portion(&self) -> usize {
        (self.views_max / (4 * BATCHES)).clamp(1, BATCH)
    }

    /// Forgets this thread's hits, if none of them must be told.
    pub fn forget(&self) {
        self.own(Batch::forget);
    }

    /// Takes all that waits to be told, and puts it in order: a reader may read by one thread and then by
    /// another, and what it disclosed is followed by what it reads. What is left meanwhile comes next
    /// time.
    pub fn collect(&self, into: &mut Told) {
        let mut waiting = self.waiting.swap(0, AcqRel);
        let is_of_one = waiting.is_power_of_two();
        while waiting != 0 {
            let batch = &mut *Self::lock(&self.shards[waiting.trailing_zeros() as usize]);
            waiting &= waiting - 1;
            into.hits.append(&mut batch.posts.hits);
            into.views.append(&mut batch.posts.views);
            batch.weight = 0;
            batch.must = false;
        }
        if !is_of_one {
            into.hits.sort_by_key(|&(order, _)| order);
        }
    }

    /// So many pages the manager has given up by now.
    pub fn gave_up(&self, pages: u64) {
        self.given_up.store(pages, Relaxed);
    }

    /// Blocks that were found here, told or forgotten.
    pub fn found(&self) -> u64 {
        self.shards.iter().map(|shard| Self::lock(shard).found).sum()
    }

    /// Views that there are.
    pub fn views(&self) -> usize {
        let own: usize = self.shards.iter().map(|shard| Self::lock(shard).allowance).sum();
        self.views_max.saturating_sub(own + self.allowance.load(Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foresee_manager::FileId;

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
        let posts = Posts::new(8);
        let full = |posts: &Posts| {
            (0..BATCH * 400).filter(|_| posts.hit(hit(false)) == Posted::Full).inspect(|_| posts.forget()).count()
        };
        assert_eq!(full(&posts), 400 / SPARED as usize);
        posts.gave_up(1);
        assert_eq!(posts.hit(hit(true)), Posted::Waits);
        let waits = (0..).take_while(|_| posts.hit(hit(true)) == Posted::Waits).count();
        assert!(waits < BATCH / MUST_WEIGHT, "{waits}");
        posts.forget();
        assert!(collected(&posts).0 > waits, "what must be told was forgotten");
        assert_eq!(collected(&posts).0, 0);
        assert_eq!(posts.found(), (BATCH * 400 + 2 + waits) as u64);
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
    fn a_long_read_is_told_at_once() {
        let posts = Posts::new(8);
        let long = |count| posts.hit(Hit { count, ..hit(false) });
        assert_eq!([LONG - 1, LONG].map(long), [Posted::Waits, Posted::Must]);
        assert_eq!(collected(&posts).0, 2);
    }

    #[test]
    fn a_view_that_was_given_back_in_time_is_not_told() {
        let posts = Posts::new(8);
        posts.view(7, true, None).unwrap();
        posts.unview(7, true, false, || false);
        assert_eq!(collected(&posts), (0, vec![]));
        posts.view(7, true, None).unwrap();
        assert_eq!(collected(&posts), (0, vec![7]));
        posts.unview(7, true, true, || false);
        posts.view(8, true, None).unwrap();
        assert_eq!(collected(&posts), (0, vec![7, 8]));
    }

    #[test]
    fn what_a_thread_may_take_and_does_not_is_anybodys() {
        let posts = Posts::new(2);
        for _ in 0..8 {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    assert!((0..2).all(|frame| posts.view(frame, true, None).is_some()));
                    (0..2).for_each(|frame| _ = posts.unview(frame, true, false, || false));
                });
            });
        }
        assert_eq!(posts.views(), 0);
    }

    #[test]
    fn there_are_no_more_views_than_may_be() {
        let posts = Posts::new(3);
        assert!((0..3).all(|frame| posts.view(frame, true, None).is_some()));
        assert_eq!((posts.view(3, true, None), posts.views()), (None, 3));
        posts.unview(0, true, false, || false);
        assert_eq!(posts.views(), 2);
        assert!(posts.view(3, true, None).is_some() && posts.view(0, true, None).is_none());
    }
}
