//! The pages of programs that say nothing of them: which goes is another policy's to say, as a
//! manager's of its own pages. It pays as one, too: by swapping and placeholders, whoever advises
//! loses nothing to what it gives up.

use crate::ids::Page;
use crate::policy::{Access, Context, Need, Policy, by_page};

/// That policy, and its pages.
pub(super) struct Silent {
    policy: Box<dyn Policy>,
    owned: Vec<bool>,
    len: u64,
}

impl Silent {
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Silent { policy, owned: Vec::new(), len: 0 }
    }

    pub fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    pub fn policy_mut(&mut self) -> &mut dyn Policy {
        &mut *self.policy
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn owns(&self, page: Page) -> bool {
        self.owned.get(page as usize).is_some_and(|&owned| owned)
    }

    /// A page came or was referenced (`access`), or may have changed hands; `is_its` if it is one of
    /// these by now.
    pub fn place(&mut self, page: Page, is_its: bool, context: &Context<'_>, access: Option<&Access>) {
        match (self.owns(page), is_its) {
            (true, true) => access.into_iter().for_each(|access| self.policy.referenced(page, context, access)),
            (false, true) => {
                by_page::reach(&mut self.owned, page, false);
                self.owned[page as usize] = true;
                self.len += 1;
                self.policy.arrived(page, context, access);
            }
            (true, false) => self.left(page, context),
            (false, false) => {}
        }
    }

    pub fn left(&mut self, page: Page, context: &Context<'_>) {
        if self.owns(page) {
            self.owned[page as usize] = false;
            self.len -= 1;
            self.policy.left(page, context);
        }
    }

    pub fn weigh(&mut self, context: &Context<'_>, need: Need) {
        self.policy.weigh(context, need);
    }

    /// The page that goes in place of one of its.
    pub fn replace(&self, context: &Context<'_>, need: Need) -> Option<Page> {
        self.policy.candidate(context, need).map(|it| it.page)
    }

    pub fn evicting(&mut self, page: Page, context: &Context<'_>, need: Need) {
        if self.owns(page) {
            self.policy.evicting(page, context, need);
        }
    }

    /// Checks that its pages are of these, and that nobody else manages them.
    pub fn check(&self, pages: &[Page], is_managed: impl Fn(Page) -> bool, context: &Context<'_>) {
        let its = pages.iter().copied().filter(|&page| self.owns(page));
        assert_eq!(its.clone().count() as u64, self.len, "I11: pages of who says nothing, and their number");
        its.for_each(|page| assert!(!is_managed(page), "I11: page {page} is managed by two"));
        self.policy.check(context);
    }
}
