//! Threads for what may block: started as tasks come, up to a limit, and told to end when the pool is dropped. A thread that is
//! stuck in the kernel is not waited for.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A thread makes one system call after the other.
const STACK_BYTES: usize = 128 << 10;

/// A lock whose holder panicked still guards valid data: nothing here leaves it half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Queue<T> {
    tasks: VecDeque<T>,
    idle: usize,
    working: usize,
    threads: usize,
    closing: bool,
}

struct Shared<T> {
    queue: Mutex<Queue<T>>,
    more: Condvar,
    threads_max: usize,
    work: Box<dyn Fn(T) + Send + Sync>,
}

/// Does tasks of one kind. What was added before it is dropped is still done.
pub(crate) struct Pool<T: Send + 'static> {
    shared: Arc<Shared<T>>,
}

impl<T: Send + 'static> Pool<T> {
    /// A pool without threads.
    pub fn new(threads_max: usize, work: impl Fn(T) + Send + Sync + 'static) -> Self {
        let queue = Queue { tasks: VecDeque::new(), idle: 0, working: 0, threads: 0, closing: false };
        let shared = Shared { queue: Mutex::new(queue), more: Condvar::new(), threads_max, work: Box::new(work) };
        Pool { shared: Arc::new(shared) }
    }

    /// Starts the first thread; who does not call this may find that there is none.
    pub fn start(&self) -> io::Result<()> {
        self.grow(&mut lock(&self.shared.queue))
    }

    fn grow(&self, queue: &mut Queue<T>) -> io::Result<()> {
        let shared = Arc::clone(&self.shared);
        thread::Builder::new().name("foresee".into()).stack_size(STACK_BYTES).spawn(move || shared.work())?;
        queue.threads += 1;
        Ok(())
    }

    /// Adds a task.
    pub fn add(&self, task: T) {
        let mut queue = lock(&self.shared.queue);
        queue.tasks.push_back(task);
        if queue.idle < queue.tasks.len() && queue.threads < self.shared.threads_max {
            // Those there are do it, if no more can be had.
            let _ = self.grow(&mut queue);
        }
        drop(queue);
        self.shared.more.notify_one();
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

impl<T> Shared<T> {
    fn work(&self) {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                queue.working += 1;
                drop(queue);
                (self.work)(task);
                queue = lock(&self.queue);
                queue.working -= 1;
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

impl<T: Send + 'static> Drop for Pool<T> {
    fn drop(&mut self) {
        lock(&self.shared.queue).closing = true;
        self.shared.more.notify_all();
    }
}
