//! The threads that wait for stores, so that others need not.
//!
//! What was given up goes on in its thread until the store answers, which may be never. Such a
//! thread no longer counts: another one is started in its place, or stores that hang would take all
//! of them, one after the other, from those that answer.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::inherited::process;

/// As many as a store's requests side by side.
const THREADS_MAX: usize = 64;
/// So many wait at most for what was given up. Each takes some memory, and a number of a process.
const GIVEN_UP_MAX: usize = 1000;

pub type Job = Box<dyn FnOnce() + Send>;

/// Who is in no hurry waits for one of the threads that there may be; the main thread for none.
#[derive(Clone, Copy, PartialEq)]
pub enum Urgency {
    Waits,
    AtOnce,
}

#[derive(Default)]
struct Queue {
    /// What nobody has begun, with its number.
    jobs: VecDeque<(u64, Job)>,
    /// What threads are at that was not given up.
    running: HashSet<u64>,
    /// The last number that was given.
    number: u64,
    idle: usize,
    /// Without those that are at what was given up.
    threads: usize,
    given_up: usize,
}

/// The threads of a process.
#[derive(Default)]
pub struct Threads {
    queue: Mutex<Queue>,
    more: Condvar,
}

/// The present process's, with the number of the process.
static THREADS: Mutex<Option<(u64, Arc<Threads>)>> = Mutex::new(None);

impl Threads {
    /// Those of the present process.
    pub fn of_process() -> Arc<Self> {
        // Held by whoever has the interpreter's lock alone, which a fork has as well: never by a thread
        // that a child lacks.
        let mut known = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, threads)) if *of == process() => Arc::clone(threads),
            _ => {
                let threads = Arc::<Threads>::default();
                // Of the parent's, the lock may be held by a thread that is not here.
                std::mem::forget(known.replace((process(), Arc::clone(&threads))));
                threads
            }
        }
    }

    /// Has something done; the number by which it may be given up.
    pub fn add(self: &Arc<Self>, job: Job, urgency: Urgency) -> io::Result<u64> {
        let mut queue = self.queue();
        let is_urgent = urgency == Urgency::AtOnce;
        if queue.jobs.len() >= queue.idle && (is_urgent || queue.threads < THREADS_MAX) {
            let started = match queue.given_up < GIVEN_UP_MAX {
                true => self.start(&mut queue),
                false => Err(io::Error::other(format!(
                    "{GIVEN_UP_MAX} reads that were given up still wait for stores that do not answer: end the process"
                ))),
            };
            // Those there are do it, unless they may never.
            if is_urgent || queue.threads == 0 || queue.given_up >= GIVEN_UP_MAX {
                started?;
            }
        }
        queue.number += 1;
        let number = queue.number;
        match urgency {
            Urgency::AtOnce => queue.jobs.push_front((number, job)),
            Urgency::Waits => queue.jobs.push_back((number, job)),
        }
        drop(queue);
        self.more.notify_one();
        Ok(number)
    }

    /// Nobody waits any more for what has this number: nobody begins it, or its thread no longer
    /// counts.
    pub fn give_up(self: &Arc<Self>, number: u64) {
        let mut queue = self.queue();
        let unbegun = queue.jobs.iter().position(|(it, _)| *it == number).and_then(|at| queue.jobs.remove(at));
        if queue.running.remove(&number) {
            queue.threads -= 1;
            queue.given_up += 1;
            if queue.jobs.len() > queue.idle {
                // Where there can be none, those there are do it.
                _ = self.start(&mut queue);
            }
        }
        drop(queue);
        // What it holds may be Python's.
        drop(unbegun);
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>, queue: &mut Queue) -> io::Result<()> {
        let threads = Arc::clone(self);
        thread::Builder::new().name("foresee-wait".into()).spawn(move || threads.work())?;
        queue.threads += 1;
        Ok(())
    }

    fn work(&self) {
        let mut queue = self.queue();
        loop {
            while let Some((number, job)) = queue.jobs.pop_front() {
                queue.running.insert(number);
                drop(queue);
                job();
                queue = self.queue();
                if !queue.running.remove(&number) {
                    queue.given_up -= 1;
                    queue.threads += 1;
                }
                if queue.threads > THREADS_MAX {
                    queue.threads -= 1;
                    return;
                }
            }
            queue.idle += 1;
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}
