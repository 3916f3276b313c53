//! `sarc`: sequential and random data in two lists that divide the memory so that a page more is
//! worth the same to both (003 section III).
//!
//! ```text
//! hit in the bottom of RANDOM:  adapt = ratio - 1, from -1 to 1; the sequential misses are counted from nought again
//! hit in the bottom of SEQ:     if ratio > large_ratio: adapt = 1          (RANDOM has no hits in its bottom that would say so)
//! a page must go:               if SEQ or RANDOM is shorter than delta L: the older of their LRU ends
//!                               else if SEQ is longer than desired: its LRU end; else that of RANDOM
//!                               desired += adapt / 2; desired = SEQ's length if it was not positive
//! ```
//!
//! `ratio` and the bottoms are in `sequential/lists`, detection and readahead in
//! `sequential/detect`.
//!
//! # Where this differs from the paper
//! - Figure 4 is read as its text has it: line 22 tests x's own counter, line 23 takes the lesser,
//!   lines 38 to 40 read the track.
//! - `desired` is at most the memory. As printed it grows for as long as only sequential data are
//!   read, and has to fall as long before it counts again.

use super::sequential::lists::{Class, Lists};
use super::sequential::{self, Replacement, Sequential};
use super::{Context, Domain, Parameter, SEQUENCES, Spec, Values};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "sarc",
    summary: "finds sequential reads, reads ahead, and divides the memory between sequential and random data by what a page more is worth",
    source: "Gill, Modha: SARC (003 section III)",
    unlike_a_part: Some(SEQUENCES),
    parameters: sequential::parameters![LARGE_RATIO,],
    build: |values| Box::new(Sequential::new(values, Sarc::new(values))),
};

pub(super) const LARGE_RATIO: Parameter = Parameter {
    name: "large_ratio",
    help: "from here on the ratio says by itself that sequential data need more",
    domain: Domain::Number { default: 20.0, min: 1.0, max: 1e6 },
};

/// The two lists' division.
pub(super) struct Sarc {
    /// By how much, and in which direction, each page that goes changes what is desired: from -1 to
    /// 1.
    adapt: f64,
    /// Pages SEQ should have; nought until the first page goes.
    desired: f64,
    large_ratio: f64,
}

impl Sarc {
    pub(super) fn new(values: &Values) -> Self {
        Sarc { adapt: 0.0, desired: 0.0, large_ratio: values.get(LARGE_RATIO.name) }
    }
}

impl Replacement for Sarc {
    fn bottom_hit(&mut self, class: Class, ratio: f64) {
        match class {
            Class::Random => self.adapt = (ratio - 1.0).clamp(-1.0, 1.0),
            Class::Sequential if ratio > self.large_ratio => self.adapt = 1.0,
            Class::Sequential => {}
        }
    }

    fn candidate(&self, lists: &Lists, context: &Context<'_>) -> Option<Page> {
        if lists.is_one_below(lists.bottom_pages(context.capacity)) {
            return lists.older_to_go(context.table);
        }
        let (first, second) = match lists.len(Class::Sequential) as f64 > self.desired {
            true => (Class::Sequential, Class::Random),
            false => (Class::Random, Class::Sequential),
        };
        lists.oldest_to_go(first, context.table).or_else(|| lists.oldest_to_go(second, context.table))
    }

    fn evicting(&mut self, class: Class, lists: &Lists, context: &Context<'_>) {
        if self.desired > 0.0 {
            self.desired = (self.desired + self.adapt / 2.0).min(context.capacity as f64);
        } else {
            // What goes is gone by then (lines 68 and 72).
            self.desired = (lists.len(Class::Sequential) - u64::from(class == Class::Sequential)) as f64;
        }
    }

    fn desired_pages(&self) -> Option<f64> {
        Some(self.desired)
    }
}
