//! How far ahead, adapted stream by stream: what is known of a stream is carried by the blocks read
//! ahead for it (AMP, Gill and Bathen, FAST 2007).
//!
//! ```text
//! a trigger is read in time       the stretch was used up to there: the degree grows
//! a block is read on its way      its reader had to wait: the distance from the trigger to the stretch's end grows
//! a block goes unread             it was brought too early: the degree shrinks by one
//! a run is missed                 of its last stretch so much was used: the degree is no more than that
//! ```
//!
//! The distance is half the degree at most, and a quarter when that shrinks or a run is missed: a
//! block that waits to be read longer holds its page longer.
//! Both grow twofold until something of the stream was brought in vain, by an eighth from then on.
//! Where many streams end before what was brought for them, new ones begin with less, and grow by
//! an eighth at once: what became of earlier streams is all that is known of a new one. Each block
//! of a stretch carries how many follow it in the stretch; from any of them, so, the way to the one
//! with the trigger is one look-up, in which the stream's state is changed.
//!
//! # Many streams, and one memory
//! What is brought for all streams and not read yet is counted, and may take a part of the memory.
//! A stretch takes half of what is left of that, or less:
//!
//! ```text
//! degree <= (SHARE L - unread) / 2        so with n streams that have about d unread each:  d = SHARE L / (n + 2)
//! ```
//!
//! They share evenly, however many there are, and nobody has to know how many.
//!
//! Worked example: a stretch of 24 with distance 3 is 4 ..= 27, and 24 carries the trigger. Reading
//! 24 in time wants 25 ..= 75, of which 28 ..= 75 are brought: 48, with the trigger at 72.

use crate::ids::{Block, Page};
use crate::policy::{Domain, Parameter, Values, by_page};
use crate::table::Table;

/// The degree of a new stream.
pub const FIRST_DEGREE: Parameter = Parameter {
    name: "first_degree",
    help: "blocks read ahead of a run when it is found",
    domain: Domain::Whole { default: 24.0, min: 1.0, max: 4096.0 },
};
/// The greatest degree.
pub const DEGREE_MAX: Parameter = Parameter {
    name: "degree_max",
    help: "blocks read ahead of a run at most, in one stretch; 2,048 of 4 KiB are 8 MiB",
    domain: Domain::Whole { default: 2048.0, min: 1.0, max: 16384.0 },
};

/// Once something was brought in vain, degree and distance grow by this part: at the end of it, an
/// eighth of what is brought is.
const STEP_PART: u16 = 8;
/// The least degree: less is not worth a request of its own.
const DEGREE_MIN: u16 = 4;
/// The part of the memory that may hold what is brought for streams and not read yet: the rest is
/// for what was read, which says where the streams are.
const SHARE: f64 = 0.5;
/// The distance of a new stream.
const DISTANCE: u16 = 3;

/// How much is known of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// Nothing of it was brought in vain.
    #[default]
    New,
    /// Something was.
    Settled,
    /// It began with a request that went on no run, and is no run yet: what is in vain of it says
    /// nothing of runs.
    Early,
}

/// What a block carries of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// Blocks of the next stretch; 0: it is of no stream.
    degree: u16,
    /// From the trigger to its stretch's end.
    distance: u16,
    /// Blocks of its own stretch that come after it.
    after: u16,
    stage: Stage,
    /// Brought for its stream and not read yet.
    unread: bool,
}

impl Carried {
    /// How far before the end of a stretch its trigger is.
    pub fn distance(self) -> u64 {
        u64::from(self.distance)
    }

    /// What a block carries that is read ahead of a strided run: what is in vain of it says nothing of
    /// blocks one after the other.
    pub fn strided() -> Self {
        Carried { stage: Stage::Early, ..Carried::default() }
    }

    /// Whether it is brought for a strided run, and not read yet.
    pub fn is_strided(self) -> bool {
        self.unread && self.degree == 0 && self.stage == Stage::Early
    }

    /// What a block carries behind which so many of its stretch come.
    pub fn before(self, after: u64) -> Self {
        Carried { after: after.min(u64::from(u16::MAX)) as u16, ..self }
    }

    /// The stream whose reader had to wait for a block on its way.
    pub fn late(self) -> Self {
        let distance = self.grown(self.distance.max(1)).min(self.degree / 2);
        Carried { distance, ..self }
    }

    /// The stream of which a block went unread.
    pub fn in_vain(self) -> Self {
        self.shrunk_to(self.degree.saturating_sub(1))
    }

    /// What the block at `index` of a stretch of this stream up to before `end` carries.
    pub fn at(self, index: u64, end: u64) -> Self {
        self.before((end - 1).saturating_sub(index))
    }

    /// What a block carries that nothing of its stream is brought behind.
    pub fn at_its_end(self) -> Self {
        Carried { unread: false, ..self.before(0) }
    }

    fn grown(self, value: u16) -> u16 {
        match self.stage {
            Stage::Settled => value.saturating_add((value / STEP_PART).max(1)),
            Stage::New | Stage::Early => value.saturating_mul(2),
        }
    }

    fn shrunk_to(self, degree: u16) -> Self {
        let degree = degree.max(DEGREE_MIN);
        Carried { degree, distance: self.distance.min(degree / 4), stage: Stage::Settled, ..self }
    }
}

/// By what part of itself the degree of new streams shrinks with a block in vain, and grows with
/// one that is read: it stays where one of 16 is in vain.
const SHRINKS_BY: f32 = 1.0 / 64.0;
const GROWS_BY: f32 = SHRINKS_BY / 16.0;

