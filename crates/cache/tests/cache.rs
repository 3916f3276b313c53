//! What a user of the library sees.

#[path = "common/bytes.rs"]
mod bytes;
#[path = "common/gate.rs"]
mod gate;

use std::cell::RefCell;
use std::fs;
use std::io::IoSliceMut;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use bytes::{bytes, bytes_at};
use foresee::store::{Error as StoreError, Listed, Memory, Object, Store, Version};
use foresee::{Cache, Error, File, LevelOrder, Plan, Refusal, View};
use foresee_manager::{Action, Event, Header, LogLine, Manager};
use gate::{Bar, Gate};

const BLOCK: u64 = 4096;

fn builder(blocks: usize) -> foresee::Builder {
    Cache::builder().memory(blocks * 4800).block_bytes(BLOCK as usize)
}

/// A cache over objects in memory.
fn over(blocks: usize, objects: &[(&str, u64)]) -> (Cache, Memory) {
    let store = Memory::default();
    for (name, size) in objects {
        store.put(name, bytes(name, 0, *size));
    }
    (builder(blocks).store("test", Arc::new(store.clone())).open().unwrap(), store)
}

fn read(file: &File, offset: u64, count: usize) -> Result<Vec<u8>, Error> {
    let mut buffer = vec![0; count];
    let came = file.read_at(&mut buffer, offset)?;
    buffer.truncate(came);
    Ok(buffer)
}

/// A directory of its own, gone when this is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in a directory that is cleared with the build.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_the_tests_read_tells_whose_it_is() {
    let names = ["a", "b", "c", "ab", "ba", "d/a", "e/a"];
    let all: Vec<_> = names.iter().flat_map(|name| (0..8).map(|generation| bytes(name, generation, 4096))).collect();
    let words: std::collections::HashSet<&[u8]> = all.iter().flat_map(|bytes| bytes.chunks(8)).collect();
    assert_eq!(words.len(), names.len() * 8 * 512);
    assert!((0..64).all(|at| bytes_at("a", 1, at, 100) == bytes("a", 1, 164)[at as usize..at as usize + 100]));
}

#[test]
fn handles_go_between_threads() {
    fn are<T: Send + Sync>() {}
    are::<(Cache, File, View, Plan)>();
}

#[test]
fn files_of_this_machine_are_read_wherever_they_begin_and_end() {
    let folder = Folder::new("local");
    let cache = builder(64).open().unwrap();
    for size in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 100 * BLOCK + 17] {
        let path = folder.path(&size.to_string());
        fs::write(&path, bytes("x", 0, size)).unwrap();
        let file = cache.open(&path).unwrap();
        assert_eq!((file.len(), file.is_empty()), (size, size == 0));
        for offset in [0, 1, BLOCK - 1, BLOCK, size.saturating_sub(1), size, size + 1, u64::MAX / 2] {
            for count in [0, 1, BLOCK as usize, 30 * BLOCK as usize] {
                let came = read(&file, offset, count).unwrap();
                assert_eq!(came.len() as u64, (count as u64).min(size.saturating_sub(offset)));
                assert!(came == bytes_at("x", 0, offset, came.len()), "{size}: {count} at {offset}");
                let view = file.view(offset, count).unwrap();
                assert!(view[..] == bytes_at("x", 0, offset, view.len()));
                let rest = BLOCK - offset % BLOCK;
                assert_eq!(view.len() as u64, (count as u64).min(size.saturating_sub(offset)).min(rest));
            }
        }
    }
    let listed = cache.list(&folder.path("4")).unwrap();
    let sizes: Vec<_> = listed.iter().map(|it| it.size).collect();
    assert_eq!(sizes, [4095, 4096, 409_617, 4097]);
}

#[test]
fn what_is_read_again_comes_from_memory() {
    let (cache, _) = over(64, &[("a", 20 * BLOCK)]);
    let file = cache.open("test://a").unwrap();
    for _ in 0..3 {
        assert_eq!(read(&file, 0, 20 * BLOCK as usize).unwrap(), bytes("a", 0, 20 * BLOCK));
    }
    let statistics = cache.statistics();
    assert_eq!((statistics.misses, statistics.hits, statistics.bytes_read), (20, 40, 20 * BLOCK));
}

