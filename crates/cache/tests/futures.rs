//! The library by futures, on an executor of one thread.

#[path = "common/bytes.rs"]
mod bytes;
#[path = "common/executor.rs"]
mod executor;
#[path = "common/gate.rs"]
mod gate;
#[path = "common/random.rs"]
mod random;

use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread::{self, ThreadId};

use bytes::bytes;
use executor::{Woken, all, one, poll};
use foresee::store::{Error as StoreError, Faults, Faulty, Listed, Memory, Object, Store};
use foresee::{Cache, Error};
use gate::{Bar, Gate};
use random::Random;

const BLOCK: u64 = 4096;
const SIZE: u64 = 50 * BLOCK;

fn objects() -> Memory {
    let objects = Memory::default();
    objects.put("a", bytes("a", 0, SIZE));
    objects
}

fn over(blocks: usize, store: impl Store + 'static) -> Cache {
    let builder = Cache::builder().memory(blocks * 4800).block_bytes(BLOCK as usize).policy("lru");
    builder.store("test", Arc::new(store)).open().unwrap()
}

fn gated() -> (Cache, Arc<Bar>) {
    let bar = Arc::<Bar>::default();
    (over(16, Gate::of(objects(), &bar)), bar)
}

fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}

#[test]
fn futures_go_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let cache = over(16, objects());
    is_send(&cache.open_async("test://a"));
    is_send(&cache.list_async("test://"));
    is_send(&cache.folder_async("test://", None));
    is_send(&cache.version_async("test://a"));
    is_send(&cache.remove_async("test://a"));
    is_send(&cache.rename_async("test://a", "test://b"));
    let file = cache.open("test://a").unwrap();
    is_send(&file.read_at_async(0, 1));
    is_send(&file.view_async(0, 1));
}

#[test]
fn many_at_once_on_one_thread_get_their_bytes() {
    let faults = Faults { short: 300, late_us_max: 300, ..Faults::default() };
    let cache = over(8, Faulty::new(objects(), 1, faults));
    let whole = bytes("a", 0, SIZE);
    let task = async |seed| {
        let mut random = Random(seed);
        let (offset, len) = (random.below(SIZE + 10), random.below(12 * BLOCK));
        let file = cache.open_async("test://a").await.unwrap();
        let from = offset.min(SIZE) as usize;
        let to = (offset + len).min(SIZE) as usize;
        assert_eq!(file.read_at_async(offset, len as usize).await.unwrap(), &whole[from..to.max(from)]);
        match file.view_async(offset, len as usize).await {
            Ok(view) => assert_eq!(view[..], whole[from..from + view.len()]),
            Err(error) => assert!(matches!(error, Error::TooManyViews), "{error}"),
        }
    };
    all((0..400).map(task));
    let statistics = cache.statistics();
    assert!(statistics.views == 0 && statistics.blocks_used <= statistics.blocks, "{statistics:?}");
}

#[test]
fn a_future_that_is_not_polled_keeps_no_frame_from_others() {
    let cache = over(4, objects());
    let file = cache.open("test://a").unwrap();
    let mut reads: Vec<_> = (0..40).map(|at| Box::pin(file.read_at_async(at * BLOCK, 3 * BLOCK as usize))).collect();
    let woken = Arc::<Woken>::default();
    assert!(reads.iter_mut().any(|read| poll(read.as_mut(), &woken).is_pending()));
    let mut buffer = vec![0; SIZE as usize];
    file.read_at(&mut buffer, 0).unwrap();
    assert_eq!(buffer, bytes("a", 0, SIZE));
}

#[test]
fn what_is_dropped_wakes_nobody_and_its_bytes_are_for_others() {
    let (cache, bar) = gated();
    let file = cache.open("test://a").unwrap();
    let woken = Arc::<Woken>::default();
    {
        let mut read = pin!(file.read_at_async(0, 3 * BLOCK as usize));
        let mut view = pin!(file.view_async(5 * BLOCK, 1));
        assert!(poll(read.as_mut(), &woken).is_pending() && poll(view.as_mut(), &woken).is_pending());
    }
    bar.open();
    let mut buffer = vec![0; 3 * BLOCK as usize];
    until(|| cache.statistics().bytes_read == 4 * BLOCK);
    assert_eq!(file.read_now(&mut buffer, 0), buffer.len());
    assert_eq!(buffer, bytes("a", 0, 3 * BLOCK));
    assert_eq!((woken.0.load(SeqCst), cache.statistics().views), (0, 0));
}

