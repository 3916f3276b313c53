//! Pages read in sequence and not to be read again: a stack a reader, on which each page comes
//! after a while. They are known by their group too, for it may turn out to loop.

use std::collections::BTreeMap;

use super::Group;
use crate::ids::{Page, ReaderId};
use crate::policy::by_page;
use crate::policy::list::{Chain, Links, List};
use crate::table::FastMap;

/// The sequential partition.
#[derive(Default)]
pub(super) struct Sequential {
    /// The newest pages, which are on no stack yet.
    fresh: List,
    /// All others.
    stacked: List,
    /// Readers that have pages on stacks, and theirs.
    own: BTreeMap<ReaderId, Chain>,
    links: Links,
    /// Groups that have pages here, and theirs.
    groups: FastMap<Group, Chain>,
    group_links: Links,
    /// Each page's last reference, and whether it is fresh.
    pages: Vec<(Read, bool)>,
}

/// A page's last reference.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub reader: ReaderId,
    pub group: Group,
    pub at: u64,
}

impl Sequential {
    pub fn len(&self) -> u64 {
        self.fresh.len() + self.stacked.len()
    }

    /// A page was read, after all others here; it and those before it, so many at most, are on no
    /// stack for now.
    pub fn push(&mut self, page: Page, read: Read, spared: u64) {
        by_page::reach(&mut self.pages, page, (read, false));
        self.pages[page as usize] = (read, true);
        self.group_links.push_newest(self.groups.entry(read.group).or_default(), page);
        self.fresh.push_newest(page);
        while self.fresh.len() > spared {
            let Some(page) = self.fresh.oldest_first().next() else { return };
            self.fresh.remove(page);
            self.stacked.push_newest(page);
            let (read, is_fresh) = &mut self.pages[page as usize];
            *is_fresh = false;
            self.links.push_newest(self.own.entry(read.reader).or_default(), page);
        }
    }

    /// The oldest page of a group, and when it was read.
    pub fn oldest_of(&self, group: Group) -> Option<(Page, u64)> {
        let page = self.groups.get(&group)?.oldest()?;
        Some((page, self.pages[page as usize].0.at))
    }

    pub fn remove(&mut self, page: Page) {
        let (Read { reader, group, .. }, is_fresh) = self.pages[page as usize];
        if let Some(chain) = self.groups.get_mut(&group) {
            self.group_links.remove(chain, page);
            if chain.is_empty() {
                self.groups.remove(&group);
            }
        }
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

    /// The newest page on the stack of who needs one, else the newest on any; else the oldest that
    /// is on none.
    pub fn candidate(&self, misser: Option<ReaderId>, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let own = misser.and_then(|misser| self.own.get(&misser));
        let own = own.and_then(|chain| self.links.newest_first(chain).find(|&page| can_go(page)));
        let stacked = || self.stacked.newest_first().find(|&page| can_go(page));
        own.or_else(stacked).or_else(|| self.fresh.oldest_first().find(|&page| can_go(page)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_the_older_ones_goes() {
        let mut pages = Sequential::default();
        let reader = ReaderId(1);
        (0..6).for_each(|page| pages.push(page, Read { reader, group: (1, 0), at: u64::from(page) }, 2));
        assert_eq!(pages.oldest_of((1, 0)), Some((0, 0)));
        let mut gone = Vec::new();
        while let Some(page) = pages.candidate(Some(reader), |_| true) {
            pages.remove(page);
            gone.push(page);
        }
        assert_eq!(gone, [3, 2, 1, 0, 4, 5]);
        assert_eq!((pages.len(), pages.oldest_of((1, 0))), (0, None));
    }
}