#[test]
fn what_is_read_without_waiting_is_what_is_here() {
    let (cache, _) = over(64, &[("a", 20 * BLOCK - 7)]);
    let file = cache.open("test://a").unwrap();
    let (whole, mut buffer) = (bytes("a", 0, 20 * BLOCK - 7), vec![0; 20 * BLOCK as usize]);
    assert_eq!((file.read_now(&mut buffer, 0), file.view_now(0, 1).unwrap().is_none()), (0, true));
    read(&file, 2 * BLOCK, 3 * BLOCK as usize).unwrap();
    read(&file, 19 * BLOCK, 1).unwrap();
    for (offset, count) in [(0, 0), (2 * BLOCK + 5, 3 * BLOCK - 5), (4 * BLOCK + 9, BLOCK - 9), (19 * BLOCK, BLOCK - 7)]
    {
        assert_eq!(file.read_now(&mut buffer, offset) as u64, count, "from {offset} on");
        assert!(buffer[..count as usize] == whole[offset as usize..(offset + count) as usize], "from {offset} on");
    }
    assert_eq!(file.read_now(&mut buffer[..10], 2 * BLOCK + 5), 10);
    assert_eq!(file.read_now(&mut buffer, 20 * BLOCK), 0);
    let view = file.view_now(3 * BLOCK + 5, 20).unwrap().unwrap();
    assert_eq!(view[..], whole[3 * BLOCK as usize + 5..][..20]);
    assert!(file.view_now(20 * BLOCK, 1).unwrap().unwrap().is_empty());
    assert_eq!(cache.statistics().misses, 4);
}

#[test]
fn what_cannot_be_had_is_said() {
    let (cache, _) = over(64, &[]);
    assert!(matches!(cache.open("test://a"), Err(Error::Store { error: StoreError::NotFound, .. })));
    assert!(matches!(cache.open("ftp://a"), Err(Error::NoStore(scheme)) if scheme == "ftp"));
    assert!(matches!(cache.open("/"), Err(Error::Store { error: StoreError::Io(_), .. })));
    assert!(matches!(Cache::builder().policy("lrru").open(), Err(Error::Policy(_))));
    let little = |bytes| Cache::builder().memory(bytes).block_bytes(4096).open().map(drop);
    let Err(error @ Error::LittleMemory { bytes: 12_288, bytes_min, .. }) = little(3 * 4096) else {
        panic!("that is enough")
    };
    assert!(little(bytes_min - 1).is_err() && little(bytes_min).is_ok());
    let beside =
        format!("12288 bytes holds fewer than 4 blocks, beside what is to be known of them: give {bytes_min} or more");
    assert_eq!(error.to_string(), format!("a memory of {beside}"));
    let unwritten = Cache::builder().log("/nowhere/log").open().map(drop).unwrap_err();
    assert!(unwritten.to_string().starts_with("/nowhere/log: "), "{unwritten}");
    assert!(matches!(Cache::builder().memory(usize::MAX).open(), Err(Error::System(_))));
    for bytes in [0, 1, 2048, 5000, 2 << 20] {
        assert!(matches!(Cache::builder().block_bytes(bytes).open(), Err(Error::BlockBytes(it)) if it == bytes));
    }
}

#[test]
fn an_error_reaches_who_reads_that_block_and_nobody_else() {
    let objects = Memory::default();
    objects.put("a", bytes("a", 0, 5 * BLOCK));
    let hole = Gate::with(objects, |part| match part.contains(&(2 * BLOCK)) {
        true => Err(std::io::Error::other("a hole").into()),
        false => Ok(()),
    });
    let cache = builder(64).store("test", Arc::new(hole)).open().unwrap();
    let file = cache.open("test://a").unwrap();
    let error = read(&file, 0, 5 * BLOCK as usize).unwrap_err();
    assert_eq!(error.to_string(), "test://a: a hole");
    // The request for all of them, and the one for that block by itself.
    assert_eq!(cache.statistics().failed_requests, 2);
    for block in [0, 1, 3, 4] {
        let came = read(&file, block * BLOCK, BLOCK as usize).unwrap();
        assert!(came == bytes_at("a", 0, block * BLOCK, BLOCK as usize));
    }
    assert!(file.view(2 * BLOCK, 1).is_err());
    assert_eq!(cache.statistics().failed_requests, 3);
    assert_eq!(cache.statistics().views, 0);
}

