//! Disclosed sequences: what a reader said it will read, how far it has come, and what to fetch for it next.
//!
//! Each source of each reader has one sequence, in the order of disclosure. Three marks move along it:
//!
//! ```text
//!   base            walked                        end
//!    |  looked up,    |   not yet looked at         |
//!    |  fetched, ...  |                             |
//! ```
//!
//! `base` is the cursor: all before it was read or passed over. The reader's reads move it: a read of what is disclosed
//! at position i consumes everything up to i if i lies within [`JUMP_ENTRIES_MAX`] of the cursor; beyond, it consumes that
//! one entry alone. (Unbounded jumps made one early read skip most of a sequence: 0.95 s became 23 s.)
//!
//! **Names are resolved lazily** (001 section 2): a file's name is looked up when the walk reaches it, at most
//! [`LOOKUPS_AHEAD_MAX`] entries ahead of what is being fetched, and many at once.
//!
//! **Confidence**: a sequence may have `window` blocks unread. The window grows by two for each block that comes true, and
//! shrinks by a share for each that is passed over, so that a true sequence soon has all the memory the policy grants and a
//! false one costs what the first window costs. Worked example: 256 blocks at first; 256 of them read: 768; 64 blocks
//! passed over: about a third of it is gone.

use std::collections::{BTreeSet, VecDeque};

use crate::event::{Source, Want};
use crate::ids::{Block, DeviceId, FileId, ReaderId};
use crate::table::{FastMap, NO_SEQUENCE};

/// Entries the cursor may jump over at one read. The papers' machine: its prefetch horizon of 62 (policies, 000.15).
pub const JUMP_ENTRIES_MAX: u64 = 64;
/// Entries that may wait for a name or its fetches at once: enough to keep 128 requests busy with small files.
const LOOKUPS_AHEAD_MAX: usize = 256;
/// Entries looked at to find the one a read belongs to.
const MATCH_SCAN_MAX: usize = 64;
/// Blocks that share one key of the index by place.
const CHUNK_BLOCKS: u64 = 256;
/// A range over more chunks is indexed by its file alone.
const CHUNKS_MAX: u64 = 16;

/// How far a disclosure is believed before any of it came true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Hints are true, as the papers' are: the policy's ceiling alone limits them.
    Full,
    /// The first window, in blocks.
    Earned {
        /// Blocks that may be unread before the first one was read.
        initial_blocks: u64,
    },
}

/// What the manager knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Unknown,
    LookingUp,
    Missing,
    Here { device: DeviceId, blocks: u64 },
}

/// One disclosure. 48 bytes.
struct Entry {
    file: FileId,
    want: Want,
    /// Disclosures are numbered over all sequences: the oldest is served first.
    order: u64,
    /// Blocks from the entry's start that were looked at for fetching.
    issued: u32,
    /// Blocks from the entry's start that were read.
    read: u32,
    done: bool,
}

impl Entry {
    /// First block and number of blocks, where the file's size is needed and known.
    fn span(&self, known: Known) -> Option<(u64, u64)> {
        match (self.want, known) {
            (Want::Name, _) => Some((0, 0)),
            (Want::All, Known::Here { blocks, .. }) => Some((0, blocks)),
            (Want::Range { first, count }, Known::Here { blocks, .. }) => {
                Some((first, count.min(blocks.saturating_sub(first))))
            }
            _ => None,
        }
    }
}

pub(crate) struct Sequence {
    pub reader: ReaderId,
    pub source: Source,
    entries: VecDeque<Entry>,
    base: u64,
    walked: u64,
    /// Entries whose names are known and whose blocks are not all issued, but for the one the walk stands at.
    ready: BTreeSet<u64>,
    awaiting: usize,
    by_place: FastMap<u64, VecDeque<u64>>,
    /// Blocks (and names) that may be out, unread.
    window: u64,
    /// Blocks and names issued and neither read nor passed over.
    unread: u64,
    pub consumed: u64,
    pub skipped: u64,
}

