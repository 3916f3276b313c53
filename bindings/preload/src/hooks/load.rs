//! Shared objects loaded while the program runs.
//!
//! The linker opens them by itself, and what it loads for a bare name depends on who calls
//! `dlopen`: it looks at the return address. So nothing may stand between the two; the hook tells
//! what is about to be loaded and jumps. (To ask the linker afterwards, from other hooks, would
//! take its lock where the program does not expect it.)

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::ffi::{c_char, c_int, c_void};

    use foresee_ring::Record;

    use crate::next::{Next, call_before_and_jump};
    use crate::{observe, sites, state};

    #[used]
    #[unsafe(link_section = "foresee_next")]
    static NEXT: Next = Next::new(c"dlopen");

    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
        core::arch::naked_asm!(
            ".cfi_startproc",
            call_before_and_jump!(),
            ".cfi_endproc",
            before = sym before,
        );
    }

    // Tells of it, and says where to jump.
    unsafe extern "C" fn before(path: *const c_char, flags: c_int) -> *mut c_void {
        if !path.is_null()
            && let Some(region) = state::region_of_this_process()
        {
            // SAFETY: the linker is about to read the name too.
            state::post(region, Record::Loading {}, unsafe { observe::bytes(path) });
            if flags & libc::RTLD_NOLOAD == 0 {
                sites::objects_change();
            }
        }
        let next = NEXT.address();
        // Before glibc 2.34 it is in a library of its own, which the program has: it called us.
        if next.is_null() { nothing as *mut c_void } else { next }
    }

    // What was found of the objects that are gone holds no longer.
    crate::next::hook! {
        [dlclose](handle: *mut c_void) -> c_int, next => {
            let closed = next(handle);
            if state::region().is_some() {
                sites::objects_change();
            }
            closed
        }
    }

    extern "C" fn nothing() -> *mut c_void {
        core::ptr::null_mut()
    }
}
