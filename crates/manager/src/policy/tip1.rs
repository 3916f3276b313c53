//! `tip1`: LRU, and hints served in order under a ceiling on unread pages (000 section 3.1, 001
//! section 2).
//!
//! ```text
//! hint(file, ranges):    append to the queue of hints; prefetch()
//! prefetch():            while unread < ceiling and a hint is left:
//!                            b = the next hinted block                (its file's name is resolved only now)
//!                            if b is here: move it to the MRU end; unread += 1
//!                            else: take a page as a demand read would; fetch b; unread += 1
//! read(b):               if b is hinted and unread: unread -= 1; prefetch()
//!                        as in LRU
//! an unread page ages out at the LRU end: unread -= 1; prefetch()     (its hint is not tried again)
//! ```
//!
//! # Where this differs from the papers
//! - The ceiling is a share of the memory, because ours is not fixed: 512 of 1,536 buffers in 000,
//!   150 of 400 in 001.
//! - 001 neither promotes nor counts a hinted block it finds: `count_present=0`.
//! - As printed, one read frees one page and fetches are one block long. With `resume_blocks=8` a
//!   fetch waits until there is room for eight: 000's own results of section 3.6 need it.

use super::{
    Access, Ahead, Candidate, Context, Disclosed, Domain, Hinted, Ledger, Need, Parameter, Policy, Spec, Worth,
    list::List,
};
use crate::ids::Page;

pub(super) static SPEC: Spec = Spec {
    name: "tip1",
    summary: "LRU with hints fetched in order, up to a ceiling on unread pages",
    source: "Patterson et al., TIP-1 (000 section 3.1) and the TIP prototype (001 section 2)",
    unlike_a_part: None,
    parameters: &[
        UNREAD_SHARE,
        Parameter {
            name: "count_present",
            help: "1: a hinted block found here is promoted and counts as unread (000); 0: neither (001)",
            domain: Domain::Whole { default: 1.0, min: 0.0, max: 1.0 },
        },
        Parameter {
            name: "resume_blocks",
            help: "pages below the ceiling before a new run is begun; 1 as printed, 8 for whole clusters",
            domain: Domain::Whole { default: 1.0, min: 1.0, max: 1e6 },
        },
    ],
    build: |values| {
        Box::new(Tip1 {
            pages: List::default(),
            ceiling: Ceiling {
                unread_share: values.get(UNREAD_SHARE.name),
                resume_blocks: values.get("resume_blocks") as u64,
            },
            count_present: values.get("count_present") >= 0.5,
        })
    },
};

/// How much may be here unread.
pub(super) const UNREAD_SHARE: Parameter = Parameter {
    name: "unread_share",
    help: "the share of the memory that disclosed and unread blocks may hold; a third as in TIP-1",
    domain: Domain::Number { default: 1.0 / 3.0, min: 0.0, max: 1.0 },
};

/// The ceiling on unread pages, below which what is disclosed is fetched in its order.
pub(super) struct Ceiling {
    unread_share: f64,
    /// Pages below it before a new run is begun.
    resume_blocks: u64,
}

impl Ceiling {
    /// At this share of the memory.
    pub fn new(unread_share: f64) -> Self {
        Ceiling { unread_share, resume_blocks: 1 }
    }

    fn pages(&self, ledger: &Ledger) -> u64 {
        (ledger.capacity as f64 * self.unread_share).round() as u64
    }

    /// Whether it is not reached.
    pub fn leaves_room(&self, context: &Context<'_>) -> bool {
        let ledger = context.ledger();
        ledger.unread < self.pages(&ledger)
    }

    /// What fetching a disclosed block is worth.
    pub fn worth(&self, ahead: &Ahead, context: &Context<'_>) -> Option<Worth> {
        let ledger = context.ledger();
        let pages = self.pages(&ledger);
        if !ahead.joins && ledger.unread + self.resume_blocks.min(pages) > pages {
            return None;
        }
        // In the order of disclosure, and whatever page must go for it.
        Some(Worth { rank: -(ahead.order as f64), value: f64::INFINITY })
    }
}

struct Tip1 {
    pages: List,
    ceiling: Ceiling,
    count_present: bool,
}

impl Policy for Tip1 {
    fn arrived(&mut self, page: Page, _: &Context<'_>, _: Option<&Access>) {
        self.pages.push_newest(page);
    }

    fn referenced(&mut self, page: Page, _: &Context<'_>, _: &Access) {
        self.pages.renew(page);
    }

    fn left(&mut self, page: Page, _: &Context<'_>) {
        self.pages.remove(page);
    }

    fn candidate(&self, context: &Context<'_>, _: Need) -> Option<Candidate> {
        self.pages.oldest_first().find(|&page| context.table.can_go(page)).map(Candidate::unpriced)
    }

    fn hints(&mut self) -> Option<&mut dyn Hinted> {
        Some(self)
    }
}

impl Hinted for Tip1 {
    fn may_fetch_ahead(&self, context: &Context<'_>) -> bool {
        self.ceiling.leaves_room(context)
    }

    fn worth(&self, ahead: &Ahead, context: &Context<'_>) -> Option<Worth> {
        self.ceiling.worth(ahead, context)
    }

    fn disclosed(&mut self, page: Page, _: &Context<'_>) -> Disclosed {
        if self.count_present {
            self.pages.renew(page);
            Disclosed::Counted
        } else {
            Disclosed::Ignored
        }
    }
}
