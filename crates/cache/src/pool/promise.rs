//! A value that somebody else brings, for a future to wait for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

enum State<T> {
    /// It has not come; who is woken when it does, if it was asked for.
    Expected(Option<Waker>),
    Here(T),
    /// It was taken, or nobody wants it any more.
    Over,
}

type Shared<T> = Arc<Mutex<State<T>>>;

/// Who brings it has this.
pub struct Promise<T>(Shared<T>);

/// Who waits for it has this. Once it is dropped nobody is woken any more.
pub struct Promised<T>(Shared<T>);

/// A value that has not come.
pub fn promise<T>() -> (Promise<T>, Promised<T>) {
    let shared = Arc::new(Mutex::new(State::Expected(None)));
    (Promise(Arc::clone(&shared)), Promised(shared))
}

fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, State<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Promise<T> {
    /// Whether somebody still waits for it.
    pub fn is_wanted(&self) -> bool {
        matches!(*lock(&self.0), State::Expected(_))
    }

    /// The value is here. It is given back if nobody wants it any more. To wake is a program's
    /// code: not to be called with a lock held, and if it panics that is its own affair, for who
    /// calls this has more to tell.
    pub fn keep(self, value: T) -> Result<(), T> {
        let mut state = lock(&self.0);
        let State::Expected(waker) = &mut *state else { return Err(value) };
        let waker = waker.take();
        *state = State::Here(value);
        drop(state);
        let _ = catch_unwind(AssertUnwindSafe(|| waker.into_iter().for_each(Waker::wake)));
        Ok(())
    }
}

impl<T> Promised<T> {
    /// Nobody waits for it any more. It is handed over if it has come.
    pub fn withdraw(&self) -> Option<T> {
        let before = std::mem::replace(&mut *lock(&self.0), State::Over);
        if let State::Here(value) = before { Some(value) } else { None }
    }
}

impl<T> Future for Promised<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let waker = Some(context.waker().clone());
        let mut state = lock(&self.0);
        let before = std::mem::replace(&mut *state, State::Over);
        if let State::Here(value) = before {
            return Poll::Ready(value);
        }
        *state = State::Expected(waker);
        drop(state);
        // The waker of the last poll is a program's.
        drop(before);
        Poll::Pending
    }
}

impl<T> Drop for Promised<T> {
    fn drop(&mut self) {
        drop(self.withdraw());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    fn poll<T>(promised: &mut Promised<T>, woken: &Arc<Woken>) -> Poll<T> {
        Pin::new(promised).poll(&mut Context::from_waker(&Arc::clone(woken).into()))
    }

    #[test]
    fn who_asked_last_is_woken_once() {
        let (promise, mut promised) = promise();
        let (one, other) = (Arc::<Woken>::default(), Arc::<Woken>::default());
        assert!(poll(&mut promised, &one).is_pending() && poll(&mut promised, &other).is_pending());
        assert_eq!(promise.keep(7), Ok(()));
        assert_eq!((one.0.load(Relaxed), other.0.load(Relaxed)), (0, 1));
        assert_eq!(poll(&mut promised, &one), Poll::Ready(7));
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("as this test has it");
        }
    }

    #[test]
    fn whose_waker_panics_has_its_value_and_holds_up_nobody() {
        let (promise, mut promised) = promise();
        let poll = |it: &mut Promised<_>| Pin::new(it).poll(&mut Context::from_waker(&Arc::new(Panics).into()));
        assert!(poll(&mut promised).is_pending());
        assert_eq!(promise.keep(7), Ok(()));
        assert_eq!(poll(&mut promised), Poll::Ready(7));
    }

    #[test]
    fn what_nobody_wants_is_given_back_and_wakes_nobody() {
        let (promise, mut promised) = promise();
        let woken = Arc::<Woken>::default();
        assert!(poll(&mut promised, &woken).is_pending());
        drop(promised);
        assert_eq!((promise.keep(7), woken.0.load(Relaxed)), (Err(7), 0));
    }
}
