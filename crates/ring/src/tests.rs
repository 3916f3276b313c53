//! The ring against a model: random programs that post, stop, die and wake up late, and a
//! supervisor that reads and skips. Then real threads.

use std::alloc::{Layout, alloc_zeroed};
use std::collections::{HashMap, HashSet};

use crate::record::Record;
use crate::region::Region;
use crate::slot::{Head, span};
use crate::wire::Packer;
use crate::*;

fn region() -> &'static Region {
    let layout = Layout::from_size_align(Region::layout_size(), 4096).unwrap();
    // SAFETY: fresh, zeroed, aligned memory, never freed.
    unsafe { Region::initialise(alloc_zeroed(layout)) }
}

fn stamp(ticks: u64) -> Stamp {
    Stamp { pid: 7, tid: 8, ticks }
}

fn seeked(offset: u64) -> Record {
    Record::Seeked { fd: 3, generation: 9, offset }
}

/// xorshift64*: enough for tests, and the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }
}

fn samples() -> Vec<Record> {
    let (fd, generation, offset, addr, len) = (-5, 0x3fff_ffff, OFFSET_CURRENT, 1 << 47, 123);
    vec![
        Record::ProcessStarted { ppid: 1, slot: NO_PROCESS_SLOT },
        Record::Forked { parent: 2, slot: 511 },
        Record::Exited {},
        Record::Opened {
            fd,
            generation,
            flags: -1,
            dirfd: -100,
            class: Class::Other,
            adopted: true,
            dev: 1 << 63,
            ino: 2,
            size: 3,
            offset: 4,
            took: Took::from_ticks(1 << 36),
        },
        Record::OpenFailed { dirfd: 4, errno: 2 },
        Record::Stated { dirfd: 4, ok: true, took: Took::from_ticks(1 << 20) },
        Record::Listed { fd },
        Record::ListingWaited {},
        Record::ChangedDirectory { fd },
        Record::Closed { fd, generation },
        Record::Duplicated { from: 1, to: 2, generation },
        Record::Seeked { fd, generation, offset },
        Record::Read { fd, generation, offset, asked: 5, got: -9, took: Took::from_ticks(1 << 20), site: 6 },
        Record::Wrote { fd, generation, offset, len, site: 7 },
        Record::Mapped { fd, generation, prot: 5, addr, offset, len },
        Record::Loaded { addr },
        Record::Advised { fd, generation, advice: Advice::NoReuse, offset, len },
        Record::AdvisedMemory { advice: Advice::WillNeed, addr, len },
        Record::Loading {},
        Record::Quiesces { ticket: 7 },
        Record::Hinted { whole: true },
        Record::HintedSegments {},
        Record::HintsRepeated { hints: u64::MAX, passes: 0 },
        Record::HintsCancelled {},
        Record::Managed { ticket: 1, on: true },
        Record::PrioritySet { ticket: 2, priority: i32::MIN },
        Record::PriorityAsked { ticket: u32::MAX },
        Record::PolicySet { ticket: 3, priority: -1, order: LevelOrder::Mru },
        Record::PolicyAsked { ticket: 4, priority: i32::MAX },
        Record::TemporaryPrioritySet { priority: -7, offset: 1 << 40, len: u64::MAX },
        Record::Executed { reads: 5, bytes: u64::MAX, stall_ticks: 0 },
        Record::ExecutesUnseen { why: Unseen::Confined },
        Record::SiteMet { site: 8, offset: 1 << 40 },
    ]
}

#[test]
#[cfg_attr(miri, ignore = "takes miri more than minutes: long paths, many steps")]
fn every_record_comes_out_as_it_went_in() {
    let region = region();
    let mut consumer = Consumer::new(region);
    let mut buffer = [0; PATH_BYTES_MAX];
    let kinds: HashSet<u8> = samples().iter().map(Record::kind).collect();
    assert_eq!(kinds.len(), (0..=255).filter(|kind| Record::field_words_of(*kind).is_some()).count());
    for record in samples() {
        for path_bytes in [0, 1, 8, 23, 24, 25, 57, 4095] {
            let path: Vec<u8> = (0..path_bytes).map(|byte| byte as u8).collect();
            assert!(region.post(stamp(77), &record, &path));
            let expected = Entry { stamp: stamp(77), record, path: &path };
            assert_eq!(consumer.next(&mut buffer), Next::Record(expected));
        }
    }
    assert_eq!(consumer.next(&mut buffer), Next::Empty);
    assert!(!region.post(stamp(0), &Record::Exited {}, &[0; 4096]));
    assert_eq!((region.lost(), consumer.corrupt()), (1, 0));
}

