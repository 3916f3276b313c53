//! Objects in memory that each run puts there in the same order, so that their versions mean the
//! same in all of them.

use std::sync::Arc;

use foresee::store::{Error, Listed, Memory, Object, Store};

/// The store.
pub struct Lasting(pub Memory);

impl Store for Lasting {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
        self.0.open(name)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        self.0.list(prefix)
    }
}