/// What to do next for the disclosed sequences.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Lookup { sequence: u16, position: u64, file: FileId, counts: bool },
    Block { sequence: u16, position: u64, block: Block, device: DeviceId },
}

/// Issued blocks of an entry the cursor passed over.
pub(crate) struct Passed {
    pub file: FileId,
    pub first: u64,
    pub count: u64,
}

#[derive(Default)]
pub(crate) struct Hints {
    sequences: Vec<Option<Sequence>>,
    by_reader: FastMap<u32, Vec<u16>>,
    awaiting: FastMap<u32, Vec<(u16, u64)>>,
    orders: u64,
    /// Entries not done, over all sequences: the quick way out where nothing is disclosed.
    open: u64,
}

fn place_key(file: FileId, place: u64) -> u64 {
    (u64::from(file.0) << 40) | place
}

const WHOLE: u64 = Block::INDEX_LIMIT - 1;
const NAME: u64 = Block::INDEX_LIMIT - 2;

impl Entry {
    /// The keys of the index by place under which this entry stands.
    fn places(&self) -> impl Iterator<Item = u64> + use<> {
        let (from, to) = match self.want {
            Want::Name => (NAME, NAME),
            Want::All => (WHOLE, WHOLE),
            Want::Range { first, count } => {
                let (from, to) = (first / CHUNK_BLOCKS, (first + count.max(1) - 1) / CHUNK_BLOCKS);
                if to - from < CHUNKS_MAX { (from, to) } else { (WHOLE, WHOLE) }
            }
        };
        let file = self.file;
        (from..=to).map(move |place| place_key(file, place))
    }
}

impl Sequence {
    fn new(reader: ReaderId, source: Source, trust: Trust) -> Self {
        let window = match trust {
            Trust::Full => u64::MAX,
            Trust::Earned { initial_blocks } => initial_blocks,
        };
        Sequence {
            reader,
            source,
            entries: VecDeque::new(),
            base: 0,
            walked: 0,
            ready: BTreeSet::new(),
            awaiting: 0,
            by_place: FastMap::default(),
            window,
            unread: 0,
            consumed: 0,
            skipped: 0,
        }
    }