#[test]
fn a_full_ring_drops_and_counts() {
    let region = region();
    let posted = (0..SLOTS as u64 + 10).filter(|at| region.post(stamp(*at), &seeked(*at), &[])).count();
    assert_eq!((posted, region.lost()), (SLOTS, 10));
    let mut consumer = Consumer::new(region);
    let mut buffer = [0; PATH_BYTES_MAX];
    for at in 0..SLOTS as u64 {
        assert!(matches!(consumer.next(&mut buffer), Next::Record(entry) if entry.record == seeked(at)));
    }
    assert_eq!(consumer.next(&mut buffer), Next::Empty);
}

#[test]
fn half_of_the_ring_is_kept_for_those_who_cannot_wait() {
    let region = region();
    let waiting = |at: &u64| region.is_half_free() && region.post(stamp(*at), &seeked(*at), &[]);
    assert_eq!((0..SLOTS as u64).filter(waiting).count(), SLOTS / 2);
    let mut consumer = Consumer::new(region);
    let mut buffer = [0; PATH_BYTES_MAX];
    for _ in 0..3 {
        assert!(matches!(consumer.next(&mut buffer), Next::Record(_)));
    }
    assert_eq!((0..10).filter(waiting).count(), 3);
    assert_eq!((0..SLOTS as u64).filter(|at| region.post(stamp(*at), &seeked(*at), &[])).count(), SLOTS / 2);
}

#[test]
fn segments_come_out_as_they_went_in() {
    let given: Vec<[u64; 2]> = (0..255).map(|at| [at * 4096, u64::MAX - at]).collect();
    let bytes: Vec<u8> = given.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect();
    let region = region();
    assert!(region.post(stamp(1), &Record::HintedSegments {}, &bytes));
    let (mut consumer, mut buffer) = (Consumer::new(region), [0; PATH_BYTES_MAX]);
    let Next::Record(entry) = consumer.next(&mut buffer) else { panic!("nothing came") };
    assert!(segments(entry.path).eq(given.iter().map(|&[offset, length]| (offset, length))));
    assert_eq!(segments(&bytes[..47]).count(), 2, "a part of a segment is none");
}

/// A program in the middle of posting.
struct Posting {
    position: u64,
    id: u64,
    path: Vec<u8>,
}

impl Posting {
    fn begin(region: &Region, id: u64, path: Vec<u8>) -> Option<Self> {
        let position = region.reserve(span(seeked(id).field_words(), path.len()))?;
        Some(Posting { position, id, path })
    }

    fn finish(&self, region: &Region) -> bool {
        let mut fields = Packer::new();
        seeked(self.id).encode(&mut fields);
        let fields = &fields.words()[..seeked(self.id).field_words()];
        let span = span(fields.len(), self.path.len()) as u8;
        let head = Head { kind: seeked(0).kind(), span, path_bytes: self.path.len() as u16, check: 0 };
        region.fill(self.position, head, stamp(self.id), fields, &self.path);
        region.commit(self.position)
    }
}

fn path_of(id: u64, random: &mut Random) -> Vec<u8> {
    let bytes = [0, 0, 0, 30, 200, 4095][random.below(6)];
    (0..bytes).map(|at| (at as u64 * 31 + id) as u8).collect()
}

