//! Directories that get another name. A store has none: all objects whose names begin with theirs get others, each by
//! itself. So it is seen half done meanwhile, and left so by an error: each file is where it was, or where it is
//! to be.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::thread;

use fuser::FileType;

use super::Shown;
use crate::failure::Failure;
use crate::tree::{Entry, Writing};

/// Of a directory with more files that is refused as from another file system: `mv` copies it then, and can be
/// stopped.
const FILES_MAX: usize = 1000;
/// So many are moved at once.
const AT_ONCE: usize = 16;

/// What lies below a directory.
#[derive(Default)]
struct Below {
    /// Each behind the one that it lies in.
    directories: Vec<(PathBuf, Entry)>,
    files: Vec<PathBuf>,
}

impl Shown {
    /// Gives a directory another name, in the place of an empty one or of none.
    pub fn move_directory(&self, from: &Path, to: &Path, entry: Entry, writing: &dyn Writing) -> Result<(), Failure> {
        match self.tree.look_up(to)?.map(|there| there.kind) {
            None => {}
            Some(FileType::Directory) if self.names(to)?.is_empty() => {}
            Some(FileType::Directory) => return Err(Failure::of(libc::ENOTEMPTY)),
            Some(_) => return Err(Failure::of(libc::ENOTDIR)),
        }
        self.tree.forget(from);
        let mut below = Below { directories: vec![(from.to_owned(), entry)], files: Vec::new() };
        self.add(from, &mut below)?;
        let moved = |path: &Path| match path.strip_prefix(from) {
            Ok(rest) if path != from => to.join(rest),
            _ => to.to_owned(),
        };
        for (directory, _) in &below.directories {
            writing.make_directory(&moved(directory))?;
        }
        self.move_files(&below.files, moved)?;
        for (directory, entry) in below.directories.iter().rev() {
            writing.remove_directory(directory)?;
            self.nodes().moved(directory, &moved(directory), Some(entry));
        }
        Ok(())
    }

    fn add(&self, directory: &Path, below: &mut Below) -> Result<(), Failure> {
        for (name, entry) in self.names(directory)?.iter() {
            let path = directory.join(name);
            if entry.kind == FileType::Directory {
                below.directories.push((path.clone(), entry.clone()));
                self.add(&path, below)?;
            } else if below.files.len() < FILES_MAX {
                below.files.push(path);
            } else {
                return Err(Failure::of(libc::EXDEV));
            }
        }
        Ok(())
    }

    fn move_files(&self, files: &[PathBuf], moved: impl Fn(&Path) -> PathBuf + Sync) -> Result<(), Failure> {
        let (next, failed) = (AtomicUsize::new(0), OnceLock::new());
        let move_some = || {
            while let (Some(file), None) = (files.get(next.fetch_add(1, Relaxed)), failed.get()) {
                if let Err(failure) = self.move_path(Arc::from(file.as_path()), moved(file).into(), false) {
                    let _ = failed.set(failure);
                }
            }
        };
        thread::scope(|scope| {
            // Who has none moves them by himself.
            (1..files.len().min(AT_ONCE)).for_each(|_| _ = thread::Builder::new().spawn_scoped(scope, move_some));
            move_some();
        });
        failed.into_inner().map_or(Ok(()), Err)
    }
}
