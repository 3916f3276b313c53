//! `reuse`: what stays is what promises most hits for the memory it takes, by how soon blocks like
//! it were used again.
//!
//! ```text
//! class of a page:   its file, if that is one of those that are read most                  (sources.rs), and
//!                    the power of two of the references between its last two uses; that is not known of its first use,
//!                    nor of one so long after the last that nothing was noted of it
//! h(class, age):     of the sampled blocks of that class not used for so long, the part that is used at that age
//! worth(class, age): the greatest, over all ages t beyond, of   P(used before t) / E(references until its use, or t)
//! cost:              1 / length of the run in which it will be read, to a power of two and at most 32, as was seen of
//!                    blocks that had been read in runs as long, where runs are read ahead; else 1, and 1 while
//!                    anything is disclosed and some device is an arm
//!
//! reference(b):      nothing more if b was read last: reading goes on inside of it. Else
//!                    note of the sample: b was used at this age. b is of the class of that interval, and of age 0
//!                    what was missed and LRU would have had adds to the debt     (lru.rs)
//! victim():          while the debt is paid off, the page used longest ago. Else
//!                    the neighbour in its file of the page that went last, if it was used after that, and if
//!                        worth * cost is at most `onward` times the least
//!                    else the page of the least worth * cost, of those equal the one used longest ago
//! ```
//!
//! LRU, loops and frequency are cases of this. In a loop of p references h is nought until p: the
//! page used last is worth `1 / p`, the one about to be used 1. What is used by chance has an h that
//! is the same at all ages, lower for long intervals: frequency. Where h falls, it is LRU.
//!
//! - **Learned from a sample of all blocks, here or not** (`samples.rs`). From hits alone a loop
//!   longer than the memory is never seen. What has not been used again yet counts for what it has
//!   shown: that it was not used until now (`density.rs`).
//! - **A file is learned of by itself as far as it shows much** (`sources.rs`): what was seen of its
//!   blocks counts as much as what was seen of all.
//! - **Before anything is seen, old pages are worth less than young ones.** A class that has shown
//!   little is taken to be as all blocks are, and these as something that falls with age. Where less
//!   of that came true at younger ages, less is believed of older ones.
//! - **What a miss costs** (`runs.rs`). What is read in a run is read ahead, so that missing all of
//!   it costs about one wait: what is read by itself stays in its place. An arm goes on into the
//!   files that lie behind one another. Not beside what is told, on
//!   an arm: there it is missed one by one, where what is told is wrong, and each is a turn. For the
//!   same hits misses that lie together are cheaper: hence `onward`.
//! - **The newest pages are spared where runs are read ahead**: what is known of a run is in them.
//! - Pages that are alike, and were used about the same time, are put in order together
//!   (`bins.rs`), anew after each 64th of a memory of references, but not after fewer than four, nor
//!   a 16th of the bins.
//!
//! # Where this differs from what others do
//! LHD (Beckmann, Chen, Cidon: Maximizing Cache Hit Ratios by Hit Density, NSDI 2018) ranks by hits
//! over expected time as well. It learns from what is here and of what was evicted, takes what a page
//! may come to until it is hit or evicted in place of the best time to give it up, and compares a few
//! pages drawn at random, by which what is missing would lie scattered.

mod ages;
mod bins;
mod density;
mod learned;
mod lru;
mod runs;
mod samples;
mod sources;

use self::bins::{Bins, Kind, Note, Order, Place};
use self::learned::Learned;
use self::lru::Lru;
use self::runs::Runs;
use super::unread::Unread;
use super::{
    Access, Candidate, Context, Domain, Judged, Learns, Lesson, Need, Parameter, Partition, Policy, Reports, Spec,
};
use crate::estimate::ghosts::Ghosts;
use crate::ids::{Block, Page};

pub(super) static SPEC: Spec = Spec {
    name: "reuse",
    summary: "pages stay that promise most hits for their memory, by how soon blocks like them were used again",
    source: "worth as hit density (Beckmann, Chen, Cidon: LHD, NSDI 2018), and as a Gittins index; what differs is in its source",
    unlike_a_part: None,
    parameters: &[
        Parameter {
            name: "ghosts",
            help: "blocks given up of which the last use is noted, as a multiple of the memory",
            domain: Domain::Number { default: 1.0, min: 0.0, max: 64.0 },
        },
        Parameter {
            name: "onward",
            help: "the neighbour that was used after the page that went goes next if it is worth at most so many times what would go, \
                   so that what is missing lies together; 0: never",
            domain: Domain::Number { default: 2.0, min: 0.0, max: 1e9 },
        },
    ],
    build: |values| {
        Box::new(Reuse {
            now: 0,
            turned: 0,
            held: 0,
            learned: Learned::default(),
            runs: Runs::default(),
            bins: Bins::default(),
            unread: Unread::default(),
            ghosts: Ghosts::default(),
            ghosts_share: values.get("ghosts"),
            onward: values.get("onward"),
            went: None,
            reads_ahead: false,
            lru: Lru::default(),
        })
    },
};

