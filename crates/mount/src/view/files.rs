//! Files that are open: each one version, whatever becomes of its name.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Instant;

use foresee::File;
use foresee_run::pool::lock;
use foresee_run::say::say;
use fuser::{FopenFlags, ReplyData};

use super::Shown;
use crate::failure::Failure;

/// Errors that are told of at most.
const TOLD_MAX: usize = 1000;

/// One of them.
pub struct OpenFile {
    file: File,
    number: u64,
    path: Arc<Path>,
}

/// All of them, by handle.
#[derive(Default)]
pub struct OpenFiles(RwLock<HashMap<u64, Arc<OpenFile>>>);

impl OpenFiles {
    fn add(&self, handle: u64, file: OpenFile) {
        self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner).insert(handle, Arc::new(file));
    }

    fn get(&self, handle: u64) -> Result<Arc<OpenFile>, Failure> {
        let files = self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        files.get(&handle).cloned().ok_or_else(|| Failure::of(libc::EBADF))
    }

    /// Closes one, if it is one.
    pub fn close(&self, handle: u64) -> bool {
        let closed = self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&handle);
        closed.is_some()
    }
}

impl Shown {
    /// Opens a file to be read.
    pub fn open(&self, number: u64) -> Result<(u64, FopenFlags), Failure> {
        let path = self.nodes().path(number)?;
        self.wait_for_writer(&path)?;
        let (path, entry) = {
            let nodes = self.nodes();
            if nodes.is_stale(number) {
                // The kernel looks the name up anew then.
                return Err(Failure::of(libc::ESTALE));
            }
            let (path, entry) = nodes.get(number)?;
            (path, entry.clone())
        };
        let opened = self.tree.open(&self.cache, &path, &entry);
        let file = opened.inspect_err(|failure| self.noticed(number, &path, failure))?;
        let handle = self.handle();
        self.files.add(handle, OpenFile { file, number, path });
        // A number's bytes are always the same.
        Ok((handle, FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH))
    }

    /// Answers a read.
    pub fn read(&self, handle: u64, offset: u64, size: usize, reply: ReplyData) {
        let begun = Instant::now();
        let _allowed = self.answers.take(size);
        let mut bytes = vec![0; size];
        let opened = self.files.get(handle);
        let read = opened.and_then(|open| Ok((open.file.read_at(&mut bytes, offset)?, open)));
        match read {
            Ok((count, open)) => {
                let took = begun.elapsed();
                reply.data(&bytes[..count]);
                if offset == 0 {
                    self.ahead.visited(&open.path, took);
                }
            }
            Err(failure) => {
                if let Ok(open) = self.files.get(handle) {
                    self.noticed(open.number, &open.path, &failure);
                }
                // What is gone is not what was open, either.
                let errno = if failure.errno == libc::ENOENT { libc::ESTALE } else { failure.errno };
                let errno = if errno == libc::ESTALE { errno } else { libc::EIO };
                if errno == libc::EIO {
                    self.complain(&failure);
                }
                reply.error(Failure::of(errno).number());
            }
        }
    }

    /// Tells whoever watches, once for what is the same.
    pub fn complain(&self, failure: &Failure) {
        let mut told = lock(&self.told);
        if told.len() < TOLD_MAX && told.insert(failure.to_string()) {
            say(format_args!("{failure}: who asked for it gets an I/O error"));
        }
    }

    /// If a file is not what it was, its name is looked up anew by who opens it next.
    fn noticed(&self, number: u64, path: &Path, failure: &Failure) {
        if matches!(failure.errno, libc::ESTALE | libc::ENOENT) {
            lock(&self.nodes).make_stale(number);
            path.parent().into_iter().for_each(|parent| self.tree.forget(parent));
        }
    }
}
