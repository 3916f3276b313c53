//! Whether a run is taken to begin with a request that goes on no run: by how much of what lay
//! behind others like it was read soon.
//!
//! ```text
//! like it:    at the head of its file · elsewhere · going on from what was read, but not for long enough to be a run
//! a sample:   of such a request that missed, the blocks behind it that were missing
//!             of a page that was read and then given up, its block
//! soon:       before a sixteenth as many pages came as there are
//!
//! what lies behind is read ahead if of the samples' blocks
//! - half is read soon: bytes;
//! - twice as much as of what was given up: memory;
//! - more waits would be saved than one more request, and what is in vain of it, keep the device busy: time.
//! ```
//!
//! Nothing is fetched for a sample, so that reads at random cost nothing to know for what they are.
//! A sample counts from when it is taken, and what is read of it as it comes: what is known is the
//! least that is true. A request that begins a run is a sample in any case, so that some dozens show
//! that readers do something else now. In a memory that holds much of what is read at random, what
//! lies behind is read soon by chance; but so is what was given up for it. Waits are counted up to
//! where a run is one, for from there on it is read ahead in any case. To a disk's arm a request of
//! its own costs as much as one that is waited for.
//!
//! Worked example: programs read 64 KiB from the head of a file, and two of three then the rest by
//! requests of four blocks. Of the 24 blocks behind the heads of the first few files 16 in the mean
//! are read, and two requests have waited when the third goes on a run; from then on they are fetched
//! as soon as a head is read. Of the pages of an index, read at random, none of those behind is read,
//! and no run begins with them.

use std::collections::VecDeque;

use crate::estimate::ghosts::Ghosts;
use crate::ids::Block;
use crate::policy::Context;
use crate::table::FastMap;

/// Blocks behind a request that are looked at: as many as a new run has read ahead by default.
const BLOCKS: u64 = 24;
/// Samples at once, of requests and of what was given up.
const SAMPLES_MAX: usize = 64;
/// What is read before such a part of the memory came anew is read soon: of what is read at random from
/// twice as much as the memory holds, not a tenth is.
const SOON_PART: u64 = 16;
/// The latest sample weighs such a part of all.
const WEIGHT: f32 = 1.0 / 32.0;
/// Blocks of samples that say something: those of two whole ones.
const BLOCKS_MIN: f32 = 2.0 * BLOCKS as f32;
/// The part of them that is to be read.
const LEAST_PART: f32 = 0.5;
/// So many times as large a part as of what was given up: either is known of some dozens of samples.
const OF_GIVEN_UP: f32 = 2.0;

/// Where a request is that goes on no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It begins with the first block of its file.
    Head,
    /// It goes on from what was read, which is too little to be a run.
    Onward,
    /// Anywhere else.
    Elsewhere,
}

impl Place {
    /// Of a request that begins with this block.
    pub fn of(block: Block, goes_on: bool) -> Self {
        match block.index {
            _ if goes_on => Place::Onward,
            0 => Place::Head,
            _ => Place::Elsewhere,
        }
    }
}

/// Blocks behind a request, of which some are read soon.
#[derive(Debug, Clone, Copy)]
struct Sample {
    first: Block,
    /// Those that were missing and were not read since, a bit each.
    left: u32,
    taken: Taken,
    place: Place,
}

impl Sample {
    /// Whether this block is one of those that are left, which it is no longer.
    fn takes(&mut self, block: Block) -> bool {
        let at = block.index.wrapping_sub(self.first.index);
        let is_left = self.first.file == block.file && at < BLOCKS && self.left & 1 << at != 0;
        self.left &= !(u32::from(is_left) << (at % BLOCKS));
        is_left
    }
}

/// Samples of requests that are over, the oldest first.
#[derive(Default)]
struct Samples {
    samples: VecDeque<Sample>,
    /// How many of them reach into each cell of so many blocks: nearly always nothing that is read is
    /// in any.
    cells: FastMap<u64, u32>,
}

