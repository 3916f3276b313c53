//! `foresee mount`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use foresee::Cache;
use foresee_fuse::{KIND, Log, Mounted, NOT_ANSWERED, Process, Shown, To, kind_at, log_file, serve};
use foresee_object::ObjectStore;
use foresee_run::host::Memory;
use foresee_run::say::say;
use foresee_run::status::Status;
use fuser::MountOption;

use crate::account::{Metrics, Reads, SocketFile, State};
use crate::addresses;
use crate::detach::Detached;
use crate::options::Mount;
use crate::tree::{Directory, Objects, Shape, Tree, room};
use crate::view::{REQUEST_BYTES_MAX, View, unusable_for_writing};

/// Threads that take requests; those that wait for a store are others.
const THREADS: usize = 2;
/// The memory for what is read, unless it was given: so much, or this part of what there is. As much
/// again may be names, connections, stacks and what is written, and programs need some.
const MEMORY_BYTES: u64 = 1 << 30;
const MEMORY_PART: u64 = 4;
const MEMORY_BYTES_MIN: u64 = 2 << 20;
/// This part of the memory is for answers on their way to the kernel.
const ANSWERS_PART: u64 = 16;
/// What is written may take as much as this part of the memory beside it; enough for one upload at
/// least.
const WRITTEN_PART: u64 = 4;
const WRITTEN_BYTES_MIN: u64 = 56 << 20;
/// How far the kernel reads ahead of a sequential reader, in several requests: what we have not
/// read ahead yet is asked for in time.
const READ_AHEAD_BYTES: u64 = 4 << 20;
/// What is longer is given back to the system when it is freed: each of the allocator's many heaps
/// would keep what answers took.
const KEPT_ALLOCATION_MAX: i32 = 128 << 10;
/// Each of those heaps takes 64 MiB of addresses, and there would be eight for each processor: where addresses
/// are limited there are so many.
const HEAPS: i32 = 2;
/// How often is looked whether somebody asks how it stands.
const LOOKS_EVERY: Duration = Duration::from_millis(200);
const STATUS_STACK_BYTES: usize = 128 << 10;

/// All buckets of one service.
type Service = fn() -> ObjectStore;
/// Stores by the scheme of their addresses, and whether they take objects.
const STORES: [(&str, Service, bool); 5] = [
    ("s3", ObjectStore::s3, true),
    ("gs", ObjectStore::gcs, true),
    ("az", ObjectStore::azure, true),
    ("http", ObjectStore::http, false),
    ("https", ObjectStore::https, false),
];
/// Who mounts is told if the store has not answered by then.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// Mounts it; returns the exit status.
pub fn mount(options: &Mount) -> Result<u8, String> {
    check_place(&options.dir, &options.source)?;
    // SAFETY: takes numbers, and there is one thread.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT_ALLOCATION_MAX) };
    let addresses = addresses::allowed();
    if addresses.is_some() {
        // SAFETY: as above.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, HEAPS) };
    }
    let log = log(options)?;
    let detached = options.detach.then(Detached::fork).transpose()?;
    let process = Process::prepare(log).map_err(|error| error.to_string())?;
    let mounted = mounted(options, addresses);
    if let Some(detached) = detached {
        detached.told(&mounted);
    }
    serve(mounted, &process, &options.command, |_| {
        let end = if options.detach { "foresee unmount" } else { "Ctrl-C" };
        log::info!("{}: {}, until {end}", options.dir.display(), options.source);
    })
    .inspect_err(|message| {
        if options.detach {
            log::error!("{message}");
        }
    })
}

/// In the background nobody sees what is said on standard error.
fn log(options: &Mount) -> Result<Log, String> {
    let to = match &options.log {
        Some(path) => log_file(path).map_err(|error| format!("{}: {error}", path.display()))?,
        None if options.detach => To::System,
        None => To::StandardError,
    };
    Ok(Log { level: options.log_level, to })
}