/// Parts of a memory of references after which pages are put in order anew.
const TURNS: u64 = 64;
/// In a small memory after so many references. What is shorter is not told apart there, and what is
/// spared is spared for so long.
const TURN_MIN: u64 = 4;
/// Nor after fewer than this part of the bins there are: all are ranked and sorted for that.
const BINS_PART: u64 = 16;
/// Where pages are read ahead those used last are spared, this part of them.
const SPARED_PART: u64 = 16;

/// When a block was used, and in a run of which grade; in one word, for it is kept of each ghost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Use(u64);

impl Use {
    fn of(note: Note) -> Self {
        Use(note.last << 8 | u64::from(note.kind.grade))
    }

    fn at(self) -> u64 {
        self.0 >> 8
    }

    fn grade(self) -> u8 {
        self.0 as u8
    }
}

/// Why a page is the one to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Unread,
    Oldest,
    Least,
    /// Beside the page that went last, in place of this one.
    Beside(Page),
}

struct Reuse {
    /// References so far, but for those that go on inside of a block.
    now: u64,
    /// When pages were put in order last.
    turned: u64,
    /// Pages that were read.
    held: u64,
    learned: Learned,
    runs: Runs,
    /// The pages that were read.
    bins: Bins,
    /// The others.
    unread: Unread,
    /// The last use of each.
    ghosts: Ghosts<Use>,
    ghosts_share: f64,
    onward: f64,
    /// The block that was given up last, and when it had been used.
    went: Option<(Block, u64)>,
    /// Pages were brought before anybody read them.
    reads_ahead: bool,
    lru: Lru,
}

impl Reuse {
    /// How much memory there is. Who has a part of it may see little of it for a moment, though the
    /// pages are here yet.
    fn memory(&self, context: &Context<'_>) -> u64 {
        context.capacity.max(self.held)
    }

    fn order(&self, context: &Context<'_>) -> Order {
        let is_alone = !context.hints.any_open() || !context.dispatch.any_one_by_one();
        let spared = if self.reads_ahead { self.held / SPARED_PART } else { 0 };
        Order { counts_runs: self.reads_ahead && is_alone, spared }
    }

    /// A page was read, of which this is known of the time before; `is_missing` if it was not here, or
    /// had been read ahead.
    fn put(&mut self, page: Page, before: Option<Use>, is_missing: bool, context: &Context<'_>) {
        let block = context.table.block(page);
        let interval = before.map(|before| self.now - before.at());
        let turn = (self.memory(context) / TURNS).max(TURN_MIN);
        let class = self.learned.class(block, interval, turn, self.now, self.memory(context));
        let begin = context.place_of_begin(block);
        let goes_on = |last| begin.is_some_and(|begin| context.goes_on_into(begin, last));
        let kind = Kind { class, grade: self.runs.refer(block, goes_on) };
        if let Some(before) = before {
            self.learned.costs.read_again(class.source, before.grade(), kind.grade);
        }
        let sampled = self.learned.refer(block, self.now, kind.class);
        let order = self.order(context);
        if self.now - self.turned >= turn.max(self.bins.count() / BINS_PART) {
            self.turned = self.now;
            self.learned.learn(self.now, self.memory(context));
            self.bins.turn(self.now, order, &self.learned);
        }
        self.held += 1;
        if let Some(part) = sampled {
            self.lru.refer(block, part, is_missing, order.cost(kind.grade), self.held);
        }
        self.bins.put(page, kind, self.now, order, &self.learned);
    }

    fn take(&mut self, page: Page) {
        self.held -= 1;
        self.bins.take(page);
    }

    /// The neighbour of the block that went last that was used after it, if it may go in place of what
    /// is worth this. (In a loop the other one is used sooner.)
    fn onward(&self, worth: f64, context: &Context<'_>) -> Option<Page> {
        let (went, used) = self.went?;
        let onward = Some(went.index + 1).filter(|&index| index < Block::INDEX_LIMIT);
        let neighbours = [onward, went.index.checked_sub(1)].into_iter().flatten();
        let pages = neighbours.filter_map(|index| context.table.find(Block { index, ..went }));
        let follows = |page: Page| {
            self.bins.place_of(page) == Place::Read && self.bins.note(page).last >= used
        };
        let may_go = |page: &Page| context.table.can_go(*page) && follows(*page);
        let is_cheap = |page: &Page| self.bins.worth(*page).is_some_and(|it| it <= self.onward * worth);
        pages.filter(may_go).find(is_cheap)
    }

