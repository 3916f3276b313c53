//! What any process reads, as the kernel tells root: static binaries, other users' programs,
//! mappings.
//!
//! Linux 6.14 and later ask before each access to a file's bytes (fanotify's FAN_PRE_ACCESS), and
//! let the program wait for the answer. It was made for storage that fetches a file's contents when
//! they are wanted; we answer at once and write down what was asked. Only ext4, XFS and btrfs ask.
//!
//! What a read or a write of it means:
//!
//! - **A read, cached or not.** A block that is read again is asked about again.
//! - **In whole pages**, for the kernel rounds, and not beyond the end of the file. Reads that
//!   begin at its end are left out.
//! - **A mapping is one read of all that is mapped**, when it is mapped; so is what a program is
//!   loaded from. Page faults are not told: how much of it is touched, and when, is not known.
//! - **Writes are told apart** by the system call.
//! - **Files opened before are not seen**: whether a descriptor's reads are asked about is settled
//!   when it is opened.
//! - **How long it took is not known**, nor from where in the program it came.

mod access;
mod answerer;
mod call;
mod connector;
mod family;
mod places;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::ring::{Read, Seen};
use super::{Sighting, Source};
use crate::child::DescriptorLimit;
use crate::names::Names;
use crate::process_stat::{self, numbered};
use crate::programs::ProgramId;
use access::Accesses;
use answerer::Answerer;
use connector::Connector;
use family::Family;

/// Transfers that wait to be taken; more are lost. Some 12 MiB.
pub const QUEUED_MAX: usize = 65_536;

/// Descriptors we need at most: 340 for those who wait, 128 for their calls, and our own.
const DESCRIPTORS_MIN: u64 = 1024;

/// Whose transfers are recorded.
pub enum Whose {
    /// These processes' and their descendants', until all have ended; on all local file systems.
    Processes(Vec<u32>),
    /// Everybody's but ours, on the file systems that hold these paths, or on all local ones if
    /// none is named.
    Everybody(Vec<PathBuf>),
}

/// Somebody read, mapped or wrote a part of a file.
struct Transfer {
    write: bool,
    /// When it began, since the recording did.
    time: Duration,
    process: u32,
    thread: u32,
    /// The file's path, as far as we can see its mount.
    path: PathBuf,
    offset: u64,
    bytes: u64,
}

/// What did not go as it should.
#[derive(Debug, Default)]
pub struct Counts {
    /// Transfers that were not recorded, because those before them were not taken in time.
    pub lost: AtomicU64,
    /// Transfers of files beyond those that are followed by their names.
    pub unnamed: AtomicU64,
    /// Accesses the kernel refused by itself, because it could not open the file for us.
    pub refused: AtomicU64,
    /// How often births of processes were missed. Who was born then may be left out.
    pub births_missed: AtomicU64,
}

/// A recording under way.
pub struct Recorder {
    transfers: Receiver<Transfer>,
    is_over: bool,
    /// What did not go as it should.
    pub counts: Arc<Counts>,
    /// Where it records.
    pub places: Vec<PathBuf>,
    /// What the processes had open before, so that reading it is not seen.
    pub open_before: Vec<PathBuf>,
    stopped: Arc<AtomicBool>,
    answerer: JoinHandle<io::Result<()>>,
}

