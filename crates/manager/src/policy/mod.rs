//! Policies: which page goes when one must, and how many pages may hold what has not been read yet.
//!
//! One file a policy, and one line in `policies!` below. A file gives its `SPEC`: name, source, parameters, how to
//! build it. Command help, sweeps and the conformance suite follow from the registry.

use crate::advice::{Advice, Answer};
use crate::event::Refusal;
use crate::ids::{Page, ReaderId};

mod context;
pub mod list;
mod partitioned;
mod parts;
mod reports;
mod sequential;
mod spec;
mod terms;
mod two_level;

pub use context::Context;
pub use reports::{Classes, Partition, Patterns};
use spec::SEQUENCES;
pub use spec::{Choice, Domain, Parameter, Spec, Values};
pub use terms::{Access, Ahead, Candidate, Disclosed, Ledger, Lesson, Need, Stretch, Worth};

/// Declares the policies: one line each.
macro_rules! policies {
    ($($module:ident)*) => {
        $(mod $module;)*
        /// Every policy there is.
        pub static REGISTRY: &[&Spec] = &[$(&$module::SPEC),*];
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
    lru_sp
    lru_s
    alloc_lru
    sarc
    sarc_amp
    readahead
    lru_top
    lru_bottom
    pcc
    ubm
}

/// A replacement policy. It hears of pages that are here from `arrived` to `left`; those on their way are the manager's, but it may
/// hear of them too, from `taken` to `arrived` or `lost`.
pub trait Policy {
    /// The page was taken for a block that is on its way from now on: to be read ahead, or because of this reference.
    fn taken(&mut self, _page: Page, _context: &Context<'_>, _access: Option<&Access>) {}

    /// A reference found the page on its way.
    fn awaited(&mut self, _page: Page, _context: &Context<'_>, _access: &Access) {}

    /// The page's block will not come after all.
    fn lost(&mut self, _page: Page, _context: &Context<'_>) {}

    /// What is to be read ahead because of the references it heard of. It is asked again and again until there is nothing; then
    /// all that it wanted is on its way, as far as there was room.
    fn reads_ahead(&mut self) -> Option<Stretch> {
        None
    }

    /// What it knows of sequential and of random reads, if it tells them apart.
    fn classes(&self, _context: &Context<'_>) -> Option<Classes> {
        None
    }

    /// The page's block came; `access` is the reference that brought it, None if it was fetched ahead.
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>);

    /// A reference found the page here.
    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access);

    /// A hint speaks of the page, which is here.
    fn disclosed(&mut self, _page: Page, _context: &Context<'_>) -> Disclosed {
        Disclosed::Ignored
    }

    /// The page is given up, for this policy's choice or for any other reason.
    fn left(&mut self, page: Page, context: &Context<'_>);

    /// A page is needed: brings up to date what pages are compared by, so that `candidate` need not. It chooses nothing, and
    /// what it leaves is as true if no page goes.
    fn weigh(&mut self, _context: &Context<'_>, _need: Need) {}

    /// The page to give up next, of those that can go, and what it is worth. To ask changes nothing: whoever asks may decline it,
    /// or ask again. What has not been weighed for this need may be out of date.
    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate>;

    /// The candidate was taken for this need and is about to leave: what follows from an eviction is done here.
    fn evicting(&mut self, _page: Page, _context: &Context<'_>, _need: Need) {}

    /// Whether what was read is kept at all.
    fn keeps(&self) -> bool {
        true
    }

    /// Whether anything may be fetched ahead of its read now.
    fn may_fetch_ahead(&self, _context: &Context<'_>) -> bool {
        false
    }

    /// What it is worth to fetch this block ahead; None if it is too early for it.
    fn worth(&self, _ahead: &Ahead, _context: &Context<'_>) -> Option<Worth> {
        None
    }

    /// Whether a disclosed block that was given up before it was read is fetched again when its time comes.
    fn refetches(&self) -> bool {
        false
    }

    /// Whether it takes advice, so that it matters which program's a page is.
    fn takes_advice(&self) -> bool {
        false
    }

    /// A reader advises which of its own pages go first, or asks what it advised. An error changes nothing.
    fn advised(&mut self, _reader: ReaderId, _advice: Advice, _context: &Context<'_>) -> Result<Answer, Refusal> {
        Err(Refusal::Policy)
    }

    /// Whether it decides by what is still to come. Such a policy is of use where a whole trace is at hand
    /// ([`Manager::foreseeing`](crate::Manager::foreseeing)), and to no host of real programs.
    fn is_offline(&self) -> bool {
        false
    }

    /// Whether it can decide about a part of the memory, as another policy's parameter: it needs to hear of nothing but the pages it
    /// is given, and fetches nothing ahead.
    fn holds_a_part(&self) -> bool {
        !self.is_offline()
    }

    /// Who lost control by the eviction that was just made.
    fn revoked(&mut self) -> Option<ReaderId> {
        None
    }

    /// A reader is gone, and its advice with it. Its pages stay.
    fn reader_exited(&mut self, _reader: ReaderId) {}

    /// The partitions it divides its pages into, for reports; none where it does not divide them.
    fn partitions(&self) -> Vec<Partition> {
        Vec::new()
    }

    /// Which of its partitions a page that is here is in, if they go by the pattern of its last reference.
    fn partition_of(&self, _page: Page) -> Option<usize> {
        None
    }

    /// How it classified references so far, if it does.
    fn patterns(&self) -> Option<Patterns> {
        None
    }

    /// Whether it matters to it from where in a program a read comes.
    fn uses_sites(&self) -> bool {
        false
    }

    /// What is worth remembering for the next run of the same programs.
    fn lessons(&self) -> Vec<Lesson> {
        Vec::new()
    }

    /// What an earlier run remembered; said before the first reference.
    fn taught(&mut self, _lesson: Lesson) {}

    /// Checks what must hold between events, by looking at everything. For tests.
    fn check(&self, _context: &Context<'_>) {}

    /// This sequence is no more; the next one of its number is another.
    fn sequence_ended(&mut self, _sequence: u16) {}
}
