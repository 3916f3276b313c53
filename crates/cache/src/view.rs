//! Bytes in the cache's memory, without a copy.

use std::ops::{Deref, Range};
use std::ptr::NonNull;

use crate::pool::{Pool, Viewed};

/// Bytes of a file, as they are in memory; see [`crate::File::view`].
pub struct View<'f> {
    /// No reference: those are to last as long as a function that takes one, and may drop it.
    bytes: NonNull<[u8]>,
    /// What keeps them; None: there are none.
    held: Option<(&'f Pool, Viewed)>,
}

const _: () = {
    const fn is_shared<T: Sync>() {}
    is_shared::<Pool>();
};
// SAFETY: nobody writes to the bytes while they are viewed, and any thread may speak with the pool.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

impl<'f> View<'f> {
    #[inline]
    pub(crate) fn new(pool: &'f Pool, viewed: Viewed, bytes: Range<usize>) -> Self {
        // SAFETY: the frame is pinned until this is dropped.
        let bytes: &[u8] = unsafe { &pool.memory().bytes(viewed.frame())[bytes] };
        View { bytes: bytes.into(), held: Some((pool, viewed)) }
    }

    pub(crate) fn empty() -> Self {
        View { bytes: (&[] as &[u8]).into(), held: None }
    }
}

impl Deref for View<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: what is viewed is not written to, and is there until this is dropped.
        unsafe { self.bytes.as_ref() }
    }
}

impl AsRef<[u8]> for View<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for View<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((pool, viewed)) = self.held {
            pool.unview(viewed);
        }
    }
}
