//! How a cache is set up.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foresee_driver::Log;
use foresee_manager::policy::Choice;
use foresee_manager::{Config, DeviceLimits, Trust};
use foresee_store::Store;

use crate::cache::Cache;
use crate::error::Error;
use crate::log::LogFile;
use crate::pool::{Memory, Pool, spare};
use crate::stores;
use crate::tier::{Layout, Tier};

/// 16 KiB: a request to any store takes longer than to bring so much, and what lies beside what is
/// read is often read too.
const BLOCK_BYTES: usize = 16 << 10;
pub(crate) const BLOCK_BYTES_RANGE: std::ops::RangeInclusive<usize> = (4 << 10)..=(1 << 20);
/// A quarter of a GiB.
const MEMORY: usize = 256 << 20;
/// Blocks below which there is nothing to decide: views may have half of them.
const BLOCKS_MIN: usize = 4;
/// One request ahead brings so much at most: it amortises a request on every store we met.
const REQUEST_BYTES: u64 = 1 << 20;
/// In the order of the plans: what is read next does not wait for a sweep. A disk with an arm would
/// be quicker by one, but which has one is not known. Records in random order over a store of 5 ms:
/// 3.9 s in sweeps, 2.3 s so, 21 s without a plan.
const SORTED_BLOCKS: u64 = 1;
/// What a plan may have unread before any of it came true: 4 MiB in blocks of the default size.
const TRUSTED_BLOCKS: u64 = 256;
/// Plans, runs and loops are read ahead and kept in one currency: ARCHITECTURE.md, The default
/// policy.
const POLICY: &str = "informed";
/// A run is read ahead by so much at most, whatever the blocks' size. In 2,048 blocks, as policies
/// have it, of 16 KiB that is 32 MiB, a quarter of a memory of 128: it took the place of what is
/// kept, 706 MiB of a cycle for 673.
const RUN_BYTES: u64 = 16 << 20;
const RUN_PARAMETER: &str = "degree_max";

/// The policy of this name and parameters; what it counts in blocks is by default as much in bytes.
fn choose(text: &str, block_bytes: u64) -> Result<Choice, String> {
    let choice: Choice = text.parse()?;
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let has_it = choice.spec().parameters.iter().any(|parameter| parameter.name == RUN_PARAMETER);
    let is_set = settings.split(',').filter_map(|it| it.split_once('=')).any(|(key, _)| key == RUN_PARAMETER);
    if is_set || !has_it {
        return Ok(choice);
    }
    let text = format!("{name}:{RUN_PARAMETER}={},{settings}", RUN_BYTES / block_bytes);
    text.trim_end_matches(',').parse()
}

/// Sets a cache up; see [`Cache::builder`].
#[must_use]
pub struct Builder {
    memory: usize,
    block_bytes: usize,
    policy: String,
    stores: Vec<(String, Arc<dyn Store>)>,
    disk: Option<(PathBuf, u64)>,
    max_age: Duration,
    log: Option<PathBuf>,
}

impl Default for Builder {
    fn default() -> Self {
        let (policy, stores) = (POLICY.to_owned(), stores::known());
        Builder {
            memory: MEMORY,
            block_bytes: BLOCK_BYTES,
            policy,
            stores,
            disk: None,
            max_age: Duration::ZERO,
            log: None,
        }
    }
}

impl Builder {
    /// All the memory the cache may take, in bytes: 256 MiB unless said. The crate's documentation
    /// says what comes on top.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Bytes of a block, the least that is read and kept: a power of two from 4 KiB to 1 MiB, 16
    /// KiB unless said.
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// What decides what is read ahead and what stays: a name that `foresee sim --list` has, with
    /// its parameters, as in `tip2:burst_margin=2`. `informed` unless said;
    /// `readahead:keep=arc` takes less of the processor, for stores as fast as a local disk
    /// where nothing is read in cycles.
    pub fn policy(mut self, policy: &str) -> Self {
        policy.clone_into(&mut self.policy);
        self
    }

    /// Objects whose addresses begin with `scheme://` are this store's; what follows is their name.
    /// `file` is what names without a scheme lead to.
    pub fn store(mut self, scheme: &str, store: Arc<dyn Store>) -> Self {
        match self.stores.iter_mut().find(|(it, _)| it == scheme) {
            Some((_, before)) => *before = store,
            None => self.stores.push((scheme.to_owned(), store)),
        }
        self
    }

