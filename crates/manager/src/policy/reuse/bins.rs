//! The pages that were read, in the order in which they go: *bins* of those that are alike, so of
//! one class, of runs about as long, and used last at about the same time.

use std::mem;

use super::learned::{Class, INTERVALS, Learned};
use super::runs::{self, GRADES};
use super::sources::SOURCES;
use crate::ids::Page;
use crate::policy::Promise;
use crate::policy::list::{Chain, Links};

/// Bins that were begun one after the other are put together when they are older than so many
/// times their time.
const AGE_TO_TIME: u64 = 8;

/// What pages have in common besides their age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kind {
    pub class: Class,
    /// Power of two of the run's length.
    pub grade: u8,
}

impl Kind {
    fn number(self) -> usize {
        self.class.number() * GRADES + usize::from(self.grade)
    }

    fn of_number(number: usize) -> Self {
        Kind { class: Class::of_number(number / GRADES), grade: (number % GRADES) as u8 }
    }
}

/// Where a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// Not here, or another policy's.
    #[default]
    Elsewhere,
    /// Brought, and not read yet.
    Unread,
    /// In its bin.
    Read,
}

/// What is noted of a page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Note {
    /// The reference that came last to it.
    pub last: u64,
    pub kind: Kind,
    place: Place,
}

/// Where a bin stands in the order; the least goes first.
///
/// From the highest bit: whether its pages were used just now, where that is spared; what they are
/// worth, as the bits of a number that is not negative; when it was begun; and the number of its
/// kind. It is one number, for each turn sorts all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u128);

const KIND_BITS: u32 = (SOURCES * INTERVALS * GRADES).next_power_of_two().ilog2();

impl Rank {
    fn new(is_spared: bool, worth: f64, from: u64, kind: Kind) -> Self {
        let from_and_kind = from << KIND_BITS | kind.number() as u64;
        Rank(u128::from(is_spared) << 127 | u128::from(worth.to_bits()) << 64 | u128::from(from_and_kind))
    }

    fn is_spared(self) -> bool {
        self.0 >> 127 > 0
    }

    fn worth(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64 & !(1 << 63))
    }

    fn from(self) -> u64 {
        self.0 as u64 >> KIND_BITS
    }

    fn kind(self) -> Kind {
        Kind::of_number((self.0 as u64 & ((1 << KIND_BITS) - 1)) as usize)
    }
}

struct Bin {
    rank: Rank,
    /// How old its pages were taken to be for that.
    age: u64,
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

impl Order {
    /// What missing a page costs that is read like this, as a part of a wait.
    pub fn cost(self, grade: u8) -> f64 {
        if self.counts_runs { runs::cost(grade) } else { 1.0 }
    }

    /// What missing one will cost that was read like this.
    fn expected_cost(self, kind: Kind, learned: &Learned) -> f64 {
        if self.counts_runs { learned.costs.expected(kind.class.source, kind.grade) } else { 1.0 }
    }
}

/// All pages that were read.
#[derive(Default)]
pub struct Bins {
    links: Links<Note>,
    /// By number of the kind, as far as there were any; of each, by the time when it was begun. No bin is
    /// empty.
    kinds: Vec<Vec<Bin>>,
    /// The numbers of those kinds that have bins, and of some that have none any more.
    begun_kinds: Vec<u16>,
    /// The bins that are here, the one that goes first at the end.
    order: Vec<Rank>,
    /// When the youngest bins were begun.
    begun: u64,
}

impl Bins {
    /// What is noted of a page that is here, or was.
    pub fn note(&self, page: Page) -> Note {
        self.links[page]
    }

    /// Where a page is.
    pub fn place_of(&self, page: Page) -> Place {
        self.links.get(page).map_or(Place::Elsewhere, |note| note.place)
    }

    /// A page that is in no bin was brought for a read to come, or is so no longer.
    pub fn note_unread(&mut self, page: Page, is_unread: bool) {
        self.links.reach(page).place = if is_unread { Place::Unread } else { Place::Elsewhere };
    }

    /// How many bins there are.
    pub fn count(&self) -> u64 {
        self.order.len() as u64
    }

    /// How many pages there are, their last interval being known or not.
    pub fn len(&self, is_known: bool) -> u64 {
        let of_kind = |number: &usize| (Kind::of_number(*number).class.interval > 0) == is_known;
        let kinds = (0..self.kinds.len()).filter(of_kind);
        kinds.flat_map(|number| &self.kinds[number]).map(|bin| bin.pages.len()).sum()
    }

