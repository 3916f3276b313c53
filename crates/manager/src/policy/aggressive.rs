//! `aggressive`: what is missing next is fetched as soon as a page is used later than it (Cao et
//! al. 1995).
//!
//! ```text
//! whenever the device takes a request:
//!     b = the next disclosed block that is missing;  p = the page used last of all
//!     if p is used later than b:  give up p, fetch b
//! ```
//!
//! It keeps the four rules that hold of some best schedule: optimal prefetching (the missing block
//! used next), optimal replacement (the page used last), do no harm (never p for b if p is used
//! before b), first opportunity. On one disk that serves one request at a time it takes at most
//! min(1 + F / K, 2) times as long as the best schedule, F the time of a fetch in references, K the
//! pages of the memory, as the paper proves; `crates/sim/tests/told.rs` checks it against all
//! schedules.
//!
//! # Where this differs from the paper
//! - A device that serves many requests is given as many as it may have out
//!   ([`DeviceLimits`](crate::DeviceLimits)), neighbours in one. A page goes when the request is
//!   sent.
//! - Several devices: each fetches what is missing next of what lies on it. Several readers: uses
//!   are compared by references of each reader's own. The paper has one of each.
//! - Pages of which nothing is disclosed go first, the oldest first: the paper knows all that is to
//!   come.

use super::forestall::Forestall;
use super::next_uses::NextUses;
use super::{Access, Ahead, Candidate, Context, Disclosed, Hinted, Nature, Need, Policy, Runs, Spec, Worth};
use crate::hint::Use;
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "aggressive",
    summary: "what is disclosed is fetched in order as soon as a page is used later; the page used last goes",
    source: "Cao, Felten, Karlin, Li: A Study of Integrated Prefetching and Caching Strategies, SIGMETRICS 1995",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(Aggressive::default()),
};

/// What is used last goes, what is used next is fetched: at once, or as late as `forestall` lets
/// it.
#[derive(Default)]
pub(super) struct Aggressive {
    pages: NextUses,
    forestall: Option<Forestall>,
}

impl Aggressive {
    /// One that waits until a stall is ahead.
    pub fn with(forestall: Forestall) -> Self {
        Aggressive { pages: NextUses::default(), forestall: Some(forestall) }
    }
}

/// A page is worth the less, the more references there are until it is used.
fn by_references(context: &Context<'_>) -> impl Fn(Page, Use) -> Option<f64> {
    |_, next| context.references_until(next).map(|until| -(until as f64))
}

impl Policy for Aggressive {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        self.pages.push(page, &by_references(context), context);
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if let Some(forestall) = &mut self.forestall {
            forestall.patience.hit(access);
        }
        self.pages.renew(page, &by_references(context), context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        if let Some(forestall) = &mut self.forestall {
            forestall.patience.gone(page, context);
        }
        self.pages.left(page);
    }

    fn weigh(&mut self, context: &Context<'_>, _: Need) {
        self.pages.weigh(&by_references(context), context);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        self.pages.candidate(&by_references(context), context)
    }

    fn nature(&self) -> Nature {
        Nature { refetches: true, ..Nature::ORDINARY }
    }

    fn runs(&mut self) -> Option<&mut dyn Runs> {
        self.forestall.as_mut().map(|it| &mut it.patience as &mut dyn Runs)
    }

    fn hints(&mut self) -> Option<&mut dyn Hinted> {
        Some(self)
    }
}

impl Hinted for Aggressive {
    fn may_fetch_ahead(&self, _: &Context<'_>) -> bool {
        true
    }

    fn worth(&self, ahead: &Ahead, context: &Context<'_>) -> Option<Worth> {
        let may_begin = ahead.joins || context.takes_request(ahead.device);
        let is_due = |forestall: &Forestall| forestall.is_stall_ahead(ahead.sequence, ahead.device, context);
        if !may_begin || !self.forestall.as_ref().is_none_or(is_due) {
            return None;
        }
        // The nearer, the sooner; and pages that are used later are worth less.
        let soon = -(ahead.references as f64);
        Some(Worth { rank: soon, value: soon })
    }

    fn disclosed(&mut self, page: Page, context: &Context<'_>) -> Disclosed {
        self.pages.renew(page, &by_references(context), context);
        Disclosed::Ignored
    }

    fn sequence_ended(&mut self, sequence: u16) {
        self.pages.forget(sequence);
        if let Some(forestall) = &mut self.forestall {
            forestall.patience.forget(sequence);
        }
    }
}
