//! The pages that were read, in the order in which they go: *bins* of those that are alike, so of
//! one class, of runs about as long, and used last at about the same time.

use std::collections::BTreeSet;

use super::learned::{CLASSES, Learned};
use super::runs::{self, GRADES};
use crate::ids::Page;
use crate::policy::list::{Chain, Links};

/// Bins that were begun one after the other are put together when they are older than so many
/// times their time.
const AGE_TO_TIME: u64 = 8;

/// What pages have in common besides their age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Kind {
    /// Class, by the last interval.
    pub class: u8,
    /// Power of two of the run's length.
    pub grade: u8,
}

impl Kind {
    fn number(self) -> usize {
        usize::from(self.class) * GRADES + usize::from(self.grade)
    }

    fn of_number(number: usize) -> Self {
        Kind { class: (number / GRADES) as u8, grade: (number % GRADES) as u8 }
    }
}

/// What is noted of a page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Note {
    /// The reference that came last to it.
    pub last: u64,
    pub kind: Kind,
}

/// Where a bin stands in the order; the least goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Used just now, where that is spared.
    is_spared: bool,
    /// What its pages are worth, as the bits of a number that is not negative.
    worth: u64,
    from: u64,
    kind: Kind,
}

impl Rank {
    fn worth(&self) -> f64 {
        f64::from_bits(self.worth)
    }
}

struct Bin {
    rank: Rank,
    pages: Chain,
}

/// How bins are put in order.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// What is missed in a run costs less.
    pub counts_runs: bool,
    /// Pages used within so many references go last.
    pub spared: u64,
}

/// All pages that were read.
pub struct Bins {
    links: Links<Note>,
    /// By number of the kind; of each, by the time when it was begun. None is empty.
    kinds: Vec<Vec<Bin>>,
    order: BTreeSet<Rank>,
    /// When the youngest bins were begun.
    begun: u64,
}

impl Default for Bins {
    fn default() -> Self {
        let kinds = (0..CLASSES * GRADES).map(|_| Vec::new()).collect();
        Bins { links: Links::default(), kinds, order: BTreeSet::new(), begun: 0 }
    }
}

impl Bins {
    /// What is noted of a page that is here, or was.
    pub fn note(&self, page: Page) -> Note {
        self.links[page]
    }

    /// How many pages there are of a class.
    pub fn len(&self, class: u8) -> u64 {
        let first = Kind { class, grade: 0 }.number();
        self.kinds[first..first + GRADES].iter().flatten().map(|bin| bin.pages.len()).sum()
    }

    /// A page that is in no bin was used now.
    pub fn put(&mut self, page: Page, kind: Kind, now: u64, order: Order, learned: &Learned) {
        let bins = &mut self.kinds[kind.number()];
        if bins.last().is_none_or(|bin| bin.rank.from < self.begun) {
            let rank = rank(kind, now, 0, now, order, learned);
            self.order.insert(rank);
            bins.push(Bin { rank, pages: Chain::default() });
        }
        let last = bins.len() - 1;
        self.links.push_newest(&mut bins[last].pages, page);
        self.links[page] = Note { last: now, kind };
    }

    /// The kind of a page and which bin of it the page is in.
    fn find(&self, page: Page) -> (usize, usize) {
        let Note { last, kind } = self.links[page];
        let bins = &self.kinds[kind.number()];
        (kind.number(), bins.partition_point(|bin| bin.rank.from <= last) - 1)
    }

    /// Takes a page out of its bin.
    pub fn take(&mut self, page: Page) {
        let (kind, at) = self.find(page);
        let bins = &mut self.kinds[kind];
        self.links.remove(&mut bins[at].pages, page);
        if bins[at].pages.is_empty() {
            self.order.remove(&bins[at].rank);
            bins.remove(at);
        }
    }

    /// Begins new bins, puts old ones together, and puts all in order.
    pub fn turn(&mut self, now: u64, order: Order, learned: &Learned) {
        self.begun = now;
        let mut ranks = Vec::with_capacity(self.order.len());
        for (number, bins) in self.kinds.iter_mut().enumerate().filter(|(_, bins)| !bins.is_empty()) {
            // From the youngest on; `end` is when the bin was begun that follows.
            let mut end = now;
            let mut kept: Vec<Bin> = Vec::with_capacity(bins.len());
            while let Some(mut bin) = bins.pop() {
                while let Some(older) = bins.pop_if(|older| (end - older.rank.from) * AGE_TO_TIME <= now - end) {
                    let mut pages = older.pages;
                    self.links.append(&mut pages, bin.pages);
                    bin = Bin { rank: older.rank, pages };
                }
                let from = bin.rank.from;
                let age = now - from - (end - from) / 2;
                bin.rank = rank(Kind::of_number(number), from, age, now, order, learned);
                ranks.push(bin.rank);
                kept.push(bin);
                end = from;
            }
            kept.reverse();
            *bins = kept;
        }
        self.order = ranks.into_iter().collect();
    }

    /// The page that goes first of those that can go, and what it is worth.
    pub fn first(&self, can_go: impl Fn(Page) -> bool) -> Option<(Page, f64)> {
        self.order.iter().find_map(|rank| {
            let bins = &self.kinds[rank.kind.number()];
            let at = bins.partition_point(|bin| bin.rank.from < rank.from);
            let page = self.links.oldest_first(&bins[at].pages).find(|&page| can_go(page))?;
            Some((page, rank.worth()))
        })
    }

    /// What a page is worth; None if it is spared.
    pub fn worth(&self, page: Page) -> Option<f64> {
        let (kind, at) = self.find(page);
        let rank = &self.kinds[kind][at].rank;
        (!rank.is_spared).then(|| rank.worth())
    }

    /// For tests.
    pub fn check(&self) {
        let mut ranks: Vec<_> = self.kinds.iter().flatten().map(|bin| bin.rank).collect();
        ranks.sort_unstable();
        assert!(self.order.iter().eq(&ranks), "I1: each bin is in the order");
        for bins in &self.kinds {
            assert!(bins.is_sorted_by(|older, younger| older.rank.from < younger.rank.from), "I1: bins are in order");
            for (at, bin) in bins.iter().enumerate() {
                let end = bins.get(at + 1).map_or(u64::MAX, |next| next.rank.from);
                let pages: Vec<_> = self.links.oldest_first(&bin.pages).collect();
                assert!(!pages.is_empty() && pages.len() as u64 == bin.pages.len(), "I1: a bin's length");
                assert!(pages.is_sorted_by_key(|&page| self.links[page].last), "I1: a bin's order");
                for page in pages {
                    let Note { last, kind } = self.links[page];
                    assert!(kind == bin.rank.kind && (bin.rank.from..end).contains(&last), "I1: a page is in its bin");
                }
            }
        }
    }
}

fn rank(kind: Kind, from: u64, age: u64, now: u64, order: Order, learned: &Learned) -> Rank {
    let cost = if order.counts_runs { runs::cost(kind.grade) } else { 1.0 };
    let worth = learned.density(kind.class, age) * cost;
    Rank { is_spared: now < from + order.spared, worth: worth.to_bits(), from, kind }
}