    /// A page that is in no bin was used now.
    pub fn put(&mut self, page: Page, kind: Kind, now: u64, order: Order, learned: &Learned) {
        if kind.number() >= self.kinds.len() {
            self.kinds.resize_with(kind.number() + 1, Vec::new);
        }
        if self.kinds[kind.number()].last().is_none_or(|bin| bin.rank.from() < self.begun) {
            let rank = rank(kind, now, 0, now, order, learned);
            self.order.insert(self.place(rank), rank);
            if self.kinds[kind.number()].is_empty() {
                self.begun_kinds.push(kind.number() as u16);
            }
            self.kinds[kind.number()].push(Bin { rank, age: 0, pages: Chain::default() });
        }
        let bins = &mut self.kinds[kind.number()];
        let last = bins.len() - 1;
        self.links.push_newest(&mut bins[last].pages, page);
        self.links[page] = Note { last: now, kind, place: Place::Read };
    }

    /// Where a bin stands in the order, or would.
    fn place(&self, rank: Rank) -> usize {
        self.order.partition_point(|&it| it > rank)
    }

    /// The kind of a page and which bin of it the page is in.
    // As a call it takes a tenth of a reference's time: nothing else is done while a page's note comes
    // from memory.
    #[inline]
    fn find(&self, page: Page) -> (usize, usize) {
        let Note { last, kind, .. } = self.links[page];
        let bins = &self.kinds[kind.number()];
        (kind.number(), bins.partition_point(|bin| bin.rank.from() <= last) - 1)
    }

    /// Takes a page out of its bin.
    pub fn take(&mut self, page: Page) {
        let (kind, at) = self.find(page);
        let bins = &mut self.kinds[kind];
        self.links.remove(&mut bins[at].pages, page);
        self.links[page].place = Place::Elsewhere;
        if bins[at].pages.is_empty() {
            let Bin { rank, .. } = bins.remove(at);
            self.order.remove(self.place(rank));
        }
    }

