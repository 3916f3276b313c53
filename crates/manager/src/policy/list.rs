//! Lists of pages in which any page can be unlinked in constant time: the links lie in an array
//! indexed by page.
//!
//! A [`List`] has links of its own. Lists of which a page is on one at most share their [`Links`],
//! and are [`Chain`]s. What a policy notes of a page lies beside its links: where memory is large,
//! each other place to look is a cache miss more.

use std::ops::{Index, IndexMut};

use super::by_page;
use crate::ids::Page;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Link<T> {
    older: u32,
    newer: u32,
    note: T,
}

/// The ends of a list whose links lie elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    oldest: u32,
    newest: u32,
    len: u64,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { oldest: NONE, newest: NONE, len: 0 }
    }
}

impl Chain {
    /// How many pages are on the list.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no page is on the list.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The page at the oldest end.
    pub fn oldest(&self) -> Option<Page> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The page at the newest end.
    pub fn newest(&self) -> Option<Page> {
        (self.newest != NONE).then_some(self.newest)
    }
}

/// The links of any number of lists, of which a page is on one at most, and what is noted of each
/// page.
pub struct Links<T = ()>(Vec<Link<T>>);

impl<T> Default for Links<T> {
    fn default() -> Self {
        Links(Vec::new())
    }
}

/// What is noted of a page that was on a list before.
impl<T> Index<Page> for Links<T> {
    type Output = T;

    fn index(&self, page: Page) -> &T {
        &self.0[page as usize].note
    }
}

impl<T> IndexMut<Page> for Links<T> {
    fn index_mut(&mut self, page: Page) -> &mut T {
        &mut self.0[page as usize].note
    }
}

impl<T: Copy + Default> Links<T> {
    /// What is noted of a page, if it was on a list before.
    pub fn get(&self, page: Page) -> Option<&T> {
        self.0.get(page as usize).map(|link| &link.note)
    }

    /// What is noted of every page that was on a list.
    pub fn notes(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|link| &link.note)
    }

    /// What is noted of a page, whether it was on a list before or not.
    pub fn reach(&mut self, page: Page) -> &mut T {
        by_page::reach(&mut self.0, page, Link { older: NONE, newer: NONE, note: T::default() });
        &mut self.0[page as usize].note
    }

    /// Puts a page that is on no list between two neighbours of this one; NONE: the list's end.
    fn link(&mut self, chain: &mut Chain, page: Page, older: u32, newer: u32) {
        self.reach(page);
        let link = &mut self.0[page as usize];
        (link.older, link.newer) = (older, newer);
        match older {
            NONE => chain.oldest = page,
            older => self.0[older as usize].newer = page,
        }
        match newer {
            NONE => chain.newest = page,
            newer => self.0[newer as usize].older = page,
        }
        chain.len += 1;
    }

    /// Puts a page that is on no list at the newest end of this one.
    pub fn push_newest(&mut self, chain: &mut Chain, page: Page) {
        self.link(chain, page, chain.newest, NONE);
    }

    /// Puts a page that is on no list at the oldest end of this one.
    pub fn push_oldest(&mut self, chain: &mut Chain, page: Page) {
        self.link(chain, page, NONE, chain.oldest);
    }

    /// Puts a page that is on no list next to one that is on this one, on its newer side.
    pub fn push_after(&mut self, chain: &mut Chain, page: Page, older: Page) {
        let newer = self.0[older as usize].newer;
        self.link(chain, page, older, newer);
    }

    /// Takes a page that is on this list off it.
    pub fn remove(&mut self, chain: &mut Chain, page: Page) {
        let Link { older, newer, .. } = self.0[page as usize];
        match older {
            NONE => chain.oldest = newer,
            older => self.0[older as usize].newer = newer,
        }
        match newer {
            NONE => chain.newest = older,
            newer => self.0[newer as usize].older = older,
        }
        chain.len -= 1;
    }

    /// Puts all pages of another list at the newest end of this one.
    pub fn append(&mut self, chain: &mut Chain, newer: Chain) {
        match (chain.newest, newer.oldest) {
            (_, NONE) => {}
            (NONE, _) => *chain = newer,
            (older, next) => {
                (self.0[older as usize].newer, self.0[next as usize].older) = (next, older);
                *chain = Chain { oldest: chain.oldest, newest: newer.newest, len: chain.len + newer.len };
            }
        }
    }

    /// Moves a page that is on this list to its newest end.
    pub fn renew(&mut self, chain: &mut Chain, page: Page) {
        if chain.newest != page {
            self.remove(chain, page);
            self.push_newest(chain, page);
        }
    }

    /// The page that is next to this one, on its newer side.
    pub fn newer(&self, page: Page) -> Option<Page> {
        let newer = self.0[page as usize].newer;
        (newer != NONE).then_some(newer)
    }

    /// This page, which is on a list, and those on its newer side.
    pub fn from(&self, page: Page) -> impl Iterator<Item = Page> + use<'_, T> {
        self.follow(page, |link| link.newer)
    }

    /// Lets two pages of this list change places.
    pub fn swap(&mut self, chain: &mut Chain, one: Page, other: Page) {
        if one == other {
            return;
        }
        if self.0[other as usize].newer == one {
            return self.swap(chain, other, one);
        }
        // `one` is not the direct successor of `other`, so its own successor stays where it is when `other`
        // comes before it.
        let newer = self.0[one as usize].newer;
        self.remove(chain, one);
        let beyond = self.0[other as usize].newer;
        self.link(chain, one, other, beyond);
        if newer != other {
            self.remove(chain, other);
            let older = if newer == NONE { chain.newest } else { self.0[newer as usize].older };
            self.link(chain, other, older, newer);
        }
    }

    /// The pages of a list, oldest first.
    pub fn oldest_first(&self, chain: &Chain) -> impl Iterator<Item = Page> + use<'_, T> {
        self.follow(chain.oldest, |link| link.newer)
    }

    /// The pages of a list, newest first.
    pub fn newest_first(&self, chain: &Chain) -> impl Iterator<Item = Page> + use<'_, T> {
        self.follow(chain.newest, |link| link.older)
    }

    fn follow(&self, mut next: u32, on: fn(Link<T>) -> u32) -> impl Iterator<Item = Page> + use<'_, T> {
        std::iter::from_fn(move || {
            (next != NONE).then(|| {
                let page = next;
                next = on(self.0[page as usize]);
                page
            })
        })
    }
}

