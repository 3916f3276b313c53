//! The calling thread's number, asked of the kernel once.
//!
//! It is kept in a thread-local variable of the kind that needs no call to find (initial-exec): a preloaded library may
//! have those, and std's are of the other kind.

#[cfg(target_arch = "x86_64")]
mod kept {
    core::arch::global_asm!(
        ".pushsection .tbss.foresee_tid,\"awT\",@nobits",
        ".p2align 2",
        ".globl foresee_tid",
        ".hidden foresee_tid",
        ".type foresee_tid, @object",
        ".size foresee_tid, 4",
        "foresee_tid:",
        ".zero 4",
        ".popsection",
    );

    #[inline(always)]
    pub(super) fn get() -> u32 {
        let tid;
        // SAFETY: reads this thread's own variable, which the linker has given a place relative to `fs`.
        unsafe {
            core::arch::asm!("mov {at}, qword ptr [rip + foresee_tid@GOTTPOFF]", "mov {tid:e}, dword ptr fs:[{at}]",
                at = out(reg) _, tid = lateout(reg) tid, options(nostack, preserves_flags, readonly));
        }
        tid
    }

    #[inline(always)]
    pub(super) fn set(tid: u32) {
        // SAFETY: writes this thread's own variable.
        unsafe {
            core::arch::asm!("mov {at}, qword ptr [rip + foresee_tid@GOTTPOFF]", "mov dword ptr fs:[{at}], {tid:e}",
                at = out(reg) _, tid = in(reg) tid, options(nostack, preserves_flags));
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod kept {
    pub(super) fn get() -> u32 {
        0
    }

    pub(super) fn set(_: u32) {}
}

#[inline(always)]
pub(crate) fn id() -> u32 {
    match kept::get() {
        0 => ask(),
        tid => tid,
    }
}

#[cold]
fn ask() -> u32 {
    let tid = crate::sys::gettid();
    kept::set(tid);
    tid
}

/// This thread is another one now: the only one of a new process.
pub(crate) fn forget() {
    kept::set(0);
}
