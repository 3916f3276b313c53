//! Files that are being written: in order, and there as a whole when they are closed, or not at all.
//!
//! A descriptor may be closed several times before the last of its copies is (a shell closes what it has copied to standard output, and
//! so does each program that it starts). So a file is finished by a close of the process that opened it, once something was written, or
//! else by the last of all. A short one may be written further after that: it is then put in its own place once more. A long one may not.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use foresee::store::Upload;
use foresee_run::pool::lock;
use foresee_run::say::say;
use fuser::{FileAttr, FopenFlags};

use super::{Shown, attributes};
use crate::failure::Failure;
use crate::tree::{Entry, Writing};

/// As much of a file is kept until it is closed; what is longer goes to the store as it is written.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// How long who opens a file waits for the one who is just closing it.
const CLOSING_MAX: Duration = Duration::from_secs(2);
const CLOSING_STEP: Duration = Duration::from_millis(5);

/// Fields of proc_pid_stat(5), and a flag in one of them.
const FLAGS_FIELD: usize = 9;
const EXIT_CODE_FIELD: usize = 52;
const PF_EXITING: u64 = 4;

/// One of them.
struct Written {
    path: Arc<Path>,
    number: u64,
    /// The process that opened it.
    opener: Option<u32>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    size: u64,
    /// All of it, unless it is longer.
    kept: Vec<u8>,
    upload: Option<Box<dyn Upload>>,
    /// What was written so far is there.
    is_finished: bool,
    /// Why it never will be.
    failed: Option<Failure>,
}

/// All of them, by handle.
#[derive(Default)]
pub struct OpenWrites(Mutex<HashMap<u64, Arc<Written>>>);

impl OpenWrites {
    fn get(&self, handle: u64) -> Option<Arc<Written>> {
        lock(&self.0).get(&handle).cloned()
    }

    fn find(&self, is_it: impl Fn(&Written) -> bool) -> Option<Arc<Written>> {
        lock(&self.0).values().find(|it| is_it(it)).cloned()
    }

    /// The one of this path that is not there yet.
    fn unfinished(&self, path: &Path) -> Option<Arc<Written>> {
        let found = self.find(|it| *it.path == *path)?;
        let is_finished = lock(&found.state).is_finished;
        (!is_finished).then_some(found)
    }
}

