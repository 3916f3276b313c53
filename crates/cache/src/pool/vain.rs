//! What a store failed to bring, though it asked again and again, is not asked for once more block by block.
//!
//! A request for several blocks may have failed by one of them, so that each that somebody waits for is asked for
//! once more, by itself: who reads another gets it (invariant I7). But a client of a store far away has tried
//! until its deadline by then (`Store::is_persistent`). Each block would wait that out once more, a read of many in
//! turns, and a server that says that it has too much to do gets hundreds of requests in place of one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use foresee_store::Error;

/// They are asked for within so long, if at all.
const LASTS: Duration = Duration::from_secs(1);

/// Blocks that somebody waited for, and why they did not come a moment ago.
#[derive(Default)]
pub struct InVain {
    blocks: HashMap<u64, (Error, Instant)>,
    unasked: u64,
}

impl InVain {
    /// These did not come.
    pub fn add(&mut self, blocks: impl Iterator<Item = u64>, error: &Error) {
        let now = Instant::now();
        self.blocks.retain(|_, (_, when)| when.elapsed() < LASTS);
        self.blocks.extend(blocks.map(|block| (block, (error.clone(), now))));
    }

    /// None of them is known any more: their files may be others.
    pub fn forget(&mut self) {
        self.blocks.clear();
    }

    /// Why this one, which is asked for by itself, will not come.
    pub fn take(&mut self, block: u64) -> Option<Error> {
        let (error, _) = self.blocks.remove(&block).filter(|(_, when)| when.elapsed() < LASTS)?;
        self.unasked += 1;
        Some(error)
    }

    /// How many were taken: the manager counts them among what readers waited for.
    pub fn unasked(&self) -> u64 {
        self.unasked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fails_once_unasked_and_not_for_long() {
        let mut vain = InVain::default();
        vain.add(3..5, &Error::Changed);
        assert!(vain.take(2).is_none() && vain.take(4).is_some() && vain.take(4).is_none());
        assert_eq!(vain.unasked(), 1);
        vain.blocks.values_mut().for_each(|(_, when)| *when = when.checked_sub(LASTS).unwrap());
        assert!(vain.take(3).is_none());
        vain.add(3..5, &Error::Changed);
        vain.forget();
        assert!(vain.take(3).is_none());
    }
}