    fn end(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    fn entry(&self, position: u64) -> Option<&Entry> {
        self.entries.get(position.checked_sub(self.base)? as usize)
    }

    fn entry_mut(&mut self, position: u64) -> Option<&mut Entry> {
        self.entries.get_mut(position.checked_sub(self.base)? as usize)
    }

    fn came_true(&mut self, blocks: u64) {
        self.consumed += blocks;
        self.window = self.window.saturating_add(2 * blocks);
    }

    fn proved_wrong(&mut self, blocks: u64) {
        self.skipped += blocks;
        if self.window != u64::MAX {
            // One share of 1/64 for each block, without a loop for long runs.
            self.window -= (self.window / 64 + 1).saturating_mul(blocks).min(self.window);
        }
    }

    /// The next thing to do for this sequence, and the order it was disclosed in.
    fn peek(&mut self, id: u16, files: &impl Fn(FileId) -> Known) -> Option<(u64, Step)> {
        if self.unread >= self.window {
            return None;
        }
        while let Some(&position) = self.ready.first() {
            match self.step_at(id, position, files) {
                Some(step) => return Some(step),
                None => self.ready.remove(&position),
            };
        }
        while self.walked < self.end() && self.awaiting < LOOKUPS_AHEAD_MAX {
            match self.step_at(id, self.walked, files) {
                Some(step) => return Some(step),
                None => self.walked += 1,
            }
        }
        None
    }

    /// What is left to do at one position; None if nothing.
    fn step_at(&self, id: u16, position: u64, files: &impl Fn(FileId) -> Known) -> Option<(u64, Step)> {
        let entry = self.entry(position)?;
        if entry.done {
            return None;
        }
        let (sequence, file) = (id, entry.file);
        let step = match (entry.want, files(file)) {
            (_, Known::Missing) => return None,
            (Want::Name, Known::Unknown) => Step::Lookup { sequence, position, file, counts: true },
            (Want::Name, _) => return None,
            (_, Known::Unknown | Known::LookingUp) => Step::Lookup { sequence, position, file, counts: false },
            (_, known @ Known::Here { device, .. }) => {
                let (first, count) = entry.span(known)?;
                let next = u64::from(entry.issued.max(entry.read));
                if next >= count {
                    return None;
                }
                let block = Block { file, index: first + next };
                Step::Block { sequence, position, block, device }
            }
        };
        Some((entry.order, step))
    }

    /// Moves the cursor to `position`, passing over what lies before it.
    fn pass_to(&mut self, position: u64, files: &impl Fn(FileId) -> Known, passed: &mut Vec<Passed>) -> u64 {
        let mut closed = 0;
        while self.base < position
            && let Some(entry) = self.entries.pop_front()
        {
            if !entry.done {
                closed += 1;
                let (first, count) = entry.span(files(entry.file)).unwrap_or((0, 0));
                let wrong = match entry.want {
                    Want::Name => 1,
                    _ => count.saturating_sub(u64::from(entry.read)),
                };
                self.proved_wrong(wrong);
                if entry.issued > entry.read {
                    let unread = u64::from(entry.issued - entry.read);
                    match entry.want {
                        Want::Name => self.unread = self.unread.saturating_sub(1),
                        _ => passed.push(Passed {
                            file: entry.file,
                            first: first + u64::from(entry.read),
                            count: unread,
                        }),
                    }
                }
            }
            self.ready.remove(&self.base);
            self.base += 1;
        }
        self.walked = self.walked.max(self.base);
        closed
    }

    /// Drops the entries at the cursor that are done.
    fn trim(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.done) {
            self.entries.pop_front();
            self.ready.remove(&self.base);
            self.base += 1;
        }
        self.walked = self.walked.max(self.base);
        if self.entries.is_empty() {
            self.by_place.clear();
        }
    }

    /// The first open entry at this place that `fits`.
    fn find(&mut self, key: u64, fits: impl Fn(&Entry) -> bool) -> Option<u64> {
        let (base, entries) = (self.base, &self.entries);
        let positions = self.by_place.get_mut(&key)?;
        let open = |position: u64| {
            let entry = entries.get(position.checked_sub(base)? as usize)?;
            (!entry.done).then_some(entry)
        };
        while positions.front().is_some_and(|&position| open(position).is_none()) {
            positions.pop_front();
        }
        positions.iter().take(MATCH_SCAN_MAX).copied().find(|&position| open(position).is_some_and(&fits))
    }
}

impl Hints {
    /// Whether anything disclosed is still open.
    pub fn any_open(&self) -> bool {
        self.open > 0
    }

    pub fn sequence(&self, id: u16) -> Option<&Sequence> {
        self.sequences.get(usize::from(id))?.as_ref()
    }

    fn sequence_mut(&mut self, id: u16) -> Option<&mut Sequence> {
        self.sequences.get_mut(usize::from(id))?.as_mut()
    }

    /// Every sequence there is.
    pub fn sequences(&self) -> impl Iterator<Item = &Sequence> {
        self.sequences.iter().flatten()
    }

    fn sequence_of(&mut self, reader: ReaderId, source: Source, trust: Trust) -> Option<u16> {
        let ids = self.by_reader.entry(reader.0).or_default();
        let same = |id: &&u16| self.sequences[usize::from(**id)].as_ref().is_some_and(|it| it.source == source);
        if let Some(&id) = ids.iter().find(same) {
            return Some(id);
        }
        let free = self.sequences.iter().position(Option::is_none).unwrap_or(self.sequences.len());
        if free >= usize::from(NO_SEQUENCE) {
            return None;
        }
        let sequence = Some(Sequence::new(reader, source, trust));
        match self.sequences.get_mut(free) {
            Some(slot) => *slot = sequence,
            None => self.sequences.push(sequence),
        }
        ids.push(free as u16);
        Some(free as u16)
    }

