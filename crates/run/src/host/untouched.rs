//! Mounts behind a network or a daemon of which no program has asked anything yet: nor do we.
//!
//! What a program is told to read is asked for before it asks, but some of that is no name at all,
//! and the kernel asks many daemons about one name of a directory at a time: the program's first
//! look-up would wait for one that leads nowhere. (Over sshfs, 20 ms away, `head -c 1000000 FILE`
//! took 0.26 s for 0.22.) So what would be asked there waits until a program names something, and
//! what it has passed by then is not asked at all.

use std::path::{Path, PathBuf};

use foresee_manager::FileId;

use super::mounts::{Kind, Table};
use super::workers::Purpose;

/// What is to be asked of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// What a name leads to.
    Look(FileId),
    /// What is in a directory.
    List(Purpose),
}

/// The mounts, and what is to be asked of them.
#[derive(Debug)]
pub struct Untouched {
    table: Table,
    points: Vec<PathBuf>,
    waiting: Vec<(PathBuf, Question)>,
}

impl Untouched {
    /// Nothing has been asked of any of these.
    pub fn new(table: Table) -> Self {
        let points = table.points(Kind::Foreign);
        Untouched { table, points, waiting: Vec::new() }
    }

    /// Where the path lies, if that is on such a mount.
    fn point_of(&self, path: &Path) -> Option<&Path> {
        // Most machines have none, and most paths do not lie there.
        if !self.points.iter().any(|point| path.starts_with(point)) {
            return None;
        }
        let of = self.table.on_path(path)?;
        self.points.iter().find(|point| **point == of.point).map(PathBuf::as_path)
    }

    /// Whether this waits.
    pub fn hold(&mut self, path: &Path, question: Question) -> bool {
        let waits = self.point_of(path).is_some();
        if waits {
            self.waiting.push((path.to_owned(), question));
        }
        waits
    }

    /// A program named this. Of what waited for that it has passed the first part by; the second is
    /// asked now: what comes after the name, or all if it was not among them.
    pub fn named(&mut self, path: &Path) -> [Vec<(PathBuf, Question)>; 2] {
        let Some(point) = self.point_of(path).map(Path::to_owned) else { return Default::default() };
        self.points.retain(|it| *it != point);
        let waiting = std::mem::take(&mut self.waiting);
        let (mut there, elsewhere): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(it, _)| it.starts_with(&point));
        self.waiting = elsewhere;
        let passed = there.iter().position(|(it, _)| it == path).unwrap_or(0);
        let asked = there.split_off(passed);
        [there, asked]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untouched() -> Untouched {
        let text = "1 0 254:0 / / rw - ext4 /dev/vda rw
2 1 0:38 / /far rw - fuse.sshfs host: rw
3 2 254:1 / /far/disk rw - ext4 /dev/vdb rw
4 1 0:39 / /else rw - nfs4 host:/ rw
";
        Untouched::new(Table::parse(text.as_bytes()))
    }

    fn names(asked: &[(PathBuf, Question)]) -> Vec<&str> {
        asked.iter().map(|(path, _)| path.to_str().unwrap()).collect()
    }

    #[test]
    fn what_is_asked_of_a_foreign_mount_waits_until_a_program_asks() {
        let mut untouched = untouched();
        let mut hold = |path: &str| untouched.hold(Path::new(path), Question::Look(FileId(0)));
        assert!(!hold("/a") && !hold("/farther") && !hold("/far/disk/a"));
        assert!(hold("/far/1000") && hold("/far/a") && hold("/else/a") && hold("/far/b"));
        assert_eq!(untouched.named(Path::new("/a")), [const { Vec::new() }; 2]);
        let [passed, asked] = untouched.named(Path::new("/far/a"));
        assert_eq!((names(&passed), names(&asked)), (vec!["/far/1000"], vec!["/far/a", "/far/b"]));
        assert!(!untouched.hold(Path::new("/far/c"), Question::List(Purpose::Walk)));
        assert!(untouched.hold(Path::new("/else/b"), Question::List(Purpose::Walk)));
        let [passed, asked] = untouched.named(Path::new("/else/other"));
        assert_eq!((passed.len(), names(&asked)), (0, vec!["/else/a", "/else/b"]));
    }
}
