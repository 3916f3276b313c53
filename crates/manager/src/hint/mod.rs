//! Disclosed sequences: what a reader said it will read, how far it has come, and what to fetch for
//! it next.
//!
//! Each source of each reader has one sequence, in the order of disclosure. Three marks move along
//! it:
//!
//! ```text
//!   base            walked                        end
//!    |  looked up,    |   not yet looked at         |
//!    |  fetched, ...  |                             |
//! ```
//!
//! `base` is the cursor: all before it was read or passed over. The reader's reads move it: a read
//! of what is disclosed at position i consumes everything up to i if i lies within
//! [`JUMP_ENTRIES_MAX`] of the cursor; beyond, it consumes that one entry alone if the sequence is
//! fully trusted and was hardly wrong so far, and nothing if not: what a recorded loop left out in one pass is disclosed
//! for the next one. (Unbounded jumps made one early read skip most of a sequence: 0.95 s became
//! 23 s.) As many such reads in order, with none near the cursor between them, say that the reader is out there: the cursor
//! follows. Inside one entry, a read more than [`JUMP_BLOCKS_MAX`] beyond what was looked at for
//! fetching moves nothing: programs read the end of an archive first, and then all of it.
//!
//! **Who reads by several threads** reads some of it a little later than what follows: a read of what
//! was passed over just now is no read of the same block further on (`behind`). And **who is quicker
//! than its generator** has read some before it is disclosed (`outrun`).
//!
//! **What several read together** ([`Source::Profile`]: the processes and threads of a run) has the
//! cursor where the hindmost of them is, and one for names, one for blocks (`lane`). What lies
//! beyond the foremost is as near as he is to it: what is open behind him is left out, or others'.
//! A far read of what is disclosed once, there alone, consumes that entry: some thread is ahead.
//!
//! **What is in no order** ([`Source::Related`], [`Source::Unordered`]) has no cursor that passes
//! over anything: each read consumes its entry alone, wherever that is. The reader of what is
//! related may be elsewhere in it than where it was begun to be looked at: after some reads in a
//! row it is looked at there first (`walk`).
//!
//! **Names are resolved lazily** (001 section 2): a file's name is looked up when the walk reaches
//! it, at most [`LOOKUPS_AHEAD_MAX`] entries ahead of what is being fetched, and many at once;
//! further ahead for a device with an arm.
//!
//! **Confidence**: a sequence may have `window` blocks unread, and names as many. The window grows
//! by sixteen for each block that comes true, and by four where more than one in 64 was passed
//! over, of blocks or of disclosures (`disclosures`); it shrinks by one in 64 for each that is
//! passed over, and by one for each that was brought and given up unread. Names that come true earn
//! names, not blocks. So a true sequence soon has
//! all the memory the policy grants, and a false one costs what the first window costs, however
//! often its blocks age out. Worked example: 256 blocks at first; 256 of them read: 4,352; 64
//! blocks passed over: two thirds of it are gone. Of what is related nothing is ever known to be
//! wrong, so that its window grows by one for each block that comes true: it costs no more than its
//! first window and as much again as came true. Where blocks come true far beyond what was looked
//! at, the reader goes another way through the same set, and it grows by four
//! ([`WINDOW_GROWTH_BEYOND`]).
//!
//! Of what a program itself disclosed ([`Source::Library`]) only that shrinks the window, or says
//! how true the source is, which was fetched for it, or is to be: a program that keeps pages of its
//! own, as SQLite does, says that it needs them and does not ask for them again. Nothing is lost by
//! such a hint as long as the block is here.
//!
//! **Usefulness** (`evidence`): what came true on one device says nothing of another, and earns nothing
//! there: of each as many blocks are fetched as a window of its own would have had. What is read in
//! order is judged by what it passes over. Of the rest, as much will be read as is disclosed of what
//! is read of the same files, if this run reads about as much as was recorded; and as much is read in
//! time as was of what was fetched before. Where a fetch keeps its device busy for as long as it
//! saves, as on an arm, nothing is fetched of which too little is of use. Worked example: 2,500
//! look-ups in a database, after a run with as many others: half of the first 500 blocks were
//! recorded, the upper pages of the index, and later 7 of 100; of those recorded and not read yet as
//! many come true.

