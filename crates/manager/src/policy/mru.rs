//! `mru`: the most recently referenced page goes. It is the best there is for one loop over more
//! than the memory holds, and next to nothing else.
//!
//! ```text
//! reference(b):  if b is here: move b to the MRU end
//!                else: if memory is full: give up the page at the MRU end
//!                      fetch b; put it at the MRU end
//! ```

use super::{Access, Candidate, Context, Need, Policy, Spec, list::List};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "mru",
    summary: "the most recently referenced page goes: right for loops, wrong for most else",
    source: "Chou, DeWitt: An Evaluation of Buffer Management Strategies for Relational Database Systems, VLDB 1985",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(Mru::default()),
};

#[derive(Default)]
struct Mru {
    pages: List,
}

impl Policy for Mru {
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
        self.pages.newest_first().find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }
}
