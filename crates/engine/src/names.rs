//! Files by name and by identity: the numbers under which the manager knows them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foresee_manager::FileId;

/// What identifies a file whatever it is called: device and inode.
pub type Identity = (u64, u64);

/// A table of files. Numbers are given in the order of first mention and never reused.
#[derive(Default)]
pub struct Names {
    paths: Vec<PathBuf>,
    by_path: HashMap<PathBuf, FileId>,
    by_identity: HashMap<Identity, FileId>,
}

impl Names {
    /// The number of the file of this absolute path; None when there are more files than numbers.
    pub fn of_path(&mut self, path: &Path) -> Option<FileId> {
        if let Some(&file) = self.by_path.get(path) {
            return Some(file);
        }
        if self.paths.len() as u32 >= FileId::LIMIT {
            return None;
        }
        let file = FileId(self.paths.len() as u32);
        self.paths.push(path.to_owned());
        self.by_path.insert(path.to_owned(), file);
        Some(file)
    }

    /// The number of an opened file: its path's if that is known, else that of another name of the same file.
    pub fn of_opened(&mut self, path: &Path, identity: Identity) -> Option<FileId> {
        let known = self.by_path.get(path).or_else(|| self.by_identity.get(&identity)).copied();
        let file = known.or_else(|| self.of_path(path))?;
        self.identify(file, identity);
        Some(file)
    }

    /// The file proved to be this one.
    pub fn identify(&mut self, file: FileId, identity: Identity) {
        self.by_identity.entry(identity).or_insert(file);
    }

    /// The path a number was given for.
    pub fn path(&self, file: FileId) -> &Path {
        self.paths.get(file.0 as usize).map_or(Path::new(""), PathBuf::as_path)
    }
}

/// `path` as seen from `base`, without empty and `.` components. `..` stays: what it means depends on links.
pub fn absolute(base: &Path, path: &[u8]) -> PathBuf {
    base.join(OsStr::from_bytes(path)).components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_under_two_names_is_one_file() {
        let mut names = Names::default();
        let first = names.of_opened(Path::new("/a/b"), (1, 7)).unwrap();
        assert_eq!(names.of_opened(Path::new("/a/link"), (1, 7)), Some(first));
        assert_ne!(names.of_opened(Path::new("/a/c"), (1, 8)), Some(first));
        assert_eq!(names.path(first), Path::new("/a/b"));
    }

    #[test]
    fn paths_are_joined_and_tidied() {
        assert_eq!(absolute(Path::new("/a"), b"./b//c"), Path::new("/a/b/c"));
        assert_eq!(absolute(Path::new("/a"), b"/d/../e"), Path::new("/d/../e"));
    }
}