/// Pages from the oldest (the end where they are given up) to the newest.
#[derive(Default)]
pub struct List {
    links: Links,
    chain: Chain,
}

impl List {
    /// Puts a page that is not on the list at its newest end.
    pub fn push_newest(&mut self, page: Page) {
        self.links.push_newest(&mut self.chain, page);
    }

    /// Takes a page that is on the list off it.
    pub fn remove(&mut self, page: Page) {
        self.links.remove(&mut self.chain, page);
    }

    /// Moves a page that is on the list to its newest end.
    pub fn renew(&mut self, page: Page) {
        self.links.renew(&mut self.chain, page);
    }

    /// Lets two pages of the list change places.
    pub fn swap(&mut self, one: Page, other: Page) {
        self.links.swap(&mut self.chain, one, other);
    }

    /// The pages, oldest first.
    pub fn oldest_first(&self) -> impl Iterator<Item = Page> + '_ {
        self.links.oldest_first(&self.chain)
    }

    /// The pages, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = Page> + '_ {
        self.links.newest_first(&self.chain)
    }

    /// How many pages are on the list.
    pub fn len(&self) -> u64 {
        self.chain.len()
    }

    /// Whether no page is on the list.
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_list_goes_on_where_another_ends() {
        for (one, other) in [(0..0, 0..0), (0..3, 3..3), (0..0, 0..2), (0..2, 2..5)] {
            let (mut links, mut chain, mut newer) = (Links::<()>::default(), Chain::default(), Chain::default());
            one.for_each(|page| links.push_newest(&mut chain, page));
            let end = other.end;
            other.for_each(|page| links.push_newest(&mut newer, page));
            links.append(&mut chain, newer);
            assert!(links.oldest_first(&chain).eq(0..end) && links.newest_first(&chain).eq((0..end).rev()));
            assert_eq!(chain.len(), u64::from(end));
        }
    }

    #[test]
    fn any_two_pages_change_places() {
        const PAGES: u32 = 6;
        for one in 0..PAGES {
            for other in 0..PAGES {
                let mut list = List::default();
                (0..PAGES).for_each(|page| list.push_newest(page));
                list.swap(one, other);
                let mut expected: Vec<Page> = (0..PAGES).collect();
                expected.swap(one as usize, other as usize);
                assert_eq!(list.oldest_first().collect::<Vec<_>>(), expected);
                expected.reverse();
                assert_eq!(list.links.newest_first(&list.chain).collect::<Vec<_>>(), expected);
                assert_eq!(list.len(), u64::from(PAGES));
            }
        }
    }
}