    pub fn disclose(&mut self, reader: ReaderId, source: Source, file: FileId, want: Want, trust: Trust) {
        let order = self.orders;
        self.orders += 1;
        let Some(id) = self.sequence_of(reader, source, trust) else { return };
        self.open += 1;
        let Some(sequence) = self.sequence_mut(id) else { return };
        let entry = Entry { file, want, order, issued: 0, read: 0, done: false };
        let position = sequence.end();
        for key in entry.places() {
            sequence.by_place.entry(key).or_default().push_back(position);
        }
        sequence.entries.push_back(entry);
    }

    /// The oldest disclosure for which something can be done now.
    pub fn peek(&mut self, files: impl Fn(FileId) -> Known) -> Option<Step> {
        let mut best: Option<(u64, Step)> = None;
        for (id, sequence) in self.sequences.iter_mut().enumerate() {
            let Some(found) = sequence.as_mut().and_then(|it| it.peek(id as u16, &files)) else { continue };
            if best.is_none_or(|(order, _)| found.0 < order) {
                best = Some(found);
            }
        }
        best.map(|(_, step)| step)
    }

    /// The step was taken. For a block, `unread` says whether it is now out and unread.
    pub fn taken(&mut self, step: Step, unread: bool) {
        match step {
            Step::Lookup { sequence: id, position, file, counts } => {
                if !counts {
                    self.awaiting.entry(file.0).or_default().push((id, position));
                }
                let Some(sequence) = self.sequence_mut(id) else { return };
                sequence.walked = sequence.walked.max(position + 1);
                if counts {
                    sequence.unread += 1;
                    if let Some(entry) = sequence.entry_mut(position) {
                        entry.issued = 1;
                    }
                } else {
                    sequence.awaiting += 1;
                }
            }
            Step::Block { sequence: id, position, .. } => {
                let Some(sequence) = self.sequence_mut(id) else { return };
                sequence.unread += u64::from(unread);
                if let Some(entry) = sequence.entry_mut(position) {
                    entry.issued = entry.issued.max(entry.read) + 1;
                }
            }
        }
    }

    /// A file's name was resolved, or proved to lead nowhere.
    pub fn resolved(&mut self, file: FileId) {
        for (id, position) in self.awaiting.remove(&file.0).unwrap_or_default() {
            let Some(sequence) = self.sequence_mut(id) else { continue };
            sequence.awaiting = sequence.awaiting.saturating_sub(1);
            if position >= sequence.base {
                sequence.ready.insert(position);
            }
        }
    }

    /// The reader read these blocks: moves its sequences' cursors. Returns what they passed over.
    pub fn read(&mut self, reader: ReaderId, first: Block, count: u64, files: impl Fn(FileId) -> Known) -> Vec<Passed> {
        self.each_of(reader, |sequence, passed| {
            let (mut index, end) = (first.index, first.index + count);
            let mut closed = 0;
            while index < end {
                let (blocks, ended) = sequence.read(Block { index, ..first }, end - index, &files, passed);
                index += blocks.max(1);
                closed += ended;
            }
            closed
        })
    }

    /// The reader looked the file's name up.
    pub fn named(&mut self, reader: ReaderId, file: FileId, files: impl Fn(FileId) -> Known) -> Vec<Passed> {
        self.each_of(reader, |sequence, passed| sequence.named(file, &files, passed))
    }

    /// Does something to each sequence of a reader that returns how many of its entries it closed.
    fn each_of(
        &mut self,
        reader: ReaderId,
        mut act: impl FnMut(&mut Sequence, &mut Vec<Passed>) -> u64,
    ) -> Vec<Passed> {
        let mut passed = Vec::new();
        for &id in self.by_reader.get(&reader.0).map_or(&[][..], Vec::as_slice) {
            if let Some(sequence) = self.sequences[usize::from(id)].as_mut() {
                self.open -= act(sequence, &mut passed);
            }
        }
        passed
    }