#[test]
fn who_has_a_version_open_never_gets_bytes_of_another() {
    let (cache, store) = over(64, &[("a", 8 * BLOCK)]);
    let before = cache.open("test://a").unwrap();
    read(&before, 0, 2 * BLOCK as usize).unwrap();
    let view = before.view(BLOCK, 100).unwrap();
    store.put("a", bytes("a", 1, 6 * BLOCK));
    // What is in memory is whole; the rest is gone.
    assert!(read(&before, 0, 2 * BLOCK as usize).unwrap() == bytes("a", 0, 2 * BLOCK));
    let error = read(&before, 2 * BLOCK, 1).unwrap_err();
    assert!(matches!(error, Error::Store { error: StoreError::Changed, .. }), "{error}");
    let after = cache.open("test://a").unwrap();
    assert!(after.version() != before.version() && after.len() == 6 * BLOCK);
    assert_eq!(read(&after, 0, 8 * BLOCK as usize).unwrap(), bytes("a", 1, 6 * BLOCK));
    assert!(view[..] == bytes_at("a", 0, BLOCK, view.len()));
    drop(view);
    drop(before);
    assert_eq!(read(&after, 0, 8 * BLOCK as usize).unwrap(), bytes("a", 1, 6 * BLOCK));
}

#[test]
fn a_file_that_is_written_to_is_another_version() {
    let folder = Folder::new("written");
    let path = folder.path("a");
    fs::write(&path, bytes("a", 0, 8 * BLOCK)).unwrap();
    let cache = builder(64).open().unwrap();
    let before = cache.open(&path).unwrap();
    read(&before, 0, 1).unwrap();
    // In place, of the same length, and at once: only the time can tell.
    fs::write(&path, bytes("a", 1, 8 * BLOCK)).unwrap();
    assert_eq!(read(&before, 0, BLOCK as usize).unwrap(), bytes("a", 0, BLOCK));
    assert!(matches!(read(&before, BLOCK, 1), Err(Error::Store { error: StoreError::Changed, .. })));
    let after = cache.open(&path).unwrap();
    assert_eq!(read(&after, 0, 8 * BLOCK as usize).unwrap(), bytes("a", 1, 8 * BLOCK));
    // What was replaced is still what it was to who has it open.
    fs::write(folder.path("b"), bytes("a", 2, BLOCK)).unwrap();
    let replaced = cache.open(&path).unwrap();
    fs::rename(folder.path("b"), &path).unwrap();
    assert_eq!(read(&replaced, 0, 8 * BLOCK as usize).unwrap(), bytes("a", 1, 8 * BLOCK));
    assert_eq!(read(&cache.open(&path).unwrap(), 0, 8 * BLOCK as usize).unwrap(), bytes("a", 2, BLOCK));
}

#[test]
fn a_file_that_nobody_has_open_takes_no_room_when_it_is_deleted() {
    let folder = Folder::new("deleted");
    let path = folder.path("a");
    fs::write(&path, bytes("a", 0, 8 * BLOCK)).unwrap();
    let is_open = || {
        fs::read_dir("/proc/self/fd")
            .unwrap()
            .flatten()
            .any(|it| fs::read_link(it.path()).is_ok_and(|it| it.as_os_str() == path.as_str()))
    };
    let cache = builder(64).max_age(Duration::from_secs(60)).open().unwrap();
    let mut plan = cache.plan();
    let (one, other) = (cache.open(&path).unwrap(), cache.open(&path).unwrap());
    read(&one, 0, 1).unwrap();
    drop(one);
    assert!(is_open());
    drop(other);
    assert!(!is_open());
    // What is planned of it is read nevertheless, and who opens it again reads all of it.
    plan.address(&path).unwrap();
    while cache.statistics().bytes_read < 8 * BLOCK {
        thread::yield_now();
    }
    assert!(!is_open());
    assert_eq!(read(&cache.open(&path).unwrap(), 0, 8 * BLOCK as usize).unwrap(), bytes("a", 0, 8 * BLOCK));
}

