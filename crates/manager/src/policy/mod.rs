//! Policies: which page goes when one must, and how many pages may hold what has not been read yet.
//!
//! One file a policy, and one line in `policies!` below. A file gives its `SPEC`: name, source,
//! parameters, how to build it. Command help, sweeps and the conformance suite follow from the
//! registry. A policy may lie in another crate as well: its `SPEC` is added to a [`Registry`], and
//! what is chosen from that is used as any other.

use crate::ids::Page;

pub(crate) mod by_page;
mod context;
mod estimators;
mod facets;
mod held;
pub mod list;
mod next_uses;
mod partitioned;
mod parts;
mod patience;
mod registry;
mod reports;
mod sequential;
mod spec;
mod terms;
mod two_level;
mod unread;

pub use context::Context;
pub use facets::{Advised, Hinted, Learns, Nature, Reports, Runs};
pub use registry::{Choice, Registry};
pub use reports::{Classes, Partition, Patterns};
use spec::SEQUENCES;
pub use spec::{Domain, Parameter, Spec, Values};
pub use terms::{Access, Ahead, Candidate, Disclosed, Judged, Ledger, Lesson, Need, Promise, Stretch, Weighed, Worth};

/// Declares the policies: one line each.
macro_rules! policies {
    ($($module:ident)*) => {
        $(mod $module;)*
        /// Every policy of this crate.
        static BUILT_IN: &[&Spec] = &[$(&$module::SPEC),*];
    };
}

policies! {
    null
    lru
    opt
    arc
    fifo
    mru
    clock
    sieve
    lfu
    slru
    two_q
    lru_k
    lirs
    s3fifo
    w_tinylfu
    tip1
    tip2
    tip2_sarc
    tip2_amp
    aggressive
    forestall
    lru_sp
    lru_s
    alloc_lru
    sarc
    sarc_amp
    readahead
    informed
    lru_top
    lru_bottom
    pcc
    ubm
    experts
    reuse
}

/// A replacement policy: which page goes. It hears of pages that are here from `arrived` to `left`.
/// What only some policies do is in their facets.
///
/// A policy that is built upon another one says so by `base` and `base_mut`: all facets that it has
/// none of its own for are then its base's, and so is its nature.
pub trait Policy: Send + Sync {
    /// The page's block came; `access` is the reference that brought it, None if it was fetched
    /// ahead.
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>);

    /// A reference found the page here.
    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access);

    /// The page is given up, for this policy's choice or for any other reason.
    fn left(&mut self, page: Page, context: &Context<'_>);

    /// A page is needed: brings up to date what pages are compared by, so that `candidate` need
    /// not. It chooses nothing, and what it leaves is as true if no page goes.
    fn weigh(&mut self, _context: &Context<'_>, _need: Need) {}

    /// The page to give up next, of those that can go, and what it is worth. To ask changes
    /// nothing: whoever asks may decline it, or ask again. What has not been weighed for this need
    /// may be out of date.
    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate>;

    /// The candidate was taken for this need and is about to leave: what follows from an eviction
    /// is done here.
    fn evicting(&mut self, _page: Page, _context: &Context<'_>, _need: Need) {}

    /// What it is.
    fn nature(&self) -> Nature {
        self.base().map_or(Nature::ORDINARY, Policy::nature)
    }

    /// The policy it is built upon, if it is.
    fn base(&self) -> Option<&dyn Policy> {
        None
    }

    /// The same, to be changed.
    fn base_mut(&mut self) -> Option<&mut dyn Policy> {
        None
    }

    /// Its facet for pages on their way and for runs.
    fn runs(&mut self) -> Option<&mut dyn Runs> {
        self.base_mut()?.runs()
    }

    /// Its facet for what is disclosed.
    fn hints(&mut self) -> Option<&mut dyn Hinted> {
        self.base_mut()?.hints()
    }

    /// Its facet for advice.
    fn advice(&mut self) -> Option<&mut dyn Advised> {
        self.base_mut()?.advice()
    }

    /// Its facet for what is learned from run to run.
    fn learning(&mut self) -> Option<&mut dyn Learns> {
        self.base_mut()?.learning()
    }

    /// Its facet for reports.
    fn reports(&self) -> Option<&dyn Reports> {
        self.base()?.reports()
    }

    /// Checks what must hold between events, by looking at everything. For tests.
    fn check(&self, _context: &Context<'_>) {}
}
