//! Sequential reads found, read ahead, and kept apart from random ones (003): what `sarc`,
//! `lru-top` and `lru-bottom` share. They differ in which page goes.
//!
//! ```text
//! read of x, here:      in the bottom of its list: the policy hears of it (`lists`)
//!                       x carries the trigger: ahead(x)
//!                       x to the MRU end of its list
//! read of x, missing:   x - 1 is here and known as part of a run: a sequential miss; x to SEQ; ahead(x)
//!                       otherwise: x to RANDOM
//! ahead(x):             what is here of x+1 ..= end to the MRU end of SEQ; the rest is read ahead, to the same place
//!                       the trigger goes to the block `offset` before the end
//! ```
//!
//! A *track* of the paper, a unit of its storage controller, is one block here. What runs there
//! are, how far to read ahead and when is [`detect`], with `sarc-amp`'s rules in [`amp`]; the lists
//! and what their ends are worth is [`lists`].
//!
//! # Where this differs from the paper
//! - Reading ahead gives up no block that is nearer than the one it is to bring, but in the variant
//!   with the anomaly. In a memory smaller than the degree, the far end of a stretch is left
//!   instead.

pub mod amp;
mod departed;
pub mod detect;
pub mod followed;
mod line;
pub mod lists;
mod onset;
mod strided;
mod wanted;

use super::{
    Access, Candidate, Classes, Context, Domain, Need, Parameter, Partition, Policy, Reports, Runs, Stretch, Values,
};
use crate::ids::Page;
use detect::{Detector, Rules};
use lists::{Class, Lists};

/// The parameters of a policy that reads ahead by fixed degrees, and its own.
macro_rules! parameters {
    ($($own:expr),* $(,)?) => {{
        use $crate::policy::sequential::*;
        &[THRESHOLD, DEGREE, GROUP, TRIGGER_OFFSET, ANOMALY, BOTTOM_SHARE, $($own),*]
    }};
}
pub(super) use parameters;

/// The counter at which a block is known as part of a run.
pub const THRESHOLD: Parameter = Parameter {
    name: "threshold",
    help: "blocks one after the other before the next one is a sequential miss; 3 as in the paper's design, 2 is one block sooner",
    domain: Domain::Whole { default: 3.0, min: 1.0, max: 255.0 },
};
/// How far is read ahead.
pub const DEGREE: Parameter = Parameter {
    name: "degree",
    help: "m: blocks read ahead at once, up to a multiple of `group`",
    domain: Domain::Whole { default: 24.0, min: 1.0, max: 65536.0 },
};
/// What stretches end at multiples of.
pub const GROUP: Parameter = Parameter {
    name: "group",
    help: "g: stretches end at multiples of it; the disks of a RAID group",
    domain: Domain::Whole { default: 6.0, min: 1.0, max: 65536.0 },
};
/// When the next stretch is read ahead.
pub const TRIGGER_OFFSET: Parameter = Parameter {
    name: "trigger_offset",
    help: "blocks before a stretch's end at which the next one is read ahead; `degree` or more: never, only at a miss",
    domain: Domain::Whole { default: 3.0, min: 0.0, max: 65536.0 },
};
/// The anomaly of section II-C.
pub const ANOMALY: Parameter = Parameter {
    name: "anomaly",
    help: "1: unread blocks stay where they are in their list when the next stretch is read ahead, so that they go before it",
    domain: Domain::Whole { default: 0.0, min: 0.0, max: 1.0 },
};
/// What the bottom of a list is.
pub const BOTTOM_SHARE: Parameter = Parameter {
    name: "bottom_share",
    help: "delta L: the share of the memory that counts as the bottom of a list",
    domain: Domain::Number { default: 0.02, min: 0.0, max: 1.0 },
};

/// Which page goes.
pub trait Replacement: Send + Sync {
    /// A read found this page in the bottom of its class's list. `ratio` is what a page more would
    /// save sequential reads, in terms of what it would save random ones.
    #[inline]
    fn bottom_hit(&mut self, _class: Class, _ratio: f64) {}

    /// A page came to the MRU end of its class's list.
    #[inline]
    fn renewed(&mut self, _page: Page, _class: Class) {}

    /// A page left.
    fn left(&mut self, _page: Page) {}

