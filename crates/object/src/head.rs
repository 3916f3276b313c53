//! Whether HEAD says what objects are. An answer to it has no body, which would say what is wrong; and who answers
//! GET may refuse HEAD: applications, gateways, addresses that are signed for the one alone. So where it fails GET
//! has the last word; but where it was fine before, a refusal is the object's, and each would be paid for twice.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use crate::seldom::Seldom;

/// What is known of it in one bucket.
#[derive(Default)]
pub(crate) struct Head {
    was_fine: AtomicBool,
    is_given_up: AtomicBool,
    /// When a refusal was looked into by GET, which alone says that credentials are spent.
    refusals: Seldom,
}

impl Head {
    /// Whether GET comes first.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up.load(Relaxed)
    }

    /// It said what an object is.
    pub fn fine(&self) {
        self.was_fine.store(true, Relaxed);
    }

    /// Whether GET would say no more than this status: that there is no such object, where the bucket is known to be
    /// there, that it may not be read, or what has been tried until the deadline.
    pub fn is_last_word(&self, status: u16, is_met: bool) -> bool {
        match status {
            401 | 403 => self.was_fine.load(Relaxed) && !self.refusals.is_due(),
            404 => is_met,
            _ => matches!(status, 408 | 429 | 500..),
        }
    }

    /// GET said what an object is, and HEAD did not: by this status, or by leaving something out. Where it was fine
    /// before, others than those who do not know it may have refused it in passing.
    pub fn outdone(&self, status: Option<u16>) {
        if matches!(status, None | Some(405)) || !self.was_fine.load(Relaxed) {
            self.is_given_up.store(true, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_up_by_who_does_not_know_it_and_not_for_a_refusal_in_passing() {
        for (was_fine, status, expected) in [
            (false, Some(403), true),
            (false, Some(404), true),
            (true, Some(403), false),
            (true, Some(400), false),
            (true, Some(405), true),
            (true, None, true),
        ] {
            let head = Head::default();
            if was_fine {
                head.fine();
            }
            head.outdone(status);
            assert_eq!(head.is_given_up(), expected, "{was_fine}, {status:?}");
        }
    }

    #[test]
    fn a_refusal_is_the_last_word_where_it_was_fine_but_looked_into_now_and_then() {
        let head = Head::default();
        let words = || [head.is_last_word(403, true), head.is_last_word(403, true)];
        assert_eq!(words(), [false, false]);
        head.fine();
        assert_eq!(words(), [false, true]);
        head.refusals.wait();
        assert_eq!(words(), [false, true]);
        assert!(!head.is_last_word(400, true), "who has no credentials any more is answered so");
        assert!(head.is_last_word(404, true) && !head.is_last_word(404, false) && head.is_last_word(500, false));
    }
}
