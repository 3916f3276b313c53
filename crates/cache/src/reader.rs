//! Whose reads are told apart from others'.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use foresee_manager::{Event, ReaderId};

use crate::pool::{Pool, Who};

/// A reader, for as long as somebody reads or discloses as it.
pub(crate) struct Reader {
    pub pool: Arc<Pool>,
    pub id: ReaderId,
    /// Plans it has, and whether that is any.
    pub plans: Mutex<u64>,
    pub disclosed: AtomicBool,
}

impl Reader {
    pub fn new(pool: Arc<Pool>) -> Arc<Self> {
        let id = pool.new_reader();
        Arc::new(Reader { pool, id, plans: Mutex::new(0), disclosed: AtomicBool::new(false) })
    }

    #[inline]
    pub fn who(&self) -> Who {
        Who { reader: self.id, disclosed: self.disclosed.load(Relaxed) }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.pool.session().withdraw(Event::ReaderExited { reader: self.id });
    }
}
