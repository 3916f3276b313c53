//! The threads that wait for stores, so that others need not.
//!
//! What was given up goes on in its thread until the store answers, which may be never. Such a
//! thread no longer counts: another one is started in its place, or stores that hang would take all
//! of them, one after the other, from those that answer. Who gives up one often gives up all: so the
//! other thread begins nothing before a moment has passed without, or each would take the next one
//! from the queue just to see it given up as well.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::inherited::process;

/// As many as a store's requests side by side.
const THREADS_MAX: usize = 64;
/// So many wait at most for what was given up. Each takes some memory, and a number of a process.
const GIVEN_UP_MAX: usize = 1000;
/// So long nothing more was given up: who gave up is through.
const MOMENT: Duration = Duration::from_millis(20);
/// Of one who gives up for ever, others do not wait for the end.
const PATIENCE: Duration = Duration::from_millis(300);

/// Is done with what says by and by whether it was given up, or is told why it never will be.
pub type Job = Box<dyn FnOnce(Result<&AtomicBool, &io::Error>) + Send>;

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
    /// What threads are at that was not given up, with what tells them when it is.
    running: HashMap<u64, Arc<AtomicBool>>,
    /// The last number that was given.
    number: u64,
    idle: usize,
    /// Without those that are at what was given up.
    threads: usize,
    given_up: usize,
    /// When something was last given up.
    given_up_at: Option<Instant>,
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
            let started = self.start(&mut queue, |threads| threads.work());
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
    /// counts and is told.
    pub fn give_up(self: &Arc<Self>, number: u64) {
        let mut queue = self.queue();
        queue.given_up_at = Some(Instant::now());
        let Some(given_up) = queue.running.remove(&number) else {
            let unbegun = queue.jobs.iter().position(|(it, _)| *it == number).and_then(|at| queue.jobs.remove(at));
            drop(queue);
            // What it holds may be Python's.
            return drop(unbegun);
        };
        given_up.store(true, Relaxed);
        queue.threads -= 1;
        queue.given_up += 1;
        if queue.jobs.len() <= queue.idle || queue.threads >= THREADS_MAX {
            return;
        }
        let started = self.start(&mut queue, |threads| {
            threads.let_pass();
            threads.work();
        });
        // Where there can be no other, those there are do it, or nobody would.
        if let Err(why) = started
            && queue.threads == 0
        {
            let jobs = take(&mut queue.jobs);
            drop(queue);
            jobs.into_iter().for_each(|(_, job)| job(Err(&why)));
        }
    }

    /// Returns when a moment has passed in which nothing was given up.
    fn let_pass(&self) {
        let begun = Instant::now();
        let is_lately = || self.queue().given_up_at.is_some_and(|at| at.elapsed() < MOMENT);
        while begun.elapsed() < PATIENCE && is_lately() {
            thread::sleep(MOMENT);
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(self: &Arc<Self>, queue: &mut Queue, does: impl FnOnce(&Self) + Send + 'static) -> io::Result<()> {
        if queue.given_up >= GIVEN_UP_MAX {
            return Err(io::Error::other(format!(
                "{GIVEN_UP_MAX} reads that were given up still wait for stores that do not answer: end the process"
            )));
        }
        let threads = Arc::clone(self);
        thread::Builder::new().name("foresee-wait".into()).spawn(move || does(&threads))?;
        queue.threads += 1;
        Ok(())
    }

    fn work(&self) {
        let mut queue = self.queue();
        loop {
            while let Some((number, job)) = queue.jobs.pop_front() {
                let given_up = Arc::<AtomicBool>::default();
                queue.running.insert(number, Arc::clone(&given_up));
                drop(queue);
                // Who waits is told by the job itself; the thread goes on with the next.
                _ = catch_unwind(AssertUnwindSafe(|| job(Ok(&given_up))));
                queue = self.queue();
                if queue.running.remove(&number).is_none() {
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
