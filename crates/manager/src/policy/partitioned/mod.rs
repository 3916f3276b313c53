//! A cache in three partitions, by the pattern of the reference that came last to each page:
//! sequential, looping, other (004 section 5.1, after UBM). Shared by `pcc` and `ubm`, which differ
//! in how a reference is classified.
//!
//! - **Sequential** pages are not read again: they go first, the misser's own newest before others'
//!   (`sequential.rs`). While there are free pages they stay, for a loop's first pass looks the
//!   same. Those read just now are spared: what is known of a run that is read ahead is in its
//!   blocks.
//! - **Looping** pages go by the length of their loop, longest first, and the newest first among
//!   equals; before them those whose loop seems to be over (`looping.rs`, `standstill.rs`).
//! - Pages that nobody has read yet, being brought ahead, have no pattern: they go last, and first
//!   when they were brought in vain (`unread.rs`).
//! - **Other** pages are left to another policy, `other`, LRU unless told otherwise (`other.rs`).
//!
//! Between the last two the *marginal gain* decides: hits a reference that would be lost with one
//! page less. A page of a loop of p references is hit once in p references; what the last other
//! page is worth is seen at the depths where others' reads find their blocks.
//!
//! # Worked example: four pages, a loop of 10 references over a b c ...
//! ```text
//! sequential: -      looping (10): a b c      other: x
//! d is read; no page is free. No sequential page; a looping page is worth 1/10. x was hit lately every 4 references, its
//! page is worth 1/4: c, the newest of the loop, goes
//! sequential: -      looping (10): a b d      other: x
//! ```
//!
//! # Where this differs from the paper
//! - **What a site has read in sequence turns with it** (`follow`). A loop's first pass is
//!   sequential, and so is a part of the next; when the site is seen to loop, the paper leaves
//!   those pages sequential. They would go first, although the loop comes to them next: a program
//!   of few passes loses as many blocks as there are pages.
//! - It discards sequential blocks at once and keeps one a process; its results (5.3.3, 5.4.1) need
//!   what is said above.
//! - The marginal gain of other pages is that of their LRU queue whatever policy holds them, and
//!   read off a whole queue of ghosts (`estimate/recency.rs`).

mod files;
mod looping;
mod members;
mod other;
mod sequential;
mod sites;
mod standstill;

use super::{
    Access, Candidate, Context, Domain, Learns, Need, Parameter, Partition, Patterns, Policy, Reports, Values, by_page,
};
use crate::ids::{Block, Page};
use crate::policy::unread::Unread;
use crate::policy::{Lesson, Nature};
pub(super) use files::Files;
use looping::Looping;
use members::{Member, Members};
use other::Other;
use sequential::Sequential;
pub(super) use sites::{Rules, Sites};
use standstill::Standstill;

/// Where pages are read ahead, the newest sequential ones are spared, this part of the memory: what
/// is known of a run is in the blocks read last.
const SPARED_PART: u64 = 16;

/// When a loop is over.
pub(super) const OVERDUE: Parameter = Parameter {
    name: "overdue",
    help: "a looping page that was not read for so many periods goes before others; 1e9: it does not, as in the paper",
    domain: Domain::Number { default: 3.0, min: 1.0, max: 1e9 },
};
/// What holds the pages of no pattern.
pub(super) const OTHER: Parameter = Parameter {
    name: "other",
    help: "the policy that holds pages neither sequential nor looping; lru as in the paper. other.NAME=VALUE sets a parameter of \
           its own",
    domain: Domain::Policy { default: "lru" },
};

/// What a period is known of: a call site, or a file; with the process where sites are told apart
/// by it.
pub(super) type Group = (u64, u32);

/// The pattern of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Sequential,
    Looping { period: u64 },
    Other,
}

/// What is known after a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub class: Class,
    /// What that is known of.
    pub group: Group,
    /// A group whose period is another now.
    pub renewed: Option<(Group, u64)>,
}

/// Classifies references.
pub(super) trait Classify: Send + Sync {
    /// One reference; `now` counts the references of the whole cache.
    fn refer(&mut self, now: u64, block: Block, access: &Access) -> Verdict;

    /// Whether it does so by the call site.
    fn uses_sites(&self) -> bool {
        false
    }

    /// What is worth remembering for the next run.
    fn lessons(&self) -> Vec<Lesson> {
        Vec::new()
    }

    /// What an earlier run remembered.
    fn taught(&mut self, _lesson: Lesson) {}
}

/// How loops are held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loops {
    /// Periods after which a page is overdue.
    pub overdue: f64,
    /// Loops with periods of the same power of two are of one length.
    pub alike: bool,
    /// After a page that went goes the next of its file, if that was read lately.
    pub onward: bool,
    /// What a group has read in sequence is looping as soon as the group is.
    pub follow: bool,
}