mod accuracy;
mod awake;
mod behind;
mod disclosures;
mod distance;
mod entry;
mod evidence;
mod holdings;
mod lane;
mod outrun;
mod ready;
mod repeat;
mod sequence;
mod standing;
mod walk;
mod window;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as BTreeEntry;
use std::collections::hash_map::Entry;
use std::mem;

use crate::event::{Source, Want};
use crate::files::{Files, Known};
use crate::ids::{Block, FileId, ReaderId};
use crate::layout::Home;
use crate::table::FastMap;

pub(crate) use accuracy::Accuracy;
use awake::Awake;
pub(crate) use holdings::Holdings;
use outrun::Outrun;
use sequence::{Cleared, Sequence};
pub use standing::Standing;
pub use window::{WINDOW_GROWTH, WINDOW_GROWTH_BEYOND, WINDOW_GROWTH_FLAWLESS};

/// Entries the cursor may jump over at one read. The papers' machine: its prefetch horizon of 62.
pub const JUMP_ENTRIES_MAX: u64 = 64;
/// Blocks the cursor may jump over at one read inside one entry, counted from the last one looked
/// at for fetching: the same horizon.
pub const JUMP_BLOCKS_MAX: u64 = 64;
/// Entries kept over all sequences. A recorded build has some 100,000; a million, with their index,
/// are some 240 MiB. Beyond it disclosures are refused, which costs nothing but their prefetching.
pub const HINT_ENTRIES_MAX: usize = 1 << 20;
/// Entries that a source has open at most before it is asked for more: what lies in memory is looked at
/// as soon as it is disclosed, and only reads close it. Who reads nothing but that, at 200 ns each,
/// takes 3 ms for so many; they take 4 MiB.
const PULLED_MAX: usize = 1 << 14;
/// And of the room that there is for all, one part in so many: who reads nothing leaves some to others.
const PULLED_PART: usize = 16;
/// What a source gives when it is asked, and the room that is left for those that were asked and have
/// not given it yet: what finds no room is lost.
pub const PULLED_AT_ONCE: usize = 256;
const PULLED_ROOM_MIN: usize = 64 * PULLED_AT_ONCE;
/// Sequences at once: each is looked at for every block fetched ahead, so 4,096 cost some
/// microseconds a block. Below the mark for none, 65,535.
pub const SEQUENCES_MAX: usize = 4096;
/// Entries that may wait for a name or its fetches at once: enough to keep 128 requests busy with
/// small files.
pub(crate) const LOOKUPS_AHEAD_MAX: usize = 256;
/// The same where a device serves requests one by one: what is known by the time its arm begins
/// goes out in one sweep.
pub(crate) const LOOKUPS_AHEAD_MAX_ONE_BY_ONE: usize = 8192;
/// Entries looked at to find the one a read belongs to: beyond it, so many overlapping ranges tell
/// nothing apart.
const MATCH_SCAN_MAX: usize = 64;

/// Bits of [`Use::when`] for the place in the entry; above lies the entry's position. Beyond the
/// first TiB of an entry, in blocks of 4 KiB, uses are no longer told apart.
const USE_BITS: u32 = 28;

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

/// A disclosed read of a block that is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// The sequence that disclosed it.
    pub(crate) sequence: u16,
    /// When it comes: of two uses in one sequence the later has the greater number.
    pub(crate) when: u64,
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

impl Step {
    /// Where a block's file begins.
    pub fn home(self) -> Option<Home> {
        match self {
            Step::Lookup { .. } => None,
            Step::Block { home, .. } => Some(home),
        }
    }
}

/// Blocks of one read that came true.
pub(crate) struct Consumed {
    pub sequence: u16,
    pub first: u64,
    pub end: u64,
}

/// What a read did to the reader's sequences.
#[derive(Default)]
pub(crate) struct Moved {
    pub passed: Vec<Passed>,
    /// What came true: the first of it, which most often is all, and the rest.
    first: Option<Consumed>,
    rest: Vec<Consumed>,
}

