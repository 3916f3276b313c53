//! Executing programs. Where libc's own entry is ours (`patch.rs`), it tells; else only those are
//! seen who call `execve` itself.

use core::ffi::{c_char, c_int};

use crate::exec::{self, Environment};
use crate::next::hook;
use crate::patch::entry::EXECVE;

hook! {
    [execve](path: *const c_char, arguments: *const *const c_char, environment: Environment) -> c_int, next => {
        if EXECVE.is_patched() {
            return next(path, arguments, environment);
        }
        exec::execute(path, environment, |environment| next(path, arguments, environment) as isize) as c_int
    }
}
