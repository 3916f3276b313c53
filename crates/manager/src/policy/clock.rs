//! `clock`: FIFO with a second chance. A hit sets a bit and moves nothing, which is what makes it
//! cheap.
//!
//! ```text
//! reference(b):  if b is here: used(b) = 1
//!                else: if memory is full: give up victim()
//!                      fetch b; put it behind the hand; used(b) = 0
//!
//! victim():      while used(page under the hand): used(it) = 0; the hand goes on
//!                the page under the hand
//! ```
//!
//! # Where this differs from the paper
//! - The circle is a list that the hand turns: its oldest end is what the hand points to.
//! - Corbató sets a new page's bit; here, as in what is measured today, a page earns it by a second
//!   reference.
//! - For a page that is declined the hand does not turn, as it did until a choice was pure.

use super::list::{Chain, Links};
use super::{Access, Candidate, Context, Need, Policy, Spec};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "clock",
    summary: "FIFO, but a page used since the hand passed it stays for another round",
    source: "Corbató: A Paging Experiment with the Multics System, MIT Project MAC, 1968",
    unlike_a_part: None,
    parameters: &[],
    build: |_| Box::new(Clock::default()),
};

#[derive(Default)]
struct Clock {
    /// Beside its links, whether a page was used since the hand passed it.
    pages: Links<bool>,
    circle: Chain,
}

impl Policy for Clock {
    fn arrived(&mut self, page: Page, _: &Context<'_>, _: Option<&Access>) {
        self.pages.push_newest(&mut self.circle, page);
        self.pages[page] = false;
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, access: &Access) {
        if !access.first {
            self.pages[page] = true;
        }
    }

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.pages.remove(&mut self.circle, page);
    }

    /// Where the hand will stop: in its second round no bit is set any more.
    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let mut round = self.pages.oldest_first(&self.circle).filter(|&page| context.table.can_go(page));
        let first = round.next()?;
        let unused = std::iter::once(first).chain(round).find(|&page| !self.pages[page]);
        Some(Candidate::unpriced(unused.unwrap_or(first)))
    }

    fn evicting(&mut self, page: Page, _: &Context<'_>, _: Need) {
        while let Some(passed) = self.circle.oldest().filter(|&it| it != page || self.pages[it]) {
            self.pages[passed] = false;
            self.pages.renew(&mut self.circle, passed);
        }
    }
}