/// The partition a page is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    Sequential,
    Looping,
    Other,
    Unread,
}

/// The partitioned cache.
pub(super) struct Partitioned<C> {
    classifier: C,
    follow: bool,
    /// References so far.
    now: u64,
    patterns: Patterns,
    places: Vec<Place>,
    members: Members,
    sequential: Sequential,
    looping: Looping,
    standstill: Standstill,
    other: Other,
    unread: Unread,
    /// Pages were brought before anybody read them.
    reads_ahead: bool,
}

impl<C: Classify> Partitioned<C> {
    /// A cache of what `classifier` tells apart.
    pub fn new(classifier: C, loops: Loops, values: &Values) -> Self {
        Partitioned {
            classifier,
            follow: loops.follow,
            now: 0,
            patterns: Patterns::default(),
            places: Vec::new(),
            members: Members::default(),
            sequential: Sequential::default(),
            looping: Looping::new(loops),
            standstill: Standstill::default(),
            other: Other::new(values.policy(OTHER.name)),
            unread: Unread::default(),
            reads_ahead: false,
        }
    }

    /// Memory as the policy of other pages sees it: without what the other partitions hold.
    fn rest<'a>(&self, context: &Context<'a>) -> Context<'a> {
        let held = self.sequential.len() + self.looping.len() + self.unread.len();
        Context { capacity: context.capacity.saturating_sub(held).max(1), ..*context }
    }

    fn is_looping(&self, page: Page) -> bool {
        self.places.get(page as usize) == Some(&Place::Looping)
    }

    /// Whether a page that has a pattern has it of this group.
    fn is_of(&self, page: Page, group: Group) -> bool {
        self.members.group(self.members.of(page).group) == group
    }

    /// The page of a loop that seems to be over.
    fn overdue(&self, context: &Context<'_>) -> Option<Page> {
        let now = self.standstill.now(self.now, context.capacity);
        self.looping.overdue(now, |page| context.table.can_go(page))
    }

    /// A page that goes before anything is compared.
    fn worthless(&self, context: &Context<'_>, need: Need) -> Option<Page> {
        let can_go = |page| context.table.can_go(page);
        let in_vain = self.unread.overdue(self.now, context);
        let sequential = || self.sequential.candidate(need.reader, can_go);
        in_vain.or_else(sequential).or_else(|| self.overdue(context))
    }

    /// Whether the last other page is worth less than one of the longest loop.
    fn other_is_worth_less(&self) -> bool {
        let of_a_loop = self.looping.longest().map_or(f64::INFINITY, |period| 1.0 / period as f64);
        self.other.marginal_gain() < of_a_loop
    }

    fn classify(&mut self, block: Block, access: &Access, context: &Context<'_>) -> Verdict {
        self.now += 1;
        let verdict @ Verdict { class, group, renewed } = self.classifier.refer(self.now, block, access);
        if let Some((group, period)) = renewed {
            self.looping.renew(group, period, &mut self.members);
        }
        if let Class::Looping { period } = class
            && self.follow
        {
            self.turn(group, period);
        }
        *match class {
            Class::Sequential => &mut self.patterns.sequential,
            Class::Looping { .. } => &mut self.patterns.looping,
            Class::Other => &mut self.patterns.other,
        } += 1;
        self.standstill.refer(self.now, access.now, matches!(class, Class::Looping { .. }), context.capacity);
        self.other.count(block, class == Class::Other, context.capacity);
        verdict
    }

    /// This group loops: what it has read in sequence since it did so last is a part of that. A
    /// page turns once a reference at most.
    fn turn(&mut self, group: Group, period: u64) {
        while let Some(page) = self.sequential.oldest_of(group, &self.members) {
            let read = self.members.of(page);
            self.sequential.remove(page, &mut self.members);
            let read = Member { group: self.members.enter(group), ..read };
            self.looping.push(page, read, period, &mut self.members);
            self.places[page as usize] = Place::Looping;
        }
    }

    fn put(&mut self, page: Page, verdict: Verdict, access: &Access, context: &Context<'_>) {
        let Verdict { class, group, .. } = verdict;
        let (reader, at) = (access.reader, self.now);
        self.places[page as usize] = match class {
            Class::Sequential => {
                let spared = if self.reads_ahead { context.capacity / SPARED_PART } else { 0 };
                let read = Member { at, group: self.members.enter(group), reader };
                self.sequential.push(page, read, spared, &mut self.members);
                Place::Sequential
            }
            Class::Looping { period } => {
                let read = Member { at, group: self.members.enter(group), reader };
                self.looping.push(page, read, period, &mut self.members);
                Place::Looping
            }
            Class::Other => {
                self.other.arrived(page, &self.rest(context), Some(access));
                Place::Other
            }
        };
    }

    fn take(&mut self, page: Page, context: &Context<'_>) {
        match std::mem::replace(&mut self.places[page as usize], Place::None) {
            Place::None => {}
            Place::Sequential => self.sequential.remove(page, &mut self.members),
            Place::Looping => self.looping.remove(page, &mut self.members),
            Place::Other => self.other.left(page, &self.rest(context)),
            Place::Unread => self.unread.remove(page),
        }
    }
}

