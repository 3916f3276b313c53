//! What the model of all processes together may take, whoever claims to be however many.

use std::cell::Cell;
use std::rc::Rc;

/// Descriptors and mappings of all processes: some 100 bytes each.
pub const PLACES_MAX: usize = 1 << 20;

/// What is left of them. Clones share it.
#[derive(Clone)]
pub struct Room(Rc<Cell<usize>>);

impl Default for Room {
    fn default() -> Self {
        Room(Rc::new(Cell::new(PLACES_MAX)))
    }
}

impl Room {
    /// Takes so many places, if they are there.
    pub fn take(&self, places: usize) -> bool {
        let left = self.0.get().checked_sub(places);
        left.inspect(|&left| self.0.set(left)).is_some()
    }

    /// Gives so many back.
    pub fn give(&self, places: usize) {
        self.0.set(self.0.get() + places);
    }

    /// Places that are taken.
    #[cfg(test)]
    pub fn taken(&self) -> usize {
        PLACES_MAX - self.0.get()
    }
}
