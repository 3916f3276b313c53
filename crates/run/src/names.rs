//! Files by name: the numbers under which the manager knows them.
//!
//! A path is a file here, even if two paths lead to one inode: inodes are used again as soon as
//! they are free, and a program's temporary files would lend their names to whatever comes next.
//! What is behind a path may change; then its inode tells.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foldhash::HashMap;
use foresee_manager::FileId;

use crate::paths::PathTable;

/// What identifies a file whatever it is called, as long as it exists: device and inode.
pub type Identity = (u64, u64);

/// Names that are followed at most. Some 200 bytes each; a program that looks at more files is
/// followed no further.
const NAMES_MAX: usize = 1 << 20;

/// Bytes of names at most.
const NAMES_BYTES_MAX: usize = 1 << 27;

/// A table of files. Numbers are given in the order of first mention and never reused.
#[derive(Default)]
pub struct Names {
    paths: PathTable,
    identities: HashMap<FileId, Identity>,
}

impl Names {
    /// The number of the file of this absolute path; None when there are too many.
    pub fn of_path(&mut self, path: &Path) -> Option<FileId> {
        let known = self.paths.paths();
        if known.len() < NAMES_MAX && known.bytes() + path.as_os_str().len() <= NAMES_BYTES_MAX {
            Some(FileId(self.paths.number(path)))
        } else {
            self.paths.find(path).map(FileId)
        }
    }

    /// The path proved to lead to this. Returns whether it led elsewhere before.
    pub fn identify(&mut self, file: FileId, identity: Identity) -> bool {
        self.identities.insert(file, identity).is_some_and(|before| before != identity)
    }

    /// What the path led to last.
    pub fn identity(&self, file: FileId) -> Option<Identity> {
        self.identities.get(&file).copied()
    }

    /// What a directory is called that was opened by this name. Who walks a tree opens `..` of each
    /// directory that it is through with, and its names would grow without end: where the directory
    /// above, as far as names say, proves to be the one, it is called so.
    pub fn of_directory(&mut self, path: &Path, identity: Identity) -> Option<FileId> {
        let above = path.ends_with("..").then(|| path.parent()?.parent()).flatten();
        let above = above.and_then(|above| self.paths.find(above).map(FileId));
        let directory = match above.filter(|&above| self.identity(above) == Some(identity)) {
            Some(above) => above,
            None => self.of_path(path)?,
        };
        self.identify(directory, identity);
        Some(directory)
    }

    /// How many numbers were given.
    pub fn count(&self) -> usize {
        self.paths.paths().len()
    }

    /// The path a number was given for.
    pub fn path(&self, file: FileId) -> &Path {
        self.paths.paths().get(file.0).unwrap_or(Path::new(""))
    }
}

/// `path` as seen from `base`, without empty and `.` components. `..` stays: what it means depends
/// on links.
pub fn absolute(base: &Path, path: &[u8]) -> PathBuf {
    let joined = base.join(OsStr::from_bytes(path));
    // Most are: to take them apart and put them together again takes longer than to look.
    if is_tidy(joined.as_os_str().as_bytes()) { joined } else { joined.components().collect() }
}

/// Whether this absolute path has no empty and no `.` components.
fn is_tidy(path: &[u8]) -> bool {
    path == b"/" || path.split(|&byte| byte == b'/').skip(1).all(|part| !matches!(part, b"" | b"."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_elsewhere_is_noticed() {
        let mut names = Names::default();
        let file = names.of_path(Path::new("/a/b")).unwrap();
        assert_eq!(names.of_path(Path::new("/a/b")), Some(file));
        assert_ne!(names.of_path(Path::new("/a/c")), Some(file));
        assert!(!names.identify(file, (1, 7)));
        assert!(!names.identify(file, (1, 7)));
        assert!(names.identify(file, (1, 8)));
        assert_eq!(names.path(file), Path::new("/a/b"));
    }

    #[test]
    fn who_goes_up_again_is_where_it_was() {
        let mut names = Names::default();
        let above = names.of_directory(Path::new("/a"), (1, 7)).unwrap();
        let below = names.of_directory(Path::new("/a/b"), (1, 8)).unwrap();
        assert_eq!(names.of_directory(Path::new("/a/b/.."), (1, 7)), Some(above));
        // A link led there: above it lies something else.
        let other = names.of_directory(Path::new("/a/b/.."), (1, 9)).unwrap();
        assert!(other != above && other != below);
        assert_eq!(names.path(other), Path::new("/a/b/.."));
        let unknown = names.of_directory(Path::new("/c/d/.."), (1, 7)).unwrap();
        assert_eq!(names.path(unknown), Path::new("/c/d/.."));
        let root = names.of_directory(Path::new("/.."), (1, 2)).unwrap();
        assert_eq!(names.path(root), Path::new("/.."));
    }

    #[test]
    fn paths_are_joined_and_tidied() {
        assert_eq!(absolute(Path::new("/a"), b"./b//c"), Path::new("/a/b/c"));
        assert_eq!(absolute(Path::new("/a"), b"/d/../e"), Path::new("/d/../e"));
        let untidy: [&[u8]; 12] =
            [b"", b".", b"/", b"//", b"/.", b"./", b"b/", b"/b/", b"b/.", b"b/./c", b"//b", b"/b//.c./..d/.."];
        for path in untidy {
            let tidied: PathBuf = Path::new("/a").join(OsStr::from_bytes(path)).components().collect();
            let found = absolute(Path::new("/a"), path);
            // By their bytes, as names are compared.
            assert_eq!(found.as_os_str(), tidied.as_os_str());
        }
    }
}
