//! The pages that another policy holds: a part of all, of which it hears nothing else.

use super::{Access, Context, Policy, by_page};
use crate::ids::Page;

/// That policy, and which pages are its.
pub(super) struct Held {
    pub policy: Box<dyn Policy>,
    owned: Vec<bool>,
    len: u64,
}

impl Held {
    /// None yet.
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Held { policy, owned: Vec::new(), len: 0 }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn owns(&self, page: Page) -> bool {
        self.owned.get(page as usize).is_some_and(|&owned| owned)
    }

    /// A page comes to it: of this reference, or ahead of one.
    pub fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        by_page::reach(&mut self.owned, page, false);
        self.owned[page as usize] = true;
        self.len += 1;
        self.policy.arrived(page, context, access);
    }

    /// A page is no longer one of its, if it was.
    pub fn left(&mut self, page: Page, context: &Context<'_>) {
        if self.owns(page) {
            self.owned[page as usize] = false;
            self.len -= 1;
            self.policy.left(page, context);
        }
    }
}
