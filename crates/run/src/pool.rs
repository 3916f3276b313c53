//! Threads for what may block: started as tasks come and wait, up to a limit, and told to end when
//! the pool is dropped. A thread that is stuck in the kernel is not waited for.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::process_stat::state;

/// A thread makes one system call after the other, unless more is said.
const STACK_BYTES: usize = 128 << 10;

/// A lock whose holder panicked still guards valid data: nothing here leaves it half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A task of so long, in which its thread waited, shows that more threads help. Shorter waits are
/// for one another.
const WAIT_MIN: Duration = Duration::from_micros(50);
/// If no task was begun for so long, though there are some, threads may all wait.
const STUCK_AFTER: Duration = Duration::from_micros(500);
/// Of threads that all wait there are so many times as many next.
const GROWTH: usize = 4;

struct Queue<T> {
    tasks: VecDeque<T>,
    idle: usize,
    working: usize,
    threads: usize,
    /// When a task was begun last, and by which thread.
    begun: (Instant, libc::pid_t),
    closing: bool,
}

struct Shared<T> {
    queue: Mutex<Queue<T>>,
    more: Condvar,
    threads_max: usize,
    unasked: usize,
    stack_bytes: usize,
    work: Box<dyn Fn(T) + Send + Sync>,
}

/// Does tasks of one kind. What was added before it is dropped is still done.
pub struct Pool<T: Send + 'static> {
    shared: Arc<Shared<T>>,
}

impl<T: Send + 'static> Pool<T> {
    /// A pool without threads. It gets one for each task that no other is free for, up to
    /// `unasked`; more only where tasks wait for something, up to `threads_max`.
    pub fn new(threads_max: usize, unasked: usize, work: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self::with_stacks(STACK_BYTES, threads_max, unasked, work)
    }

    /// The same, of threads whose stacks have so many bytes.
    pub fn with_stacks(
        stack_bytes: usize,
        threads_max: usize,
        unasked: usize,
        work: impl Fn(T) + Send + Sync + 'static,
    ) -> Self {
        let begun = (Instant::now(), 0);
        let queue = Queue { tasks: VecDeque::new(), idle: 0, working: 0, threads: 0, begun, closing: false };
        let (queue, more, work) = (Mutex::new(queue), Condvar::new(), Box::new(work));
        let shared = Shared { queue, more, threads_max, unasked, stack_bytes, work };
        Pool { shared: Arc::new(shared) }
    }

    /// Starts the first thread; who does not call this may find that there is none.
    ///
    /// # Errors
    /// If the system has no thread.
    pub fn start(&self) -> io::Result<()> {
        self.shared.start(&mut lock(&self.shared.queue))
    }

    /// Adds a task.
    pub fn add(&self, task: T) {
        let mut queue = lock(&self.shared.queue);
        queue.tasks.push_back(task);
        if queue.threads < self.shared.unasked {
            self.shared.grow(&mut queue, 1);
        }
        drop(queue);
        self.shared.more.notify_one();
    }

    /// Starts more threads if all wait: to be called now and then.
    pub fn tend(&self) {
        let stuck = |queue: &Queue<T>| {
            let (begun, thread) = queue.begun;
            let is_full = !queue.tasks.is_empty() && queue.working == queue.threads;
            (is_full && begun.elapsed() >= STUCK_AFTER).then_some(thread)
        };
        // Bound first: the lock is given back before `/proc` is asked.
        let last = stuck(&lock(&self.shared.queue));
        if let Some(thread) = last
            && state(format_args!("self/task/{thread}")) != Some(b'R')
        {
            let mut queue = lock(&self.shared.queue);
            let more = queue.threads * (GROWTH - 1);
            self.shared.grow(&mut queue, more);
        }
    }

    /// Whether all that was added is done.
    pub fn is_still(&self) -> bool {
        let queue = lock(&self.shared.queue);
        queue.tasks.is_empty() && queue.working == 0
    }

    /// Forgets what no thread has begun.
    pub fn clear(&self) {
        lock(&self.shared.queue).tasks.clear();
    }
}

impl<T: Send + 'static> Shared<T> {
    /// Starts so many threads more, as far as there are tasks for them. Those there are do it, if
    /// no more can be had.
    fn grow(self: &Arc<Self>, queue: &mut Queue<T>, more: usize) {
        let wanted = queue.tasks.len().saturating_sub(queue.idle);
        for _ in 0..more.min(wanted).min(self.threads_max.saturating_sub(queue.threads)) {
            if self.start(queue).is_err() {
                return;
            }
        }
    }

    fn start(self: &Arc<Self>, queue: &mut Queue<T>) -> io::Result<()> {
        let shared = Arc::clone(self);
        thread::Builder::new().name("foresee".into()).stack_size(self.stack_bytes).spawn(move || shared.work())?;
        queue.threads += 1;
        Ok(())
    }

    fn work(self: Arc<Self>) {
        // SAFETY: it has no preconditions.
        let thread = unsafe { libc::gettid() };
        let mut queue = lock(&self.queue);
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                queue.working += 1;
                queue.begun = (Instant::now(), thread);
                drop(queue);
                let ((), waited) = waited(WAIT_MIN, || (self.work)(task));
                queue = lock(&self.queue);
                queue.working -= 1;
                if waited {
                    self.grow(&mut queue, 1);
                }
            } else if queue.closing {
                return;
            } else {
                queue.idle += 1;
                queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }
}

/// Does this, and says whether the thread waited meanwhile, for so long at least.
pub fn waited<T>(for_at_least: Duration, does: impl FnOnce() -> T) -> (T, bool) {
    let (waits, begun) = (waits(), Instant::now());
    let done = does();
    (done, begun.elapsed() >= for_at_least && self::waits() != waits)
}

/// How often this thread has waited for something.
fn waits() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills what is ours; were it to refuse, zeros are a valid value.
    unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init().ru_nvcsw
    }
}

impl<T: Send + 'static> Drop for Pool<T> {
    fn drop(&mut self) {
        lock(&self.shared.queue).closing = true;
        self.shared.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::mpsc;

    fn threads<T: Send>(pool: &Pool<T>) -> usize {
        lock(&pool.shared.queue).threads
    }

    fn until(is_so: impl Fn() -> bool) {
        while !is_so() {
            thread::yield_now();
        }
    }

    #[test]
    fn tasks_that_wait_for_nothing_are_done_by_few_threads() {
        let done = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&done);
        let pool = Pool::new(64, 2, move |_: u32| _ = count.fetch_add(1, Relaxed));
        (0..1000).for_each(|task| pool.add(task));
        until(|| done.load(Relaxed) == 1000);
        assert!((1..=2).contains(&threads(&pool)), "{}", threads(&pool));
        until(|| pool.is_still());
    }

    #[test]
    fn tasks_that_wait_get_a_thread_each() {
        let (go, wait) = mpsc::channel::<()>();
        let (working, wait) = (Arc::new(AtomicUsize::new(0)), Mutex::new(wait));
        let count = Arc::clone(&working);
        // All but one wait for the lock that the first of them holds while it waits.
        let pool = Pool::new(8, 2, move |_: u32| {
            count.fetch_add(1, Relaxed);
            let _ = lock(&wait).recv();
        });
        (0..20).for_each(|task| pool.add(task));
        until(|| {
            pool.tend();
            working.load(Relaxed) == 8
        });
        assert_eq!(threads(&pool), 8);
        drop(go);
        until(|| pool.is_still());
    }
}
