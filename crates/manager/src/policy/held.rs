//! The pages that another policy holds: a part of all, of which it hears nothing else.

use super::by_page::Flags;
use super::{Access, Context, Policy};
use crate::ids::Page;

/// That policy, and which pages are its.
pub(super) struct Held {
    pub policy: Box<dyn Policy>,
    owned: Flags,
    len: u64,
}

impl Held {
    /// None yet.
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Held { policy, owned: Flags::default(), len: 0 }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn owns(&self, page: Page) -> bool {
        self.owned.holds(page)
    }

    /// For tests.
    pub fn check(&self, context: &Context<'_>) {
        assert_eq!(self.owned.count(), self.len, "I1: pages that another policy has");
        self.policy.check(context);
    }

    /// A page comes to it: of this reference, or ahead of one.
    pub fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.owned.set(page);
        self.len += 1;
        self.policy.arrived(page, context, access);
    }

    /// A page is no longer one of its, if it was.
    pub fn left(&mut self, page: Page, context: &Context<'_>) {
        if self.owns(page) {
            self.owned.clear(page);
            self.len -= 1;
            self.policy.left(page, context);
        }
    }
}
