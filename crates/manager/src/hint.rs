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
//! one entry alone. (Unbounded jumps made one early read skip most of a sequence: 0.95 s became 23 s.) As many such reads
//! in order, with none near the cursor between them, say that the reader is out there: the cursor follows. Inside one
//! entry, a read more than [`JUMP_BLOCKS_MAX`] beyond what was looked at for fetching moves nothing: programs read the end
//! of an archive first, and then all of it.
//!
//! **Names are resolved lazily** (001 section 2): a file's name is looked up when the walk reaches it, at most
//! [`LOOKUPS_AHEAD_MAX`] entries ahead of what is being fetched, and many at once.
//!
//! **Confidence**: a sequence may have `window` blocks unread. The window grows by four for each block that comes true,
//! shrinks by one in 64 for each that is passed over, and by one for each that was brought and given up unread. So a true
//! sequence soon has all the memory the policy grants, and a false one costs what the first window costs, however often
//! its blocks age out. Worked example: 256 blocks at first; 256 of them read: 1,280; 64 blocks passed over: two thirds of it
//! are gone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::event::{Source, Want};
use crate::ids::{Block, FileId, ReaderId};
use crate::layout::Home;
use crate::table::FastMap;

/// Entries the cursor may jump over at one read. The papers' machine: its prefetch horizon of 62 (policies, 000.15).
pub const JUMP_ENTRIES_MAX: u64 = 64;
/// Blocks the cursor may jump over at one read inside one entry, counted from the last one looked at for fetching: the same
/// horizon.
pub const JUMP_BLOCKS_MAX: u64 = 64;
/// Blocks that a window grows by for each that came true. With four, a window of 64 passes 16,384 at its fifth filling, and a
/// database read in random order from a hard disk is read in as many sweeps.
pub const WINDOW_GROWTH: u64 = 4;
/// Entries kept over all sequences. A recorded build has some 100,000; a million, with their index, are some 150 MB. Beyond
/// it disclosures are refused, which costs nothing but their prefetching.
pub const HINT_ENTRIES_MAX: usize = 1 << 20;
/// Sequences at once: each is looked at for every block fetched ahead, so 4,096 cost some microseconds a block. Below the
/// mark for none, 65,535.
pub const SEQUENCES_MAX: usize = 4096;
/// Entries that may wait for a name or its fetches at once: enough to keep 128 requests busy with small files.
const LOOKUPS_AHEAD_MAX: usize = 256;
/// Entries looked at to find the one a read belongs to: beyond it, so many overlapping ranges tell nothing apart.
const MATCH_SCAN_MAX: usize = 64;

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
    Here { home: Home, blocks: u64 },
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
    /// The rest of it is left to the reader's own system.
    left: bool,
}

impl Entry {
    /// First block and number of blocks, where the file's size is needed and known; at most 2^32 - 1 blocks are followed.
    fn span(&self, known: Known) -> Option<(u64, u64)> {
        let (first, count) = match (self.want, known) {
            (Want::Name, _) | (_, Known::Missing) => (0, 0),
            (Want::All, Known::Here { blocks, .. }) => (0, blocks),
            (Want::Range { first, count }, Known::Here { blocks, .. }) => {
                (first, count.min(blocks.saturating_sub(first)))
            }
            _ => return None,
        };
        Some((first, count.min(u64::from(u32::MAX))))
    }

    /// Whether a read of this block belongs here.
    fn fits(&self, index: u64, known: Known) -> bool {
        let Some((from, len)) = self.span(known) else { return false };
        let looked_at = from + u64::from(self.issued.max(self.read));
        index >= from + u64::from(self.read) && index < from + len && index <= looked_at + JUMP_BLOCKS_MAX
    }

    /// Nothing of it can ever be read: its name leads nowhere, or its file ends before it.
    fn is_void(&self, known: Known) -> bool {
        self.want != Want::Name && self.span(known).is_some_and(|(_, len)| len == 0)
    }

