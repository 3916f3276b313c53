//! What is worth its price now and then only.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between one time and the next there is at least so long.
const PAUSE: Duration = Duration::from_secs(5);

/// When it was done last.
#[derive(Default)]
pub(crate) struct Seldom(Mutex<Option<Instant>>);

impl Seldom {
    /// It was done just now.
    pub fn done() -> Self {
        Seldom(Mutex::new(Some(Instant::now())))
    }

    /// Whether to do it now. Who is told so does it, and nobody else until the pause is over.
    pub fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= PAUSE);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }

    /// As if the pause were over.
    #[cfg(test)]
    pub fn wait(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_is_told_to_do_it() {
        let (seldom, done) = (Seldom::default(), Seldom::done());
        assert_eq!([seldom.is_due(), seldom.is_due(), done.is_due()], [true, false, false]);
        *done.0.lock().unwrap() = Instant::now().checked_sub(PAUSE);
        assert_eq!([done.is_due(), done.is_due()], [true, false]);
    }
}
