//! Where answers are waited for: threads that turn to whichever connection has something to say.

use std::future::Future;
use std::io;

use tokio::runtime::Builder;

/// Who asks copies what came by itself; these only look after connections.
const THREADS: usize = 2;

/// The threads.
pub(crate) struct Runtime(Option<tokio::runtime::Runtime>);

impl Runtime {
    /// Starts them.
    pub fn new() -> io::Result<Self> {
        let mut runtime = Builder::new_multi_thread();
        Ok(Runtime(Some(runtime.worker_threads(THREADS).thread_name("foresee-object").enable_all().build()?)))
    }

    /// Waits for what the future comes to. Unlike the runtime's own way to wait, this may be called
    /// within another one: a program may open a file wherever it may block.
    pub fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        let _entered = self.0.as_ref().map(tokio::runtime::Runtime::enter);
        futures_executor::block_on(future)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // To wait for the threads is forbidden where a program may not block.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