    /// Where the index by place has this entry: its class, and the place's key. A range of up to 2^class blocks lies at
    /// `first >> class`, so that a read looks at two places in each class in use.
    fn place(&self) -> (u8, u64) {
        let (class, place) = match self.want {
            Want::Name => (NAME, 0),
            Want::All => (WHOLE, 0),
            Want::Range { first, count } => {
                let class = (u64::BITS - count.saturating_sub(1).leading_zeros()) as u8;
                (class, first >> class)
            }
        };
        (class, place_key(self.file, place))
    }
}

/// The class of whole files; ranges have 0 to 40.
const WHOLE: u8 = 41;
/// The class of names.
const NAME: u8 = 42;

fn place_key(file: FileId, place: u64) -> u64 {
    Block { file, index: place }.key()
}

pub(crate) struct Sequence {
    pub source: Source,
    entries: VecDeque<Entry>,
    base: u64,
    walked: u64,
    /// Entries whose names are known and whose blocks are not all issued, but for the one the walk stands at.
    ready: BTreeSet<u64>,
    awaiting: usize,
    /// The positions of open entries by class and place.
    by_place: BTreeMap<u8, FastMap<u64, VecDeque<u64>>>,
    /// The last read beyond the jump, and how many before it came in order.
    far: u64,
    far_run: u64,
    /// Blocks (and names) that may be out, unread.
    window: u64,
    /// Blocks and names issued and neither read nor passed over.
    unread: u64,
    /// Pages that speak of this sequence: unread, or passed over and still here.
    pages: u64,
    pub consumed: u64,
    pub skipped: u64,
}

/// What to do next for the disclosed sequences.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Lookup {
        sequence: u16,
        position: u64,
        file: FileId,
        counts: bool,
    },
    /// A block, `into` blocks after the start of its run.
    Block {
        sequence: u16,
        position: u64,
        block: Block,
        into: u64,
        home: Home,
    },
}

/// Issued blocks of an entry the cursor passed over.
pub(crate) struct Passed {
    pub sequence: u16,
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
    /// Entries kept over all sequences. None: nothing is open, for a cursor rests on an open entry.
    entries: usize,
    /// (consumed, skipped) of sequences that ended, by source.
    ended: [(u64, u64); Source::ALL.len()],
}

