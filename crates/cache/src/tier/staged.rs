//! A disk that does what a test has it do, and counts what it is asked.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Reads that wait for others do no longer: then there are none. Nor does a disk stall for longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads that have begun.
#[derive(Default)]
pub struct Reads {
    /// And are not over.
    now: usize,
    /// So many at once, at most.
    pub most: usize,
    /// None is over before so many are there at once.
    pub wanted: usize,
}

/// What it does.
#[derive(Default)]
pub struct Staged {
    /// What it takes longer for each read.
    pub late: Mutex<Duration>,
    reads: Mutex<Reads>,
    begun: Condvar,
    /// Slots of each write.
    pub writes: Mutex<Vec<usize>>,
    /// So many slots of a write it takes.
    pub takes: Mutex<Option<usize>>,
    /// It takes none before this is over.
    pub stalls: Mutex<bool>,
    goes_on: Condvar,
}

/// A read, until it is over.
pub struct Reading<'s>(&'s Staged);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.reads().now -= 1;
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Staged {
    /// Its reads.
    pub fn reads(&self) -> MutexGuard<'_, Reads> {
        lock(&self.reads)
    }

    /// A read begins.
    pub fn reading(&self) -> Reading<'_> {
        let late = *lock(&self.late);
        thread::sleep(late);
        let mut reads = self.reads();
        reads.now += 1;
        reads.most = reads.most.max(reads.now);
        self.begun.notify_all();
        drop(self.begun.wait_timeout_while(reads, PATIENCE, |reads| reads.most < reads.wanted));
        Reading(self)
    }

    /// It goes on.
    pub fn go_on(&self) {
        *lock(&self.stalls) = false;
        self.goes_on.notify_all();
    }

    /// What it takes of a write.
    pub fn writes<'b, T>(&self, blocks: &'b [T]) -> &'b [T] {
        lock(&self.writes).push(blocks.len());
        let waited = self.goes_on.wait_timeout_while(lock(&self.stalls), PATIENCE, |stalls| *stalls);
        waited.into_iter().for_each(|(mut stalls, _)| *stalls = false);
        let takes = lock(&self.takes).unwrap_or(blocks.len());
        &blocks[..takes.min(blocks.len())]
    }
}