/// What was committed comes out once, in order, unchanged; what was not committed comes out never.
/// A late program that scribbles over a slot in its next use may destroy that record, but never
/// alter it.
fn programs_that_die_and_wake_late(seed: u64) {
    let region = region();
    let mut consumer = Consumer::new(region);
    let mut buffer = [0; PATH_BYTES_MAX];
    let mut random = Random(seed);
    let mut open: Vec<Posting> = Vec::new();
    let mut committed: HashMap<u64, Vec<u8>> = HashMap::new();
    let (mut id, mut last_position, mut dead) = (0, 0, 0);
    for _ in 0..3_000 {
        match random.below(10) {
            0..=3 => {
                id += 1;
                let path = path_of(id, &mut random);
                open.extend(Posting::begin(region, id, path));
            }
            4..=6 if !open.is_empty() => {
                let posting = open.swap_remove(random.below(open.len()));
                if posting.finish(region) {
                    committed.insert(posting.id, posting.path);
                }
            }
            7 if !open.is_empty() && random.below(4) == 0 => {
                open.swap_remove(random.below(open.len()));
                dead += 1;
            }
            8 if random.below(40) == 0 => {
                // A round of the ring or so, so that slots skipped earlier come into use again under late programs.
                for _ in 0..SLOTS {
                    id += 1;
                    if !region.post(stamp(id), &seeked(id), &[]) {
                        break;
                    }
                    committed.insert(id, Vec::new());
                }
            }
            _ => loop {
                match consumer.next(&mut buffer) {
                    Next::Record(entry) => {
                        let Record::Seeked { offset, .. } = entry.record else { panic!("another kind came out") };
                        let path = committed.remove(&offset).expect("only what was committed, and once");
                        assert_eq!((entry.path, entry.stamp), (&path[..], stamp(offset)));
                    }
                    Next::Empty => break,
                    Next::Stalled { at } => {
                        assert!(at >= last_position);
                        last_position = at;
                        if random.below(3) == 0 {
                            consumer.skip_hole();
                        } else {
                            break;
                        }
                    }
                }
            },
        }
    }
    drop(open);
    loop {
        match consumer.next(&mut buffer) {
            Next::Record(entry) => assert!(committed.remove(&entry.stamp.ticks).is_some()),
            Next::Stalled { .. } => consumer.skip_hole(),
            Next::Empty => break,
        }
    }
    assert!(dead > 0 && consumer.skipped() > 0);
    assert!(committed.len() as u64 <= consumer.corrupt(), "a record vanished although nobody wrote over it");
}

#[test]
#[cfg_attr(miri, ignore = "takes miri more than minutes: long paths, many steps")]
fn holes_are_skipped_and_late_commits_fail_harmlessly() {
    for seed in 1..=12 {
        programs_that_die_and_wake_late(seed * 0x9E37_79B9);
    }
}

#[test]
fn one_grace_period_skips_a_long_hole() {
    let region = region();
    let mut consumer = Consumer::new(region);
    let mut buffer = [0; PATH_BYTES_MAX];
    let dead = Posting::begin(region, 1, vec![1; 4095]).unwrap();
    region.post(stamp(2), &seeked(2), &[]);
    assert_eq!(consumer.next(&mut buffer), Next::Stalled { at: 0 });
    let alive = Posting::begin(region, 3, vec![]).unwrap();
    assert_eq!(consumer.next(&mut buffer), Next::Stalled { at: 0 });
    consumer.skip_hole();
    assert!(matches!(consumer.next(&mut buffer), Next::Record(entry) if entry.record == seeked(2)));
    assert!(matches!(consumer.next(&mut buffer), Next::Stalled { .. }), "younger than the stall: not skipped");
    assert!(alive.finish(region) && !dead.finish(region));
    assert!(matches!(consumer.next(&mut buffer), Next::Record(entry) if entry.record == seeked(3)));
    assert_eq!(consumer.next(&mut buffer), Next::Empty);
}

#[test]
#[cfg_attr(miri, ignore = "takes miri more than minutes: long paths, many steps")]
fn rubbish_in_the_region_costs_records_but_never_the_ring() {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    for seed in 1..=15u64 {
        let region = region();
        let mut consumer = Consumer::new(region);
        let mut buffer = [0; PATH_BYTES_MAX];
        let mut random = Random(seed << 20 | 1);
        for id in 0..400 {
            let path = path_of(id, &mut random);
            region.post(stamp(id), &seeked(id), &path);
            if random.below(4) == 0 {
                let near = region.slot(random.below(3_000) as u64);
                let word: &AtomicU64 = match random.below(10) {
                    0 => &region.tail.0,
                    1..=3 => &near.sequence,
                    _ => &near.words[random.below(7)],
                };
                let rubbish = [0, 1, u64::MAX, word.load(Relaxed) ^ (1 << random.below(64))];
                word.store(rubbish[random.below(4)], Relaxed);
            }
            for _ in 0..random.below(3) {
                if let Next::Stalled { .. } = consumer.next(&mut buffer) {
                    consumer.skip_hole();
                }
            }
        }
        // In the end a well-behaved program gets through again.
        let mut heard = false;
        for id in 0..2 * SLOTS as u64 {
            region.post(stamp(id), &seeked(1 << 40), &[]);
            match consumer.next(&mut buffer) {
                Next::Stalled { .. } => consumer.skip_hole(),
                Next::Record(entry) => heard |= entry.record == seeked(1 << 40),
                Next::Empty => {}
            }
        }
        assert!(heard, "seed {seed}");
    }
}