    /// The page to go.
    fn candidate(&self, lists: &Lists, context: &Context<'_>) -> Option<Page>;

    /// It goes.
    fn evicting(&mut self, _class: Class, _lists: &Lists, _context: &Context<'_>) {}

    /// What it would have sequential reads hold.
    fn desired_pages(&self) -> Option<f64> {
        None
    }
}

/// A policy that reads ahead, and gives up pages by this rule.
pub struct Sequential<R> {
    detector: Detector,
    lists: Lists,
    replacement: R,
}

impl<R: Replacement> Sequential<R> {
    /// With 003's readahead and the parameters for it.
    pub fn new(values: &Values, replacement: R) -> Self {
        Self::with(Rules::fixed(values), values, replacement)
    }

    /// With this readahead.
    pub fn with(rules: Rules, values: &Values, replacement: R) -> Self {
        Sequential { detector: Detector::new(rules), lists: Lists::new(values.get(BOTTOM_SHARE.name)), replacement }
    }

    /// What is wanted ahead and has a page already becomes as recent as what is brought (line 46).
    fn renew_wanted(&mut self, wanted: Stretch, context: &Context<'_>) {
        for block in wanted.blocks() {
            let Some(page) = context.table.find(block) else { continue };
            let was = self.detector.class(page);
            if self.detector.join(page, block) {
                self.lists.renew(page, was, Class::Sequential);
                self.replacement.renewed(page, Class::Sequential);
            }
        }
    }

    /// A read found the page (lines 5 to 27).
    fn hit(&mut self, page: Page, context: &Context<'_>) {
        self.lists.count_reference();
        let class = self.detector.class(page);
        if self.lists.is_in_bottom(page, class, context.capacity) {
            self.replacement.bottom_hit(class, self.lists.ratio(context.capacity));
            self.lists.bottom_hit(class);
        }
        if let Some(wanted) = self.detector.found(page, context) {
            self.renew_wanted(wanted, context);
        }
        self.lists.renew(page, class, class);
        self.replacement.renewed(page, class);
    }

    fn forget(&mut self, page: Page) {
        self.lists.remove(page, self.detector.class(page));
        self.replacement.left(page);
    }
}

/// Pages are on their list from the moment they are taken for a block, as in the paper.
impl<R: Replacement> Policy for Sequential<R> {
    fn arrived(&mut self, _: Page, _: &Context<'_>, _: Option<&Access>) {}

    fn referenced(&mut self, page: Page, context: &Context<'_>, _: &Access) {
        self.hit(page, context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.detector.left(page, context.table.block(page), context);
        self.forget(page);
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        let page = self.replacement.candidate(&self.lists, context)?;
        let is_nearer = self.detector.is_nearer(context.table.block(page), need.missing);
        (!is_nearer).then_some(Candidate::unpriced(page))
    }

    fn evicting(&mut self, page: Page, context: &Context<'_>, _: Need) {
        self.replacement.evicting(self.detector.class(page), &self.lists, context);
    }

    fn runs(&mut self) -> Option<&mut dyn Runs> {
        Some(self)
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }
}

impl<R: Replacement> Runs for Sequential<R> {
    fn taken(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        let block = context.table.block(page);
        let wanted = match access {
            None => {
                self.detector.taken_ahead(page, block, context);
                None
            }
            Some(_) => {
                self.lists.count_reference();
                self.detector.missed(page, block, context)
            }
        };
        if let Some(wanted) = wanted {
            self.lists.count_misses(wanted.misses);
            self.renew_wanted(wanted, context);
        }
        let class = self.detector.class(page);
        self.lists.push(page, class);
        self.replacement.renewed(page, class);
    }

    fn awaited(&mut self, page: Page, context: &Context<'_>, _: &Access) {
        self.detector.late(page, context.table.block(page), context);
        self.hit(page, context);
    }

    fn lost(&mut self, page: Page, _: &Context<'_>) {
        self.detector.lost(page);
        self.forget(page);
    }

    fn next_stretch(&mut self, _: &Context<'_>) -> Option<Stretch> {
        self.detector.next_stretch()
    }

    fn is_sequential(&self, page: Page) -> bool {
        self.detector.class(page) == Class::Sequential
    }
}

impl<R: Replacement> Reports for Sequential<R> {
    fn partitions(&self) -> Vec<Partition> {
        self.lists.partitions()
    }

    fn classes(&self, context: &Context<'_>) -> Option<Classes> {
        Some(Classes { desired_pages: self.replacement.desired_pages(), ..self.lists.classes(context.capacity) })
    }
}
