//! Programs that give up system calls. Ours are not on their lists, and one of them would end the program: fall silent.

use core::ffi::c_int;

use crate::next::hook;
use crate::state;

hook! {
    // Every program that may not administer the system says `PR_SET_NO_NEW_PRIVS` before it installs a filter.
    [prctl](option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int, next => {
        if matches!(option, libc::PR_SET_NO_NEW_PRIVS | libc::PR_SET_SECCOMP)
            && state::region_of_this_process().is_some()
        {
            state::leave();
        }
        next(option, a, b, c, d)
    }
}
