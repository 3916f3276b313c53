//! Bytes that may be taken together: the memory's bound holds however many answers are under way,
//! and however many files are written.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use foresee_run::pool::lock;

/// So many bytes.
pub struct Allowance {
    left: Mutex<usize>,
    more: Condvar,
}

/// Some of them, until this is dropped.
pub struct Allowed {
    of: Arc<Allowance>,
    bytes: usize,
}

impl Allowance {
    /// Of so many bytes in all.
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Allowance { left: Mutex::new(bytes), more: Condvar::new() })
    }

    /// Waits until so many are left; there are never fewer in all.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Allowed {
        let left = self.more.wait_while(lock(&self.left), |left| *left < bytes);
        *left.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Allowed { of: Arc::clone(self), bytes }
    }

    /// None yet.
    pub fn nothing(self: &Arc<Self>) -> Allowed {
        Allowed { of: Arc::clone(self), bytes: 0 }
    }
}

impl Allowed {
    /// Makes it so many at least, if they are left; without waiting. Returns whether it is.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let mut left = lock(&self.of.left);
        let more = bytes.saturating_sub(self.bytes);
        let are_left = *left >= more;
        if are_left {
            *left -= more;
            self.bytes += more;
        }
        are_left
    }
}

impl Drop for Allowed {
    fn drop(&mut self) {
        *lock(&self.of.left) += self.bytes;
        self.of.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_waited_for() {
        let allowance = Allowance::new(10);
        let first = allowance.take(6);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| allowance.take(6).bytes);
            assert!(!second.is_finished() && *lock(&allowance.left) == 4);
            drop(first);
            assert_eq!(second.join().unwrap(), 6);
        });
        assert_eq!(*lock(&allowance.left), 10);
    }

    #[test]
    fn what_grows_takes_what_is_left() {
        let allowance = Allowance::new(10);
        let (mut one, mut other) = (allowance.nothing(), allowance.nothing());
        assert!(one.grow(6) && one.grow(4) && !other.grow(5) && other.grow(4));
        drop(one);
        assert!(other.grow(10) && !other.grow(11));
    }
}
