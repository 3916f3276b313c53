//! Pages that are read again and again: those of the longest loop go first, and the newest first
//! among loops of one length.
//!
//! Loops are *alike*, of one length, if their periods have the same power of two. A period is an
//! average that a single late block moves by half. Several sites that read the same blocks, as the
//! searches of one program do, would else give up each other's pages in turns, whichever seems the
//! longest at the moment, and none would keep a part of the loop. The paper compares periods
//! exactly.
//!
//! *Onward*: after a page goes the next of its file, while that was read lately; only then the
//! newest. What was read a little longer ago than the newest comes back a little sooner, and has
//! held its page in vain for so long; but where the newest goes, what is missing of a file stays in
//! as many pieces as it ever was, and this way those that lie near one another become one, which a
//! disk reads in one go. The paper counts misses, and takes the newest.
//!
//! ```text
//! missing of a loop: 10 11, 14 15, 20 21      newest first: 8 9, 12 13, 18 19 go      onward: 9 10 11 12 13 14 go
//! ```
//!
//! Before them goes what is *overdue*: not read for so many of its periods. Its loop is over, and
//! under MRU it would stay for ever, where the next one's pages are newer. The paper knows no such
//! thing.

use std::collections::BTreeSet;

use super::{Group, Loops};
use crate::ids::{Block, Page};
use crate::policy::by_page;
use crate::policy::list::{Chain, Links};
use crate::table::{FastMap, Table};

/// Lately: within as many references as this part of the looping pages. So much of them is held in
/// vain at worst.
const LATELY_PART: u64 = 8;

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
    /// Every group with its length and the last reference to its newest page: the last one's newest
    /// page goes first.
    order: BTreeSet<(u64, u64, Group)>,
    links: Links,
    /// The block that went last.
    went: Option<Block>,
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
            went: None,
            pages: Vec::new(),
            len: 0,
        }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    fn length(&self, period: u64) -> u64 {
        if self.rules.alike { u64::from(period.max(1).ilog2()) } else { period }
    }

    /// Where a group stands in the order.
    fn rank(&self, group: Group, it: &Loop) -> Option<(u64, u64, Group)> {
        let newest = self.links.newest_first(&it.pages).next()?;
        Some((self.length(it.period), self.pages[newest as usize].1, group))
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
        by_page::reach(&mut self.pages, page, ((0, 0), 0));
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

    /// The page of the longest loop that goes now; `is_here`: it is in this partition.
    pub fn candidate(&self, now: u64, table: &Table, is_here: impl Fn(Page) -> bool) -> Option<Page> {
        let next = self.went.map(|went| Block { index: went.index + 1, ..went });
        let next = next.filter(|next| self.rules.onward && next.index < Block::INDEX_LIMIT);
        let onward =
            next.and_then(|next| table.find(next)).filter(|&page| is_here(page) && self.goes_onward(page, now));
        let can_go = |page| table.can_go(page);
        onward.filter(|&page| can_go(page)).or_else(|| self.newest(can_go))
    }

    /// The candidate goes, of this block.
    pub fn evicting(&mut self, block: Block) {
        self.went = Some(block);
    }

    /// Whether a page is of a loop as long as the longest, and was read lately.
    fn goes_onward(&self, page: Page, now: u64) -> bool {
        let (group, at) = self.pages[page as usize];
        let period = self.loops[&group].period;
        let is_long = self.longest().is_some_and(|longest| self.length(longest) == self.length(period));
        is_long && (now - at) * LATELY_PART <= self.len
    }

    /// The newest page of the longest loop.
    fn newest(&self, can_go: impl Fn(Page) -> bool) -> Option<Page> {
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
