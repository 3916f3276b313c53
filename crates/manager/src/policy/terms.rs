//! What a policy is told, and what it answers.

use crate::event::Demand;
use crate::ids::{Block, DeviceId, Page, ReaderId, Site, Time};
use crate::table::{State, Table};

/// One reference, as a policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// When.
    pub now: Time,
    /// Who.
    pub reader: ReaderId,
    /// From where in the program.
    pub site: Site,
    /// Served or observed.
    pub demand: Demand,
    /// The sequence in which this read was disclosed, if it was.
    pub hinted: Option<u16>,
    /// The block was brought ahead of this, its first read. What counts uses counted one when it
    /// came.
    pub first: bool,
    /// The reference of this number is the next one to the same block; None if there is none, or
    /// the future is not known.
    pub next: Option<u64>,
}

/// What a policy does with a disclosed block that is here already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disclosed {
    /// It counts as hinted and unread from now on.
    Counted,
    /// It stays what it was.
    Ignored,
}

/// The memory, as a policy may weigh it before it lets another page be fetched ahead.
#[derive(Debug, Clone, Copy)]
pub struct Ledger {
    /// Pages there may be.
    pub capacity: u64,
    /// Pages that hold a block or wait for one.
    pub used: u64,
    /// Pages hinted or guessed, and not yet read.
    pub unread: u64,
}

impl Ledger {
    pub(crate) fn of(capacity: u64, table: &Table) -> Self {
        let unread = table.count(State::Hinted) + table.count(State::Guessed);
        Ledger { capacity, used: table.used(), unread }
    }
}

/// A block that could be fetched ahead.
#[derive(Debug, Clone, Copy)]
pub struct Ahead {
    /// The sequence that disclosed it.
    pub sequence: u16,
    /// Disclosures are numbered over all sequences.
    pub order: u64,
    /// Where it lies; of an array, the first.
    pub device: DeviceId,
    /// References of its reader until it is read, of which the next one is number 1.
    pub references: u64,
    /// It would go along with a neighbour that is fetched in any case (000 section 5.4).
    pub joins: bool,
}

/// What fetching a block ahead is worth.
#[derive(Debug, Clone, Copy)]
pub struct Worth {
    /// Of several blocks, the one of the highest rank is fetched first.
    pub rank: f64,
    /// A page of less value than this may go for it.
    pub value: f64,
}

/// What a page is to be given up for.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    /// The block that would take its place; None where there are only to be fewer pages.
    pub missing: Option<Block>,
    /// Who misses it; None where nobody waits.
    pub reader: Option<ReaderId>,
    /// What that is worth.
    pub value: f64,
}

impl Need {
    /// Fewer pages, whatever they are worth.
    pub const LESS: Need = Need { missing: None, reader: None, value: f64::INFINITY };

    /// A page for this block, whatever it costs.
    pub fn of(missing: Block) -> Self {
        Need { missing: Some(missing), ..Need::LESS }
    }

    /// A page for the block that this reader misses.
    pub fn by(missing: Block, access: &Access) -> Self {
        Need { reader: Some(access.reader), ..Need::of(missing) }
    }
}

/// A page that could be given up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The page.
    pub page: Page,
    /// It goes for what is worth more than this.
    pub worth: f64,
    /// What it was worth when it was weighed last, also if it goes for anything since then; for who
    /// asks why it went.
    pub price: f64,
}

impl Candidate {
    /// A page that goes for anything: its policy compares pages with each other, and with nothing
    /// else.
    pub fn unpriced(page: Page) -> Self {
        Candidate::orphan(page, f64::NEG_INFINITY)
    }

    /// A page that goes for what is worth more.
    pub fn priced(page: Page, worth: f64) -> Self {
        Candidate { page, worth, price: worth }
    }

    /// A page that was worth this, and now goes for anything.
    pub fn orphan(page: Page, price: f64) -> Self {
        Candidate { page, worth: f64::NEG_INFINITY, price }
    }
}

/// What a page promises of which nobody disclosed a use, by how pages like it were used before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// How likely it is used before it is best given up.
    pub chance: f64,
    /// In how many references that is.
    pub within: u64,
    /// What it costs to miss it, as a part of one wait.
    pub cost: f64,
    /// What it is worth by that: waits saved for each reference that it is kept.
    pub worth: f64,
}

/// By what a policy named a page to go that compares pages with each other. For who asks why it
/// went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Judged {
    /// It was brought ahead, and nobody has read it.
    Unread,
    /// It was used longest ago: that alone counts until what was missed is made up for that LRU
    /// would have had.
    Oldest,
    /// It promises least.
    Least {
        /// What.
        promise: Promise,
        /// What promises least of the others, if any can go, and how much that is.
        next: Option<(Block, Promise)>,
    },
    /// It lies beside what went last, and promises little more than what promises least.
    Beside {
        /// What it promises.
        promise: Promise,
        /// What promises least, and how much that is.
        least: (Block, Promise),
    },
}

/// A page was weighed: against what it is needed for, by a policy that puts a price on both, or
/// against other pages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// The page's block.
    pub block: Block,
    /// What it is worth: the time saved, in nanoseconds a reference. Of a policy that compares
    /// nothing but uses to come, the references until the page's, as a negative number. Not finite
    /// where there is no price.
    pub worth: f64,
    /// The block it is needed for; None where there are only to be fewer pages.
    pub missing: Option<Block>,
    /// What that is worth; infinite if its reader waits.
    pub needed: f64,
    /// Whether the page goes.
    pub goes: bool,
    /// By what it was named of all pages, if its policy can tell and the manager is to explain.
    pub judged: Option<Judged>,
}

/// What a policy wants read ahead because of how its readers read, though nobody disclosed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Where it begins.
    pub first: Block,
    /// Its blocks, those that are here counted; none beyond the file's end.
    pub count: u64,
    /// Reads that had to wait although the run they go on was known (003 section II-A): 0 if it is
    /// read ahead in time.
    pub misses: u64,
}

impl Stretch {
    /// Its blocks, the nearest first.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        let Stretch { first, count, .. } = *self;
        (first.index..first.index + count).map(move |index| Block { index, ..first })
    }
}

/// What one run of a program learned that serves the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lesson {
    /// Of a call site: its row of the PC table (004 sections 4.1, 4.3).
    Site {
        /// The call site.
        site: Site,
        /// Blocks it read that were not read again.
        sequential: u64,
        /// Blocks that were.
        looping: u64,
        /// References from one read of a block to the next; 0 where none was read again.
        period: u64,
        /// How far from the period these lie in the mean.
        spread: u64,
    },
    /// How soon blocks were used again, of a sample of them.
    Reuse {
        /// Of blocks whose last two uses lay about so many references apart; 0: they were used once.
        interval: u64,
        /// How many references later, about.
        age: u64,
        /// Blocks that were used again then.
        used: u64,
        /// Blocks that had come to that age, and were not used again, when the run ended.
        open: u64,
    },
}
