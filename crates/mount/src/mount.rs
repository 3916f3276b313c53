//! `foresee mount`.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use foresee::Cache;
use foresee_fuse::{Mounted, NOT_ANSWERED, Process, Shown, serve};
use foresee_run::say::say;
use fuser::MountOption;

use crate::detach::Detached;
use crate::options::Mount;
use crate::tree::{Directory, Objects, Shape, Tree};
use crate::view::{REQUEST_BYTES_MAX, View};

/// Threads that take requests; those that wait for a store are others.
const THREADS: usize = 2;
/// This part of the memory is for answers on their way to the kernel.
const ANSWERS_PART: u64 = 16;
/// How far the kernel reads ahead of a sequential reader: to our cache, that a run is read in requests of this length.
const READ_AHEAD_BYTES: u64 = 1 << 20;

/// Stores that take objects; the others are read only.
const WRITABLE: [&str; 3] = ["s3", "gs", "az"];

/// Mounts it; returns the exit status.
pub fn mount(options: &Mount) -> Result<u8, String> {
    check_place(&options.dir)?;
    let detached = options.detach.then(Detached::fork).transpose()?;
    let process = Process::prepare().map_err(|error| error.to_string())?;
    let mounted = mounted(options);
    if let Some(detached) = detached {
        detached.told(&mounted);
    }
    serve(mounted, &process, &options.command, |_| {
        say(format_args!("{}: {}, until Ctrl-C", options.dir.display(), options.source));
    })
}

/// An empty directory, as what is in it would be covered.
fn check_place(dir: &Path) -> Result<(), String> {
    let complain = |why: &str| Err(format!("{}: {why}", dir.display()));
    match fs::read_dir(dir).map(|mut names| names.next().is_some()) {
        Ok(true) => complain("is not empty: name an empty directory"),
        Ok(false) => Ok(()),
        Err(error) if error.raw_os_error() == Some(NOT_ANSWERED) => {
            complain(&format!("was left by a foresee that was killed: 'foresee unmount {}'", dir.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => complain("is not there: make it first"),
        Err(error) => complain(&error.to_string()),
    }
}

fn mounted(options: &Mount) -> Result<Mounted, String> {
    let answer_bytes = (options.memory / ANSWERS_PART).max(u64::from(REQUEST_BYTES_MAX));
    let memory = options.memory.checked_sub(answer_bytes).filter(|&left| left >= answer_bytes);
    let memory =
        memory.ok_or_else(|| format!("a memory of {} bytes is too little: 2 MiB is the least", options.memory))?;
    let mut builder = Cache::builder().memory(memory as usize);
    if let Some(policy) = &options.policy {
        builder = builder.policy(policy);
    }
    if let Some((path, bytes)) = &options.disk {
        builder = builder.disk(path, *bytes);
    }
    let cache = builder.open().map_err(|error| error.to_string())?;
    let tree = tree(options, &cache)?;
    let is_writable = tree.writing().is_some();
    let view = View::new(tree, cache, answer_bytes as usize).map_err(|failure| failure.to_string())?;
    let mut of_mount = vec![MountOption::NoDev, MountOption::NoSuid];
    of_mount.extend((!is_writable).then_some(MountOption::RO));
    let shown = Shown { name: &options.source, at: &options.dir, options: of_mount, threads: THREADS };
    let mounted = Mounted::new(view, shown)?;
    mounted.read_ahead(READ_AHEAD_BYTES);
    Ok(mounted)
}

/// What is to be shown.
fn tree(options: &Mount, cache: &Cache) -> Result<Arc<dyn Tree>, String> {
    // The kernel holds on to what it was told for as long as we do: together that is what was said.
    let lasting = options.metadata_ttl / 2;
    let Some((scheme, place)) = options.source.split_once("://") else {
        let directory = Directory::new(Path::new(&options.source), lasting);
        return Ok(Arc::new(directory.map_err(|error| format!("{}: {error}", options.source))?));
    };
    if place.is_empty() || place.starts_with('/') {
        return Err(format!("{}: it names no bucket or host", options.source));
    }
    // SAFETY: neither takes arguments or can fail.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let shape = Shape { uid, gid, file: options.file_mode, directory: 0o755, since: SystemTime::now() };
    let is_writable = !options.read_only && WRITABLE.contains(&scheme);
    Ok(Arc::new(Objects::new(cache.clone(), &options.source, shape, lasting, is_writable)))
}