#[test]
fn what_is_viewed_keeps_its_bytes_and_stays() {
    let store = Memory::default();
    store.put("a", bytes("a", 0, 100 * BLOCK));
    // Under LRU all goes that is not held; what was read often may stay under another policy.
    let cache = builder(8).policy("lru").store("test", Arc::new(store)).open().unwrap();
    let file = cache.open("test://a").unwrap();
    let views: Vec<View> = (0..3).map(|block| file.view(block * BLOCK, BLOCK as usize).unwrap()).collect();
    for block in 3..100 {
        assert!(read(&file, block * BLOCK, 4096).unwrap() == bytes_at("a", 0, block * BLOCK, 4096));
    }
    for (block, view) in (0..).zip(&views) {
        assert!(view[..] == bytes_at("a", 0, block * BLOCK, BLOCK as usize));
    }
    let misses = cache.statistics().misses;
    read(&file, 0, 3 * BLOCK as usize).unwrap();
    assert_eq!(cache.statistics().misses, misses, "what is viewed went");
    let more = file.view(3 * BLOCK, 1).unwrap();
    assert!(matches!(file.view(4 * BLOCK, 1), Err(Error::TooManyViews)));
    drop((views, more));
    assert_eq!(cache.statistics().views, 0);
    for block in 0..100 {
        read(&file, block * BLOCK, 1).unwrap();
    }
    let misses = cache.statistics().misses;
    read(&file, 0, 1).unwrap();
    assert_eq!(cache.statistics().misses, misses + 1, "what was viewed never went");
}

#[test]
fn what_is_planned_is_read_ahead_and_what_is_withdrawn_is_not() {
    let (cache, _) = over(64, &[("a", 500 * BLOCK), ("b", 500 * BLOCK)]);
    let (a, b) = (cache.open("test://a").unwrap(), cache.open("test://b").unwrap());
    let mut plan = cache.plan();
    let order: Vec<u64> = (0..200).map(|it| it * 7 % 199 * 2).collect();
    for &block in &order {
        plan.range(&a, block * BLOCK..block * BLOCK + 1).unwrap();
    }
    for &block in &order {
        assert_eq!(read(&a, block * BLOCK, 1).unwrap(), bytes_at("a", 0, block * BLOCK, 1));
    }
    let planned = cache.statistics().planned;
    assert!(planned.fetched > 150 && planned.wasted == 0, "{planned:?}");
    plan.range(&b, 100 * BLOCK..200 * BLOCK).unwrap();
    drop(plan);
    let fetched = cache.statistics().planned.fetched;
    for block in 0..60 {
        read(&a, block * 3 * BLOCK, 1).unwrap();
    }
    assert_eq!(cache.statistics().planned.fetched, fetched, "what was withdrawn is read ahead");
}

#[test]
fn a_generator_is_asked_as_its_plan_is_read() {
    let (cache, _) = over(64, &[("a", 5000 * BLOCK)]);
    let file = cache.open("test://a").unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let (count, of) = (Arc::clone(&asked), file.clone());
    let mut plan = cache.plan();
    plan.generate((0..4000).map(move |at| {
        count.fetch_add(1, Relaxed);
        let block = at * 11 % 4000;
        (of.clone(), block * BLOCK..(block + 1) * BLOCK)
    }));
    for at in 0..2000 {
        // Who is quicker than the generator reads what has not been said yet: once the next one is asked
        // for, it has.
        while asked.load(Relaxed) < at + 2 {
            thread::yield_now();
        }
        read(&file, at * 11 % 4000 * BLOCK, 1).unwrap();
    }
    let asked = asked.load(Relaxed);
    assert!((2000..3500).contains(&asked), "{asked}");
    let planned = cache.statistics().planned;
    assert!(planned.fetched > 1500 && planned.wasted == 0, "{planned:?}");
}

#[test]
fn a_paths_folders_are_no_scheme() {
    let folder = Folder::new("scheme");
    let path = folder.0.join("a:");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("b"), b"there").unwrap();
    let cache = builder(8).open().unwrap();
    let file = cache.open(&format!("{}//b", path.display())).unwrap();
    assert_eq!(read(&file, 0, 5).unwrap(), b"there");
}

