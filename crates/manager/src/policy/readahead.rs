//! `readahead`: what is disclosed is fetched ahead as in `tip1`, and what is read in runs as in
//! `sarc-amp`; which page goes is another policy's choice, `keep`.
//!
//! ```text
//! hint:          its blocks are fetched below the ceiling on unread pages     (tip1.rs)
//! read of x:     the run it goes on, if any, is read ahead                    (sequential/detect.rs, sequential/amp.rs)
//! candidate:     as `keep` has it; but no page goes for a block that is read after it in one stretch
//! ```
//!
//! Of the estimators that it is made of (`estimators`) one owns all pages, `keep`; that of runs
//! defends those which are about to be read, and the ceiling tells what fetching is worth.
//!
//! What to fetch and what to keep are apart here, where `tip1` and `sarc` are both in one: so what
//! is known of a program's call sites, or what it advises, decides what stays, and it is read ahead
//! for all the same.

use super::estimators::{self, Estimator};
use super::sequential::THRESHOLD;
use super::sequential::amp::{DEGREE_MAX, FIRST_DEGREE};
use super::sequential::detect::Rules;
use super::sequential::followed::Followed;
use super::tip1::{Ceiling, UNREAD_SHARE};
use super::{Access, Ahead, Candidate, Context, Domain, Hinted, Need, Parameter, Policy, Runs, SEQUENCES, Spec, Worth};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "readahead",
    summary: "fetches ahead what is disclosed and what is read in runs; another policy decides what stays",
    source: "000 section 3.1; 003 section II; Gill, Bathen: AMP (FAST 2007)",
    unlike_a_part: Some(SEQUENCES),
    parameters: &[
        UNREAD_SHARE,
        THRESHOLD,
        FIRST_DEGREE,
        DEGREE_MAX,
        Parameter {
            name: "keep",
            help: "the policy that decides what stays; keep.NAME=VALUE sets a parameter of its own, as in keep=pcc,keep.onward=0",
            domain: Domain::Policy { default: "lru" },
        },
    ],
    build: |values| {
        Box::new(Readahead {
            ceiling: Ceiling::new(values.get(UNREAD_SHARE.name)),
            runs: Followed::new(Rules::adapted(values), false),
            keep: values.policy("keep"),
        })
    },
};

struct Readahead {
    ceiling: Ceiling,
    runs: Followed,
    keep: Box<dyn Policy>,
}

impl Readahead {
    fn estimators(&self) -> [&dyn Estimator<()>; 3] {
        [&self.keep, &self.runs, &self.ceiling]
    }
}

/// Whatever it compares pages by, it knows them all.
impl Estimator<()> for Box<dyn Policy> {
    fn least(&self, (): &(), context: &Context<'_>, need: Need) -> Option<Candidate> {
        self.candidate(context, need)
    }
}

impl Estimator<()> for Ceiling {
    fn ahead(&self, ahead: &Ahead, (): &(), context: &Context<'_>) -> Option<Worth> {
        self.worth(ahead, context)
    }
}

impl Policy for Readahead {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.keep.arrived(page, context, access);
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.runs.found(page, context, access);
        self.keep.referenced(page, context, access);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.runs.left(page, context);
        self.keep.left(page, context);
    }

    fn weigh(&mut self, context: &Context<'_>, need: Need) {
        self.keep.weigh(context, need);
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        estimators::candidate(&self.estimators(), &(), context, need)
    }

    fn evicting(&mut self, page: Page, context: &Context<'_>, need: Need) {
        self.keep.evicting(page, context, need);
    }

    fn base(&self) -> Option<&dyn Policy> {
        Some(&*self.keep)
    }

    fn base_mut(&mut self) -> Option<&mut dyn Policy> {
        Some(&mut *self.keep)
    }

    /// What `keep` holds is here: of pages on their way it hears nothing.
    fn runs(&mut self) -> Option<&mut dyn Runs> {
        Some(&mut self.runs)
    }

    fn hints(&mut self) -> Option<&mut dyn Hinted> {
        Some(self)
    }

    fn check(&self, context: &Context<'_>) {
        self.runs.check();
        self.keep.check(context);
    }
}

impl Hinted for Readahead {
    fn may_fetch_ahead(&self, context: &Context<'_>) -> bool {
        self.ceiling.leaves_room(context)
    }

    fn worth(&self, ahead: &Ahead, context: &Context<'_>) -> Option<Worth> {
        estimators::ahead(&self.estimators(), ahead, &(), context)
    }
}
