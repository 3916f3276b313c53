//! Readers: hits, and waiting for what is not here.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use foresee_manager::{Block, Class, Event, FileId, PULLED_AT_ONCE, ReaderId, Source, WaiterId};
use foresee_store::Error;

use super::Pool;
use super::asked::Asked;
use super::fetch::Task;
use super::frame::{LetGo, Pin, Taken};
use super::places::Viewed;
use super::posts::{Hit, Posted};
use super::session::Session;
use super::wait::Wait;

/// Blocks that one read waits for at once.
const REQUEST_BLOCKS_MAX: u64 = 256;

/// Who reads.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    /// The reader.
    pub reader: ReaderId,
    /// Whether it disclosed what it reads: then all it reads is told.
    pub disclosed: bool,
}

/// A frame that is pinned; as a view, it does not count as one yet.
pub struct Held<'p> {
    /// Whose it is.
    pub pool: &'p Pool,
    /// Which.
    pub frame: u32,
    /// What for.
    pub pin: Pin,
}

impl Held<'_> {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: it is pinned for as long as this lives.
        unsafe { self.pool.memory.bytes(self.frame) }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.pool.unpin(self.frame, self.pin);
    }
}

impl Pool {
    /// Lets go of a frame that no view counts for.
    #[inline]
    fn unpin(&self, frame: u32, pin: Pin) {
        self.let_go(frame, self.memory.frame(frame).unpin(pin));
    }

    #[inline]
    fn let_go(&self, frame: u32, led_to: LetGo) {
        if led_to != LetGo::default() {
            self.tell_let_go(frame, led_to);
        }
    }

    #[cold]
    fn tell_let_go(&self, frame: u32, LetGo { reclaim, tell }: LetGo) {
        if reclaim {
            self.session().host().reclaim(frame);
        }
        if tell {
            self.session().tell_views(frame);
        }
    }

    /// Hands over what hits have left, where that is due.
    #[inline]
    fn posted(&self, posted: Posted) {
        if posted != Posted::Waits {
            self.hand_over(posted);
        }
    }

    #[cold]
    fn hand_over(&self, posted: Posted) {
        match posted {
            Posted::Waits => {}
            Posted::Full => match self.session_at_once() {
                Some(_session) => self.posts.told(),
                None => self.posts.forget(),
            },
            // To begin a session is to tell what waits.
            Posted::Due => {
                if self.session_at_once().is_none() && self.posts.make_due() {
                    drop(self.session_at_once());
                }
            }
            Posted::Must => drop(self.session()),
            Posted::Look(frame) => self.session().tell_views(frame),
        }
    }

    /// Reads from `offset` on into a buffer that is not empty; all of it lies within the file.
    pub fn read(&self, who: Who, file: FileId, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let frame_bytes = self.memory.frame_bytes() as u64;
        let (mut first, end) = self.blocks_of(file, offset, buffer.len());
        while let Some((missed, count)) = self.read_on(who, first, end, offset, buffer) {
            self.fetch(who, missed, count, Pin::Copy, |at, held| {
                copy(held.bytes(), (missed.index + at) * frame_bytes, offset, buffer);
            })?;
            first.index = missed.index + count;
        }
        Ok(())
    }

    /// The first block of a read that is not empty, and where its last one ends.
    #[inline]
    pub(super) fn blocks_of(&self, file: FileId, offset: u64, len: usize) -> (Block, u64) {
        let (index, last) = (self.memory.block_of(offset), self.memory.block_of(offset + len as u64 - 1));
        (Block { file, index }, last + 1)
    }

    /// Copies what is here of the blocks up to `end`, up to the first one that is not. What is to
    /// be waited for next: the first of some blocks, and how many.
    #[inline]
    pub(super) fn read_on(
        &self,
        who: Who,
        first: Block,
        end: u64,
        offset: u64,
        buffer: &mut [u8],
    ) -> Option<(Block, u64)> {
        let index = first.index + self.read_here(who, first, end, offset, buffer);
        (index < end).then(|| (Block { index, ..first }, (end - index).min(REQUEST_BLOCKS_MAX)))
    }

    /// Copies what is here of the blocks up to `end`, up to the first one that is not. Returns how
    /// many.
    #[inline]
    fn read_here(&self, who: Who, first: Block, end: u64, offset: u64, buffer: &mut [u8]) -> u64 {
        let frame_bytes = self.memory.frame_bytes() as u64;
        let (mut index, mut must) = (first.index, who.disclosed);
        while index < end {
            let from = offset.saturating_sub(index * frame_bytes) as usize;
            let Some((held, taken)) = self.pin(Block { index, ..first }, Pin::Copy, from) else { break };
            must |= taken.first;
            copy(held.bytes(), index * frame_bytes, offset, buffer);
            index += 1;
        }
        let count = index - first.index;
        if count > 0 {
            self.posted(self.posts.hit(Hit { reader: who.reader, first, count, must }));
        }
        count
    }

