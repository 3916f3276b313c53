//! Pages that were brought ahead and not read yet. They will be, all being well, and sooner than
//! any other: so they go last. One that was not read for as many references as there are pages was
//! brought in vain, and goes first.

use super::by_page;
use crate::ids::Page;
use crate::policy::list::List;

/// The pages nobody has read yet.
#[derive(Default)]
pub(super) struct Unread {
    /// In the order in which they came.
    pages: List,
    /// The number of references when each page came.
    came: Vec<u64>,
}

impl Unread {
    pub fn len(&self) -> u64 {
        self.pages.len()
    }

    pub fn push(&mut self, page: Page, now: u64) {
        by_page::reach(&mut self.came, page, 0);
        self.came[page as usize] = now;
        self.pages.push_newest(page);
    }

    pub fn remove(&mut self, page: Page) {
        self.pages.remove(page);
    }

    /// The oldest page, if it was brought in vain.
    pub fn overdue(&self, now: u64, capacity: u64, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        self.pages.oldest_first().next().filter(|&page| self.came[page as usize] + capacity < now && can_go(page))
    }

    /// The oldest page.
    pub fn candidate(&self, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        self.pages.oldest_first().find(|&page| can_go(page))
    }
}
