//! Stores that fail: that ask again by themselves before they do, that take an object no more, that say
//! of what they read what cannot be, and whose objects are too long.

use std::io::{Error, ErrorKind, IoSliceMut};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use foresee::Cache;
use foresee::store::{Error as StoreError, Listed, Object, Store, Version};

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 1000;
static VERSION: Version = Version::Stamp([0; 5]);

/// Counts what it is asked, and fails: whether as one that has asked again.
struct Away(Arc<AtomicU64>, bool);

impl Store for Away {
    fn open(&self, _: &str) -> Result<Arc<dyn Object>, StoreError> {
        Ok(Arc::new(Away(Arc::clone(&self.0), self.1)))
    }
    fn list(&self, _: &str) -> Result<Vec<Listed>, StoreError> {
        Ok(Vec::new())
    }
    fn is_persistent(&self) -> bool {
        self.1
    }
}

impl Object for Away {
    fn size(&self) -> u64 {
        BLOCKS * BLOCK
    }
    fn version(&self) -> &Version {
        &VERSION
    }
    fn read(&self, _: u64, _: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), StoreError> {
        self.0.fetch_add(1, Relaxed);
        Err(Error::new(ErrorKind::TimedOut, "as this test has it").into())
    }
}

/// Requests for a read of many blocks, which are counted as what they are.
fn asked(is_persistent: bool) -> u64 {
    let asked = Arc::new(AtomicU64::new(0));
    let cache = Cache::builder().memory(2 * (BLOCKS * BLOCK) as usize).block_bytes(BLOCK as usize);
    let cache = cache.store("test", Arc::new(Away(Arc::clone(&asked), is_persistent))).open().unwrap();
    let mut buffer = vec![0; 200 * BLOCK as usize];
    let error = cache.open("test://a").unwrap().read_at(&mut buffer, 0).unwrap_err();
    assert!(error.to_string().contains("as this test has it"), "{error}");
    // Some may be ahead of the reader.
    let counted = || {
        let (counted, asked) = (cache.statistics(), asked.load(Relaxed));
        ((counted.demand_requests + counted.ahead_requests, counted.failed_requests), (asked, asked))
    };
    let begun = Instant::now();
    while counted().0 != counted().1 && begun.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(5));
    }
    let (counted, requests) = counted();
    assert_eq!(counted, requests);
    requests.0
}

#[test]
fn what_was_asked_for_again_is_not_asked_for_block_by_block() {
    assert!(asked(true) < 20);
    assert!(asked(false) > 100, "each might come by itself");
}

/// Requests that are counted as what a reader waited for, as those that failed, and as those ahead.
fn counted(cache: &Cache) -> [u64; 3] {
    let counted = cache.statistics();
    [counted.demand_requests, counted.failed_requests, counted.ahead_requests]
}

#[test]
fn what_is_counted_never_falls() {
    let cache = Cache::builder().memory(2 * (BLOCKS * BLOCK) as usize).block_bytes(BLOCK as usize);
    let cache = cache.store("test", Arc::new(Away(Arc::default(), true))).open().unwrap();
    let file = cache.open("test://a").unwrap();
    thread::scope(|scope| {
        let reads = scope.spawn(|| {
            for block in 0..200 {
                file.read_at(&mut vec![0; 200 * BLOCK as usize], block * BLOCK).unwrap_err();
            }
        });
        let mut before = counted(&cache);
        while !reads.is_finished() {
            let now = counted(&cache);
            assert!(before.iter().zip(now).all(|(before, now)| *before <= now), "{before:?}, then {now:?}");
            before = now;
        }
    });
}

/// Numbers what it opens, and reads by what it opened last alone: as a store whose credentials are renewed.
struct Newest(Arc<AtomicU64>, u64);

impl Store for Newest {
    fn open(&self, _: &str) -> Result<Arc<dyn Object>, StoreError> {
        let number = self.0.fetch_add(1, Relaxed) + 1;
        Ok(Arc::new(Newest(Arc::clone(&self.0), number)))
    }
    fn list(&self, _: &str) -> Result<Vec<Listed>, StoreError> {
        Ok(Vec::new())
    }
}

impl Object for Newest {
    fn size(&self) -> u64 {
        BLOCKS * BLOCK
    }
    fn version(&self) -> &Version {
        &VERSION
    }
    fn read(&self, _: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), StoreError> {
        match self.0.load(Relaxed) == self.1 {
            true => Ok((pieces.iter().map(|piece| piece.len()).sum(), VERSION.clone())),
            false => Err(Error::from(ErrorKind::PermissionDenied).into()),
        }
    }
}

