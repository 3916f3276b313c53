//! `slru`: LRU in segments; a page that is used again moves one segment up, and who is pushed out
//! of one falls into the one below.
//!
//! ```text
//! segments 0 to k - 1, each an LRU list; c: the memory
//!
//! reference(b):  if b is here, in segment i: put b at the MRU end of segment min(i + 1, k - 1)
//!                                            while a segment above 0 holds more than c / k:
//!                                                its LRU end goes to the MRU end of the segment below
//!                else: if memory is full: give up the LRU end of the lowest segment that is not empty
//!                      fetch b; put it at the MRU end of the lowest segment that has room, else of segment 0
//! ```
//!
//! # Where this differs from the paper
//! - The paper puts all that is missed into the lowest segment. Here the others take what comes
//!   while the memory fills: of a loop that does not fit, they then keep a part.
//! - The paper has two segments, *probationary* and *protected*, the second of a size to be chosen:
//!   `segments=2`. Four equal ones are how simulators of today run it by default.

use super::parts::Parts;
use super::{Access, Candidate, Context, Domain, Need, Parameter, Partition, Policy, Reports, Spec};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "slru",
    summary: "LRU in segments: up one with each use, down one when pushed out",
    source: "Karedla, Love, Wherry: Caching Strategies to Improve Disk System Performance, IEEE Computer 1994",
    unlike_a_part: None,
    parameters: &[Parameter {
        name: "segments",
        help: "how many, of equal size; 2 as in the paper",
        domain: Domain::Whole { default: 4.0, min: 1.0, max: SEGMENTS_MAX as f64 },
    }],
    build: |values| Box::new(Slru { pages: Parts::default(), segments: values.get("segments") as usize }),
};

const SEGMENTS_MAX: usize = 16;

struct Slru {
    /// By segment, the lowest first.
    pages: Parts<SEGMENTS_MAX>,
    /// How many segments there are.
    segments: usize,
}

impl Slru {
    /// The pages of a segment.
    fn each(&self, context: &Context<'_>) -> u64 {
        context.capacity / self.segments as u64
    }
}

impl Policy for Slru {
    fn arrived(&mut self, page: Page, context: &Context<'_>, _: Option<&Access>) {
        let each = self.each(context);
        let lowest = (0..self.segments).find(|&segment| self.pages.len(segment) < each);
        self.pages.put(page, lowest.unwrap_or(0));
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if access.first {
            return;
        }
        let top = (self.pages.part_of(page) + 1).min(self.segments - 1);
        self.pages.shift(page, top);
        let each = self.each(context);
        for segment in (1..=top).rev() {
            while self.pages.len(segment) > each
                && let Some(pushed_out) = self.pages.oldest(segment)
            {
                self.pages.shift(pushed_out, segment - 1);
            }
        }
    }

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.pages.take(page);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let mut pages = (0..self.segments).flat_map(|segment| self.pages.oldest_first(segment));
        pages.find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }
}

impl Reports for Slru {
    fn partitions(&self) -> Vec<Partition> {
        let partition = |segment| Partition::new(format!("segment {segment}"), self.pages.len(segment));
        (0..self.segments).map(partition).collect()
    }
}
