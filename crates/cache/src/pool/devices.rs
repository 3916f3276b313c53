//! Which device of the manager's each object lies on: each place of each store is one, with limits,
//! measurements and threads of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foresee_manager::{DeviceId, Event};
use foresee_store::Store;

use super::workers::Workers;

/// A store, by its place among those that the cache was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId(pub u16);

/// More places than so many have no threads of their own, but share those of one place of their
/// store.
const PLACES_MAX: usize = 64;

/// Reads of a place at once where no thread waits for each: what has come waits while the thread
/// that asks for it speaks with the manager, and the device shall have something to do until then.
/// With 16 and 32 it was slower (ARCHITECTURE.md, *Local files larger than memory*).
const RING_READS_MAX: usize = 64;

/// A store, and what is asked of it once.
pub struct Served {
    /// What its addresses begin with.
    pub scheme: String,
    /// The store.
    pub store: Arc<dyn Store>,
    /// Requests that each of its places serves side by side.
    pub depth: usize,
    /// Whether its versions mean the same in another process.
    pub versions_last: bool,
    /// Threads that look names up: before that it is not known where they lead.
    pub lookups: Arc<Workers>,
}

/// Makes threads, so many at most.
pub type MakeWorkers = Box<dyn Fn(usize) -> Arc<Workers> + Send>;

/// All of them.
pub struct Devices {
    stores: Vec<Served>,
    by_place: HashMap<(StoreId, String), DeviceId>,
    /// Threads that read, each device's.
    workers: Vec<Arc<Workers>>,
    make: MakeWorkers,
    /// Blocks of one request at most.
    request_blocks: u64,
    /// What the manager is to hear of devices before it hears of their files.
    news: VecDeque<Event>,
}

impl Devices {
    /// Of these stores, by their schemes; no place is known yet.
    pub fn new(stores: Vec<(String, Arc<dyn Store>)>, request_blocks: u64, make: MakeWorkers) -> Self {
        let served = |(scheme, store): (String, Arc<dyn Store>)| {
            let (depth, versions_last) = (store.depth().max(1), store.versions_last());
            Served { scheme, store, depth, versions_last, lookups: make(depth) }
        };
        let stores = stores.into_iter().map(served).collect();
        let (by_place, workers, news) = (HashMap::new(), Vec::new(), VecDeque::new());
        Devices { stores, by_place, workers, make, request_blocks, news }
    }

    /// A store.
    pub fn store(&self, id: StoreId) -> &Served {
        &self.stores[usize::from(id.0)]
    }

    /// The threads that read from a device.
    pub fn workers(&self, device: DeviceId) -> &Arc<Workers> {
        &self.workers[usize::from(device.0)]
    }

    /// All threads.
    pub fn all_workers(&self) -> impl Iterator<Item = &Arc<Workers>> {
        self.stores.iter().map(|it| &it.lookups).chain(&self.workers)
    }

    /// What the manager is to hear next.
    pub fn news(&mut self) -> Option<Event> {
        self.news.pop_front()
    }

    /// The device that this place of a store is. `is_in_file`: the system can read what lies there
    /// without threads.
    pub fn device(&mut self, store: StoreId, place: &str, is_in_file: bool) -> DeviceId {
        let place = if self.workers.len() < PLACES_MAX { place } else { "" };
        let key = (store, place.to_owned());
        if let Some(&device) = self.by_place.get(&key) {
            return device;
        }
        let device = DeviceId(self.workers.len() as u16);
        let Served { depth, lookups, .. } = self.store(store);
        let (own, shared) = ((self.make)(*depth), Arc::clone(lookups));
        // Without a thread of its own nothing would ever come.
        let has_own = own.start().is_ok();
        let by_ring = has_own && is_in_file && own.start_ring(RING_READS_MAX).is_ok();
        let requests = if by_ring { RING_READS_MAX } else { *depth };
        let requests = u32::try_from(requests).unwrap_or(u32::MAX);
        self.workers.push(if has_own { own } else { shared });
        self.by_place.insert(key, device);
        self.news.push_back(Event::DeviceLimits { device, requests, blocks: self.request_blocks, shaped: true });
        device
    }
}
