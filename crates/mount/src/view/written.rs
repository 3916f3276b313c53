//! A file that is being written: there as a whole when it is closed, or not at all.
//!
//! What is short is kept in memory until then: it is written in any order, read and cut, and put in its own place once more if it is
//! written further after that. What is longer goes to the store in order as it is written, and is not written any more once it is there.

use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use foresee::store::Upload;
use foresee_run::pool::lock;

use crate::failure::Failure;
use crate::tree::Writing;

/// As much of a file is kept until it is closed.
const KEPT_BYTES_MAX: u64 = 8 << 20;

/// One of them.
pub struct Written {
    /// The name that it will have; none once that was removed, or given to another.
    path: Mutex<Option<Arc<Path>>>,
    /// As the kernel calls it.
    pub(super) number: u64,
    /// Descriptors that can write it.
    writers: AtomicU32,
    /// Its length so far. As what follows, it changes with the state, and is asked for while that waits for the store.
    size: AtomicU64,
    /// Whether what was written so far is there.
    is_finished: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// All of it, unless it is longer.
    kept: Vec<u8>,
    upload: Option<Box<dyn Upload>>,
    /// Why it never will be there.
    failed: Option<Failure>,
}

impl State {
    /// Goes on by an upload from here.
    fn begin(&mut self, to: &dyn Writing, path: &Path) -> Result<&mut Box<dyn Upload>, Failure> {
        let upload = self.upload.insert(to.create(path)?);
        upload.write(&std::mem::take(&mut self.kept)).map_err(|error| failure(path, error))?;
        Ok(upload)
    }

    /// Adds bytes at the end of what is long.
    fn add(&mut self, to: &dyn Writing, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let upload = match &mut self.upload {
            Some(upload) => upload,
            None => self.begin(to, path)?,
        };
        upload.write(bytes).map_err(|error| failure(path, error))
    }

    fn put(&mut self, to: &dyn Writing, path: &Path) -> Result<(), Failure> {
        let upload = match self.upload.take() {
            Some(upload) => upload,
            None => {
                let mut upload = to.create(path)?;
                upload.write(&self.kept).map_err(|error| failure(path, error))?;
                upload
            }
        };
        upload.finish().map_err(|error| failure(path, error))
    }

    fn fail(&mut self, why: Failure) -> Failure {
        (self.upload, self.failed) = (None, Some(why.clone()));
        why
    }
}

fn failure(path: &Path, error: foresee::store::Error) -> Failure {
    foresee::Error::Store { name: path.to_string_lossy().into(), error }.into()
}

impl Written {
    /// One that has no bytes yet.
    pub fn new(path: Arc<Path>, number: u64) -> Self {
        let (writers, size, is_finished) = (AtomicU32::new(0), AtomicU64::new(0), AtomicBool::new(false));
        Written { path: Mutex::new(Some(path)), number, writers, size, is_finished, state: Mutex::default() }
    }

    /// One more descriptor can write it.
    pub fn joined(&self) {
        self.writers.fetch_add(1, SeqCst);
    }

    /// One descriptor less, which could write or not. Returns whether there is none left that can.
    pub fn left(&self, could_write: bool) -> bool {
        let one = u32::from(could_write);
        self.writers.fetch_sub(one, SeqCst) == one
    }

    /// The name that it will have.
    pub fn path(&self) -> Option<Arc<Path>> {
        lock(&self.path).clone()
    }

    /// Its name was removed, or given to another: nobody will find what is written.
    pub fn lose_name(&self) {
        *lock(&self.path) = None;
        lock(&self.state).upload = None;
    }

    /// It was given another name.
    pub fn rename(&self, path: &Path) {
        *lock(&self.path) = Some(path.into());
    }

    /// Its length so far.
    pub fn size(&self) -> u64 {
        self.size.load(SeqCst)
    }

    /// Whether what was written so far is there.
    pub fn is_finished(&self) -> bool {
        self.is_finished.load(SeqCst)
    }

    /// Whether it never will be.
    pub fn has_failed(&self) -> bool {
        lock(&self.state).failed.is_some()
    }

    /// Whether others can share what was written so far.
    pub fn is_at_hand(&self) -> bool {
        let state = lock(&self.state);
        self.is_kept(&state) && state.failed.is_none()
    }

    fn is_kept(&self, state: &State) -> bool {
        state.kept.len() as u64 == self.size()
    }

    /// Takes what is kept to be so long, if it may be.
    fn resize_kept(&self, state: &mut State, size: u64) -> bool {
        let may = self.is_kept(state) && size <= KEPT_BYTES_MAX;
        if may {
            state.kept.resize(size as usize, 0);
            self.changed(size);
        }
        may
    }

    fn changed(&self, size: u64) {
        self.size.store(size, SeqCst);
        self.is_finished.store(false, SeqCst);
    }

    /// Returns how long it is by then.
    pub fn write(&self, to: &dyn Writing, offset: u64, bytes: &[u8]) -> Result<u64, Failure> {
        let mut state = lock(&self.state);
        if let Some(failure) = &state.failed {
            return Err(failure.clone());
        }
        let end = offset + bytes.len() as u64;
        let size = end.max(self.size());
        if self.resize_kept(&mut state, size) {
            state.kept[offset as usize..end as usize].copy_from_slice(bytes);
            return Ok(size);
        }
        if offset != self.size() || (self.is_finished() && !self.is_kept(&state)) {
            return Err(Failure::of(libc::EOPNOTSUPP));
        }
        match self.path() {
            Some(path) => state.add(to, &path, bytes).map_err(|failure| state.fail(failure))?,
            None => state.kept = Vec::new(),
        }
        self.changed(size);
        Ok(size)
    }

    /// What was written, from here on.
    pub fn read(&self, offset: u64, size: usize) -> Result<Vec<u8>, Failure> {
        let state = lock(&self.state);
        if !self.is_kept(&state) {
            return Err(Failure::of(libc::EOPNOTSUPP));
        }
        let from = state.kept.get(offset as usize..).unwrap_or_default();
        Ok(from[..from.len().min(size)].to_vec())
    }

    /// Takes it to be so long, if it may be.
    pub fn resize(&self, size: u64) -> Result<(), Failure> {
        match size == self.size() || self.resize_kept(&mut lock(&self.state), size) {
            true => Ok(()),
            false => Err(Failure::of(libc::EOPNOTSUPP)),
        }
    }

    /// Makes it be there. Returns whether it was not before.
    pub fn finish(&self, to: &dyn Writing) -> Result<bool, Failure> {
        let mut state = lock(&self.state);
        if let Some(failure) = &state.failed {
            return Err(failure.clone());
        }
        let Some(path) = self.path().filter(|_| !self.is_finished()) else { return Ok(false) };
        state.put(to, &path).map_err(|failure| state.fail(failure))?;
        self.is_finished.store(true, SeqCst);
        to.finished(&path);
        Ok(true)
    }

    /// It will never be there.
    pub fn give_up(&self, why: Failure) {
        lock(&self.state).fail(why);
    }
}
