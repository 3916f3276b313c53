//! What runs of a command found of themselves, so that the next ones begin with less.

use std::time::Duration;

use crate::clock::{is_believed, since_1970};

/// When each was found, in seconds since 1970. It holds for a day, of this machine: it is neither
/// exported nor imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Findings {
    /// Reading ahead does not pay.
    pub in_vain: Option<u64>,
    /// All that programs read was in memory.
    pub in_memory: Option<u64>,
}

impl Findings {
    /// Whether runs found not long ago that reading ahead does not pay.
    pub fn is_in_vain(&self) -> bool {
        self.in_vain.is_some_and(is_lately)
    }

    /// Whether runs found not long ago that all was in memory.
    pub fn is_in_memory(&self) -> bool {
        self.in_memory.is_some_and(is_lately)
    }

    /// With what a run found of each, if it did.
    pub fn after(self, in_vain: Option<bool>, in_memory: Option<bool>) -> Self {
        Findings { in_vain: after(self.in_vain, in_vain), in_memory: after(self.in_memory, in_memory) }
    }
}

fn is_lately(found: u64) -> bool {
    is_believed(Duration::from_secs(found))
}

/// What was found before holds for its time, and is found anew then.
fn after(before: Option<u64>, found: Option<bool>) -> Option<u64> {
    match found {
        Some(false) => None,
        Some(true) if !before.is_some_and(is_lately) => Some(since_1970().as_secs()),
        Some(true) | None => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_kept_for_its_time_or_until_it_is_otherwise() {
        let now = since_1970().as_secs();
        let (lately, long_ago) = (Some(now - 1000), Some(now - 1_000_000));
        assert_eq!([None, Some(true), Some(false)].map(|it| after(lately, it)), [lately, lately, None]);
        assert_eq!([None, Some(false)].map(|it| after(long_ago, it)), [long_ago, None]);
        assert!([long_ago, None].iter().all(|&before| after(before, Some(true)) >= Some(now)));
        let found = Findings { in_vain: lately, in_memory: long_ago };
        assert!(found.is_in_vain() && !found.is_in_memory());
        assert_eq!(found.after(Some(false), None), Findings { in_vain: None, in_memory: long_ago });
    }
}
