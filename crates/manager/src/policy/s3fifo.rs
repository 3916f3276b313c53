//! `s3fifo`: new pages go through a small queue, and only those used twice there get into the main
//! one.
//!
//! ```text
//! S: the small queue; M: the main one; G: ghosts of S; c: the memory; uses(b): references since b came, 3 at most
//!
//! reference(b):  if b is here:  uses(b) = min(uses(b) + 1, 3)
//!                else:          if memory is full: give up victim(); if of S, it becomes the newest ghost
//!                               fetch b; put it at the new end of M if it was a ghost, or if S is full while memory is not,
//!                               else of S; uses(b) = 0
//!                               while |G| > ghosts * c: the oldest ghost goes
//!
//! victim():      if |S| >= small * c:  while the old end of S has uses > 1: move it to the new end of M; its uses = 0
//!                                      if S is not empty: the old end of S
//!                while the old end of M has uses > 0: move it to the new end; its uses -= 1
//!                the old end of M
//! ```
//!
//! # Where this differs from the paper
//! - The paper puts all that is new into S. While the memory fills, S takes no more than its share
//!   here, as in the simulator of the paper's authors: of a loop that does not fit, M then keeps a
//!   part.
//! - For a page that is declined no queue turns, as it did until a choice was pure.

use super::parts::Parts;
use super::{Access, Candidate, Context, Domain, Need, Parameter, Partition, Policy, Reports, Spec};
use crate::estimate::ghosts::Ghosts;
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "s3fifo",
    summary: "a small queue that most pages leave again soon, and a main one for those used twice",
    source: "Yang, Zhang, Qiu, Yue, Rashmi: FIFO Queues are All You Need for Cache Eviction, SOSP 2023",
    unlike_a_part: None,
    parameters: &[
        Parameter {
            name: "small",
            help: "the share of the memory that is the small queue's; a tenth as in the paper",
            domain: Domain::Number { default: 0.1, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "ghosts",
            help: "ghosts, as a share of the memory; as many as the main queue's pages in the paper",
            domain: Domain::Number { default: 0.9, min: 0.0, max: 8.0 },
        },
    ],
    build: |values| {
        Box::new(S3Fifo {
            pages: Parts::default(),
            ghosts: Ghosts::default(),
            replaces: false,
            small_share: values.get("small"),
            ghosts_share: values.get("ghosts"),
        })
    },
};

/// Uses beyond this are not counted.
const USES_MAX: u8 = 3;
/// Uses that get a page out of the small queue into the main one.
const USES_TO_STAY: u8 = 2;

const SMALL: usize = 0;
const MAIN: usize = 1;

struct S3Fifo {
    /// The two queues, and the uses of each page.
    pages: Parts<2, u8>,
    ghosts: Ghosts<()>,
    /// Whether a page was given up for the next to come: the memory is full.
    replaces: bool,
    small_share: f64,
    ghosts_share: f64,
}

impl S3Fifo {
    fn small_max(&self, context: &Context<'_>) -> u64 {
        (context.capacity as f64 * self.small_share) as u64
    }

    fn small_is_full(&self, context: &Context<'_>) -> bool {
        self.pages.len(SMALL) >= self.small_max(context)
    }

    /// Turns the small queue until this page is at its old end; what is to stay moves to the main
    /// one. Whether it got there.
    fn turn_small(&mut self, until: Page) -> bool {
        for _ in 0..self.pages.len(SMALL) {
            let Some(page) = self.pages.oldest(SMALL) else { return false };
            if self.pages[page] >= USES_TO_STAY {
                self.pages.shift(page, MAIN);
                self.pages[page] = 0;
            } else if page == until {
                return true;
            } else {
                self.pages.renew(page);
            }
        }
        false
    }

    /// Turns the main queue until this page is at its old end and has no uses left. Whether it got
    /// there.
    fn turn_main(&mut self, until: Page) -> bool {
        // After so many rounds no page has: who is not found then is not here.
        for _ in 0..(u64::from(USES_MAX) + 1) * self.pages.len(MAIN) {
            let Some(page) = self.pages.oldest(MAIN) else { return false };
            let uses = &mut self.pages[page];
            if *uses == 0 && page == until {
                return true;
            }
            *uses = uses.saturating_sub(1);
            self.pages.renew(page);
        }
        false
    }
}

impl Policy for S3Fifo {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        let is_ghost = self.ghosts.take(context.table.block(page)).is_some();
        let fills = !std::mem::take(&mut self.replaces);
        let is_main = is_ghost || (fills && self.pages.len(SMALL) >= self.small_max(context));
        self.pages.put(page, if is_main { MAIN } else { SMALL });
        self.pages[page] = 0;
        let ghosts_max = (context.capacity as f64 * self.ghosts_share) as u64;
        while self.ghosts.len() > ghosts_max {
            self.ghosts.expire();
        }
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, access: &Access) {
        let uses = &mut self.pages[page];
        if !access.first && *uses < USES_MAX {
            *uses += 1;
        }
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        if self.pages.take(page) == SMALL {
            self.ghosts.push(context.table.block(page), ());
        }
    }

    /// Where the queues will stop when they are turned.
    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let can_go = |page: &Page| context.table.can_go(*page);
        let stays = |page: &Page| self.pages[*page] >= USES_TO_STAY;
        let small = || self.pages.oldest_first(SMALL).filter(can_go);
        let of_small = || small().find(|page| !stays(page));
        // In each round of the main queue one use of every page is left behind: the fewest uses go,
        // and of these the oldest.
        let least_used = || {
            let mut least: Option<Page> = None;
            for page in self.pages.oldest_first(MAIN).filter(can_go) {
                if least.is_none_or(|least| self.pages[page] < self.pages[least]) {
                    least = Some(page);
                }
                if self.pages[page] == 0 {
                    break;
                }
            }
            least
        };
        // What is to stay of the small queue comes to the new end of the main one, without uses.
        let moved = || small().find(stays);
        let page = if self.small_is_full(context) {
            of_small().or_else(|| {
                let of_main = least_used();
                of_main.filter(|&page| self.pages[page] == 0).or_else(moved).or(of_main)
            })
        } else {
            least_used().or_else(of_small).or_else(moved)
        };
        page.map(Candidate::unpriced)
    }

    fn evicting(&mut self, page: Page, context: &Context<'_>, _: Need) {
        self.replaces = true;
        let _ = (self.small_is_full(context) && self.turn_small(page))
            || self.turn_main(page)
            || self.turn_small(page)
            || self.turn_main(page);
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }
}

impl Reports for S3Fifo {
    fn partitions(&self) -> Vec<Partition> {
        vec![Partition::new("small", self.pages.len(SMALL)), Partition::new("main", self.pages.len(MAIN))]
    }
}