/// Records begin and end within blocks, so that a block is in two of them.
#[test]
fn several_threads_may_read_what_a_plan_names() {
    const RECORDS: u64 = 400;
    const RECORD: u64 = 4000;
    let (cache, _) = over(200, &[("a", RECORDS * RECORD)]);
    let file = cache.open("test://a").unwrap();
    let epochs: Vec<Vec<u64>> =
        (1..8).map(|epoch| (0..RECORDS).map(|at| at * (6 * epoch + 1) % RECORDS).collect()).collect();
    let (records, of) = (epochs.clone(), file.clone());
    let mut plan = cache.plan();
    plan.generate(records.into_iter().flatten().map(move |it| (of.clone(), it * RECORD..(it + 1) * RECORD)));
    let (last, before) = epochs.split_last().unwrap();
    for order in before {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(&record) = order.get(next.fetch_add(1, Relaxed)) {
                        read(&file, record * RECORD, RECORD as usize).unwrap();
                    }
                });
            }
        });
    }
    // What comes while nobody reads is what is read next.
    let requests = || (cache.statistics().ahead_requests, thread::sleep(Duration::from_millis(200)));
    while requests() != requests() {}
    let missed = cache.statistics().misses;
    for record in &last[..40] {
        read(&file, record * RECORD, RECORD as usize).unwrap();
    }
    let missed = cache.statistics().misses - missed;
    assert!(missed < 20, "{missed} of 80 were not here");
}

/// Serves one request after the other, each when the gate is open.
struct OneByOne(Gate);

impl Store for OneByOne {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, StoreError> {
        self.0.open(name)
    }
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
        self.0.list(prefix)
    }
    fn depth(&self) -> usize {
        1
    }
}

fn one_by_one(gate_open: bool) -> (Arc<OneByOne>, Arc<Bar>) {
    let objects = Memory::default();
    objects.put("a", bytes("a", 0, 100 * BLOCK));
    let gate = Arc::<Bar>::default();
    if gate_open {
        gate.open();
    }
    (Arc::new(OneByOne(Gate::of(objects, &gate))), gate)
}

#[test]
fn a_generator_may_read() {
    let cache = builder(64).store("file", one_by_one(true).0).open().unwrap();
    let file = cache.open("a").unwrap();
    let (sender, receiver) = channel();
    let mut plan = cache.plan();
    plan.generate((0..50).map(move |at| {
        let place = u64::from(read(&file, at * BLOCK, 1).unwrap()[0]) % 100 * BLOCK;
        sender.send(place).unwrap();
        (file.clone(), place..place + 1)
    }));
    assert_eq!(receiver.recv().unwrap(), u64::from(bytes("a", 0, 1)[0]) % 100 * BLOCK);
}

#[test]
fn what_a_generator_gives_after_its_plan_is_withdrawn_is_not_read_ahead() {
    let (cache, _) = over(64, &[("a", 100 * BLOCK)]);
    let file = cache.open("test://a").unwrap();
    let ((asked, is_asked), (go_on, goes_on)) = (channel(), channel());
    let mut plan = cache.plan();
    plan.generate((0..20).map(move |at| {
        if at == 0 {
            asked.send(()).unwrap();
            goes_on.recv().unwrap();
        }
        (file.clone(), at * 2 * BLOCK..at * 2 * BLOCK + 1)
    }));
    is_asked.recv().unwrap();
    drop(plan);
    go_on.send(()).unwrap();
    // What it holds goes when it is through.
    assert!(is_asked.recv().is_err());
    assert_eq!(cache.statistics().planned.fetched, 0);
}

#[test]
fn who_waits_for_a_store_holds_up_no_other() {
    let ((near, _), (away, gate)) = (one_by_one(true), one_by_one(false));
    let cache = builder(64).store("file", near).store("away", away).open().unwrap();
    let far = cache.open("away://a").unwrap();
    thread::scope(|scope| {
        let far = &far;
        let waiting: Vec<_> = (0..8).map(|at| scope.spawn(move || read(far, at * 9 * BLOCK, 1).unwrap())).collect();
        while cache.statistics().misses < 8 {
            thread::yield_now();
        }
        assert_eq!(read(&cache.open("a").unwrap(), 0, 1).unwrap(), bytes("a", 0, 1));
        gate.open();
        waiting.into_iter().for_each(|it| drop(it.join().unwrap()));
    });
}