impl Recorder {
    /// Begins.
    ///
    /// # Errors
    /// If there is no such process, or the kernel does not tell us: what is needed for that.
    pub fn start(whose: Whose) -> Result<Self, String> {
        // Where we have no room for a file, the kernel refuses the access.
        let ours = DescriptorLimit::raise().ours();
        if ours < DESCRIPTORS_MIN {
            let remedy = format!("allow {DESCRIPTORS_MIN} ('ulimit -Hn {DESCRIPTORS_MIN}')");
            return Err(format!("{ours} descriptors are too few to record: {remedy}"));
        }
        let accesses = Arc::new(Accesses::new().map_err(|error| unavailable(&error))?);
        let connector = Connector::new().map_err(|error| {
            let needed = "it does so outside of containers, if built with CONFIG_PROC_EVENTS";
            format!("the kernel does not tell which processes begin and end ({error}); {needed}")
        })?;
        let family = match &whose {
            Whose::Processes(processes) => family_of(processes)?,
            Whose::Everybody(_) => Family::everybody(),
        };
        let processes: Vec<u32> = family.processes().collect();
        let (transfers, taken) = sync_channel(QUEUED_MAX);
        let (counts, stopped) = (Arc::new(Counts::default()), Arc::new(AtomicBool::new(false)));
        let answerer = Answerer {
            accesses: Arc::clone(&accesses),
            connector,
            family,
            begun: Instant::now(),
            transfers,
            counts: Arc::clone(&counts),
            stopped: Arc::clone(&stopped),
        };
        let thread = std::thread::Builder::new().name("answerer".to_owned());
        let answerer = thread.spawn(|| answerer.run()).map_err(|error| format!("cannot record: {error}"))?;
        let mut recorder = Recorder {
            transfers: taken,
            is_over: false,
            counts,
            places: Vec::new(),
            open_before: Vec::new(),
            stopped,
            answerer,
        };
        // From the first mark on somebody may wait, even for us to find the second.
        let marked = match whose {
            Whose::Everybody(places) if !places.is_empty() => mark(&accesses, places),
            _ => mark_local(&accesses),
        };
        match marked {
            Ok(places) => {
                recorder.open_before = open_files(&processes, &places);
                recorder.places = places;
                Ok(recorder)
            }
            Err(error) => {
                recorder.stop();
                recorder.finish().and(Err(error))
            }
        }
    }

    /// Lets everybody go on as before; what was seen until then can still be taken.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Whether all that was seen has been taken, and nothing more will come.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Waits for the end. To be called when there are no more transfers to take.
    ///
    /// # Errors
    /// If it ended before it should.
    pub fn finish(self) -> Result<(), String> {
        let ended = self.answerer.join().map_err(|_| "the thread that answers the kernel has failed".to_owned())?;
        ended.map_err(|error| format!("the kernel does not tell any more who reads: {error}"))
    }
}

/// Times are since the recording began. Who waits for a transfer here would have to be woken for
/// it, which costs those who read some microseconds each; better look from time to time.
impl Source for Recorder {
    fn next(&mut self, names: &mut Names, room: &mut usize) -> Option<Sighting> {
        while *room > 0 {
            let Transfer { write, time, process, thread, path, offset, bytes } = match self.transfers.try_recv() {
                Ok(transfer) => transfer,
                Err(error) => {
                    self.is_over = error == TryRecvError::Disconnected;
                    return None;
                }
            };
            *room -= 1;
            let Some(file) = names.of_path(&path) else {
                self.counts.unnamed.fetch_add(1, Relaxed);
                continue;
            };
            let seen = match write {
                true => Seen::Wrote { file, offset, bytes, site: 0, is_past_cache: false },
                false => {
                    let (descriptor, is_past_cache) = ((None, -1, 0), false);
                    Seen::Read(Read { file, offset, bytes, ticks: 0, site: 0, descriptor, is_past_cache })
                }
            };
            return Some(Sighting { process, ordinal: 0, program: ProgramId::default(), thread, time, seen });
        }
        None
    }
}

/// What is needed where the kernel does not give us a group.
fn unavailable(error: &io::Error) -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let remedy = "'foresee record -o TRACE -- CMD' records what it starts itself, on any kernel, without root";
    match error.raw_os_error() {
        Some(libc::EPERM) => format!("what other processes read is told to root alone (CAP_SYS_ADMIN); {remedy}"),
        Some(libc::EINVAL | libc::ENOSYS) => {
            let needed = "it needs Linux 6.14 or later, built with CONFIG_FANOTIFY_ACCESS_PERMISSIONS";
            format!("Linux {} does not tell what is read: {needed}; {remedy}", release.trim())
        }
        _ => format!("the kernel does not tell what is read (fanotify): {error}"),
    }
}