impl Moved {
    /// The sequence in which this block of the read was disclosed.
    pub fn hinted(&self, index: u64) -> Option<u16> {
        let found = self.first.iter().chain(&self.rest).find(|it| (it.first..it.end).contains(&index));
        found.map(|it| it.sequence)
    }
}

/// Issued blocks of an entry the cursor passed over.
pub(crate) struct Passed {
    pub sequence: u16,
    pub file: FileId,
    pub first: u64,
    pub count: u64,
    /// Nobody disclosed them.
    pub is_gap: bool,
}

#[derive(Default)]
pub(crate) struct Hints {
    sequences: Vec<Option<Sequence>>,
    by_reader: FastMap<u32, Vec<u16>>,
    awaiting: FastMap<u32, Vec<(u16, u64)>>,
    /// The sequences that disclosed something of a file. Some may be through with it, but all are
    /// there.
    of_file: FastMap<u32, Vec<u16>>,
    awake: Awake,
    orders: u64,
    resolved: u64,
    /// The sequences whose source has more to disclose, and their readers.
    more: BTreeMap<u16, ReaderId>,
    /// What was read before it was disclosed, of those that had more to disclose.
    outrun: BTreeMap<u16, Outrun>,
    /// Entries kept over all sequences. None: nothing is open, for a cursor rests on an open entry.
    entries: usize,
    /// What was withdrawn in the event at hand.
    cleared: Vec<Cleared>,
    /// (consumed, skipped) of sequences that ended, by source.
    ended: [(u64, u64); Source::ALL.len()],
}

/// Disclosures that were withdrawn. Where there are many of them it takes long to drop this: not
/// where others wait.
pub struct Withdrawn {
    _cleared: Vec<Cleared>,
}

impl Hints {
    /// Disclosures kept: those not read or passed over, and some behind them.
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Names that were resolved so far: what was disclosed of a file is as long as that says.
    pub fn names_resolved(&self) -> u64 {
        self.resolved
    }

    /// Whether anything disclosed is still open.
    pub fn any_open(&self) -> bool {
        self.entries > 0
    }

    /// Whether anything was disclosed by a sequence that there is yet.
    pub fn any_disclosed(&self) -> bool {
        !self.of_file.is_empty()
    }

    /// Whether what is read next says anything.
    pub fn any_followed(&self) -> bool {
        self.any_open() || !self.outrun.is_empty()
    }

    pub fn sequence(&self, id: u16) -> Option<&Sequence> {
        self.sequences.get(usize::from(id))?.as_ref()
    }

    /// The sequence, to be changed.
    fn sequence_mut(&mut self, id: u16) -> Option<&mut Sequence> {
        self.awake.wake(id);
        self.sequences.get_mut(usize::from(id))?.as_mut()
    }

    /// Changes each sequence that disclosed something of a file.
    fn each_of_file(&mut self, file: FileId, mut act: impl FnMut(u16, &mut Sequence)) {
        let Hints { of_file, sequences, awake, .. } = self;
        for &id in of_file.get(&file.0).map_or(&[][..], Vec::as_slice) {
            awake.wake(id);
            sequences[usize::from(id)].iter_mut().for_each(|sequence| act(id, sequence));
        }
    }

    /// Blocks disclosed through a source that were read, and that were passed over.
    pub fn accuracy(&self, source: Source) -> (u64, u64) {
        let of_source = self.sequences.iter().flatten().filter(|sequence| sequence.source == source);
        of_source.fold(self.ended[source as usize], |(consumed, skipped), it| {
            (consumed + it.window.accuracy.consumed, skipped + it.window.accuracy.skipped)
        })
    }

