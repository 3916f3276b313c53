//! The estimator of recency: an LRU queue that ends in ghosts, and what its last page is worth by
//! how often reads find their blocks that deep (000 sections 4.3 and 5.2).
//!
//! ```text
//! value of the page at the LRU end = H'(n) (T_driver + T_disk)      H' at the queue's resident length n (estimate/recency)
//! ```
//!
//! The queue's length, ghosts and all, is limited by the pages there are. A page that was picked
//! becomes a ghost, whether it goes or another estimator owns it from then on.

use std::collections::BTreeSet;

use super::Estimator;
use super::desk::{Desk, QUEUE};
use crate::estimate::ghosts::Ghosts;
use crate::estimate::recency::{NO_TAG, Reading, Recency, Tag};
use crate::ids::Page;
use crate::policy::sequential::lists::Class;
use crate::policy::{Candidate, Context, Domain, Need, Parameter, Values, by_page};

/// How the marginal hit rate is read.
pub const MAJORANT: Parameter = Parameter {
    name: "majorant",
    help: "1: the marginal hit rate looks past inflections (4.3); 0: the segment's own rate (5.2)",
    domain: Domain::Whole { default: 1.0, min: 0.0, max: 1.0 },
};
/// How finely hits are counted by depth.
pub const SEGMENT: Parameter = Parameter {
    name: "segment",
    help: "pages of one segment of the LRU queue; 0: a 32nd of the memory",
    domain: Domain::Whole { default: 0.0, min: 0.0, max: 1e9 },
};

/// The queue: its pages are those of the list RANDOM.
pub struct Queue {
    reading: Reading,
    segment: u64,
    /// The place of each page, if it has one. Each hit looks at it.
    tags: Vec<Tag>,
    /// Pages whose next read is counted already.
    counted: BTreeSet<Page>,
    ghosts: Ghosts,
    /// How deep reads find their blocks.
    pub recency: Recency,
}

impl Queue {
    /// As the user chose it.
    pub fn new(values: &Values) -> Self {
        Queue {
            reading: if values.get(MAJORANT.name) >= 0.5 { Reading::Majorant } else { Reading::Point },
            segment: values.get(SEGMENT.name) as u64,
            tags: Vec::new(),
            counted: BTreeSet::new(),
            ghosts: Ghosts::default(),
            recency: Recency::new(Reading::Majorant, 1, 1),
        }
    }

    /// Makes the estimates anew, for the memory as it is.
    pub fn fit(&mut self, desk: &Desk) {
        let segment = if self.segment > 0 { self.segment } else { desk.capacity / 32 };
        self.recency = Recency::new(self.reading, desk.capacity, segment);
        while self.ghosts.expire().is_some() {}
        for page in desk.lists.oldest_first(Class::Random) {
            self.tags[page as usize] = self.recency.enter();
        }
    }

    fn take_tag(&mut self, page: Page) -> Option<Tag> {
        let tag = self.tags.get_mut(page as usize)?;
        Some(std::mem::replace(tag, NO_TAG)).filter(|&tag| tag != NO_TAG)
    }

    /// Puts a page to the MRU end; from where, `counted` tells the estimate.
    pub fn renew(&mut self, page: Page, counted: bool, desk: &mut Desk, context: &Context<'_>) {
        by_page::reach(&mut self.tags, page, NO_TAG);
        let queued = self.tags[page as usize] != NO_TAG;
        let was = queued.then_some(self.tags[page as usize]).or_else(|| self.ghosts.take(context.table.block(page)));
        match was {
            Some(tag) if counted => self.recency.hit(tag),
            Some(tag) => self.recency.leave(tag),
            None if counted => self.recency.miss(),
            None => {}
        }
        self.tags[page as usize] = self.recency.enter();
        match queued {
            true => desk.lists.renew(page, Class::Random, Class::Random),
            false => desk.lists.push(page, Class::Random),
        }
        self.trim_ghosts(desk);
    }

    /// A read that nobody disclosed.
    pub fn refer(&mut self, page: Page, desk: &mut Desk, context: &Context<'_>) {
        let counted = !self.counted.is_empty() && self.counted.remove(&page);
        self.renew(page, !counted, desk, context);
    }

    /// A page came by the file system's own readahead. It stands for the read that it expects,
    /// which is counted now: that would find what is here by this very guess, and count as a hit at
    /// the queue's top.
    pub fn expect(&mut self, page: Page, desk: &mut Desk, context: &Context<'_>) {
        self.renew(page, true, desk, context);
        self.counted.insert(page);
    }

    /// A page is on the list of runs from now on, if it was in the queue; whether it was.
    pub fn move_to_runs(&mut self, page: Page, desk: &mut Desk) -> bool {
        let Some(tag) = self.take_tag(page) else { return false };
        self.recency.leave(tag);
        desk.lists.renew(page, Class::Random, Class::Sequential);
        true
    }

    /// The page is given up.
    pub fn left(&mut self, page: Page, desk: &mut Desk, context: &Context<'_>) {
        self.counted.remove(&page);
        self.disown(page, desk, context);
    }

    fn trim_ghosts(&mut self, desk: &Desk) {
        while self.ghosts.len() + desk.lists.len(Class::Random) > desk.capacity
            && let Some(tag) = self.ghosts.expire()
        {
            self.recency.leave(tag);
        }
    }
}

impl Estimator<Desk> for Queue {
    fn refresh(&mut self, desk: &mut Desk, _: &Context<'_>) {
        if desk.lists.len(Class::Random) > 0 {
            self.recency.refresh();
        }
    }

    fn least(&self, desk: &Desk, context: &Context<'_>, _: Need) -> Option<Candidate> {
        let page = desk.lists.oldest(Class::Random)?;
        if desk.older(context) == Some(Class::Sequential) {
            return None;
        }
        let rate = self.recency.marginal_hit_rate(desk.lists.len(Class::Random));
        Some(Candidate::priced(page, desk.rates.share(QUEUE) * rate * desk.miss(page, context)))
    }

    fn owns(&self, page: Page) -> bool {
        self.tags.get(page as usize).is_some_and(|&tag| tag != NO_TAG)
    }

    fn disown(&mut self, page: Page, desk: &mut Desk, context: &Context<'_>) {
        if let Some(tag) = self.take_tag(page) {
            desk.lists.remove(page, Class::Random);
            self.ghosts.push(context.table.block(page), tag);
            self.trim_ghosts(desk);
        }
    }
}