    /// Pins a block that is here, to be read from this byte on.
    #[inline]
    fn pin(&self, block: Block, pin: Pin, from: usize) -> Option<(Held<'_>, Taken)> {
        let (frame, taken) = self.memory.pin(block, pin, from, |frame, gone| self.let_go(frame, gone))?;
        Some((Held { pool: self, frame, pin }, taken))
    }

    /// Asks for blocks that are not here, or not all.
    pub(super) fn ask(&self, who: Who, first: Block, count: u64, wait: &Arc<Wait>) -> (Session<'_>, WaiterId) {
        let mut session = self.session();
        let waiter = session.wait_for(who, first, count, wait);
        (session, waiter)
    }

    /// Has blocks fetched that are not here, or not all; `came` is shown each as it comes.
    fn fetch<'p>(
        &'p self,
        who: Who,
        first: Block,
        count: u64,
        pin: Pin,
        mut came: impl FnMut(u64, Held<'p>),
    ) -> Result<(), Error> {
        let wait = Arc::new(Wait::new(pin, None));
        let (own, session) = self.question(Asked::Blocks { who, first, count, wait: Arc::clone(&wait) });
        drop(session);
        if let Some((workers, fetch)) = own {
            workers.run_here(Task::Fetch(fetch), Class::Demand);
        }
        let mut arrived = Vec::new();
        let mut left = count;
        // Not until the manager has done with the request: what came by another's request may not stay
        // until then, and who waits holds nothing that others need.
        while left > 0 {
            let ended = wait.next(&mut arrived);
            if let Some(Err(_)) = &ended {
                self.session().host().forget(first, count, &wait);
                wait.next(&mut arrived);
            }
            for it in arrived.drain(..) {
                left -= 1;
                came(u64::from(it.at), Held { pool: self, frame: it.frame, pin });
            }
            if left > 0
                && let Some(ended) = ended
            {
                debug_assert!(ended.is_err(), "a reader was woken before all it waits for came");
                return ended;
            }
        }
        Ok(())
    }

    /// Copies what is here of a read, up to the first block that is not. Returns how many bytes.
    pub fn read_now(&self, who: Who, file: FileId, offset: u64, buffer: &mut [u8]) -> usize {
        let (first, end) = self.blocks_of(file, offset, buffer.len());
        let here = self.read_here(who, first, end, offset, buffer);
        let bytes = ((first.index + here) * self.memory.frame_bytes() as u64).saturating_sub(offset);
        bytes.min(buffer.len() as u64) as usize
    }

    /// A view of a block that is to be read from this byte on; its frame stays pinned until
    /// [`Pool::unview`]. None if views hold as much as they may.
    #[inline]
    pub fn view(&self, who: Who, block: Block, from: usize) -> Result<Option<Viewed>, Error> {
        match self.view_now(who, block, from) {
            Some(viewed) => Ok(viewed),
            None => self.view_later(who, block),
        }
    }

    #[cold]
    fn view_later(&self, who: Who, block: Block) -> Result<Option<Viewed>, Error> {
        let mut came = None;
        self.fetch(who, block, 1, Pin::View, |_, held| came = Some(held))?;
        Ok(self.viewed(came.ok_or(Error::NotFound)?, true, None))
    }

    /// As [`Pool::view`], if the block is here.
    #[inline]
    pub fn view_now(&self, who: Who, block: Block, from: usize) -> Option<Option<Viewed>> {
        let (held, taken) = self.pin(block, Pin::View, from)?;
        let must = who.disclosed || taken.first;
        let hit = Hit { reader: who.reader, first: block, count: 1, must };
        Some(self.viewed(held, taken.untold, Some(hit)))
    }

    /// What is pinned becomes a view, if there may be one more.
    #[inline]
    pub(super) fn viewed(&self, held: Held<'_>, untold: bool, hit: Option<Hit>) -> Option<Viewed> {
        let held = ManuallyDrop::new(held);
        let Some((viewed, posted)) = self.posts.view(held.frame, untold, hit) else {
            // It was not viewed, but read for the first time, as far as the frame knows.
            if let Some(hit) = hit.filter(|hit| hit.must) {
                self.posted(self.posts.hit(hit));
            }
            drop(ManuallyDrop::into_inner(held));
            return None;
        };
        self.posted(posted);
        Some(viewed)
    }

    /// Gives a view back.
    #[inline]
    pub fn unview(&self, viewed: Viewed) {
        let led_to = self.memory.frame(viewed.frame()).unpin(Pin::View);
        if led_to == LetGo::default() {
            self.posted(self.posts.unview(viewed, false));
        } else {
            self.tell_unview(viewed, led_to);
        }
    }

    #[cold]
    fn tell_unview(&self, viewed: Viewed, LetGo { reclaim, tell }: LetGo) {
        self.posted(self.posts.unview(viewed, tell));
        self.let_go(viewed.frame(), LetGo { reclaim, tell: false });
    }

    /// Views that there are.
    pub fn views(&self) -> usize {
        self.posts.views()
    }

    /// Blocks that were here when they were read.
    pub fn hits(&self) -> u64 {
        self.posts.found() + self.served_hits.load(Relaxed)
    }

