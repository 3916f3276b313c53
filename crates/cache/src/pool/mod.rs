//! The pool: memory of its own, filled as the manager decides, read without asking it.
//!
//! ```text
//! reader --pin, copy, unpin--> Memory (table, frames, arena)          a hit: no lock, no manager
//!    |                            ^
//!    |--post--> Posts             | fill, give up                     hits are told in batches
//!    v            v               |
//! Session (one at a time): Driver<PoolHost> --task--> Workers --> stores
//!    ^                                                   |
//!    +----------------------done-------------------------+
//! ```
//!
//! Who misses, and who brings what was missed, speaks with the manager in a [`Session`], which is a
//! lock; a hit never takes it unless it has a batch to hand over. No lock is held while a store, a
//! reader's program or a copy is waited for.

mod arena;
mod asked;
mod awaited;
mod bell;
#[cfg(test)]
mod conformance;
mod devices;
mod fetch;
mod flights;
mod frame;
mod gone;
mod holding;
mod host;
mod memory;
mod objects;
mod opened;
mod places;
mod posts;
mod promise;
mod read;
mod ring;
mod second;
mod session;
mod trail;
mod turns;
mod vain;
mod wait;
mod workers;

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use foresee_driver::{Driver, Log};
use foresee_manager::{Config, Event, FileId, ReaderId, Source, Want};
use foresee_store::{Store, Version};

use crate::error::Error;
use crate::tier::Tier;
use asked::Asked;
use devices::Devices;
use fetch::Done;
use host::PoolHost;
use objects::Objects;
use second::{KEEPS_AT_ONCE, RECALLS_AT_ONCE, Second};

pub use devices::StoreId;
pub use holding::spare;
pub use memory::Memory;
pub use opened::{Opened, caught};
pub use places::Viewed;
use posts::{Posts, Told};
pub use read::Who;
use workers::Workers;

/// Asked by the pool for what a reader will read next, if anything of that file; None once that is
/// all.
pub type Generator = Box<dyn FnMut() -> Option<(FileId, Option<Want>)> + Send>;

/// Programs that are asked at once for what they will read.
const GENERATORS_AT_ONCE: usize = 16;

/// What speaks with the manager: one at a time.
struct State {
    driver: Driver<'static, PoolHost>,
    /// What is being told; kept for its memory.
    told: Told,
}

/// The pool.
pub struct Pool {
    memory: Arc<Memory>,
    /// What hits leave to be told; views may have half of the frames, so that the rest is always
    /// the manager's.
    posts: Posts,
    state: Mutex<State>,
    /// Threads that are there from the beginning: each store's that look names up, those that wait
    /// for programs, and the disk's.
    workers: Vec<Arc<Workers>>,
    log: Option<Log<'static>>,
    /// By what their addresses begin with.
    stores: Vec<(String, Arc<dyn Store>)>,
    /// Readers that there were.
    readers: AtomicU32,
    /// Blocks that were here when their reader came to wait for others.
    served_hits: AtomicU64,
    /// Those who generate what they will read.
    generators: Mutex<HashMap<ReaderId, Arc<Mutex<Generator>>>>,
}

impl Pool {
    /// A pool over these stores, by what their addresses begin with. What the memory has more than
    /// the manager is to know of is for a second tier.
    ///
    /// # Errors
    /// If the system has no memory or no thread for it.
    pub fn new(
        memory: Memory,
        config: &Config,
        stores: Vec<(String, Arc<dyn Store>)>,
        tier: Option<Tier>,
        log: Option<Log<'static>>,
    ) -> Result<Arc<Self>, Error> {
        let (memory, capacity) = (Arc::new(memory), config.capacity as usize);
        let pool = Arc::new_cyclic(|pool: &Weak<Pool>| {
            let pool = pool.clone();
            let workers = move |threads_max| {
                let pool = pool.clone();
                Workers::new(threads_max, move |done| {
                    if let Some(pool) = pool.upgrade() {
                        pool.done(done);
                    }
                })
            };
            let make = Box::new(workers.clone());
            let devices = Devices::new(stores.clone(), config.device.cluster_blocks_max, make);
            let mut all: Vec<_> = devices.all_workers().map(Arc::clone).collect();
            let objects = Objects::new(devices, memory.frame_bytes() as u64);
            let generating = workers(GENERATORS_AT_ONCE);
            let second = tier.map(|tier| {
                let (recalling, keeping) = (workers(RECALLS_AT_ONCE), workers(KEEPS_AT_ONCE));
                let spare = memory.len() - capacity;
                (
                    Second::new(tier, Arc::clone(&memory), recalling.clone(), keeping.clone(), spare),
                    [recalling, keeping],
                )
            });
            let (second, waiting) = second.unzip();
            let host = PoolHost::new(Arc::clone(&memory), capacity, objects, Arc::clone(&generating), second);
            all.push(generating);
            all.extend(waiting.into_iter().flatten());
            let driver = Driver::new(config, host, log.as_ref().map(Log::tap));
            let state = Mutex::new(State { driver, told: Told::default() });
            Pool {
                posts: Posts::new((capacity / 2).min(frame::VIEWS_MAX)),
                memory,
                state,
                workers: all,
                log,
                stores,
                readers: AtomicU32::new(0),
                served_hits: AtomicU64::new(0),
                generators: Mutex::default(),
            }
        });
        pool.workers.iter().try_for_each(Workers::start)?;
        Ok(pool)
    }

