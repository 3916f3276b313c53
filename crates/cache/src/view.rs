//! Bytes in the cache's memory, without a copy.

use std::ops::{Deref, Range};

use crate::pool::Pool;

/// Bytes of a file, as they are in memory; see [`crate::File::view`].
pub struct View<'f> {
    /// Where they are; None: there are none.
    held: Option<(&'f Pool, u32)>,
    bytes: Range<usize>,
}

impl<'f> View<'f> {
    pub(crate) fn new(pool: &'f Pool, frame: u32, bytes: Range<usize>) -> Self {
        View { held: Some((pool, frame)), bytes }
    }

    pub(crate) fn empty() -> Self {
        View { held: None, bytes: 0..0 }
    }
}

impl Deref for View<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self.held {
            // SAFETY: the frame is pinned until this view is dropped.
            Some((pool, frame)) => unsafe { &pool.memory().bytes(frame)[self.bytes.clone()] },
            None => &[],
        }
    }
}

impl AsRef<[u8]> for View<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for View<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((pool, frame)) = self.held {
            pool.unview(frame);
        }
    }
}
