//! A program that has left our process group, as `timeout`, `setsid` and interactive shells do: what
//! of our group's is its own all the same.
//!
//! Who leads a group cannot leave it. So where we lead ours, as a shell's job, the program would
//! still be in it had it been started in our place: the group that it leads now stands for ours,
//! and is sent what ours is sent. Where we do not, as in a script, it could have left as well, and
//! is sent what somebody may have sent to it alone: who means both, as an outer `timeout`, sends it
//! to us and to the group, and of two of one kind one is left. What has a session of its own is to
//! outlive a terminal in any case.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::parent_id;

use super::group::STOPS;
use crate::process_stat;

/// To whom a signal goes that our group got, as `kill` takes it; None: the program has it, or is not
/// to have it. `for_us`: another one of its kind came for us alone.
pub(super) fn receiver(program: i32, info: &libc::signalfd_siginfo, for_us: bool) -> Option<i32> {
    let (group, ours) = groups(program);
    if group == ours {
        return None;
    }
    let signal = info.ssi_signo as i32;
    // SAFETY: takes no pointers.
    let is_elsewhere = unsafe { libc::getsid(program) != libc::getsid(0) };
    let is_hangup = signal == libc::SIGHUP && is_elsewhere;
    if stands_for_leader(ours) {
        let is_stop = STOPS.contains(&signal) && is_orphaned(ours);
        return (for_us || !is_hangup && !is_stop).then_some(if group == program { -program } else { program });
    }
    let of_terminal = info.ssi_code == libc::SI_KERNEL;
    (for_us || !is_hangup && !of_terminal).then_some(program)
}

fn groups(program: i32) -> (i32, i32) {
    // SAFETY: takes no pointers.
    unsafe { (libc::getpgid(program), libc::getpgrp()) }
}

/// Whether we lead our group, or are what a launcher has started that does or stands for it.
fn stands_for_leader(group: i32) -> bool {
    let executed = |pid| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let (mut launcher, ours) = (Some(std::process::id() as i32), executed(std::process::id() as i32));
    while let Some(it) = launcher.filter(|&it| it != group) {
        launcher = parent_of(it).filter(|&it| ours.is_some() && executed(it) == ours);
    }
    launcher.is_some()
}

fn parent_of(process: i32) -> Option<i32> {
    match process as u32 == std::process::id() {
        // Also where there is no /proc.
        true => Some(parent_id()).filter(|&it| it > 0),
        false => process_stat::parent(process),
    }
    .map(|it| it as i32)
}

/// Whether nobody is there to have a group go on, as far as its leader tells: no stop of the terminal's
/// stops it then.
fn is_orphaned(group: i32) -> bool {
    // SAFETY: takes no pointers.
    parent_of(group).is_none_or(|it| unsafe { libc::getsid(it) != libc::getsid(0) || libc::getpgid(it) == group })
}

/// The terminal as the program's stop and its end find it.
#[derive(Default)]
pub(super) struct Terminal {
    /// The group that the program leads had it once.
    had_it: bool,
    /// Whose it was when we went on, of a program that has left.
    with: Option<i32>,
}

impl Terminal {
    /// We stop as the program has, by `stop`, until somebody has us go on. He hands the terminal to our
    /// group, and we to the one that the program leads, if that had it.
    pub fn around(&mut self, program: i32, stop: impl FnOnce()) {
        let (group, ours) = groups(program);
        let has_left = group == program && group != ours;
        self.had_it |= has_left && terminal().is_some_and(|it| foreground(&it) == group);
        stop();
        if has_left && self.had_it {
            pass(ours, group);
        }
        self.with = if has_left { terminal().map(|it| foreground(&it)) } else { None };
    }

    /// The program has ended. What the group had that it led, ours has again; what it gave ours as it
    /// ended, as shells do, whoever had it.
    pub fn take_back(&self, program: i32) {
        // SAFETY: takes no pointers.
        let ours = unsafe { libc::getpgrp() };
        if is_empty(program) {
            pass(program, ours);
        }
        let other = self.with.filter(|&it| it > 0 && ![program, ours].contains(&it) && !is_empty(it));
        other.into_iter().filter(|_| stands_for_leader(ours)).for_each(|other| pass(ours, other));
    }
}

/// Whether nobody is in a group.
fn is_empty(group: i32) -> bool {
    // SAFETY: takes no pointers, and sends nothing.
    let found = unsafe { libc::kill(-group, 0) };
    found != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
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
