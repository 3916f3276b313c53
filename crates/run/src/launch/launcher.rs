//! The launcher: what the shell started and waits for.

use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::ending::end_as;
use super::leaving::Terminal;
use super::line::Silence;
use super::{Line, Message, Streams, leaving};
use crate::child::Signals;
use crate::inherited;
use crate::processors;
use crate::run::OWN_FAILURE;
use crate::say::say;
use crate::shared::SharedRegion;

/// Who signals us and the group, as `timeout` does, means one signal: the program, sent both at
/// once, most often gets one, as signals of one kind do not queue. So long what was sent to us alone
/// is held back before it is sent on, which nobody notices.
const SOON: Duration = Duration::from_millis(10);
/// Signals from here on queue (signal(7)).
const QUEUED: i32 = 32;
/// What stops the program, and has it go on: they are sent on in their order.
const IN_ORDER: [i32; 4] = [libc::SIGCONT, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
/// A companion that does not answer for so long is stopped, and no witness.
const PATIENCE: Duration = Duration::from_secs(1);
/// From the program's end, the longest that the companion may take to be done with what it watched:
/// a thousand times what it takes most often. It may be stopped, or have too little memory. One that
/// is to write something may take as long as whoever takes that.
const DONE_WITHIN: Duration = Duration::from_secs(10);

pub(super) struct Launcher<'a> {
    /// None once it has ended.
    companion: Option<i32>,
    line: Line,
    pub(super) signals: Signals,
    /// Those taken and not yet dealt with. They are taken at once: signals of one kind do not
    /// queue, so that one that is not taken yet and the next one are one, even if the program,
    /// which is faster, got both.
    taken: VecDeque<libc::signalfd_siginfo>,
    /// Sent to us alone, and held back until then: one of each kind.
    held: Vec<(i32, Instant)>,
    region: Option<&'a SharedRegion>,
    streams: Streams,
    /// What the companion ended with: 0 if all went well.
    companion_status: i32,
    /// Why it can say nothing, if that is so.
    lost: Option<String>,
}

/// The program has ended.
struct Ended {
    status: i32,
    at: Instant,
    /// The companion is done with what it watched, and writes what it was asked for.
    is_done: bool,
}

/// What a child's change of state was.
enum Change {
    Stopped(i32),
    Continued,
    Ended(i32),
}

impl<'a> Launcher<'a> {
    pub(super) fn new(
        companion: i32,
        line: Line,
        signals: Signals,
        region: Option<&'a SharedRegion>,
        streams: Streams,
    ) -> Self {
        let (taken, held) = (VecDeque::new(), Vec::new());
        let (companion, companion_status, lost) = (Some(companion), 0, None);
        Launcher { companion, line, signals, taken, held, region, streams, companion_status, lost }
    }

    /// There is no program: nor shall there be a companion.
    pub(super) fn give_up(self) {
        let Some(companion) = self.companion else { return };
        // SAFETY: no pointers but a null one; it is our child, and not waited for yet.
        unsafe {
            libc::kill(companion, libc::SIGKILL);
            libc::waitpid(companion, std::ptr::null_mut(), 0);
        }
    }

