//! How far up the stack may be looked at. Programs have stacks of any kind and size: threads',
//! signals', coroutines'. Nothing beyond one is touched unless it is known to be there.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::sys;

pub(super) const PAGE: usize = 4096;
/// The kernel leaves at least 128 MiB below the main thread's stack to nobody else; more than 8 MiB
/// of it are rarely used.
const MAIN_STACK_BYTES: usize = 8 << 20;

/// The end of the main thread's stack: that of the page where the kernel puts the program's name.
static MAIN_STACK_END: AtomicUsize = AtomicUsize::new(0);

pub(super) fn begin() {
    // SAFETY: asks only.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) } as usize;
    MAIN_STACK_END.store((name | (PAGE - 1)) + 1, Relaxed);
}

/// The stack pointer, here and now; 0 where signatures are unknown.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let pointer = 0;
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads a register.
    let pointer = unsafe {
        let pointer;
        core::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        pointer
    };
    pointer
}

/// Whether this is the main thread's stack, and most of it is free.
#[inline(always)]
pub(super) fn is_roomy(pointer: usize) -> bool {
    MAIN_STACK_END.load(Relaxed).wrapping_sub(pointer) < MAIN_STACK_BYTES / 2
}

/// Up to where the stack can be read from here without asking: to the end of the page, which is in
/// use; of the main stack, to its end.
#[inline(always)]
pub(super) fn known_end(from: usize) -> usize {
    let main_end = MAIN_STACK_END.load(Relaxed);
    if main_end.wrapping_sub(from) < MAIN_STACK_BYTES { main_end } else { (from | (PAGE - 1)) + 1 }
}

/// Up to where beyond that.
#[cold]
pub(super) fn next_end(end: usize) -> usize {
    if is_readable(end) { end + PAGE } else { end }
}

/// Whether the page at this address can be read. The kernel looks at the signal set before it finds
/// that it is not asked to do anything with it; so no signal is touched, and a bad address is an
/// error and not the end. (To copy it by `process_vm_readv` takes longer, and sandboxes kill those
/// who try.)
pub(super) fn is_readable(address: usize) -> bool {
    const NO_SUCH_OPERATION: usize = usize::MAX;
    // SAFETY: nothing is changed.
    let result = unsafe { sys::call(libc::SYS_rt_sigprocmask, [NO_SUCH_OPERATION, address, 0, 8, 0, 0]) };
    result == -(libc::EINVAL as isize)
}
