//! How far something has come: a line on a terminal, renewed a few times a second.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::say::{clear, renew};

/// The line; nothing where standard error is no terminal.
pub struct Progress {
    shown: Option<Mutex<Instant>>,
}

impl Progress {
    /// Shows nothing yet.
    pub fn new() -> Self {
        Progress { shown: std::io::stderr().is_terminal().then(|| Mutex::new(Instant::now())) }
    }

    /// So much is done of so much.
    pub fn show(&self, done: u64, total: u64) {
        self.tell(|| format!("{:.0} % ", 100.0 * done as f64 / total.max(1) as f64));
    }

    /// It has come so far.
    pub fn tell(&self, how_far: impl FnOnce() -> String) {
        // Whoever finds it locked leaves it: another thread is just showing something newer.
        if let Some(mut last) = self.shown.as_ref().and_then(|shown| shown.try_lock().ok())
            && last.elapsed() > Duration::from_millis(200)
        {
            *last = Instant::now();
            renew(how_far());
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.shown.is_some() {
            clear();
        }
    }
}