    /// Stands for the program until it has ended, and then ends as it did.
    pub(super) fn accompany(mut self, program: i32, started: Instant, start_up: Duration) -> ! {
        self.line.say(Message::Started { program, start_up });
        // The companion's, if it is killed, is ours to say.
        inherited::let_go([false, false, self.streams.error]);
        let (mut ended, mut terminal): (Option<Ended>, _) = (None, Terminal::default());
        loop {
            let watched = ended.as_ref().filter(|it| self.is_hurried() && !it.is_done);
            let held = self.held.iter().map(|(_, due)| *due);
            let due = held.chain(watched.map(|it| it.at + DONE_WITHIN)).min();
            let line = if watched.is_some() { self.line.fd() } else { -1 };
            wait_for(
                [self.signals.fd(), self.region.map_or(-1, SharedRegion::fd), line],
                due.map(|due| due.saturating_duration_since(Instant::now())),
            );
            // Here, as the companion may be busy for longer than a program may wait that asks.
            if let Some(shared) = self.region {
                shared.answer();
            }
            self.take();
            while let Some(info) = self.taken.pop_front() {
                self.pass_on(&info, program, ended.is_some());
                self.take();
            }
            self.send_what_is_due(program);
            while let Some(change) = change_of(program).filter(|_| ended.is_none()) {
                match change {
                    Change::Stopped(signal) => {
                        terminal.around(program, || self.stop_by(signal));
                    }
                    Change::Continued => {}
                    Change::Ended(status) => {
                        self.line.say(Message::Ended { status, elapsed: started.elapsed(), cpu: processors::own() });
                        ended = Some(Ended { status, at: Instant::now(), is_done: false });
                        terminal.take_back(program);
                        self.held.clear();
                    }
                }
            }
            if let Some(ended) = &mut ended {
                self.hurry(ended);
            }
            if let Some(Change::Ended(status)) = self.companion.and_then(change_of) {
                match libc::WIFEXITED(status) {
                    true => self.companion_status = libc::WEXITSTATUS(status),
                    false => self.lose(format!("was killed (signal {})", libc::WTERMSIG(status))),
                }
                self.part();
            }
            reap_others([Some(program).filter(|_| ended.is_none()), self.companion]);
            if let (Some(Ended { status, .. }), None) = (&ended, self.companion) {
                self.say_what_is_lost();
                end_as(*status, self.companion_status);
            }
        }
    }

    /// There is no companion any more. Programs that post, or wait for an answer, do so in vain.
    fn part(&mut self) {
        self.companion = None;
        if let Some(shared) = self.region {
            shared.region().close();
        }
    }

    /// Whether the companion is there, and has nothing to write that the program's end waits for.
    fn is_hurried(&self) -> bool {
        self.companion.is_some() && !self.is_awaited()
    }

    /// Whether the companion is to leave something that somebody will look for.
    fn is_awaited(&self) -> bool {
        self.streams.file || self.streams.output
    }

    /// Hears whether the companion is done, and does without it if that takes too long.
    fn hurry(&mut self, ended: &mut Ended) {
        while let Some(companion) = self.companion.filter(|_| self.is_hurried() && !ended.is_done) {
            match self.line.hear(Some(Duration::ZERO)) {
                // An answer that came too late.
                Ok(_) => {}
                Err(Silence::Gone) => ended.is_done = true,
                Err(Silence::Yet) if ended.at.elapsed() < DONE_WITHIN => return,
                Err(Silence::Yet) => {
                    // Not waited for: it may wait for a disk.
                    send(companion, libc::SIGKILL);
                    self.lose("did not come to an end after the program".to_owned());
                    self.part();
                }
            }
        }
    }

    /// The companion can say no more: what it was asked for, nobody is to take for told.
    fn lose(&mut self, why: String) {
        self.companion_status = if self.is_awaited() { i32::from(OWN_FAILURE) } else { 0 };
        self.lost = Some(why);
    }

    /// At the end: until then nothing may hold us up.
    fn say_what_is_lost(&self) {
        let Some(why) = self.lost.as_ref().filter(|_| self.streams.error) else { return };
        let lost = if self.is_awaited() { ", and what was asked for is not written" } else { "" };
        say(format!("the supervisor {why}: nothing is known of this run{lost}"));
    }

    fn take(&mut self) {
        self.taken.extend(std::iter::from_fn(|| self.signals.next()));
    }

    /// Sends a signal on to the program, unless it has it already.
    fn pass_on(&mut self, info: &libc::signalfd_siginfo, program: i32, ended: bool) {
        let signal = info.ssi_signo as i32;
        let of_child = signal == libc::SIGCHLD && info.ssi_code > libc::SI_USER;
        // It wakes us, as below; that is not meant for the program.
        let of_companion = info.ssi_code == libc::SI_USER && Some(info.ssi_pid as i32) == self.companion;
        if of_child || of_companion {
            return;
        }
        // What comes after the program's end is for whoever we still wait for, who attends to nobody any
        // more.
        if ended {
            self.companion.into_iter().for_each(|companion| send(companion, signal));
            return;
        }
        let has_reached_group = self.has_reached_group(signal);
        if signal >= QUEUED || IN_ORDER.contains(&signal) || self.companion.is_none() {
            let receiver = if has_reached_group { leaving::receiver(program, info, false) } else { Some(program) };
            receiver.into_iter().for_each(|it| send(it, signal));
            return;
        }
        let before = self.held.extract_if(.., |(held, _)| *held == signal).next();
        if has_reached_group {
            self.take();
            // The group's may have been this one, and the other one ours.
            let other = self.taken.iter().position(|info| info.ssi_signo as i32 == signal);
            if let Some(at) = other {
                self.taken.remove(at);
                self.has_reached_group(signal);
            }
            let receiver = leaving::receiver(program, info, before.is_some() || other.is_some());
            receiver.into_iter().for_each(|it| send(it, signal));
            return;
        }
        // Two for us alone are two.
        if before.is_some() {
            send(program, signal);
        }
        self.held.push((signal, Instant::now() + SOON));
    }

