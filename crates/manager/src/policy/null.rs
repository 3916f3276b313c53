//! `null`: keeps nothing that was read and fetches nothing ahead. It prices the manager's own
//! overhead.

use super::{Access, Candidate, Context, Nature, Need, Policy, Spec, list::List};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "null",
    summary: "keeps nothing: what the manager itself costs",
    source: "a baseline",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(Null::default()),
};

#[derive(Default)]
struct Null {
    pages: List,
}

impl Policy for Null {
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

    fn nature(&self) -> Nature {
        Nature { keeps: false, ..Nature::ORDINARY }
    }
}
