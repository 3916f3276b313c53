//! Pages that were brought ahead and not read yet. They will be, all being well, and sooner than
//! any other: so they go last. One that was not read for as many references as there are pages was
//! brought in vain, and goes first; but not before half as many pages came. (Else what is read
//! slowly, beside many hits, would go before its reader comes to it.)

use super::{Context, by_page};
use crate::ids::Page;
use crate::policy::list::List;

/// Once as many pages came after it as this part of the memory has, a page may have been brought in
/// vain; until then it is awaited (`sequential/detect.rs`). It must not be both: it would be named
/// to go, and kept from going.
pub(super) const TURNED_PART: u64 = 2;

/// When a page came: references and pages until then.
#[derive(Debug, Clone, Copy, Default)]
struct Came {
    references: u64,
    pages: u64,
}

/// The pages nobody has read yet.
#[derive(Default)]
pub(super) struct Unread {
    /// In the order in which they came.
    pages: List,
    came: Vec<Came>,
}

impl Unread {
    pub fn len(&self) -> u64 {
        self.pages.len()
    }

    /// A page came after so many references.
    pub fn push(&mut self, page: Page, references: u64, context: &Context<'_>) {
        by_page::reach(&mut self.came, page, Came::default());
        self.came[page as usize] = Came { references, pages: context.table.came() };
        self.pages.push_newest(page);
    }

    pub fn remove(&mut self, page: Page) {
        self.pages.remove(page);
    }

    /// The oldest page, if it was brought in vain: there were so many references by now.
    pub fn overdue(&self, references: u64, context: &Context<'_>) -> Option<Page> {
        let is_overdue = |page: Page| {
            let came = self.came[page as usize];
            // What another policy handed over was read before, and no run is behind it.
            let may_be_slow = context.table.state(page).is_unread();
            came.references + context.capacity < references
                && !(may_be_slow && came.pages + context.capacity / TURNED_PART >= context.table.came())
        };
        self.pages.oldest_first().next().filter(|&page| is_overdue(page) && context.table.can_go(page))
    }

    /// The oldest page.
    pub fn candidate(&self, can_go: impl Fn(Page) -> bool) -> Option<Page> {
        self.pages.oldest_first().find(|&page| can_go(page))
    }
}
