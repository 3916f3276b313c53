//! How much memory a piece of work takes at its height.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread took and did not give back, since it began to count, and the most that was.
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, which counts what each thread holds. For `#[global_allocator]`.
#[derive(Debug)]
pub struct Counting;

fn count(bytes: i64) {
    // What a panic takes to tell of itself, which is 80 MB of symbols with a backtrace, is no work on
    // an input.
    if std::thread::panicking() {
        return;
    }
    // A thread that is ending has no counts any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: the system's allocator does all; the counts are thread-local cells without destructors,
// which take no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as the caller vouches for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as the caller vouches for.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: as the caller vouches for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While it moves, both are held.
        count(size as i64);
        count(-(layout.size() as i64));
        // SAFETY: as the caller vouches for.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Does this work; the most that this thread held meanwhile, beyond what it held before. 0 without
/// [`Counting`].
pub fn peak_bytes<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.get();
    PEAK.set(before);
    let done = work();
    (done, (PEAK.get() - before).max(0) as u64)
}