impl Sequence {
    fn new(source: Source, trust: Trust) -> Self {
        let window = match trust {
            Trust::Full => u64::MAX,
            Trust::Earned { initial_blocks } => source.first_window(initial_blocks),
        };
        Sequence {
            source,
            entries: VecDeque::new(),
            base: 0,
            walked: 0,
            ready: BTreeSet::new(),
            awaiting: 0,
            by_place: BTreeMap::new(),
            far: 0,
            far_run: 0,
            window,
            unread: 0,
            pages: 0,
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
        self.window = self.window.saturating_add(WINDOW_GROWTH * blocks);
    }

    fn proved_wrong(&mut self, blocks: u64) {
        self.skipped += blocks;
        // Even the largest window is gone after some 3,000 steps.
        for _ in 0..blocks {
            if !self.shrink_window(self.window / 64 + 1) {
                break;
            }
        }
    }

    /// Returns whether any of the window is left to shrink. Full trust has no window.
    fn shrink_window(&mut self, blocks: u64) -> bool {
        if self.window == u64::MAX {
            return false;
        }
        self.window = self.window.saturating_sub(blocks);
        self.window > 0
    }

    /// The next thing to do for this sequence, and the order it was disclosed in.
    fn peek(&mut self, id: u16, files: &impl Fn(FileId) -> Known) -> Option<(u64, Step)> {
        if self.unread >= self.window {
            return None;
        }
        while let Some(&position) = self.ready.first() {
            if let Some(step) = self.step_at(id, position, files) {
                return Some(step);
            }
            self.ready.remove(&position);
            self.close_void(position, files);
        }
        while self.walked < self.end() && self.may_look_up() {
            if let Some(step) = self.step_at(id, self.walked, files) {
                return Some(step);
            }
            self.walked += 1;
            self.close_void(self.walked - 1, files);
        }
        None
    }

    /// Entries that wait for their names, or to be fetched, are as many as there may be blocks.
    fn may_look_up(&self) -> bool {
        let waiting = self.awaiting + self.ready.len();
        waiting < LOOKUPS_AHEAD_MAX && (waiting as u64) < self.window
    }

    /// Closes an entry that can never be read, so that it does not hold the cursor up.
    fn close_void(&mut self, position: u64, files: &impl Fn(FileId) -> Known) {
        if self.entry(position).is_some_and(|entry| entry.is_void(files(entry.file))) {
            self.close(position);
            self.trim();
        }
    }

    /// What is left to do at one position; None if nothing.
    fn step_at(&self, id: u16, position: u64, files: &impl Fn(FileId) -> Known) -> Option<(u64, Step)> {
        let entry = self.entry(position)?;
        if entry.done || entry.left {
            return None;
        }
        let (sequence, file) = (id, entry.file);
        let step = match (entry.want, files(file)) {
            (Want::Name, Known::Unknown) => Step::Lookup { sequence, position, file, counts: true },
            (Want::Name, _) | (_, Known::Missing) => return None,
            (_, Known::Unknown | Known::LookingUp) => Step::Lookup { sequence, position, file, counts: false },
            (_, known @ Known::Here { home, .. }) => {
                let (first, count) = entry.span(known)?;
                let next = u64::from(entry.issued.max(entry.read));
                if next >= count {
                    return None;
                }
                let block = Block { file, index: first + next };
                Step::Block { sequence, position, block, into: next, home }
            }
        };
        Some((entry.order, step))
    }

    /// Moves the cursor to `position`, passing over what lies before it.
    fn pass_to(&mut self, id: u16, position: u64, files: &impl Fn(FileId) -> Known, passed: &mut Vec<Passed>) {
        while self.base < position
            && let Some(entry) = self.entries.front()
        {
            let (file, want, issued, read) = (entry.file, entry.want, entry.issued, entry.read);
            let (first, count) = entry.span(files(file)).unwrap_or((0, 0));
            if !entry.done {
                self.close(self.base);
                if want == Want::Name {
                    self.proved_wrong(1);
                    self.unread = self.unread.saturating_sub(u64::from(issued));
                } else {
                    self.proved_wrong(count.saturating_sub(u64::from(read)));
                    let (first, count) = (first + u64::from(read), u64::from(issued.saturating_sub(read)));
                    passed.push(Passed { sequence: id, file, first, count });
                }
            }
            self.pop();
        }
    }

    /// Drops the entries at the cursor that are done.
    fn trim(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.done) {
            self.pop();
        }
    }

    /// The cursor leaves the entry it stands at.
    fn pop(&mut self) {
        self.entries.pop_front();
        self.ready.remove(&self.base);
        self.base += 1;
        self.walked = self.walked.max(self.base);
    }

    /// Nothing more will be read here.
    fn close(&mut self, position: u64) {
        let Some(entry) = self.entry_mut(position) else { return };
        entry.done = true;
        let (class, key) = entry.place();
        let Some(places) = self.by_place.get_mut(&class) else { return };
        if let Some(positions) = places.get_mut(&key) {
            if let Ok(at) = positions.binary_search(&position) {
                positions.remove(at);
            }
            if positions.is_empty() {
                places.remove(&key);
            }
        }
        if places.is_empty() {
            self.by_place.remove(&class);
        }
    }

    /// The first open entry that a read of this block belongs to.
    fn find(&self, block: Block, known: Known) -> Option<u64> {
        let mut first: Option<u64> = None;
        for (&class, places) in &self.by_place {
            let (here, before) = match class {
                NAME => continue,
                WHOLE => (0, None),
                _ => (block.index >> class, (block.index >> class).checked_sub(1).filter(|_| class > 0)),
            };
            for place in std::iter::once(here).chain(before) {
                let Some(positions) = places.get(&place_key(block.file, place)) else { continue };
                let fits = |position: &u64| self.entry(*position).is_some_and(|entry| entry.fits(block.index, known));
                let found = positions.iter().take(MATCH_SCAN_MAX).copied().find(fits);
                first = [first, found].into_iter().flatten().min();
            }
        }
        first
    }