impl<C: Classify> Policy for Partitioned<C> {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        by_page::reach(&mut self.places, page, Place::None);
        // Who holds what is not read yet by himself brings none of it here (experts).
        self.reads_ahead |= access.is_none() || context.ledger().unread > 0;
        let Some(access) = access else {
            self.unread.push(page, self.now, context);
            self.places[page as usize] = Place::Unread;
            return;
        };
        let verdict = self.classify(context.table.block(page), access, context);
        self.put(page, verdict, access, context);
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        let verdict = self.classify(context.table.block(page), access, context);
        match (verdict.class, self.places[page as usize]) {
            (Class::Other, Place::Other) => self.other.referenced(page, &self.rest(context), access),
            (Class::Looping { period }, Place::Looping) if self.is_of(page, verdict.group) => {
                self.looping.read_again(page, self.now, period, &mut self.members);
            }
            _ => {
                self.take(page, context);
                self.put(page, verdict, access, context);
            }
        }
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.take(page, context);
    }

    fn weigh(&mut self, context: &Context<'_>, need: Need) {
        if self.worthless(context, need).is_none() {
            let rest = self.rest(context);
            self.other.weigh(&rest, need);
        }
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        let page = self.worthless(context, need).or_else(|| {
            let rest = self.rest(context);
            let is_looping = |page| self.is_looping(page);
            let of_a_loop = || self.looping.candidate(self.now, context.table, &self.members, is_looping);
            let other = || self.other.candidate(&rest, need);
            let going =
                if self.other_is_worth_less() { other().or_else(of_a_loop) } else { of_a_loop().or_else(other) };
            going.or_else(|| self.unread.candidate(|page| context.table.can_go(page)))
        });
        page.map(Candidate::unpriced)
    }

    fn evicting(&mut self, page: Page, context: &Context<'_>, need: Need) {
        match self.places[page as usize] {
            Place::Looping if self.overdue(context) != Some(page) => self.looping.evicting(context.table.block(page)),
            Place::Other => {
                let rest = self.rest(context);
                self.other.evicting(page, &rest, need);
            }
            _ => {}
        }
    }

    fn nature(&self) -> Nature {
        Nature { uses_sites: self.classifier.uses_sites(), ..Nature::ORDINARY }
    }

    fn learning(&mut self) -> Option<&mut dyn Learns> {
        if self.classifier.uses_sites() { Some(self) } else { None }
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }

    fn check(&self, context: &Context<'_>) {
        let count = |place| self.places.iter().filter(|&&it| it == place).count() as u64;
        assert_eq!(count(Place::Sequential), self.sequential.len(), "I1: the sequential partition's length");
        assert_eq!(count(Place::Looping), self.looping.len(), "I1: the looping partition's length");
        assert_eq!(count(Place::Other), self.other.len(), "I1: the other partition's length");
        assert_eq!(count(Place::Unread), self.unread.len(), "I1: the unread partition's length");
        self.looping.check(&self.members);
        self.members.check(self.sequential.len() + self.looping.len());
        self.other.check(&self.rest(context));
    }
}

impl<C: Classify> Learns for Partitioned<C> {
    fn taught(&mut self, lesson: Lesson) {
        self.classifier.taught(lesson);
    }
}

impl<C: Classify> Reports for Partitioned<C> {
    fn partitions(&self) -> Vec<Partition> {
        vec![
            Partition::new("sequential", self.sequential.len()),
            Partition::new("looping", self.looping.len()),
            Partition::new("other", self.other.len()),
            Partition::new("unread", self.unread.len()),
        ]
    }

    fn partition_of(&self, page: Page) -> Option<usize> {
        match self.places.get(page as usize)? {
            Place::None => None,
            Place::Sequential => Some(0),
            Place::Looping => Some(1),
            Place::Other => Some(2),
            Place::Unread => Some(3),
        }
    }

    fn patterns(&self) -> Option<Patterns> {
        Some(self.patterns)
    }

    fn lessons(&self) -> Vec<Lesson> {
        self.classifier.lessons()
    }
}