    /// Asks a reader what it will read next.
    pub(super) fn pull(&self, reader: ReaderId) {
        let generators = || self.generators.lock().unwrap_or_else(PoisonError::into_inner);
        let source = Source::Library;
        let Some(generator) = generators().get(&reader).map(Arc::clone) else {
            // Whoever begins another one says so after that.
            let mut session = self.session();
            if !generators().contains_key(&reader) {
                session.tell(Event::NoMore { reader, source });
            }
            return;
        };
        for _ in 0..PULLED_AT_ONCE {
            let mut generate = generator.lock().unwrap_or_else(PoisonError::into_inner);
            // What a reader's program does wrong is its own affair.
            let generated = catch_unwind(AssertUnwindSafe(&mut *generate)).ok().flatten();
            let mut session = self.session();
            // Who withdraws a plan takes its generator away before it speaks with the manager.
            if !self.is_generating(reader, &generator) {
                return;
            }
            match generated {
                Some((file, Some(want))) => _ = session.tell(Event::Hint { reader, source, file, want }),
                Some((_, None)) => {}
                None => {
                    session.tell(Event::NoMore { reader, source });
                    return;
                }
            }
        }
        let mut session = self.session();
        if self.is_generating(reader, &generator) {
            session.tell(Event::More { reader, source });
        }
    }
}

/// Copies the part of a block's bytes that a read from `offset` on wants to where it belongs in the
/// read's buffer.
#[inline]
pub fn copy(bytes: &[u8], begins: u64, offset: u64, buffer: &mut [u8]) {
    let from = offset.saturating_sub(begins) as usize;
    let to = begins.saturating_sub(offset) as usize;
    let count = (bytes.len() - from).min(buffer.len() - to);
    buffer[to..to + count].copy_from_slice(&bytes[from..from + count]);
}

#[cfg(test)]
mod tests {
    use foresee_manager::Config;
    use foresee_store::{Memory as Bytes, Store};

    use super::super::{Memory, Opened, StoreId};
    use super::*;

    #[test]
    fn what_came_as_a_view_and_was_not_taken_is_no_view_given_back() {
        let (memory, config, bytes) =
            (Memory::new(8, 4096).unwrap(), Config::new(8, "lru".parse().unwrap()), Bytes::default());
        bytes.put("a", vec![1; 8 * 4096]);
        let store: Arc<dyn Store> = Arc::new(bytes);
        let pool = Pool::new(memory, &config, vec![("test".to_owned(), store)], None, None).unwrap();
        let opened = Opened::open(pool.store(StoreId(0)), "a").unwrap();
        let file = pool.opened(StoreId(0), "a", &opened).unwrap();
        let (who, block) = (Who { reader: ReaderId(0), disclosed: false }, |index| Block { file, index });
        let view = |index| pool.view(who, block(index), 0).unwrap();
        pool.unview(view(0).unwrap());
        // As a future's that goes while its block comes.
        (0..10).for_each(|_| drop(pool.pin(block(0), Pin::View, 0).unwrap()));
        let views: Vec<_> = (0..8).map_while(view).collect();
        assert_eq!((views.len(), pool.views()), (4, 4), "half of the memory");
        views.into_iter().for_each(|frame| pool.unview(frame));
    }

    #[test]
    fn views_that_go_by_other_threads_while_others_miss_leave_nothing_pinned() {
        const FRAMES: u64 = 512;
        let (memory, config, bytes) = (
            Memory::new(FRAMES as usize, 4096).unwrap(),
            Config::new(FRAMES, "lru".parse().unwrap()),
            Bytes::default(),
        );
        let blocks: Vec<u8> = (0..4 * FRAMES).flat_map(|index| [index as u8; 4096]).collect();
        bytes.put("a", blocks);
        let store: Arc<dyn Store> = Arc::new(bytes);
        let pool = Pool::new(memory, &config, vec![("test".to_owned(), store)], None, None).unwrap();
        let opened = Opened::open(pool.store(StoreId(0)), "a").unwrap();
        let file = pool.opened(StoreId(0), "a", &opened).unwrap();
        let (sender, receiver) = std::sync::mpsc::sync_channel::<(u64, Viewed)>(20);
        std::thread::scope(|scope| {
            for reader in 0..3 {
                let (sender, pool) = (sender.clone(), &pool);
                scope.spawn(move || {
                    let who = Who { reader: ReaderId(reader), disclosed: reader == 0 };
                    let mut random = u64::from(reader) + 1;
                    for number in 0..4000 {
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let index = (random >> 33) % (4 * FRAMES);
                        let viewed = pool.view(who, Block { file, index }, 0).unwrap().expect("few of them");
                        if number % 3 == 0 {
                            sender.send((index, viewed)).unwrap();
                        } else {
                            pool.unview(viewed);
                        }
                    }
                });
            }
            drop(sender);
            for (index, viewed) in receiver {
                // SAFETY: it is viewed.
                assert!(unsafe { pool.memory().bytes(viewed.frame()) }.iter().all(|byte| *byte == index as u8));
                pool.unview(viewed);
            }
        });
        assert_eq!(pool.views(), 0);
        assert_eq!(pool.session().host().told_views(), 0, "the manager takes nothing for viewed");
    }
}
