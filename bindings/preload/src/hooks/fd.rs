//! Descriptors closed, copied and positioned.

use core::ffi::{c_int, c_uint};

use libc::off_t;

use crate::next::hook;
use crate::patch::entry::LSEEK;
use crate::{calls, fds, observe};

hook! {
    // Forgotten before it is closed: the moment it is, another thread may open the number anew.
    [close](fd: c_int) -> c_int, next => {
        observe::closed(fd);
        next(fd)
    }
}

hook! {
    [close_range](first: c_uint, last: c_uint, flags: c_int) -> c_int, next => {
        let result = next(first, last, flags);
        if result == 0 && flags as u32 & libc::CLOSE_RANGE_CLOEXEC == 0 {
            closed_all(first, last);
        }
        result
    }
}

hook! {
    // It returns nothing in truth; a register that nobody reads does no harm.
    [closefrom](first: c_int) -> c_int, next => {
        let nothing = next(first);
        closed_all(first.max(0) as c_uint, c_uint::MAX);
        nothing
    }
}

fn closed_all(first: c_uint, last: c_uint) {
    fds::range(first, last).for_each(observe::closed);
}

hook! {
    [dup](from: c_int) -> c_int, next => {
        let to = next(from);
        observe::duplicated(from, to);
        to
    }
}

hook! {
    [dup2](from: c_int, to: c_int) -> c_int, next => {
        let copy = next(from, to);
        observe::duplicated(from, copy);
        copy
    }
}

hook! {
    [dup3](from: c_int, to: c_int, flags: c_int) -> c_int, next => {
        let copy = next(from, to, flags);
        observe::duplicated(from, copy);
        copy
    }
}

hook! {
    [fcntl, fcntl64](fd: c_int, command: c_int, argument: usize) -> c_int, next => {
        // An open that is on its way would break the lease; a later one sees it.
        if command == libc::F_SETLEASE && argument as c_int != libc::F_UNLCK {
            calls::quiesce();
        }
        let result = next(fd, command, argument);
        if matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC) {
            observe::duplicated(fd, result);
        }
        if command == libc::F_SETFL && result == 0 {
            fds::set_appended(fd, argument as c_int & libc::O_APPEND != 0);
        }
        result
    }
}

hook! {
    [lseek, lseek64](fd: c_int, offset: off_t, whence: c_int) -> off_t, next => {
        let position = next(fd, offset, whence);
        if !LSEEK.is_patched() {
            observe::sought(fd, position);
        }
        position
    }
}
