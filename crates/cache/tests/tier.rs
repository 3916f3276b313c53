//! The second tier: what goes there, what comes from there, and that nothing wrong ever does.
//!
//! `FORESEE_KILLS=100` kills more processes that use one.

#[path = "common/bytes.rs"]
mod bytes;
#[path = "common/lasting.rs"]
mod lasting;
#[path = "common/random.rs"]
mod random;

use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::bytes;
use foresee::store::{Faults, Faulty, Memory};
use foresee::{Cache, Error, File, Statistics};
use lasting::Lasting;
use random::Random;

const BLOCK: u64 = 4096;
const KILLS: u64 = 10;
/// A store that takes so long is slower than any disk: else the disk is not asked.
const SLOWER_US: u64 = 20_000;
/// What a process is told that is to be killed: the path of its file.
const VICTIM: &str = "FORESEE_TEST_VICTIM";

/// A file for the tier that is not there yet, and is gone with this.
struct Disk(PathBuf);

impl Disk {
    fn new(name: &str) -> Self {
        let disk = Disk(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tier-{name}")));
        disk.remove();
        disk
    }

    fn remove(&self) {
        let _ = fs::remove_file(&self.0);
    }

    fn is_as_long_as_it_may(&self, bytes: u64) -> bool {
        fs::metadata(&self.0).unwrap().len() <= bytes
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A cache with some blocks of memory and of disk, over an object `a` of some blocks; each process
/// has the same.
fn over(path: &Path, memory: u64, disk: u64, object: u64) -> Cache {
    over_late(path, memory, disk, object, 0)
}

/// The same, over a store that takes up to so many microseconds.
fn over_late(path: &Path, memory: u64, disk: u64, object: u64, late_us_max: u64) -> Cache {
    let store = Memory::default();
    store.put("a", bytes("a", 0, object * BLOCK));
    let store = Faulty::new(Lasting(store), 1, Faults { late_us_max, ..Faults::default() });
    let builder =
        Cache::builder().memory((memory * 5000) as usize + 20 * disk as usize * 8).block_bytes(BLOCK as usize);
    let builder = builder.policy("lru").store("test", Arc::new(store));
    builder.disk(path, disk * (BLOCK + 40) + 2 * BLOCK).open().unwrap()
}

fn read_all(file: &File) {
    let expected = bytes("a", 0, file.len());
    for (block, expected) in expected.chunks(BLOCK as usize).enumerate() {
        let mut buffer = vec![0; BLOCK as usize];
        assert_eq!(file.read_at(&mut buffer, block as u64 * BLOCK).unwrap(), expected.len());
        assert!(buffer == expected, "block {block} is wrong");
    }
}

/// Reads all again and again, until so many passes in a row wrote nothing; what was to be written
/// may take its time.
fn read_until_nothing_is_written(cache: &Cache, file: &File) -> Statistics {
    loop {
        let before = cache.statistics();
        read_all(file);
        thread::sleep(Duration::from_millis(20));
        read_all(file);
        let after = cache.statistics();
        let has_some = after.disk.bytes_written > 0;
        if has_some && before.disk.bytes_written == after.disk.bytes_written {
            return after;
        }
    }
}

#[test]
fn what_is_read_once_fills_the_disk_once_and_no_more_is_written() {
    let disk = Disk::new("once");
    let cache = over(&disk.0, 32, 60, 400);
    let file = cache.open("test://a").unwrap();
    read_all(&file);
    thread::sleep(Duration::from_millis(50));
    let written = cache.statistics().disk.bytes_written;
    assert!(written > 0 && written <= 60 * BLOCK, "{written}");
}

/// A cache of a file of 100 blocks, all of which lies on this disk, the file, and what came of it.
fn written(disk: &Disk) -> (Cache, File, Statistics) {
    let cache = over_late(&disk.0, 32, 200, 100, SLOWER_US);
    let file = cache.open("test://a").unwrap();
    let before = read_until_nothing_is_written(&cache, &file);
    (cache, file, before)
}

/// All of a file of 100 blocks, which lies on the disk, is read from there. Where a busy machine
/// once made that slower than the store, one request in 64 finds out that it no longer is.
fn comes_from_the_disk(cache: &Cache, file: &File, mut before: Statistics) -> Statistics {
    let mut comes = |_| {
        read_all(file);
        let after = cache.statistics();
        let (of_store, of_disk) =
            (after.bytes_read - before.bytes_read, after.disk.bytes_read - before.disk.bytes_read);
        before = after;
        of_store <= 10 * BLOCK && of_disk >= 90 * BLOCK
    };
    assert!((0..60).any(&mut comes), "{before:?}");
    before
}

#[test]
fn what_is_missed_again_comes_from_the_disk() {
    let disk = Disk::new("again");
    let (cache, file, before) = written(&disk);
    let after = comes_from_the_disk(&cache, &file, before);
    assert!(after.disk.bytes_written <= 110 * BLOCK, "{after:?}");
    assert!(disk.is_as_long_as_it_may(200 * (BLOCK + 40) + 2 * BLOCK));
}

#[test]
fn nothing_is_kept_of_a_store_whose_versions_mean_something_else_in_the_next_run() {
    let disk = Disk::new("counted");
    for generation in 0..2 {
        let store = Memory::default();
        store.put("a", bytes("a", generation, 100 * BLOCK));
        let builder = Cache::builder().memory(32 * 5000 + 20 * 200 * 8).block_bytes(BLOCK as usize).policy("lru");
        let builder = builder.store("test", Arc::new(store)).disk(&disk.0, 200 * (BLOCK + 40) + 2 * BLOCK);
        let cache = builder.open().unwrap();
        let file = cache.open("test://a").unwrap();
        for offset in (0..10 * 100 * BLOCK).step_by(BLOCK as usize).map(|offset| offset % file.len()) {
            let mut read = vec![0; BLOCK as usize];
            file.read_at(&mut read, offset).unwrap();
            assert!(read == bytes::bytes_at("a", generation, offset, read.len()));
        }
        let statistics = cache.statistics();
        assert_eq!((statistics.disk.bytes_written, statistics.disk.bytes_read), (0, 0), "{statistics:?}");
    }
}

#[test]
fn what_a_plan_names_again_is_written_the_first_time() {
    let disk = Disk::new("planned");
    let cache = over(&disk.0, 32, 200, 100);
    let file = cache.open("test://a").unwrap();
    let mut plan = cache.plan();
    plan.file(&file).unwrap().repeat(1, 3);
    read_all(&file);
    thread::sleep(Duration::from_millis(100));
    assert!(cache.statistics().disk.bytes_written > 0, "{:?}", cache.statistics());
}

#[test]
fn a_tier_is_there_again_and_one_of_another_size_begins_anew() {
    let disk = Disk::new("reopened");
    let cache = over(&disk.0, 32, 200, 100);
    let file = cache.open("test://a").unwrap();
    let before = read_until_nothing_is_written(&cache, &file);
    drop((file, cache));
    let cache = over(&disk.0, 32, 200, 100);
    let file = cache.open("test://a").unwrap();
    read_all(&file);
    let after = cache.statistics();
    assert_eq!(after.disk.blocks_used, before.disk.blocks_used);
    assert_eq!(after.disk.bytes_read, before.disk.blocks_used as u64 * BLOCK);
    drop((file, cache));
    let cache = over(&disk.0, 32, 150, 100);
    assert_eq!(cache.statistics().disk.blocks_used, 0);
    read_all(&cache.open("test://a").unwrap());
}

#[test]
fn another_cache_reads_what_lies_there_and_takes_the_place_of_who_is_gone() {
    let disk = Disk::new("shared");
    let opened = || {
        let cache = over_late(&disk.0, 32, 200, 150, SLOWER_US);
        let file = cache.open("test://a").unwrap();
        (cache, file)
    };
    let read = |file: &File, blocks: std::ops::Range<u64>| {
        let expected = bytes("a", 0, file.len());
        for block in blocks {
            let mut buffer = vec![0; BLOCK as usize];
            file.read_at(&mut buffer, block * BLOCK).unwrap();
            assert!(buffer == expected[(block * BLOCK) as usize..][..BLOCK as usize], "block {block} is wrong");
        }
    };
    let ((first, of_first), until) = (opened(), |what: &str, holds: &mut dyn FnMut() -> bool| {
        assert!((0..1000).any(|_| holds()), "{what}");
    });
    until("it keeps some", &mut || {
        read(&of_first, 0..60);
        first.statistics().disk.bytes_written >= 55 * BLOCK
    });
    let (second, of_second) = opened();
    assert!(second.statistics().disk.blocks_used >= 55);
    until("the other one reads that", &mut || {
        read(&of_second, 0..60);
        second.statistics().disk.bytes_read >= 50 * BLOCK
    });
    // What the first one keeps later on is found some seconds after that.
    until("it keeps more", &mut || {
        read(&of_first, 0..100);
        first.statistics().disk.bytes_written >= 95 * BLOCK
    });
    until("the other one sees it", &mut || {
        read(&of_second, 0..100);
        second.statistics().disk.blocks_used >= 95
    });
    assert_eq!((second.statistics().disk.bytes_written, second.statistics().disk.damaged), (0, 0));
    drop((of_first, first));
    until("it takes its place", &mut || {
        read(&of_second, 0..150);
        second.statistics().disk.bytes_written > 0
    });
}

#[test]
fn what_cannot_be_the_disk_is_said_and_not_touched() {
    let disk = Disk::new("refused");
    let open = |path: &Path, bytes| Cache::builder().memory(1 << 20).disk(path, bytes).open().map(drop);
    let refused = |path: &Path, bytes, why: &str| match open(path, bytes) {
        Err(error @ Error::Disk { .. }) => {
            let said = error.to_string();
            assert!(said.contains(path.to_str().unwrap()) && said.contains(why), "{said}");
        }
        other => panic!("{other:?}"),
    };
    refused(&disk.0, 20_000, "20000 bytes hold no block of 16384");
    let kept = Cache::builder().memory(1 << 20).disk(&disk.0, 1 << 20).open().unwrap();
    refused(&disk.0, 2 << 20, "another cache has it, with blocks or bytes of another number");
    drop(kept);
    open(&disk.0, 1 << 20).unwrap();
    fs::write(&disk.0, "somebody's").unwrap();
    refused(&disk.0, 1 << 20, "remove");
    assert_eq!(fs::read(&disk.0).unwrap(), b"somebody's");
    refused(Path::new("/dev/null"), 1 << 20, "regular file");
    refused(Path::new("/nowhere/tier"), 1 << 20, "No such file");
    let little = Cache::builder().memory(1 << 20).disk(&disk.0, 1 << 40).open().map(drop);
    let error = little.unwrap_err().to_string();
    assert!(error.contains("fewer than 5 blocks") && error.ends_with(", or a smaller disk"), "{error}");
}

/// Does harm to the file of a tier that is in use, and reads all.
fn harmed(name: &str, harm: impl Fn(&fs::File) -> io::Result<()>) -> Statistics {
    let disk = Disk::new(name);
    let cache = over(&disk.0, 32, 200, 100);
    let file = cache.open("test://a").unwrap();
    read_until_nothing_is_written(&cache, &file);
    harm(&OpenOptions::new().read(true).write(true).open(&disk.0).unwrap()).unwrap();
    (0..20).for_each(|_| read_all(&file));
    let statistics = cache.statistics();
    drop((file, cache));
    let cache = over(&disk.0, 32, 200, 100);
    (0..3).for_each(|_| read_all(&cache.open("test://a").unwrap()));
    statistics
}

#[test]
fn a_flipped_bit_is_a_miss() {
    let statistics = harmed("flipped", |file| {
        let length = file.metadata()?.len();
        for at in (8192..length).step_by(BLOCK as usize) {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at)?;
            file.write_all_at(&[byte[0] ^ 4], at)?;
        }
        Ok(())
    });
    assert!(statistics.disk.damaged > 0, "{statistics:?}");
}

#[test]
fn what_is_cut_off_is_a_miss() {
    let statistics = harmed("cut", |file| file.set_len(10 * BLOCK + 7));
    assert!(statistics.disk.damaged > 0, "{statistics:?}");
}

/// Reads the second half of what is read once, after something happened to the disk's file.
fn goes_on_after(disk: &Disk, happens: impl Fn(&fs::File)) -> Statistics {
    let cache = over(&disk.0, 32, 300, 400);
    let file = cache.open("test://a").unwrap();
    let (first, second) = (0..200, 200..400);
    let read = |blocks: std::ops::Range<u64>| {
        let expected = bytes("a", 0, file.len());
        for block in blocks {
            let mut buffer = vec![0; BLOCK as usize];
            file.read_at(&mut buffer, block * BLOCK).unwrap();
            assert!(buffer == expected[(block * BLOCK) as usize..][..BLOCK as usize], "block {block} is wrong");
        }
        thread::sleep(Duration::from_millis(50));
    };
    read(first);
    happens(&OpenOptions::new().write(true).open(&disk.0).unwrap());
    read(second);
    read(0..400);
    cache.statistics()
}

#[test]
fn a_file_that_was_emptied_is_a_caches_again() {
    let disk = Disk::new("emptied");
    goes_on_after(&disk, |file| file.set_len(0).unwrap());
    let cache = over(&disk.0, 32, 300, 400);
    read_all(&cache.open("test://a").unwrap());
    assert!(disk.is_as_long_as_it_may(300 * (BLOCK + 40) + 2 * BLOCK));
}

#[test]
fn what_somebody_else_wrote_there_is_not_written_over() {
    let disk = Disk::new("anothers");
    let others = vec![b'x'; 100_000];
    let statistics = goes_on_after(&disk, |file| {
        file.set_len(0).unwrap();
        file.write_all_at(&others, 0).unwrap();
    });
    assert!(fs::read(&disk.0).unwrap() == others);
    assert!(statistics.disk.failed_writes > 0, "{statistics:?}");
}

#[test]
fn a_file_that_was_removed_serves_on() {
    let disk = Disk::new("removed");
    let (cache, file, before) = written(&disk);
    disk.remove();
    comes_from_the_disk(&cache, &file, before);
}

#[test]
fn no_more_is_written_than_the_disk_holds_was_read_from_it_and_an_eighth_of_what_came_from_stores() {
    let disk = Disk::new("wear");
    let cache = over(&disk.0, 16, 30, 200);
    let file = cache.open("test://a").unwrap();
    let mut random = Random(3);
    let mut buffer = [0; 1];
    for _ in 0..20_000 {
        file.read_at(&mut buffer, random.below(file.len())).unwrap();
    }
    let Statistics { bytes_read, disk, .. } = cache.statistics();
    let paid = disk.blocks as u64 * BLOCK + disk.bytes_read + bytes_read / 8;
    assert!(disk.bytes_written > disk.blocks as u64 * BLOCK, "{disk:?}");
    assert!(disk.bytes_written <= paid, "{disk:?}, {bytes_read} from the store");
}

/// What reads and writes a tier until it is killed.
#[test]
fn victim() {
    let Ok(path) = env::var(VICTIM) else { return };
    let cache = over(Path::new(&path), 16, 60, 100);
    let file = cache.open("test://a").unwrap();
    loop {
        read_all(&file);
    }
}

#[test]
fn a_tier_whose_process_was_killed_opens_again_and_gives_nothing_wrong() {
    let kills = env::var("FORESEE_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(KILLS);
    let disk = Disk::new("killed");
    let (mut random, mut came) = (Random(kills), 0);
    for _ in 0..kills {
        let mut victim = Command::new(env::current_exe().unwrap());
        let mut victim = victim.args(["--exact", "victim"]).env(VICTIM, &disk.0).spawn().unwrap();
        thread::sleep(Duration::from_millis(random.below(400)));
        victim.kill().unwrap();
        victim.wait().unwrap();
        let cache = over(&disk.0, 16, 60, 100);
        (0..2).for_each(|_| read_all(&cache.open("test://a").unwrap()));
        came += cache.statistics().disk.bytes_read;
    }
    assert!(came > 0, "nothing ever came from a killed process's tier");
}
