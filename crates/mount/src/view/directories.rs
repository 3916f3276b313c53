//! Directories that are being listed: each as it was when its first name was asked for.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fuser::{FileAttr, Generation, INodeNo, ReplyDirectoryPlus};

use super::owed::Owed;
use super::{Shown, WHILE_WRITTEN, attributes, told};
use crate::failure::Failure;
use crate::tree::Names;

/// One of them.
pub struct OpenDirectory {
    number: u64,
    path: Arc<Path>,
    /// With those that somebody could write on as they were listed.
    names: OnceLock<(Names, HashSet<OsString>)>,
}

impl Shown {
    /// Opens a directory.
    pub fn open_directory(&self, number: u64) -> Result<u64, Failure> {
        let (path, handle) = (self.nodes().path(number)?, self.handle());
        self.directories.add(handle, OpenDirectory { number, path, names: OnceLock::new() });
        Ok(handle)
    }

    /// Answers with names from the one of this number on: those of the directory itself and of the
    /// one above come first.
    pub fn read_directory(&self, handle: u64, first: u64, owed: Owed<ReplyDirectoryPlus>) {
        // What the kernel is told of it is told of: not before it is sure that it waits.
        let open = self.listed(handle);
        owed.give(|mut reply| match open.and_then(|open| self.fill(&open, first, &mut reply).map(|()| open)) {
            Ok(open) => {
                reply.ok();
                if first == 0 {
                    self.ahead.listed(&open.path);
                }
            }
            Err(failure) => reply.error(failure.number()),
        });
    }

    /// An open directory, with its names.
    fn listed(&self, handle: u64) -> Result<Arc<OpenDirectory>, Failure> {
        let open = self.directories.get(handle)?;
        if open.names.get().is_none() {
            let may_be_written = self.may_be_written_in(&open.path);
            let names = self.names(&open.path);
            log::debug!("list {}: {}", open.path.display(), told(&names));
            let names = names.inspect_err(|failure| self.complain(failure))?;
            // Who else asked at the same time has the same.
            let _ = open.names.set((names, may_be_written));
        }
        Ok(open)
    }

    fn fill(&self, open: &OpenDirectory, first: u64, reply: &mut ReplyDirectoryPlus) -> Result<(), Failure> {
        let Some((names, could_be_written)) = open.names.get() else { return Err(Failure::of(libc::EIO)) };
        let lasting = self.tree.lasting();
        let itself = self.attributes(open.number)?;
        let mut add = |at: u64, name: &OsStr, it: &FileAttr, lasting: Duration| {
            reply.add(it.ino, at + 1, name, &lasting, it, Generation(0))
        };
        for (at, name) in [".", ".."].into_iter().enumerate().skip(first as usize) {
            // Of these two the kernel takes the numbers alone.
            let shown = if at == 0 { itself } else { FileAttr { ino: INodeNo::ROOT, ..itself } };
            if add(at as u64, name.as_ref(), &shown, lasting) {
                return Ok(());
            }
        }
        let (written, may_be_written) = (self.being_written_in(&open.path), self.may_be_written_in(&open.path));
        let mut nodes = self.nodes();
        for (at, (name, entry)) in names.iter().enumerate().skip(first.saturating_sub(2) as usize) {
            let (number, entry, lasting) =
                match written.get(name).and_then(|(number, entry)| Some((nodes.tell_again(*number)?, entry))) {
                    Some((number, entry)) => (number, entry, WHILE_WRITTEN),
                    None => {
                        let is_of_writer = may_be_written.contains(name) || could_be_written.contains(name);
                        let lasting = if is_of_writer { WHILE_WRITTEN } else { lasting };
                        (nodes.tell(&open.path.join(name), entry), entry, lasting)
                    }
                };
            if add(at as u64 + 2, name, &attributes(number, entry), lasting) {
                nodes.forget(number, 1);
                break;
            }
        }
        Ok(())
    }

    /// All names of a directory, also of what is being written and was never there.
    pub fn names(&self, path: &Path) -> Result<Names, Failure> {
        let (names, written) = (self.tree.list(path)?, self.being_written_in(path));
        let is_new = |name: &OsString| names.iter().all(|(it, _)| it != name);
        let new: Vec<_> =
            written.into_iter().filter(|(name, _)| is_new(name)).map(|(name, (_, entry))| (name, entry)).collect();
        Ok(match new.is_empty() {
            true => names,
            false => Names::new(names.iter().cloned().chain(new).collect()),
        })
    }
}
