//! Whether we run on Valgrind, which would blame the program for what a scan of the stack decides
//! by: words that nobody wrote.

/// Asks by Valgrind's own way, instructions that do nothing elsewhere (`RUNNING_ON_VALGRIND` in its
/// `valgrind.h`).
#[cfg(target_arch = "x86_64")]
pub(super) fn is_here() -> bool {
    const RUNNING_ON_VALGRIND: usize = 0x1001;
    let request: [usize; 6] = [RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0];
    let depth: usize;
    // SAFETY: the rotations add up to 128 bits, and a register is exchanged with itself; Valgrind reads
    // the request.
    unsafe {
        core::arch::asm!("rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") &request, inlateout("rdx") 0usize => depth, options(nostack));
    }
    depth != 0
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn is_here() -> bool {
    false
}
