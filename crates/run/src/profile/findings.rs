//! What runs of a command found of themselves, so that the next ones begin with less.

use std::time::Duration;

use crate::clock::{is_believed, is_since_start, since_1970};

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

    /// Whether runs found not long ago that all was in memory, and it may still be there.
    pub fn is_in_memory(&self) -> bool {
        self.in_memory.is_some_and(|found| is_lately(found) && is_since_start(Duration::from_secs(found)))
    }

    /// With what a run found of each, if it did. What was found before holds for its time, and is found
    /// anew then.
    pub fn after(self, in_vain: Option<bool>, in_memory: Option<bool>) -> Self {
        let after = |before: Option<u64>, holds: bool, found| match found {
            Some(false) => None,
            Some(true) if !holds => Some(since_1970().as_secs()),
            Some(true) | None => before,
        };
        Findings {
            in_vain: after(self.in_vain, self.is_in_vain(), in_vain),
            in_memory: after(self.in_memory, self.is_in_memory(), in_memory),
        }
    }
}

fn is_lately(found: u64) -> bool {
    is_believed(Duration::from_secs(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_kept_for_its_time_or_until_it_is_otherwise() {
        let now = since_1970().as_secs();
        let (lately, long_ago) = (Some(now), Some(now - 1_000_000));
        let of = |found| Findings { in_vain: found, in_memory: found };
        let after = |before, found| of(before).after(found, found);
        assert_eq!([None, Some(true), Some(false)].map(|it| after(lately, it)), [lately, lately, None].map(of));
        assert_eq!([None, Some(false)].map(|it| after(long_ago, it)), [long_ago, None].map(of));
        for before in [long_ago, None] {
            let after = after(before, Some(true));
            assert!(after.in_vain >= lately && after.in_memory >= lately);
        }
        let found = Findings { in_vain: lately, in_memory: long_ago };
        assert!(found.is_in_vain() && !found.is_in_memory());
        assert_eq!(found.after(Some(false), None), Findings { in_vain: None, in_memory: long_ago });
    }
}
