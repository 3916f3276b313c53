//! What a policy is, and what only some policies do: the facets that a policy may have.

use super::{Access, Ahead, Classes, Context, Disclosed, Judged, Lesson, Partition, Patterns, Policy, Stretch, Worth};
use crate::advice::{Advice, Answer};
use crate::event::Refusal;
use crate::ids::{Block, Page, ReaderId};

/// What a policy is, from beginning to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nature {
    /// What was read is kept.
    pub keeps: bool,
    /// A disclosed block that was given up before it was read is fetched again when its time comes, unless
    /// that is overdue ([`Hinted::overdue_for`]).
    pub refetches: bool,
    /// It decides by what is still to come. Such a policy is of use where a whole trace is at hand
    /// ([`Manager::foreseeing`](crate::Manager::foreseeing)), and to no host of real programs.
    pub is_offline: bool,
    /// It matters to it from where in a program a read comes.
    pub uses_sites: bool,
    /// What is read ahead of a run on an arm goes over gaps in it, as what is disclosed does under any
    /// policy. Published ones ask for what they ask for, block by block.
    pub runs_go_over_gaps: bool,
}

impl Nature {
    /// What most policies are.
    pub const ORDINARY: Nature =
        Nature { keeps: true, refetches: false, is_offline: false, uses_sites: false, runs_go_over_gaps: false };
}

impl dyn Policy + '_ {
    /// Whether it takes advice, so that it matters which program's a page is.
    pub fn takes_advice(&mut self) -> bool {
        self.advice().is_some()
    }

    /// Whether it can decide about a part of the memory, as another policy's parameter: it needs to
    /// hear of nothing but the pages it is given, and fetches nothing ahead.
    pub fn holds_a_part(&mut self) -> bool {
        self.runs().is_none() && self.hints().is_none() && !self.nature().is_offline
    }
}

/// Knows of pages on their way, and reads ahead what nobody disclosed.
pub trait Runs {
    /// The page was taken for a block that is on its way from now on: to be read ahead, or because
    /// of this reference. What comes of it is told by `arrived` or `lost`.
    fn taken(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>);

    /// A reference found the page on its way.
    fn awaited(&mut self, page: Page, context: &Context<'_>, access: &Access);

    /// The page's block will not come after all.
    fn lost(&mut self, page: Page, context: &Context<'_>);

    /// What is to be read ahead because of the references it heard of. It is asked again and again
    /// until there is nothing; then all that it wanted is on its way, as far as there was room.
    fn next_stretch(&mut self, context: &Context<'_>) -> Option<Stretch>;

    /// Whether the read that just missed this page's block went on a run that the policy knew of, be
    /// it let to read that ahead or not.
    fn is_sequential(&self, page: Page) -> bool;
}

/// Has what is disclosed fetched ahead.
pub trait Hinted {
    /// Whether anything may be fetched ahead of its read now.
    fn may_fetch_ahead(&self, context: &Context<'_>) -> bool;

    /// What it is worth to fetch this block ahead; None if it is too early for it.
    fn worth(&self, ahead: &Ahead, context: &Context<'_>) -> Option<Worth>;

    /// The sequence for which a page was brought, if its use should have come by now. Given up, the page is
    /// not fetched again for that use.
    fn overdue_for(&self, _page: Page, _context: &Context<'_>) -> Option<u16> {
        None
    }

    /// What it is worth to have a block from now on that comes along with others, without a request of
    /// its own; None if it is not known to be read within so many references.
    fn worth_along(&self, _block: Block, _references: f64, _context: &Context<'_>) -> Option<f64> {
        None
    }

    /// A hint speaks of the page, which is here.
    fn disclosed(&mut self, _page: Page, _context: &Context<'_>) -> Disclosed {
        Disclosed::Ignored
    }

    /// This sequence is no more; the next one of its number is another.
    fn sequence_ended(&mut self, _sequence: u16) {}
}

/// Lets readers advise which of their own pages go first.
pub trait Advised {
    /// A reader advises, or asks what it advised. An error changes nothing.
    fn advised(&mut self, reader: ReaderId, advice: Advice, context: &Context<'_>) -> Result<Answer, Refusal>;

    /// Who lost control by the eviction that was just made.
    fn revoked(&mut self) -> Option<ReaderId>;

    /// A reader is gone, and its advice with it. Its pages stay.
    fn reader_exited(&mut self, reader: ReaderId);
}

/// Learns what is worth remembering for the next run of the same programs.
pub trait Learns {
    /// What an earlier run remembered; said before the first reference.
    fn taught(&mut self, lesson: Lesson);
}

/// Tells of itself.
pub trait Reports {
    /// The partitions it divides its pages into; none where it does not divide them.
    fn partitions(&self) -> Vec<Partition>;

    /// Which of its partitions a page that is here is in, if they go by the pattern of its last
    /// reference.
    fn partition_of(&self, _page: Page) -> Option<usize> {
        None
    }

    /// What it knows of sequential and of random reads, if it tells them apart.
    fn classes(&self, _context: &Context<'_>) -> Option<Classes> {
        None
    }

    /// By what it names this page to go next, if it does and can tell. To ask changes nothing.
    fn judged(&self, _page: Page, _context: &Context<'_>) -> Option<Judged> {
        None
    }

    /// How it classified references so far, if it does.
    fn patterns(&self) -> Option<Patterns> {
        None
    }

    /// What the next run may be taught.
    fn lessons(&self) -> Vec<Lesson> {
        Vec::new()
    }
}
