//! Threads for what may block: started as tasks come and wait, up to a limit, and told to end when
//! the pool is dropped. A thread that is stuck in the kernel is not waited for.
//!
//! As many are awake as keep some processors busy: more by as much as tasks wait longer than they
//! work. Others sleep on, though there are tasks: to wake one costs as much as a short task.

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
/// A thread that nobody wanted for so long ends, if others are left: a program may need its place among the
/// processes that there may be.
const IDLE_MAX: Duration = Duration::from_secs(1);

struct Queue<T> {
    tasks: VecDeque<T>,
    /// Threads that sleep, and of the others those that were woken and do not know it yet.
    idle: usize,
    woken: usize,
    working: usize,
    threads: usize,
    /// When a task was begun last, and by which thread.
    begun: (Instant, libc::pid_t),
    pace: Pace,
    closing: bool,
}

/// How long tasks took of late, in seconds: of those that waited, and of others.
struct Pace {
    waited: f64,
    worked: f64,
}

impl Pace {
    /// What a task does to what is known of those before. Of names in one directory, one in sixteen
    /// waits for what brings the others: several times as many are to be remembered.
    const KEPT: f64 = 1.0 - 1.0 / 64.0;
    /// What a task takes that does not wait, until one has.
    const WORK_SECONDS: f64 = 20e-6;

    fn took(&mut self, time: Duration, waited: bool) {
        self.waited *= Self::KEPT;
        self.worked *= Self::KEPT;
        *if waited { &mut self.waited } else { &mut self.worked } += time.as_secs_f64();
    }

    /// Threads that keep a processor busy.
    fn threads(&self) -> f64 {
        1.0 + self.waited / self.worked.max(Self::WORK_SECONDS)
    }
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
    /// A pool without threads. Of them, `unasked` do tasks at one time if none of these waits; more
    /// where tasks wait for something, up to `threads_max`.
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
        let pace = Pace { waited: 0.0, worked: 0.0 };
        let tasks = VecDeque::new();
        let queue = Queue { tasks, idle: 0, woken: 0, working: 0, threads: 0, begun, pace, closing: false };
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
        self.shared.rouse(&mut queue);
    }

    /// Has more threads awake if all that are wait: to be called now and then.
    pub fn tend(&self) {
        let stuck = |queue: &Queue<T>| {
            let (begun, thread) = queue.begun;
            let is_full = !queue.tasks.is_empty() && queue.working == queue.awake();
            (is_full && begun.elapsed() >= STUCK_AFTER).then_some(thread)
        };
        // Bound first: the lock is given back before `/proc` is asked.
        let last = stuck(&lock(&self.shared.queue));
        if let Some(thread) = last
            && state(format_args!("self/task/{thread}")) != Some(b'R')
        {
            let mut queue = lock(&self.shared.queue);
            let more = queue.awake() * (GROWTH - 1);
            let wanted = queue.tasks.len();
            (0..more.min(wanted)).for_each(|_| self.shared.wake(&mut queue));
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

impl<T> Queue<T> {
    /// Threads that have something to do, or will find that there is nothing.
    fn awake(&self) -> usize {
        self.threads - self.idle
    }
}

impl<T: Send + 'static> Shared<T> {
    /// Has one more thread awake if tasks are waiting for one, and it would not be one too many.
    fn rouse(self: &Arc<Self>, queue: &mut Queue<T>) {
        if !queue.tasks.is_empty() && queue.awake() < self.enough(queue) {
            self.wake(queue);
        }
    }

    /// As many threads awake as keep `unasked` processors busy.
    fn enough(&self, queue: &Queue<T>) -> usize {
        ((self.unasked as f64 * queue.pace.threads()) as usize).min(self.threads_max)
    }

    /// Has one more thread awake. Those there are do it, if no more can be had.
    fn wake(self: &Arc<Self>, queue: &mut Queue<T>) {
        if queue.idle > 0 {
            queue.idle -= 1;
            queue.woken += 1;
            self.more.notify_one();
        } else if queue.threads < self.threads_max {
            let _ = self.start(queue);
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
        // Whoever was started or woken is wanted; after each task that is asked anew.
        let mut is_wanted = true;
        let mut queue = lock(&self.queue);
        loop {
            if is_wanted && let Some(task) = queue.tasks.pop_front() {
                queue.working += 1;
                let begun = Instant::now();
                queue.begun = (begun, thread);
                drop(queue);
                let ((), waited) = waited(WAIT_MIN, || (self.work)(task));
                let took = begun.elapsed();
                queue = lock(&self.queue);
                queue.working -= 1;
                queue.pace.took(took, waited);
                self.rouse(&mut queue);
                is_wanted = queue.closing || queue.awake() <= self.enough(&queue);
            } else if queue.closing && queue.tasks.is_empty() {
                return;
            } else {
                // There is nothing to do, or others do it.
                queue.idle += 1;
                while queue.woken == 0 && !queue.closing {
                    let (after, slept) =
                        self.more.wait_timeout(queue, IDLE_MAX).unwrap_or_else(PoisonError::into_inner);
                    queue = after;
                    if slept.timed_out() && queue.woken == 0 && queue.threads > self.unasked {
                        queue.idle -= 1;
                        queue.threads -= 1;
                        return;
                    }
                }
                queue.woken = queue.woken.saturating_sub(1);
                is_wanted = true;
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
    fn as_many_threads_are_awake_as_waits_ask_for() {
        let mut pace = Pace { waited: 0.0, worked: 0.0 };
        (0..1000).for_each(|_| pace.took(Duration::from_micros(20), false));
        assert!(pace.threads() < 1.1, "{}", pace.threads());
        // One in sixteen waits for 5 ms.
        (0..1000).for_each(|at| match at % 16 {
            0 => pace.took(Duration::from_millis(5), true),
            _ => pace.took(Duration::from_micros(20), false),
        });
        assert!((12.0..25.0).contains(&pace.threads()), "{}", pace.threads());
        (0..1000).for_each(|_| pace.took(Duration::from_micros(20), false));
        assert!(pace.threads() < 1.1, "{}", pace.threads());
    }

    #[test]
    fn who_was_needed_for_waits_sleeps_on_when_there_are_none() {
        let most = Arc::new(AtomicUsize::new(0));
        let pool = Pool::new(8, 1, |wait: Option<Duration>| wait.into_iter().for_each(thread::sleep));
        (0..64).for_each(|_| pool.add(Some(Duration::from_millis(1))));
        until(|| pool.is_still());
        assert_eq!(threads(&pool), 8);
        (0..10_000).for_each(|_| pool.add(None));
        until(|| {
            let queue = lock(&pool.shared.queue);
            most.store(queue.awake(), Relaxed);
            queue.tasks.is_empty() || queue.awake() <= 2
        });
        assert!(most.load(Relaxed) <= 2, "{}", most.load(Relaxed));
        until(|| pool.is_still());
        // And those that nobody wakes for long end, but for what tasks that do not wait take.
        until(|| threads(&pool) == 1);
        pool.add(None);
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