/// What all blocks carry.
pub struct Amp {
    degree: u16,
    degree_max: u16,
    /// The degree of new streams, as far as it was worth it lately.
    first: f32,
    /// Blocks that were brought for their streams and are not read yet.
    unread: u64,
    /// By page.
    carried: Vec<Carried>,
}

impl Amp {
    /// As the user chose it.
    pub fn new(values: &Values) -> Self {
        let [degree, degree_max] = [FIRST_DEGREE, DEGREE_MAX].map(|it| values.get(it.name) as u16);
        let degree_max = degree_max.max(DEGREE_MIN);
        let degree = degree.clamp(DEGREE_MIN, degree_max);
        Amp { degree, degree_max, first: f32::from(degree), unread: 0, carried: Vec::new() }
    }

    /// What a page carries.
    pub fn of(&self, page: Page) -> Carried {
        self.carried.get(page as usize).copied().unwrap_or_default()
    }

    /// What this page carries from now on.
    pub fn carry(&mut self, page: Page, carried: Carried) {
        by_page::reach(&mut self.carried, page, Carried::default());
        self.carried[page as usize] = carried;
    }

    /// What this page carries from now on, whose block is brought for its stream, or was brought
    /// before and is not read yet.
    pub fn bring(&mut self, page: Page, carried: Carried) {
        self.unread += u64::from(!self.of(page).unread);
        self.carry(page, Carried { unread: true, ..carried });
    }

    /// A page's block is read, or is brought no more.
    pub fn forget_unread(&mut self, page: Page) {
        if let Some(carried) = self.carried.get_mut(page as usize) {
            self.unread -= u64::from(std::mem::take(&mut carried.unread));
        }
    }

    /// As many pages are unread as are counted.
    pub fn check(&self) {
        let unread = self.carried.iter().filter(|carried| carried.unread).count() as u64;
        assert_eq!(unread, self.unread, "the unread pages of streams");
    }

    /// The greatest degree for now, so that all streams have as much of the memory.
    pub fn fair_degree(&self, capacity: u64) -> u16 {
        let left = ((SHARE * capacity as f64) as u64).saturating_sub(self.unread);
        (left / 2).clamp(u64::from(DEGREE_MIN), u64::from(self.degree_max)) as u16
    }

    /// The stream whose trigger carried this, now that it was read, and how many of the next blocks
    /// are wanted: those on their way already, and a new stretch.
    pub fn goes_on(&self, carried: Carried, capacity: u64) -> (Carried, u64) {
        let degree = carried.grown(carried.degree).clamp(DEGREE_MIN, self.fair_degree(capacity));
        let stage = if carried.stage == Stage::Early { Stage::New } else { carried.stage };
        let stream = Carried { degree, distance: carried.distance.min(degree / 2), stage, ..carried };
        (stream, u64::from(carried.after) + u64::from(degree))
    }

    /// The stream whose run was missed behind a block that carries this, and how many of the next
    /// blocks are wanted.
    pub fn missed(&self, before: Carried, capacity: u64) -> (Carried, u64) {
        let stream = match before {
            Carried { degree: 0, .. } => {
                let degree = self.first as u16;
                let stage = if degree < self.degree / 2 { Stage::Settled } else { Stage::New };
                Carried { degree, distance: DISTANCE, stage, ..before }
            }
            Carried { after: 0, .. } => before,
            Carried { degree, after, .. } => before.shrunk_to(degree.saturating_sub(after)),
        };
        let degree = stream.degree.min(self.fair_degree(capacity));
        let stream = Carried { degree, distance: stream.distance.min(degree / 4), ..stream };
        (stream, u64::from(degree))
    }

    /// The stream that begins with a request that goes on no run.
    pub fn begins(&self, capacity: u64) -> (Carried, u64) {
        let (stream, degree) = self.missed(Carried::default(), capacity);
        (Carried { stage: Stage::Early, ..stream }, degree)
    }

    /// The page with the trigger of the stretch that this page's block is of.
    fn trigger_of(&self, page: Page, block: Block, table: &Table) -> Option<Page> {
        let Carried { degree, distance, after, .. } = self.of(page);
        let last = block.index + u64::from(after);
        let index = last.checked_sub(u64::from(distance)).filter(|_| degree > 0)?;
        table.find(Block { index, ..block })
    }

    /// A reader waits for a block on its way.
    pub fn late(&mut self, page: Page, block: Block, table: &Table) {
        if let Some(trigger) = self.trigger_of(page, block, table) {
            self.carry(trigger, self.of(trigger).late());
        }
    }

    /// A block that was brought is read.
    pub fn of_use(&mut self, page: Page) {
        let is_of_run = !self.of(page).is_strided();
        self.forget_unread(page);
        let grows_by = if is_of_run { GROWS_BY } else { 0.0 };
        self.first = (self.first * (1.0 + grows_by)).min(f32::from(self.degree));
    }

    /// A block went unread. What was not brought for a stream says nothing of streams.
    pub fn in_vain(&mut self, page: Page, block: Block, table: &Table) {
        if !self.of(page).unread {
            return;
        }
        self.forget_unread(page);
        if self.of(page).stage != Stage::Early {
            self.first = (self.first * (1.0 - SHRINKS_BY)).max(f32::from(DEGREE_MIN));
        }
        if let Some(trigger) = self.trigger_of(page, block, table) {
            self.carry(trigger, self.of(trigger).in_vain());
        }
    }
}
