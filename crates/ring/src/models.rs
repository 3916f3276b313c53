//! Models of the ring for loom, which runs each in every order of its steps, and with every value
//! that a relaxed load may give, up to so many switches between threads. A ring of two slots goes
//! round at the third record. `make test-models`.

use std::sync::Arc;

use loom::model::Builder;
use loom::thread;

use crate::region::Region;
use crate::slot::{Head, span};
use crate::wire::Packer;
use crate::*;

/// Loom's authors found that two reach almost all faults.
const SWITCHES: usize = 3;

fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(SWITCHES);
    builder.check(body);
}

fn stamp(id: u64) -> Stamp {
    Stamp { pid: 7, tid: id as u32, ticks: id }
}

fn seeked(id: u64) -> Record {
    Record::Seeked { fd: 3, generation: 9, offset: id }
}

fn post(region: &Region, id: u64) -> bool {
    region.post(stamp(id), &seeked(id), &[])
}

/// The parts of posting, of which a program that is killed or stopped does the first only.
fn reserve(region: &Region) -> u64 {
    region.reserve(span(seeked(0).field_words(), 0)).expect("an empty ring")
}

fn fill_and_commit(region: &Region, position: u64, id: u64) -> bool {
    let mut fields = Packer::new();
    seeked(id).encode(&mut fields);
    let fields = &fields.words()[..seeked(id).field_words()];
    let head = Head { kind: seeked(id).kind(), span: span(fields.len(), 0) as u8, path_bytes: 0, check: 0 };
    region.fill(position, head, stamp(id), fields, &[]);
    region.commit(position)
}

/// What came out, by the numbers of the records, each of which is whole.
struct Heard<'r> {
    consumer: Consumer<'r>,
    ids: Vec<u64>,
    /// Gives up at once on what stalls, instead of after a grace period.
    skips: bool,
}

impl<'r> Heard<'r> {
    fn new(region: &'r Region, skips: bool) -> Self {
        Heard { consumer: Consumer::new(region), ids: Vec::new(), skips }
    }

    /// Whether there may be more.
    fn take(&mut self) -> bool {
        let mut path = [0; PATH_BYTES_MAX];
        match self.consumer.next(&mut path) {
            Next::Record(entry) => {
                let id = entry.stamp.ticks;
                assert_eq!((entry.stamp, entry.record, entry.path), (stamp(id), seeked(id), &[][..]), "torn");
                assert!(!self.ids.contains(&id), "{id} came out twice");
                self.ids.push(id);
                true
            }
            Next::Stalled { .. } if self.skips => {
                self.consumer.skip_hole();
                true
            }
            Next::Stalled { .. } | Next::Empty => false,
        }
    }

    fn take_all(&mut self) {
        while self.take() {}
    }
}

#[test]
fn what_two_programs_post_comes_out_once_and_whole() {
    model(|| {
        let region = Arc::new(Region::default());
        let programs = [1, 2].map(|id| {
            let region = Arc::clone(&region);
            thread::spawn(move || post(&region, id))
        });
        let mut heard = Heard::new(&region, false);
        heard.take();
        heard.take();
        let posted = programs.map(|program| program.join().unwrap());
        heard.take_all();
        assert_eq!(posted, [true; 2]);
        heard.ids.sort_unstable();
        assert_eq!((heard.ids, region.lost(), heard.consumer.corrupt()), (vec![1, 2], 0, 0));
    });
}

#[test]
fn what_a_full_ring_drops_is_counted_and_nothing_else_is_lost() {
    model(|| {
        let region = Arc::new(Region::default());
        assert!(post(&region, 1));
        let programs = [10, 20].map(|id| {
            let region = Arc::clone(&region);
            thread::spawn(move || [id, id + 1].into_iter().filter(|&id| post(&region, id)).collect::<Vec<u64>>())
        });
        let mut heard = Heard::new(&region, false);
        heard.take();
        let posted: Vec<u64> = programs.into_iter().flat_map(|program| program.join().unwrap()).collect();
        heard.take_all();
        assert_eq!(posted.len() as u64 + region.lost(), 4);
        let mut expected = [&[1], &posted[..]].concat();
        expected.sort_unstable();
        heard.ids.sort_unstable();
        assert_eq!((heard.ids, heard.consumer.corrupt()), (expected, 0));
    });
}

#[test]
fn a_program_killed_while_it_posts_takes_no_other_record_along() {
    model(|| {
        let region = Arc::new(Region::default());
        let killed = Arc::clone(&region);
        let killed = thread::spawn(move || reserve(&killed));
        let other = Arc::clone(&region);
        let other = thread::spawn(move || post(&other, 2));
        let mut heard = Heard::new(&region, true);
        heard.take();
        killed.join().unwrap();
        assert!(other.join().unwrap());
        heard.take_all();
        assert_eq!((heard.ids, heard.consumer.skipped(), heard.consumer.corrupt()), (vec![2], 1, 0));
    });
}

#[test]
fn a_program_that_wakes_late_has_posted_or_not_and_tears_nothing() {
    model(|| {
        let region = Arc::new(Region::default());
        let position = reserve(&region);
        let late = Arc::clone(&region);
        let late = thread::spawn(move || fill_and_commit(&late, position, 1));
        let mut heard = Heard::new(&region, true);
        heard.take();
        heard.take();
        // The second one lies where the late one would, if that was skipped.
        let posted: Vec<u64> = [2, 3].into_iter().filter(|&id| post(&region, id)).collect();
        heard.take();
        let is_late_in_time = late.join().unwrap();
        heard.take_all();
        assert_eq!(heard.ids.contains(&1), is_late_in_time);
        let gone = posted.iter().filter(|id| !heard.ids.contains(id)).count() as u64;
        assert!(gone <= heard.consumer.corrupt(), "a record vanished although nobody wrote over it");
        assert!(!is_late_in_time || gone == 0, "who was in time wrote over another's record");
    });
}