impl Samples {
    /// The cells that a sample reaches into, which may be one and the same.
    fn cells_of(sample: &Sample) -> [u64; 2] {
        let last = Block { index: (sample.first.index + BLOCKS - 1).min(Block::INDEX_LIMIT - 1), ..sample.first };
        [sample.first, last].map(cell)
    }

    fn push(&mut self, sample: Sample) {
        if self.samples.len() == SAMPLES_MAX {
            self.pop();
        }
        Samples::cells_of(&sample).into_iter().for_each(|cell| *self.cells.entry(cell).or_default() += 1);
        self.samples.push_back(sample);
    }

    fn pop(&mut self) {
        self.samples.pop_front().into_iter().for_each(|sample| self.clear(&sample));
    }

    fn clear(&mut self, sample: &Sample) {
        for cell in Samples::cells_of(sample) {
            let count = self.cells.get_mut(&cell).expect("counted when it was pushed");
            *count -= 1;
            if *count == 0 {
                self.cells.remove(&cell);
            }
        }
    }

    /// Whether there is room for one more, once those have gone of which nothing is read soon any more.
    fn have_room(&mut self, context: &Context<'_>) -> bool {
        while self.samples.front().is_some_and(|oldest| !oldest.taken.is_soon(context)) {
            self.pop();
        }
        self.samples.len() < SAMPLES_MAX
    }

    /// Takes a block, which is read, out of those that have it left. Which they are, of those that are
    /// not too old.
    fn take(&mut self, block: Block, context: &Context<'_>, mut found: impl FnMut(Place)) {
        if !self.cells.contains_key(&cell(block)) {
            return;
        }
        let mut over = Vec::new();
        for (at, sample) in self.samples.iter_mut().enumerate() {
            if sample.takes(block) {
                if sample.taken.is_soon(context) {
                    found(sample.place);
                }
                if sample.left == 0 {
                    over.push(at);
                }
            }
        }
        for at in over.into_iter().rev() {
            let sample = self.samples.remove(at).expect("found just now");
            self.clear(&sample);
        }
    }
}

/// Of blocks whose keys lie near.
fn cell(block: Block) -> u64 {
    block.key() / BLOCKS.next_power_of_two()
}

/// When a sample was taken: so many pages had come.
#[derive(Debug, Clone, Copy)]
struct Taken(u64);

impl Taken {
    fn now(context: &Context<'_>) -> Self {
        Taken(context.table.came())
    }

    /// Whether what is read now is read soon.
    fn is_soon(self, context: &Context<'_>) -> bool {
        context.table.came() - self.0 <= context.capacity / SOON_PART
    }
}

/// Blocks of samples, and what became of them, the older the less.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    blocks: f32,
    read: f32,
    /// Requests that read one of them first.
    waits: f32,
}

impl Seen {
    fn add(&mut self, blocks: u32) {
        let [before, read, waits] = [self.blocks, self.read, self.waits].map(|it| it * (1.0 - WEIGHT));
        *self = Seen { blocks: before + blocks as f32, read, waits };
    }

    fn part(self) -> f32 {
        self.read / self.blocks.max(1.0)
    }
}

/// A request that may begin a run.
#[derive(Debug, Clone, Copy)]
pub struct Begin {
    /// The last block it read.
    pub last: Block,
    /// Requests that would have waited, by block behind it.
    waits: f32,
    /// The part of those blocks that is read.
    part: f32,
}

impl Begin {
    /// Whether to fetch so many blocks behind it saves more time than it costs.
    pub fn pays(&self, blocks: u64, context: &Context<'_>) -> bool {
        let device = context.device_of_block(self.last);
        let Some(wait) = context.access_ns(device) else { return false };
        let blocks = blocks as f64;
        let in_vain = context.blocks_a_ns(device).map_or(0.0, |best| f64::from(1.0 - self.part) * blocks / best);
        let busy = context.request_ns(device).unwrap_or(wait) + in_vain;
        f64::from(self.waits) * blocks * wait > busy
    }
}

