//! Reads ahead across files: what comes next where a directory's files are read in an order, or all
//! of them in none, and where a tree is walked.
//!
//! Which files those are is found out by the pieces that `foresee run` has for it ([`Listings`],
//! and [`walk`]); here they are planned in the cache in their order; what has to be listed or
//! opened for that is by threads of its own, and no lock is held meanwhile.

mod walk;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use foresee::{Cache, File, Plan};
use foresee_run::hints::Listings;
use foresee_run::host::Listed;
use foresee_run::limit;
use foresee_run::pool::{Pool, lock};
use fuser::FileType;

use crate::tree::{Entry, Tree};
use crate::view::STACK_BYTES;

use walk::Walks;

/// Of a large file its beginning: then its own run is seen.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// A read that took less waited for nobody.
const WAITED_MIN: Duration = Duration::from_micros(500);
/// Files that are held open for their readers. More than are told of at one time.
const HELD_MAX: usize = 1024;
/// Where each of them takes a descriptor, they are this part of those that there may be at most, and
/// as many are being opened: the rest is for readers.
const DESCRIPTORS_PART: u64 = 8;
/// Directories that are listed and files that are opened ahead at once.
const TASKS_MAX: usize = 48;

/// What is known of the readers, and what was planned for them.
struct State {
    listings: Listings,
    walks: Walks,
    plan: Option<Plan>,
    /// Files that are told of once they and all before them are open; None where one is not yet.
    opening: VecDeque<(PathBuf, Option<Opened>)>,
    held: HashMap<PathBuf, File>,
    /// As many are held at most, and are being opened.
    held_max: usize,
}

/// What became of a file that was to be opened ahead.
type Opened = Option<File>;

/// What may wait for a store.
enum Task {
    List(PathBuf),
    Open(PathBuf),
}

/// For all readers of the mount.
struct Readers {
    tree: Arc<dyn Tree>,
    root: PathBuf,
    cache: Cache,
    state: Mutex<State>,
}

/// Reads ahead for them.
pub struct Ahead {
    readers: Arc<Readers>,
    workers: Arc<Pool<Task>>,
}

impl Ahead {
    /// For those who read by this handle of the cache, below this root.
    pub fn new(tree: Arc<dyn Tree>, root: &Path, cache: Cache) -> Self {
        let state = Mutex::new(State::new(held_max(&*tree, limit::soft(libc::RLIMIT_NOFILE))));
        let readers = Arc::new(Readers { tree, root: root.to_owned(), cache, state });
        let served = Arc::clone(&readers);
        let workers = Arc::new_cyclic(|workers: &Weak<Pool<Task>>| {
            let workers = Weak::clone(workers);
            Pool::with_stacks(STACK_BYTES, TASKS_MAX, TASKS_MAX, move |task: Task| {
                let next = served.done(task);
                if let Some(workers) = workers.upgrade() {
                    next.into_iter().for_each(|task| workers.add(task));
                }
            })
        });
        Ahead { readers, workers }
    }

    /// A file was read from its beginning, which took so long.
    pub fn visited(&self, path: &Path, took: Duration) {
        self.follow(|state| {
            let was_told = state.take_told(path);
            if !state.walks.visited(path, was_told) {
                state.listings.visited(path, took >= WAITED_MIN);
            }
        });
    }

    /// A directory was listed by a reader.
    pub fn listed(&self, path: &Path) {
        // Its names are known by now, and those of the directory above it.
        let above = path.parent().filter(|above| above.starts_with(&self.readers.root));
        let above = above.and_then(|above| self.readers.entries(above).ok());
        self.follow(|state| state.walks.read_directory(path, above.as_deref().unwrap_or_default()));
    }

    fn follow(&self, tell: impl FnOnce(&mut State)) {
        let mut state = lock(&self.readers.state);
        tell(&mut state);
        let next = state.next();
        drop(state);
        next.into_iter().for_each(|task| self.workers.add(task));
    }
}

/// How many files of this tree are held open by who may have so many descriptors.
fn held_max(tree: &dyn Tree, descriptors: u64) -> usize {
    let part = usize::try_from(descriptors / DESCRIPTORS_PART).unwrap_or(usize::MAX);
    if tree.is_of_this_machine() { part.clamp(1, HELD_MAX) } else { HELD_MAX }
}

impl State {
    fn new(held_max: usize) -> Self {
        let (listings, walks, plan) = (Listings::default(), Walks::default(), None);
        State { listings, walks, plan, opening: VecDeque::new(), held: HashMap::new(), held_max }
    }

    /// A reader reads a file. Returns whether it was told of, or was about to be.
    fn take_told(&mut self, path: &Path) -> bool {
        let opening = self.opening.iter().position(|(it, _)| it == path);
        opening.and_then(|at| self.opening.remove(at)).is_some() | self.held.remove(path).is_some()
    }

