//! What the kernel knows, by number.
//!
//! A number is one version of one file: what the kernel keeps of a file's bytes can then never be
//! another version's, and is kept across opens for as long as the version is the same. A name that
//! leads to another version leads to another number.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::failure::Failure;
use crate::tree::Entry;

/// The number of the root.
const ROOT: u64 = 1;

struct Node {
    path: Arc<Path>,
    entry: Entry,
    /// How often the kernel was told of it, less what it forgot.
    told: u64,
    /// Its store has another version by now.
    is_stale: bool,
}

/// All of them.
pub struct Nodes {
    by_number: HashMap<u64, Node>,
    by_path: HashMap<Arc<Path>, u64>,
    last: u64,
}

impl Nodes {
    /// The root alone.
    pub fn new(path: &Path, entry: Entry) -> Self {
        let path: Arc<Path> = path.into();
        let by_path = HashMap::from([(Arc::clone(&path), ROOT)]);
        let root = Node { path, entry, told: 1, is_stale: false };
        Nodes { by_number: HashMap::from([(ROOT, root)]), by_path, last: ROOT }
    }

    /// The kernel is told of what a path leads to. Returns its number.
    pub fn tell(&mut self, path: &Path, entry: &Entry) -> u64 {
        if let Some(&number) = self.by_path.get(path)
            && let Some(node) = self.by_number.get_mut(&number)
            && (node.entry.kind, &node.entry.version) == (entry.kind, &entry.version)
            && !node.is_stale
        {
            node.entry = entry.clone();
            node.told += 1;
            return number;
        }
        self.last += 1;
        let path: Arc<Path> = path.into();
        self.by_path.insert(Arc::clone(&path), self.last);
        self.by_number.insert(self.last, Node { path, entry: entry.clone(), told: 1, is_stale: false });
        self.last
    }

    /// The kernel is told of a number once more, if it is there.
    pub fn tell_again(&mut self, number: u64) -> Option<u64> {
        self.by_number.get_mut(&number)?.told += 1;
        Some(number)
    }

    /// Nothing of this path is there any more; who has it open keeps it.
    pub fn removed(&mut self, path: &Path) {
        if let Some(number) = self.by_path.remove(path)
            && let Some(node) = self.by_number.get_mut(&number)
        {
            node.is_stale = true;
            node.entry.links = 0;
        }
    }

    /// What has one path has another by now, as the kernel knows.
    pub fn moved(&mut self, from: &Path, to: &Path) {
        self.removed(to);
        if let Some(number) = self.by_path.remove(from)
            && let Some(node) = self.by_number.get_mut(&number)
        {
            // Its version may be another one where it was copied to.
            node.is_stale = true;
            node.path = to.into();
            self.by_path.insert(Arc::clone(&node.path), number);
        }
    }

    /// The kernel forgot what it was told so many times.
    pub fn forget(&mut self, number: u64, times: u64) {
        let Some(node) = self.by_number.get_mut(&number).filter(|_| number != ROOT) else { return };
        node.told = node.told.saturating_sub(times);
        if node.told == 0
            && let Some(Node { path, .. }) = self.by_number.remove(&number)
            && self.by_path.get(&path) == Some(&number)
        {
            self.by_path.remove(&path);
        }
    }

    /// Its path, and what that led to.
    pub fn get(&self, number: u64) -> Result<(Arc<Path>, &Entry), Failure> {
        let node = self.by_number.get(&number).ok_or_else(|| Failure::of(libc::ESTALE))?;
        Ok((Arc::clone(&node.path), &node.entry))
    }

    /// Its path.
    pub fn path(&self, number: u64) -> Result<Arc<Path>, Failure> {
        self.get(number).map(|(path, _)| path)
    }

    /// It was just written or cut, and has so many bytes by now.
    pub fn resize(&mut self, number: u64, size: u64) {
        if let Some(Node { entry, .. }) = self.by_number.get_mut(&number) {
            let now = SystemTime::now();
            (entry.size, entry.modified, entry.changed) = (size, now, now);
        }
    }

    /// Whether its store is known to have another version.
    pub fn is_stale(&self, number: u64) -> bool {
        self.by_number.get(&number).is_none_or(|node| node.is_stale)
    }

    /// Its store has another version.
    pub fn make_stale(&mut self, number: u64) {
        if let Some(node) = self.by_number.get_mut(&number) {
            node.is_stale = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use foresee::store::Version;
    use fuser::FileType;

    use super::*;

    fn entry(version: &str) -> Entry {
        let (kind, now) = (FileType::RegularFile, SystemTime::UNIX_EPOCH);
        let version = Some(Version::Tag(version.into()));
        Entry { kind, size: 0, modified: now, changed: now, perm: 0o644, uid: 0, gid: 0, links: 1, version }
    }

    #[test]
    fn a_number_is_one_version_for_as_long_as_somebody_knows_it() {
        let path = Path::new("/r/a");
        let mut nodes = Nodes::new(Path::new("/r"), entry("r"));
        let first = nodes.tell(path, &entry("1"));
        assert_eq!(nodes.tell(path, &entry("1")), first);
        let second = nodes.tell(path, &entry("2"));
        assert!(second != first && nodes.get(first).unwrap().1.version == entry("1").version);
        nodes.forget(first, 1);
        assert!(nodes.get(first).is_ok());
        nodes.forget(first, 1);
        assert!(nodes.get(first).is_err() && nodes.tell(path, &entry("2")) == second);
        nodes.make_stale(second);
        assert!(nodes.is_stale(second) && nodes.tell(path, &entry("2")) != second);
        nodes.forget(ROOT, 5);
        assert!(nodes.get(ROOT).is_ok());
    }
}
