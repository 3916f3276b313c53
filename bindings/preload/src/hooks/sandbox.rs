//! Programs that give up what we need: system calls, of which ours are not on their lists, or the
//! processor's time-stamp counter. One of ours would end the program: fall silent, and load nothing
//! into what it executes, which inherits all that.

use core::ffi::c_int;

use crate::next::hook;
use crate::state;

hook! {
    [prctl](option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int, next => {
        before_prctl(option, a);
        next(option, a, b, c, d)
    }
}

fn before_prctl(option: c_int, argument: usize) {
    const PR_SET_TSC: c_int = 26;
    const PR_TSC_SIGSEGV: usize = 2;
    match option {
        // Every program that may not administer the system says this before it installs a filter.
        libc::PR_SET_NO_NEW_PRIVS => state::fall_silent(),
        libc::PR_SET_SECCOMP => state::confine(),
        PR_SET_TSC if argument == PR_TSC_SIGSEGV => state::confine(),
        _ => {}
    }
}

/// libc's `syscall`, by which libraries that make sandboxes ask for filters, as there is no
/// function for it; and by which some unmount.
#[cfg(target_arch = "x86_64")]
mod by_number {
    use core::ffi::{c_int, c_long, c_void};

    use crate::calls;
    use crate::next::{Next, call_before_and_jump};
    use crate::state;

    #[used]
    #[unsafe(link_section = "foresee_next")]
    static NEXT: Next = Next::new(c"syscall");

    // It jumps on, for nobody knows how many arguments there are, and system calls by number may be
    // any: one that returns twice.
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    unsafe extern "C" fn syscall(number: c_long) -> c_long {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "cmp edi, {prctl}",
            "je 2f",
            "cmp edi, {seccomp}",
            "je 2f",
            "cmp edi, {umount}",
            "je 2f",
            "mov rax, qword ptr [rip + {next} + 8]",
            "test rax, rax",
            "je 2f",
            "jmp rax",
            "2:",
            call_before_and_jump!(),
            ".cfi_endproc",
            prctl = const libc::SYS_prctl,
            seccomp = const libc::SYS_seccomp,
            umount = const libc::SYS_umount2,
            next = sym NEXT,
            before = sym before,
        );
    }

    // Looks at what it is, and says where to jump.
    unsafe extern "C" fn before(number: c_long, first: usize, second: usize) -> *mut c_void {
        const LAST_THAT_CONFINES: usize = libc::SECCOMP_SET_MODE_FILTER as usize;
        match number {
            libc::SYS_prctl => super::before_prctl(first as c_int, second),
            libc::SYS_seccomp if first <= LAST_THAT_CONFINES => state::confine(),
            libc::SYS_umount2 => calls::quiesce(),
            _ => {}
        }
        let next = NEXT.address();
        if next.is_null() { nothing as *mut c_void } else { next }
    }

    extern "C" fn nothing() -> c_long {
        crate::sys::set_errno(libc::ENOSYS);
        -1
    }
}
