//! The caches that are compared: each with all blocks in memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::BLOCK;

/// All of them.
pub const NAMES: [&str; 5] = ["foresee", "pread", "moka", "quick_cache", "foyer"];

/// Those that give blocks up.
pub const EVICTING: [&str; 4] = ["foresee", "moka", "quick_cache", "foyer"];

/// What the library counts of its memory beside each block.
const BESIDE: usize = 648;

/// What other caches hold: a block that can be shared.
type Bytes = Arc<[u8]>;

/// A cache with all blocks.
pub enum Contender {
    Foresee(foresee::Cache, foresee::File),
    Pread(File),
    Moka(moka::sync::Cache<u64, Bytes>),
    QuickCache(quick_cache::sync::Cache<u64, Bytes>),
    Foyer(foyer::Cache<u64, Bytes>),
}

fn each_block(path: &Path, blocks: usize, mut put: impl FnMut(u64, Bytes)) {
    let file = File::open(path).expect("the file");
    let mut buffer = vec![0; BLOCK];
    for block in 0..blocks as u64 {
        file.read_exact_at(&mut buffer, block * BLOCK as u64).expect("a block");
        put(block, buffer.as_slice().into());
    }
}

impl Contender {
    /// The one of this name, with the blocks of a file.
    pub fn new(name: &str, path: &Path, blocks: usize) -> Self {
        // None gives a block up: the others are given some more room, for theirs is divided.
        let capacity = blocks + blocks / 4;
        match name {
            "foresee" => {
                let memory = blocks * (BLOCK + BESIDE);
                let cache = foresee::Cache::builder().memory(memory).block_bytes(BLOCK).open().expect("a cache");
                let file = cache.open(path.to_str().expect("UTF-8")).expect("the file");
                let mut buffer = vec![0; 1 << 20];
                for mib in 0..(blocks * BLOCK) as u64 >> 20 {
                    file.read_at(&mut buffer, mib << 20).expect("a part of the file");
                }
                Contender::Foresee(cache, file)
            }
            "pread" => {
                each_block(path, blocks, |_, _| {});
                Contender::Pread(File::open(path).expect("the file"))
            }
            "moka" => {
                let cache = moka::sync::Cache::new(capacity as u64);
                each_block(path, blocks, |block, bytes| cache.insert(block, bytes));
                cache.run_pending_tasks();
                Contender::Moka(cache)
            }
            "quick_cache" => {
                let cache = quick_cache::sync::Cache::new(capacity);
                each_block(path, blocks, |block, bytes| cache.insert(block, bytes));
                Contender::QuickCache(cache)
            }
            "foyer" => {
                let cache = foyer::CacheBuilder::new(capacity).build();
                each_block(path, blocks, |block, bytes| _ = cache.insert(block, bytes));
                Contender::Foyer(cache)
            }
            _ => unreachable!("{name}"),
        }
    }

    /// The one of this name, empty, with room for so many blocks.
    pub fn with_room(name: &str, path: &Path, room: usize) -> Self {
        match name {
            "foresee" => {
                // From the page cache, as the others have it.
                let cache = foresee::Cache::builder().memory(room * (BLOCK + BESIDE)).block_bytes(BLOCK);
                let cache = cache.store("file", Arc::new(foresee::store::Local::new())).open().expect("a cache");
                let file = cache.open(path.to_str().expect("UTF-8")).expect("the file");
                Contender::Foresee(cache, file)
            }
            "moka" => Contender::Moka(moka::sync::Cache::new(room as u64)),
            "quick_cache" => Contender::QuickCache(quick_cache::sync::Cache::new(room)),
            "foyer" => Contender::Foyer(foyer::CacheBuilder::new(room).build()),
            _ => unreachable!("{name}"),
        }
    }

    /// Reads these blocks, from the file where they are not here. Returns how often that was.
    pub fn read_through(&self, file: &File, references: &[u32]) -> u64 {
        let bring = |block: u64, missed: &mut u64| -> Bytes {
            *missed += 1;
            let mut bytes = vec![0; BLOCK];
            file.read_exact_at(&mut bytes, block * BLOCK as u64).expect("a block");
            bytes.into()
        };
        let mut missed = 0;
        let mut read: Box<dyn FnMut(u64, &mut [u8]) + '_> = match self {
            Contender::Foresee(_, file) => Box::new(|block, buffer| {
                file.read_at(buffer, block * BLOCK as u64).expect("a block");
            }),
            Contender::Pread(_) => unreachable!("it gives nothing up"),
            Contender::Moka(cache) => Box::new(|block, buffer| {
                buffer.copy_from_slice(&cache.get_with(block, || bring(block, &mut missed)));
            }),
            Contender::QuickCache(cache) => Box::new(|block, buffer| {
                let bring = || Ok::<_, ()>(bring(block, &mut missed));
                buffer.copy_from_slice(&cache.get_or_insert_with(&block, bring).expect("a block"));
            }),
            Contender::Foyer(cache) => Box::new(|block, buffer| match cache.get(&block) {
                Some(entry) => buffer.copy_from_slice(entry.value()),
                None => {
                    let bytes = bring(block, &mut missed);
                    buffer.copy_from_slice(&bytes);
                    cache.insert(block, bytes);
                }
            }),
        };
        copied(references, &mut read);
        drop(read);
        missed
    }

    /// Blocks that it brought by itself.
    pub fn brought(&self) -> u64 {
        match self {
            Contender::Foresee(cache, _) => cache.statistics().bytes_read / BLOCK as u64,
            _ => 0,
        }
    }

    /// Whether it lends what it has, without a copy.
    pub fn has_views(&self) -> bool {
        !matches!(self, Contender::Pread(_))
    }

    /// Reads these blocks: copies each to the same buffer, or looks at one byte of each. Returns
    /// the sum of some bytes.
    pub fn read(&self, references: &[u32], copies: bool) -> u64 {
        match self {
            Contender::Foresee(_, file) if copies => copied(references, |block, buffer| {
                file.read_at(buffer, block * BLOCK as u64).expect("a block");
            }),
            Contender::Foresee(_, file) => {
                viewed(references, |block| file.view(block * BLOCK as u64, BLOCK).expect("a block"))
            }
            Contender::Pread(file) => copied(references, |block, buffer| {
                file.read_exact_at(buffer, block * BLOCK as u64).expect("a block");
            }),
            Contender::Moka(cache) => shared(references, copies, |block| cache.get(&block)),
            Contender::QuickCache(cache) => shared(references, copies, |block| cache.get(&block)),
            Contender::Foyer(cache) => {
                shared(references, copies, |block| cache.get(&block).map(|it| Arc::clone(it.value())))
            }
        }
    }
}

fn copied(references: &[u32], mut read: impl FnMut(u64, &mut [u8])) -> u64 {
    let mut buffer = vec![0; BLOCK];
    let one = |&block: &u32| {
        read(u64::from(block), &mut buffer);
        u64::from(buffer[block as usize % BLOCK])
    };
    references.iter().map(one).sum()
}

fn viewed<V: AsRef<[u8]>>(references: &[u32], view: impl Fn(u64) -> V) -> u64 {
    references.iter().map(|&block| u64::from(view(u64::from(block)).as_ref()[block as usize % BLOCK])).sum()
}

fn shared(references: &[u32], copies: bool, get: impl Fn(u64) -> Option<Bytes>) -> u64 {
    match copies {
        true => copied(references, |block, buffer| buffer.copy_from_slice(&get(block).expect("a block"))),
        false => viewed(references, |block| get(block).expect("a block")),
    }
}
