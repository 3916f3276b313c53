//! `lru-bottom`: detection and readahead as `sarc`, one list for all: random data go to its MRU
//! end, sequential data near its LRU end (003 section III-A).
//!
//! ```text
//!                  | upper part                         | lower part: insert_share of the pages |
//! MRU end          ^ random data                        ^ sequential data                LRU end: what goes next
//! ```
//!
//! Each insertion and each page that goes moves the border between the parts by a page at most.

use super::list::{Chain, Links};
use super::sequential::lists::{Class, Lists};
use super::sequential::{self, Replacement, Sequential};
use super::{Context, Domain, Parameter, SEQUENCES, Spec, by_page};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "lru-bottom",
    summary: "finds sequential reads and reads ahead; one LRU list, in which sequential data come in near the LRU end",
    source: "003 section III-A",
    unlike_a_part: Some(SEQUENCES),
    parameters: sequential::parameters![Parameter {
        name: "insert_share",
        help: "how far from the LRU end sequential data come in, as a share of the list",
        domain: Domain::Number { default: 0.1, min: 0.0, max: 1.0 },
    },],
    build: |values| Box::new(Sequential::new(values, Bottom::new(values.get("insert_share")))),
};

/// A part of the list.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    None,
    Lower,
    Upper,
}

struct Bottom {
    insert_share: f64,
    links: Links,
    lower: Chain,
    upper: Chain,
    /// Where each page is.
    parts: Vec<Part>,
}

impl Bottom {
    fn new(insert_share: f64) -> Self {
        let (links, lower, upper) = (Links::default(), Chain::default(), Chain::default());
        Bottom { insert_share, links, lower, upper, parts: Vec::new() }
    }

    fn remove(&mut self, page: Page) {
        match std::mem::replace(&mut self.parts[page as usize], Part::None) {
            Part::None => {}
            Part::Lower => self.links.remove(&mut self.lower, page),
            Part::Upper => self.links.remove(&mut self.upper, page),
        }
    }

    /// Moves the border to where it belongs.
    fn balance(&mut self) {
        let lower_max = ((self.lower.len() + self.upper.len()) as f64 * self.insert_share) as u64;
        while self.lower.len() > lower_max
            && let Some(page) = self.lower.newest()
        {
            self.links.remove(&mut self.lower, page);
            self.links.push_oldest(&mut self.upper, page);
            self.parts[page as usize] = Part::Upper;
        }
        while self.lower.len() < lower_max
            && let Some(page) = self.upper.oldest()
        {
            self.links.remove(&mut self.upper, page);
            self.links.push_newest(&mut self.lower, page);
            self.parts[page as usize] = Part::Lower;
        }
    }
}

impl Replacement for Bottom {
    fn renewed(&mut self, page: Page, class: Class) {
        by_page::reach(&mut self.parts, page, Part::None);
        self.remove(page);
        let (chain, part) = match class {
            Class::Sequential => (&mut self.lower, Part::Lower),
            Class::Random => (&mut self.upper, Part::Upper),
        };
        self.links.push_newest(chain, page);
        self.parts[page as usize] = part;
        self.balance();
    }

    fn left(&mut self, page: Page) {
        self.remove(page);
        self.balance();
    }

    fn candidate(&self, _: &Lists, context: &Context<'_>) -> Option<Page> {
        let pages = self.links.oldest_first(&self.lower).chain(self.links.oldest_first(&self.upper));
        pages.into_iter().find(|&page| context.table.can_go(page))
    }
}
