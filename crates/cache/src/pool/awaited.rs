//! Reads that no thread waits for.
//!
//! What comes is taken by whoever brought it, as soon as that has no lock any more: copied, or
//! counted as a view. So a future that is not polled, for a while or ever again, keeps no frame
//! from others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use foresee_manager::{Block, Class, FileId, WaiterId};
use foresee_store::{Error, Store};

use super::fetch::{HandOver, Task};
use super::frame::Pin;
use super::opened::caught;
use super::places::Viewed;
use super::promise::{Promise, Promised, promise};
use super::read::{Held, Who, copy};
use super::wait::Wait;
use super::{Pool, StoreId};

/// What came of a request.
struct Came {
    /// The buffer of a read, with the request's blocks copied to where they belong.
    buffer: Vec<u8>,
    /// The view; None if views hold as much as they may.
    viewed: Option<Viewed>,
}

struct Taking {
    buffer: Vec<u8>,
    /// Where in the file the buffer begins.
    offset: u64,
    /// Blocks that have not come.
    left: u64,
    promise: Promise<Result<Came, Error>>,
}

/// Takes the blocks of a request.
pub struct Taker {
    first: Block,
    count: u64,
    /// None once it is over.
    taking: Mutex<Option<Taking>>,
}

impl Taker {
    fn lock(&self) -> MutexGuard<'_, Option<Taking>> {
        self.taking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the blocks that came, to be let go of by the caller: that may need the pool's lock. If
    /// it is over with them: how.
    fn take<'p>(&self, pool: &'p Pool, wait: &Wait, came: &mut Vec<Held<'p>>) -> Option<(Taking, Result<(), Error>)> {
        let mut state = self.lock();
        let mut arrived = Vec::new();
        let ended = wait.take(&mut arrived);
        came.extend(arrived.iter().map(|it| Held { pool, frame: it.frame, pin: wait.pin }));
        let taking = state.as_mut()?;
        taking.left -= arrived.len() as u64;
        if wait.pin == Pin::Copy {
            for (it, held) in arrived.iter().zip(came) {
                let begins = (self.first.index + u64::from(it.at)) * pool.memory.frame_bytes() as u64;
                copy(held.bytes(), begins, taking.offset, &mut taking.buffer);
            }
        }
        let result = if taking.left == 0 { Ok(()) } else { Err(ended?.err()?) };
        Some((state.take()?, result))
    }
}

/// A request that a future waits for. Dropped, it is given up: what comes of it is anybody's.
struct Awaited<'p> {
    pool: &'p Pool,
    promised: Promised<Result<Came, Error>>,
    /// None once it is over.
    wait: Option<Arc<Wait>>,
    waiter: WaiterId,
}

impl Future for Awaited<'_> {
    type Output = Result<Came, Error>;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let poll = std::pin::Pin::new(&mut self.promised).poll(context);
        if poll.is_ready() {
            self.wait = None;
        }
        poll
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        let Some(wait) = self.wait.take() else { return };
        // First of all: who is about to keep it is given back then what nobody wants.
        if let Some(Ok(came)) = self.promised.withdraw() {
            self.pool.not_wanted(&came);
        }
        let Some(taker) = &wait.taker else { return };
        let taking = taker.lock().take();
        if taking.is_some() {
            self.pool.session().abandon(self.waiter, taker.first, taker.count, &wait);
            self.pool.take(&wait);
        }
    }
}

impl Pool {
    /// What a store comes to that is asked so, by the threads that look names up in it, unless nobody
    /// waits for it any more when they come to that.
    pub fn ask_async<T: Send + 'static>(
        &self,
        store: StoreId,
        ask: impl FnOnce(&dyn Store) -> Result<T, Error> + Send + 'static,
    ) -> Promised<Result<T, Error>> {
        let (promise, promised) = promise();
        let lookups = Arc::clone(&self.session().host().objects.devices.store(store).lookups);
        let store = Arc::clone(&self.stores[usize::from(store.0)].1);
        let ask = move || -> HandOver {
            let answer = if promise.is_wanted() { caught(|| ask(&*store)) } else { Err(Error::NotFound) };
            Box::new(move || _ = promise.keep(answer))
        };
        lookups.add(Task::Ask(Box::new(ask)), Class::Demand);
        promised
    }

    /// As [`Pool::read`].
    pub async fn read_async(&self, who: Who, file: FileId, offset: u64, mut buffer: Vec<u8>) -> Result<Vec<u8>, Error> {
        let (mut first, end) = self.blocks_of(file, offset, buffer.len());
        while let Some((missed, count)) = self.read_on(who, first, end, offset, &mut buffer) {
            buffer = self.awaited(who, missed, count, Pin::Copy, (offset, buffer)).await?.buffer;
            first.index = missed.index + count;
        }
        Ok(buffer)
    }

    /// As [`Pool::view`].
    pub async fn view_async(&self, who: Who, block: Block, from: usize) -> Result<Option<Viewed>, Error> {
        match self.view_now(who, block, from) {
            Some(frame) => Ok(frame),
            None => Ok(self.awaited(who, block, 1, Pin::View, (0, Vec::new())).await?.viewed),
        }
    }

    /// Asks for blocks, to be copied to a buffer that begins at an offset of the file, or to be
    /// viewed.
    fn awaited(&self, who: Who, first: Block, count: u64, pin: Pin, (offset, buffer): (u64, Vec<u8>)) -> Awaited<'_> {
        let (promise, promised) = promise();
        let taking = Taking { buffer, offset, left: count, promise };
        let taker = Taker { first, count, taking: Mutex::new(Some(taking)) };
        let wait = Arc::new(Wait::new(pin, Some(taker)));
        let (_, waiter) = self.ask(who, first, count, &wait);
        Awaited { pool: self, promised, wait: Some(wait), waiter }
    }

    /// Takes what came for a future. To be called without any lock.
    pub(super) fn take(&self, wait: &Arc<Wait>) {
        let Some(taker) = &wait.taker else { return };
        if wait.has_failed() {
            self.session().host().forget(taker.first, taker.count, wait);
        }
        let mut came = Vec::new();
        let Some((taking, result)) = taker.take(self, wait, &mut came) else { return };
        let viewed = came.pop().filter(|_| wait.pin == Pin::View).and_then(|held| self.viewed(held, true, None));
        let kept = taking.promise.keep(result.map(|()| Came { buffer: taking.buffer, viewed }));
        if let Err(Ok(came)) = kept {
            self.not_wanted(&came);
        }
    }

    fn not_wanted(&self, came: &Came) {
        if let Some(viewed) = came.viewed {
            self.unview(viewed);
        }
    }
}