#[test]
fn eight_threads_and_a_live_consumer_lose_nothing_but_what_is_counted() {
    const EACH: u64 = if cfg!(miri) { 100 } else { 60_000 };
    let region = region();
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            scope.spawn(move || {
                for at in 0..EACH {
                    let path = [thread as u8; 100];
                    let path = if at % 16 == 0 { &path[..(at / 16) as usize % 100] } else { &[] };
                    region.post(Stamp { pid: 1, tid: thread, ticks: at }, &seeked(at), path);
                }
            });
        }
        let mut consumer = Consumer::new(region);
        let mut buffer = [0; PATH_BYTES_MAX];
        let (mut next, mut heard) = ([0; 8], 0);
        while heard + region.lost() < 8 * EACH {
            if let Next::Record(entry) = consumer.next(&mut buffer) {
                heard += 1;
                let thread = entry.stamp.tid as usize;
                assert!(entry.stamp.ticks >= next[thread], "each thread's records come in order");
                next[thread] = entry.stamp.ticks + 1;
                assert_eq!(entry.record, seeked(entry.stamp.ticks));
                assert!(entry.path.iter().all(|byte| *byte == thread as u8));
            }
        }
        assert_eq!((consumer.corrupt(), consumer.skipped()), (0, 0));
    });
}

#[test]
fn attention_holds_for_one_use_of_a_descriptor() {
    let region = region();
    let slot = region.claim(42).unwrap();
    assert_eq!((region.claim(42), region.owner(slot)), (Some(slot), Some(42)));
    let process = region.process(slot).unwrap();
    assert_eq!(process.attention(3, 0), Attention::Every);
    process.set_attention(3, 5, Attention::None);
    assert_eq!((process.attention(3, 5), process.attention(3, 6)), (Attention::None, Attention::Every));
    process.set_attention(3, 6, Attention::Sampled);
    process.set_attention(5_000, 6, Attention::None);
    process.set_attention(-1, 6, Attention::None);
    assert_eq!((process.attention(3, 6), process.attention(5_000, 6)), (Attention::Sampled, Attention::Every));
    process.count_read(None, 100);
    process.count_read(Some(43), 10);
    process.count_stall(Some(43), 9);
    assert_eq!(process.counters(), Counters { reads: 2, bytes: 110, stall_ticks: 9 });
    region.release(slot);
    assert_eq!((process.counters(), process.attention(3, 6)), (Counters::default(), Attention::Every));
    assert_eq!(region.owner(slot), None);
}

#[test]
fn process_slots_run_out_and_come_back() {
    let region = region();
    let slots: HashSet<u32> = (1..=PROCESS_SLOTS as u32).map(|pid| region.claim(pid * 3).unwrap()).collect();
    assert_eq!((slots.len(), region.claim(9_999)), (PROCESS_SLOTS, None));
    region.release(17);
    assert_eq!(region.claim(9_999), Some(17));
}

#[test]
fn only_a_region_of_the_same_shape_is_attached() {
    let region: *mut u8 = std::ptr::from_ref(region()).cast_mut().cast();
    let bytes = Region::layout_size();
    // SAFETY: the memory of a live region; the shorter and shifted pieces lie within it.
    unsafe {
        assert!(Region::attach(region, bytes).is_ok());
        assert_eq!(Region::attach(region, bytes - 1).err(), Some(Mismatch::Size));
        assert_eq!(Region::attach(region.add(8), bytes).err(), Some(Mismatch::Size));
        region.add(8).write(99);
        assert_eq!(Region::attach(region, bytes).err(), Some(Mismatch::Version));
        region.write(0);
        assert_eq!(Region::attach(region, bytes).err(), Some(Mismatch::Magic));
    }
}

#[test]
fn a_read_fits_one_slot() {
    assert_eq!(span(Record::field_words_of(12).unwrap(), 0), 1);
    assert_eq!(Took::from_ticks(u64::MAX).ticks(), u64::from(u32::MAX) << 4);
}
