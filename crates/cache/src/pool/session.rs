//! To speak with the manager: one at a time, after all that hits have left to be told.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};
use std::thread;

use foresee_manager::{Block, Counted, Demand, Event, Manager, Reply, Site, WaiterId, Withdrawn};

use super::asked::{Asked, Own};
use super::fetch::Done;
use super::gone::Gone;
use super::host::PoolHost;
use super::posts::Hit;
use super::read::Who;
use super::second::Offered;
use super::wait::Wait;
use super::{Pool, State};

/// How often those who ask are looked for before it ends, and how many of them are answered then.
const ROUNDS: usize = 2;
const ANSWERS: usize = 16;

/// How often who has spoken tells what became due meanwhile. Who makes more of it due all the time
/// tells that itself, a batch's weight later.
const DUE_ROUNDS: usize = 2;

/// A conversation with the manager: whoever else wants one waits.
pub struct Session<'p> {
    pool: &'p Pool,
    state: MutexGuard<'p, State>,
    /// What goes after the lock, in this order: what others could not tell meanwhile is told, then goes
    /// what plans withdrew, and what is left.
    _due: Option<Due<'p>>,
    withdrawn: Option<Withdrawn>,
    left: Taking<'p>,
}

/// What is a program's code to take and to let go, when nobody waits for it: what came for futures, and
/// objects that nothing holds any more.
#[derive(Default)]
pub struct Left {
    came: Vec<Arc<Wait>>,
    gone: Gone,
}

/// Tells what is due when it goes itself.
struct Due<'p>(&'p Pool);

impl Drop for Due<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.0.tell_due();
        }
    }
}

/// Takes it when it goes itself.
struct Taking<'p>(&'p Pool, Left);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.take_left(std::mem::take(&mut self.1));
    }
}

impl Pool {
    /// Begins one, when all others are over.
    pub fn session(&self) -> Session<'_> {
        // Nobody panics in one, unless the manager does: then what it knows is still what it was told.
        Session::begin(self, self.state.lock().unwrap_or_else(PoisonError::into_inner), Some(Due(self)))
    }

    /// Begins one, if there is none.
    pub fn session_at_once(&self) -> Option<Session<'_>> {
        self.try_state().map(|state| Session::begin(self, state, Some(Due(self))))
    }

    fn try_state(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Begins one, when all others are over, unless there is no need for it by then: then it is for the
    /// caller to tell what is due.
    pub fn session_unless(&self, is_needless: impl FnOnce() -> bool) -> Option<Session<'_>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (!is_needless()).then(|| Session::begin(self, state, Some(Due(self))))
    }

    /// Tells what became due while the lock was held, unless somebody else has it by now, who looks
    /// for that as well. To be called by who had the lock, without it.
    pub(super) fn tell_due(&self) {
        for _ in 0..DUE_ROUNDS {
            let state = if self.posts.is_due() { self.try_state() } else { None };
            let Some(state) = state else { return };
            drop(Session::begin(self, state, None));
        }
    }

    /// Takes what came for futures, and lets objects go. To be called without any lock.
    pub(super) fn take_left(&self, left: Left) {
        left.came.iter().for_each(|wait| self.take(wait));
    }
}

impl<'p> Session<'p> {
    fn begin(pool: &'p Pool, mut state: MutexGuard<'p, State>, due: Option<Due<'p>>) -> Self {
        state.driver.host.tick();
        let left = Taking(pool, Left::default());
        let mut session = Session { pool, state, _due: due, withdrawn: None, left };
        session.tell_posts();
        session
    }

    /// Tells what hits have left.
    fn tell_posts(&mut self) {
        let mut told = std::mem::take(&mut self.state.told);
        self.pool.posts.collect(&mut told);
        // Views first: what is viewed is not to be given up for what is told next.
        for frame in told.views.drain(..) {
            self.tell_views(frame);
        }
        for (_, hit) in told.hits.drain(..) {
            self.tell_hit(hit);
        }
        self.state.told = told;
    }

    /// What a reader asks.
    pub fn answer(&mut self, asked: Asked) -> Own {
        match asked {
            Asked::Blocks { who, first, count, wait } => {
                self.wait_for(who, first, count, &wait);
                self.host().take_demanded(first.file, first.index..first.index + count)
            }
            Asked::Done(done) => {
                self.done(done);
                None
            }
        }
    }

    /// What is left by now.
    pub fn take_left(&mut self) -> Left {
        let host = self.host();
        Left { came: std::mem::take(&mut host.came), gone: host.objects.take_gone() }
    }

    /// Keeps what is left until the session is over.
    fn keep_left(&mut self) {
        let Left { came, gone } = self.take_left();
        self.left.1.came.extend(came);
        self.left.1.gone.join(gone);
    }

