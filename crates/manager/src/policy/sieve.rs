//! `sieve`: FIFO in which the hand leaves used pages where they are, so that new ones are sifted soon and old ones keep their place.
//!
//! ```text
//! reference(b):  if b is here: visited(b) = 1
//!                else: if memory is full: give up victim()
//!                      fetch b; put it at the new end; visited(b) = 0
//!
//! victim():      while visited(page at the hand): visited(it) = 0; the hand goes one newer, from the newest to the oldest
//!                the page at the hand; the hand stays where it was
//! ```

use super::list::{Chain, Links};
use super::{Access, Context, Need, Policy, Spec};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "sieve",
    summary: "FIFO with a hand that passes used pages by without moving them",
    source: "Zhang, Yang, Yue, Vigfusson, Rashmi: SIEVE is Simpler than LRU, NSDI 2024",
    unlike_a_part: Some("newcomers at the hand are sifted by the next few misses, however large the memory"),
    parameters: &[],
    build: |_| Box::new(Sieve::default()),
};

#[derive(Default)]
struct Sieve {
    /// Beside its links, whether a page was used since the hand passed it.
    pages: Links<bool>,
    queue: Chain,
    /// None: at the oldest end.
    hand: Option<Page>,
}

impl Policy for Sieve {
    fn arrived(&mut self, page: Page, _: &Context<'_>, _: Option<&Access>) {
        self.pages.push_newest(&mut self.queue, page);
        self.pages[page] = false;
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, access: &Access) {
        if !access.first {
            self.pages[page] = true;
        }
    }

    fn left(&mut self, page: Page, _: &Context<'_>) {
        if self.hand == Some(page) {
            self.hand = self.pages.newer(page);
        }
        self.pages.remove(&mut self.queue, page);
    }

    fn victim(&mut self, context: &Context<'_>, _: Need) -> Option<Page> {
        // In the second round nothing is visited any more: who is not found then cannot go.
        for _ in 0..2 * self.queue.len() {
            let page = self.hand.or(self.queue.oldest())?;
            if !self.pages[page] && context.table.can_go(page) {
                self.hand = Some(page);
                return Some(page);
            }
            self.pages[page] = false;
            self.hand = self.pages.newer(page);
        }
        None
    }
}
