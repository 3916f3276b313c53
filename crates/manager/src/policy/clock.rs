//! `clock`: FIFO with a second chance. A hit sets a bit and moves nothing, which is what makes it cheap.
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
//! - Corbató sets a new page's bit; here, as in what is measured today, a page earns it by a second reference.

use super::list::{Chain, Links};
use super::{Access, Context, Need, Policy, Spec};
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

    fn victim(&mut self, context: &Context<'_>, _: Need) -> Option<Page> {
        // In the second round no bit is set any more: who is not found then cannot go.
        for _ in 0..2 * self.circle.len() {
            let page = self.circle.oldest()?;
            if !self.pages[page] && context.table.can_go(page) {
                return Some(page);
            }
            self.pages[page] = false;
            self.pages.renew(&mut self.circle, page);
        }
        None
    }
}
