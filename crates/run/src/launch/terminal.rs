//! The terminal of a program that has left our process group: who is in the foreground there.
//!
//! A shell hands the terminal to our group when it lets us go on, and takes it back when we end or
//! stop. A program that leads another group by then would read in vain.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Hands the terminal on to the group that this program leads, if ours has it.
pub(super) fn hand_on(program: i32) {
    // SAFETY: takes no pointers.
    let (group, ours) = unsafe { (libc::getpgid(program), libc::getpgrp()) };
    if group == program && group != ours {
        pass(ours, group);
    }
}

/// Takes back what the program had that led this group, and has ended.
pub(super) fn take_back(program: i32) {
    // SAFETY: takes no pointers.
    pass(program, unsafe { libc::getpgrp() });
}

/// From group to group, if the first one has it. We block the signal that would stop us.
fn pass(from: i32, to: i32) {
    let Some(terminal) = open().filter(|_| from != to) else { return };
    // SAFETY: the descriptor is open; takes no pointers.
    unsafe {
        if libc::tcgetpgrp(terminal.as_raw_fd()) == from {
            libc::tcsetpgrp(terminal.as_raw_fd(), to);
        }
    }
}

fn open() -> Option<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open("/dev/tty").ok()
}
