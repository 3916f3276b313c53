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

use crate::ids::Block;
use crate::policy::Context;

/// Blocks behind a request that are looked at: as many as a new run has read ahead by default.
const BLOCKS: u64 = 24;
/// Samples at once, of requests and of what was given up: a block that is missed is looked for in all.
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

/// Blocks, of which some are read soon.
#[derive(Debug, Clone, Copy)]
struct Sample {
    first: Block,
    /// Those that were missing and were not read since, a bit each.
    left: u32,
    /// Pages that had come when it was taken.
    came: u64,
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
#[derive(Debug, Default)]
pub struct Onset {
    /// By place.
    behind: [Seen; 3],
    given_up: Seen,
    of_requests: Vec<Sample>,
    of_given_up: Vec<Sample>,
    /// The last of the requests is the one that is being served.
    is_open: bool,
    /// That one, if it may begin a run.
    begins: Option<Begin>,
}

/// Whether there is room for one more sample, once those that are over have gone.
fn have_room(samples: &mut Vec<Sample>, context: &Context<'_>) -> bool {
    let came = context.table.came();
    samples.retain(|it| it.left != 0 && came - it.came <= context.capacity / SOON_PART);
    samples.len() < SAMPLES_MAX
}

impl Onset {
    /// A request that goes on no run misses its first block.
    pub fn missed(&mut self, block: Block, place: Place, context: &Context<'_>) {
        let first = Block { index: block.index + 1, ..block };
        let count = context.blocks_of(block.file).saturating_sub(first.index).min(BLOCKS);
        let is_missing = |at: &u64| context.table.find(Block { index: first.index + at, ..first }).is_none();
        let left = (0..count).filter(is_missing).fold(0, |left: u32, at| left | 1 << at);
        if left == 0 {
            return;
        }
        let seen = &mut self.behind[place as usize];
        let part = seen.part();
        if seen.blocks >= BLOCKS_MIN && part >= LEAST_PART.max(OF_GIVEN_UP * self.given_up.part()) {
            self.begins = Some(Begin { last: block, waits: seen.waits / seen.blocks, part });
        }
        self.is_open = have_room(&mut self.of_requests, context);
        // What begins a run is a sample in any case: what is known soon shows if it holds no more.
        if !self.is_open && self.begins.is_some() {
            self.of_requests.remove(0);
            self.is_open = true;
        }
        if self.is_open {
            seen.add(left.count_ones());
            self.of_requests.push(Sample { first, left, came: context.table.came(), place });
        }
    }

    /// A page is given up that was read.
    pub fn gave_up(&mut self, block: Block, context: &Context<'_>) {
        if self.of_given_up.len() < SAMPLES_MAX || have_room(&mut self.of_given_up, context) {
            self.given_up.add(1);
            let (came, place) = (context.table.came(), Place::Elsewhere);
            self.of_given_up.push(Sample { first: block, left: 1, came, place });
        }
    }

    /// A block is read that was not since it came, or that is missed; `goes_on`: by a request that has
    /// read such a block before, so that it does not lie behind that. On a run it would have been read
    /// ahead in any case.
    pub fn read(&mut self, block: Block, goes_on: bool, is_run: bool, context: &Context<'_>) {
        let (came, window) = (context.table.came(), context.capacity / SOON_PART);
        let is_soon = |it: &Sample| came - it.came <= window;
        self.is_open &= goes_on;
        let begins = self.begins.filter(|it| goes_on && it.last.file == block.file);
        self.begins = begins.map(|it| Begin { last: block, ..it });
        let others = self.of_requests.len() - usize::from(self.is_open);
        for (number, sample) in self.of_requests.iter_mut().enumerate() {
            let seen = &mut self.behind[sample.place as usize];
            match sample.takes(block) && is_soon(sample) {
                true if number == others => seen.blocks -= 1.0,
                true => {
                    seen.read += 1.0;
                    seen.waits += if goes_on || is_run { 0.0 } else { 1.0 };
                }
                false => {}
            }
        }
        let read = self.of_given_up.iter_mut().filter_map(|it| (it.takes(block) && is_soon(it)).then_some(1.0));
        self.given_up.read += read.sum::<f32>();
    }

    /// The request is over. What is known of it, if it may begin a run.
    pub fn ended(&mut self) -> Option<Begin> {
        self.is_open = false;
        self.begins.take()
    }
}
