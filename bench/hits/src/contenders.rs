//! The caches that are compared: each with all blocks in memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::BLOCK;

/// All of them.
pub const NAMES: [&str; 5] = ["foresee", "pread", "moka", "quick_cache", "foyer"];

/// What other caches hold: a block that can be shared.
type Bytes = Arc<[u8]>;

/// A cache with all blocks.
pub enum Contender {
    Foresee(foresee::File),
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
                let memory = blocks * (BLOCK + 512);
                let cache = foresee::Cache::builder().memory(memory).block_bytes(BLOCK).open().expect("a cache");
                let file = cache.open(path.to_str().expect("UTF-8")).expect("the file");
                let mut buffer = vec![0; 1 << 20];
                for mib in 0..(blocks * BLOCK) as u64 >> 20 {
                    file.read_at(&mut buffer, mib << 20).expect("a part of the file");
                }
                Contender::Foresee(file)
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

    /// Whether it lends what it has, without a copy.
    pub fn has_views(&self) -> bool {
        !matches!(self, Contender::Pread(_))
    }

    /// Reads these blocks: copies each to the same buffer, or looks at one byte of each. Returns the sum of some bytes.
    pub fn read(&self, references: &[u32], copies: bool) -> u64 {
        match self {
            Contender::Foresee(file) if copies => copied(references, |block, buffer| {
                file.read_at(buffer, block * BLOCK as u64).expect("a block");
            }),
            Contender::Foresee(file) => {
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