    /// Answers those who asked meanwhile, and tells what is due; some of them may ask again.
    pub(super) fn answer_others(&mut self) {
        for _ in 0..ROUNDS {
            let mut asked = [None; ANSWERS];
            asked.iter_mut().zip(self.pool.posts.asked()).for_each(|(it, slot)| *it = Some(slot));
            if asked[0].is_none() && !self.pool.posts.is_due() {
                return;
            }
            self.keep_left();
            self.host().tick();
            // A reader may read by one thread, and then ask by another.
            self.tell_posts();
            asked.into_iter().flatten().for_each(|slot| slot.answer(self));
        }
    }

    /// A reader waits for blocks that are not here, or not all.
    pub fn wait_for(&mut self, who: Who, first: Block, count: u64, wait: &Arc<Wait>) -> WaiterId {
        let waiter = self.host().wait(first, count, wait);
        let demand = Demand::Served(waiter);
        let Block { file, index } = first;
        let counted =
            self.tell(Event::Reference { reader: who.reader, site: Site(0), file, first: index, count, demand });
        self.pool.served_hits.fetch_add(counted.hits, Relaxed);
        waiter
    }

    /// The host.
    pub fn host(&mut self) -> &mut PoolHost {
        &mut self.state.driver.host
    }

    /// What the manager knows, to look at.
    pub fn manager(&self) -> &Manager {
        self.state.driver.manager()
    }

    /// Tells the manager something.
    pub fn tell(&mut self, event: Event) -> Counted {
        self.state.driver.tell(event, PoolHost::hear)
    }

    /// Nobody waits for these blocks any more who did so with this.
    pub fn abandon(&mut self, waiter: WaiterId, first: Block, count: u64, wait: &Arc<Wait>) {
        self.host().forget(first, count, wait);
        self.host().abandoned(waiter);
        self.tell(Event::Abandoned { waiter });
    }

    /// Tells the manager that a reader withdraws what it disclosed.
    pub fn withdraw(mut self, event: Event) {
        self.tell(event);
        self.withdrawn = Some(self.state.driver.withdrawn());
    }

    /// Tells the manager something that it answers.
    pub fn ask(&mut self, event: Event) -> Option<Reply> {
        self.host().answer = None;
        self.tell(event);
        self.host().answer.take()
    }

    /// The manager forgets files of which nothing is left, and others may have their numbers. A log
    /// says once what each is called.
    pub fn forget_outworn(&mut self) {
        if self.pool.log.is_some() {
            return;
        }
        for file in self.host().objects.outworn() {
            if self.manager().is_forgettable(file) {
                self.tell(Event::FileForgotten { file });
                self.host().forgotten(file);
            }
        }
    }

    /// A task is done.
    pub fn done(&mut self, done: Done) {
        if let Some(event) = self.host().done(done) {
            self.tell(event);
        }
    }

    /// Tells what the manager is to hear of a frame's views.
    pub fn tell_views(&mut self, frame: u32) {
        for event in self.host().viewed(frame) {
            self.tell(event);
        }
    }