    /// Whether a read of what is disclosed at `position` says that the reader has come there.
    fn has_come_to(&mut self, position: u64) -> bool {
        if position - self.base <= JUMP_ENTRIES_MAX {
            self.far_run = 0;
            return true;
        }
        if position != self.far {
            let in_order = position > self.far && position - self.far <= JUMP_ENTRIES_MAX;
            self.far_run = if in_order { self.far_run + 1 } else { 0 };
            self.far = position;
        }
        self.far_run >= JUMP_ENTRIES_MAX
    }

    /// Consumes what a read of up to `count` blocks from `first` makes true at one position. Returns how many blocks that
    /// was.
    fn read(
        &mut self,
        id: u16,
        first: Block,
        count: u64,
        files: &impl Fn(FileId) -> Known,
        passed: &mut Vec<Passed>,
    ) -> u64 {
        let known = files(first.file);
        let Some(position) = self.find(first, known) else { return 0 };
        let Some(entry) = self.entry_mut(position) else { return 0 };
        let Some((from, len)) = entry.span(known) else { return 0 };
        let blocks = count.min(from + len - first.index);
        // Blocks of this entry that were jumped over stay its own: they are read later more often than not.
        entry.read = (first.index + blocks - from) as u32;
        let complete = u64::from(entry.read) >= len;
        self.consumed_at(id, position, blocks, complete, files, passed);
        blocks
    }

    /// Consumes what the look-up of a name makes true.
    fn named(&mut self, id: u16, file: FileId, files: &impl Fn(FileId) -> Known, passed: &mut Vec<Passed>) {
        let positions = self.by_place.get(&NAME).and_then(|places| places.get(&place_key(file, 0)));
        let Some(&position) = positions.and_then(VecDeque::front) else { return };
        let issued = self.entry(position).is_some_and(|entry| entry.issued > 0);
        self.unread = self.unread.saturating_sub(u64::from(issued));
        self.consumed_at(id, position, 1, true, files, passed);
    }

    /// `blocks` came true at this position, which is `complete` by that.
    fn consumed_at(
        &mut self,
        id: u16,
        position: u64,
        blocks: u64,
        complete: bool,
        files: &impl Fn(FileId) -> Known,
        passed: &mut Vec<Passed>,
    ) {
        self.came_true(blocks);
        if self.has_come_to(position) {
            self.pass_to(id, position, files, passed);
        }
        if complete {
            self.close(position);
        }
        self.trim();
    }

    /// Forgets what is disclosed; the confidence stays. Its pages are settled before.
    fn clear(&mut self) {
        self.base = self.end();
        self.walked = self.base;
        self.entries.clear();
        self.by_place.clear();
        self.ready.clear();
        (self.awaiting, self.unread, self.far_run) = (0, 0, 0);
    }

    /// Names looked up and neither used nor passed over, for the invariants' check.
    fn names_out(&self) -> u64 {
        let out = |entry: &&Entry| entry.want == Want::Name && entry.issued > 0 && !entry.done;
        self.entries.iter().filter(out).count() as u64
    }
}

impl Hints {
    /// Disclosures kept: those not read or passed over, and some behind them.
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether anything disclosed is still open.
    pub fn any_open(&self) -> bool {
        self.entries > 0
    }

    pub fn sequence(&self, id: u16) -> Option<&Sequence> {
        self.sequences.get(usize::from(id))?.as_ref()
    }

    fn sequence_mut(&mut self, id: u16) -> Option<&mut Sequence> {
        self.sequences.get_mut(usize::from(id))?.as_mut()
    }

    /// Blocks disclosed through a source that were read, and that were passed over.
    pub fn accuracy(&self, source: Source) -> (u64, u64) {
        let of_source = self.sequences.iter().flatten().filter(|sequence| sequence.source == source);
        of_source
            .fold(self.ended[source as usize], |(consumed, skipped), it| (consumed + it.consumed, skipped + it.skipped))
    }

    fn sequence_of(&mut self, reader: ReaderId, source: Source, trust: Trust) -> Option<u16> {
        if let Some(&id) = self.of_reader(reader, Some(source)).first() {
            return Some(id);
        }
        let free = self.sequences.iter().position(Option::is_none).unwrap_or(self.sequences.len());
        if free >= SEQUENCES_MAX {
            return None;
        }
        let sequence = Some(Sequence::new(source, trust));
        match self.sequences.get_mut(free) {
            Some(slot) => *slot = sequence,
            None => self.sequences.push(sequence),
        }
        self.by_reader.entry(reader.0).or_default().push(free as u16);
        Some(free as u16)
    }

