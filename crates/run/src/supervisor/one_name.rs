//! What files are called in a trace. To whoever follows a program a path is a file (`names.rs`); to
//! a cache two paths that lead to one inode are, and a trace is read by simulated caches. There a
//! file that is opened by several names has the one that it was opened by first.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use foldhash::HashMap;
use foresee_manager::FileId;

use crate::names::{Identity, Names};

/// The names by which files were opened first.
#[derive(Default)]
pub(super) struct OneName {
    /// By what is behind the paths.
    first: HashMap<Identity, FileId>,
    /// What each path led to when it was last looked up here, and by what name that goes.
    known: HashMap<FileId, (Identity, FileId)>,
}

impl OneName {
    /// The path that stands for what this one leads to.
    pub fn of(&mut self, file: FileId, names: &Names) -> FileId {
        let Some(identity) = names.identity(file) else { return file };
        if let Some(&(known, first)) = self.known.get(&file)
            && known == identity
            && names.identity(first) == Some(identity)
        {
            return first;
        }
        // Inodes are used again: the first path must still lead there.
        let leads_there = |&first: &FileId| first == file || leads_to(names.path(first), identity);
        let first = self.first.get(&identity).copied().filter(leads_there).unwrap_or(file);
        self.first.insert(identity, first);
        self.known.insert(file, (identity, first));
        first
    }
}

fn leads_to(path: &Path, (device, inode): Identity) -> bool {
    std::fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (device, inode))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn what_is_opened_by_several_names_is_one_file_as_long_as_it_is_there() {
        let folder = std::env::temp_dir().join(format!("foresee-one-name-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        fs::write(path("a"), "1").unwrap();
        fs::hard_link(path("a"), path("b")).unwrap();
        std::os::unix::fs::symlink("a", path("c")).unwrap();
        fs::write(path("other"), "2").unwrap();
        let identity = |path: &PathBuf| fs::metadata(path).map(|it| (it.dev(), it.ino())).unwrap();
        let (mut names, mut one) = (Names::default(), OneName::default());
        let mut called = |path: PathBuf, identity| {
            let file = names.of_path(&path).unwrap();
            names.identify(file, identity);
            names.path(one.of(file, &names)).to_owned()
        };
        let first = identity(&path("a"));
        for name in ["a", "b", "c"] {
            assert_eq!(called(path(name), first), path("a"));
        }
        assert_eq!(called(path("other"), identity(&path("other"))), path("other"));
        // Another file has the first name: that of the link is its own then.
        fs::rename(path("other"), path("a")).unwrap();
        assert_eq!(called(path("a"), identity(&path("a"))), path("a"));
        assert_eq!(called(path("b"), first), path("b"));
        // Another file of the same inode, once the first is gone.
        fs::remove_file(path("b")).unwrap();
        fs::remove_file(path("a")).unwrap();
        assert_eq!(called(path("d"), first), path("d"));
        fs::remove_dir_all(folder).unwrap();
    }
}
