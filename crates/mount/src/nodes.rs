//! What the kernel knows, by number.
//!
//! A number is one version of one file: what the kernel keeps of a file's bytes can then never be
//! another version's, and is kept across opens for as long as the version is the same. A name that
//! leads to another version leads to another number. What a number is follows from these two, so that it
//! is the same once the kernel has forgotten it, and in the next mount: archives that take what was
//! changed go by it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use foresee::store::Version;

use crate::failure::Failure;
use crate::tree::Entry;

/// The number of the root.
const ROOT: u64 = 1;

struct Node {
    path: Arc<Path>,
    entry: Entry,
    /// How often the kernel was told of it, less what it forgot.
    told: u64,
    /// Its times are by the clock of this machine. Its store has others, once it is there.
    is_dated_here: bool,
    /// Its store has another version by now.
    is_stale: bool,
    /// What is written by this number since it was begun last.
    writer: usize,
    /// The kernel may have bytes of it.
    is_read: bool,
}

impl Node {
    fn new(path: Arc<Path>, entry: Entry) -> Self {
        Node { path, entry, told: 1, is_dated_here: false, is_stale: false, writer: 0, is_read: false }
    }
}

/// All of them.
pub struct Nodes {
    by_number: HashMap<u64, Node>,
    by_path: HashMap<Arc<Path>, u64>,
}

impl Nodes {
    /// The root alone.
    pub fn new(path: &Path, entry: Entry) -> Self {
        let path: Arc<Path> = path.into();
        let by_path = HashMap::from([(Arc::clone(&path), ROOT)]);
        let root = Node::new(path, entry);
        Nodes { by_number: HashMap::from([(ROOT, root)]), by_path }
    }

    /// The kernel is told of what a path leads to. Returns its number.
    pub fn tell(&mut self, path: &Path, entry: &Entry) -> u64 {
        if let Some(&number) = self.by_path.get(path)
            && let Some(node) = self.by_number.get_mut(&number)
            && (node.entry.kind, &node.entry.version) == (entry.kind, &entry.version)
            && !node.is_stale
        {
            (node.entry, node.is_dated_here) = (entry.clone(), false);
            node.told += 1;
            return number;
        }
        let number = self.new_number(path, entry);
        let path: Arc<Path> = path.into();
        self.by_path.insert(Arc::clone(&path), number);
        self.by_number.insert(number, Node::new(path, entry.clone()));
        number
    }

    /// One that the kernel does not know.
    fn new_number(&self, path: &Path, entry: &Entry) -> u64 {
        let mut hasher = DefaultHasher::new();
        (path, &entry.version).hash(&mut hasher);
        // Programs take it for a signed one.
        let is_free = |number: &u64| *number > ROOT && !self.by_number.contains_key(number);
        (0..).map(|next| (hasher.finish().wrapping_add(next)) >> 1).find(is_free).unwrap_or_default()
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

    /// What has one path has another by now, as the kernel knows; and what is said of it there.
    pub fn moved(&mut self, from: &Path, to: &Path, entry: Option<&Entry>) {
        self.removed(to);
        if let Some(number) = self.by_path.remove(from)
            && let Some(node) = self.by_number.get_mut(&number)
        {
            // What was copied to may be another version, and even be of other bytes: its number stays if the kernel
            // has none of those, so that who looks at it and opens it then has one file.
            match entry.filter(|it| !node.is_read || it.version.is_some() && it.version == node.entry.version) {
                Some(entry) => (node.entry, node.is_dated_here) = (entry.clone(), false),
                None => node.is_stale = true,
            }
            node.path = to.into();
            self.by_path.insert(Arc::clone(&node.path), number);
        }
    }

    /// It is opened to be read.
    pub fn is_read(&mut self, number: u64) {
        if let Some(node) = self.by_number.get_mut(&number) {
            node.is_read = true;
        }
    }

    /// It is written anew, by this writer. However that ends, the number is of no version that is there, unless
    /// it is told that it is: who opens it after that looks the name up anew.
    pub fn is_begun(&mut self, number: u64, writer: usize) {
        if let Some(node) = self.by_number.get_mut(&number) {
            (node.is_stale, node.writer) = (true, writer);
        }
    }

    /// It was written by this writer, nobody has it open, the kernel has no bytes of it, and this version is there
    /// now, if its path leads to it still and nobody has begun it anew.
    pub fn is_written(&mut self, number: u64, path: &Path, version: Version, writer: usize) {
        if self.by_path.get(path) == Some(&number)
            && let Some(node) = self.by_number.get_mut(&number).filter(|it| it.writer == writer)
        {
            node.entry.version = Some(version);
            (node.is_stale, node.is_read) = (false, false);
        }
    }

    /// What it leads to is this by now.
    pub fn is_now(&mut self, number: u64, entry: Entry) {
        if let Some(node) = self.by_number.get_mut(&number) {
            (node.entry, node.is_dated_here) = (entry, false);
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
        if let Some(Node { entry, is_dated_here, .. }) = self.by_number.get_mut(&number) {
            let now = SystemTime::now();
            (entry.size, entry.modified, entry.changed, *is_dated_here) = (size, now, now, true);
        }
    }

    /// Whether its times are of this machine: its store has others, once it is there.
    pub fn is_dated_here(&self, number: u64) -> bool {
        self.by_number.get(&number).is_some_and(|node| node.is_dated_here)
    }

    /// It is there, and its times are those of this entry, if that is known.
    pub fn is_dated(&mut self, number: u64, entry: Option<&Entry>) {
        if let Some(node) = self.by_number.get_mut(&number) {
            node.is_dated_here = false;
            if let Some(&Entry { modified, changed, .. }) = entry {
                (node.entry.modified, node.entry.changed) = (modified, changed);
            }
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

    #[test]
    fn what_is_moved_keeps_its_number_unless_the_kernel_may_have_other_bytes() {
        let (from, to) = (Path::new("/r/a"), Path::new("/r/b"));
        for (is_read, version, stays) in [(false, "2", true), (true, "1", true), (true, "2", false)] {
            let mut nodes = Nodes::new(Path::new("/r"), entry("r"));
            let number = nodes.tell(from, &entry("1"));
            if is_read {
                nodes.is_read(number);
            }
            nodes.moved(from, to, Some(&entry(version)));
            assert_eq!(nodes.tell(to, &entry(version)) == number, stays, "{is_read} {version}");
            assert!(nodes.tell(from, &entry("1")) != number);
        }
    }
}