    /// Begins new bins, puts old ones together, and puts all in order.
    pub fn turn(&mut self, now: u64, order: Order, learned: &Learned) {
        self.begun = now;
        self.order.clear();
        let mut before = Vec::new();
        self.begun_kinds.sort_unstable();
        self.begun_kinds.dedup();
        self.begun_kinds.retain(|&kind| !self.kinds[usize::from(kind)].is_empty());
        for number in self.begun_kinds.iter().copied().map(usize::from) {
            let bins = &mut self.kinds[number];
            mem::swap(bins, &mut before);
            // From the youngest on; `end` is when the bin was begun that follows.
            let mut end = now;
            while let Some(mut bin) = before.pop() {
                while let Some(older) = before.pop_if(|older| (end - older.rank.from()) * AGE_TO_TIME <= now - end) {
                    let mut pages = older.pages;
                    self.links.append(&mut pages, bin.pages);
                    bin = Bin { pages, ..older };
                }
                let from = bin.rank.from();
                bin.age = now - from - (end - from) / 2;
                bin.rank = rank(Kind::of_number(number), from, bin.age, now, order, learned);
                self.order.push(bin.rank);
                bins.push(bin);
                end = from;
            }
            bins.reverse();
        }
        self.order.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// The page that goes first of those that can go, and what it is worth.
    pub fn first(&self, can_go: impl Fn(Page) -> bool) -> Option<(Page, f64)> {
        self.order.iter().rev().find_map(|rank| {
            let bins = &self.kinds[rank.kind().number()];
            let at = bins.partition_point(|bin| bin.rank.from() < rank.from());
            let page = self.links.oldest_first(&bins[at].pages).find(|&page| can_go(page))?;
            Some((page, rank.worth()))
        })
    }

    /// The page used longest ago of those that can go.
    pub fn oldest(&self, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let mut oldest: Option<(u64, Page)> = None;
        for &kind in &self.begun_kinds {
            // What lies in a bin was used after that was begun.
            let may_be = |bin: &&Bin| oldest.is_none_or(|(last, _)| bin.rank.from() < last);
            let bins = self.kinds[usize::from(kind)].iter().take_while(may_be);
            let first = bins.flat_map(|bin| self.links.oldest_first(&bin.pages)).find(|&page| can_go(page));
            let first = first.map(|page| (self.links[page].last, page));
            oldest = oldest.into_iter().chain(first).min();
        }
        oldest.map(|(_, page)| page)
    }

    /// What a page is worth; None if it is spared.
    pub fn worth(&self, page: Page) -> Option<f64> {
        let (kind, at) = self.find(page);
        let rank = self.kinds[kind][at].rank;
        (!rank.is_spared()).then(|| rank.worth())
    }

    /// By what a page was put in order.
    pub fn promise(&self, page: Page, order: Order, learned: &Learned) -> Promise {
        let (number, at) = self.find(page);
        let (Bin { rank, age, .. }, kind) = (&self.kinds[number][at], Kind::of_number(number));
        let (chance, within) = learned.best(kind.class, *age);
        Promise { chance, within, cost: order.expected_cost(kind, learned), worth: rank.worth() }
    }

    /// How many pages are there, for tests.
    pub fn count_at(&self, place: Place) -> u64 {
        self.links.notes().filter(|note| note.place == place).count() as u64
    }

    /// For tests.
    pub fn check(&self) {
        let mut ranks: Vec<_> = self.kinds.iter().flatten().map(|bin| bin.rank).collect();
        ranks.sort_unstable();
        assert!(self.order.iter().rev().eq(&ranks), "I1: each bin is in the order");
        let is_begun = |&(number, bins): &(usize, &Vec<Bin>)| bins.is_empty() || self.begun_kinds.contains(&(number as u16));
        assert!(self.kinds.iter().enumerate().all(|it| is_begun(&it)), "I1: each kind that has bins is known");
        for bins in &self.kinds {
            assert!(bins.is_sorted_by(|older, younger| older.rank.from() < younger.rank.from()), "I1: bins are in order");
            for (at, bin) in bins.iter().enumerate() {
                let end = bins.get(at + 1).map_or(u64::MAX, |next| next.rank.from());
                let pages: Vec<_> = self.links.oldest_first(&bin.pages).collect();
                assert!(!pages.is_empty() && pages.len() as u64 == bin.pages.len(), "I1: a bin's length");
                assert!(pages.is_sorted_by_key(|&page| self.links[page].last), "I1: a bin's order");
                for page in pages {
                    let Note { last, kind, place } = self.links[page];
                    assert!(kind == bin.rank.kind() && (bin.rank.from()..end).contains(&last), "I1: a page is in its bin");
                    assert_eq!(place, Place::Read, "I1: a page that is in a bin was read");
                }
            }
        }
    }
}

fn rank(kind: Kind, from: u64, age: u64, now: u64, order: Order, learned: &Learned) -> Rank {
    let worth = learned.density(kind.class, age) * order.expected_cost(kind, learned);
    Rank::new(now < from + order.spared, worth, from, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: Order = Order { counts_runs: false, spared: 0 };

    /// A page used again now and then, and one given up each time: before anything was learned what was
    /// used longest ago goes first, but for what lies in one bin with it.
    #[test]
    fn before_anything_was_seen_the_oldest_go_first() {
        const PAGES: u64 = 500;
        let (learned, mut bins, mut random) = (Learned::default(), Bins::default(), 7_u64);
        let mut last_uses = std::collections::HashMap::new();
        for now in 1..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let page = (random >> 40) as Page % (2 * PAGES as Page);
            if last_uses.contains_key(&page) {
                bins.take(page);
            } else if last_uses.len() as u64 == PAGES {
                let (first, _) = bins.first(|_| true).unwrap();
                bins.take(first);
                let age = now - last_uses.remove(&first).unwrap();
                let oldest = last_uses.values().map(|last| now - last).max().unwrap();
                assert!(age + age / AGE_TO_TIME + 1 >= oldest - oldest / AGE_TO_TIME, "{age} of {oldest} at {now}");
            }
            if now % 7 == 0 {
                bins.turn(now, ORDER, &learned);
            }
            let class = Class { source: (random >> 37) as u8 % 2, interval: (random >> 33) as u8 % 3 };
            let kind = Kind { class, grade: (random >> 35) as u8 % 3 };
            bins.put(page, kind, now, ORDER, &learned);
            last_uses.insert(page, now);
            if now % 100 == 0 {
                bins.check();
            }
        }
    }

    #[test]
    fn a_rank_is_what_it_was_made_of_in_the_order_of_that() {
        let kind = Kind { class: Class { source: 32, interval: 33 }, grade: 5 };
        let rank = Rank::new(true, 0.25, 1 << 40, kind);
        assert!(rank.is_spared() && rank.worth() == 0.25 && rank.from() == 1 << 40 && rank.kind() == kind);
        let other = Kind { class: Class::default(), grade: 1 };
        let ascending = [
            Rank::new(false, 0.0, 9, kind),
            Rank::new(false, 1e-9, 7, kind),
            Rank::new(false, 1e-9, 8, other),
            Rank::new(false, 1e-9, 8, kind),
            Rank::new(true, 0.0, 1, other),
        ];
        assert!(ascending.is_sorted());
    }
}