    /// How much of what a source disclosed and was read lately was read where one of its readers was, from 0 to 1; of
    /// several, of who reads least so.
    pub fn in_place(&self, source: Source) -> f64 {
        let of_source = self.sequences.iter().flatten().filter(|sequence| sequence.source == source);
        of_source.map(|it| it.window.evidence.in_place()).fold(1.0, f64::min)
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
    pub fn disclose(
        &mut self,
        reader: ReaderId,
        source: Source,
        file: FileId,
        want: Want,
        trust: Trust,
        known: Known,
    ) -> bool {
        if self.entries >= HINT_ENTRIES_MAX {
            return false;
        }
        let Some(id) = self.sequence_of(reader, source, trust) else { return false };
        let Some(sequence) = self.sequences.get_mut(usize::from(id)).and_then(Option::as_mut) else { return false };
        if self.outrun.get_mut(&id).is_some_and(|outrun| outrun.was_read(file, want, known)) {
            return true;
        }
        self.awake.wake(id);
        let before = sequence.len();
        sequence.disclose(file, want, &mut self.orders, known);
        self.entries += sequence.len() - before;
        let of_file = self.of_file.entry(file.0).or_default();
        if !of_file.contains(&id) {
            of_file.push(id);
            // What comes after passes has no entry yet.
            sequence.files.entry(file).or_default();
        }
        true
    }

    /// The last `entries` disclosures of a source are read `passes` times in all; false if a limit
    /// forbids it.
    pub fn repeat(&mut self, reader: ReaderId, source: Source, entries: u64, passes: u64, files: &Files) -> bool {
        let Some(&id) = self.of_reader(reader, Some(source)).first() else { return entries == 0 };
        let Some(sequence) = self.sequences.get_mut(usize::from(id)).and_then(Option::as_mut) else { return false };
        self.awake.wake(id);
        let before = sequence.len();
        if before as u64 + entries.min(before as u64) > HINT_ENTRIES_MAX as u64 {
            return false;
        }
        sequence.repeat(entries, passes, &mut self.orders, files);
        self.entries += sequence.len() - before;
        true
    }

    /// The source has more to disclose than it has said.
    pub fn has_more(&mut self, reader: ReaderId, source: Source, trust: Trust) {
        if let Some(id) = self.sequence_of(reader, source, trust) {
            self.more.insert(id, reader);
            if source.is_ordered() && !source.is_read_together() {
                self.outrun.entry(id).or_default().asked(false);
            }
        }
    }

    /// The source has disclosed all.
    pub fn has_no_more(&mut self, reader: ReaderId, source: Source) {
        for id in self.of_reader(reader, Some(source)) {
            self.more.remove(&id);
            self.outrun.remove(&id);
        }
    }

    /// Whether some source has more to disclose.
    pub fn any_more(&self) -> bool {
        !self.more.is_empty()
    }

    /// The sources that are to disclose more now: each is asked once.
    pub fn pull(&mut self, lookups_max: usize) -> Vec<(ReaderId, Source)> {
        let Hints { more, sequences, outrun, .. } = self;
        let mut asked = Vec::new();
        let mut room = HINT_ENTRIES_MAX.saturating_sub(self.entries + PULLED_ROOM_MIN);
        more.retain(|&id, &mut reader| {
            let open_max = PULLED_MAX.min(room / PULLED_PART);
            let is_spent = |it: &&Sequence| room >= PULLED_AT_ONCE && it.is_spent(lookups_max, open_max);
            let spent = sequences[usize::from(id)].as_ref().filter(is_spent);
            if spent.is_some() {
                room -= PULLED_AT_ONCE;
                outrun.get_mut(&id).into_iter().for_each(|outrun| outrun.asked(true));
            }
            asked.extend(spent.map(|sequence| (reader, sequence.source)));
            spent.is_none()
        });
        asked
    }

    /// How often what a source discloses comes true, as far as it knows: from 0 to 1.
    pub fn declare(&mut self, reader: ReaderId, source: Source, trust: Trust, confidence: f64) {
        let id = self.sequence_of(reader, source, trust);
        if let Some(sequence) = id.and_then(|id| self.sequence_mut(id)) {
            sequence.window.accuracy.declare(confidence);
        }
    }

    /// What can be done now for each sequence and device, each with the order in which it was
    /// disclosed; so many entries of a sequence may wait for a name or its fetches.
    pub fn peek(&mut self, lookups_max: usize, files: &Files, found: &mut Vec<(u64, Step)>) {
        let mut next = self.awake.at_or_after(0);
        while let Some(id) = next {
            let steps = found.len();
            let mut changed = false;
            if let Some(sequence) = self.sequences[usize::from(id)].as_mut() {
                let before = sequence.len();
                sequence.refill(&mut self.orders, files);
                changed = sequence.peek(id, lookups_max, files, found);
                self.entries = self.entries + sequence.len() - before;
            }
            if found.len() == steps && !changed {
                self.awake.sleep(id);
            }
            next = self.awake.at_or_after(id + 1);
        }
    }

    /// The reads of a block that are still to come, the next one of each sequence.
    // Nearly always nothing is disclosed, and each reference asks several times.
    #[inline]
    pub fn uses<'a>(&'a self, block: Block, files: &'a Files) -> impl Iterator<Item = Use> + use<'a> {
        let of_file = if self.any_disclosed() { self.of_file.get(&block.file.0) } else { None };
        of_file.map_or(&[][..], Vec::as_slice).iter().filter_map(move |&sequence| {
            let when = self.sequence(sequence)?.next_use(block, files.of(block.file))?;
            Some(Use { sequence, when })
        })
    }

    /// Who disclosed anything of this file.
    pub fn sources_of(&self, file: FileId) -> impl Iterator<Item = Source> + '_ {
        let of_file = self.of_file.get(&file.0).map_or(&[][..], Vec::as_slice);
        of_file.iter().filter_map(|&id| Some(self.sequence(id)?.source))
    }

