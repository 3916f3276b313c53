//! Whatever many readers do at once, over a store that misbehaves: no wrong byte, no mixed
//! versions, each error at its own reader, and nothing left behind.
//!
//! `FORESEE_SEEDS=10000` tries more; `FORESEE_SEED=17` one again.

#[path = "common/bytes.rs"]
mod bytes;
#[path = "common/executor.rs"]
mod executor;
#[path = "common/lasting.rs"]
mod lasting;
#[path = "common/random.rs"]
mod random;
#[path = "common/rings.rs"]
mod rings;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::env;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::{bytes, bytes_at};
use foresee::store::{Error as StoreError, Faults, Faulty, Listed, Local, Memory, Object, Store, Version};
use foresee::{Cache, Error, File, Statistics};
use lasting::Lasting;
use random::Random;

const SEEDS: u64 = 1000;
const READERS: u64 = 3;
const STEPS: u64 = 60;
const NAMES: [(&str, u64); 4] = [("a", 3 * 4096), ("b", 40 * 4096 - 7), ("c", 1), ("d", 90_001)];
const POLICIES: [&str; 7] =
    ["informed", "readahead:keep=arc", "lru", "tip2", "null", "tip1:unread_share=0.5", "w-tinylfu"];

/// In so many seeds the objects are files, which the system reads by itself where it can: to open
/// one that was just written waits for the clock.
const FILES_EVERY: u64 = 20;

/// Where the objects lie.
enum Objects {
    Memory(Memory),
    Folder(PathBuf),
}

impl Objects {
    fn open(&self, name: &str) -> Arc<dyn Object> {
        match self {
            Objects::Memory(memory) => memory.open(name),
            Objects::Folder(folder) => Within(folder.clone()).open(name),
        }
        .unwrap()
    }

    fn spoiled(&self, seed: u64, faults: Faults) -> Arc<dyn Store> {
        match self {
            Objects::Memory(memory) => Arc::new(Faulty::new(Lasting(memory.clone()), seed, faults)),
            Objects::Folder(folder) => Arc::new(Faulty::new(Within(folder.clone()), seed, faults)),
        }
    }

    fn put(&self, name: &str, bytes: Vec<u8>) {
        match self {
            Objects::Memory(memory) => memory.put(name, bytes),
            Objects::Folder(folder) => {
                let (new, path) = (folder.join("new"), folder.join(name));
                fs::write(&new, bytes).unwrap();
                fs::rename(new, path).unwrap();
            }
        }
    }
}

/// The files of a folder.
struct Within(PathBuf);

impl Store for Within {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, StoreError> {
        Local::direct().open(self.0.join(name).to_str().unwrap())
    }

    fn list(&self, _: &str) -> Result<Vec<Listed>, StoreError> {
        unreachable!("nobody lists them")
    }
}

/// Which bytes these are, of all that a version says: a file's status changes once more when another
/// takes its name, and who has just opened it may look at it then.
fn written(version: &Version) -> Version {
    match version {
        Version::Stamp([device, inode, size, changed, _]) => Version::Stamp([*device, *inode, *size, *changed, 0]),
        tag @ Version::Tag(_) => tag.clone(),
    }
}

/// The objects, which change, and which generation each version is.
struct World {
    objects: Objects,
    store: Arc<dyn Store>,
    generations: AtomicU64,
    known: Mutex<HashMap<Version, u64>>,
}

impl World {
    fn new(seed: u64, folder: &Path) -> Self {
        let mut random = Random(seed);
        let mut share = |most: u64| if random.below(2) == 0 { 0 } else { random.below(most) };
        let faults = Faults {
            unopened: share(50),
            failed: share(100),
            short: share(400),
            ended: share(20),
            changed: share(10),
            late_us_max: share(200),
        };
        let objects = match seed % FILES_EVERY {
            0 => Objects::Folder(folder.to_owned()),
            _ => Objects::Memory(Memory::default()),
        };
        let store = objects.spoiled(seed, faults);
        let world = World { objects, store, generations: AtomicU64::new(0), known: Mutex::default() };
        for (name, size) in NAMES {
            world.put(name, size);
        }
        world
    }

    /// Another generation, of another size.
    fn put(&self, name: &str, size: u64) {
        // One at a time, so that the version that is there is the one that was put.
        let mut known = self.known.lock().unwrap();
        let generation = self.generations.fetch_add(1, Relaxed);
        self.objects.put(name, bytes(name, generation, size));
        known.insert(written(self.objects.open(name).version()), generation);
    }

    fn check(&self, file: &File, offset: u64, bytes: &[u8]) {
        // Who opened it may be quicker than who put it.
        let generation = self.known.lock().unwrap()[&written(file.version())];
        let expected = bytes_at(file.name(), generation, offset, bytes.len());
        let right = || bytes.iter().zip(&expected).take_while(|(found, expected)| found == expected).count() as u64;
        assert!(bytes == expected, "{} of generation {generation} at {}", file.name(), offset + right());
    }
}

/// What a reader may be told: what the store does wrong.
fn is_of_the_store(error: &Error) -> bool {
    match error {
        Error::Store { error: StoreError::Changed, .. } => true,
        Error::Store { error: StoreError::Io(error), .. } => {
            error.to_string() == "a fault of the test store" || error.kind() == std::io::ErrorKind::UnexpectedEof
        }
        Error::TooManyViews => true,
        _ => false,
    }
}

