//! The lists SEQ and RANDOM, each from the LRU to the MRU end, and what a page more of either is
//! worth (003 sections III-C to III-F).
//!
//! Each page is stamped with the number of references until it came to the MRU end. A hit is in the
//! *bottom* of its list if its stamp is among the oldest delta L / L of the time the list spans:
//! what would have missed in a list delta L shorter, nearly.
//!
//! ```text
//! ratio = 2 s delta L / L       s: sequential misses since the last hit in the bottom of RANDOM;  L: pages of SEQ
//! ```
//!
//! A page more would save SEQ 2 s / L misses, and RANDOM 1 / delta L, for one hit was in its last
//! delta L: above 1, SEQ should grow.

use crate::ids::Page;
use crate::policy::list::{Chain, Links};
use crate::policy::{Classes, Partition};
use crate::table::Table;

/// Of which list a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Read by itself.
    Random,
    /// Read in a run, or read ahead because of one.
    Sequential,
}

/// Both lists.
pub struct Lists {
    bottom_share: f64,
    /// What is noted of each page is its stamp.
    links: Links<u32>,
    chains: [Chain; 2],
    /// References so far, counted round: a page that nobody touched for four billion of them is
    /// taken for a younger one.
    now: u32,
    /// Sequential misses since the last hit in the bottom of RANDOM.
    misses: u64,
    bottom_hits: u64,
}

impl Lists {
    /// Empty lists whose bottoms are this share of the memory.
    pub fn new(bottom_share: f64) -> Self {
        let (links, chains) = (Links::default(), Default::default());
        Lists { bottom_share, links, chains, now: 0, misses: 0, bottom_hits: 0 }
    }

    fn chain(&self, class: Class) -> &Chain {
        &self.chains[class as usize]
    }

    /// How many pages are on a list.
    pub fn len(&self, class: Class) -> u64 {
        self.chain(class).len()
    }

    /// References since a page, which is on a list, came to the MRU end.
    pub fn age(&self, page: Page) -> u32 {
        self.now.wrapping_sub(self.links[page])
    }

    /// The page at a list's LRU end.
    pub fn oldest(&self, class: Class) -> Option<Page> {
        self.chain(class).oldest()
    }

    /// Whether one of the lists is shorter than this.
    pub fn is_one_below(&self, pages: f64) -> bool {
        self.chains.iter().any(|chain| (chain.len() as f64) < pages)
    }

    /// The pages of a list, from the LRU end on.
    pub fn oldest_first(&self, class: Class) -> impl Iterator<Item = Page> + '_ {
        self.links.oldest_first(self.chain(class))
    }

    /// The page nearest to the LRU end that can go.
    pub fn oldest_to_go(&self, class: Class, table: &Table) -> Option<Page> {
        self.oldest_first(class).find(|&page| table.can_go(page))
    }

    /// Of the lists' LRU ends, the older one that can go.
    pub fn older_to_go(&self, table: &Table) -> Option<Page> {
        let ends = [Class::Random, Class::Sequential].map(|class| self.oldest_to_go(class, table));
        ends.into_iter().flatten().rev().max_by_key(|&page| self.age(page))
    }

    /// A reference more.
    pub fn count_reference(&mut self) {
        self.now = self.now.wrapping_add(1);
    }

    /// So many sequential misses more.
    pub fn count_misses(&mut self, misses: u64) {
        self.misses += misses;
    }

    /// A hit was in the bottom of a list.
    pub fn bottom_hit(&mut self, class: Class) {
        if class == Class::Random {
            self.misses = 0;
            self.bottom_hits += 1;
        }
    }

    /// delta L, in pages.
    pub fn bottom_pages(&self, capacity: u64) -> f64 {
        self.bottom_share * capacity as f64
    }

    /// What a page more is worth to SEQ, in terms of what it is worth to RANDOM (line 4).
    pub fn ratio(&self, capacity: u64) -> f64 {
        match self.len(Class::Sequential) {
            0 => 0.0,
            pages => 2.0 * self.misses as f64 * self.bottom_pages(capacity) / pages as f64,
        }
    }

    /// Whether a page, which is on this list, is in its bottom (section III-G).
    #[inline]
    pub fn is_in_bottom(&self, page: Page, class: Class, capacity: u64) -> bool {
        let chain = self.chain(class);
        let (Some(oldest), Some(newest)) = (chain.oldest(), chain.newest()) else { return false };
        let [stamp, first, last] = [page, oldest, newest].map(|page| self.links[page]);
        let (since_oldest, span) = (stamp.wrapping_sub(first), last.wrapping_sub(first));
        f64::from(since_oldest) * chain.len() as f64 <= self.bottom_pages(capacity) * f64::from(span)
    }

    /// Puts a page that is on no list to the MRU end of this one.
    #[inline]
    pub fn push(&mut self, page: Page, class: Class) {
        self.links.push_newest(&mut self.chains[class as usize], page);
        self.links[page] = self.now;
    }

    /// Takes a page off the list it is on.
    #[inline]
    pub fn remove(&mut self, page: Page, class: Class) {
        self.links.remove(&mut self.chains[class as usize], page);
    }

    /// Puts a page of one list to the MRU end of the same or of the other one.
    #[inline]
    pub fn renew(&mut self, page: Page, from: Class, to: Class) {
        if from == to && self.chain(to).newest() == Some(page) {
            self.links[page] = self.now;
            return;
        }
        self.remove(page, from);
        self.push(page, to);
    }

    /// The lists by their names.
    pub fn partitions(&self) -> Vec<Partition> {
        let lists = [("SEQ", Class::Sequential), ("RANDOM", Class::Random)];
        lists.map(|(name, class)| Partition::new(name, self.len(class))).into()
    }

    /// What there is to report.
    pub fn classes(&self, capacity: u64) -> Classes {
        Classes {
            sequential_pages: self.len(Class::Sequential),
            random_pages: self.len(Class::Random),
            bottom_pages: self.bottom_pages(capacity),
            bottom_hits: self.bottom_hits,
            desired_pages: None,
        }
    }
}