/// An empty directory, as what is in it would be covered, and none of what is shown: who serves it
/// would wait for himself.
fn check_place(dir: &Path, source: &str) -> Result<(), String> {
    let complain = |why: &str| Err(format!("{}: {why}", dir.display()));
    let path = fs::canonicalize(dir);
    if let (Ok(path), Ok(shown)) = (&path, fs::canonicalize(source))
        && path.starts_with(shown)
    {
        return complain(&format!("lies within {source}, which would contain itself: name a directory elsewhere"));
    }
    if path.is_ok_and(|path| kind_at(&path).is_ok_and(|kind| kind.as_deref() == Some(KIND))) {
        return complain(&format!(
            "a foresee shows something there already: 'foresee unmount {}' first",
            dir.display()
        ));
    }
    match fs::read_dir(dir).map(|mut names| names.next().is_some()) {
        Ok(true) => complain("is not empty: name an empty directory"),
        Ok(false) => Ok(()),
        Err(error) if error.raw_os_error() == Some(NOT_ANSWERED) => {
            complain(&format!("was left by a foresee that was killed: 'foresee unmount {}'", dir.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => complain("is not there: make it first"),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            complain("is no directory: name an empty directory")
        }
        Err(error) => complain(&error.to_string()),
    }
}

/// The mount, and the socket that tells of it, which is there as long.
struct Told {
    mounted: Mounted,
    _socket: Option<SocketFile>,
}

impl AsRef<Mounted> for Told {
    fn as_ref(&self) -> &Mounted {
        &self.mounted
    }
}

fn mounted(options: &Mount, addresses: Option<u64>) -> Result<Told, String> {
    let is_writable = is_writable(options);
    let bytes = memory_bytes(options.memory, Memory::find().cache_bytes(0), addresses, is_writable)?;
    let answer_bytes = (bytes / ANSWERS_PART).max(u64::from(REQUEST_BYTES_MAX));
    let memory = bytes.checked_sub(answer_bytes).filter(|&left| left >= answer_bytes);
    let memory = memory.ok_or_else(|| format!("a memory of {bytes} bytes is too little: 2 MiB is the least"))?;
    let mut builder = Cache::builder().memory(memory as usize);
    if let Some(policy) = &options.policy {
        builder = builder.policy(policy);
    }
    if let Some((path, bytes)) = &options.disk {
        builder = builder.disk(path, *bytes);
    }
    for (scheme, store, _) in STORES {
        builder = builder.store(scheme, Arc::new(store().deadline(options.deadline)));
    }
    let cache = builder.open().map_err(|error| error.to_string())?;
    options.disk.iter().for_each(|(path, bytes)| tell_of_room(path, *bytes));
    let tree = tree(options, &cache)?;
    if is_writable && let Some(why) = unusable_for_writing() {
        say(format_args!(
            "{why}; what is written and has no room in memory cannot be: name a directory that can be used"
        ));
    }
    let (answer_bytes, written_bytes) = (answer_bytes as usize, written_bytes(bytes, is_writable) as usize);
    let view = impatiently(options, || View::new(tree, cache.clone(), answer_bytes, written_bytes));
    let view = view.map_err(|failure| failure.to_string())?;
    let (reads, kernel) = (view.reads(), view.kernel());
    let socket = match &options.metrics {
        Some(metrics) => {
            let (reads, cache) = (Arc::clone(&reads), cache.clone());
            metrics.answer(move || Metrics::of(&reads, &cache))?
        }
        None => None,
    };
    // Who sees the mount finds it by `foresee top` as well.
    answer_top(options, reads, cache);
    let mut of_mount = vec![MountOption::NoDev, MountOption::NoSuid];
    of_mount.extend(options.noexec.then_some(MountOption::NoExec));
    of_mount.extend((!is_writable).then_some(MountOption::RO));
    let shown = Shown { name: &options.source, at: &options.dir, options: of_mount, threads: THREADS };
    let mounted = Mounted::new(view, shown)?;
    kernel.is_there(mounted.notifier());
    mounted.read_ahead(READ_AHEAD_BYTES);
    Ok(Told { mounted, _socket: socket })
}

/// Whether what is shown is to be written as well.
fn is_writable(options: &Mount) -> bool {
    let takes_objects = |scheme: &str| STORES.into_iter().any(|(it, _, takes)| it == scheme && takes);
    !options.read_only && options.source.split_once("://").is_some_and(|(scheme, _)| takes_objects(scheme))
}

/// What is written may take so much beside the memory for what is read.
fn written_bytes(memory: u64, is_writable: bool) -> u64 {
    if is_writable { (memory / WRITTEN_PART).max(WRITTEN_BYTES_MIN) } else { 0 }
}

/// The memory for what is read that goes into so many addresses, with what is beside it.
fn memory_within(addresses: u64, is_writable: bool) -> u64 {
    let left = addresses.saturating_sub(addresses::BESIDE_BYTES);
    match is_writable {
        true => (left / (WRITTEN_PART + 1) * WRITTEN_PART).min(left.saturating_sub(WRITTEN_BYTES_MIN)),
        false => left,
    }
}

/// The memory for what is read: what was given, though there be less, or else a part of what there is; but no more
/// than there are addresses for.
fn memory_bytes(
    given: Option<u64>,
    there_is: Option<u64>,
    addresses: Option<u64>,
    is_writable: bool,
) -> Result<u64, String> {
    let there_is = there_is.unwrap_or(u64::MAX);
    let within = addresses.map_or(u64::MAX, |it| memory_within(it, is_writable));
    if let Some(bytes) = given.filter(|&bytes| bytes > there_is) {
        say(format_args!(
            "--memory {}MiB: {} MiB is free here, or left in the control group; what takes more may be killed",
            bytes >> 20,
            there_is >> 20
        ));
    }
    let bytes = given.unwrap_or(MEMORY_BYTES.min(there_is / MEMORY_PART).min(within).max(MEMORY_BYTES_MIN));
    let taken = bytes.saturating_add(written_bytes(bytes, is_writable)).saturating_add(addresses::BESIDE_BYTES);
    match bytes <= within {
        true => Ok(bytes),
        false => Err(format!(
            "{}{} MiB of addresses, and {} are allowed here (ulimit -v): raise that limit{}",
            match given {
                Some(_) => format!("--memory {}MiB may take ", bytes >> 20),
                None => "it takes at least ".to_owned(),
            },
            taken >> 20,
            addresses.unwrap_or_default() >> 20,
            match given.filter(|_| within >= MEMORY_BYTES_MIN) {
                Some(_) => format!(", or give it --memory {}MiB", within >> 20),
                None => String::new(),
            }
        )),
    }
}

/// Says so if there is not as much room for the cache's disk as it may take.
fn tell_of_room(path: &Path, bytes: u64) {
    let free = room(path).map(|it| it.f_bavail * it.f_frsize);
    if let (Some(free), Ok(taken)) = (free, fs::metadata(path).map(|it| 512 * it.blocks()))
        && free + taken < bytes
    {
        let (path, room, wanted) = (path.display(), (free + taken) >> 20, bytes >> 20);
        say(format_args!(
            "--disk {path}: there is room for {room} MiB of {wanted}; what finds none is asked of the store again"
        ));
    }
}

/// Asks a store, and says so if it takes long: a wrong address is most often one where nobody
/// answers.
fn impatiently<T>(Mount { source, deadline, .. }: &Mount, ask: impl FnOnce() -> T) -> T {
    let (answered, answer) = channel::<()>();
    thread::scope(|scope| {
        let _ = thread::Builder::new().spawn_scoped(scope, move || {
            // Nothing is mounted yet: who ends us now ends us at once.
            end_by_signals();
            if answer.recv_timeout(SILENCE_MAX) == Err(RecvTimeoutError::Timeout) {
                // Not to the log: in the background as well, somebody waits at a terminal.
                say(format_args!(
                    "{source}: no answer yet; it is waited for, {} seconds at most",
                    deadline.as_secs_f64()
                ));
                let _ = answer.recv();
            }
        });
        let asked = ask();
        drop(answered);
        asked
    })
}

/// Signals that came, or come while this thread lives, end the process, as they would by
/// themselves.
fn end_by_signals() {
    // SAFETY: the set is filled in before it is read; of this thread alone are signals let through.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Tells `foresee top` how it stands. Where that cannot be, the mount is not seen there, and
/// otherwise as any.
fn answer_top(options: &Mount, reads: Arc<Reads>, cache: Cache) {
    let dir = options.dir.to_string_lossy().into_owned();
    let words = vec!["foresee".into(), "mount".into(), options.source.clone(), dir];
    let state = State { words, begun: Instant::now() };
    let Some(mut status) = Status::begin() else { return };
    let answer = move || loop {
        status.answer(|| state.text(&reads, &cache));
        thread::sleep(LOOKS_EVERY);
    };
    let _ = thread::Builder::new().name("foresee".into()).stack_size(STATUS_STACK_BYTES).spawn(answer);
}

/// What is to be shown.
fn tree(options: &Mount, cache: &Cache) -> Result<Arc<dyn Tree>, String> {
    // The kernel holds on to what it was told for as long as we do: together that is what was said.
    let lasting = options.metadata_ttl / 2;
    // A path's folders are no scheme.
    let address = options.source.split_once("://").filter(|(scheme, _)| !scheme.contains('/'));
    let Some((scheme, place)) = address else {
        let directory = Directory::new(Path::new(&options.source), lasting);
        let complaint =
            |error| format!("{}: {error}: name a directory, or a store as in s3://BUCKET/PREFIX", options.source);
        return Ok(Arc::new(directory.map_err(complaint)?));
    };
    if STORES.iter().all(|(it, ..)| *it != scheme) {
        let known = STORES.map(|(scheme, ..)| scheme).join(", ");
        let source = &options.source;
        return Err(format!("{source}: no such kind of store: there are {known}, and directories by their path"));
    }
    if place.is_empty() || place.starts_with('/') {
        return Err(format!("{}: it names no bucket or host, as s3://BUCKET/PREFIX does", options.source));
    }
    let mut parts = place.trim_end_matches('/').split('/');
    if let Some(part) = parts.find(|part| matches!(*part, "" | "." | "..")) {
        return Err(format!("{}: no object can be below '{part}' between slashes: leave it out", options.source));
    }
    // SAFETY: neither takes arguments or can fail.
    let own = unsafe { (libc::geteuid(), libc::getegid()) };
    let (uid, gid) = (options.uid.unwrap_or(own.0), options.gid.unwrap_or(own.1));
    let (file, directory) = (options.file_mode, options.dir_mode);
    let shape = Shape { uid, gid, file, directory, since: SystemTime::now() };
    Ok(Arc::new(Objects::new(cache.clone(), &options.source, shape, lasting, is_writable(options))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_part_of_what_there_is_unless_it_was_given() {
        const MIB: u64 = 1 << 20;
        for (given, there_is, bytes) in [
            (None, None, 1 << 30),
            (None, Some(64 << 30), 1 << 30),
            (None, Some(160 * MIB), 40 * MIB),
            (None, Some(0), 2 * MIB),
            (Some(16 * MIB), Some(160 * MIB), 16 * MIB),
            (Some(200 * MIB), Some(160 * MIB), 200 * MIB),
        ] {
            assert_eq!(memory_bytes(given, there_is, None, true), Ok(bytes), "{given:?} of {there_is:?}");
        }
    }

    #[test]
    fn memory_goes_into_the_addresses_that_there_may_be() {
        for addresses in [900, 1024, 1200, 2048, 5000].map(|it| it << 20) {
            for is_writable in [true, false] {
                let bytes = memory_bytes(None, None, Some(addresses), is_writable).unwrap();
                let taken = bytes + written_bytes(bytes, is_writable) + addresses::BESIDE_BYTES;
                assert!(taken <= addresses && bytes.min(1 << 30) == bytes, "{bytes} of {addresses}");
                assert_eq!(memory_bytes(Some(bytes), None, Some(addresses), is_writable), Ok(bytes));
            }
        }
        // Nothing is kept for what is not written.
        assert_eq!(memory_bytes(Some(232 << 20), None, Some(1000 << 20), false), Ok(232 << 20));
        let refused = memory_bytes(Some(512 << 20), None, Some(1000 << 20), true).unwrap_err();
        assert!(
            refused.contains("--memory 512MiB may take 1408 MiB") && refused.contains("--memory 176MiB"),
            "{refused}"
        );
        for (is_writable, least) in [(true, 826), (false, 770)] {
            let refused = memory_bytes(None, None, Some(500 << 20), is_writable).unwrap_err();
            assert!(refused.starts_with(&format!("it takes at least {least} MiB")), "{refused}");
            assert!(!refused.contains("--memory"), "{refused}");
        }
    }
}