#[test]
fn who_waits_for_a_place_holds_up_no_other_of_its_store() {
    struct Placed(Arc<dyn Object>, String);
    impl Object for Placed {
        fn size(&self) -> u64 {
            self.0.size()
        }
        fn version(&self) -> &Version {
            self.0.version()
        }
        fn place(&self) -> String {
            self.1.clone()
        }
        fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), StoreError> {
            self.0.read(offset, pieces)
        }
    }
    struct Places(Arc<OneByOne>, Arc<OneByOne>);
    impl Store for Places {
        fn open(&self, place: &str) -> Result<Arc<dyn Object>, StoreError> {
            let object = if place == "near" { &self.0 } else { &self.1 }.open("a")?;
            Ok(Arc::new(Placed(object, place.to_owned())))
        }
        fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
            self.0.list(prefix)
        }
        fn depth(&self) -> usize {
            1
        }
    }
    let ((near, _), (away, gate)) = (one_by_one(true), one_by_one(false));
    let cache = builder(64).store("test", Arc::new(Places(near, away))).open().unwrap();
    let (near, away) = (cache.open("test://near").unwrap(), cache.open("test://away").unwrap());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| read(&away, 0, 1).unwrap());
        while cache.statistics().misses < 1 {
            thread::yield_now();
        }
        assert_eq!(read(&near, 0, 1).unwrap(), bytes("a", 0, 1));
        gate.open();
        waiting.join().unwrap();
    });
}

#[test]
fn what_is_named_in_a_plan_is_there_when_it_is_opened() {
    let (cache, _) = over(64, &[("a", 10 * BLOCK), ("c", 10 * BLOCK)]);
    let mut plan = cache.plan();
    for name in ["a", "b", "c"] {
        plan.address(&format!("test://{name}")).unwrap();
    }
    while cache.statistics().planned.fetched < 20 || cache.statistics().bytes_read < 20 * BLOCK {
        thread::yield_now();
    }
    for name in ["a", "c"] {
        let file = cache.open(&format!("test://{name}")).unwrap();
        assert_eq!(read(&file, 0, 10 * BLOCK as usize).unwrap(), bytes(name, 0, 10 * BLOCK));
    }
    assert_eq!(cache.statistics().misses, 0);
}

#[test]
fn what_was_asked_for_lately_is_opened_without_asking_where_that_is_said() {
    struct Counting(Memory, Arc<AtomicU64>);
    impl Store for Counting {
        fn open(&self, name: &str) -> Result<Arc<dyn Object>, StoreError> {
            self.1.fetch_add(1, Relaxed);
            self.0.open(name)
        }
        fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
            self.0.list(prefix)
        }
    }
    for (age, opened_by_store) in [(Duration::ZERO, 4), (Duration::from_secs(3600), 1)] {
        let (objects, asked) = (Memory::default(), Arc::new(AtomicU64::new(0)));
        objects.put("a", bytes("a", 0, BLOCK));
        let store = Counting(objects.clone(), Arc::clone(&asked));
        let cache = builder(64).store("test", Arc::new(store)).max_age(age).open().unwrap();
        let mut plan = cache.plan();
        plan.address("test://a").unwrap();
        while cache.statistics().planned.fetched == 0 {
            thread::yield_now();
        }
        let before = cache.open("test://a").unwrap();
        assert_eq!(read(&before, 0, 10).unwrap(), bytes("a", 0, 10));
        drop(cache.open("test://a").unwrap());
        objects.put("a", bytes("a", 1, BLOCK));
        let after = cache.open("test://a").unwrap();
        let generation = u64::from(age.is_zero());
        assert_eq!(read(&after, 0, 10).unwrap(), bytes("a", generation, 10));
        assert_eq!(asked.load(Relaxed), opened_by_store);
    }
}

#[test]
fn advice_is_taken_where_the_policy_takes_it() {
    let objects = Memory::default();
    objects.put("a", bytes("a", 0, 20 * BLOCK));
    let advised = builder(16).policy("lru-sp").store("test", Arc::new(objects)).open().unwrap();
    let file = advised.open("test://a").unwrap();
    advised.set_policy(0, LevelOrder::Mru).unwrap();
    for _ in 0..2 {
        for block in 0..20 {
            read(&file, block * BLOCK, 1).unwrap();
        }
    }
    assert!(advised.statistics().hits >= 10, "{:?}", advised.statistics());
    file.set_priority(-1).unwrap();
    let (cache, _) = over(16, &[("a", 1)]);
    let refused = cache.open("test://a").unwrap().set_priority(1);
    assert!(matches!(refused, Err(Error::Refused(Refusal::Policy))));
}

