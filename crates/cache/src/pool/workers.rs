//! Threads that may wait: for a store, as many as it serves side by side, or for what programs
//! generate. Started as they are needed.
//!
//! Each store has its own, and so has what programs generate: whoever is slow holds up nobody else,
//! and a generator that reads waits for other threads than those that generate.

use std::io;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use foresee_manager::{Class, FetchId};

use super::fetch::{Done, Fetch, Task};
use super::ring::Ring;
use super::turns::Turns;

/// Is told what was done.
type Report = Box<dyn Fn(&mut dyn Iterator<Item = Done>) + Send + Sync>;

/// A thread makes one call of a store after the other, or speaks with the manager.
pub const STACK_BYTES: usize = 512 << 10;

#[derive(Default)]
struct Queue {
    tasks: Turns<Task>,
    idle: usize,
    threads: usize,
    /// Tasks that are being done, by these threads and by others.
    running: usize,
    closing: bool,
}

/// Does tasks, and reports each.
pub struct Workers {
    queue: Mutex<Queue>,
    more: Condvar,
    threads_max: usize,
    report: Report,
    /// Has the system read what is to be fetched, where it can.
    ring: OnceLock<Arc<Ring>>,
}

/// A task that is being done: it counts until it is over, or panics.
struct Running<'w>(&'w Workers);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.running -= 1;
        let waits = queue.idle > 0 && !queue.tasks.is_empty();
        drop(queue);
        if waits {
            self.0.more.notify_one();
        }
    }
}

