//! Objects that nothing in the pool holds any more. How they go is a program's code, and may speak
//! with the pool: not for who has its lock.

use std::cell::RefCell;
use std::sync::Arc;

use foresee_store::Object;

use super::opened::caught;

/// They go when this does.
#[derive(Default)]
pub struct Gone(Vec<Arc<dyn Object>>);

thread_local! {
    /// What goes in this thread just now: an object that goes may have others go, and so on, which is
    /// not to take a stack for each.
    static GOING: RefCell<Option<Vec<Arc<dyn Object>>>> = const { RefCell::new(None) };
}

impl Gone {
    /// Those as well.
    pub fn join(&mut self, mut others: Gone) {
        self.0.append(&mut others.0);
    }

    /// These as well.
    pub fn add(&mut self, objects: impl IntoIterator<Item = Arc<dyn Object>>) {
        self.0.extend(objects);
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        let others = std::mem::take(&mut self.0);
        if others.is_empty() {
            return;
        }
        // Where the thread's own memory is going already, they go at once.
        let is_within = GOING.try_with(move |going| {
            let mut going = going.borrow_mut();
            let is_within = going.is_some();
            going.get_or_insert_default().extend(others);
            is_within
        });
        if is_within != Ok(false) {
            return;
        }
        while let Some(object) = GOING.with_borrow_mut(|going| going.as_mut()?.pop()) {
            let _ = caught(|| {
                drop(object);
                Ok(())
            });
        }
        GOING.set(None);
    }
}