    /// The page that goes next, and why.
    fn choice(&self, context: &Context<'_>) -> Option<(Page, Why)> {
        let can_go = |page| context.table.can_go(page);
        let least = || {
            if self.lru.decides() {
                return self.bins.oldest(can_go).map(|page| (page, Why::Oldest));
            }
            let (least, worth) = self.bins.first(can_go)?;
            let beside = self.onward(worth, context).filter(|&page| page != least);
            Some(beside.map_or((least, Why::Least), |page| (page, Why::Beside(least))))
        };
        let in_vain = self.in_vain(context).map(|page| (page, Why::Unread));
        in_vain.or_else(least).or_else(|| Some((self.unread.candidate(can_go)?, Why::Unread)))
    }

    /// The page brought in vain the longest ago.
    fn in_vain(&self, context: &Context<'_>) -> Option<Page> {
        self.unread.overdue(self.now, context)
    }
}

impl Policy for Reuse {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        // Also where those who are told of reads hold what is not read yet.
        self.reads_ahead |= context.ledger().unread > 0;
        if access.is_none() {
            self.bins.note_unread(page, true);
            return self.unread.push(page, self.now, context);
        }
        self.now += 1;
        let before = self.ghosts.take(context.table.block(page));
        self.put(page, before, true, context);
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, _: &Access) {
        let block = context.table.block(page);
        let is_unread = self.bins.place_of(page) == Place::Unread;
        if !is_unread && self.runs.is_at(block) {
            return;
        }
        self.now += 1;
        let before = if is_unread {
            self.unread.remove(page);
            self.ghosts.take(block)
        } else {
            self.take(page);
            Some(Use::of(self.bins.note(page)))
        };
        self.put(page, before, is_unread, context);
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        if self.bins.place_of(page) == Place::Unread {
            self.bins.note_unread(page, false);
            return self.unread.remove(page);
        }
        self.take(page);
        let block = context.table.block(page);
        if self.went.is_none_or(|(went, _)| went != block) {
            self.lru.forget(block);
        }
        self.ghosts.push(block, Use::of(self.bins.note(page)));
        let ghosts_max = (self.ghosts_share * self.memory(context) as f64) as u64;
        while self.ghosts.len() > ghosts_max {
            self.ghosts.expire();
        }
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        self.choice(context).map(|(page, _)| Candidate::unpriced(page))
    }

    fn evicting(&mut self, page: Page, context: &Context<'_>, _: Need) {
        if self.bins.place_of(page) == Place::Read {
            self.went = Some((context.table.block(page), self.bins.note(page).last));
        }
    }

    fn learning(&mut self) -> Option<&mut dyn Learns> {
        Some(self)
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }

    fn check(&self, context: &Context<'_>) {
        self.bins.check();
        let read: u64 = [false, true].map(|is_known| self.bins.len(is_known)).iter().sum();
        let count = |place| self.bins.count_at(place);
        assert_eq!((count(Place::Read), self.held), (read, read), "I1: pages that were read");
        assert_eq!(count(Place::Unread), self.unread.len(), "I1: pages not read yet");
        assert!(read + self.unread.len() <= context.table.used(), "I1: no page is here twice");
    }
}

impl Learns for Reuse {
    fn taught(&mut self, lesson: Lesson) {
        if let Lesson::Reuse { interval, age, used, open } = lesson {
            self.learned.taught((interval > 0).then_some(interval), age, used, open);
        }
    }
}

impl Reports for Reuse {
    fn partitions(&self) -> Vec<Partition> {
        vec![
            Partition::new("used once", self.bins.len(false)),
            Partition::new("used again", self.bins.len(true)),
            Partition::new("unread", self.unread.len()),
        ]
    }

    fn partition_of(&self, page: Page) -> Option<usize> {
        match self.bins.place_of(page) {
            Place::Elsewhere => None,
            Place::Read => Some(usize::from(self.bins.note(page).kind.class.interval > 0)),
            Place::Unread => Some(2),
        }
    }

    fn judged(&self, page: Page, context: &Context<'_>) -> Option<Judged> {
        let (_, why) = self.choice(context).filter(|(chosen, _)| *chosen == page)?;
        let promise = |page| self.bins.promise(page, self.order(context), &self.learned);
        let with_block = |page| (context.table.block(page), promise(page));
        Some(match why {
            Why::Unread => Judged::Unread,
            Why::Oldest => Judged::Oldest,
            Why::Beside(least) => Judged::Beside { promise: promise(page), least: with_block(least) },
            Why::Least => {
                let next = self.bins.first(|next| next != page && context.table.can_go(next));
                // What is spared is so whatever it promises.
                let next = next.map(|(next, _)| next).filter(|&next| self.bins.worth(next).is_some());
                Judged::Least { promise: promise(page), next: next.map(with_block) }
            }
        })
    }

    /// None where nothing had to go: there it makes no difference what is worth most.
    fn lessons(&self) -> Vec<Lesson> {
        if self.went.is_some() { self.learned.lessons(self.now) } else { Vec::new() }
    }
}