impl Workers {
    /// No threads yet; `report` is called from them.
    pub fn new(
        threads_max: usize,
        report: impl Fn(&mut dyn Iterator<Item = Done>) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (queue, more) = (Mutex::default(), Condvar::new());
        let (report, ring) = (Box::new(report), OnceLock::new());
        Arc::new(Workers { queue, more, threads_max: threads_max.max(1), report, ring })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the first thread: without it nothing would ever come.
    pub fn start(self: &Arc<Self>) -> io::Result<()> {
        self.spawn(&mut self.lock())
    }

    /// Has the system read what is fetched from now on, so much of it at once; its threads do what
    /// it does not.
    ///
    /// # Errors
    /// If the kernel has no io_uring, or forbids it.
    pub fn start_ring(self: &Arc<Self>, reads_max: usize) -> io::Result<()> {
        let (reported, referred) = (Arc::downgrade(self), Arc::downgrade(self));
        let report = move |done: &mut dyn Iterator<Item = Done>| {
            if let Some(workers) = reported.upgrade() {
                (workers.report)(done);
            }
        };
        let refer = move |fetch: Fetch, class| {
            if let Some(workers) = referred.upgrade() {
                workers.enqueue(Task::Fetch(fetch), class);
            }
        };
        let ring = Ring::start(reads_max, report, refer)?;
        self.ring.get_or_init(|| ring);
        Ok(())
    }

    fn spawn(self: &Arc<Self>, queue: &mut Queue) -> io::Result<()> {
        let workers = Arc::clone(self);
        thread::Builder::new().name("foresee".into()).stack_size(STACK_BYTES).spawn(move || workers.work())?;
        queue.threads += 1;
        Ok(())
    }

    /// Adds a task that its threads are for.
    pub fn add(self: &Arc<Self>, task: Task, class: Class) {
        match (task, self.ring.get()) {
            (Task::Fetch(fetch), Some(ring)) => ring.add(fetch, class),
            (task, _) => self.enqueue(task, class),
        }
    }

    fn enqueue(self: &Arc<Self>, task: Task, class: Class) {
        let mut queue = self.lock();
        queue.tasks.push(task, class);
        if queue.tasks.len() > queue.idle && queue.threads < self.threads_max {
            // If there can be no more, those there are do it.
            let _ = self.spawn(&mut queue);
        }
        drop(queue);
        self.more.notify_one();
    }

    /// A reader waits for what was ordered ahead of it: what of that was not begun is as urgent as what
    /// was ordered for readers. Of those there may be more at all times than can be done.
    pub fn hurry(&self, fetch: FetchId) {
        // As fetches go, so that none is missed that the ring refers meanwhile.
        self.ring.get().into_iter().for_each(|ring| ring.hurry(fetch));
        self.lock().tasks.hurry(|task| task.fetch() == Some(fetch));
    }

    /// Does a task in the thread that calls, which waits for it anyway, unless as many are being
    /// done as may be: then its threads do it. To hand it over and to be woken takes longer
    /// than a read of what is near.
    pub fn run_here(self: &Arc<Self>, task: Task, class: Class) {
        let queue = self.lock();
        if queue.running >= self.threads_max {
            drop(queue);
            return self.add(task, class);
        }
        self.run(queue, task);
    }

    fn run(&self, mut queue: MutexGuard<'_, Queue>, task: Task) {
        queue.running += 1;
        drop(queue);
        let _running = Running(self);
        (self.report)(&mut iter::once(task.run()));
    }

    /// Forgets what was not begun, and ends the threads once they are done with what was.
    pub fn close(&self) {
        let mut queue = self.lock();
        queue.closing = true;
        let forgotten = std::mem::take(&mut queue.tasks);
        drop(queue);
        drop(forgotten);
        self.more.notify_all();
        self.ring.get().into_iter().for_each(|ring| ring.close());
    }

    fn work(&self) {
        let mut queue = self.lock();
        while !queue.closing {
            let next = match queue.running < self.threads_max {
                true => queue.tasks.pop(),
                false => None,
            };
            if let Some((task, _)) = next {
                // What a program's iterator holds may panic when it goes: that is no reason to go as well.
                let _ = catch_unwind(AssertUnwindSafe(|| self.run(queue, task)));
                queue = self.lock();
            } else {
                queue.idle += 1;
                queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::{Duration, Instant};

    use foresee_manager::ReaderId;
    use foresee_store::{Memory as Bytes, Version};

    use super::super::memory::Memory;
    use super::super::objects::Origin;
    use super::super::turns::tests::keep_busy;
    use super::*;

    /// One thread at most, and what else was reported.
    fn panics_for_reader_0() -> (Arc<Workers>, Receiver<()>) {
        let (sender, receiver) = channel();
        let report = move |done: &mut dyn Iterator<Item = Done>| match done.next().unwrap() {
            Done::Pull(ReaderId(0)) => panic!("as this test has it"),
            _ => sender.send(()).unwrap(),
        };
        (Workers::new(1, report), receiver)
    }

    #[test]
    fn a_thread_outlives_what_panics_in_it() {
        let (workers, receiver) = panics_for_reader_0();
        for reader in 0..2 {
            workers.add(Task::Pull(ReaderId(reader)), Class::Hinted);
        }
        let was_done = receiver.recv_timeout(Duration::from_secs(60));
        workers.close();
        assert_eq!(was_done, Ok(()));
    }

    #[test]
    fn what_panics_in_its_reader_is_done_with() {
        let (workers, receiver) = panics_for_reader_0();
        let run = |reader| workers.run_here(Task::Pull(ReaderId(reader)), Class::Demand);
        assert!(catch_unwind(AssertUnwindSafe(|| run(0))).is_err());
        run(1);
        let was_done = receiver.recv_timeout(Duration::from_secs(60));
        let threads = workers.lock().threads;
        workers.close();
        assert_eq!((was_done, threads), (Ok(()), 0), "another thread does it: the reader's counts as busy for ever");
    }

    /// A fetch of an object that the store does not have: it is over when its turn comes.
    fn fetch(id: u64, memory: &Arc<Memory>) -> Task {
        let (store, version) = (Arc::new(Bytes::default()), Version::Stamp([0; 5]));
        let origin = Origin { store, name: "a".into(), object: None, version, size: 1 };
        let (fetch, memory) = (FetchId(id), Arc::clone(memory));
        Task::Fetch(Fetch { fetch, part: 0..1, origin: Ok(origin), offset: 0, frames: vec![0], memory })
    }

    #[test]
    fn who_waits_comes_before_what_was_ordered_ahead_and_the_system_cannot_read() {
        const AWAITED: Duration = Duration::from_secs(60);
        let (sender, receiver) = channel();
        let workers = Workers::new(1, move |done| {
            done.for_each(|done| {
                if let Done::Fetched(FetchId(id), ..) = done {
                    sender.send(id).unwrap();
                }
            });
        });
        if let Err(error) = workers.start_ring(2) {
            return println!("skipped: no io_uring here: {error}");
        }
        let memory = Arc::new(Memory::new(1, 4096).unwrap());
        let busy = keep_busy(&workers, 1);
        let begun = Instant::now();
        // Whatever is added is referred before what follows, and before a thread takes any.
        let add = |id, class, waiting| {
            workers.add(fetch(id, &memory), class);
            let is_so = || {
                let queue = workers.lock();
                (queue.running, queue.tasks.len()) == (1, waiting)
            };
            while !is_so() && begun.elapsed() < AWAITED {
                thread::sleep(Duration::from_millis(1));
            }
        };
        add(0, Class::Guessed, 1);
        add(1, Class::Hinted, 2);
        add(2, Class::Hinted, 3);
        add(3, Class::Demand, 4);
        workers.hurry(FetchId(2));
        drop(busy);
        let order: Vec<_> = (0..4).map_while(|_| receiver.recv_timeout(AWAITED).ok()).collect();
        workers.close();
        assert_eq!(order, [3, 2, 1, 0]);
    }
}
