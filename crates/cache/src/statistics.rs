//! What came of it.

use foresee_manager::Outcomes;

use crate::pool::Pool;

/// Counts since the cache was opened, and its memory as it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Reads of blocks that were in memory.
    pub hits: u64,
    /// Reads of blocks that were on their way.
    pub late_hits: u64,
    /// Reads of blocks that were neither.
    pub misses: u64,
    /// Blocks that were read ahead because a plan named them, and what became of them.
    pub planned: Outcomes,
    /// Blocks that were read ahead because of how their readers read, and what became of them.
    pub guessed: Outcomes,
    /// Fetches that stores, or the disk before them, were asked for while a reader waited. A store
    /// may make several requests for one, as object stores do that ask again.
    pub demand_requests: u64,
    /// Fetches that they were asked for ahead of their readers.
    pub ahead_requests: u64,
    /// Of all these, those that failed.
    pub failed_requests: u64,
    /// Bytes of the blocks that came from stores.
    pub bytes_read: u64,
    /// Bytes of a block.
    pub block_bytes: usize,
    /// Blocks that the memory holds.
    pub blocks: usize,
    /// Blocks that it holds now, or that are on their way. With a disk, for a moment more than `blocks`:
    /// what is given up on its way may have a frame that what is written to the disk has else.
    pub blocks_used: usize,
    /// Views that there are.
    pub views: usize,
    /// Its disk; all 0 where it has none.
    pub disk: DiskStatistics,
}

/// The second tier's counts ([`crate::Builder::disk`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskStatistics {
    /// Bytes of the blocks that came from it.
    pub bytes_read: u64,
    /// Bytes of the blocks that were written to it.
    pub bytes_written: u64,
    /// Blocks that were not there any more as they had been written: they came from their stores.
    pub damaged: u64,
    /// Blocks that it did not take.
    pub failed_writes: u64,
    /// Blocks that it holds when it is full.
    pub blocks: usize,
    /// Blocks that it holds now.
    pub blocks_used: usize,
}

impl Statistics {
    pub(crate) fn of(pool: &Pool) -> Self {
        let mut session = pool.session();
        let (demanded_unasked, failed_unasked) = (session.host().demanded_unasked(), session.host().failed_unasked());
        let manager = session.manager();
        let counted = manager.statistics();
        let planned = counted.ahead_of(true);
        let guessed = counted.ahead_of(false);
        Statistics {
            hits: pool.hits(),
            late_hits: counted.late_hits,
            misses: counted.misses,
            planned,
            guessed,
            demand_requests: counted.demand_fetches.saturating_sub(demanded_unasked),
            ahead_requests: counted.ahead_fetches,
            failed_requests: counted.failed_fetches.saturating_sub(failed_unasked),
            bytes_read: session.host().bytes(),
            block_bytes: pool.memory().frame_bytes(),
            blocks: session.host().capacity(),
            blocks_used: session.host().used(),
            views: pool.views(),
            disk: session.host().second().map_or(DiskStatistics::default(), |it| it.tier.statistics()),
        }
    }
}