/// Replays a log, and returns how many references are in it.
fn replay(log: &str) -> usize {
    let mut lines = log.lines().filter(|line| !line.starts_with('#'));
    let Some(Ok(Header(config))) = lines.next().map(str::parse) else { return 0 };
    let (mut manager, mut references) = (Manager::new(&config), 0);
    let mut actions: Vec<Action> = Vec::new();
    for line in lines {
        match line.parse().unwrap() {
            LogLine::Event(now, event) => {
                assert_eq!(actions, [], "the log has fewer actions than '{line}' leads to");
                manager.handle(now, event, &mut actions);
                references += usize::from(matches!(event, Event::Reference { .. }));
            }
            LogLine::Action(action) => assert_eq!(action, actions.remove(0)),
        }
    }
    references
}

#[test]
fn a_log_of_it_can_be_replayed() {
    let folder = Folder::new("log");
    let store = Arc::new(Memory::default());
    store.put("a", bytes("a", 0, 50 * BLOCK));
    let (log, objects) = (folder.path("log"), Arc::downgrade(&store));
    let cache = builder(16).log(&log).store("test", store).open().unwrap();
    let file = cache.open("test://a").unwrap();
    let mut plan = cache.plan();
    plan.file(&file).unwrap();
    for block in 0..50 {
        read(&file, block * BLOCK, 1).unwrap();
        drop(file.view(block / 2 * BLOCK, 1).unwrap());
    }
    drop((plan, file, cache));
    // A thread may still hold on to it for a moment.
    while objects.strong_count() > 0 {
        thread::yield_now();
    }
    assert!(replay(&fs::read_to_string(&log).unwrap()) >= 50);
}

#[test]
fn a_log_is_a_new_file_each_time() {
    let folder = Folder::new("one-log");
    let (log, link) = (folder.path("log"), folder.path("link"));
    std::os::unix::fs::symlink(&log, &link).unwrap();
    let [first, second] = [0, 1].map(|_| {
        let store = Arc::new(Memory::default());
        store.put("a", bytes("a", 0, 50 * BLOCK));
        let objects = Arc::downgrade(&store);
        (builder(16).store("test", store).log(&link).open().unwrap(), objects)
    });
    for (cache, _) in [&first, &second] {
        read(&cache.open("test://a").unwrap(), 0, 10).unwrap();
    }
    let close = |(cache, objects): (Cache, Weak<Memory>)| {
        drop(cache);
        // A thread may still hold on to it for a moment.
        while objects.strong_count() > 0 {
            thread::yield_now();
        }
    };
    close(second);
    let text = fs::read_to_string(&log).unwrap();
    close(first);
    assert!(replay(&text) > 0 && fs::read_to_string(&log).unwrap() == text);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    // What is no file may be several ones'.
    let pipes = [0, 1].map(|_| builder(16).log("/dev/null").open());
    assert!(pipes.iter().all(Result::is_ok));
}

#[test]
fn what_is_dropped_while_it_is_on_its_way_waits_for_nothing() {
    let objects = Memory::default();
    objects.put("a", bytes("a", 0, 50 * BLOCK));
    let gate = Arc::<Bar>::default();
    let cache = builder(64).store("test", Arc::new(Gate::of(objects, &gate))).open().unwrap();
    let file = cache.open("test://a").unwrap();
    let mut plan = cache.plan();
    plan.file(&file).unwrap();
    assert!(cache.statistics().blocks_used > 0);
    // Nothing has come, and nothing will: still this ends.
    drop((plan, file, cache));
    gate.open();
}

#[test]
fn two_who_miss_the_same_block_wait_for_one_request() {
    let objects = Memory::default();
    objects.put("a", bytes("a", 0, BLOCK));
    let gate = Arc::<Bar>::default();
    let cache = builder(64).store("test", Arc::new(Gate::of(objects, &gate))).open().unwrap();
    let file = cache.open("test://a").unwrap();
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| read(&file, 0, 4096).unwrap())).collect();
        while cache.statistics().misses + cache.statistics().late_hits < 2 {
            thread::yield_now();
        }
        gate.open();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), bytes("a", 0, BLOCK));
        }
    });
    let statistics = cache.statistics();
    assert_eq!((statistics.misses, statistics.late_hits, statistics.demand_requests), (1, 1, 1));
}

