//! The first bytes of objects, which come with the answer that says what the object is.
//!
//! A small object is then read by one request where it took two. What came is kept until it is
//! read, in a bounded memory; where that is taken, and after an object that was not small, it is
//! asked first what the next one is.

use std::io::IoSliceMut;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

/// An object of so many bytes is small: to bring them takes no longer than a request's answer on
/// any link we met.
pub(crate) const SMALL: u64 = 32 << 10;
/// Bytes that may be kept, all buckets of a process together: of as many objects as plans look up
/// ahead of their readers. They come beside the memory that a cache is given, so there must be one
/// bound for them, however many buckets are read.
const KEPT_MAX: usize = 256 * SMALL as usize;

/// Bytes that are kept or asked for.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// What a bucket keeps.
pub(crate) struct Beginnings {
    /// Bytes that are kept or asked for, by this bucket and others.
    kept: &'static AtomicUsize,
    /// The last object was small.
    were_small: AtomicBool,
}

impl Default for Beginnings {
    fn default() -> Self {
        Beginnings { kept: &KEPT, were_small: AtomicBool::new(true) }
    }
}

/// Room for some bytes.
pub(crate) struct Room {
    of: Arc<Beginnings>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.of.kept.fetch_sub(self.bytes, Relaxed);
    }
}

impl Beginnings {
    /// Room for the first bytes of the next object, if they are to be asked for.
    pub fn room(self: &Arc<Self>) -> Option<Room> {
        let bytes = SMALL as usize;
        let more = |kept: usize| (kept + bytes <= KEPT_MAX).then_some(kept + bytes);
        let is_room = self.were_small.load(Relaxed) && self.kept.fetch_update(Relaxed, Relaxed, more).is_ok();
        is_room.then(|| Room { of: Arc::clone(self), bytes })
    }

    /// An object of so many bytes was met.
    pub fn met(&self, size: u64) {
        self.were_small.store(size <= SMALL, Relaxed);
    }
}

/// The first bytes of one object, until they are read.
#[derive(Default)]
pub(crate) struct Beginning(Mutex<Option<Kept>>);

struct Kept {
    /// What they take.
    _room: Room,
    bytes: Vec<u8>,
    /// How many of them were read.
    read: usize,
}

impl Beginning {
    /// These bytes.
    pub fn new(mut room: Room, mut bytes: Vec<u8>) -> Self {
        bytes.shrink_to_fit();
        let spared = room.bytes - bytes.len().min(room.bytes);
        room.of.kept.fetch_sub(spared, Relaxed);
        room.bytes -= spared;
        Beginning(Mutex::new((!bytes.is_empty()).then_some(Kept { _room: room, bytes, read: 0 })))
    }

    /// Copies what is here from `offset` on, and how much that is. Once as much was read as there
    /// is, in whatever order, nothing is kept.
    pub fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> usize {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Kept { bytes, read, .. }) = &mut *kept else { return 0 };
        let mut rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
        let before = rest.len();
        for piece in pieces {
            let (now, later) = rest.split_at(piece.len().min(rest.len()));
            piece[..now.len()].copy_from_slice(now);
            rest = later;
        }
        let came = before - rest.len();
        *read += came;
        if *read >= bytes.len() {
            *kept = None;
        }
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for_in_all_buckets() {
        let (beginnings, other) = (Arc::new(Beginnings::default()), Arc::new(Beginnings::default()));
        let rooms: Vec<Room> = std::iter::from_fn(|| beginnings.room()).collect();
        assert_eq!(rooms.len(), KEPT_MAX / SMALL as usize);
        assert!(other.room().is_none(), "another bucket has room of its own");
        let all: Vec<Beginning> = rooms.into_iter().map(|room| Beginning::new(room, vec![7; 1000])).collect();
        assert_eq!(beginnings.kept.load(Relaxed), 1000 * all.len());
        let (mut one, mut two) = ([0; 600], [0; 600]);
        assert_eq!(all[0].read(600, &mut [IoSliceMut::new(&mut two)]), 400);
        assert_eq!(beginnings.kept.load(Relaxed), 1000 * all.len());
        assert_eq!(all[0].read(0, &mut [IoSliceMut::new(&mut one)]), 600);
        assert_eq!(beginnings.kept.load(Relaxed), 1000 * (all.len() - 1), "it was read to its end");
        assert_eq!(all[0].read(0, &mut [IoSliceMut::new(&mut two)]), 0);
        drop(all);
        assert_eq!(beginnings.kept.load(Relaxed), 0);
        beginnings.met(SMALL + 1);
        assert!(beginnings.room().is_none());
    }
}