    /// Whether anything that was disclosed of a file may be read yet.
    pub fn discloses(&self, file: FileId) -> bool {
        let of_file = self.of_file.get(&file.0).map_or(&[][..], Vec::as_slice);
        of_file.iter().any(|&id| self.sequence(id).is_some_and(|sequence| sequence.discloses(file)))
    }

    /// Nothing of a file is disclosed any more; nor was anything, from now on.
    pub fn forget_file(&mut self, file: FileId) {
        for id in self.of_file.remove(&file.0).unwrap_or_default() {
            self.sequences[usize::from(id)].iter_mut().for_each(|sequence| _ = sequence.files.remove(&file));
        }
    }

    /// Blocks that the reader will have read before this use; None if it has passed it, or the
    /// sequence is no more.
    pub fn until(&self, next: Use) -> Option<u64> {
        self.sequence(next.sequence)?.until(next.when)
    }

    /// References until the reader comes to a step's block, of which the next one is number 1.
    pub fn references_until(&self, step: Step) -> u64 {
        let (Step::Lookup { sequence, position, .. } | Step::Block { sequence, position, .. }) = step;
        let into = if let Step::Block { into, .. } = step { into } else { 0 };
        self.sequence(sequence).and_then(|it| it.distance(position, into)).unwrap_or(0) + 1
    }