#[test]
fn a_store_that_panics_has_failed() {
    struct Panics(String);
    impl Store for Panics {
        fn open(&self, name: &str) -> Result<Arc<dyn Object>, StoreError> {
            Ok(Arc::new(Panics(name.to_owned())))
        }
        fn list(&self, _: &str) -> Result<Vec<Listed>, StoreError> {
            Ok(Vec::new())
        }
    }
    static VERSION: Version = Version::Stamp([0; 5]);
    impl Object for Panics {
        fn size(&self) -> u64 {
            assert!(self.0 != "size", "as this test has it");
            1 << 30
        }
        fn version(&self) -> &Version {
            assert!(self.0 != "version", "as this test has it");
            &VERSION
        }
        fn read(&self, _: u64, _: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), StoreError> {
            panic!("as this test has it");
        }
    }
    let cache = builder(64).store("test", Arc::new(Panics(String::new()))).open().unwrap();
    for name in ["test://size", "test://version"] {
        cache.plan().address(name).unwrap();
        assert_eq!(cache.open(name).err().unwrap().to_string(), format!("{name}: the store panicked"));
    }
    let file = cache.open("test://a").unwrap();
    for block in 0..40 {
        assert_eq!(read(&file, block * BLOCK, 1).unwrap_err().to_string(), "test://a: the store panicked");
    }
}

/// Objects each of which is read through a file of the same cache, as what is unpacked would be.
#[derive(Clone, Default)]
struct Members(Arc<OnceLock<Cache>>);

struct Member(File, Version);

impl Store for Members {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, StoreError> {
        let packed = self.0.get().unwrap().open(&format!("test://{name}")).unwrap();
        Ok(Arc::new(Member(packed, Version::Tag(name.into()))))
    }

    fn list(&self, _: &str) -> Result<Vec<Listed>, StoreError> {
        unreachable!("nobody lists them")
    }
}

impl Object for Member {
    fn size(&self) -> u64 {
        self.0.len()
    }

    fn version(&self) -> &Version {
        &self.1
    }

    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), StoreError> {
        Ok((self.0.read_at(&mut pieces[0], offset).unwrap(), self.1.clone()))
    }
}

#[test]
fn an_object_may_speak_with_the_cache_as_it_goes() {
    // More than are kept open: each that goes closes one of those.
    const MANY: usize = 1200;
    let (members, objects) = (Members::default(), Memory::default());
    (0..MANY).for_each(|name| objects.put(&name.to_string(), bytes("a", 0, BLOCK)));
    let cache = builder(16).store("test", Arc::new(objects)).store("member", Arc::new(members.clone()));
    let cache = members.0.get_or_init(|| cache.open().unwrap()).clone();
    let (sender, receiver) = channel();
    let read_all = move || {
        for name in 0..MANY {
            let file = cache.open(&format!("member://{name}")).unwrap();
            assert_eq!(read(&file, 0, 100).unwrap(), bytes("a", 0, 100));
        }
        sender.send(()).unwrap();
    };
    // A store's thread has no more.
    thread::Builder::new().stack_size(512 << 10).spawn(read_all).unwrap();
    receiver.recv_timeout(Duration::from_secs(60)).expect("it waits for itself");
}

#[test]
fn a_plan_is_of_its_own_caches_files() {
    let ((one, _), (other, _)) = (over(8, &[("a", BLOCK)]), over(8, &[("a", BLOCK)]));
    let (file, mut plan) = (other.open("test://a").unwrap(), one.plan());
    let refused = [plan.file(&file).err(), plan.range(&file, 0..1).err(), file.read_by(&one).err()];
    for error in refused {
        assert!(matches!(error, Some(Error::OtherCache { name }) if *name == *"test://a"));
    }
    assert!(file.read_by(&other.reader()).is_ok());
}

#[test]
fn a_thread_may_end_with_a_cache_of_its_own() {
    thread_local! {
        static OWN: RefCell<Vec<Cache>> = const { RefCell::new(Vec::new()) };
    }
    let end = || {
        // This first: then it goes last of what the thread has.
        OWN.with_borrow_mut(Vec::clear);
        for _ in 0..2 {
            let (cache, _) = over(8, &[("a", BLOCK)]);
            read(&cache.open("test://a").unwrap(), 0, 1).unwrap();
            OWN.with_borrow_mut(|own| own.push(cache));
        }
        // One goes before.
        OWN.with_borrow_mut(Vec::pop);
    };
    thread::spawn(end).join().unwrap();
}
