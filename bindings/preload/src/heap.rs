//! Memory for what is made when the library begins (the unwinder of exact signatures): a mapping
//! for each piece, for there are few. Nothing is allocated later.

use core::alloc::{GlobalAlloc, Layout};

use crate::sys;

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

// SAFETY: each piece is a mapping of its own, aligned to a page.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, where the kernel likes.
        let mapped =
            unsafe { sys::call(libc::SYS_mmap, [0, layout.size(), prot as usize, flags as usize, usize::MAX, 0]) };
        if (-4095..0).contains(&mapped) { core::ptr::null_mut() } else { mapped as *mut u8 }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: what `alloc` gave.
        unsafe { sys::call(libc::SYS_munmap, [at as usize, layout.size(), 0, 0, 0, 0]) };
    }
}
