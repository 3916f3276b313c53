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
use super::written::Held;
use crate::failure::Failure;
use crate::tree::{Entry, Writing};

/// A directory with more in it is refused as from another file system: `mv` copies it then, and can be stopped.
const BELOW_MAX: usize = 1000;
/// A store copies no longer file at once (S3: CopyObject).
const COPIED_BYTES_MAX: u64 = 5 << 30;
/// So many are moved at once.
const AT_ONCE: usize = 16;
/// What others make in it meanwhile, by its old name, is moved as well, so often.
const ROUNDS: usize = 4;

/// A directory on its way.
struct Move<'m> {
    from: &'m Path,
    to: &'m Path,
    writing: &'m dyn Writing,
}

impl Move<'_> {
    /// Where a path below it is to be.
    fn moved(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.from) {
            Ok(rest) if path != self.from => self.to.join(rest),
            _ => self.to.to_owned(),
        }
    }

    /// Whether all that is below it may be there.
    fn check(&self, below: &[(PathBuf, Entry)]) -> Result<(), Failure> {
        let is_long = |(_, entry): &(PathBuf, Entry)| entry.size > COPIED_BYTES_MAX;
        if below.iter().any(is_long) {
            return Err(Failure::of(libc::EXDEV));
        }
        below.iter().try_for_each(|(path, _)| self.writing.entry(&self.moved(path)).map(drop))
    }

    /// Removes what is empty by now. Returns whether that is all, but for what no list shows.
    fn remove(&self, directories: &[(PathBuf, Entry)]) -> Result<bool, Failure> {
        for (directory, _) in directories.iter().rev() {
            match self.writing.remove_directory(directory) {
                Err(failure) if failure.errno == libc::ENOTEMPTY => {
                    let left = self.writing.below(directory, BELOW_MAX)?;
                    if left.iter().any(is_file) {
                        return Ok(false);
                    }
                }
                removed => removed?,
            }
        }
        Ok(true)
    }
}

fn is_file((_, entry): &(PathBuf, Entry)) -> bool {
    entry.kind != FileType::Directory
}

impl Shown {
    /// Gives a directory another name, in the place of an empty one or of none.
    pub fn move_directory(&self, from: &Path, to: &Path, entry: Entry, writing: &dyn Writing) -> Result<(), Failure> {
        to.parent().into_iter().for_each(|parent| self.tree.forget(parent));
        match self.tree.look_up(to)?.map(|there| there.kind) {
            None => {}
            Some(FileType::Directory) if writing.below(to, BELOW_MAX).is_ok_and(|it| it.is_empty()) => {}
            Some(FileType::Directory) => return Err(Failure::of(libc::ENOTEMPTY)),
            Some(_) => return Err(Failure::of(libc::ENOTDIR)),
        }
        // An upload ends under the name that it was begun with.
        if self.written_below(from).iter().any(|it| it.hold().is_being_sent()) {
            return Err(Failure::of(libc::EBUSY));
        }
        let way = Move { from, to, writing };
        way.check(&writing.below(from, BELOW_MAX)?)?;
        let mut gone = vec![(from.to_owned(), entry)];
        self.move_all(&way, &mut gone).map_err(|failure| {
            let mut nodes = self.nodes();
            gone.iter().for_each(|(directory, entry)| nodes.moved(&way.moved(directory), directory, Some(entry)));
            drop(nodes);
            let why = format!("{} is renamed to {} in part: {failure}", from.display(), to.display());
            let failure = Failure { errno: failure.errno, why };
            self.complain(&failure);
            failure
        })
    }

    /// `gone` are the directories that the kernel is told to be there already: what is made in them from then on is
    /// made there.
    fn move_all(&self, way: &Move<'_>, gone: &mut Vec<(PathBuf, Entry)>) -> Result<(), Failure> {
        let mut known = 0;
        for _ in 0..ROUNDS {
            let (files, below): (Vec<_>, Vec<_>) =
                way.writing.below(way.from, BELOW_MAX)?.into_iter().partition(is_file);
            gone.extend(below.into_iter().filter(|it| !gone.contains(it)).collect::<Vec<_>>());
            for (directory, entry) in &gone[std::mem::replace(&mut known, gone.len())..] {
                way.writing.make_directory(&way.moved(directory))?;
                self.nodes().moved(directory, &way.moved(directory), Some(entry));
            }
            self.move_files(&files, way)?;
            // What is being written is put nowhere meanwhile.
            let open = self.written_below(way.from);
            let held: Vec<_> = open.iter().map(|it| it.hold()).collect();
            if held.iter().any(Held::is_being_sent) {
                break;
            }
            if way.remove(gone)? {
                held.into_iter().for_each(|it| self.goes_along(it, way));
                return Ok(());
            }
        }
        Err(Failure::of(libc::EBUSY))
    }

    /// What is being written goes where its directory has gone.
    fn goes_along(&self, held: Held<'_>, way: &Move<'_>) {
        if let Some(path) = held.path() {
            let moved = way.moved(&path);
            self.nodes().moved(&path, &moved, None);
            held.rename(&moved, None);
        }
    }

    fn move_files(&self, files: &[(PathBuf, Entry)], way: &Move<'_>) -> Result<(), Failure> {
        let (next, failed) = (AtomicUsize::new(0), OnceLock::new());
        let move_some = || {
            while let (Some((file, _)), None) = (files.get(next.fetch_add(1, Relaxed)), failed.get()) {
                match self.move_path(Arc::from(file.as_path()), way.moved(file).into(), false) {
                    // It was removed, or given another name, meanwhile.
                    Err(failure) if failure.errno == libc::ENOENT => {}
                    Err(failure) => _ = failed.set(failure),
                    Ok(()) => {}
                }
            }
        };
        thread::scope(|scope| {
            // If there are no more threads, this one moves them all.
            (1..files.len().min(AT_ONCE)).for_each(|_| _ = thread::Builder::new().spawn_scoped(scope, move_some));
            move_some();
        });
        failed.into_inner().map_or(Ok(()), Err)
    }
}
