//! `experts`: the memory is held by the policy that would have cost least lately, of several that
//! look on.
//!
//! ```text
//! reference(b):  each expert's shadow refers to b: what would it have missed?       (shadow.rs)
//!                what is missing costs its price: of runs read ahead, little        (price.rs)
//!                if another expert leads: it is followed, and LRU in the end        (contest.rs)
//!                    it is handed the pages that are here, the one referenced last as the newest
//! victim():      a page brought ahead in vain, else what the followed one gives up, in the memory that fetching ahead leaves it
//! ```
//!
//! The first expert keeps what it holds until a newcomer has proven itself, and is followed to
//! begin with: who began with LRU would lose short loops, and where LRU is right that shows soon.
//!
//! # Where this differs from the theory
//! - Theory (Littlestone, Warmuth) bounds what is lost against the best of the experts where
//!   following costs nothing. A cache has a state, and to follow another costs up to a memory of
//!   misses. What is bounded here is the loss against LRU: see contest.rs.
//! - The one that is followed holds the real pages. Its shadow is another, smaller cache: what a
//!   page is worth to it comes of references that it met itself, from when it was first followed.
//!   To give up whatever is not in its shadow, where that is no sample, gained 0.1 points of hits.

mod contest;
mod price;
mod shadow;

use super::unread::Unread;
use super::{
    Access, Candidate, Choice, Context, Domain, Learns, Lesson, Nature, Need, Parameter, Partition, Policy, Reports, Spec,
    by_page,
};
use crate::ids::Page;
use contest::Contest;
use price::{Found, Prices};

pub(super) static SPEC: Spec = Spec {
    name: "experts",
    summary: "the one of lirs, lru, w-tinylfu, slru, 2q and pcc that would have cost least lately decides",
    source: "Littlestone, Warmuth: The Weighted Majority Algorithm, Information and Computation 1994; for caches, \
             Gramacy, Warmuth, Brandt, Ari: Adaptive Caching by Refetching, NIPS 2002",
    unlike_a_part: Some(super::SEQUENCES),
    parameters: &[
        Parameter {
            name: "half_life",
            help: "memories of references after which what an expert missed counts half; from 1 to 8 hit ratios differ by 0.15 points",
            domain: Domain::Number { default: 4.0, min: 0.25, max: 1e6 },
        },
        Parameter {
            name: "turns",
            help: "how steady a lead must be, so that experts are not followed in turns: 1.2 takes two quarters of a memory at \
                   least, 2.5 seven; hit ratios differ by 0.2 points",
            domain: Domain::Number { default: 1.2, min: 0.0, max: 1e6 },
        },
    ],
    build: |values| {
        let policies = EXPERTS.iter().map(|name| expert(name));
        Box::new(Experts {
            contest: Contest::new(policies, LRU, values.get("half_life"), values.get("turns")),
            prices: Prices::default(),
            followed: 0,
            policy: expert(EXPERTS[0]),
            notes: Vec::new(),
            held: 0,
            unread: Unread::default(),
            room: 0.0,
            now: 0,
        })
    },
};

/// Those who are followed. Each is the best of all policies on some recording; others were tried
/// beside them, and gained nothing.
const EXPERTS: [&str; 6] = ["lirs", "lru", "w-tinylfu", "slru", "2q", "pcc"];
const LRU: usize = 1;

/// # Panics
/// If there is no policy of that name in this crate.
fn expert(name: &str) -> Box<dyn Policy> {
    name.parse::<Choice>().expect("a policy of this crate").build()
}

/// Where a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    /// With the policy that is followed.
    Held,
    Unread,
}

#[derive(Clone, Copy)]
struct Note {
    place: Place,
    /// When it was referenced last; later ones may have lesser numbers once in 2^32 references.
    at: u32,
}

struct Experts {
    contest: Contest,
    prices: Prices,
    followed: usize,
    /// The followed one's own, of the pages that are here and were read.
    policy: Box<dyn Policy>,
    notes: Vec<Note>,
    held: u64,
    unread: Unread,
    /// Pages that fetching ahead needs: as many as are unread, and not much fewer than lately.
    room: f64,
    /// References so far.
    now: u64,
}