/// What is known of requests that go on no run.
#[derive(Default)]
pub struct Onset {
    /// By place.
    behind: [Seen; 3],
    given_up: Seen,
    of_requests: Samples,
    /// Pages that were read and given up.
    of_given_up: Ghosts<Taken>,
    /// That of the request that is being served.
    open: Option<Sample>,
    /// That one, if it may begin a run.
    begins: Option<Begin>,
}

impl Onset {
    /// A request that goes on no run misses its first block.
    pub fn missed(&mut self, block: Block, place: Place, context: &Context<'_>) {
        let seen = &mut self.behind[place as usize];
        let part = seen.part();
        let begins = seen.blocks >= BLOCKS_MIN && part >= LEAST_PART.max(OF_GIVEN_UP * self.given_up.part());
        // What begins a run is a sample in any case: what is known soon shows if it holds no more.
        if !begins && !self.of_requests.have_room(context) {
            return;
        }
        let first = Block { index: block.index + 1, ..block };
        let count = context.blocks_of(block.file).saturating_sub(first.index).min(BLOCKS);
        let is_missing = |at: &u64| context.table.find(Block { index: first.index + at, ..first }).is_none();
        let left = (0..count).filter(is_missing).fold(0, |left: u32, at| left | 1 << at);
        if left == 0 {
            return;
        }
        self.begins = begins.then(|| Begin { last: block, waits: seen.waits / seen.blocks, part });
        seen.add(left.count_ones());
        self.open = Some(Sample { first, left, taken: Taken::now(context), place });
    }

    /// A page is given up that was read.
    pub fn gave_up(&mut self, block: Block, context: &Context<'_>) {
        while self.of_given_up.oldest().is_some_and(|taken| !taken.is_soon(context)) {
            self.of_given_up.expire();
        }
        if self.of_given_up.len() < SAMPLES_MAX as u64 {
            self.given_up.add(1);
            // Who discloses what he reads takes nothing out.
            self.of_given_up.take(block);
            self.of_given_up.push(block, Taken::now(context));
        }
    }

    /// A block is read that was not since it came, or that is missed; `goes_on`: by a request that has
    /// read such a block before, so that it does not lie behind that. On a run it would have been read
    /// ahead in any case.
    pub fn read(&mut self, block: Block, goes_on: bool, is_run: bool, context: &Context<'_>) {
        if !goes_on {
            self.close();
        }
        let begins = self.begins.filter(|it| it.last.file == block.file);
        self.begins = begins.map(|it| Begin { last: block, ..it });
        if let Some(open) = &mut self.open
            && open.takes(block)
            && open.taken.is_soon(context)
        {
            self.behind[open.place as usize].blocks -= 1.0;
        }
        let behind = &mut self.behind;
        self.of_requests.take(block, context, |place| {
            let seen = &mut behind[place as usize];
            seen.read += 1.0;
            seen.waits += if goes_on || is_run { 0.0 } else { 1.0 };
        });
        if self.of_given_up.take(block).is_some_and(|taken| taken.is_soon(context)) {
            self.given_up.read += 1.0;
        }
    }

    /// The request is over. What is known of it, if it may begin a run.
    pub fn ended(&mut self) -> Option<Begin> {
        let begins = self.begins.take();
        self.close();
        begins
    }

    /// For tests.
    pub fn check(&self) {
        let mut cells = FastMap::default();
        let of_samples = self.of_requests.samples.iter().flat_map(Samples::cells_of);
        of_samples.for_each(|cell| *cells.entry(cell).or_default() += 1);
        assert_eq!(self.of_requests.cells, cells, "I1: where samples lie");
        assert!(self.of_requests.samples.len() <= SAMPLES_MAX && self.of_given_up.len() <= SAMPLES_MAX as u64);
    }

    /// What is read from now on is read by others.
    fn close(&mut self) {
        self.begins = None;
        let is_left = |sample: &Sample| sample.left != 0;
        self.open.take().filter(is_left).into_iter().for_each(|sample| self.of_requests.push(sample));
    }
}
