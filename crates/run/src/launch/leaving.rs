//! A program that has left our process group, as `timeout`, `setsid` and interactive shells do: what
//! of our group's is its own all the same.
//!
//! Who leads a group cannot leave it. So where we lead ours, as a shell's job, the program would
//! still be in it had it been started in our place: the group that it leads now stands for ours,
//! and is sent what ours is sent. Where we do not, as in a script, it could have left as well, and
//! is sent what somebody may have sent to it alone: who means both, as an outer `timeout`, sends it
//! to us and to the group, and of two of one kind one is left.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// What a group is stopped by, unless it is orphaned.
const STOPS: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// To whom a signal goes that our group got, as `kill` takes it; None: the program has it, or is not
/// to have it. `for_us`: another one of its kind came for us alone.
pub(super) fn receiver(program: i32, info: &libc::signalfd_siginfo, for_us: bool) -> Option<i32> {
    let (group, ours) = groups(program);
    if group == ours {
        return None;
    }
    let signal = info.ssi_signo as i32;
    if leads(ours) {
        let is_stopped = !(STOPS.contains(&signal) && is_orphaned(ours));
        return is_stopped.then_some(if group == program { -program } else { program });
    }
    let of_terminal = info.ssi_code == libc::SI_KERNEL;
    // SAFETY: takes no pointers.
    let is_spared = signal == libc::SIGHUP && unsafe { libc::getsid(program) != libc::getsid(0) };
    (for_us || !of_terminal && !is_spared).then_some(program)
}

fn groups(program: i32) -> (i32, i32) {
    // SAFETY: takes no pointers.
    unsafe { (libc::getpgid(program), libc::getpgrp()) }
}

fn leads(group: i32) -> bool {
    group == std::process::id() as i32
}

/// Whether nobody is there to have our group go on, which we lead: no stop of the terminal's stops it
/// then.
fn is_orphaned(ours: i32) -> bool {
    // SAFETY: takes no pointers.
    unsafe {
        let parent = libc::getppid();
        libc::getsid(parent) != libc::getsid(0) || libc::getpgid(parent) == ours
    }
}

/// Whether the terminal is with the group that this program leads, and which is not ours.
pub(super) fn has_terminal(program: i32) -> bool {
    let (group, ours) = groups(program);
    group == program && group != ours && terminal().is_some_and(|it| foreground(&it) == group)
}

/// Hands the terminal on to the group that this program leads, if ours has it: whoever has us go on
/// hands it to us.
pub(super) fn hand_on(program: i32) {
    let (group, ours) = groups(program);
    if group == program {
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
    if let Some(terminal) = terminal().filter(|it| foreground(it) == from) {
        // SAFETY: the descriptor is open; takes no pointers.
        unsafe { libc::tcsetpgrp(terminal.as_raw_fd(), to) };
    }
}

fn foreground(terminal: &File) -> i32 {
    // SAFETY: the descriptor is open.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) }
}

fn terminal() -> Option<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open("/dev/tty").ok()
}
