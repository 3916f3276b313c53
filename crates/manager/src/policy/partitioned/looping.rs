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

use super::members::{Member, Members, Number};
use super::{Group, Loops};
use crate::ids::{Block, Page};
use crate::policy::list::Chain;
use crate::table::Table;

/// Lately: within as many references as this part of the looping pages. So much of them is held in
/// vain at worst.
const LATELY_PART: u64 = 8;

/// The pages of one group, in the order of their last reference.
#[derive(Clone, Default)]
struct Loop {
    period: u64,
    pages: Chain,
}

/// Where a group that has pages stands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Standing {
    /// The reference at which its oldest page is overdue; of several, the first name's is the first.
    deadline: (u64, Group, Number),
    /// Its length, and the last reference to its newest page.
    rank: (u64, u64, Number),
}

/// The looping partition.
pub(super) struct Looping {
    rules: Loops,
    /// By the groups' numbers.
    loops: Vec<Loop>,
    /// Of every group that has pages.
    deadlines: BTreeSet<(u64, Group, Number)>,
    /// Of every group that has pages: the last one's newest page goes first.
    order: BTreeSet<(u64, u64, Number)>,
    /// The block that went last.
    went: Option<Block>,
    len: u64,
}

impl Looping {
    pub fn new(rules: Loops) -> Self {
        Looping { rules, loops: Vec::new(), deadlines: BTreeSet::new(), order: BTreeSet::new(), went: None, len: 0 }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    fn length(&self, period: u64) -> u64 {
        if self.rules.alike { u64::from(period.max(1).ilog2()) } else { period }
    }

    fn standing(&self, number: Number, members: &Members) -> Option<Standing> {
        let it = &self.loops[number as usize];
        let [oldest, newest] = [it.pages.oldest()?, it.pages.newest()?].map(|page| members.of(page).at);
        let after = (it.period as f64 * self.rules.overdue) as u64;
        Some(Standing {
            deadline: (oldest.saturating_add(after), members.group(number), number),
            rank: (self.length(it.period), newest, number),
        })
    }

    /// Changes a group, and where it stands.
    fn change(&mut self, number: Number, members: &mut Members, change: impl FnOnce(&mut Members, &mut Loop)) {
        let before = self.standing(number, members);
        change(members, &mut self.loops[number as usize]);
        let after = self.standing(number, members);
        if before == after {
            return;
        }
        if let Some(Standing { deadline, rank }) = before {
            self.deadlines.remove(&deadline);
            self.order.remove(&rank);
        }
        if let Some(Standing { deadline, rank }) = after {
            self.deadlines.insert(deadline);
            self.order.insert(rank);
        }
    }

    /// A page was read after all others of its group.
    pub fn push(&mut self, page: Page, read: Member, period: u64, members: &mut Members) {
        let number = read.group;
        if number as usize >= self.loops.len() {
            self.loops.resize(number as usize + 1, Loop::default());
        }
        self.len += 1;
        self.change(number, members, |members, it| {
            it.period = period;
            members.push(&mut it.pages, page, read);
        });
    }

    /// A page that is here was read again, of the same group.
    pub fn read_again(&mut self, page: Page, at: u64, period: u64, members: &mut Members) {
        self.change(members.of(page).group, members, |members, it| {
            it.period = period;
            members.renew(&mut it.pages, page, at);
        });
    }

    pub fn remove(&mut self, page: Page, members: &mut Members) {
        self.len -= 1;
        self.change(members.of(page).group, members, |members, it| members.remove(&mut it.pages, page));
    }

    /// A group's period is another; all its pages' with it.
    pub fn renew(&mut self, group: Group, period: u64, members: &mut Members) {
        let number = members.number(group).filter(|&number| (number as usize) < self.loops.len());
        number.into_iter().for_each(|number| self.change(number, members, |_, it| it.period = period));
    }

    /// The period of the loop whose pages go first.
    pub fn longest(&self) -> Option<u64> {
        let &(.., number) = self.order.last()?;
        Some(self.loops[number as usize].period)
    }

    /// A page that is overdue now, the first that was.
    pub fn overdue(&self, now: u64, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let &(.., number) = self.deadlines.first().filter(|(deadline, ..)| *deadline < now)?;
        self.loops[number as usize].pages.oldest().filter(|&page| can_go(page))
    }

    /// The page of the longest loop that goes now; `is_here`: it is in this partition.
    pub fn candidate(
        &self,
        now: u64,
        table: &Table,
        members: &Members,
        is_here: impl Fn(Page) -> bool,
    ) -> Option<Page> {
        let next = self.went.map(|went| Block { index: went.index + 1, ..went });
        let next = next.filter(|next| self.rules.onward && next.index < Block::INDEX_LIMIT);
        let onward = next.and_then(|next| table.find(next));
        let onward = onward.filter(|&page| is_here(page) && self.goes_onward(page, now, members));
        let can_go = |page| table.can_go(page);
        onward.filter(|&page| can_go(page)).or_else(|| self.newest(members, can_go))
    }

    /// The candidate goes, of this block.
    pub fn evicting(&mut self, block: Block) {
        self.went = Some(block);
    }

    /// Whether a page is of a loop as long as the longest, and was read lately.
    fn goes_onward(&self, page: Page, now: u64, members: &Members) -> bool {
        let Member { group, at, .. } = members.of(page);
        let period = self.loops[group as usize].period;
        let is_long = self.longest().is_some_and(|longest| self.length(longest) == self.length(period));
        is_long && (now - at) * LATELY_PART <= self.len
    }

    /// The newest page of the longest loop.
    fn newest(&self, members: &Members, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let newest_first = |number: Number| members.newest_first(&self.loops[number as usize].pages);
        let mut pages = self.order.iter().rev().flat_map(|&(.., number)| newest_first(number));
        pages.find(|&page| can_go(page))
    }

    /// The order is that of the groups as they are.
    pub fn check(&self, members: &Members) {
        let numbers = 0..self.loops.len() as Number;
        let standings: Vec<_> = numbers.filter_map(|number| self.standing(number, members)).collect();
        let ranks: BTreeSet<_> = standings.iter().map(|it| it.rank).collect();
        assert_eq!(ranks, self.order, "the loops and their order disagree");
        let deadlines: BTreeSet<_> = standings.iter().map(|it| it.deadline).collect();
        assert_eq!(deadlines, self.deadlines, "the loops and their deadlines disagree");
        assert_eq!(self.loops.iter().map(|it| it.pages.len()).sum::<u64>(), self.len, "I1: the looping pages");
    }
}
