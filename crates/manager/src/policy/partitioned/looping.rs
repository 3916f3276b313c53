//! Pages that are read again and again: those of the longest loop go first, and the newest first among loops of one length.
//!
//! Loops are *alike*, of one length, if their periods have the same power of two. A period is an average that a single late block
//! moves by half. Several sites that read the same blocks, as the searches of one program do, would else give up each other's
//! pages in turns, whichever seems the longest at the moment, and none would keep a part of the loop. The paper compares periods exactly.
//!
//! Before them goes what is *overdue*: not read for so many of its periods. Its loop is over, and under MRU it would stay for ever,
//! where the next one's pages are newer. The paper knows no such thing.

use std::collections::BTreeSet;

use super::{Group, Loops};
use crate::ids::Page;
use crate::policy::list::{Chain, Links};
use crate::table::FastMap;

/// The pages of one group, in the order of their last reference.
struct Loop {
    period: u64,
    pages: Chain,
}

/// The looping partition.
pub(super) struct Looping {
    rules: Loops,
    loops: FastMap<Group, Loop>,
    /// Every group with the reference at which its oldest page is overdue.
    deadlines: BTreeSet<(u64, Group)>,
    /// Every group with its length and the last reference to its newest page: the last one's newest page goes first.
    order: BTreeSet<(u64, u64, Group)>,
    links: Links,
    /// The group of each page, and its last reference.
    pages: Vec<(Group, u64)>,
    len: u64,
}

impl Looping {
    pub fn new(rules: Loops) -> Self {
        Looping {
            rules,
            loops: FastMap::default(),
            deadlines: BTreeSet::new(),
            order: BTreeSet::new(),
            links: Links::default(),
            pages: Vec::new(),
            len: 0,
        }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Where a group stands in the order.
    fn rank(&self, group: Group, it: &Loop) -> Option<(u64, u64, Group)> {
        let newest = self.links.newest_first(&it.pages).next()?;
        let length = if self.rules.alike { u64::from(it.period.max(1).ilog2()) } else { it.period };
        Some((length, self.pages[newest as usize].1, group))
    }

    /// When a group's oldest page is overdue.
    fn deadline(&self, group: Group, it: &Loop) -> Option<(u64, Group)> {
        let oldest = self.links.oldest_first(&it.pages).next()?;
        let after = (it.period as f64 * self.rules.overdue) as u64;
        Some((self.pages[oldest as usize].1.saturating_add(after), group))
    }

    /// Changes a group, and its place in the order with it.
    fn change(&mut self, group: Group, change: impl FnOnce(&mut Self, &mut Loop)) {
        let mut it = self.loops.remove(&group).unwrap_or(Loop { period: 0, pages: Chain::default() });
        if let (Some(rank), Some(deadline)) = (self.rank(group, &it), self.deadline(group, &it)) {
            self.order.remove(&rank);
            self.deadlines.remove(&deadline);
        }
        change(self, &mut it);
        if let (Some(rank), Some(deadline)) = (self.rank(group, &it), self.deadline(group, &it)) {
            self.order.insert(rank);
            self.deadlines.insert(deadline);
            self.loops.insert(group, it);
        }
    }

    /// A page was read at `at`, after all others of its group.
    pub fn push(&mut self, page: Page, group: Group, period: u64, at: u64) {
        if page as usize >= self.pages.len() {
            self.pages.resize(page as usize + 1, ((0, 0), 0));
        }
        self.pages[page as usize] = (group, at);
        self.len += 1;
        self.change(group, |this, it| {
            it.period = period;
            this.links.push_newest(&mut it.pages, page);
        });
    }

    pub fn remove(&mut self, page: Page) {
        self.len -= 1;
        self.change(self.pages[page as usize].0, |this, it| this.links.remove(&mut it.pages, page));
    }

    /// A group's period is another; all its pages' with it.
    pub fn renew(&mut self, group: Group, period: u64) {
        if self.loops.get(&group).is_some_and(|it| it.period != period) {
            self.change(group, |_, it| it.period = period);
        }
    }

    /// The period of the loop whose pages go first.
    pub fn longest(&self) -> Option<u64> {
        let &(.., group) = self.order.last()?;
        Some(self.loops.get(&group)?.period)
    }

    /// A page that is overdue now, the first that was.
    pub fn overdue(&self, now: u64, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let &(_, group) = self.deadlines.first().filter(|(deadline, _)| *deadline < now)?;
        let mut pages = self.links.oldest_first(&self.loops.get(&group)?.pages);
        pages.next().filter(|&page| can_go(page))
    }

    /// The newest page of the longest loop.
    pub fn victim(&self, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let newest_first = |group| self.loops.get(group).map(|it| self.links.newest_first(&it.pages));
        let pages = self.order.iter().rev().filter_map(|(_, _, group)| newest_first(group)).flatten();
        pages.into_iter().find(|&page| can_go(page))
    }

    /// The order is that of the groups as they are.
    pub fn check(&self) {
        let ranks: BTreeSet<_> = self.loops.iter().filter_map(|(&group, it)| self.rank(group, it)).collect();
        assert_eq!(ranks, self.order, "the loops and their order disagree");
        let deadlines: BTreeSet<_> = self.loops.iter().filter_map(|(&group, it)| self.deadline(group, it)).collect();
        assert_eq!(deadlines, self.deadlines, "the loops and their deadlines disagree");
        assert_eq!(self.loops.values().map(|it| it.pages.len()).sum::<u64>(), self.len, "I1: the looping pages");
    }
}
