//! The memory is bounded, as the system counts it: with one reader and with many, with a disk and
//! without. Each in a process of its own, which nothing else takes memory of.
//!
//! The system counts the program's own code as well, once it has run. So a small cache does
//! beforehand what the one that is measured does: with all object stores linked, 4 MB of code come
//! to be in memory by that.

#[path = "common/random.rs"]
mod random;

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use foresee::Cache;
use random::Random;

const MEMORY: u64 = 32 << 20;
/// What plans have unread, threads' stacks, and what the allocator keeps: of each thread that reads a part.
const BESIDE: u64 = 4 << 20;
const BESIDE_EACH: u64 = 128 << 10;
const FILE: u64 = 256 << 20;
/// What a reader of this program's takes itself: its buffer.
const BUFFER: u64 = 32 << 10;

/// Says how many readers a process has, and whether a disk.
const MEASURED: &str = "FORESEE_MEASURED";

/// Bytes that this process has in memory, and most it ever had.
fn resident() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kib = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (kib("VmRSS:") << 10, kib("VmHWM:") << 10)
}

/// What is read, and what is the disk of who reads it.
struct Paths {
    file: PathBuf,
    disk: Option<PathBuf>,
}

impl Paths {
    fn of(name: &str, has_disk: bool) -> Self {
        let path = |what| Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-memory-{name}-{what}"));
        Paths { file: path("file"), disk: has_disk.then(|| path("disk")) }
    }
}

impl Drop for Paths {
    fn drop(&mut self) {
        // What is left behind is in a directory that is cleared with the build.
        let _ = fs::remove_file(&self.file);
        self.disk.iter().for_each(|path| _ = fs::remove_file(path));
    }
}

/// Each reader reads, views and plans in a cache of so much memory, until it is full.
fn use_all(paths: &Paths, memory: u64, readers: u64, steps: u64) {
    let builder = Cache::builder().memory(memory as usize).block_bytes(4096);
    let cache = match &paths.disk {
        Some(path) => builder.disk(path, 2 * memory),
        None => builder,
    };
    let cache = &cache.open().unwrap();
    thread::scope(|scope| {
        for reader in 0..readers {
            let (cache, steps) = (cache.reader(), steps / readers);
            let read = move || {
                let file = cache.open(paths.file.to_str().unwrap()).unwrap();
                let (mut random, mut buffer) = (Random(reader + 1), vec![0; BUFFER as usize]);
                let mut plan = cache.plan();
                let mut views = Vec::new();
                for _ in 0..steps {
                    let place = random.below(FILE);
                    plan.range(&file, place..place + 50_000).unwrap();
                    file.read_at(&mut buffer, random.below(FILE)).unwrap();
                    views.push(file.view(random.below(FILE), 1).unwrap());
                    views.truncate(steps as usize / 8);
                }
            };
            scope.spawn(read);
        }
    });
    let statistics = cache.statistics();
    // Some are just being filled.
    assert!(statistics.blocks_used * 10 >= statistics.blocks * 9, "the memory is not full");
}

#[test]
fn measured() {
    let Ok(measured) = env::var(MEASURED) else { return };
    let (readers, disk) = measured.split_once(' ').unwrap();
    let (readers, paths) = (readers.parse().unwrap(), Paths::of(&measured.replace(' ', "-"), disk == "disk"));
    File::create(&paths.file).unwrap().set_len(FILE).unwrap();
    use_all(&paths, MEMORY / 16, readers, 400);
    let (before, _) = resident();
    use_all(&paths, MEMORY, readers, 4000);
    let taken = resident().1 - before - readers * BUFFER;
    assert!(taken >= MEMORY * 3 / 4, "only {taken} bytes: this says nothing");
    let most = MEMORY + BESIDE + readers * BESIDE_EACH;
    assert!(taken <= most, "{taken} bytes, where {MEMORY} are given and {most} said");
}

#[test]
fn a_cache_takes_no_more_memory_than_it_was_given() {
    for readers in [1, 8, 32] {
        for disk in ["no", "disk"] {
            let mut process = Command::new(env::current_exe().unwrap());
            let process =
                process.args(["--exact", "measured", "--nocapture"]).env(MEASURED, format!("{readers} {disk}"));
            assert!(process.status().unwrap().success(), "{readers} readers, disk: {disk}");
        }
    }
}