    /// What is to be done next.
    fn next(&mut self) -> Vec<Task> {
        let is_withdrawn =
            self.walks.take_ended() | (std::iter::from_fn(|| self.listings.next_withdrawn()).count() > 0);
        if is_withdrawn {
            (self.plan, self.held) = (None, HashMap::new());
            self.opening.clear();
        }
        let mut tasks = Vec::new();
        while self.opening.len() < self.held_max {
            // What a walk told of stays held, by which it is seen that the walk goes on.
            let told = self.held.len() + self.opening.len();
            let of_walk = if told < self.held_max { self.walks.next_found(told) } else { None };
            let Some(path) = of_walk.or_else(|| self.listings.next_found().map(|(_, path)| path)) else { break };
            self.opening.push_back((path.clone(), None));
            tasks.push(Task::Open(path));
        }
        let of_walks = std::iter::from_fn(|| self.walks.next_listing());
        tasks.extend(of_walks.chain(std::iter::from_fn(|| self.listings.next_listing())).map(Task::List));
        tasks
    }

    /// A file is open, or cannot be: it is told of, and those behind it that waited for it.
    fn opened(&mut self, path: &Path, file: Opened, cache: &Cache) {
        // One that its reader has come to meanwhile, or that was withdrawn, is not told of.
        if let Some((_, opening)) = self.opening.iter_mut().find(|(it, opened)| it == path && opened.is_none()) {
            *opening = Some(file);
        }
        while self.opening.front().is_some_and(|(_, opened)| opened.is_some()) {
            let Some((path, Some(Some(file)))) = self.opening.pop_front() else { continue };
            let plan = self.plan.get_or_insert_with(|| cache.plan());
            // This cache opened it.
            let _ = plan.range(&file, 0..FILE_BYTES_MAX.min(file.len()));
            if self.held.len() >= self.held_max {
                self.held.clear();
            }
            self.held.insert(path, file);
        }
    }
}

impl Readers {
    fn entries(&self, path: &Path) -> io::Result<Vec<Listed>> {
        let listed = |(name, entry): &(std::ffi::OsString, Entry)| Listed {
            path: path.join(name),
            is_directory: entry.kind == FileType::Directory,
            is_file: entry.kind == FileType::RegularFile,
            inode: 0,
        };
        let names = self.tree.list(path).map_err(|failure| io::Error::from_raw_os_error(failure.errno))?;
        Ok(names.iter().map(listed).collect())
    }

    fn open(&self, path: &Path) -> Opened {
        let entry = self.tree.look_up(path).ok()??;
        self.tree.open(&self.cache, path, &entry).ok()
    }

    /// Does a task, and tells whoever wanted that. Returns what is to be done next.
    fn done(&self, task: Task) -> Vec<Task> {
        let mut state;
        match task {
            Task::List(path) => {
                let entries = self.entries(&path);
                state = lock(&self.state);
                match state.walks.wants(&path) {
                    true => state.walks.listed(&path, entries),
                    false => state.listings.listed(&path, entries),
                }
            }
            Task::Open(path) => {
                let opened = self.open(&path);
                state = lock(&self.state);
                state.opened(&path, opened, &self.cache);
            }
        }
        state.next()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::tree::Directory;

    /// A directory with three files of a block each.
    fn directory() -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let root = std::env::temp_dir().join(format!("foresee-ahead-{}-{number}", std::process::id()));
        fs::create_dir(&root).unwrap();
        ["a", "b", "c"].iter().for_each(|name| fs::write(root.join(name), [7; 4096]).unwrap());
        root
    }

    #[test]
    fn files_are_told_of_in_their_order_however_they_are_opened() {
        let root = directory();
        let tree = Directory::new(&root, Duration::from_secs(1)).unwrap();
        let cache = Cache::builder().memory(4 << 20).open().unwrap();
        let paths = ["a", "b", "c", "gone"].map(|name| root.join(name));
        let open = |path: &PathBuf| {
            let entry = tree.look_up(path).unwrap()?;
            tree.open(&cache, path, &entry).ok()
        };
        let mut state = State::new(HELD_MAX);
        state.opening.extend(paths.iter().map(|path| (path.clone(), None)));
        let mut held = Vec::new();
        for at in [2, 3, 1, 0] {
            state.opened(&paths[at], open(&paths[at]), &cache);
            held.push((state.held.len(), state.opening.len()));
        }
        assert_eq!(held, [(0, 4), (0, 4), (0, 4), (3, 0)]);
        assert_eq!([&paths[0], &paths[3]].map(|path| state.take_told(path)), [true, false]);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn who_comes_to_a_file_that_is_being_opened_was_told_of_it() {
        let root = directory();
        let cache = Cache::builder().memory(4 << 20).open().unwrap();
        let mut state = State::new(HELD_MAX);
        state.opening.push_back((root.join("a"), None));
        assert!(state.take_told(&root.join("a")));
        state.opened(&root.join("a"), cache.open(root.join("a").to_str().unwrap()).ok(), &cache);
        assert!(state.held.is_empty() && state.plan.is_none());
        fs::remove_dir_all(&root).unwrap();
    }
}