    /// What a sequence disclosed and is still to be looked at for fetching, as far as names are
    /// known, of what lies `behind` the foremost of its readers or of the rest: in how many
    /// references it is read, of which the next one is number 1, and which block.
    pub fn unissued<'a>(
        &'a self,
        sequence: u16,
        behind: bool,
        files: &'a Files,
    ) -> impl Iterator<Item = (u64, Block)> + 'a {
        self.sequence(sequence).into_iter().flat_map(move |it| it.unissued(behind, files))
    }

    /// A block was given up that is to be read: it is fetched again in time, but not for the first use of the sequence
    /// for which it is overdue.
    pub fn forgo(&mut self, block: Block, known: Known, overdue_for: Option<u16>) {
        self.each_of_file(block.file, |id, sequence| sequence.forgo(block, known, overdue_for == Some(id)));
    }

    /// The step was taken. For a block, `unread` says whether its page is now out and unread for
    /// this sequence.
    pub fn taken(&mut self, step: Step, unread: bool) {
        let (Step::Lookup { sequence: id, .. } | Step::Block { sequence: id, .. }) = step;
        if let Step::Lookup { position, file, .. } = step {
            self.awaiting.entry(file.0).or_default().push((id, position));
        }
        if let Some(sequence) = self.sequence_mut(id) {
            sequence.taken(step, unread);
        }
    }

    /// The rest of the step's run is not fetched ahead: the reader's own system does it as well.
    pub fn leave(&mut self, step: Step) {
        if let Step::Block { sequence, position, .. } = step
            && let Some(sequence) = self.sequence_mut(sequence)
        {
            sequence.leave(position);
        }
    }

    /// Names that are being looked up.
    pub fn names_awaited(&self) -> usize {
        self.awaiting.len()
    }

    /// A file's name was resolved, or proved to lead nowhere.
    pub fn resolved(&mut self, file: FileId, known: Known) {
        self.each_of_file(file, |_, sequence| sequence.sized(file, known));
        self.resolved += 1;
        for (id, position) in self.awaiting.remove(&file.0).unwrap_or_default() {
            if let Some(sequence) = self.sequence_mut(id) {
                sequence.arrived(position, known);
            }
        }
    }

    /// The reader read these blocks: moves its sequences' cursors.
    pub fn read(&mut self, reader: ReaderId, first: Block, count: u64, holdings: Holdings<'_>) -> Moved {
        let (mut true_first, mut rest) = (None, Vec::new());
        let mut outrun = mem::take(&mut self.outrun);
        let passed = self.each_of(reader, holdings.files, |id, sequence, passed| {
            let (mut index, end, mut came_true) = (first.index, first.index + count, false);
            while index < end && sequence.is_followed() {
                let blocks = sequence.read(id, Block { index, ..first }, end - index, holdings, passed);
                if blocks > 0 {
                    let consumed = Consumed { sequence: id, first: index, end: index + blocks };
                    match true_first {
                        None => true_first = Some(consumed),
                        Some(_) => rest.push(consumed),
                    }
                }
                came_true |= blocks > 0;
                index += blocks.max(1);
            }
            if let BTreeEntry::Occupied(mut outrun) = outrun.entry(id) {
                if came_true {
                    outrun.get_mut().came_true();
                } else if sequence.is_outrun() && !outrun.get_mut().note(first, count) {
                    outrun.remove();
                }
            }
        });
        self.outrun = outrun;
        if true_first.is_none() {
            self.read_undisclosed(reader, first, count, holdings);
        }
        Moved { passed, first: true_first, rest }
    }

    /// Whether such a read would say that several read together.
    #[cfg(test)]
    pub fn would_go_back(&mut self, reader: ReaderId, block: Block, known: Known) -> bool {
        let ids = self.of_reader(reader, None);
        let goes_back = |it: &mut Sequence| {
            let found = it.next_use(block, known).map(|when| when >> USE_BITS);
            it.goes_back(found, block)
        };
        ids.iter().any(|&id| self.sequence_mut(id).is_some_and(goes_back))
    }

    /// The reader looked the file's name up.
    pub fn named(&mut self, reader: ReaderId, file: FileId, holdings: Holdings<'_>) -> Vec<Passed> {
        self.each_of(reader, holdings.files, |id, sequence, passed| sequence.named(id, file, holdings, passed))
    }

    /// Moves the cursor of each sequence of a reader.
    fn each_of(
        &mut self,
        reader: ReaderId,
        files: &Files,
        mut act: impl FnMut(u16, &mut Sequence, &mut Vec<Passed>),
    ) -> Vec<Passed> {
        let mut passed = Vec::new();
        for &id in self.by_reader.get(&reader.0).map_or(&[][..], Vec::as_slice) {
            if let Some(sequence) = self.sequences[usize::from(id)].as_mut() {
                self.awake.wake(id);
                let before = sequence.len();
                act(id, sequence, &mut passed);
                sequence.refill(&mut self.orders, files);
                self.entries = self.entries + sequence.len() - before;
            }
        }
        passed
    }

    /// An unread page of this sequence was read; `passed` says that the cursor had given it up
    /// before.
    pub fn page_read(&mut self, id: u16, passed: bool) {
        let Some(sequence) = self.sequence_mut(id) else { return };
        sequence.window.page_read(passed);
    }

    /// The cursor passed an unread page of this sequence over.
    pub fn page_passed(&mut self, id: u16) {
        if let Some(sequence) = self.sequence_mut(id) {
            sequence.window.page_passed();
        }
    }

    /// A page of this sequence will not be read: given up (`wasted`), or never brought.
    pub fn page_gone(&mut self, id: u16, passed: bool, wasted: bool) {
        let Some(sequence) = self.sequence_mut(id) else { return };
        sequence.window.page_gone(passed, wasted);
    }

    /// The sequences of a reader, or only that of one source.
    pub fn of_reader(&self, reader: ReaderId, source: Option<Source>) -> Vec<u16> {
        let ids = self.by_reader.get(&reader.0).map_or(&[][..], Vec::as_slice);
        let of_source = |id: &u16| self.sequence(*id).is_some_and(|it| source.is_none_or(|source| it.source == source));
        ids.iter().copied().filter(of_source).collect()
    }

    /// Forgets what these sequences disclose. Their confidence stays, lest a wrong one start afresh
    /// by taking all back.
    pub fn clear(&mut self, ids: &[u16]) {
        for &id in ids {
            if let Some(sequence) = self.sequences[usize::from(id)].as_mut() {
                self.awake.wake(id);
                self.entries -= sequence.len();
                self.cleared.push(sequence.clear());
                let files = mem::take(&mut sequence.files);
                self.leave_files(id, files.keys());
            }
        }
        self.more.retain(|id, _| !ids.contains(id));
        self.outrun.retain(|id, _| !ids.contains(id));
        self.awaiting.retain(|_, waiting| {
            waiting.retain(|(id, _)| !ids.contains(id));
            !waiting.is_empty()
        });
    }

    /// A sequence discloses nothing of these files any more.
    fn leave_files<'a>(&mut self, id: u16, files: impl Iterator<Item = &'a FileId>) {
        for file in files {
            if let Entry::Occupied(mut of_file) = self.of_file.entry(file.0) {
                of_file.get_mut().retain(|&other| other != id);
                if of_file.get().is_empty() {
                    of_file.remove();
                }
            }
        }
    }

    /// What was withdrawn since this was asked last.
    pub fn take_cleared(&mut self) -> Withdrawn {
        Withdrawn { _cleared: mem::take(&mut self.cleared) }
    }

    /// Forgets a reader whose sequences were cleared.
    pub fn forget(&mut self, reader: ReaderId) {
        for id in self.by_reader.remove(&reader.0).unwrap_or_default() {
            if let Some(it) = self.sequences[usize::from(id)].take() {
                self.leave_files(id, it.files.keys());
                let ended = &mut self.ended[it.source as usize];
                *ended = (ended.0 + it.window.accuracy.consumed, ended.1 + it.window.accuracy.skipped);
            }
        }
    }

    /// Checks that the windows' accounts agree with the pages, given as (sequence, passed over).
    pub fn check(&self, pages: &[(u16, bool)]) {
        for (id, sequence) in self.sequences.iter().enumerate() {
            if let Some(sequence) = sequence {
                let of_it = pages.iter().filter(|page| usize::from(page.0) == id).map(|page| page.1);
                sequence.check(&of_it.collect::<Vec<_>>());
            }
        }
        let disclosed: usize = self.sequences.iter().flatten().map(|sequence| sequence.files.len()).sum();
        assert_eq!(
            self.of_file.values().map(Vec::len).sum::<usize>(),
            disclosed,
            "who disclosed something of which file"
        );
        let is_there = |(file, ids): (&u32, &Vec<u16>)| {
            ids.iter().all(|&id| self.sequence(id).is_some_and(|it| it.files.contains_key(&FileId(*file))))
        };
        assert!(self.of_file.iter().all(is_there), "a file was disclosed by a sequence that is no more");
        let entries: usize = self.sequences.iter().flatten().map(Sequence::len).sum();
        assert_eq!(self.entries, entries, "entries over all sequences");
    }
}
