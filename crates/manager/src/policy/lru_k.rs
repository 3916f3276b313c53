//! `lru-k`: the page whose k-th last use is the longest ago goes; with k = 2, how long a page takes
//! to be used again counts, not only when it was used last.
//!
//! ```text
//! past(b): the times of the k last uses of b; 0 for those there were not; last(b): its last reference; times are references
//!
//! reference(b):  if b is here:  if now - last(b) > correlated: what lies between the first and the last reference of a use does
//!                                                              not count: past(b) += last(b) - past(b)[1], but for zeros
//!                                                              put now before past(b), and drop its last
//!                else:          if memory is full: give up victim(); it becomes a ghost with its past
//!                               fetch b; past(b) as its ghost remembers it, else all 0
//!                               put now before past(b), and drop its last
//!                last(b) = now
//!
//! victim():      of the pages with now - last > correlated (of all, if there is none): that of the least k-th time;
//!                of several, the least recently used
//! ```
//!
//! # Where this differs from the paper
//! - What belongs to one use (the *correlated reference period*), and how long the past of a block
//!   is remembered (the *retained information period*), are not times in seconds but multiples of
//!   the memory's pages: `correlated` in references, `ghosts` in blocks.
use std::collections::{BTreeSet, VecDeque};

use super::{Access, Candidate, Context, Domain, Need, Parameter, Policy, Spec, by_page};
use crate::estimate::ghosts::Ghosts;
use crate::ids::Page;

const K_MAX: usize = 4;

pub(super) static SPEC: Spec = Spec {
    name: "lru-k",
    summary: "the page whose k-th last reference is the longest ago goes",
    source: "O'Neil, O'Neil, Weikum: The LRU-K Page Replacement Algorithm for Database Disk Buffering, SIGMOD 1993",
    unlike_a_part: None,
    parameters: &[
        Parameter {
            name: "k",
            help: "which reference counts; 2 as in most of the paper's experiments",
            domain: Domain::Whole { default: 2.0, min: 1.0, max: K_MAX as f64 },
        },
        Parameter {
            name: "correlated",
            help: "references between two of a page that are still one use of it, as a multiple of the memory's pages; of the OLTP \
                   trace, a quarter brings hits of 40.5 % at 1,000 pages, and 0 brings 33.3 %",
            domain: Domain::Number { default: 0.25, min: 0.0, max: 64.0 },
        },
        Parameter {
            name: "ghosts",
            help: "blocks given up whose past is remembered, as a multiple of the memory",
            domain: Domain::Number { default: 1.0, min: 0.0, max: 64.0 },
        },
    ],
    build: |values| {
        Box::new(LruK {
            k: values.get("k") as usize,
            correlated_share: values.get("correlated"),
            pages: Vec::new(),
            order: BTreeSet::new(),
            fresh: VecDeque::new(),
            ghosts: Ghosts::default(),
            ghosts_share: values.get("ghosts"),
            now: 0,
        })
    },
};

/// Times of uses, the last one first.
type Past = [u64; K_MAX];

#[derive(Clone, Copy, Default)]
struct Note {
    past: Past,
    /// The last reference; 0 of a page that is not here.
    last: u64,
    is_in_order: bool,
}

struct LruK {
    k: usize,
    correlated_share: f64,
    pages: Vec<Note>,
    /// Pages whose last use is over: their k-th last use and the last one.
    order: BTreeSet<(u64, u64, Page)>,
    /// Pages that are still being used, by their last reference, and entries that a later reference
    /// made void.
    fresh: VecDeque<(u64, Page)>,
    ghosts: Ghosts<Past>,
    ghosts_share: f64,
    /// References counted.
    now: u64,
}

impl LruK {
    fn place(&self, page: Page) -> (u64, u64, Page) {
        let past = &self.pages[page as usize].past;
        (past[self.k - 1], past[0], page)
    }

    fn leave_order(&mut self, page: Page) {
        if std::mem::take(&mut self.pages[page as usize].is_in_order) {
            self.order.remove(&self.place(page));
        }
    }

    /// A use begins with this reference.
    fn begin_use(&mut self, page: Page) {
        let past = &mut self.pages[page as usize].past;
        past.rotate_right(1);
        past[0] = self.now;
    }

    fn correlated(&self, context: &Context<'_>) -> u64 {
        (context.capacity as f64 * self.correlated_share) as u64
    }

    /// A reference of the page; pages whose use is over by now get into the order.
    fn refer(&mut self, page: Page, context: &Context<'_>) {
        self.pages[page as usize].last = self.now;
        self.fresh.push_back((self.now, page));
        while let Some(&(last, page)) = self.fresh.front()
            && self.now - last >= self.correlated(context)
        {
            self.fresh.pop_front();
            let place = self.place(page);
            let note = &mut self.pages[page as usize];
            if note.last == last {
                note.is_in_order = true;
                self.order.insert(place);
            }
        }
    }
}

impl Policy for LruK {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        by_page::reach(&mut self.pages, page, Note::default());
        let past = self.ghosts.take(context.table.block(page)).unwrap_or_default();
        self.pages[page as usize].past = past;
        self.now += 1;
        self.begin_use(page);
        self.refer(page, context);
        let ghosts_max = (context.capacity as f64 * self.ghosts_share) as u64;
        while self.ghosts.len() > ghosts_max {
            self.ghosts.expire();
        }
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if access.first {
            return;
        }
        self.now += 1;
        self.leave_order(page);
        let correlated = self.correlated(context);
        let note = &mut self.pages[page as usize];
        if self.now - note.last > correlated {
            let length = note.last - note.past[0];
            note.past.iter_mut().filter(|time| **time > 0).for_each(|time| *time += length);
            self.begin_use(page);
        }
        self.refer(page, context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.leave_order(page);
        let note = &mut self.pages[page as usize];
        note.last = 0;
        self.ghosts.push(context.table.block(page), note.past);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let over = self.order.iter().map(|&(_, _, page)| page);
        let fresh =
            self.fresh.iter().filter(|&&(last, page)| self.pages[page as usize].last == last).map(|&(_, page)| page);
        over.chain(fresh).find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }
}
