//! Pages that nobody tracks: they go before all others, in the order in which they came to be.

use crate::ids::Page;
use crate::policy::list::List;

/// Pages that no estimator tracked when they were put here.
#[derive(Default)]
pub struct Orphans {
    pages: List,
    is_here: Vec<bool>,
}

impl Orphans {
    /// Nobody tracks this page.
    pub fn push(&mut self, page: Page) {
        let at = page as usize;
        if at >= self.is_here.len() {
            self.is_here.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.is_here[at], true) {
            self.pages.push_newest(page);
        }
    }

    /// The page goes, or is tracked again.
    pub fn remove(&mut self, page: Page) {
        if let Some(is_here @ true) = self.is_here.get_mut(page as usize) {
            *is_here = false;
            self.pages.remove(page);
        }
    }

    /// The first page that can go; those before it that are tracked by now are no orphans any more.
    pub fn first(&mut self, is_wanted: impl Fn(Page) -> bool, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        let mut wanted = Vec::new();
        let unwanted = |&page: &Page| {
            let is_wanted = is_wanted(page);
            wanted.extend(is_wanted.then_some(page));
            !is_wanted
        };
        let first = self.pages.oldest_first().filter(unwanted).find(|&page| can_go(page));
        wanted.into_iter().for_each(|page| self.remove(page));
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_first_that_can_go() {
        let mut orphans = Orphans::default();
        [3, 1, 4, 1, 5].iter().for_each(|&page| orphans.push(page));
        assert_eq!(orphans.first(|_| false, |page| page != 3), Some(1));
        orphans.remove(1);
        orphans.remove(9);
        assert_eq!(orphans.first(|page| page == 3, |_| true), Some(4));
        // 3 was tracked when it was looked at: it is an orphan no longer.
        assert_eq!(orphans.first(|_| false, |_| true), Some(4));
        orphans.push(3);
        orphans.remove(4);
        assert_eq!(orphans.first(|_| false, |_| true), Some(5));
    }

    /// A reader that exits leaves as many as it had pages; each goes without a look at the others.
    #[test]
    fn many_go_one_by_one() {
        let looks = Cell::new(0);
        let mut orphans = Orphans::default();
        (0..10_000).for_each(|page| orphans.push(page));
        let is_wanted = |_| {
            looks.set(looks.get() + 1);
            false
        };
        while let Some(page) = orphans.first(is_wanted, |_| true) {
            orphans.remove(page);
        }
        assert_eq!(looks.get(), 10_000);
    }
}
