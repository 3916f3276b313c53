//! Reads ahead across files: what comes next where a directory's files are read in an order, or all of them in none.
//!
//! Which files those are is found out as under `foresee run` ([`Listings`]); here they are planned in the cache.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foresee::{Cache, File, Plan};
use foresee_run::hints::Listings;
use foresee_run::host::Listed;
use foresee_run::pool::lock;
use fuser::FileType;

use crate::tree::Tree;

/// Of a large file its beginning: then its own run is seen.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// A read that took less waited for nobody.
const WAITED_MIN: Duration = Duration::from_micros(500);
/// Files that are held open for their readers. More than are told of at one time.
const HELD_MAX: usize = 1024;

/// What is known of the readers, and what was planned for them.
#[derive(Default)]
struct State {
    listings: Listings,
    plan: Option<Plan>,
    held: HashMap<PathBuf, File>,
}

/// Reads ahead for all readers of the mount.
pub struct Ahead {
    tree: Arc<dyn Tree>,
    cache: Cache,
    state: Mutex<State>,
}

impl Ahead {
    /// For those who read by this handle of the cache.
    pub fn new(tree: Arc<dyn Tree>, cache: Cache) -> Self {
        Ahead { tree, cache, state: Mutex::default() }
    }

    /// A file was read from its beginning, which took so long. Returns the directories to be listed, which may take longer.
    pub fn visited(&self, path: &Path, took: Duration) -> Vec<PathBuf> {
        let mut state = lock(&self.state);
        state.held.remove(path);
        state.listings.visited(path, took >= WAITED_MIN);
        self.plan(&mut state);
        std::iter::from_fn(|| state.listings.next_listing()).collect()
    }

    /// Lists a directory that [`Ahead::visited`] named.
    pub fn list(&self, path: &Path) {
        let listed = self.tree.list(path).map(|names| {
            let listed = |(name, entry): &(_, crate::tree::Entry)| Listed {
                path: path.join::<&std::ffi::OsString>(name),
                is_directory: entry.kind == FileType::Directory,
                is_file: entry.kind == FileType::RegularFile,
                inode: 0,
            };
            names.iter().map(listed).collect()
        });
        let mut state = lock(&self.state);
        state.listings.listed(path, listed.map_err(|failure| io::Error::from_raw_os_error(failure.errno)));
        self.plan(&mut state);
    }

    fn plan(&self, state: &mut State) {
        if std::iter::from_fn(|| state.listings.next_withdrawn()).count() > 0 {
            (state.plan, state.held) = (None, HashMap::new());
        }
        while let Some((_, path)) = state.listings.next_found() {
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
