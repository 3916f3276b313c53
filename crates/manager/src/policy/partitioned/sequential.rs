//! Pages read in sequence and not to be read again: a stack a reader, on which each page comes
//! after a while. They are known by their group too, for it may turn out to loop.

use std::collections::BTreeMap;

use super::Group;
use super::members::{Member, Members};
use crate::ids::{Page, ReaderId};
use crate::policy::list::{Chain, Links};

/// The sequential partition.
#[derive(Default)]
pub(super) struct Sequential {
    /// The pages that were read last, which are on no stack yet.
    fresh: Chain,
    /// All others.
    stacked: Chain,
    links: Links,
    /// Readers that have pages on stacks, and theirs.
    own: BTreeMap<ReaderId, Chain>,
    own_links: Links,
    /// The pages of each group, by its number.
    groups: Vec<Chain>,
}

impl Sequential {
    pub fn len(&self) -> u64 {
        self.fresh.len() + self.stacked.len()
    }

    /// A page was read, after all others here; it and those before it, so many at most, are on no
    /// stack for now.
    pub fn push(&mut self, page: Page, read: Member, spared: u64, members: &mut Members) {
        let group = read.group as usize;
        if group >= self.groups.len() {
            self.groups.resize(group + 1, Chain::default());
        }
        members.push(&mut self.groups[group], page, read);
        self.links.push_newest(&mut self.fresh, page);
        while self.fresh.len() > spared
            && let Some(page) = self.fresh.oldest()
        {
            self.links.remove(&mut self.fresh, page);
            self.links.push_newest(&mut self.stacked, page);
            self.own_links.push_newest(self.own.entry(members.of(page).reader).or_default(), page);
        }
    }

    /// The oldest page of a group.
    pub fn oldest_of(&self, group: Group, members: &Members) -> Option<Page> {
        self.groups.get(members.number(group)? as usize)?.oldest()
    }

    /// Whether a page that is here was read after all that are on stacks.
    fn is_fresh(&self, page: Page, members: &Members) -> bool {
        self.fresh.oldest().is_some_and(|oldest| members.of(oldest).at <= members.of(page).at)
    }

    pub fn remove(&mut self, page: Page, members: &mut Members) {
        let Member { group, reader, .. } = members.of(page);
        if self.is_fresh(page, members) {
            self.links.remove(&mut self.fresh, page);
        } else {
            self.links.remove(&mut self.stacked, page);
            if let Some(chain) = self.own.get_mut(&reader) {
                self.own_links.remove(chain, page);
                if chain.is_empty() {
                    self.own.remove(&reader);
                }
            }
        }
        members.remove(&mut self.groups[group as usize], page);
    }

    /// The newest page on the stack of who needs one, else the newest on any; else the oldest that
    /// is on none.
    pub fn candidate(&self, misser: Option<ReaderId>, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let own = misser.and_then(|misser| self.own.get(&misser));
        let own = own.and_then(|chain| self.own_links.newest_first(chain).find(|&page| can_go(page)));
        let stacked = || self.links.newest_first(&self.stacked).find(|&page| can_go(page));
        own.or_else(stacked).or_else(|| self.links.oldest_first(&self.fresh).find(|&page| can_go(page)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_the_older_ones_goes() {
        let (mut pages, mut members) = (Sequential::default(), Members::default());
        let reader = ReaderId(1);
        for page in 0..6 {
            let group = members.enter((1, 0));
            pages.push(page, Member { at: u64::from(page), group, reader }, 2, &mut members);
        }
        assert_eq!(pages.oldest_of((1, 0), &members), Some(0));
        let mut gone = Vec::new();
        while let Some(page) = pages.candidate(Some(reader), |_| true) {
            pages.remove(page, &mut members);
            gone.push(page);
        }
        assert_eq!(gone, [3, 2, 1, 0, 4, 5]);
        assert_eq!((pages.len(), pages.oldest_of((1, 0), &members)), (0, None));
    }
}
