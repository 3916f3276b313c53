//! Answers that the kernel waits for, and who waits for them.
//!
//! The kernel lets nobody go who waits for us, not even by SIGKILL: it asks us to say that we were
//! interrupted, by a request that the crate which speaks with it does not hand on. So who waits
//! longer than [`LATE`] is looked at now and then. If a signal waits there that will end it, it is told
//! that it was interrupted, and what is asked of the store goes on for nobody.
//!
//! Signals that a program catches are another matter: it does not expect to be interrupted where it
//! opens a file, and one that reads a mapped file dies of it. So they are heeded only where somebody
//! wants it to end (SIGINT, SIGTERM), for long has waited in vain, and does not read.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use foresee_run::pool::lock;
use fuser::{Errno, ReplyAttr, ReplyData, ReplyDirectoryPlus, ReplyEntry, ReplyOpen, ReplyXattr};

/// Who waits longer is looked at, and so often: a look takes some 20 us.
const LATE: Duration = Duration::from_millis(500);
const LOOKS_EVERY: Duration = Duration::from_millis(250);

/// Who waits longer than this for a name is told so if it was asked to end, and catches that.
const IN_VAIN: Duration = Duration::from_secs(5);

/// Signals that ask a program to end.
const TO_END: [i32; 2] = [libc::SIGINT, libc::SIGTERM];
/// Signals that end nothing by themselves.
const HARMLESS: [i32; 8] = [
    libc::SIGCHLD,
    libc::SIGCONT,
    libc::SIGURG,
    libc::SIGWINCH,
    libc::SIGSTOP,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
];

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// What a name leads to.
    Name,
    /// Bytes.
    Bytes,
}

/// What the kernel takes as an answer.
pub trait Reply: Send + 'static {
    /// This error.
    fn refuse(self, errno: Errno);
}

macro_rules! replies {
    ($($reply:ty),*) => { $(impl Reply for $reply {
        fn refuse(self, errno: Errno) {
            self.error(errno);
        }
    })* };
}

replies!(ReplyAttr, ReplyData, ReplyDirectoryPlus, ReplyEntry, ReplyOpen, ReplyXattr);

/// An answer that is given once, by whoever is first.
pub struct Owed<R> {
    reply: Arc<Mutex<Option<R>>>,
    watch: Arc<Watch>,
    number: u64,
}

impl<R> Owed<R> {
    /// Whether nobody waits for it any more.
    pub fn is_off(&self) -> bool {
        lock(&self.reply).is_none()
    }

    /// Gives it. Returns whether it was still waited for.
    pub fn give(self, answer: impl FnOnce(R)) -> bool {
        let reply = lock(&self.reply).take();
        reply.map(answer).is_some()
    }
}

impl<R> Drop for Owed<R> {
    fn drop(&mut self) {
        lock(&self.watch.state).waiting.remove(&self.number);
    }
}

trait Refusable: Send + Sync {
    fn interrupt(&self);
}

impl<R: Reply> Refusable for Mutex<Option<R>> {
    fn interrupt(&self) {
        if let Some(reply) = lock(self).take() {
            reply.refuse(Errno::EINTR);
        }
    }
}

struct Waiting {
    since: Instant,
    /// The thread that asked.
    thread: u32,
    asked: Asked,
    reply: Weak<dyn Refusable>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, Waiting>,
    /// Nobody waited when it was looked last: who waits next says so.
    is_idle: bool,
    has_ended: bool,
}

/// All who wait.
#[derive(Default)]
pub struct Watch {
    state: Mutex<State>,
    somebody: Condvar,
    numbers: AtomicU64,
}

impl Watch {
    /// Begins to look after them, until it is [ended](Watch::end).
    ///
    /// # Errors
    /// If the system has no threads.
    pub fn start() -> std::io::Result<Arc<Watch>> {
        let watch = Arc::new(Watch::default());
        let looking = Arc::clone(&watch);
        thread::Builder::new().name("foresee-signals".into()).spawn(move || looking.look_on())?;
        Ok(watch)
    }

    /// No more.
    pub fn end(&self) {
        lock(&self.state).has_ended = true;
        self.somebody.notify_all();
    }

    /// This thread asked for something, and waits for an answer.
    pub fn owe<R: Reply>(self: &Arc<Self>, thread: u32, asked: Asked, reply: R) -> Owed<R> {
        let (reply, number) = (Arc::new(Mutex::new(Some(reply))), self.numbers.fetch_add(1, Relaxed));
        let refusable: Arc<dyn Refusable> = Arc::clone(&reply) as _;
        let waiting = Waiting { since: Instant::now(), thread, asked, reply: Arc::downgrade(&refusable) };
        let mut state = lock(&self.state);
        state.waiting.insert(number, waiting);
        if std::mem::take(&mut state.is_idle) {
            self.somebody.notify_all();
        }
        drop(state);
        Owed { reply, watch: Arc::clone(self), number }
    }

