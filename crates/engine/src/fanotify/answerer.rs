//! The thread that answers. Everybody on the recorded file systems waits for it, so it waits for nobody.
//!
//! It looks at those who wait while they do (afterwards they may be gone), lets them go on, and only then finds names
//! and hands over what it saw. If nobody takes that, it is lost, and counted. It touches no file that it could be asked about:
//! not even standard error, which may be one.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::call::{self, Span};
use super::connector::Connector;
use super::family::Family;
use super::group::{Access, Buffer, Group};
use super::{Counts, Transfer};

/// See above.
pub struct Answerer {
    pub group: Group,
    pub connector: Connector,
    pub family: Family,
    pub begun: Instant,
    pub transfers: SyncSender<Transfer>,
    pub counts: Arc<Counts>,
    /// At its end we end.
    pub stopped: UnixStream,
}

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
        // SAFETY: takes no pointers; 0 is this thread alone. It is quicker to answer; without it, it answers all the same.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
        let mut buffer = Buffer::new();
        while !self.family.is_gone() && !self.wait() {
            let accesses: Vec<Access<'_>> = self.group.take(&mut buffer)?.collect();
            // Who waits was born before that.
            while let Some(change) = self.connector.next() {
                if change == super::connector::Change::Missed {
                    self.counts.births_missed.fetch_add(1, Relaxed);
                }
                self.family.take(change);
            }
            let mut seen = Vec::with_capacity(accesses.len());
            for mut access in accesses {
                let what = see(&mut self.family, self.begun, &access);
                access.answer();
                if access.file.is_none() {
                    self.counts.refused.fetch_add(1, Relaxed);
                }
                seen.extend(what.map(|what| (access, what)));
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

    /// Sleeps until something is to be done; whether that is to stop.
    fn wait(&self) -> bool {
        let polled = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut all = [polled(self.group.fd()), polled(self.connector.fd()), polled(self.stopped.as_raw_fd())];
        // SAFETY: the structures live through the call. Where it fails, we look once more than needed.
        unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, -1) };
        all[2].revents != 0
    }
}

fn see(family: &mut Family, begun: Instant, access: &Access<'_>) -> Option<Seen> {
    let process = family.process_of(access.thread)?;
    let span = call::span(access.thread, access.file.as_ref()?, access.range?)?;
    Some(Seen { time: begun.elapsed(), process, span })
}

/// The file's name; one that was deleted keeps the name it had.
fn name(access: &Access<'_>) -> Option<PathBuf> {
    let name = std::fs::read_link(format!("/proc/self/fd/{}", access.file.as_ref()?.as_raw_fd())).ok()?;
    let deleted = name.to_str().and_then(|name| name.strip_suffix(" (deleted)")).map(PathBuf::from);
    Some(deleted.unwrap_or(name))
}