#[test]
fn what_is_dropped_before_it_is_asked_for_is_not_asked_for() {
    let (cache, bar) = gated();
    let (file, blocks) = (cache.open("test://a").unwrap(), cache.statistics().blocks as u64);
    let woken = Arc::<Woken>::default();
    let mut reads: Vec<_> = (0..49).map(|at| Box::pin(file.read_at_async(at * BLOCK, 1))).collect();
    assert!(reads.iter_mut().all(|read| poll(read.as_mut(), &woken).is_pending()));
    drop(reads);
    bar.open();
    let mut buffer = [0; 1];
    file.read_at(&mut buffer, 49 * BLOCK).unwrap();
    let asked = cache.statistics().bytes_read / BLOCK;
    assert!(asked <= blocks + 1, "{asked} of 49 that nobody waits for, where {blocks} found a page");
}

#[test]
fn a_view_that_came_and_was_not_taken_is_given_back() {
    let (cache, bar) = gated();
    let file = cache.open("test://a").unwrap();
    let woken = Arc::<Woken>::default();
    {
        let mut view = pin!(file.view_async(0, 1));
        assert!(poll(view.as_mut(), &woken).is_pending());
        bar.open();
        until(|| woken.0.load(SeqCst) == 1);
        assert_eq!(cache.statistics().views, 1);
    }
    assert_eq!(cache.statistics().views, 0);
}

#[test]
fn two_who_wait_for_one_block_are_both_woken() {
    let (cache, bar) = gated();
    let file = cache.open("test://a").unwrap();
    let (mut one, mut other) = (pin!(file.read_at_async(7, 9)), pin!(file.read_at_async(0, 4)));
    let woken = Arc::<Woken>::default();
    assert!(poll(one.as_mut(), &woken).is_pending() && poll(other.as_mut(), &woken).is_pending());
    bar.open();
    until(|| woken.0.load(SeqCst) == 2);
    let whole = bytes("a", 0, BLOCK);
    assert!(matches!(poll(one.as_mut(), &woken), Poll::Ready(Ok(bytes)) if bytes == whole[7..16]));
    assert!(matches!(poll(other.as_mut(), &woken), Poll::Ready(Ok(bytes)) if bytes == whole[..4]));
    assert_eq!(cache.statistics().bytes_read, BLOCK);
}

#[test]
fn errors_are_their_own_readers() {
    let cache = over(16, Faulty::new(objects(), 1, Faults { failed: 1000, ..Faults::default() }));
    let file = cache.open("test://a").unwrap();
    assert!(matches!(one(file.read_at_async(0, 8 * BLOCK as usize)), Err(Error::Store { .. })));
    assert!(matches!(one(file.view_async(0, 1)), Err(Error::Store { .. })));
    let nothing = one(cache.open_async("test://nothing"));
    assert!(matches!(nothing, Err(Error::Store { error: StoreError::NotFound, .. })));
    assert!(one(file.read_at_async(SIZE, 1)).unwrap().is_empty());
}

/// A store that is asked by its own threads alone, and writes down what it is to change.
struct Asked {
    objects: Memory,
    changed: Arc<Mutex<Vec<String>>>,
    program: ThreadId,
}

impl Asked {
    fn change(&self, what: String) -> Result<(), StoreError> {
        assert_ne!(thread::current().id(), self.program, "{what}");
        self.changed.lock().unwrap().push(what);
        Ok(())
    }
}

impl Store for Asked {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, StoreError> {
        self.objects.open(name)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
        assert_ne!(thread::current().id(), self.program, "list {prefix}");
        self.objects.list(prefix)
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        self.change(format!("remove {name}"))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.change(format!("rename {from} {to}"))
    }
}

#[test]
fn what_else_waits_for_a_store_is_done_by_its_threads() {
    let (objects, changed) = (objects(), Arc::<Mutex<Vec<String>>>::default());
    objects.put("d/b", bytes("b", 0, 10));
    let cache = over(16, Asked { objects, changed: Arc::clone(&changed), program: thread::current().id() });
    let names = |listed: Vec<Listed>| listed.into_iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(names(one(cache.list_async("test://")).unwrap()), ["test://a", "test://d/b"]);
    let folder = one(cache.folder_async("test://", None)).unwrap();
    assert_eq!((names(folder.objects), folder.folders), (vec!["test://a".into()], vec!["test://d".into()]));
    assert!(one(cache.folder_async("test://", Some("2"))).is_err());
    assert_eq!(one(cache.version_async("test://a")).unwrap(), cache.version("test://a").unwrap());
    let gone = one(cache.version_async("test://c")).unwrap_err();
    assert!(matches!(gone, Error::Store { name, error: StoreError::NotFound } if *name == *"test://c"));
    one(cache.remove_async("test://a")).unwrap();
    one(cache.rename_async("test://d/b", "test://c")).unwrap();
    assert!(one(cache.rename_async("test://d/b", "/c")).is_err(), "of another store");
    // Nothing is asked before it is polled.
    drop(cache.remove_async("test://d/b"));
    assert_eq!(*changed.lock().unwrap(), ["remove a", "rename d/b c"]);
}
