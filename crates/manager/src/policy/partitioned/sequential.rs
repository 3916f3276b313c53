//! Pages read in sequence and not to be read again: a stack a reader, on which each page comes after a while.

use std::collections::BTreeMap;

use crate::ids::{Page, ReaderId};
use crate::policy::list::{Chain, Links, List};

/// The sequential partition.
pub(super) struct Sequential {
    /// The share of the memory whose newest pages are on no stack yet.
    spared: f64,
    /// Those pages.
    fresh: List,
    /// All others.
    stacked: List,
    /// Readers that have pages on stacks, and theirs.
    own: BTreeMap<ReaderId, Chain>,
    links: Links,
    /// Whose each page is, and whether it is fresh.
    pages: Vec<(ReaderId, bool)>,
}

impl Sequential {
    pub fn new(spared: f64) -> Self {
        Sequential {
            spared,
            fresh: List::default(),
            stacked: List::default(),
            own: BTreeMap::new(),
            links: Links::default(),
            pages: Vec::new(),
        }
    }

    pub fn len(&self) -> u64 {
        self.fresh.len() + self.stacked.len()
    }

    pub fn push(&mut self, page: Page, reader: ReaderId, capacity: u64) {
        if page as usize >= self.pages.len() {
            self.pages.resize(page as usize + 1, (reader, false));
        }
        self.pages[page as usize] = (reader, true);
        self.fresh.push_newest(page);
        while self.fresh.len() > (self.spared * capacity as f64) as u64 {
            let Some(page) = self.fresh.oldest_first().next() else { return };
            self.fresh.remove(page);
            self.stacked.push_newest(page);
            self.pages[page as usize].1 = false;
            self.links.push_newest(self.own.entry(self.pages[page as usize].0).or_default(), page);
        }
    }

    pub fn remove(&mut self, page: Page) {
        let (reader, is_fresh) = self.pages[page as usize];
        if is_fresh {
            return self.fresh.remove(page);
        }
        self.stacked.remove(page);
        if let Some(chain) = self.own.get_mut(&reader) {
            self.links.remove(chain, page);
            if chain.is_empty() {
                self.own.remove(&reader);
            }
        }
    }

    /// The newest page on the stack of who needs one, else the newest on any; else the oldest that is on none.
    pub fn victim(&self, misser: Option<ReaderId>, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let own = misser
            .and_then(|misser| self.own.get(&misser))
            .and_then(|chain| self.links.newest_first(chain).find(|&page| can_go(page)));
        let stacked = || self.stacked.newest_first().find(|&page| can_go(page));
        own.or_else(stacked).or_else(|| self.fresh.oldest_first().find(|&page| can_go(page)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_the_older_ones_goes() {
        let mut pages = Sequential::new(0.2);
        let reader = ReaderId(1);
        (0..6).for_each(|page| pages.push(page, reader, 10));
        let mut gone = Vec::new();
        while let Some(page) = pages.victim(Some(reader), |_| true) {
            pages.remove(page);
            gone.push(page);
        }
        assert_eq!(gone, [3, 2, 1, 0, 4, 5]);
        assert_eq!(pages.len(), 0);
    }
}
