//! A tree that somebody walks: its directories are listed before he comes to them, and if he reads
//! its files, those are told of as well.
//!
//! Three directories that were read in the order of a walk are one: each is the first one in the
//! one before it, or the next one beside it. It goes no further ahead than twice as many
//! directories as were read, and as many files.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use foresee_run::hints::{Found, Walk};
use foresee_run::host::Listed;

/// Directories read before, that a walk may be seen in.
const RECENT_MAX: usize = 64;
/// Directories and files ahead of who walks, at most.
const DIRECTORIES_MAX: usize = 128;
const FILES_MAX: usize = 512;
/// Files read in a row that lie elsewhere end it.
const ASTRAY_MAX: usize = 16;

/// A walk that goes on.
struct Walking {
    root: PathBuf,
    walk: Walk,
    /// Being listed.
    wanted: HashSet<PathBuf>,
    directories_read: usize,
    directories_listed: usize,
    files_read: usize,
    astray: usize,
}

/// The last directories that were read, and the walk that they are, if they are one.
#[derive(Default)]
pub struct Walks {
    /// Each with the one that comes before it in a walk.
    recent: VecDeque<(PathBuf, PathBuf)>,
    walking: Option<Walking>,
    has_ended: bool,
}

/// What a walk reads before this directory: the one beside it, or the one that it is in.
fn before(path: &Path, above: &[Listed]) -> Option<PathBuf> {
    let directories: Vec<_> = above.iter().filter(|it| it.is_directory).map(|it| &*it.path).collect();
    match directories.iter().position(|it| *it == path)? {
        0 => path.parent().map(Path::to_owned),
        at => Some(directories[at - 1].to_owned()),
    }
}

impl Walks {
    /// A reader lists a directory, in the one above it that has these entries.
    pub fn read_directory(&mut self, path: &Path, above: &[Listed]) {
        if let Some(walking) = self.walking.as_mut().filter(|it| path.starts_with(&it.root)) {
            walking.directories_read += 1;
            return;
        }
        // The first one of a walk has none before it.
        let before = before(path, above).unwrap_or_default();
        let of = |path: &Path| self.recent.iter().find(|(it, _)| it == path);
        let is_walk = of(&before).and_then(|(_, first)| of(first)).is_some();
        self.recent.push_back((path.to_owned(), before));
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
        if let Some(root) = path.parent().filter(|_| is_walk) {
            self.has_ended |= self.walking.is_some();
            // Where it came from is not known if it descended all the time: then what lies beside is found when
            // it comes up.
            let walk = Walk::new(vec![root.to_owned()], true, false);
            let (root, wanted) = (root.to_owned(), HashSet::new());
            let (directories_read, directories_listed, files_read, astray) = (3, 0, 0, 0);
            self.walking =
                Some(Walking { root, walk, wanted, directories_read, directories_listed, files_read, astray });
            self.recent.clear();
        }
    }

    /// A reader reads a file, which was told of or not. Returns whether that is a walk's.
    pub fn visited(&mut self, path: &Path, was_told: bool) -> bool {
        let Some(walking) = &mut self.walking else { return false };
        let is_of_walk = path.starts_with(&walking.root) && (was_told || walking.walk.skip_past(path));
        if is_of_walk {
            walking.astray = 0;
            walking.files_read += 1;
            return true;
        }
        walking.astray += 1;
        if walking.astray > ASTRAY_MAX {
            self.walking = None;
            self.has_ended = true;
        }
        false
    }

    /// The next directory to list.
    pub fn next_listing(&mut self) -> Option<PathBuf> {
        let walking = self.walking.as_mut()?;
        let ahead = walking.directories_listed.saturating_sub(walking.directories_read);
        if ahead >= (2 * walking.directories_read).min(DIRECTORIES_MAX) {
            return None;
        }
        let path = walking.walk.next_listing()?.to_owned();
        walking.directories_listed += 1;
        walking.wanted.insert(path.clone());
        Some(path)
    }

    /// Whether it waits for this directory's entries.
    pub fn wants(&self, path: &Path) -> bool {
        self.walking.as_ref().is_some_and(|walking| walking.wanted.contains(path))
    }

    /// A directory was listed.
    pub fn listed(&mut self, path: &Path, entries: io::Result<Vec<Listed>>) {
        let Some(walking) = &mut self.walking else { return };
        walking.wanted.remove(path);
        walking.walk.listed(path, entries);
    }

    /// The next file that will be read, if files are, and so many have been told of and not been
    /// read.
    pub fn next_found(&mut self, told: usize) -> Option<PathBuf> {
        let walking = self.walking.as_mut()?;
        if told >= (2 * walking.files_read).min(FILES_MAX) {
            return None;
        }
        loop {
            match walking.walk.next_found()? {
                Found::File(path) => return Some(path),
                Found::Directory(_) => {}
            }
        }
    }

    /// Whether a walk has ended since this was asked last: what it told of will not be read.
    pub fn take_ended(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, is_directory: bool) -> Listed {
        Listed { path: path.into(), is_directory, is_file: !is_directory, inode: 0 }
    }

    fn root() -> Vec<Listed> {
        ["/r/a", "/r/b", "/r/c", "/r/d", "/r/e"].map(|path| entry(path, true)).into()
    }

    /// One that has begun, with all that it wants listed.
    fn walked() -> Walks {
        let mut walks = Walks::default();
        walks.read_directory(Path::new("/r"), &[]);
        walks.read_directory(Path::new("/r/a"), &root());
        assert_eq!(walks.next_listing(), None);
        walks.read_directory(Path::new("/r/b"), &root());
        walks
    }

    fn list_all(walks: &mut Walks) -> usize {
        let mut count = 0;
        while let Some(path) = walks.next_listing() {
            assert!(walks.wants(&path));
            let file = |number: u32| entry(&format!("{}/{number}", path.display()), false);
            let entries = if path == Path::new("/r") { root() } else { (0..3).map(file).collect() };
            walks.listed(&path, Ok(entries));
            count += 1;
        }
        count
    }

    #[test]
    fn three_directories_in_order_are_a_walk_and_others_are_not() {
        assert_eq!(list_all(&mut walked()), 6);
        let mut walks = Walks::default();
        for (path, above) in [("/r", vec![]), ("/r/a", root()), ("/r/d", root()), ("/r/c", root())] {
            walks.read_directory(Path::new(path), &above);
            assert_eq!(walks.next_listing(), None, "{path}");
        }
    }

    #[test]
    fn files_are_told_of_as_they_are_read() {
        let mut walks = walked();
        list_all(&mut walks);
        assert_eq!(walks.next_found(0), None);
        assert!(walks.visited(Path::new("/r/b/0"), false));
        let found: Vec<_> = (0..9).map_while(|told| walks.next_found(told)).collect();
        assert_eq!(found, ["/r/b/1", "/r/b/2"].map(PathBuf::from));
        assert!(walks.visited(Path::new("/r/b/1"), true));
        let found: Vec<_> = (1..9).map_while(|told| walks.next_found(told)).collect();
        assert_eq!(found, ["/r/c/0", "/r/c/1", "/r/c/2"].map(PathBuf::from));
    }

    #[test]
    fn who_reads_elsewhere_has_left_it() {
        let mut walks = walked();
        list_all(&mut walks);
        for _ in 0..ASTRAY_MAX {
            assert!(!walks.visited(Path::new("/x/y"), false) && !walks.take_ended());
        }
        assert!(!walks.visited(Path::new("/x/y"), false) && walks.take_ended());
        assert!(walks.next_listing().is_none() && !walks.wants(Path::new("/r/d")));
    }
}
