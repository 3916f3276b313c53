//! What a generator gives of a plan when nobody reads it, when there is nothing in it, and after a plan
//! that was wrong.

use std::iter;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use foresee::store::Memory;
use foresee::{Cache, File};

const BLOCK: u64 = 4096;

/// A cache of so many blocks, over an object of so many.
fn over(blocks: usize, of_object: u64) -> (Cache, File) {
    let objects = Memory::default();
    objects.put("a", vec![1; (of_object * BLOCK) as usize]);
    let memory = blocks * (BLOCK as usize + 700);
    let cache = Cache::builder().memory(memory).block_bytes(BLOCK as usize).store("test", Arc::new(objects));
    let cache = cache.open().unwrap();
    let file = cache.open("test://a").unwrap();
    (cache, file)
}

/// These ranges of a file, and how many of them were asked for.
fn counted(
    file: File,
    ranges: impl Iterator<Item = Range<u64>>,
) -> (Arc<AtomicU64>, impl Iterator<Item = (File, Range<u64>)>) {
    let asked = Arc::<AtomicU64>::default();
    let count = Arc::clone(&asked);
    let ranges = ranges.inspect(move |_| _ = count.fetch_add(1, Relaxed));
    (asked, ranges.map(move |bytes| (file.clone(), bytes)))
}

fn read(file: &File, offset: u64, count: usize) {
    file.read_at(&mut vec![0; count], offset).unwrap();
}

/// What something has counted when it does so no more.
fn at_rest(count: impl Fn() -> u64) -> u64 {
    let (begun, mut before) = (Instant::now(), u64::MAX);
    loop {
        let now = count();
        if now == before && now > 0 {
            return now;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it goes on without end: {now}");
        before = now;
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_generator_of_what_is_in_memory_is_asked_for_a_part() {
    let (cache, file) = over(64, 16);
    read(&file, 0, 16 * BLOCK as usize);
    let (asked, ranges) = counted(file.clone(), (0..).map(|at: u64| at % 16 * BLOCK..(at % 16 + 1) * BLOCK));
    let mut plan = cache.plan();
    plan.generate(ranges);
    let some = at_rest(|| asked.load(Relaxed));
    assert!(some < 100_000, "{some}");
    for at in 0..some {
        read(&file, at % 16 * BLOCK, 1);
    }
    let begun = Instant::now();
    while asked.load(Relaxed) == some {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is not asked again");
        thread::yield_now();
    }
}

#[test]
fn a_generator_of_nothing_has_an_end() {
    let (cache, file) = over(64, 1);
    for nothing in [5..5, 2 * BLOCK..3 * BLOCK] {
        let (asked, ranges) = counted(file.clone(), iter::repeat(nothing));
        let mut plan = cache.plan();
        plan.generate(ranges);
        assert_eq!(at_rest(|| asked.load(Relaxed)), 1 << 16);
    }
}

#[test]
fn a_generator_is_asked_though_the_plan_before_was_wrong() {
    let (cache, file) = over(2048, 3000);
    let fetched = || cache.statistics().planned.fetched;
    let mut plan = cache.plan();
    plan.range(&file, 0..1024 * BLOCK).unwrap();
    let wrong = at_rest(fetched);
    drop(plan);
    let (asked, ranges) = counted(file.clone(), (0..600).map(|at| (1100 + at * 3) * BLOCK..(1101 + at * 3) * BLOCK));
    let mut plan = cache.plan();
    plan.range(&file, 2999 * BLOCK..3000 * BLOCK).unwrap();
    plan.generate(ranges);
    for at in 0..599 {
        while asked.load(Relaxed) < at + 2 {
            thread::yield_now();
        }
        read(&file, (1100 + at * 3) * BLOCK, 1);
    }
    assert!(fetched() - wrong > 100, "{} beside {wrong}", fetched());
}

#[test]
fn what_comes_after_passes_is_asked_for_after_them() {
    let (cache, file) = over(64, 16);
    read(&file, 0, 16 * BLOCK as usize);
    let (asked, ranges) = counted(file.clone(), iter::repeat(0..BLOCK));
    let mut plan = cache.plan();
    plan.file(&file).unwrap().repeat(1, 3);
    plan.generate(ranges);
    thread::sleep(Duration::from_millis(300));
    let before = asked.load(Relaxed);
    for _ in 0..4 {
        (0..16).for_each(|block| read(&file, block * BLOCK, 1));
    }
    assert!((before, at_rest(|| asked.load(Relaxed)) > 0) == (0, true), "{before}");
}