fn read(world: &World, cache: &Cache, seed: u64, failed: &AtomicUsize) {
    let mut random = Random(seed);
    // What was viewed stays open to the end.
    let viewed: Vec<OnceCell<File>> = (0..STEPS).map(|_| OnceCell::new()).collect();
    let mut files: Vec<File> = Vec::new();
    let mut views = Vec::new();
    let mut plan = Some(cache.plan());
    for viewed in &viewed {
        let failure = match random.below(20) {
            0 | 1 => {
                let (name, _) = NAMES[random.below(NAMES.len() as u64) as usize];
                match cache.open(&format!("test://{name}")) {
                    Ok(file) => {
                        files.push(file);
                        None
                    }
                    Err(error) => Some(error),
                }
            }
            2 => {
                let (name, size) = NAMES[random.below(NAMES.len() as u64) as usize];
                world.put(name, random.below(2 * size) + 1);
                None
            }
            3 => {
                files.pop();
                None
            }
            4 => {
                views.clear();
                None
            }
            5 => {
                plan = (random.below(2) == 0).then(|| cache.plan());
                None
            }
            6 => {
                let (name, _) = NAMES[random.below(NAMES.len() as u64) as usize];
                plan.iter_mut().for_each(|it| _ = it.address(&format!("test://{name}")).unwrap());
                None
            }
            _ if files.is_empty() => None,
            step => {
                let file = files[random.below(files.len() as u64) as usize].clone();
                let (offset, count) = (random.below(file.len() + 10), random.below(50_000));
                match step {
                    7..=9 => {
                        if let Some(plan) = &mut plan {
                            plan.range(&file, offset..offset + count).unwrap().repeat(random.below(3), random.below(4));
                        }
                        None
                    }
                    10..=12 => {
                        let file = viewed.get_or_init(|| file);
                        let view = match random.below(2) {
                            0 => file.view(offset, count as usize),
                            _ => executor::one(file.view_async(offset, count as usize)),
                        };
                        view.map(|view| views.push((file, offset, view))).err()
                    }
                    13 => {
                        let woken = Arc::default();
                        let _ = executor::poll(pin!(file.read_at_async(offset, count as usize)), &woken);
                        let _ = executor::poll(pin!(file.view_async(offset, count as usize)), &woken);
                        None
                    }
                    _ => {
                        let read = match random.below(2) {
                            0 => {
                                let mut buffer = vec![0; count as usize];
                                file.read_at(&mut buffer, offset).map(|came| buffer[..came].to_vec())
                            }
                            _ => executor::one(file.read_at_async(offset, count as usize)),
                        };
                        match read {
                            Ok(came) => {
                                assert_eq!(came.len() as u64, count.min(file.len().saturating_sub(offset)));
                                world.check(&file, offset, &came);
                                None
                            }
                            Err(error) => Some(error),
                        }
                    }
                }
            }
        };
        for (file, offset, view) in &views {
            world.check(file, *offset, view);
        }
        if let Some(error) = failure {
            assert!(is_of_the_store(&error), "{error}");
            failed.fetch_add(1, Relaxed);
        }
    }
}

/// Says which seed it was, if it goes wrong.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("seed {}: FORESEE_SEED={} tries it again", self.0, self.0);
        }
    }
}

fn run(seed: u64, disk: &Path, failed: &AtomicUsize) {
    let _named = Named(seed);
    let folder = disk.with_extension("files");
    fs::create_dir_all(&folder).unwrap();
    let world = World::new(seed, &folder);
    let mut random = Random(seed ^ 0xabcd);
    let policy = POLICIES[random.below(POLICIES.len() as u64) as usize];
    let memory = (4 + random.below(60) as usize) * 4800;
    let mut builder = Cache::builder().memory(memory).block_bytes(4096).policy(policy);
    if random.below(2) == 0 {
        // Another world's names and versions are not this one's.
        let _ = fs::remove_file(disk);
        builder = builder.memory(memory + 20_000).disk(disk, 20_000 + random.below(300_000));
    }
    let cache = builder.store("test", Arc::clone(&world.store)).open().unwrap();
    thread::scope(|scope| {
        for reader in 0..READERS {
            let (world, cache) = (&world, if reader == 0 { cache.clone() } else { cache.reader() });
            scope.spawn(move || read(world, &cache, seed * READERS + reader, failed));
        }
    });
    // What came for a future that went meanwhile is given back by the thread that brought it. What was
    // given up on its way is in one of the frames that a disk's blocks are written from, too.
    let is_quiet = |it: &Statistics| it.blocks_used <= it.blocks && it.views == 0;
    let begun = Instant::now();
    while !is_quiet(&cache.statistics()) && begun.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_micros(100));
    }
    let statistics = cache.statistics();
    assert!(is_quiet(&statistics), "{statistics:?}");
}

#[test]
fn no_reader_ever_gets_wrong_bytes() {
    let number = |name: &str| env::var(name).ok()?.parse().ok();
    let seeds = match number("FORESEE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FORESEE_SEEDS").unwrap_or(SEEDS),
    };
    let failed = AtomicUsize::new(0);
    let next = AtomicU64::new(seeds.start);
    let run_some = &|worker: usize| {
        let disk = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("interleavings-{worker}"));
        let seed = || Some(next.fetch_add(1, Relaxed)).filter(|seed| seeds.contains(seed));
        iter::from_fn(seed).for_each(|seed| run(seed, &disk, &failed));
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..workers).for_each(|worker| _ = scope.spawn(move || run_some(worker))));
    // What the system was at for them is over, whatever went wrong.
    rings::end();
    assert!(
        seeds.end - seeds.start < 100 || failed.into_inner() > 0,
        "nothing ever went wrong: the faults are not there"
    );
}