    /// Takes a disclosure in; false if a limit forbids it.
    pub fn disclose(&mut self, reader: ReaderId, source: Source, file: FileId, want: Want, trust: Trust) -> bool {
        if self.entries >= HINT_ENTRIES_MAX {
            return false;
        }
        let order = self.orders;
        let Some(id) = self.sequence_of(reader, source, trust) else { return false };
        let Some(sequence) = self.sequence_mut(id) else { return false };
        let entry = Entry { file, want, order, issued: 0, read: 0, done: false, left: false };
        let (class, key) = entry.place();
        let position = sequence.end();
        sequence.by_place.entry(class).or_default().entry(key).or_default().push_back(position);
        sequence.entries.push_back(entry);
        self.entries += 1;
        self.orders += 1;
        true
    }

    /// The oldest disclosure for which something can be done now.
    pub fn peek(&mut self, files: impl Fn(FileId) -> Known) -> Option<Step> {
        let mut best: Option<(u64, Step)> = None;
        for (id, sequence) in self.sequences.iter_mut().enumerate() {
            let Some(sequence) = sequence else { continue };
            let before = sequence.entries.len();
            let found = sequence.peek(id as u16, &files);
            self.entries -= before - sequence.entries.len();
            let Some(found) = found else { continue };
            if best.is_none_or(|(order, _)| found.0 < order) {
                best = Some(found);
            }
        }
        best.map(|(_, step)| step)
    }

    /// The step was taken. For a block, `unread` says whether its page is now out and unread for this sequence.
    pub fn taken(&mut self, step: Step, unread: bool) {
        match step {
            Step::Lookup { sequence: id, position, file, counts } => {
                self.awaiting.entry(file.0).or_default().push((id, position));
                let Some(sequence) = self.sequence_mut(id) else { return };
                sequence.walked = sequence.walked.max(position + 1);
                sequence.awaiting += 1;
                if counts && let Some(entry) = sequence.entry_mut(position) {
                    entry.issued = 1;
                    sequence.unread += 1;
                }
            }
            Step::Block { sequence: id, position, .. } => {
                let Some(sequence) = self.sequence_mut(id) else { return };
                sequence.unread += u64::from(unread);
                sequence.pages += u64::from(unread);
                if let Some(entry) = sequence.entry_mut(position) {
                    entry.issued = entry.issued.max(entry.read) + 1;
                }
            }
        }
    }

    /// The rest of the step's run is not fetched ahead: the reader's own system does it as well.
    pub fn leave(&mut self, step: Step) {
        if let Step::Block { sequence, position, .. } = step
            && let Some(entry) = self.sequence_mut(sequence).and_then(|sequence| sequence.entry_mut(position))
        {
            entry.left = true;
        }
    }

    /// A file's name was resolved, or proved to lead nowhere.
    pub fn resolved(&mut self, file: FileId) {
        for (id, position) in self.awaiting.remove(&file.0).unwrap_or_default() {
            let Some(sequence) = self.sequence_mut(id) else { continue };
            sequence.awaiting -= 1;
            if position >= sequence.base {
                sequence.ready.insert(position);
            }
        }
    }

    /// The reader read these blocks: moves its sequences' cursors. Returns what they passed over.
    pub fn read(&mut self, reader: ReaderId, first: Block, count: u64, files: impl Fn(FileId) -> Known) -> Vec<Passed> {
        self.each_of(reader, |id, sequence, passed| {
            let (mut index, end) = (first.index, first.index + count);
            while index < end && !sequence.entries.is_empty() {
                index += sequence.read(id, Block { index, ..first }, end - index, &files, passed).max(1);
            }
        })
    }

    /// The reader looked the file's name up.
    pub fn named(&mut self, reader: ReaderId, file: FileId, files: impl Fn(FileId) -> Known) -> Vec<Passed> {
        self.each_of(reader, |id, sequence, passed| sequence.named(id, file, &files, passed))
    }

