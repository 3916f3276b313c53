//! What programs put into the ring: their records, and whatever else they may write over the memory
//! that they share.
//!
//! An input is records one after the other: the kind, the length of the path, [`FIELD_WORDS_MAX`]
//! words, the path. So a mutated record is one that a stranger's program could post, checksum and
//! all.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::{AtomicU64, Ordering};

use foresee_fuzz::{Corpus, mutants};
use foresee_ring::{Consumer, FIELD_WORDS_MAX, Next, PATH_BYTES_MAX, Record, Region, SLOTS, Stamp};
use foresee_run::names::Names;
use foresee_run::source::ring::Processes;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{bounded, config};

/// A record of some seventy bytes may name a process that was not known, or the highest descriptor
/// of one.
const MEMORY: (u64, u64) = (4 << 20, 64 << 10);
const HEAD_BYTES: usize = 2 + 8 * FIELD_WORDS_MAX;

/// A region of this thread's own, as words.
fn region() -> (&'static Region, &'static [AtomicU64]) {
    let layout = Layout::from_size_align(Region::layout_size(), 4096).expect("a layout");
    // SAFETY: fresh, zeroed, aligned memory, never freed. All of a region is atomic numbers, so any
    // thread may write any word.
    unsafe {
        let memory = alloc_zeroed(layout);
        let words = std::slice::from_raw_parts(memory.cast::<AtomicU64>(), Region::layout_size() / 8);
        (Region::initialise(memory), words)
    }
}

fn records(mut bytes: &[u8]) -> Vec<(Stamp, Record, &[u8])> {
    let mut records = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(HEAD_BYTES) {
        let mut words = [0; FIELD_WORDS_MAX];
        for (word, bytes) in words.iter_mut().zip(head[2..].chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        let (path, rest) = rest.split_at(usize::from(head[1]).min(rest.len()));
        bytes = rest;
        let pid = 1 + u32::from(head[1]) % 3;
        if let Some(record) = Record::from_words(head[0], &words) {
            records.push((Stamp { pid, tid: pid, ticks: records.len() as u64 }, record, path));
        }
    }
    records
}

/// Posts the records, lets a stranger write over the memory, and makes sense of what comes out; how
/// many records did.
fn consume(bytes: &[u8], damage: &[(Index, Index, u64)]) -> u64 {
    thread_local!(static REGION: (&'static Region, &'static [AtomicU64]) = region());
    let (_, words) = REGION.with(|region| *region);
    let memory = words.as_ptr().cast_mut().cast::<u8>();
    for word in words {
        word.store(0, Ordering::Relaxed);
    }
    // SAFETY: the memory is a region's, zeroed again, and nobody else's.
    let region = unsafe { Region::initialise(memory) };
    let pristine: Vec<u64> = words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
    for (stamp, record, path) in records(bytes) {
        region.post(stamp, &record, path);
    }
    let used: Vec<usize> = (0..words.len()).filter(|&at| words[at].load(Ordering::Relaxed) != pristine[at]).collect();
    for (anywhere, at, word) in damage {
        // Where something was written, and next to it; a word in sixteen anywhere at all.
        let at = match used.len() {
            0 => anywhere.index(words.len()),
            _ if word % 16 == 0 => anywhere.index(words.len()),
            len => (used[at.index(len)] + (word % 3) as usize).min(words.len() - 1),
        };
        words[at].store(*word, Ordering::Relaxed);
    }
    bounded(bytes, MEMORY, || {
        let (mut processes, mut names, mut consumer) = (Processes::default(), Names::default(), Consumer::new(region));
        let mut path = [0; PATH_BYTES_MAX];
        let mut taken = 0;
        for _ in 0..4 * SLOTS {
            match consumer.next(&mut path) {
                Next::Record(entry) => {
                    taken += 1;
                    processes.learn(&entry, &mut names);
                }
                Next::Stalled { .. } => consumer.skip_hole(),
                Next::Empty => return taken,
            }
        }
        panic!("the ring is never empty");
    })
}

#[test]
fn kept_records_come_through() {
    for (name, bytes) in Corpus::of("ring").inputs {
        let posted = records(&bytes).len() as u64;
        assert_eq!(consume(&bytes, &[]), posted, "{name}");
        assert!(posted > 0, "{name}");
    }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn any_records_are_made_sense_of(
        mutant in mutants("ring"),
        damage in prop::collection::vec((any::<Index>(), any::<Index>(), any::<u64>()), 0..4),
    ) {
        consume(&mutant.bytes, &damage);
    }
}
