//! Whether a store answers at all.
//!
//! Requests wait for one another: the parts of a long read, what was brought ahead and is asked for
//! once more. Where the store is away each would wait the deadline out, and who reads for several of
//! them. So where one gave up and for long nobody was answered, whoever reads at once after that is told
//! so, by the same error; who reads later asks again. A gateway that answers for a store that is away is no
//! silence: it may have other objects.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use foresee_store::Error;

/// At once is so long.
const AT_ONCE: Duration = Duration::from_millis(250);

#[derive(Default)]
struct State {
    /// When something was answered last.
    answered: Option<Instant>,
    /// When somebody gave up last for whom nothing was answered, and by which error.
    given_up: Option<(Instant, Error)>,
}

/// What is known of it.
#[derive(Default)]
pub(crate) struct Silence(Mutex<State>);

impl Silence {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why to ask is in vain, if it is, as far as one knows.
    pub fn why(&self) -> Option<Error> {
        self.state().given_up.as_ref().filter(|(when, _)| when.elapsed() < AT_ONCE).map(|(_, why)| why.clone())
    }

    /// It answered, whatever.
    pub fn broken(&self) {
        *self.state() = State { answered: Some(Instant::now()), given_up: None };
    }

    /// Somebody gave up by this error; it is silent if nobody was answered for so long.
    pub fn endured(&self, long: Duration, why: &Error) {
        let mut state = self.state();
        if state.answered.is_none_or(|answered| answered.elapsed() >= long) {
            state.given_up = Some((Instant::now(), why.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_silent_where_nothing_was_answered_and_for_a_moment_only() {
        let (silence, long) = (Silence::default(), Duration::from_secs(1000));
        let endured = |long| silence.endured(long, &Error::Changed);
        assert!(silence.why().is_none());
        endured(long);
        assert!(matches!(silence.why(), Some(Error::Changed)));
        silence.broken();
        assert!(silence.why().is_none());
        // Others were answered meanwhile.
        endured(long);
        assert!(silence.why().is_none());
        endured(Duration::ZERO);
        assert!(silence.why().is_some());
        silence.state().given_up = Instant::now().checked_sub(AT_ONCE).map(|when| (when, Error::Changed));
        assert!(silence.why().is_none());
    }
}
