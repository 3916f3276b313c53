//! `lru`: the least recently referenced page goes. Nothing is fetched ahead, whatever is disclosed.
//!
//! ```text
//! reference(b):  if b is here: move b to the MRU end
//!                else: if memory is full: give up the page at the LRU end
//!                      fetch b; put it at the MRU end
//! ```

use super::{Access, Candidate, Context, Need, Policy, Spec, list::List};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "lru",
    summary: "the least recently referenced page goes; no prefetching",
    source: "the baseline of all five papers",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(Lru::default()),
};

#[derive(Default)]
struct Lru {
    pages: List,
}

impl Policy for Lru {
    fn arrived(&mut self, page: Page, _: &Context<'_>, _: Option<&Access>) {
        self.pages.push_newest(page);
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, _: &Access) {
        self.pages.renew(page);
    }

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.pages.remove(page);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        self.pages.oldest_first().find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }
}