fn family_of(processes: &[u32]) -> Result<Family, String> {
    for &process in processes {
        match process_stat::process_of(process) {
            Some(whole) if whole == process => {}
            Some(whole) => return Err(format!("--pid {process}: is a thread of process {whole}; name that")),
            None => {
                return Err(format!("--pid {process}: there is no such process; 'pgrep NAME' finds one by its name"));
            }
        }
    }
    let family = Family::of(processes);
    if family.is_gone() { Err("--pid: the processes have ended".to_owned()) } else { Ok(family) }
}

fn mark_local(accesses: &Accesses) -> Result<Vec<PathBuf>, String> {
    let mut marked = Vec::new();
    for place in places::local() {
        match accesses.mark(&place) {
            Ok(()) => marked.push(place),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Err(unavailable(&error)),
            // Not all file systems ask, and a place we cannot reach need not be recorded.
            Err(_) => {}
        }
    }
    match marked.is_empty() {
        true => Err("no file system is mounted here that tells what is read: ext4, XFS and btrfs do".to_owned()),
        false => Ok(marked),
    }
}

fn mark(accesses: &Accesses, places: Vec<PathBuf>) -> Result<Vec<PathBuf>, String> {
    for place in &places {
        accesses.mark(place).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => unavailable(&error),
            Some(libc::EOPNOTSUPP) => {
                format!(
                    "--system {}: its file system does not tell what is read; ext4, XFS and btrfs do",
                    place.display()
                )
            }
            _ => format!("--system {}: {error}", place.display()),
        })?;
    }
    Ok(places)
}

/// The files on these places' file systems that these processes have open.
fn open_files(processes: &[u32], places: &[PathBuf]) -> Vec<PathBuf> {
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev());
    let devices: HashSet<u64> = places.iter().flat_map(|place| device(place)).collect();
    let mut open = HashSet::new();
    for process in processes {
        for number in numbered::<u32>(&format!("/proc/{process}/fd")) {
            let descriptor = format!("/proc/{process}/fd/{number}");
            let is_there = |metadata: &fs::Metadata| metadata.is_file() && devices.contains(&metadata.dev());
            if fs::metadata(&descriptor).is_ok_and(|metadata| is_there(&metadata)) {
                open.extend(fs::read_link(descriptor));
            }
        }
    }
    let mut open: Vec<PathBuf> = open.into_iter().collect();
    open.sort();
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_taken_in_order_to_the_end() {
        let (transfers, taken) = sync_channel(2);
        let mut recorder = Recorder {
            transfers: taken,
            is_over: false,
            counts: Arc::default(),
            places: Vec::new(),
            open_before: Vec::new(),
            stopped: Arc::default(),
            answerer: std::thread::spawn(|| Ok(())),
        };
        let transfer = |write, path: &str| Transfer {
            write,
            time: Duration::from_secs(1),
            process: 7,
            thread: 8,
            path: path.into(),
            offset: 4096,
            bytes: 100,
        };
        let mut names = Names::default();
        assert!(recorder.next(&mut names, &mut 9).is_none() && !recorder.is_over(), "more may come");
        transfers.send(transfer(false, "/a")).unwrap();
        transfers.send(transfer(true, "/b")).unwrap();
        drop(transfers);
        let mut room = 1;
        let read = recorder.next(&mut names, &mut room).unwrap();
        assert_eq!((read.process, read.thread, read.time, room), (7, 8, Duration::from_secs(1), 0));
        assert!(matches!(read.seen, Seen::Read(Read { file, offset: 4096, bytes: 100, .. })
            if names.path(file) == Path::new("/a")));
        assert!(recorder.next(&mut names, &mut room).is_none() && !recorder.is_over(), "there is no room");
        let write = recorder.next(&mut names, &mut 1).unwrap();
        assert!(matches!(write.seen, Seen::Wrote { file, .. } if names.path(file) == Path::new("/b")));
        assert!(recorder.next(&mut names, &mut 1).is_none() && recorder.is_over());
    }
}