    /// What was held back and proved to be for us alone is sent on.
    fn send_what_is_due(&mut self, program: i32) {
        let now = Instant::now();
        for (signal, _) in self.held.extract_if(.., |(_, due)| *due <= now) {
            send(program, signal);
        }
    }

    fn has_reached_group(&mut self, signal: i32) -> bool {
        if self.companion.is_none() {
            return false;
        }
        // The kernel signals a group under a lock that this call takes, although it changes nothing: who
        // signals the group has reached all of it when we are through.
        // SAFETY: takes no pointers.
        unsafe { libc::setpgid(0, libc::getpgrp()) };
        let more = self.taken.iter().any(|info| info.ssi_signo as i32 == signal) || is_pending(signal);
        self.line.say(Message::Asked { signal, more });
        let asked = Instant::now();
        loop {
            wait_for([self.line.fd(), self.signals.fd()], Some(PATIENCE.saturating_sub(asked.elapsed())));
            self.take();
            match self.line.hear(Some(Duration::ZERO)) {
                Ok(Message::Answered { signal: about, group }) if about == signal => return group,
                // An answer that came too late.
                Ok(_) => {}
                Err(Silence::Yet) if asked.elapsed() < PATIENCE => {}
                Err(_) => return false,
            }
        }
    }

    /// Stops as the program did: whoever waits for us is told the same signal.
    fn stop_by(&self, signal: i32) {
        self.line.say(Message::Stopping);
        // SAFETY: the sets and the actions are filled in before they are read; no handler is installed.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, signal);
            let action = libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            // We stop here, or above if nothing can block it.
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            libc::signal(signal, action);
        }
        self.line.say(Message::GoingOn);
    }
}

/// Sends a signal to a child of ours that was not waited for yet, or to the group that it leads, by its
/// number below 0.
fn send(child: i32, signal: i32) {
    // SAFETY: takes no pointers.
    unsafe { libc::kill(child, signal) };
}

/// Waits until there is something to read, but no longer than this.
pub(super) fn wait_for<const N: usize>(fds: [RawFd; N], patience: Option<Duration>) {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let milliseconds = patience.map_or(-1, |time| time.as_millis() as libc::c_int + 1);
    // SAFETY: the structures live through the call.
    unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, milliseconds) };
}

/// Whether another one of these waits to be taken.
fn is_pending(signal: i32) -> bool {
    // SAFETY: the set is filled in before it is read.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut pending);
        libc::sigismember(&raw const pending, signal) == 1
    }
}

/// Waits for whoever has ended but these two: where we are process 1, as in a container, or were made
/// a reaper of orphans, they are ours.
fn reap_others(known: [Option<i32>; 2]) {
    loop {
        // SAFETY: the structure is plain data, and written to.
        let ended = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT);
            info.si_pid()
        };
        // Of those two the first wakes us again.
        if ended == 0 || known.contains(&Some(ended)) {
            return;
        }
        // SAFETY: no pointers but a null one.
        unsafe { libc::waitpid(ended, std::ptr::null_mut(), libc::WNOHANG) };
    }
}

fn change_of(child: i32) -> Option<Change> {
    let mut status = 0;
    // SAFETY: the status is written to.
    let changed = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED) };
    if changed != child {
        return None;
    }
    Some(match status {
        status if libc::WIFSTOPPED(status) => Change::Stopped(libc::WSTOPSIG(status)),
        status if libc::WIFCONTINUED(status) => Change::Continued,
        status => Change::Ended(status),
    })
}
