//! The pages: which block each frame holds, what state it is in, and the way from a block to its
//! page.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::event::Class;
use crate::ids::{Block, FileId, NO_KEY, Page};
use crate::index::Index;
use crate::policy::list::{Chain, Links};

/// What a page frame is (invariant I1): each is exactly one of these, or free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Being fetched because a reader waits for it.
    Demand,
    /// Disclosed, and not yet read: on its way or here.
    Hinted,
    /// Guessed, and not yet read: on its way or here.
    Guessed,
    /// Here, and read (or found here) before.
    Cached,
    /// Here, and held by a reader's view.
    Pinned,
}

impl State {
    /// Every state, in the ledger's order.
    pub const ALL: [State; 5] = [State::Demand, State::Hinted, State::Guessed, State::Cached, State::Pinned];

    pub(crate) fn unread(class: Class) -> State {
        match class {
            Class::Demand => State::Demand,
            Class::Hinted => State::Hinted,
            Class::Guessed => State::Guessed,
        }
    }

    /// Brought, or kept, for a read that has not come yet.
    pub fn is_unread(self) -> bool {
        matches!(self, State::Hinted | State::Guessed)
    }
}

/// How far a page's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The frame is taken, the fetch still waits in the dispatch queue.
    Queued,
    /// The device was asked.
    InFlight,
    /// The bytes are here.
    Present,
}

/// No hint sequence.
pub(crate) const NO_SEQUENCE: u16 = u16::MAX;

/// One page's record: 16 bytes, so that a million pages cost 16 MB here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub key: u64,
    /// The hint sequence that wants it, while unread: see [`Table::set_sequence`].
    pub sequence: u16,
    pub state: State,
    pub phase: Phase,
    /// Fetched ahead, and its outcome (I9) not counted yet.
    pub ahead: bool,
    /// Unread, and the cursor of its sequence has passed it over.
    pub passed: bool,
    /// Its file changed while it was in flight: what arrives must not be kept (I6).
    pub stale: bool,
    /// Somebody has read it since it came.
    pub read: bool,
}

/// Multiplies and folds: block keys are dense small integers, and a table that a reference goes
/// through every time cannot afford a keyed hash.
#[derive(Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        let mixed = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
        self.0 = (mixed as u64) ^ ((mixed >> 64) as u64);
    }
}

/// A key, its bits mixed.
pub(crate) fn hash(key: u64) -> u64 {
    let mut hasher = KeyHasher::default();
    hasher.write_u64(key);
    hasher.finish()
}

/// A map for keys that are already well spread or cheap integers; on its order nothing depends (I8).
pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// A file's pages.
#[derive(Clone, Copy, Default)]
struct OfFile {
    /// A bound above their indices: what a changed file costs to look through.
    end: u64,
    count: u64,
}

/// The pages and the index by block.
#[derive(Default)]
pub struct Table {
    index: Index,
    frames: Vec<Frame>,
    free: Vec<Page>,
    counts: [u64; 5],
    /// Pages that were taken so far.
    came: u64,
    of_file: Vec<OfFile>,
    /// The pages of each hint sequence.
    of_sequence: Vec<Chain>,
    sequence_links: Links,
}

impl Table {
    pub(crate) fn find(&self, block: Block) -> Option<Page> {
        let key = block.key();
        self.index.find(key, |page| self.frames[page as usize].key == key)
    }

    /// As `find`, for a reader that comes from this page. A file's blocks are most often brought in
    /// their order, and lie so: then nothing is asked of the index, whose slots lie all over memory.
    pub(crate) fn find_after(&self, last: Page, block: Block) -> Option<Page> {
        let next = last.wrapping_add(1);
        if self.holds(next, block) { Some(next) } else { self.find(block) }
    }

    /// Whether this page, which may be no page at all, holds this block.
    pub(crate) fn holds(&self, page: Page, block: Block) -> bool {
        self.frames.get(page as usize).is_some_and(|frame| frame.key == block.key())
    }

    /// The block this page holds.
    pub fn block(&self, page: Page) -> Block {
        Block::from_key(self.frames[page as usize].key)
    }

    /// Whether this page can be given up now: its bytes are here and nobody holds them.
    pub fn can_go(&self, page: Page) -> bool {
        let frame = &self.frames[page as usize];
        frame.phase == Phase::Present && frame.state != State::Pinned
    }

    /// What this page is.
    pub fn state(&self, page: Page) -> State {
        self.frames[page as usize].state
    }

    /// How many pages are in this state (the ledger of I1).
    pub fn count(&self, state: State) -> u64 {
        self.counts[state as usize]
    }

    /// Pages that hold a block or wait for one.
    pub fn used(&self) -> u64 {
        (self.frames.len() - self.free.len()) as u64
    }

    pub(crate) fn frame(&self, page: Page) -> &Frame {
        &self.frames[page as usize]
    }

    /// The frame, to change anything but its state, key and sequence.
    pub(crate) fn frame_mut(&mut self, page: Page) -> &mut Frame {
        &mut self.frames[page as usize]
    }

    pub(crate) fn set_state(&mut self, page: Page, state: State) {
        let frame = &mut self.frames[page as usize];
        self.counts[frame.state as usize] -= 1;
        self.counts[state as usize] += 1;
        frame.state = state;
    }

