//! What the policy's facets are told, where it has them.

use super::*;

impl Manager {
    /// A page was taken for a block, for this reference if one needs it.
    pub(super) fn taken(&mut self, page: Page, access: Option<&Access>) {
        if self.follows_runs
            && let Some(runs) = self.policy.runs()
        {
            runs.taken(page, &context!(self), access);
        }
    }

    /// A reference found a page on its way.
    pub(super) fn awaited(&mut self, page: Page, access: &Access) {
        if let Some(runs) = self.policy.runs() {
            runs.awaited(page, &context!(self), access);
        }
    }

    /// Whether the read that just missed a page's block went on a run.
    pub(super) fn is_sequential(&mut self, page: Page) -> bool {
        self.policy.runs().is_some_and(|runs| runs.is_sequential(page))
    }

    /// A page's block will not come.
    pub(super) fn lost(&mut self, page: Page) {
        if let Some(runs) = self.policy.runs() {
            runs.lost(page, &context!(self));
        }
    }

    /// A hint speaks of a page that is here.
    pub(super) fn disclosed(&mut self, page: Page) -> Disclosed {
        self.policy.hints().map_or(Disclosed::Ignored, |hinted| hinted.disclosed(page, &context!(self)))
    }

    /// Whether anything that is disclosed may be fetched now.
    pub(super) fn may_fetch_ahead(&mut self) -> bool {
        !self.is_suspended && self.policy.hints().is_some_and(|hinted| hinted.may_fetch_ahead(&context!(self)))
    }
}
