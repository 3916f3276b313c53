//! Pages that were read with a pattern, and the groups that it is known of. A page is of one group
//! at a time, in the sequential partition or in the looping one, so that both note what they know
//! of it in one place, and share the links of the groups' chains.

use super::Group;
use crate::ids::{Page, ReaderId};
use crate::policy::list::{Chain, Links};
use crate::table::FastMap;

/// A group's number, for as long as it has pages.
pub(super) type Number = u32;

/// A page's last reference.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub at: u64,
    pub group: Number,
    pub reader: ReaderId,
}

impl Default for Member {
    fn default() -> Self {
        Member { at: 0, group: 0, reader: ReaderId(0) }
    }
}

/// The pages, and the groups that have any.
#[derive(Default)]
pub(super) struct Members {
    pages: Links<Member>,
    numbers: FastMap<Group, Number>,
    /// Each group, and how many pages it has, by its number.
    groups: Vec<(Group, u64)>,
    /// Numbers of groups that have no pages any more.
    free: Vec<Number>,
    /// The group that a page was read of last.
    last: Number,
}

impl Members {
    /// What is noted of a page that is of a group.
    pub fn of(&self, page: Page) -> Member {
        self.pages[page]
    }

    /// The group of this number, which has pages.
    pub fn group(&self, number: Number) -> Group {
        self.groups[number as usize].0
    }

    /// The number of a group that has pages.
    pub fn number(&self, group: Group) -> Option<Number> {
        self.numbers.get(&group).copied()
    }

    /// The number of a group that has a page more from now on.
    pub fn enter(&mut self, group: Group) -> Number {
        // Nearly always it is the same again.
        let is_last = self.groups.get(self.last as usize).is_some_and(|&(last, pages)| last == group && pages > 0);
        if !is_last {
            self.last = self.numbers.get(&group).copied().unwrap_or_else(|| self.begin(group));
        }
        self.groups[self.last as usize].1 += 1;
        self.last
    }

    fn begin(&mut self, group: Group) -> Number {
        let number = self.free.pop().unwrap_or_else(|| {
            self.groups.push((group, 0));
            (self.groups.len() - 1) as Number
        });
        self.groups[number as usize] = (group, 0);
        self.numbers.insert(group, number);
        number
    }

    /// A group has a page less.
    fn leave(&mut self, number: Number) {
        let (group, pages) = &mut self.groups[number as usize];
        *pages -= 1;
        if *pages == 0 {
            self.numbers.remove(group);
            self.free.push(number);
        }
    }

    /// A page of the group that was entered for it is the newest on its chain.
    pub fn push(&mut self, chain: &mut Chain, page: Page, member: Member) {
        self.pages.push_newest(chain, page);
        self.pages[page] = member;
    }

    /// A page of this chain is the newest on it, by a reference of its own group.
    pub fn renew(&mut self, chain: &mut Chain, page: Page, at: u64) {
        self.pages.renew(chain, page);
        self.pages[page].at = at;
    }

    /// A page of this chain is of no group any more.
    pub fn remove(&mut self, chain: &mut Chain, page: Page) {
        self.pages.remove(chain, page);
        self.leave(self.pages[page].group);
    }

    /// The pages of a chain, newest first.
    pub fn newest_first(&self, chain: &Chain) -> impl Iterator<Item = Page> + use<'_> {
        self.pages.newest_first(chain)
    }

    /// Every group has the pages that are of it; both partitions together have so many.
    pub fn check(&self, pages: u64) {
        assert_eq!(self.groups.iter().map(|(_, pages)| pages).sum::<u64>(), pages, "I1: the pages of the groups");
        for (&group, &number) in &self.numbers {
            let (name, pages) = self.groups[number as usize];
            assert!(name == group && pages > 0, "a group that has no pages has a number");
        }
        assert_eq!(self.numbers.len() + self.free.len(), self.groups.len(), "a number is of one group");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_of_the_group_that_has_pages() {
        let (mut members, mut chains) = (Members::default(), [Chain::default(); 2]);
        let mut push = |members: &mut Members, page, name| {
            let group = members.enter((name, 0));
            members.push(&mut chains[group as usize], page, Member { group, ..Member::default() });
            group
        };
        assert_eq!([(0, 7), (1, 8), (2, 7)].map(|(page, name)| push(&mut members, page, name)), [0, 1, 0]);
        members.remove(&mut chains[0], 0);
        members.check(2);
        assert_eq!((members.number((7, 0)), members.group(0)), (Some(0), (7, 0)));
        members.remove(&mut chains[0], 2);
        assert_eq!(members.number((7, 0)), None);
        // The group that was entered last has none any more.
        assert_eq!(members.enter((7, 0)), 0);
        assert_eq!(members.enter((9, 0)), 2);
        assert_eq!(members.enter((8, 0)), 1);
    }
}
