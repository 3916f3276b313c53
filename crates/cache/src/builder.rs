//! How a cache is set up.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use foresee_driver::Log;
use foresee_manager::{Config, DeviceLimits, Trust};
use foresee_store::Store;

use crate::cache::Cache;
use crate::error::Error;
use crate::pool::{Memory, Pool};
use crate::stores;

/// 16 KiB: a request to any store takes longer than to bring so much, and what lies beside what is read is often read too.
const BLOCK_BYTES: usize = 16 << 10;
const BLOCK_BYTES_RANGE: std::ops::RangeInclusive<usize> = (4 << 10)..=(1 << 20);
/// A quarter of a GiB.
const MEMORY: usize = 256 << 20;
/// Blocks below which there is nothing to decide: views may have half of them.
const BLOCKS_MIN: usize = 4;
/// One request ahead brings so much at most: it amortises a request on every store we met.
const REQUEST_BYTES: u64 = 1 << 20;
/// In the order of the plans: what is read next does not wait for a sweep. A disk with an arm would be quicker by one, but all stores
/// have the same limits. Records in random order over a store of 5 ms: 3.9 s in sweeps, 2.3 s so, 21 s without a plan.
const SORTED_BLOCKS: u64 = 1;
/// What a plan may have unread before any of it came true: 4 MiB in blocks of the default size.
const TRUSTED_BLOCKS: u64 = 256;
/// Plans and runs are read ahead; what stays is what is used again, by a policy that a scan does not sweep away.
const POLICY: &str = "readahead:keep=arc";

/// Sets a cache up; see [`Cache::builder`].
#[must_use]
pub struct Builder {
    memory: usize,
    block_bytes: usize,
    policy: String,
    stores: Vec<(String, Arc<dyn Store>)>,
    log: Option<PathBuf>,
}

impl Default for Builder {
    fn default() -> Self {
        let (policy, stores) = (POLICY.to_owned(), stores::known());
        Builder { memory: MEMORY, block_bytes: BLOCK_BYTES, policy, stores, log: None }
    }
}

impl Builder {
    /// All the memory the cache may take, in bytes: 256 MiB unless said.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Bytes of a block, the least that is read and kept: a power of two from 4 KiB to 1 MiB, 16 KiB unless said.
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// What decides what is read ahead and what stays: a name that `foresee sim --list` has, with its parameters, as in
    /// `tip2:burst_margin=2`. `readahead:keep=arc` unless said.
    pub fn policy(mut self, policy: &str) -> Self {
        policy.clone_into(&mut self.policy);
        self
    }

    /// Objects whose addresses begin with `scheme://` are this store's; what follows is their name. `file` is what names without a
    /// scheme lead to.
    pub fn store(mut self, scheme: &str, store: Arc<dyn Store>) -> Self {
        match self.stores.iter_mut().find(|(it, _)| it == scheme) {
            Some((_, before)) => *before = store,
            None => self.stores.push((scheme.to_owned(), store)),
        }
        self
    }

    /// Writes all that the cache is told and decides to this file, for `foresee replay` and `foresee explain`. It costs some
    /// microseconds a decision.
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.log = Some(path.into());
        self
    }

    /// Opens the cache.
    ///
    /// # Errors
    /// If something of this cannot be had.
    pub fn open(self) -> Result<Cache, Error> {
        if !self.block_bytes.is_power_of_two() || !BLOCK_BYTES_RANGE.contains(&self.block_bytes) {
            return Err(Error::BlockBytes(self.block_bytes));
        }
        let frames = Memory::frames_in(self.memory, self.block_bytes).min(i32::MAX as usize);
        if frames < BLOCKS_MIN {
            return Err(Error::LittleMemory {
                bytes: self.memory,
                bytes_min: Memory::bytes_of(BLOCKS_MIN, self.block_bytes),
            });
        }
        let policy = self.policy.parse().map_err(Error::Policy)?;
        let depth = self.stores.iter().map(|(_, store)| store.depth()).max().unwrap_or(1).max(1);
        let device = DeviceLimits {
            outstanding_max: u32::try_from(depth).unwrap_or(u32::MAX),
            cluster_blocks_max: (REQUEST_BYTES / self.block_bytes as u64).max(1),
            sort_blocks: SORTED_BLOCKS,
            ..DeviceLimits::default()
        };
        let trust = Trust::Earned { initial_blocks: TRUSTED_BLOCKS };
        let config = Config { device, trust, ..Config::new(frames as u64, policy) };
        let log = self.log.map(|path| begin_log(path, &config)).transpose()?;
        let (schemes, stores) = self.stores.into_iter().unzip();
        let pool = Pool::new(Memory::new(frames, self.block_bytes)?, &config, stores, log)?;
        Ok(Cache::new(pool, schemes))
    }
}

fn begin_log(path: PathBuf, config: &Config) -> Result<Log<'static>, Error> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut file = BufWriter::new(File::create(&path).map_err(named)?);
    // A cache does not stop for its log; what is missing shows in the log.
    let sink = move |text: &str| _ = file.write_all(text.as_bytes());
    Ok(Log::begin(Box::new(sink), config))
}