/// The process that a thread is of.
fn process_of(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Whether a thread ends because its process was killed: what it closes then is not whole.
fn is_killed(thread: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect();
    let field = |at: usize| fields.get(at).and_then(|it| it.trim().parse::<u64>().ok()).unwrap_or(0);
    // As in proc_pid_stat(5), whose third field comes first here: it is exiting, by a signal.
    field(FLAGS_FIELD - 3) & PF_EXITING != 0 && libc::WIFSIGNALED(field(EXIT_CODE_FIELD - 3) as i32)
}

impl Written {
    fn write(&self, to: &dyn Writing, offset: u64, bytes: &[u8]) -> Result<u64, Failure> {
        let mut state = lock(&self.state);
        let state = &mut *state;
        if let Some(failure) = &state.failed {
            return Err(failure.clone());
        }
        let is_long = state.size > KEPT_BYTES_MAX as u64;
        if offset != state.size || (is_long && state.is_finished) {
            return Err(Failure::of(libc::EOPNOTSUPP));
        }
        let mut add = || {
            if state.upload.is_none() && state.kept.len() + bytes.len() <= KEPT_BYTES_MAX {
                state.kept.extend_from_slice(bytes);
                return Ok(());
            }
            if state.upload.is_none() {
                let upload = state.upload.insert(to.create(&self.path)?);
                upload.write(&std::mem::take(&mut state.kept)).map_err(|error| self.failure(error))?;
            }
            state.upload.iter_mut().try_for_each(|upload| upload.write(bytes)).map_err(|error| self.failure(error))
        };
        if let Err(failure) = add() {
            (state.failed, state.upload) = (Some(failure.clone()), None);
            return Err(failure);
        }
        (state.size, state.is_finished) = (state.size + bytes.len() as u64, false);
        Ok(state.size)
    }

    fn failure(&self, error: foresee::store::Error) -> Failure {
        foresee::Error::Store { name: self.path.to_string_lossy().into(), error }.into()
    }

    /// Makes it be there. Returns whether it was not before.
    fn finish(&self, to: &dyn Writing) -> Result<bool, Failure> {
        let mut state = lock(&self.state);
        if let Some(failure) = &state.failed {
            return Err(failure.clone());
        }
        if state.is_finished {
            return Ok(false);
        }
        let upload = match state.upload.take() {
            Some(upload) => Ok(upload),
            None => to.create(&self.path).and_then(|mut upload| {
                upload.write(&state.kept).map_err(|error| self.failure(error))?;
                Ok(upload)
            }),
        };
        match upload.and_then(|upload| upload.finish().map_err(|error| self.failure(error))) {
            Ok(()) => {
                state.is_finished = true;
                to.finished(&self.path);
                Ok(true)
            }
            Err(failure) => {
                state.failed = Some(failure.clone());
                Err(failure)
            }
        }
    }

    /// It will never be there.
    fn give_up(&self, why: Failure) {
        let mut state = lock(&self.state);
        (state.upload, state.failed) = (None, Some(why));
    }
}

impl Shown {
    fn writing(&self) -> Result<&dyn Writing, Failure> {
        self.tree.writing().ok_or_else(|| Failure::of(libc::EROFS))
    }

    fn begin(&self, path: Arc<Path>, number: u64, thread: u32) -> (u64, FopenFlags) {
        let (opener, handle) = (process_of(thread), self.handle());
        let written = Written { path, number, opener, state: Mutex::default() };
        lock(&self.writes.0).insert(handle, Arc::new(written));
        self.nodes().resize(number, 0);
        // What is written is read by a number of its own, once it is there.
        (handle, FopenFlags::FOPEN_DIRECT_IO)
    }

    /// Makes a file, to be written.
    pub fn create(
        &self,
        parent: u64,
        name: &std::ffi::OsStr,
        thread: u32,
    ) -> Result<(FileAttr, u64, FopenFlags), Failure> {
        let entry = self.writing()?.entry();
        let path: Arc<Path> = self.nodes().path(parent)?.join(name).into();
        if self.writes.unfinished(&path).is_some() {
            return Err(Failure::of(libc::EBUSY));
        }
        let number = self.nodes().tell(&path, &entry);
        let (handle, flags) = self.begin(path, number, thread);
        Ok((attributes(number, &entry), handle, flags))
    }

    /// Opens a file that is there to be written anew.
    pub fn overwrite(&self, number: u64, flags: i32, thread: u32) -> Result<(u64, FopenFlags), Failure> {
        self.writing()?;
        let (path, size) = self.nodes().get(number).map(|(path, entry)| (path, entry.size))?;
        if size > 0 && flags & libc::O_TRUNC == 0 {
            return Err(Failure::of(libc::EOPNOTSUPP));
        }
        if self.writes.unfinished(&path).is_some() {
            return Err(Failure::of(libc::EBUSY));
        }
        Ok(self.begin(path, number, thread))
    }

    /// Adds bytes at the end of a file that is written.
    pub fn write(&self, handle: u64, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.writes.get(handle).ok_or_else(|| Failure::of(libc::EBADF))?;
        let size = written.write(self.writing()?, offset, bytes).inspect_err(|failure| {
            if failure.errno != libc::EOPNOTSUPP {
                self.complain(failure);
            }
        })?;
        self.nodes().resize(written.number, size);
        Ok(())
    }

    /// A copy of a descriptor was closed by this thread, or what was written is to be there by now.
    pub fn flush(&self, handle: u64, by: Option<u32>) -> Result<(), Failure> {
        let Some(written) = self.writes.get(handle) else { return Ok(()) };
        if let Some(thread) = by {
            let is_opener = written.opener.is_none() || process_of(thread) == written.opener;
            if is_killed(thread) && is_opener {
                written.give_up(Failure::of(libc::EINTR));
                return Ok(());
            }
            let is_empty = lock(&written.state).size == 0;
            if is_empty || !is_opener {
                return Ok(());
            }
        }
        self.finish(&written)
    }

    fn finish(&self, written: &Written) -> Result<(), Failure> {
        let was_finished = written.finish(self.writing()?).inspect_err(|failure| self.complain(failure))?;
        if was_finished {
            self.nodes().make_stale(written.number);
        }
        Ok(())
    }

    /// The last copy of a descriptor was closed. Nobody hears of an error any more, but who watches.
    pub fn release_written(&self, handle: u64) {
        let Some(written) = self.writes.get(handle) else { return };
        let has_failed = lock(&written.state).failed.is_some();
        if !has_failed && let Err(failure) = self.finish(&written) {
            say(format_args!("{}: was not written: {failure}", written.path.display()));
        }
        lock(&self.writes.0).remove(&handle);
        if has_failed {
            self.nodes().make_stale(written.number);
        }
    }

    /// A file that is being written, as it is by now.
    pub fn being_written(&self, path: &Path) -> Option<FileAttr> {
        let written = self.writes.unfinished(path)?;
        let entry = Entry { size: lock(&written.state).size, ..self.tree.writing()?.entry() };
        // The same number, or the kernel would take it for another file.
        Some(attributes(self.nodes().tell_again(written.number)?, &entry))
    }

    /// Waits for who is about to finish a file.
    pub fn wait_for_writer(&self, path: &Path) -> Result<(), Failure> {
        for _ in 0..CLOSING_MAX.as_millis() / CLOSING_STEP.as_millis() {
            if self.writes.unfinished(path).is_none() {
                return Ok(());
            }
            thread::sleep(CLOSING_STEP);
        }
        Err(Failure::of(libc::EBUSY))
    }

    /// Takes a file's size to be this, if it is.
    pub fn truncate(&self, number: u64, size: u64) -> Result<(), Failure> {
        self.writing()?;
        let (path, now) = self.nodes().get(number).map(|(path, entry)| (path, entry.size))?;
        let now = self.writes.unfinished(&path).map_or(now, |written| lock(&written.state).size);
        if now == size { Ok(()) } else { Err(Failure::of(libc::EOPNOTSUPP)) }
    }

    /// Removes a file.
    pub fn remove(&self, parent: u64, name: &std::ffi::OsStr) -> Result<(), Failure> {
        let path = self.nodes().path(parent)?.join(name);
        if let Some(written) = self.writes.unfinished(&path) {
            written.give_up(Failure::of(libc::ENOENT));
        }
        self.writing()?.remove(&path)
    }

    /// Gives a file another name.
    pub fn rename(
        &self,
        from: (u64, &std::ffi::OsStr),
        to: (u64, &std::ffi::OsStr),
        keep: bool,
    ) -> Result<(), Failure> {
        let path = |(parent, name): (u64, &std::ffi::OsStr)| Ok::<_, Failure>(self.nodes().path(parent)?.join(name));
        let (from, to) = (path(from)?, path(to)?);
        if from == to {
            return Ok(());
        }
        if let Some(written) = self.writes.unfinished(&from) {
            self.finish(&written)?;
        }
        let entry = self.tree.look_up(&from)?.ok_or_else(|| Failure::of(libc::ENOENT))?;
        if entry.kind == fuser::FileType::Directory {
            // Who moves it copies it then.
            return Err(Failure::of(libc::EXDEV));
        }
        if keep && self.tree.look_up(&to)?.is_some() {
            return Err(Failure::of(libc::EEXIST));
        }
        self.writing()?.rename(&from, &to)?;
        self.nodes().moved(&from, &to);
        Ok(())
    }

    /// Makes a directory.
    pub fn make_directory(&self, parent: u64, name: &std::ffi::OsStr) -> Result<FileAttr, Failure> {
        let path = self.nodes().path(parent)?.join(name);
        let entry = self.writing()?.make_directory(&path)?;
        Ok(self.tell(&path, &entry))
    }

    /// Removes a directory.
    pub fn remove_directory(&self, parent: u64, name: &std::ffi::OsStr) -> Result<(), Failure> {
        let path = self.nodes().path(parent)?.join(name);
        self.writing()?.remove_directory(&path)
    }
}
