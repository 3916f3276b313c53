//! Where a sequence is looked at next: from its beginning to its end, but for what is in no order,
//! which is looked at first where its reader is. What is left out then comes afterwards.

use std::ops::Range;

use super::JUMP_ENTRIES_MAX;

/// Stretches at one time; a reader that jumps more often is not followed.
const STRETCHES_MAX: usize = 64;

/// Stretches of positions that were not looked at yet; the last one goes first. One has no end:
/// what is disclosed later is in it.
#[derive(Debug)]
pub(super) struct Walk(Vec<Range<u64>>);

impl Walk {
    /// From this position on.
    #[allow(clippy::single_range_in_vec_init, reason = "it is one stretch")]
    pub fn new(from: u64) -> Self {
        Walk(vec![from..u64::MAX])
    }

    /// The next position of an entry; `base` is the first that is kept, `end` the one behind the
    /// last.
    pub fn next(&mut self, base: u64, end: u64) -> Option<u64> {
        loop {
            let stretch = self.0.last_mut()?;
            stretch.start = stretch.start.max(base);
            if stretch.start < stretch.end.min(end) {
                return Some(stretch.start);
            }
            if self.0.len() == 1 {
                return None;
            }
            if let Some(endless) = self.0.pop().filter(|it| it.end == u64::MAX) {
                self.0.insert(0, endless);
            }
        }
    }

    /// This position was looked at.
    pub fn pass(&mut self, position: u64) {
        if let Some(stretch) = self.0.last_mut().filter(|it| it.contains(&position)) {
            stretch.start = position + 1;
        }
    }

    /// Whether nothing is left before `end`.
    pub fn is_over(&self, end: u64) -> bool {
        self.0.iter().all(|it| it.start >= it.end.min(end))
    }

    /// Whether this position was not looked at, and will not be soon.
    pub fn is_far_from(&self, position: u64) -> bool {
        let is_next = |it: &Range<u64>| it.contains(&position) && position - it.start <= JUMP_ENTRIES_MAX;
        !self.0.last().is_some_and(is_next) && self.0.iter().any(|it| it.contains(&position))
    }

    /// This was looked at, and is to be once more, with what comes after it.
    pub fn go_back_to(&mut self, position: Option<u64>) {
        if let (Some(position), Some(stretch)) = (position, self.0.last_mut()) {
            stretch.start = stretch.start.min(position);
        }
    }

    /// Goes on here, if that was not looked at.
    pub fn go_to(&mut self, position: u64) {
        if self.0.len() < STRETCHES_MAX
            && let Some(at) = self.0.iter().position(|it| it.contains(&position))
        {
            let stretch = self.0.remove(at);
            if stretch.start < position {
                self.0.push(stretch.start..position);
            }
            self.0.push(position..stretch.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is looked at, in order.
    fn all(walk: &mut Walk, end: u64) -> Vec<u64> {
        let next = || walk.next(0, end).inspect(|&position| walk.pass(position));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn what_was_left_out_comes_afterwards() {
        let mut walk = Walk::new(0);
        assert_eq!((walk.next(0, 10), walk.is_over(10)), (Some(0), false));
        walk.pass(0);
        walk.go_to(6);
        assert_eq!(all(&mut walk, 10), [6, 7, 8, 9, 1, 2, 3, 4, 5]);
        assert!(walk.is_over(10));
        assert_eq!(all(&mut walk, 12), [10, 11], "what is disclosed later");
    }

    proptest::proptest! {
        #[test]
        fn everything_is_looked_at_once(jumps in proptest::collection::vec((0..40u64, 0..50u64), 0..100)) {
            let mut walk = Walk::new(0);
            let mut seen = Vec::new();
            for (steps, to) in jumps {
                for _ in 0..steps {
                    let next = walk.next(0, 50);
                    next.into_iter().for_each(|position| walk.pass(position));
                    seen.extend(next);
                }
                walk.go_to(to);
            }
            seen.extend(all(&mut walk, 60));
            seen.sort_unstable();
            proptest::prop_assert_eq!(seen, (0..60).collect::<Vec<_>>());
        }
    }
}
