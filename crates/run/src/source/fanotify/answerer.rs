//! The thread that answers. Everybody on the recorded file systems waits for it, so it waits for
//! nobody.
//!
//! It looks at those who wait while they do (afterwards they may be gone), lets them go on, and
//! only then finds names and hands over what it saw. If nobody takes that, it is lost, and counted.
//! It touches no file that it could be asked about: not even standard error, which may be one.

use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::access::{Access, Accesses};
use super::call::{self, Calls, Span};
use super::connector::{Change, Connector};
use super::family::Family;
use super::{Counts, Transfer};
use crate::source::group::Buffer;

/// See above.
pub struct Answerer {
    /// Nobody else may keep it: at its end all who wait go on.
    pub accesses: Arc<Accesses>,
    pub connector: Connector,
    pub family: Family,
    pub begun: Instant,
    pub transfers: SyncSender<Transfer>,
    pub counts: Arc<Counts>,
    /// Whether to stop.
    pub stopped: Arc<AtomicBool>,
}

/// So long nobody looks whether to stop, if nothing else is to be done.
const STOPS_WITHIN: Duration = Duration::from_millis(50);

/// What was seen of somebody while he waited.
struct Seen {
    time: Duration,
    process: u32,
    span: Span,
}

impl Answerer {
    /// Answers until the family is gone, or we are to stop.
    ///
    /// # Errors
    /// If the kernel does not tell any more who waits.
    pub fn run(mut self) -> io::Result<()> {
        let (mut buffer, mut calls) = (Buffer::new(), Calls::default());
        while !self.family.is_gone() && !self.stopped.load(Relaxed) {
            self.wait();
            let accesses: Vec<Access<'_>> = self.accesses.take(&mut buffer)?;
            // Who waits was born before that.
            while let Some(change) = self.connector.next() {
                if change == Change::Missed {
                    self.counts.births_missed.fetch_add(1, Relaxed);
                }
                self.family.take(change);
            }
            // Who is not recorded goes on at once. The others go on together: each answer wakes all who wait,
            // who would each time look for theirs in vain.
            let mut seen = Vec::with_capacity(accesses.len());
            for access in accesses {
                if access.file.is_none() {
                    self.counts.refused.fetch_add(1, Relaxed);
                }
                let what = see(&mut self.family, &mut calls, self.begun, &access);
                seen.extend(what.map(|what| (access, what)));
            }
            for (access, _) in &mut seen {
                access.answer();
            }
            for (access, Seen { time, process, span: Span { write, offset, bytes } }) in seen {
                let Some(path) = name(&access) else { continue };
                let transfer = Transfer { write, time, process, thread: access.thread, path, offset, bytes };
                if self.transfers.try_send(transfer).is_err() {
                    self.counts.lost.fetch_add(1, Relaxed);
                }
            }
        }
        Ok(())
    }

    /// Sleeps until something is to be done.
    fn wait(&self) {
        let polled = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut both = [polled(self.accesses.fd()), polled(self.connector.fd())];
        // SAFETY: the structures live through the call. Where it fails, we look once more than needed.
        unsafe { libc::poll(both.as_mut_ptr(), both.len() as libc::nfds_t, STOPS_WITHIN.as_millis() as i32) };
    }
}

fn see(family: &mut Family, calls: &mut Calls, begun: Instant, access: &Access<'_>) -> Option<Seen> {
    let process = family.process_of(access.thread)?;
    let span = call::span(calls, access.thread, access.file.as_ref()?, access.range?)?;
    Some(Seen { time: begun.elapsed(), process, span })
}

/// The file's name; one that was deleted keeps the name it had.
fn name(access: &Access<'_>) -> Option<PathBuf> {
    let name = std::fs::read_link(format!("/proc/self/fd/{}", access.file.as_ref()?.as_raw_fd())).ok()?;
    let deleted = name.to_str().and_then(|name| name.strip_suffix(" (deleted)")).map(PathBuf::from);
    Some(deleted.unwrap_or(name))
}
