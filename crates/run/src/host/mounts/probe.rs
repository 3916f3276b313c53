//! What a foreign mount does with a file's bytes when the file is opened again: asked of one small
//! file, by opening it twice.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::super::open::{Opened, open_to_read};
use super::Kind;
use crate::names::Identity;

/// Files larger than this are not asked: some mounts are asked more than once, and what is read may
/// be paid for.
pub const PROBE_BYTES_MAX: u64 = 16 << 10;
/// A first read that is quicker came from somewhere near, and the second cannot be much quicker.
const SLOW_MIN: Duration = Duration::from_millis(1);
/// The second read must be so much quicker than the first to have come from somewhere near.
pub const NEARER_MIN: u32 = 4;
/// How long the daemon is given to forget the file after it was closed.
const PAUSE: Duration = Duration::from_millis(5);

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// A file's pages are still in memory when it is opened again.
    PagesStay,
    /// They are gone, but the daemon has the bytes itself.
    DaemonKeeps,
    /// They are gone, and have to be brought again from where they came.
    Nothing,
    /// All of it was quick: this file says nothing.
    Unclear,
}

/// Reads the file, opens it anew, and sees what that costs. Where anything is gained here at all,
/// what was read is not lost. Returns also how long a read takes of what is not near.
pub fn probe(path: &Path, identity: Identity) -> io::Result<(Finding, Duration)> {
    let open = || Ok::<_, io::Error>(Opened::new(open_to_read(path, Some(identity))?, Kind::Foreign));
    let timed = |opened: &Opened| {
        let begun = Instant::now();
        let mut buffer = vec![0; PROBE_BYTES_MAX as usize];
        opened.file.read_at(&mut buffer, 0).map(|_| begun.elapsed())
    };
    let first = timed(&open()?)?;
    thread::sleep(PAUSE.max(first.min(20 * PAUSE)));
    let again = open()?;
    let stays = again.residency.pages(&again.file, 0, 1);
    let second = timed(&again)?;
    Ok((judge(stays.ok().map(|pages| pages > 0), first, second), first))
}

/// From whether pages stayed, where the kernel says so, and how long the two reads took.
fn judge(stays: Option<bool>, first: Duration, second: Duration) -> Finding {
    match stays {
        Some(true) => Finding::PagesStay,
        _ if first < SLOW_MIN => Finding::Unclear,
        _ if second * NEARER_MIN < first => Finding::DaemonKeeps,
        _ => Finding::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_reads_say() {
        let (quick, slow) = (Duration::from_micros(200), Duration::from_millis(20));
        assert_eq!(judge(Some(true), quick, quick), Finding::PagesStay);
        assert_eq!(judge(Some(false), slow, quick), Finding::DaemonKeeps);
        assert_eq!(judge(Some(false), slow, slow), Finding::Nothing);
        assert_eq!(judge(Some(false), quick, quick), Finding::Unclear);
        assert_eq!(judge(None, slow, quick), Finding::DaemonKeeps, "where the kernel does not say, time does");
        assert_eq!(judge(None, slow, slow), Finding::Nothing);
    }
}