    /// Does something to each sequence of a reader.
    fn each_of(&mut self, reader: ReaderId, mut act: impl FnMut(u16, &mut Sequence, &mut Vec<Passed>)) -> Vec<Passed> {
        let mut passed = Vec::new();
        for &id in self.by_reader.get(&reader.0).map_or(&[][..], Vec::as_slice) {
            if let Some(sequence) = self.sequences[usize::from(id)].as_mut() {
                let before = sequence.entries.len();
                act(id, sequence, &mut passed);
                self.entries -= before - sequence.entries.len();
            }
        }
        passed
    }

    /// An unread page of this sequence was read; `passed` says that the cursor had given it up before.
    pub fn page_read(&mut self, id: u16, passed: bool) {
        let Some(sequence) = self.sequence_mut(id) else { return };
        sequence.pages -= 1;
        if passed {
            sequence.skipped = sequence.skipped.saturating_sub(1);
            sequence.came_true(1);
        } else {
            sequence.unread -= 1;
        }
    }

    /// The cursor passed an unread page of this sequence over.
    pub fn page_passed(&mut self, id: u16) {
        if let Some(sequence) = self.sequence_mut(id) {
            sequence.unread -= 1;
        }
    }

    /// A page of this sequence will not be read: given up (`wasted`), or never brought.
    pub fn page_gone(&mut self, id: u16, passed: bool, wasted: bool) {
        let Some(sequence) = self.sequence_mut(id) else { return };
        sequence.pages -= 1;
        if !passed {
            sequence.unread -= 1;
            sequence.shrink_window(u64::from(wasted));
        }
    }

    /// The sequences of a reader, or only that of one source.
    pub fn of_reader(&self, reader: ReaderId, source: Option<Source>) -> Vec<u16> {
        let ids = self.by_reader.get(&reader.0).map_or(&[][..], Vec::as_slice);
        let of_source = |id: &u16| self.sequence(*id).is_some_and(|it| source.is_none_or(|source| it.source == source));
        ids.iter().copied().filter(of_source).collect()
    }

    /// How many pages speak of these sequences.
    pub fn pages_of(&self, ids: &[u16]) -> u64 {
        ids.iter().filter_map(|&id| self.sequence(id)).map(|it| it.pages).sum()
    }

    /// Forgets what these sequences disclose. Their confidence stays, lest a wrong one start afresh by taking all back.
    pub fn clear(&mut self, ids: &[u16]) {
        for &id in ids {
            if let Some(sequence) = self.sequences[usize::from(id)].as_mut() {
                self.entries -= sequence.entries.len();
                sequence.clear();
            }
        }
        self.awaiting.retain(|_, waiting| {
            waiting.retain(|(id, _)| !ids.contains(id));
            !waiting.is_empty()
        });
    }

    /// Forgets a reader whose sequences were cleared.
    pub fn forget(&mut self, reader: ReaderId) {
        for id in self.by_reader.remove(&reader.0).unwrap_or_default() {
            if let Some(it) = self.sequences[usize::from(id)].take() {
                let ended = &mut self.ended[it.source as usize];
                *ended = (ended.0 + it.consumed, ended.1 + it.skipped);
            }
        }
    }

    /// Checks that the windows' accounts agree with the pages, given as (sequence, passed over).
    pub fn check(&self, pages: &[(u16, bool)]) {
        for (id, sequence) in self.sequences.iter().enumerate() {
            let Some(sequence) = sequence else { continue };
            let of_it = || pages.iter().filter(|page| usize::from(page.0) == id);
            let unread = of_it().filter(|page| !page.1).count() as u64 + sequence.names_out();
            assert_eq!(sequence.unread, unread, "the window's account of sequence {id}");
            assert_eq!(sequence.pages, of_it().count() as u64, "the pages of sequence {id}");
            assert!(sequence.entries.front().is_none_or(|entry| !entry.done), "a cursor rests on an open entry");
        }
        let entries: usize = self.sequences.iter().flatten().map(|it| it.entries.len()).sum();
        assert_eq!(self.entries, entries, "entries over all sequences");
    }
}
