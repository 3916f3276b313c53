//! `sieve`: FIFO in which the hand leaves used pages where they are, so that new ones are sifted
//! soon and old ones keep their place.
//!
//! ```text
//! reference(b):  if b is here: visited(b) = 1
//!                else: if memory is full: give up victim()
//!                      fetch b; put it at the new end; visited(b) = 0
//!
//! victim():      while visited(page at the hand): visited(it) = 0; the hand goes one newer, from the newest to the oldest
//!                the page at the hand; the hand stays where it was
//! ```
//!
//! # Where this differs from the paper
//! - For a page that is declined the hand does not move, as it did until a choice was pure.

use super::list::{Chain, Links};
use super::{Access, Candidate, Context, Need, Policy, Spec};
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

    /// Where the hand will stop: in its second round nothing is visited any more.
    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let beyond = self.hand.into_iter().flat_map(|hand| self.pages.from(hand));
        let before = self.pages.oldest_first(&self.queue).take_while(|&page| Some(page) != self.hand);
        let mut round = beyond.chain(before).filter(|&page| context.table.can_go(page));
        let first = round.next()?;
        let unvisited = std::iter::once(first).chain(round).find(|&page| !self.pages[page]);
        Some(Candidate::unpriced(unvisited.unwrap_or(first)))
    }

    fn evicting(&mut self, page: Page, _: &Context<'_>, _: Need) {
        while let Some(passed) = self.hand.or(self.queue.oldest()).filter(|&it| it != page || self.pages[it]) {
            self.pages[passed] = false;
            self.hand = self.pages.newer(passed);
        }
        self.hand = Some(page);
    }
}
