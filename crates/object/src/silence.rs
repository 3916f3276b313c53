//! Whether a store answers at all.
//!
//! Requests wait for one another: the parts of a long read, what was brought ahead and is asked for
//! once more. Where the store is away each would wait the deadline out, and who reads for several of
//! them. So where one gave up and for long nobody was answered, whoever reads at once after that gets
//! the same error; who reads later asks again. A gateway that answers for a store that is away is no
//! silence: it may have other objects.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At once is so long.
const AT_ONCE: Duration = Duration::from_millis(250);

#[derive(Default)]
struct State {
    /// When something was answered last.
    answered: Option<Instant>,
    /// When somebody gave up last for whom nothing was answered.
    given_up: Option<Instant>,
}

/// What is known of it.
#[derive(Default)]
pub(crate) struct Silence(Mutex<State>);

impl Silence {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether to ask is in vain, as far as one knows.
    pub fn is_on(&self) -> bool {
        self.state().given_up.is_some_and(|when| when.elapsed() < AT_ONCE)
    }

    /// It answered, whatever.
    pub fn broken(&self) {
        *self.state() = State { answered: Some(Instant::now()), given_up: None };
    }

    /// Somebody gave up; it is silent if nobody was answered for so long.
    pub fn endured(&self, long: Duration) {
        let mut state = self.state();
        if state.answered.is_none_or(|answered| answered.elapsed() >= long) {
            state.given_up = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_silent_where_nothing_was_answered_and_for_a_moment_only() {
        let (silence, long) = (Silence::default(), Duration::from_secs(1000));
        assert!(!silence.is_on());
        silence.endured(long);
        assert!(silence.is_on());
        silence.broken();
        assert!(!silence.is_on());
        // Others were answered meanwhile.
        silence.endured(long);
        assert!(!silence.is_on());
        silence.endured(Duration::ZERO);
        assert!(silence.is_on());
        silence.state().given_up = Instant::now().checked_sub(AT_ONCE);
        assert!(!silence.is_on());
    }
}
