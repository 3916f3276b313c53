//! What took long to fail is not asked for again, block by block.
//!
//! A request for several blocks may have failed by one of them, so that each that somebody waits for is asked for
//! once more, by itself: who reads another gets it (invariant I7). But a client of a store far away has tried
//! again and again until its deadline by then. Each block would wait that out once more, a read of many in turns,
//! and a server that says that it has too much to do gets hundreds of requests in place of one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use foresee_store::Error;

/// What failed sooner was not tried for long.
const LONG: Duration = Duration::from_secs(1);
/// They are asked for within so long, if at all.
const LASTS: Duration = Duration::from_secs(1);

/// Blocks that somebody waited for, and why they did not come a moment ago.
#[derive(Default)]
pub struct InVain(HashMap<u64, (Error, Instant)>);

impl InVain {
    /// Whether to ask for each block by itself what took so long to fail would take as long for each. Of the
    /// system's own errors it is not said: a disk takes its time as well, and has one bad place.
    pub fn is_in_vain(error: &Error, took: Duration) -> bool {
        let is_systems = matches!(error, Error::Io(error) if error.raw_os_error().is_some());
        took >= LONG && !is_systems
    }

    /// These did not come.
    pub fn add(&mut self, blocks: impl Iterator<Item = u64>, error: &Error) {
        let now = Instant::now();
        self.0.retain(|_, (_, when)| when.elapsed() < LASTS);
        self.0.extend(blocks.map(|block| (block, (error.clone(), now))));
    }

    /// Why this one, which is asked for by itself, will not come.
    pub fn take(&mut self, block: u64) -> Option<Error> {
        self.0.remove(&block).filter(|(_, when)| when.elapsed() < LASTS).map(|(error, _)| error)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_failed_at_once_or_in_one_place_may_come_by_itself() {
        let away = Error::from(io::Error::new(io::ErrorKind::TimedOut, "away"));
        let bad = Error::from(io::Error::from_raw_os_error(5));
        assert!(InVain::is_in_vain(&away, LONG) && InVain::is_in_vain(&Error::Changed, LONG));
        assert!(!InVain::is_in_vain(&away, LONG / 2) && !InVain::is_in_vain(&bad, LONG));
        let mut vain = InVain::default();
        vain.add(3..5, &away);
        assert!(vain.take(2).is_none() && vain.take(4).is_some() && vain.take(4).is_none());
        vain.0.values_mut().for_each(|(_, when)| *when = when.checked_sub(LASTS).unwrap());
        assert!(vain.take(3).is_none());
    }
}