    /// Keeps what memory gives up and will be wanted again in this file, on a disk of this
    /// machine's that is quicker than the stores: so many bytes at most, all that belongs to it
    /// included. It outlives the cache: the next one that is given the same file, with
    /// blocks and bytes of the same number, finds there what it left, if it was killed too. One
    /// cache at a time writes it; others that are given it, with the same numbers, read what
    /// that one keeps, and one of them takes its place once it is gone.
    ///
    /// What is read from it is checked, and of the version that its reader opened; so of two stores
    /// of one scheme that use one file, one after the other, equal names and versions must mean
    /// the same bytes. Where a store says that its versions do not last
    /// ([`foresee_store::Store::versions_last`]), nothing of it is kept there.
    pub fn disk(mut self, path: impl Into<PathBuf>, bytes: u64) -> Self {
        self.disk = Some((path.into(), bytes));
        self
    }

    /// An object is not asked about again that was opened, or looked up because a plan names it, so
    /// short a time ago: it is opened in the version that it had then. None unless said: each
    /// opening asks the store, and waits for it. Who reads many small objects by a plan wants
    /// some seconds.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// Writes all that the cache is told and decides to this file, for `foresee replay` and
    /// `foresee explain`. It costs some microseconds a decision. It is whole when the last handle of
    /// the cache was dropped, and what was being fetched then has come. One cache at a time writes
    /// it; what it held before is gone.
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
        let layout = self.disk.as_ref().map(|(_, bytes)| Layout::new(*bytes, self.block_bytes as u64));
        let frames = self.frames(layout)?;
        let capacity = frames - layout.map_or(0, |_| spare(frames));
        let policy = choose(&self.policy, self.block_bytes as u64).map_err(Error::Policy)?;
        let device = DeviceLimits {
            cluster_blocks_max: (REQUEST_BYTES / self.block_bytes as u64).max(1),
            sort_blocks: SORTED_BLOCKS,
            ..DeviceLimits::default()
        };
        let trust = Trust::Earned { initial_blocks: TRUSTED_BLOCKS };
        let config = Config { device, trust, ..Config::new(capacity as u64, policy) };
        let log = self.log.map(|path| LogFile::create(&path)).transpose()?;
        let log = log.map(|mut file| Log::begin(Box::new(move |text: &str| file.add(text)), &config));
        let memory = Memory::new(frames, self.block_bytes)?;
        let tier = self.disk.zip(layout).map(|((path, _), layout)| Tier::open(&path, layout, frames));
        let pool = Pool::new(memory, &config, self.stores, tier.transpose()?, log)?;
        Ok(Cache::new(pool, self.max_age))
    }

    /// So many frames have room in the memory, beside what is known of the disk.
    fn frames(&self, layout: Option<Layout>) -> Result<usize, Error> {
        let beside = |frames| layout.map_or(0, |layout| Tier::memory_of(layout, frames));
        if let Some((path, bytes)) = self.disk.as_ref().filter(|_| layout.is_some_and(|it| it.slots == 0)) {
            let why = format!("{bytes} bytes hold no block of {}: give more", self.block_bytes);
            let error = Arc::new(io::Error::new(io::ErrorKind::InvalidInput, why));
            return Err(Error::Disk { path: path.clone(), error });
        }
        let most = Memory::frames_in(self.memory, self.block_bytes).min(i32::MAX as usize);
        let frames = Memory::frames_in(self.memory.saturating_sub(beside(most)), self.block_bytes).min(most);
        let has_disk = layout.is_some();
        let blocks_min = BLOCKS_MIN + usize::from(has_disk);
        if frames < blocks_min {
            let bytes_min = Memory::bytes_of(blocks_min, self.block_bytes) + beside(blocks_min);
            return Err(Error::LittleMemory { bytes: self.memory, bytes_min, blocks_min, has_disk });
        }
        Ok(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_ahead_by_as_many_bytes_in_blocks_of_any_size() {
        let chosen = |text, block_bytes| choose(text, block_bytes).map(|it| it.as_str().to_owned());
        assert_eq!(chosen("informed", 16 << 10).as_deref(), Ok("informed:degree_max=1024"));
        assert_eq!(chosen("informed:degree_max=7", 1 << 20).as_deref(), Ok("informed:degree_max=7"));
        assert_eq!(chosen("informed:keep=arc", 16 << 10).as_deref(), Ok("informed:degree_max=1024,keep=arc"));
        assert_eq!(chosen("arc", 4096).as_deref(), Ok("arc"));
        assert!(chosen("nonesuch", 4096).is_err());
    }
}