    fn look_on(&self) {
        let mut state = lock(&self.state);
        while !state.has_ended {
            if state.waiting.is_empty() {
                state.is_idle = true;
                state = self.somebody.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let is_late = |it: &&Waiting| it.since.elapsed() >= LATE;
            let in_vain = |it: &Waiting| it.asked == Asked::Name && it.since.elapsed() >= IN_VAIN;
            let late = state.waiting.values().filter(is_late);
            let late: Vec<_> = late.map(|it| (it.thread, in_vain(it), Weak::clone(&it.reply))).collect();
            drop(state);
            late.iter().for_each(|(thread, in_vain, reply)| interrupt(*thread, *in_vain, reply));
            state = lock(&self.state);
            let waited = self.somebody.wait_timeout(state, LOOKS_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn interrupt(thread: u32, in_vain: bool, reply: &Weak<dyn Refusable>) {
    if let Ok(status) = fs::read_to_string(format!("/proc/{thread}/status"))
        && is_to_end(&status, in_vain)
        && let Some(reply) = reply.upgrade()
    {
        reply.interrupt();
    }
}

/// Whether a signal waits that ends who has this status; or asks it to, where that is heeded.
fn is_to_end(status: &str, heeds_caught: bool) -> bool {
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(line.trim_start_matches(':').trim(), 16).ok()
    };
    let sets = || Some([set("SigPnd")?, set("ShdPnd")?, set("SigBlk")?, set("SigIgn")?, set("SigCgt")?]);
    let Some([own, shared, blocked, ignored, caught]) = sets() else { return false };
    let bits = |signals: &[i32]| signals.iter().fold(0, |bits, signal| bits | 1_u64 << (signal - 1));
    let delivered = (own | shared) & !blocked & !ignored;
    let asking = if heeds_caught { bits(&TO_END) } else { 0 };
    delivered & (asking | !caught & !bits(&HARMLESS)) != 0
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    fn status(pending: &[i32], blocked: &[i32], ignored: &[i32], caught: &[i32]) -> String {
        let bits = |signals: &[i32]| signals.iter().fold(0, |bits, signal| bits | 1_u64 << (signal - 1));
        let sets = [("SigPnd", 0), ("ShdPnd", bits(pending)), ("SigBlk", bits(blocked)), ("SigIgn", bits(ignored))];
        let lines = sets.into_iter().chain([("SigCgt", bits(caught))]);
        lines.map(|(name, set)| format!("{name}:\t{set:016x}\n")).collect()
    }

    #[test]
    fn only_who_is_to_end_is_interrupted() {
        let (kill, int, alarm, child) = (libc::SIGKILL, libc::SIGINT, libc::SIGALRM, libc::SIGCHLD);
        for (pending, blocked, ignored, caught, expected) in [
            (&[kill][..], &[][..], &[][..], &[][..], [true; 2]),
            (&[int], &[], &[], &[], [true; 2]),
            (&[int], &[], &[], &[int], [false, true]),
            (&[int], &[int], &[], &[int], [false; 2]),
            (&[int], &[], &[int], &[], [false; 2]),
            (&[alarm], &[], &[], &[], [true; 2]),
            (&[alarm], &[], &[], &[alarm], [false; 2]),
            (&[child, libc::SIGTSTP], &[], &[], &[], [false; 2]),
            (&[], &[], &[], &[], [false; 2]),
        ] {
            let status = status(pending, blocked, ignored, caught);
            assert_eq!([false, true].map(|heeds_caught| is_to_end(&status, heeds_caught)), expected, "{status}");
        }
        assert!(!is_to_end("Name:\tcat\n", true));
        assert!(!is_to_end(&fs::read_to_string("/proc/self/status").unwrap(), true));
    }

    struct Told(Sender<i32>);

    impl Reply for Told {
        fn refuse(self, errno: Errno) {
            let _ = self.0.send(errno.code());
        }
    }

    #[test]
    fn an_answer_is_given_once_by_whoever_is_first() {
        let watch = Watch::start().unwrap();
        let (tells, told) = channel();
        let owed = watch.owe(std::process::id(), Asked::Name, Told(tells.clone()));
        assert!(told.recv_timeout(2 * LATE).is_err(), "no signal waits");
        assert!(owed.give(|reply| reply.0.send(0).unwrap()));
        assert_eq!(told.recv().unwrap(), 0);
        let owed = watch.owe(1, Asked::Bytes, Told(tells));
        lock(&watch.state).waiting.values().for_each(|it| it.reply.upgrade().unwrap().interrupt());
        assert_eq!(told.recv().unwrap(), libc::EINTR);
        assert!(!owed.give(|_| panic!("nobody waits")));
        assert!(lock(&watch.state).waiting.is_empty());
        watch.end();
    }
}