#[test]
fn who_opens_an_object_again_reads_by_what_was_opened_last() {
    let cache = Cache::builder().memory(64 * BLOCK as usize).block_bytes(BLOCK as usize);
    let cache = cache.store("test", Arc::new(Newest(Arc::default(), 0))).open().unwrap();
    let open = || cache.open("test://a").unwrap();
    let read = |file: &foresee::File, block: u64| file.read_at(&mut [0; 10], block * BLOCK);
    let before = open();
    read(&before, 0).unwrap();
    read(&open(), 500).unwrap();
    read(&before, 900).unwrap();
}

/// Says of each read how many bytes it wrote, from where on, into room for how many; and writes none.
struct Says(fn(u64, usize) -> usize);

impl Store for Says {
    fn open(&self, _: &str) -> Result<Arc<dyn Object>, StoreError> {
        Ok(Arc::new(Says(self.0)))
    }
    fn list(&self, _: &str) -> Result<Vec<Listed>, StoreError> {
        Ok(Vec::new())
    }
}

impl Object for Says {
    fn size(&self) -> u64 {
        5 * BLOCK - 6
    }
    fn version(&self) -> &Version {
        &VERSION
    }
    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), StoreError> {
        Ok((self.0(offset, pieces.iter().map(|piece| piece.len()).sum()), VERSION.clone()))
    }
}

/// What becomes of a read of the last block, and of its error.
fn said(says: fn(u64, usize) -> usize) -> Result<usize, (ErrorKind, String)> {
    let cache = Cache::builder().memory(64 * BLOCK as usize).block_bytes(BLOCK as usize);
    let cache = cache.store("test", Arc::new(Says(says))).open().unwrap();
    let came = cache.open("test://a").unwrap().read_at(&mut [0; BLOCK as usize], 4 * BLOCK);
    came.map_err(|error| (Error::from(error.clone()).kind(), error.to_string()))
}

#[test]
fn what_a_store_says_that_it_read_and_cannot_have_is_not_handed_out() {
    assert_eq!(said(|_, room| room), Ok(BLOCK as usize - 6));
    let more = "test://a: the store says that it read 4097 bytes into room for 4096".to_owned();
    assert_eq!(said(|_, room| room + 1), Err((ErrorKind::InvalidData, more)));
}

/// An object of so many bytes, of which none can be read.
struct Long(u64);

impl Store for Long {
    fn open(&self, _: &str) -> Result<Arc<dyn Object>, StoreError> {
        Ok(Arc::new(Long(self.0)))
    }
    fn list(&self, _: &str) -> Result<Vec<Listed>, StoreError> {
        Ok(Vec::new())
    }
}

impl Object for Long {
    fn size(&self) -> u64 {
        self.0
    }
    fn version(&self) -> &Version {
        &VERSION
    }
    fn read(&self, _: u64, _: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), StoreError> {
        Err(Error::other("as this test has it").into())
    }
}

#[test]
fn what_is_too_long_is_said_with_what_holds_it() {
    let opened = |size, block_bytes| {
        let cache = Cache::builder().memory(16 << 20).block_bytes(block_bytes).store("test", Arc::new(Long(size)));
        cache.open().unwrap().open("test://a").map(drop).map_err(|error| error.to_string())
    };
    let text = |size: u64, block_bytes, remedy| {
        format!("test://a: {size} bytes are more than 2^40 blocks of {block_bytes}, the most of one object{remedy}")
    };
    let most = BLOCK << 40;
    assert_eq!(opened(most, 4096), Ok(()));
    assert_eq!(opened(most + 1, 8192), Ok(()));
    let remedy = ": give blocks of 8192 or more (block_bytes)";
    assert_eq!(opened(most + 1, 4096), Err(text(most + 1, 4096, remedy)));
    assert_eq!(opened(u64::MAX, 1 << 20), Err(text(u64::MAX, 1 << 20, "")));
}

#[test]
fn where_an_object_ends_too_early_is_said() {
    let early = "test://a: it ended at byte 16484, though it was 20474 bytes long when it was opened".to_owned();
    let until_16484 = |offset: u64, room: usize| room.min(16_484_u64.saturating_sub(offset) as usize);
    assert_eq!(said(until_16484), Err((ErrorKind::UnexpectedEof, early)));
}
