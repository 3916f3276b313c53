//! What a memory paid beyond what it would have paid under LRU, and when that is enough.
//!
//! ```text
//! M:            pages of the memory
//! debt:         what was paid for misses, one each at most, less what LRU would have paid for its own
//! debt >= M:    LRU decides for `stay` references, 4 M the first time, twice as many each time after. Then the debt is
//!               nought, and the memory is its policy's again
//! debt <= -(2 M + 1):   that much was gained: `stay` is half as long, 4 M at least, and the debt is nought
//! ```
//!
//! # The bound
//! To have LRU decide costs up to another M: what LRU would hold by then and is not here is missed
//! once; from then on both give up the same. So each time costs up to 2 M + 1 in all, the same as is
//! gained each time that `stay` is halved, and it can be 2^k times 4 M only after as many references.
//! After N references on a memory that stays as large,
//!
//! ```text
//! misses <= misses of LRU + (2 M + 1) (2 + log2(1 + N / 4 M))
//! ```
//!
//! However wrong the policy is: what it costs is a vanishing part of all references.

/// `stay` at first, in memories. With 1 to 8 of them hits differ by 0.01 points in the mean
/// (`bench/policies/chance.py`).
const STAY_MIN: f64 = 4.0;

/// The account of one memory.
#[derive(Debug, Default)]
pub struct Debt {
    /// The memory for which `debt` and `left` are counted.
    pages: f64,
    debt: f64,
    /// References, in memories, that LRU decides for the next time; nought stands for the least.
    stay: f64,
    /// References for which it still does.
    left: f64,
}

impl Debt {
    /// One reference to what is in a memory of `pages`: what it paid, and what LRU would have
    /// paid, each 1 at most.
    pub fn refer(&mut self, paid: f64, by_lru: f64, pages: f64) {
        if pages != self.pages && self.pages > 0.0 {
            // Of another memory, or another sample of it, the same is a greater or lesser part.
            self.debt *= pages / self.pages;
            self.left *= pages / self.pages;
        }
        self.pages = pages;
        if self.left > 0.0 {
            self.left -= 1.0;
            return;
        }
        self.debt += paid - by_lru;
        let stay = self.stay.max(STAY_MIN);
        if self.debt >= pages {
            self.left = stay * pages;
            self.stay = stay * 2.0;
            self.debt = 0.0;
        } else if self.debt <= -(2.0 * pages + 1.0) {
            self.stay = stay / 2.0;
            self.debt = 0.0;
        }
    }

    /// Whether LRU decides.
    pub fn is_due(&self) -> bool {
        self.left > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// References until LRU decides, where each costs `paid` more than under LRU, and for how many.
    fn due(debt: &mut Debt, paid: f64) -> (u64, u64) {
        let count = |debt: &mut Debt, is_due| {
            let mut references = 0;
            while debt.is_due() == is_due {
                debt.refer(paid, 0.0, 100.0);
                references += 1;
            }
            references
        };
        (count(debt, false), count(debt, true))
    }

    #[test]
    fn lru_decides_twice_as_long_each_time_and_less_where_that_was_gained() {
        let mut debt = Debt::default();
        assert_eq!(
            [due(&mut debt, 1.0), due(&mut debt, 0.5), due(&mut debt, 1.0)],
            [(100, 400), (200, 800), (100, 1600)]
        );
        (0..402).for_each(|_| debt.refer(0.0, 1.0, 100.0));
        assert!(!debt.is_due());
        assert_eq!([due(&mut debt, 1.0), due(&mut debt, 1.0)], [(100, 800), (100, 1600)]);
    }

    #[test]
    fn what_is_owed_is_a_part_of_the_memory() {
        let mut debt = Debt::default();
        (0..60).for_each(|_| debt.refer(1.0, 0.0, 100.0));
        // As 30 of 50.
        (0..19).for_each(|_| debt.refer(1.0, 0.0, 50.0));
        assert!(!debt.is_due());
        debt.refer(1.0, 0.0, 50.0);
        assert!(debt.is_due());
    }
}
