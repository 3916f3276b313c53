//! Lists of which a page is on one at a time and knows which: the parts into which a policy divides
//! its pages.

use std::ops::{Index, IndexMut};

use super::list::{Chain, Links};
use crate::ids::Page;

/// `PARTS` lists, and what is noted of each page beside the number of its own.
pub(super) struct Parts<const PARTS: usize, T = ()> {
    links: Links<(u8, T)>,
    lists: [Chain; PARTS],
}

impl<const PARTS: usize, T> Default for Parts<PARTS, T> {
    fn default() -> Self {
        Parts { links: Links::default(), lists: [Chain::default(); PARTS] }
    }
}

/// What is noted of a page that was in a part before.
impl<const PARTS: usize, T> Index<Page> for Parts<PARTS, T> {
    type Output = T;

    fn index(&self, page: Page) -> &T {
        &self.links[page].1
    }
}

impl<const PARTS: usize, T> IndexMut<Page> for Parts<PARTS, T> {
    fn index_mut(&mut self, page: Page) -> &mut T {
        &mut self.links[page].1
    }
}

impl<const PARTS: usize, T: Copy + Default> Parts<PARTS, T> {
    /// Puts a page that is in no part at the newest end of this one. What is noted of it stays.
    pub fn put(&mut self, page: Page, part: usize) {
        self.links.push_newest(&mut self.lists[part], page);
        self.links[page].0 = part as u8;
    }

    /// Takes a page out of its part. Returns which that was.
    pub fn take(&mut self, page: Page) -> usize {
        let part = self.part_of(page);
        self.links.remove(&mut self.lists[part], page);
        part
    }

    /// Moves a page from its part, or from its place there, to the newest end of this one.
    pub fn shift(&mut self, page: Page, part: usize) {
        self.take(page);
        self.put(page, part);
    }

    /// Moves a page to the newest end of its part.
    pub fn renew(&mut self, page: Page) {
        let part = self.part_of(page);
        self.links.renew(&mut self.lists[part], page);
    }

    /// The part of a page that is in one.
    pub fn part_of(&self, page: Page) -> usize {
        usize::from(self.links[page].0)
    }

    /// How many pages a part has.
    pub fn len(&self, part: usize) -> u64 {
        self.lists[part].len()
    }

    /// The page at the oldest end of a part.
    pub fn oldest(&self, part: usize) -> Option<Page> {
        self.lists[part].oldest()
    }

    /// The pages of a part, oldest first.
    pub fn oldest_first(&self, part: usize) -> impl Iterator<Item = Page> + '_ {
        self.links.oldest_first(&self.lists[part])
    }
}
