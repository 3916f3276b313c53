//! Pages in the order of their next use, seen from both ends: the latest is the least valuable, and
//! what a reader has passed over without reading it comes up as the soonest.
//!
//! A page that is read and disclosed again goes to the far end, so most come in order: they stand
//! in a queue, which costs nothing to extend. What comes in between (a block fetched ahead is read
//! soon) goes to two heaps. Entries that are true no longer, and those that came twice because a
//! page left and came back, stay until they surface, or until they are more than the others.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::ids::Page;

type Entry = (u64, Page);

/// Pages by next use.
#[derive(Default)]
pub struct Agenda {
    in_order: VecDeque<Entry>,
    latest: BinaryHeap<Entry>,
    soonest: BinaryHeap<Reverse<Entry>>,
    /// Entries that are true.
    len: usize,
}

impl Agenda {
    /// Whether no page is on it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A page that is on no agenda, and is used then. `holds` tells which entries are true.
    pub fn push(&mut self, when: u64, page: Page, holds: impl Fn(u64, Page) -> bool) {
        self.len += 1;
        if self.in_order.back().is_none_or(|&(last, _)| last <= when) {
            self.in_order.push_back((when, page));
        } else {
            self.latest.push((when, page));
            self.soonest.push(Reverse((when, page)));
        }
        let entries_max = 2 * self.len + 64;
        if self.in_order.len() > entries_max {
            let mut last = None;
            self.in_order.retain(|&(when, page)| holds(when, page) && last.replace((when, page)) != Some((when, page)));
        }
        if self.latest.len() > entries_max {
            clear_out(&mut self.latest, |&(when, page)| holds(when, page));
        }
        if self.soonest.len() > entries_max {
            clear_out(&mut self.soonest, |&Reverse((when, page))| holds(when, page));
        }
    }

    /// A page is on it no longer: its entry holds no more.
    pub fn forget(&mut self) {
        self.len -= 1;
    }

    /// Drops what is true no longer at both ends, so that to look at them is quick.
    pub fn clear_ends(&mut self, holds: impl Fn(u64, Page) -> bool) {
        while self.in_order.back().is_some_and(|&(when, page)| !holds(when, page)) {
            self.in_order.pop_back();
        }
        while self.in_order.front().is_some_and(|&(when, page)| !holds(when, page)) {
            self.in_order.pop_front();
        }
        while self.latest.peek().is_some_and(|&(when, page)| !holds(when, page)) {
            self.latest.pop();
        }
        while self.soonest.peek().is_some_and(|&Reverse((when, page))| !holds(when, page)) {
            self.soonest.pop();
        }
    }

    /// The page used last of all.
    pub fn latest(&self, holds: impl Fn(u64, Page) -> bool) -> Option<Entry> {
        let holds = |&&(when, page): &&Entry| holds(when, page);
        let of_heap = self.latest.peek().filter(holds).or_else(|| self.latest.iter().filter(holds).max());
        self.in_order.iter().rev().find(holds).max(of_heap).copied()
    }

    /// The page used first of all.
    pub fn soonest(&self, holds: impl Fn(u64, Page) -> bool) -> Option<Entry> {
        let holds = |entry: &&Entry| holds(entry.0, entry.1);
        let heap = || self.soonest.iter().map(|Reverse(entry)| entry);
        let top = self.soonest.peek().map(|Reverse(entry)| entry);
        let of_heap = top.filter(holds).or_else(|| heap().filter(holds).min());
        self.in_order.iter().find(holds).into_iter().chain(of_heap).min().copied()
    }

    /// Every page that is on it; it is empty afterwards.
    pub fn drain(&mut self, holds: impl Fn(u64, Page) -> bool) -> Vec<Page> {
        let all = std::mem::take(self);
        let entries = all.in_order.into_iter().chain(all.latest);
        entries.filter(|&(when, page)| holds(when, page)).map(|(_, page)| page).collect()
    }
}

/// Leaves each entry that is true, once.
fn clear_out<T: Ord>(heap: &mut BinaryHeap<T>, holds: impl Fn(&T) -> bool) {
    let mut entries = std::mem::take(heap).into_vec();
    entries.retain(holds);
    entries.sort_unstable();
    entries.dedup();
    *heap = entries.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Random pages come and go; both ends are those of a sorted set.
    #[test]
    fn both_ends_are_those_of_a_sorted_set() {
        let (mut agenda, mut uses, mut sorted) = (Agenda::default(), [None; 64], BTreeSet::new());
        let mut random = 7_u64;
        for step in 0..20_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let page = (random >> 40) % 64;
            if let Some(when) = uses[page as usize].take() {
                agenda.forget();
                if random >> 62 == 0 {
                    sorted.remove(&(when, page as Page));
                } else {
                    // It comes back as it was.
                    uses[page as usize] = Some(when);
                    agenda.push(when, page as Page, |when, page| uses[page as usize] == Some(when));
                }
            } else {
                // No two pages are used at once.
                let when = if random >> 63 == 0 { step } else { (random >> 20) % (step + 1) } * 64 + page;
                uses[page as usize] = Some(when);
                sorted.insert((when, page as Page));
                agenda.push(when, page as Page, |when, page| uses[page as usize] == Some(when));
            }
            let holds = |when: u64, page: Page| uses[page as usize] == Some(when);
            assert_eq!(agenda.latest(holds), sorted.last().copied(), "before the ends are cleared");
            assert_eq!(agenda.soonest(holds), sorted.first().copied(), "before the ends are cleared");
            agenda.clear_ends(holds);
            assert_eq!(agenda.latest(holds), sorted.last().copied());
            assert_eq!(agenda.soonest(holds), sorted.first().copied());
            assert_eq!(agenda.is_empty(), sorted.is_empty());
            assert!(agenda.in_order.len() + agenda.latest.len() < 500, "stale entries pile up");
        }
        let mut left = agenda.drain(|when, page| uses[page as usize] == Some(when));
        left.sort_unstable();
        left.dedup();
        assert_eq!(left.len(), sorted.len());
    }
}