    /// An unread page of this sequence was read; `passed` says that the cursor had given it up before.
    pub fn page_read(&mut self, id: u16, passed: bool) {
        let Some(sequence) = self.sequence_mut(id) else { return };
        if passed {
            sequence.skipped = sequence.skipped.saturating_sub(1);
            sequence.came_true(1);
        } else {
            sequence.unread = sequence.unread.saturating_sub(1);
        }
    }

    /// An unread page of this sequence counts no longer: passed over, given up, or never brought.
    pub fn page_gone(&mut self, id: u16) {
        if let Some(sequence) = self.sequence_mut(id) {
            sequence.unread = sequence.unread.saturating_sub(1);
        }
    }

    /// The sequences of a reader, or only that of one source.
    pub fn of_reader(&self, reader: ReaderId, source: Option<Source>) -> Vec<u16> {
        let ids = self.by_reader.get(&reader.0).map_or(&[][..], Vec::as_slice);
        let of_source = |id: &u16| self.sequence(*id).is_some_and(|it| source.is_none_or(|source| it.source == source));
        ids.iter().copied().filter(of_source).collect()
    }

    /// Forgets these sequences of a reader.
    pub fn end(&mut self, reader: ReaderId, ending: &[u16]) {
        for &id in ending {
            let ended = self.sequences[usize::from(id)].take();
            self.open -= ended.map_or(0, |it| it.entries.iter().filter(|entry| !entry.done).count() as u64);
        }
        if let Some(ids) = self.by_reader.get_mut(&reader.0) {
            ids.retain(|id| !ending.contains(id));
        }
        for waiting in self.awaiting.values_mut() {
            waiting.retain(|(id, _)| !ending.contains(id));
        }
    }
}

impl Sequence {
    /// Consumes what a read of up to `count` blocks from `first` makes true at one position. Returns how many blocks that
    /// was, and how many entries closed.
    fn read(
        &mut self,
        first: Block,
        count: u64,
        files: &impl Fn(FileId) -> Known,
        passed: &mut Vec<Passed>,
    ) -> (u64, u64) {
        let Block { file, index } = first;
        let known = files(file);
        let fits = |entry: &Entry| {
            entry.span(known).is_some_and(|(from, len)| index >= from + u64::from(entry.read) && index < from + len)
        };
        let by_chunk = self.find(place_key(file, index / CHUNK_BLOCKS), fits);
        let whole = self.find(place_key(file, WHOLE), fits);
        let Some(position) = by_chunk.into_iter().chain(whole).min() else { return (0, 0) };
        let Some(entry) = self.entry_mut(position) else { return (0, 0) };
        let Some((from, len)) = entry.span(known) else { return (0, 0) };
        let blocks = count.min(from + len - index);
        // Blocks of this entry that were jumped over stay its own: they are read later more often than not.
        entry.read = (index + blocks - from) as u32;
        let complete = u64::from(entry.read) >= len;
        (blocks, self.consumed_at(position, blocks, complete, files, passed))
    }

    /// Consumes what the look-up of a name makes true. Returns how many entries closed.
    fn named(&mut self, file: FileId, files: &impl Fn(FileId) -> Known, passed: &mut Vec<Passed>) -> u64 {
        let Some(position) = self.find(place_key(file, NAME), |_| true) else { return 0 };
        let issued = self.entry(position).is_some_and(|entry| entry.issued > 0);
        self.unread = self.unread.saturating_sub(u64::from(issued));
        self.consumed_at(position, 1, true, files, passed)
    }

    /// `blocks` came true at this position, which is `complete` by that. Returns how many entries closed.
    fn consumed_at(
        &mut self,
        position: u64,
        blocks: u64,
        complete: bool,
        files: &impl Fn(FileId) -> Known,
        passed: &mut Vec<Passed>,
    ) -> u64 {
        self.came_true(blocks);
        let mut closed = 0;
        if position - self.base <= JUMP_ENTRIES_MAX {
            closed += self.pass_to(position, files, passed);
        }
        if complete && let Some(entry) = self.entry_mut(position) {
            entry.done = true;
            closed += 1;
        }
        self.trim();
        closed
    }
}