    fn tell_hit(&mut self, Hit { reader, first, count, .. }: Hit) {
        // What went meanwhile was a hit all the same; but told of it, the manager would take it for here
        // again.
        let (mut index, end) = (first.index, first.index + count);
        while index < end {
            let is_here = |index: &u64| self.manager().is_present(Block { index: *index, ..first });
            let here = (index..end).take_while(is_here).count() as u64;
            if here > 0 {
                let (site, demand, file) = (Site(0), Demand::Observed, first.file);
                self.tell(Event::Reference { reader, site, file, first: index, count: here, demand });
            }
            index += here + 1;
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.answer_others();
        }
        loop {
            while let Some(event) = self.host().correction() {
                self.tell(event);
            }
            let offered = self.host().offered();
            if offered.is_empty() {
                break;
            }
            let with_standing = |it: Offered| (self.manager().standing(it.block), it);
            let judged = offered.into_iter().map(with_standing).collect();
            self.host().judge(judged);
        }
        self.host().begin_keeping();
        self.host().hand_over_demanded();
        let given_up = self.manager().statistics().evictions;
        self.pool.posts.gave_up(given_up);
        self.pool.memory.gave_up(given_up);
        self.keep_left();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering::{Acquire, Release};
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use foresee_manager::{Config, FileId, ReaderId};
    use foresee_store::{Memory as Bytes, Store};

    use super::super::posts::Told;
    use super::super::trail::ROOM;
    use super::super::{Memory, Opened, StoreId};
    use super::*;

    const WHO: Who = Who { reader: ReaderId(0), disclosed: true };

    fn over(bytes: Bytes) -> Vec<(String, Arc<dyn Store>)> {
        vec![("test".to_owned(), Arc::new(bytes))]
    }

    /// A pool with a file of so many blocks, all of them here.
    fn pool_with(blocks: u64) -> (Arc<Pool>, FileId) {
        pool_of(1024, blocks)
    }

    /// One of so many frames, and what is here of such a file once it was read.
    fn pool_of(frames: usize, blocks: u64) -> (Arc<Pool>, FileId) {
        let (memory, config) = (Memory::new(frames, 4096).unwrap(), Config::new(frames as u64, "lru".parse().unwrap()));
        let bytes = Bytes::default();
        bytes.put("a", vec![1; blocks as usize * 4096]);
        let pool = Pool::new(memory, &config, over(bytes), None, None).unwrap();
        let opened = Opened::open(pool.store(StoreId(0)), "a").unwrap();
        let file = pool.opened(StoreId(0), "a", &opened).unwrap();
        pool.read(WHO, file, 0, &mut vec![0; blocks as usize * 4096]).unwrap();
        drop(pool.session());
        (pool, file)
    }

    /// References that the manager was told. No session: that would tell it.
    fn references(pool: &Pool) -> u64 {
        pool.state.lock().unwrap_or_else(PoisonError::into_inner).driver.manager().statistics().references
    }

    #[test]
    fn a_view_that_was_told_is_told_to_be_gone_whichever_post_told_it() {
        let (memory, config, bytes) =
            (Memory::new(8, 4096).unwrap(), Config::new(8, "lru".parse().unwrap()), Bytes::default());
        bytes.put("a", vec![1; 4096]);
        let pool = Pool::new(memory, &config, over(bytes), None, None).unwrap();
        let opened = Opened::open(pool.store(StoreId(0)), "a").unwrap();
        let file = pool.opened(StoreId(0), "a", &opened).unwrap();
        let (who, block) = (Who { reader: ReaderId(0), disclosed: false }, Block { file, index: 0 });
        let view = || pool.view(who, block, 0).unwrap().unwrap();
        pool.unview(view());
        // A post of that view was collected, and is looked into while there is another one.
        let mut told = Told::default();
        let state = pool.state.lock().unwrap();
        pool.posts.collect(&mut told);
        drop(state);
        let mut session = pool.session();
        let viewed = view();
        let frame = viewed.frame();
        let pinned = session.host().viewed(frame).count();
        drop(session);
        pool.unview(viewed);
        assert_eq!((pinned, pool.session().host().viewed(frame).count()), (1, 0));
    }

    #[test]
    fn what_went_before_its_hit_was_told_is_not_taken_for_here() {
        let (memory, config) = (Memory::new(8, 4096).unwrap(), Config::new(8, "lru".parse().unwrap()));
        let pool = Pool::new(memory, &config, over(Bytes::default()), None, None).unwrap();
        let first = Block { file: FileId(0), index: 3 };
        pool.posts.hit(Hit { reader: ReaderId(0), first, count: 2, must: true });
        let session = pool.session();
        assert_eq!((session.manager().is_present(first), session.manager().statistics().references), (false, 0));
    }

    #[test]
    fn who_finds_the_manager_busy_reads_on_for_some_blocks_and_is_told_after_that() {
        let (pool, file) = pool_with(200);
        let before = references(&pool);
        thread::scope(|scope| {
            let session = pool.session();
            let (sender, receiver) = channel();
            let pool = &*pool;
            scope.spawn(move || {
                for count in [9, 54, 20] {
                    pool.read(WHO, file, 0, &mut vec![0; count * 4096]).unwrap();
                    sender.send(count).unwrap();
                }
            });
            let read = || receiver.recv_timeout(Duration::from_secs(60));
            let both = [read(), read()];
            // Too far: this one waits.
            assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
            drop(session);
            assert_eq!((both, read()), ([Ok(9), Ok(54)], Ok(20)));
        });
        assert_eq!(references(&pool) - before, 9 + 54 + 20);
    }

    #[test]
    fn a_batch_that_could_not_be_told_as_the_manager_was_busy_is_made_up_for_by_the_next() {
        let (pool, file) = pool_of(64, 80);
        // Pages were given up as the file was read: one batch is to be told.
        let before = references(&pool);
        let state = pool.state.lock().unwrap();
        let who = Who { reader: ReaderId(0), disclosed: false };
        let read = || (0..ROOM).for_each(|_| pool.read(who, file, 79 * 4096, &mut [0]).unwrap());
        read();
        drop(state);
        let told = [(); 3].map(|()| (references(&pool) - before, read()).0);
        assert_eq!(told, [0, ROOM as u64, ROOM as u64]);
    }

    #[test]
    fn what_is_due_is_told_when_it_became_that_as_another_ended() {
        let (pool, file) = pool_with(9);
        let before = references(&pool);
        let (rounds, read, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        let late = thread::scope(|scope| {
            scope.spawn(|| {
                let mut buffer = [0; 9 * 4096];
                while !over.load(Acquire) {
                    if rounds.load(Acquire) > read.load(Relaxed) {
                        pool.read(WHO, file, 0, &mut buffer).unwrap();
                        read.fetch_add(1, Release);
                    }
                }
            });
            let begun = Instant::now();
            let mut late = 0;
            // Both at the same time, as often as there is time for.
            while begun.elapsed() < Duration::from_secs(1) {
                let round = rounds.fetch_add(1, Release) + 1;
                drop(pool.session());
                while read.load(Acquire) < round && begun.elapsed() < Duration::from_secs(60) {}
                late += u64::from(references(&pool) - before != round * 9);
            }
            over.store(true, Release);
            late
        });
        assert_eq!(late, 0, "of {rounds:?}");
    }
}
