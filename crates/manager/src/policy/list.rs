//! A list of pages in which any page can be unlinked in constant time: the links lie in an array indexed by page.

use crate::ids::Page;

const NONE: u32 = u32::MAX;
#[derive(Clone, Copy)]
struct Link {
    older: u32,
    newer: u32,
}

/// Pages from the oldest (the end where they are given up) to the newest.
pub struct List {
    links: Vec<Link>,
    oldest: u32,
    newest: u32,
    len: u64,
}

impl Default for List {
    fn default() -> Self {
        List { links: Vec::new(), oldest: NONE, newest: NONE, len: 0 }
    }
}

impl List {
    /// Puts a page that is not on the list at its newest end.
    pub fn push_newest(&mut self, page: Page) {
        if page as usize >= self.links.len() {
            self.links.resize(page as usize + 1, Link { older: 0, newer: 0 });
        }
        self.links[page as usize] = Link { older: self.newest, newer: NONE };
        match self.newest {
            NONE => self.oldest = page,
            newest => self.links[newest as usize].newer = page,
        }
        self.newest = page;
        self.len += 1;
    }

    /// Takes a page that is on the list off it.
    pub fn remove(&mut self, page: Page) {
        let Link { older, newer } = self.links[page as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        self.len -= 1;
    }

    /// Moves a page that is on the list to its newest end.
    pub fn renew(&mut self, page: Page) {
        if self.newest != page {
            self.remove(page);
            self.push_newest(page);
        }
    }

    /// The pages, oldest first.
    pub fn oldest_first(&self) -> impl Iterator<Item = Page> + '_ {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            (next != NONE).then(|| {
                let page = next;
                next = self.links[page as usize].newer;
                page
            })
        })
    }

    /// How many pages are on the list.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no page is on the list.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