    fn done(&self, done: &mut dyn Iterator<Item = Done>) {
        let mut session: Option<session::Session> = None;
        for done in done {
            match done {
                // What these call is a program's.
                Done::Pull(reader) => {
                    session = None;
                    self.pull(reader);
                }
                Done::Asked(hand_over) => {
                    session = None;
                    hand_over();
                }
                done => match &mut session {
                    Some(session) => session.done(done),
                    None => session = self.question(Asked::Done(done)).1,
                },
            }
        }
    }

    /// The memory that hits use.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The store that addresses lead to which begin so.
    pub fn store_of(&self, scheme: &str) -> Option<StoreId> {
        let at = self.stores.iter().position(|(it, _)| it == scheme)?;
        u16::try_from(at).ok().map(StoreId)
    }

    /// A store.
    pub fn store(&self, id: StoreId) -> &dyn Store {
        &*self.stores[usize::from(id.0)].1
    }

    /// A reader opens what its store was asked for no longer ago than this, if it was.
    pub fn reopened(&self, store: StoreId, name: &str, max_age: Duration) -> Option<(FileId, u64, Version)> {
        if max_age.is_zero() { None } else { self.session().host().objects.reopened(store, name, max_age) }
    }

    /// A reader opened an object.
    pub fn opened(&self, store: StoreId, name: &str, opened: &Opened) -> Result<FileId, Error> {
        let mut session = self.session();
        session.forget_outworn();
        let (file, events) = session.host().objects.opened(store, name, opened)?;
        if let Some(log) = self.log.as_ref().filter(|_| !events.is_empty()) {
            log.name(file, name);
        }
        events.into_iter().for_each(|event| _ = session.tell(event));
        Ok(file)
    }

    /// A reader has closed a file.
    pub fn closed(&self, file: FileId) {
        let mut session = self.session();
        if let Some(event) = session.host().objects.closed(file) {
            session.tell(event);
        }
    }

    /// Objects are no longer kept open without a reader.
    pub fn close_kept(&self) {
        self.session().host().objects.close_kept();
    }

    /// A reader discloses that it will read all of what this name leads to, whether or not it has
    /// been looked up.
    pub fn disclose_named(&self, reader: ReaderId, store: StoreId, name: &str) -> Result<(), Error> {
        let mut session = self.session();
        session.forget_outworn();
        let file = session.host().objects.named(store, name)?;
        session.tell(Event::Hint { reader, source: Source::Library, file, want: Want::All });
        Ok(())
    }

    /// From now on a reader generates what it will read.
    pub fn generate(&self, reader: ReaderId, generator: Generator) {
        let generator = Arc::new(Mutex::new(generator));
        let before = self.generators.lock().unwrap_or_else(PoisonError::into_inner).insert(reader, generator);
        // What it holds may speak with the pool when it goes.
        drop(before);
    }

    /// A reader generates nothing any more; what it generated with.
    pub fn stop_generating(&self, reader: ReaderId) -> Option<Arc<Mutex<Generator>>> {
        self.generators.lock().unwrap_or_else(PoisonError::into_inner).remove(&reader)
    }

    fn is_generating(&self, reader: ReaderId, generator: &Arc<Mutex<Generator>>) -> bool {
        let generators = self.generators.lock().unwrap_or_else(PoisonError::into_inner);
        generators.get(&reader).is_some_and(|it| Arc::ptr_eq(it, generator))
    }

    /// A number for another reader.
    pub fn new_reader(&self) -> ReaderId {
        ReaderId(self.readers.fetch_add(1, Relaxed))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.workers.iter().for_each(|workers| workers.close());
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.driver.host.objects.devices.all_workers().for_each(|workers| workers.close());
        drop(state.driver.host.objects.close_all());
    }
}