impl Experts {
    /// Memory as the followed one sees it: without what is brought ahead.
    fn rest<'a>(&self, context: &Context<'a>) -> Context<'a> {
        let room = (self.room as u64).min(context.capacity / 2);
        Context { capacity: (context.capacity - room).max(1), ..*context }
    }

    fn refer(&mut self, page: Page, found: Found, context: &Context<'_>, access: &Access) {
        self.now += 1;
        self.notes[page as usize].at = self.now as u32;
        let unread = context.ledger().unread as f64;
        self.room = unread.max(self.room - (self.room - unread) / context.capacity as f64);
        let block = context.table.block(page);
        let price = self.prices.refer(block, access, found);
        self.contest.refer(block, price, found != Found::Here, &self.rest(context), access);
        if self.contest.followed() != self.followed {
            self.followed = self.contest.followed();
            self.hand_over(context);
        }
    }

    /// The pages that are held are another policy's from now on.
    fn hand_over(&mut self, context: &Context<'_>) {
        self.policy = expert(EXPERTS[self.followed]);
        if let Some(learning) = self.policy.learning() {
            self.contest.lessons(self.followed).into_iter().for_each(|lesson| learning.taught(lesson));
        }
        let held = self.notes.iter().zip(0..).filter(|(note, _)| note.place == Place::Held);
        let now = self.now as u32;
        let mut held: Vec<(u32, Page)> = held.map(|(note, page)| (now.wrapping_sub(note.at), page)).collect();
        held.sort_unstable_by_key(|&(age, page)| std::cmp::Reverse((age, page)));
        let rest = self.rest(context);
        for (_, page) in held {
            self.policy.arrived(page, &rest, None);
        }
    }

    fn hold(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.notes[page as usize].place = Place::Held;
        self.held += 1;
        self.policy.arrived(page, &self.rest(context), Some(access));
    }
}

impl Policy for Experts {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        by_page::reach(&mut self.notes, page, Note { place: Place::None, at: 0 });
        match access {
            None => {
                self.notes[page as usize].place = Place::Unread;
                self.unread.push(page, self.now, context);
            }
            Some(access) => {
                self.hold(page, context, access);
                self.refer(page, Found::Missing, context, access);
            }
        }
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        let found = if self.notes[page as usize].place == Place::Unread {
            self.unread.remove(page);
            self.hold(page, context, access);
            Found::Brought
        } else {
            self.policy.referenced(page, &self.rest(context), access);
            Found::Here
        };
        self.refer(page, found, context, access);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        match std::mem::replace(&mut self.notes[page as usize].place, Place::None) {
            Place::None => {}
            Place::Held => {
                self.held -= 1;
                self.policy.left(page, &self.rest(context));
            }
            Place::Unread => self.unread.remove(page),
        }
    }

    fn weigh(&mut self, context: &Context<'_>, need: Need) {
        self.room = self.room.max(context.ledger().unread as f64);
        let rest = self.rest(context);
        self.policy.weigh(&rest, need);
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        let can_go = |page| context.table.can_go(page);
        let in_vain = self.unread.overdue(self.now, context);
        let held = || self.policy.candidate(&self.rest(context), need).map(|it| it.page);
        let page = in_vain.or_else(held).or_else(|| self.unread.candidate(can_go));
        page.map(Candidate::unpriced)
    }

    fn evicting(&mut self, page: Page, context: &Context<'_>, need: Need) {
        if self.notes[page as usize].place == Place::Held {
            let rest = self.rest(context);
            self.policy.evicting(page, &rest, need);
        }
    }

    fn nature(&self) -> Nature {
        Nature { uses_sites: true, ..Nature::ORDINARY }
    }

    fn learning(&mut self) -> Option<&mut dyn Learns> {
        Some(self)
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }

    fn check(&self, context: &Context<'_>) {
        let count = |place| self.notes.iter().filter(|note| note.place == place).count() as u64;
        assert_eq!(
            (count(Place::Held), count(Place::Unread)),
            (self.held, self.unread.len()),
            "I1: the places' lengths"
        );
        self.policy.check(&self.rest(context));
        self.contest.check(context);
    }
}

impl Learns for Experts {
    fn taught(&mut self, lesson: Lesson) {
        self.contest.taught(lesson);
    }
}

impl Reports for Experts {
    /// All pages that were read are one expert's at a time.
    fn partitions(&self) -> Vec<Partition> {
        let pages = |expert| if expert == self.followed { self.held } else { 0 };
        let held = EXPERTS.iter().enumerate().map(|(expert, name)| Partition::new(*name, pages(expert)));
        held.chain([Partition::new("unread", self.unread.len())]).collect()
    }

    fn lessons(&self) -> Vec<Lesson> {
        (0..EXPERTS.len()).flat_map(|expert| self.contest.lessons(expert)).collect()
    }
}
