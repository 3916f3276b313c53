//! Bytes that answers under way may take together: the memory's bound holds however many read at once.

use std::sync::{Condvar, Mutex, PoisonError};

use foresee_run::pool::lock;

/// So many bytes.
pub struct Allowance {
    left: Mutex<usize>,
    more: Condvar,
}

/// Some of them, until this is dropped.
pub struct Allowed<'a> {
    of: &'a Allowance,
    bytes: usize,
}

impl Allowance {
    /// Of so many bytes in all.
    pub fn new(bytes: usize) -> Self {
        Allowance { left: Mutex::new(bytes), more: Condvar::new() }
    }

    /// Waits until so many are left; there are never fewer in all.
    pub fn take(&self, bytes: usize) -> Allowed<'_> {
        let left = self.more.wait_while(lock(&self.left), |left| *left < bytes);
        *left.unwrap_or_else(PoisonError::into_inner) -= bytes;
        Allowed { of: self, bytes }
    }
}

impl Drop for Allowed<'_> {
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
}
