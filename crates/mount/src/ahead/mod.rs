//! Reads ahead across files: what comes next where a directory's files are read in an order, or all of them in none, and where a tree is
//! walked.
//!
//! Which files those are is found out by the pieces that `foresee run` has for it ([`Listings`], and [`walk`]); here they are planned in
//! the cache, and directories that a walk comes to are listed by threads for that.

mod walk;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use foresee::{Cache, File, Plan};
use foresee_run::hints::Listings;
use foresee_run::host::Listed;
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
/// Directories that are listed ahead at once.
const LISTINGS_MAX: usize = 48;

/// What is known of the readers, and what was planned for them.
#[derive(Default)]
struct State {
    listings: Listings,
    walks: Walks,
    plan: Option<Plan>,
    held: HashMap<PathBuf, File>,
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
    listers: Arc<Pool<PathBuf>>,
}

impl Ahead {
    /// For those who read by this handle of the cache, below this root.
    pub fn new(tree: Arc<dyn Tree>, root: &Path, cache: Cache) -> Self {
        let readers = Arc::new(Readers { tree, root: root.to_owned(), cache, state: Mutex::default() });
        let served = Arc::clone(&readers);
        let listers = Arc::new_cyclic(|listers: &Weak<Pool<PathBuf>>| {
            let listers = Weak::clone(listers);
            Pool::with_stacks(STACK_BYTES, LISTINGS_MAX, LISTINGS_MAX, move |path: PathBuf| {
                served.list(&path);
                let next = served.next_listings(&mut lock(&served.state));
                listers.upgrade().into_iter().for_each(|listers| next.iter().for_each(|it| listers.add(it.clone())));
            })
        });
        Ahead { readers, listers }
    }

    /// A file was read from its beginning, which took so long.
    pub fn visited(&self, path: &Path, took: Duration) {
        self.follow(|state| {
            let was_told = state.held.remove(path).is_some();
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
        self.readers.plan(&mut state);
        let next = self.readers.next_listings(&mut state);
        drop(state);
        next.into_iter().for_each(|path| self.listers.add(path));
    }
}

impl Readers {
    fn next_listings(&self, state: &mut State) -> Vec<PathBuf> {
        let of_walks = std::iter::from_fn(|| state.walks.next_listing());
        of_walks.chain(std::iter::from_fn(|| state.listings.next_listing())).collect()
    }

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

    /// Lists a directory for whoever wanted that.
    fn list(&self, path: &Path) {
        let entries = self.entries(path);
        let mut state = lock(&self.state);
        match state.walks.wants(path) {
            true => state.walks.listed(path, entries),
            false => state.listings.listed(path, entries),
        }
        self.plan(&mut state);
    }

    fn plan(&self, state: &mut State) {
        let is_withdrawn =
            state.walks.take_ended() | (std::iter::from_fn(|| state.listings.next_withdrawn()).count() > 0);
        if is_withdrawn {
            (state.plan, state.held) = (None, HashMap::new());
        }
        loop {
            let of_walk = state.walks.next_found(state.held.len());
            let Some(path) = of_walk.or_else(|| state.listings.next_found().map(|(_, path)| path)) else { return };
            let Ok(Some(entry)) = self.tree.look_up(&path) else { continue };
            let Ok(file) = self.tree.open(&self.cache, &path, &entry) else { continue };
            let plan = state.plan.get_or_insert_with(|| self.cache.plan());
            plan.range(&file, 0..FILE_BYTES_MAX.min(file.len()));
            if state.held.len() >= HELD_MAX {
                state.held.clear();
            }
            state.held.insert(path, file);
        }
    }
}