    /// The page speaks of this hint sequence from now on, or of none.
    pub(crate) fn set_sequence(&mut self, page: Page, sequence: u16) {
        let before = std::mem::replace(&mut self.frames[page as usize].sequence, sequence);
        if before != NO_SEQUENCE {
            self.sequence_links.remove(&mut self.of_sequence[usize::from(before)], page);
        }
        if sequence != NO_SEQUENCE {
            let at = usize::from(sequence);
            if at >= self.of_sequence.len() {
                self.of_sequence.resize(at + 1, Chain::default());
            }
            self.sequence_links.push_newest(&mut self.of_sequence[at], page);
        }
    }

    /// The pages that speak of a hint sequence.
    pub(crate) fn pages_of_sequence(&self, sequence: u16) -> impl Iterator<Item = Page> + '_ {
        let chain = self.of_sequence.get(usize::from(sequence)).copied().unwrap_or_default();
        self.sequence_links.oldest_first(&chain)
    }

    /// How many pages were taken for blocks so far: when as many came as there are, the memory has been
    /// turned over, however many references that took.
    pub(crate) fn came(&self) -> u64 {
        self.came
    }

    pub(crate) fn insert(&mut self, block: Block, state: State, phase: Phase) -> Page {
        debug_assert!(self.find(block).is_none(), "I3: {block:?} has two pages");
        let key = block.key();
        let frame =
            Frame { key, sequence: NO_SEQUENCE, state, phase, ahead: false, passed: false, stale: false, read: false };
        let page = match self.free.pop() {
            Some(page) => {
                self.frames[page as usize] = frame;
                page
            }
            None => {
                self.frames.push(frame);
                (self.frames.len() - 1) as Page
            }
        };
        self.counts[state as usize] += 1;
        self.came += 1;
        let file = block.file.0 as usize;
        if file >= self.of_file.len() {
            self.of_file.resize(file + 1, OfFile::default());
        }
        let of_file = &mut self.of_file[file];
        of_file.end = of_file.end.max(block.index + 1);
        of_file.count += 1;
        self.index.insert(key, page);
        page
    }

    pub(crate) fn remove(&mut self, page: Page) -> Block {
        let frame = &mut self.frames[page as usize];
        debug_assert!(frame.key != NO_KEY && frame.sequence == NO_SEQUENCE);
        let key = std::mem::replace(&mut frame.key, NO_KEY);
        self.counts[frame.state as usize] -= 1;
        self.index.remove(key, page);
        self.free.push(page);
        let block = Block::from_key(key);
        self.of_file[block.file.0 as usize].count -= 1;
        block
    }

    /// How many pages a file has.
    pub(crate) fn count_of(&self, file: FileId) -> u64 {
        self.of_file.get(file.0 as usize).map_or(0, |it| it.count)
    }

    /// The pages of a file: by its blocks if it is short, else by looking at every page.
    pub(crate) fn pages_of(&self, file: FileId) -> Vec<Page> {
        let end = self.of_file.get(file.0 as usize).map_or(0, |it| it.end);
        if end <= self.used() {
            (0..end).filter_map(|index| self.find(Block { file, index })).collect()
        } else {
            self.pages().filter(|&page| self.block(page).file == file).collect()
        }
    }

    /// Says that no page of a file lies at `end` or beyond.
    pub(crate) fn ends_at(&mut self, file: FileId, end: u64) {
        if let Some(of_file) = self.of_file.get_mut(file.0 as usize) {
            of_file.end = end;
        }
    }

    /// Every page in use, in the order of the frames.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Page> + '_ {
        self.frames.iter().enumerate().filter(|(_, frame)| frame.key != NO_KEY).map(|(page, _)| page as Page)
    }

    /// Checks I1 and the index against the frames; for tests and debug builds.
    pub(crate) fn check(&self, capacity: u64) {
        let (mut counts, mut of_file) = ([0; 5], vec![0; self.of_file.len()]);
        for page in self.pages() {
            let frame = self.frame(page);
            counts[frame.state as usize] += 1;
            assert_eq!(self.find(self.block(page)), Some(page), "I1: a page the index does not lead to");
            let block = self.block(page);
            let file = block.file.0 as usize;
            assert!(block.index < self.of_file[file].end, "I6: a page a changed file would not find");
            of_file[file] += 1;
            assert!(frame.state != State::Pinned || frame.phase == Phase::Present, "I1: pinned before it is here");
        }
        let speak = self.pages().filter(|&page| self.frame(page).sequence != NO_SEQUENCE).count() as u64;
        let found =
            (0..self.of_sequence.len() as u16).flat_map(|id| self.pages_of_sequence(id).map(move |page| (id, page)));
        let found = found.filter(|&(id, page)| self.frame(page).sequence == id).count() as u64;
        assert_eq!(found, speak, "I9: a page its hint sequence would not find");
        assert_eq!(counts, self.counts, "I1: the ledger does not add up");
        assert!(self.of_file.iter().map(|it| it.count).eq(of_file), "I6: a file's pages are not as many as it has");
        assert_eq!(self.index.len() as u64, self.used(), "I1: an index entry without a page");
        assert!(self.used() <= capacity, "I2: {} pages of {capacity}", self.used());
    }
}
