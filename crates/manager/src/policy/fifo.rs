//! `fifo`: the page that came first goes, used or not.
//!
//! ```text
//! reference(b):  if b is not here: if memory is full: give up the page at the old end
//!                                  fetch b; put it at the new end
//! ```

use super::{Access, Candidate, Context, Need, Policy, Spec, list::List};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "fifo",
    summary: "the page that came first goes, used or not",
    source: "the baseline of clock, s3fifo and sieve",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(Fifo::default()),
};

#[derive(Default)]
struct Fifo {
    pages: List,
}

impl Policy for Fifo {
    fn arrived(&mut self, page: Page, _: &Context<'_>, _: Option<&Access>) {
        self.pages.push_newest(page);
    }

    fn referenced(&mut self, _: Page, _: &Context<'_>, _: &Access) {}

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.pages.remove(page);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        self.pages.oldest_first().find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }
}
