//! Programs whose own pages go in another order than LRU, as their advice stands.

use foldhash::{HashMap, HashSet};
use foresee_manager::{Advice, FileId, LevelOrder};

use crate::programs::ProgramId;

/// Those, and what of their advice says so. The policy bounds what a program may advise, and nothing
/// else is noted.
#[derive(Default)]
pub(super) struct Reordered(HashMap<ProgramId, Orders>);

/// What of a program's advice sets some of its pages apart from others, or has them go in another
/// order among themselves. The policy of a priority that no page has does neither, and pages have
/// priority 0 until a file of theirs is given another, or they are for a time.
#[derive(Default)]
struct Orders {
    /// What has priority 0 goes in another order.
    is_zero_reordered: bool,
    /// Files whose priority is not 0.
    files: HashSet<FileId>,
    /// Some pages have, or had, another priority than their file. Which of them have it still, only
    /// the policy knows: it stands until control is given up.
    is_temporary: bool,
}

impl Orders {
    fn advised(&mut self, advice: Advice) {
        match advice {
            Advice::SetPolicy { priority: 0, order } => self.is_zero_reordered = order != LevelOrder::Lru,
            Advice::SetPriority { file, priority: 0 } => {
                self.files.remove(&file);
            }
            Advice::SetPriority { file, .. } => {
                self.files.insert(file);
            }
            // That of a file whose priority is another sets it apart already.
            Advice::SetTemporaryPriority { priority, .. } => self.is_temporary |= priority != 0,
            Advice::GiveUp => *self = Orders::default(),
            Advice::SetPolicy { .. } | Advice::Manage | Advice::GetPriority { .. } | Advice::GetPolicy { .. } => {}
        }
    }

    fn is_lru(&self) -> bool {
        !self.is_zero_reordered && self.files.is_empty() && !self.is_temporary
    }
}

impl Reordered {
    /// A program advised so, and it was taken.
    pub fn advised(&mut self, program: ProgramId, advice: Advice) {
        let orders = self.0.entry(program).or_default();
        orders.advised(advice);
        if orders.is_lru() {
            self.0.remove(&program);
        }
    }

    /// A program's advice counts no more.
    pub fn forget(&mut self, program: ProgramId) {
        self.0.remove(&program);
    }

    pub fn holds(&self, program: ProgramId) -> bool {
        self.0.contains_key(&program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_advice_says_now() {
        let policy = |priority, order| Advice::SetPolicy { priority, order };
        let file = |file, priority| Advice::SetPriority { file: FileId(file), priority };
        let for_a_time = |priority| Advice::SetTemporaryPriority { file: FileId(1), first: 0, count: 4, priority };
        let (mut reordered, program) = (Reordered::default(), ProgramId::default());
        for (advice, expected) in [
            (Advice::Manage, false),
            (file(1, 0), false),
            (policy(0, LevelOrder::Lru), false),
            (policy(1, LevelOrder::Mru), false),
            (for_a_time(0), false),
            (policy(0, LevelOrder::Mru), true),
            (policy(0, LevelOrder::Lru), false),
            (file(1, 1), true),
            (file(2, -1), true),
            (file(1, 0), true),
            (Advice::GetPriority { file: FileId(2) }, true),
            (file(2, 0), false),
            (for_a_time(-1), true),
            (file(1, 0), true),
            (Advice::GiveUp, false),
        ] {
            reordered.advised(program, advice);
            assert_eq!(reordered.holds(program), expected, "after {advice:?}");
        }
        assert!(reordered.0.is_empty());
    }
}
