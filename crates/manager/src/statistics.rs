//! What the manager counts. Each counter is declared once, here, with what it means.

use crate::event::Source;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts since the manager began.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Statistics {
            $($(#[$doc])* pub $name: u64,)*
            /// Blocks fetched ahead and what became of them, by source in the order of [`Source::ALL`].
            pub ahead: [Outcomes; Source::ALL.len()],
        }

        impl Statistics {
            /// Every plain counter by name, for reports and for the test that none stays untouched.
            pub fn counters(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),*]
            }
        }
    };
}

counters! {
    /// Blocks referenced.
    references,
    /// References that found their block here.
    hits,
    /// References whose block was on its way; they are hits, late ones.
    late_hits,
    /// References whose block was neither here nor at a device on its way.
    misses,
    /// References that went on a run the policy knew of, and found their block neither here nor on its way.
    sequential_misses,
    /// Blocks given up to make room.
    evictions,
    /// Blocks dropped, or not kept when they came, because their file changed.
    invalidated,
    /// Blocks the system gave up by itself.
    gone,
    /// Of these, blocks fetched ahead and not read yet. They are among the wasted.
    gone_unread,
    /// Fetches that readers waited for.
    demand_fetches,
    /// Fetches ahead of their reads.
    ahead_fetches,
    /// Blocks that nobody asked for, read because those on both sides of them went in one fetch. They are among `readahead`'s.
    read_over,
    /// Fetches that failed.
    failed_fetches,
    /// Names looked up ahead of their use.
    lookups,
    /// Times that reading runs ahead was given up on a device, because it did not pay.
    runs_given_up,
    /// Disclosures.
    hints,
    /// Demand reads that had to wait for a page frame.
    starved,
    /// Events cut short or not taken, because they were out of range or a limit forbade them.
    refused,
}

/// What one event came to, of a reference: how its blocks were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Blocks that were here.
    pub hits: u64,
    /// Blocks that were on their way.
    pub late_hits: u64,
    /// Blocks that were neither.
    pub misses: u64,
}

impl Counted {
    pub(crate) fn since(self, before: Counted) -> Counted {
        Counted {
            hits: self.hits - before.hits,
            late_hits: self.late_hits - before.late_hits,
            misses: self.misses - before.misses,
        }
    }
}

impl Statistics {
    pub(crate) fn counted(&self) -> Counted {
        Counted { hits: self.hits, late_hits: self.late_hits, misses: self.misses }
    }
}

/// What became of blocks fetched ahead (invariant I9: the four add up to `fetched`, less what is
/// still out).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Blocks a fetch ahead was queued for.
    pub fetched: u64,
    /// Here when they were read.
    pub timely: u64,
    /// Still on their way when they were read.
    pub late: u64,
    /// Given up unread.
    pub wasted: u64,
    /// Withdrawn before a device was asked (their reader was faster, or nobody wants them any
    /// more), or never brought.
    pub cancelled: u64,
}

impl Outcomes {
    /// Blocks whose outcome is decided.
    pub fn settled(&self) -> u64 {
        self.timely + self.late + self.wasted + self.cancelled
    }

    /// Nothing will be read any more: what has not been was fetched for nothing.
    pub fn end(&mut self) {
        self.wasted += self.fetched.saturating_sub(self.settled());
    }
}

impl std::ops::AddAssign for Outcomes {
    fn add_assign(&mut self, other: Self) {
        self.fetched += other.fetched;
        self.timely += other.timely;
        self.late += other.late;
        self.wasted += other.wasted;
        self.cancelled += other.cancelled;
    }
}

impl Statistics {
    /// The outcomes of told blocks (`true`) or of guessed ones (`false`), over all sources.
    pub fn ahead_of(&self, told: bool) -> Outcomes {
        let mut sum = Outcomes::default();
        for (source, outcomes) in Source::ALL.iter().zip(self.ahead) {
            if (source.class() == crate::event::Class::Hinted) == told {
                sum += outcomes;
            }
        }
        sum
    }
}
