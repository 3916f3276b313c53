//! What the kernel is told unasked.

use std::sync::{Arc, OnceLock};

use fuser::{INodeNo, Notifier};

/// The kernel, once something is mounted.
#[derive(Clone, Default)]
pub struct Kernel(Arc<OnceLock<Notifier>>);

impl Kernel {
    /// It is told by this from now on.
    pub fn is_there(&self, notifier: Notifier) {
        let _ = self.0.set(notifier);
    }

    /// What it was told of a number's length and times is not so any more. Its bytes stay: to forget them
    /// would wait for who reads them.
    pub fn forget_attributes(&self, number: u64) {
        if let Some(notifier) = self.0.get() {
            // That it does not know the number is no error.
            let _ = notifier.inval_inode(INodeNo(number), -1, 0);
        }
    }

    /// It is to have no bytes of a number that nobody has open. Returns whether it has none.
    pub fn forget_bytes(&self, number: u64) -> bool {
        self.0.get().is_some_and(|notifier| notifier.inval_inode(INodeNo(number), 0, 0).is_ok())
    }
}
