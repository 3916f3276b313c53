//! What the manager has, where a reader moves on: what it knows of files, and its pages.

use crate::files::Files;
use crate::ids::Block;
use crate::table::Table;

/// Of a run or a long read, so many blocks are looked at: as many as the longest request brings.
pub(super) const LOOKED_AT_MAX: u64 = 256;

/// The files and the pages.
#[derive(Clone, Copy)]
pub(crate) struct Holdings<'a> {
    pub files: &'a Files,
    pub table: &'a Table,
}

impl Holdings<'_> {
    /// Of the blocks of a run, those that are fetched for whoever disclosed them: they are missing,
    /// or were brought ahead and nobody has read them yet. The others are here anyway.
    pub fn fetched_for(&self, first: Block, count: u64) -> u64 {
        let is_here_anyway = |index: &u64| {
            let page = self.table.find(Block { index: *index, ..first });
            page.is_some_and(|page| !self.table.frame(page).ahead)
        };
        let looked_at = count.min(LOOKED_AT_MAX);
        let here_anyway = (first.index..first.index + looked_at).filter(is_here_anyway).count() as u64;
        // The rest is taken to be as these are.
        count - count * here_anyway / looked_at.max(1)
    }
}
