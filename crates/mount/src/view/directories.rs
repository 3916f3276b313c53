//! Directories that are being listed: each as it was when its first name was asked for.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use foresee_run::pool::lock;
use fuser::{FileAttr, Generation, INodeNo, ReplyDirectoryPlus};

use super::{Shown, attributes};
use crate::failure::Failure;
use crate::tree::Names;

/// One of them.
pub struct OpenDirectory {
    number: u64,
    path: Arc<Path>,
    names: OnceLock<Names>,
}

/// All of them, by handle.
#[derive(Default)]
pub struct OpenDirectories(Mutex<HashMap<u64, Arc<OpenDirectory>>>);

impl OpenDirectories {
    fn get(&self, handle: u64) -> Result<Arc<OpenDirectory>, Failure> {
        lock(&self.0).get(&handle).cloned().ok_or_else(|| Failure::of(libc::EBADF))
    }

    /// Closes one.
    pub fn close(&self, handle: u64) {
        lock(&self.0).remove(&handle);
    }
}

impl Shown {
    /// Opens a directory.
    pub fn open_directory(&self, number: u64) -> Result<u64, Failure> {
        let (path, handle) = (self.nodes().path(number)?, self.handle());
        let opened = OpenDirectory { number, path, names: OnceLock::new() };
        lock(&self.directories.0).insert(handle, Arc::new(opened));
        Ok(handle)
    }

    /// Answers with names from the one of this number on: those of the directory itself and of the one above come first.
    pub fn read_directory(&self, handle: u64, first: u64, mut reply: ReplyDirectoryPlus) {
        match self.fill(handle, first, &mut reply) {
            Ok(path) => {
                reply.ok();
                if first == 0 {
                    self.ahead.listed(&path);
                }
            }
            Err(failure) => reply.error(failure.number()),
        }
    }

    /// Returns the directory's path.
    fn fill(&self, handle: u64, first: u64, reply: &mut ReplyDirectoryPlus) -> Result<Arc<Path>, Failure> {
        let open = self.directories.get(handle)?;
        if open.names.get().is_none() {
            let names = self.tree.list(&open.path).inspect_err(|failure| self.complain(failure))?;
            // Who else asked at the same time has the same.
            let _ = open.names.set(names);
        }
        let names = open.names.get().map_or(&[][..], |names| names);
        let lasting = self.tree.lasting();
        let itself = self.attributes(open.number)?;
        let mut add = |at: u64, name: &std::ffi::OsStr, it: &FileAttr| {
            reply.add(it.ino, at + 1, name, &lasting, it, Generation(0))
        };
        for (at, name) in [".", ".."].into_iter().enumerate().skip(first as usize) {
            // Of these two the kernel takes the numbers alone.
            let shown = if at == 0 { itself } else { FileAttr { ino: INodeNo::ROOT, ..itself } };
            if add(at as u64, name.as_ref(), &shown) {
                return Ok(Arc::clone(&open.path));
            }
        }
        let mut nodes = self.nodes();
        for (at, (name, entry)) in names.iter().enumerate().skip(first.saturating_sub(2) as usize) {
            let number = nodes.tell(&open.path.join(name), entry);
            if add(at as u64 + 2, name, &attributes(number, entry)) {
                nodes.forget(number, 1);
                break;
            }
        }
        Ok(Arc::clone(&open.path))
    }
}
