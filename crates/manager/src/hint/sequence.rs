//! What one source of one reader disclosed, and how far the reader has come in it.

mod gaps;
mod repeated;

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use super::behind::Behind;
use super::distance::{CHUNK, Distance};
use super::entry::{Entry, LONG, NAME, WHOLE, place_key};
use super::holdings::Holdings;
use super::lane::Lane;
use super::ready::Ready;
use super::repeat::{Later, Repeat};
use super::walk::Walk;
use super::window::Window;
use super::{HINT_ENTRIES_MAX, JUMP_ENTRIES_MAX, MATCH_SCAN_MAX, Passed, Step, Trust, USE_BITS};
use crate::event::{Source, Want};
use crate::files::{Files, Known};
use crate::ids::{Block, DeviceId, FileId};
use crate::layout::Home;
use crate::table::FastMap;

pub use gaps::Gap;
use gaps::Gaps;

/// Reads in a row after which the reader of what is in no order is taken to go on in it from there:
/// by chance two entries of 1,000 are as near, and in that order, once in 16 times.
const FOLLOWED_AFTER: u64 = 4;
/// The lanes of what such a source discloses: one for blocks and one for names, one for both, or
/// none.
fn lanes(source: Source) -> Vec<Lane> {
    let together = source.is_read_together();
    let count = if together { 2 } else { usize::from(source.is_ordered()) };
    (0..count).map(|_| Lane::new(together)).collect()
}

/// The lane of blocks.
const BLOCKS: usize = 0;

/// So many entries behind the cursor say what is passed over; before that, what lies before the
/// foremost reader and was not read does.
const DECIDED_MIN: u64 = JUMP_ENTRIES_MAX;

/// The last place in an entry that a use tells apart.
const INTO_MAX: u64 = (1 << USE_BITS) - 1;

/// Where a reader is.
#[derive(Clone, Copy)]
enum Reader {
    /// What it reads is in no order.
    Anywhere,
    /// The cursor of its lane is there by that.
    At { lane: usize, cursor: u64 },
    /// One read far from the cursor does not say.
    Far,
}

/// What a read made true of one entry.
struct CameTrue {
    blocks: u64,
    /// Those of them that say how true its source is.
    telling: u64,
    /// Nothing of the entry is left.
    complete: bool,
}

pub(crate) struct Sequence {
    pub source: Source,
    /// What it disclosed anything of since it began, and how many entries of that are kept.
    pub files: FastMap<FileId, u32>,
    entries: VecDeque<Entry>,
    base: u64,
    walk: Walk,
    /// Entries that were walked over whose names are known and whose blocks are not all issued, by
    /// device: what is wanted of a far device does not wait behind what is wanted of a near one
    /// (000 section 4.9).
    ready: Ready,
    awaiting: usize,
    /// The positions of open entries by class and place.
    by_place: BTreeMap<u8, FastMap<u64, VecDeque<u64>>>,
    /// Of what several read together: where all that was disclosed begins.
    begins_met: FastMap<u64, ()>,
    /// Where its readers are among the blocks, and among the names if they are read apart from
    /// them.
    lanes: Vec<Lane>,
    /// What the cursor passed over of late, where one program reads.
    behind: Behind,
    /// Of which entry the head is read again, and how many blocks of it were.
    again: (u64, u64),
    /// Of what is in no order, the last read far from where it is looked at, and how many before it
    /// came in order.
    far: u64,
    far_run: u64,
    pub window: Window,
    gaps: Gaps,
    /// Where the foremost of several who read together is, and how many blocks before that are
    /// open: left out, or for those behind to read.
    foremost: (u64, u64),
    /// Blocks that were read or passed over, or that the foremost left to others, since it began: what
    /// lies beyond is nearer by no more than those.
    pub gone_by: u64,
    /// Blocks between the cursor and each entry.
    pub(super) distance: Distance,
    /// Entries of whole files whose sizes were learned, and their blocks: what the others are taken
    /// to have.
    sized: (u64, u64),
    repeat: Option<Repeat>,
}

/// What a sequence that was cleared had disclosed. There may be a million of it: to free that takes
/// as long as some hundred thousand events.
pub(crate) struct Cleared {
    _entries: VecDeque<Entry>,
    _by_place: BTreeMap<u8, FastMap<u64, VecDeque<u64>>>,
    _repeat: Option<Repeat>,
}

impl Sequence {
    pub fn new(source: Source, trust: Trust) -> Self {
        Sequence {
            source,
            files: FastMap::default(),
            entries: VecDeque::new(),
            base: 0,
            walk: Walk::new(0),
            ready: Ready::new(source.is_ordered()),
            awaiting: 0,
            by_place: BTreeMap::new(),
            begins_met: FastMap::default(),
            lanes: lanes(source),
            behind: Behind::default(),
            again: (0, 0),
            far: 0,
            far_run: 0,
            window: Window::new(source, trust),
            gaps: Gaps::default(),
            foremost: (0, 0),
            gone_by: 0,
            distance: Distance::default(),
            sized: (0, 0),
            repeat: None,
        }
    }

    /// Disclosures kept: open, closed behind open ones, or for later.
    pub fn len(&self) -> usize {
        let kept = |repeat: &Repeat| repeat.pass.len() + repeat.later.len();
        self.entries.len() + self.repeat.as_ref().map_or(0, kept)
    }

    /// Whether anything that it disclosed of a file may be read yet.
    pub fn discloses(&self, file: FileId) -> bool {
        self.repeat.is_some() || self.files.get(&file).is_some_and(|&entries| entries > 0)
    }

    /// Whether reads may be of what it disclosed.
    pub fn is_followed(&self) -> bool {
        !self.entries.is_empty() || !self.behind.is_empty()
    }

    /// Whether several read it together.
    pub fn is_of_several(&self) -> bool {
        self.lanes.iter().any(Lane::is_together)
    }

    /// Whether who reads something else may be beyond all that was disclosed.
    pub fn is_outrun(&self) -> bool {
        self.entries.is_empty() || self.is_of_several()
    }

    /// Entries that it disclosed so far.
    pub fn end(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    pub(super) fn entry(&self, position: u64) -> Option<&Entry> {
        self.entries.get(position.checked_sub(self.base)? as usize)
    }

    fn entry_mut(&mut self, position: u64) -> Option<&mut Entry> {
        self.entries.get_mut(position.checked_sub(self.base)? as usize)
    }

    /// A step was taken; for a block, `unread` says whether its page is now out and unread.
    pub fn taken(&mut self, step: Step, unread: bool) {
        match step {
            Step::Lookup { position, counts, .. } => {
                self.walk.pass(position);
                self.awaiting += 1;
                if counts && let Some(entry) = self.entry_mut(position) {
                    entry.issued = 1;
                    self.window.name_out();
                }
            }
            Step::Block { position, home, .. } => {
                if unread {
                    self.window.evidence.issued(home.device);
                    self.window.page_out();
                }
                self.ready.taken(position);
                if let Some(entry) = self.entry_mut(position) {
                    entry.issued = entry.issued.max(entry.read) + 1;
                }
            }
        }
    }

    /// The rest of an entry is left to the reader's own system.
    pub fn leave(&mut self, position: u64) {
        if let Some(entry) = self.entry_mut(position) {
            entry.left = true;
        }
    }

    /// The name of an entry that waited for it is resolved.
    pub fn arrived(&mut self, position: u64, known: Known) {
        self.awaiting = self.awaiting.saturating_sub(1);
        if position >= self.base {
            let home = match known {
                Known::Here { home, .. } => home,
                _ => Home::default(),
            };
            self.make_ready(position, home, known);
        }
    }

    /// Checks that the window's account agrees with the pages, of which these are passed over or
    /// not.
    pub fn check(&self, passed: &[bool]) {
        self.window.check(passed, self.names_out());
        assert!(self.entries.front().is_none_or(|entry| !entry.done), "a cursor rests on an open entry");
        let ahead: u64 = self.entries.iter().map(|entry| u64::from(entry.ahead)).sum();
        assert_eq!(self.distance.before_chunk(u64::MAX), ahead, "distances");
        let (foremost, before_it) = self.foremost;
        assert_eq!(before_it, self.open_before(foremost), "what is open behind the foremost reader");
        let entries: u64 = self.files.values().map(|&entries| u64::from(entries)).sum();
        assert_eq!(entries, self.entries.len() as u64, "the entries of all files");
        let open = self.entries.iter().filter(|entry| entry.gap.is_some() && !entry.done).count();
        assert_eq!(self.gaps.open(), open, "open gaps");
    }

    /// The next things to do for this sequence, at most one for each device and one look-up, each
    /// with the order in which it was disclosed. Returns whether the cursor moved, over what
    /// can never be read: then there may be more.
    pub fn peek(&mut self, id: u16, lookups_max: usize, files: &Files, found: &mut Vec<(u64, Step)>) -> bool {
        let base = self.base;
        let lookup = self.walk(id, lookups_max, files);
        let mut next = self.ready.next_device(None).filter(|_| !self.window.is_full());
        while let Some(device) = next {
            while self.window.has_room(device)
                && let Some(position) = self.ready.next(device)
            {
                if let Some(step) = self.step_at(id, position, files) {
                    found.push(step);
                    break;
                }
                self.ready.remove(position);
                self.close_void(position, files);
            }
            next = self.ready.next_device(Some(device));
        }
        found.extend(lookup);
        self.base != base
    }

    /// Walks on over entries whose names are known; stops at one that is to be looked up.
    fn walk(&mut self, id: u16, lookups_max: usize, files: &Files) -> Option<(u64, Step)> {
        while self.may_look_up(lookups_max)
            && let Some(position) = self.walk.next(self.base, self.end())
        {
            let step = self.step_at(id, position, files);
            match step {
                Some((_, Step::Lookup { .. })) => return step,
                Some((_, Step::Block { home, block, .. })) => self.make_ready(position, home, files.of(block.file)),
                None => {}
            }
            self.walk.pass(position);
            if step.is_none() {
                self.close_void(position, files);
            }
        }
        None
    }

    /// Whether what is disclosed at this position is about to be brought from its device: not far more is before that.
    fn is_due(&self, position: u64, device: DeviceId) -> bool {
        let soon = JUMP_ENTRIES_MAX as usize + 1;
        self.ready.of(device).take(soon).take_while(|&at| at != position).count() < soon
    }

    /// An entry waits to be fetched.
    fn make_ready(&mut self, position: u64, home: Home, known: Known) {
        if let Some(entry) = self.entry(position) {
            let index = entry.span(known).map_or(0, |(first, _)| first);
            let first = Block { file: entry.file, index };
            self.ready.insert(position, home, first);
        }
    }

    /// Entries that wait for their names, or to be fetched, are as many as there may be blocks.
    fn may_look_up(&self, lookups_max: usize) -> bool {
        let waiting = self.awaiting + self.ready.len();
        waiting < lookups_max && self.window.admits(waiting as u64)
    }

    /// Closes an entry that can never be read, so that it does not hold the cursor up.
    fn close_void(&mut self, position: u64, files: &Files) {
        if self.entry(position).is_some_and(|entry| entry.is_void(files.of(entry.file))) {
            self.close(position);
            self.trim();
        }
    }

    /// What is left to do at one position; None if nothing.
    fn step_at(&self, id: u16, position: u64, files: &Files) -> Option<(u64, Step)> {
        let entry = self.entry(position)?;
        if entry.done || entry.left || entry.gap.is_some_and(|gap| !self.gaps.are_filled(gap)) {
            return None;
        }
        let (sequence, file) = (id, entry.file);
        let step = match (entry.want, files.of(file)) {
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

    /// In which lane an entry is; None where there is no order.
    fn lane_of(&self, position: u64) -> Option<usize> {
        let is_name = self.entry(position)?.want == Want::Name;
        Some(usize::from(is_name).min(self.lanes.len().checked_sub(1)?))
    }

    /// Of these blocks, those whose outcome says how true the source is. What a program keeps itself
    /// it does not read again although it disclosed that: to have such a block costs nothing.
    fn telling(&self, first: Block, count: u64, holdings: Holdings<'_>) -> u64 {
        if self.source.is_of_needs() { holdings.fetched_for(first, count) } else { count }
    }

    /// Moves the cursor of a lane to `position`, passing over what lies before it.
    fn pass_to(&mut self, id: u16, lane: usize, position: u64, holdings: Holdings<'_>, passed: &mut Vec<Passed>) {
        while let Some(at) = self.lanes[lane].pass(position) {
            let Some(entry) = self.entry(at).filter(|entry| !entry.done) else { continue };
            let &Entry { file, want, issued, read, gap, .. } = entry;
            // What is not known to be there is not known to be wrong.
            let known = holdings.files.of(file);
            let is_here = matches!(known, Known::Here { .. });
            let (first, count) = entry.span(known).filter(|_| is_here).unwrap_or((0, 0));
            if let Some(gap) = gap {
                self.pass_gap(id, gap, at, holdings, passed);
                continue;
            }
            self.close(at);
            if want == Want::Name {
                self.window.name_proved_wrong();
                self.window.names_back(u64::from(issued));
            } else {
                let (first, open) = (first + u64::from(read), count.saturating_sub(u64::from(read)));
                let telling = self.telling(Block { file, index: first }, open, holdings);
                self.window.proved_wrong(open, telling);
                self.window.disclosures.proved_wrong(telling, count);
                let count = u64::from(issued.saturating_sub(read));
                passed.push(Passed { sequence: id, file, first, count, is_gap: false });
                if !self.lanes[lane].is_together() {
                    self.behind.passed(at, Block { file, index: first }, open);
                }
            }
        }
    }

    /// Drops the entries at the cursor that are done.
    fn trim(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.done) {
            self.pop();
        }
        self.distance.trim(self.base);
    }

    /// The cursor leaves the entry it stands at.
    fn pop(&mut self) {
        if let Some(entry) = self.entries.pop_front()
            && let Some(entries) = self.files.get_mut(&entry.file)
        {
            *entries -= 1;
        }
        self.ready.remove(self.base);
        self.base += 1;
    }

    /// Nothing more will be read here.
    fn close(&mut self, position: u64) {
        self.set_ahead(position, 0);
        self.ready.remove(position);
        let Some(entry) = self.entry_mut(position) else { return };
        let (was_open, gap) = (!mem::replace(&mut entry.done, true), entry.gap);
        let (class, key) = entry.place();
        if was_open && gap.is_some() {
            self.gaps.closed();
        }
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

    /// The first open entry that has this block still to be read, as `belongs` tells.
    pub(super) fn find(&self, block: Block, belongs: impl Fn(&Entry) -> bool) -> Option<u64> {
        self.find_in(0, block, belongs)
    }

    /// The same among the entries of this class and longer ones.
    fn find_in(&self, least: u8, block: Block, belongs: impl Fn(&Entry) -> bool) -> Option<u64> {
        let mut first: Option<u64> = None;
        for (&class, places) in self.by_place.range(least..) {
            let (here, before) = match class {
                NAME => continue,
                WHOLE => (0, None),
                _ => (block.index >> class, (block.index >> class).checked_sub(1).filter(|_| class > 0)),
            };
            for place in std::iter::once(here).chain(before) {
                let Some(positions) = places.get(&place_key(block.file, place)) else { continue };
                let belongs = |position: &u64| self.entry(*position).is_some_and(&belongs);
                let found = positions.iter().take(MATCH_SCAN_MAX).copied().find(belongs);
                first = [first, found].into_iter().flatten().min();
            }
        }
        first
    }

    /// The first open entry that has this block still to be read, and how far into it that is.
    pub(super) fn entry_of(&self, block: Block, known: Known) -> Option<(u64, &Entry)> {
        let entry = self.entry(self.find(block, |entry| entry.holds(block.index, known))?)?;
        Some((block.index - entry.span(known)?.0, entry))
    }

    /// Whether the reader of what is in no order has come true some times in a row at places that
    /// follow each other, here now.
    fn goes_on_at(&mut self, position: u64) -> bool {
        let follows = position > self.far && position - self.far <= JUMP_ENTRIES_MAX;
        self.far_run = if follows { self.far_run + 1 } else { 0 };
        self.far = position;
        self.far_run >= FOLLOWED_AFTER && std::mem::take(&mut self.far_run) > 0
    }

    /// Whether a block that is disclosed at `position` is read as part of the head of a long entry
    /// that is under way, once more: programs read the head of a file, and then all of it. That is
    /// no read of what is disclosed for later, which would pass over the rest of the file. Who reads
    /// the head a third time reads only that.
    fn is_read_again(&mut self, block: Block, position: u64, known: Known) -> bool {
        if position == self.base || !self.source.is_ordered() {
            return false;
        }
        let under_way = self.find_in(LONG, block, |entry| entry.has_as_head(block.index, known));
        let under_way = under_way.filter(|&it| it < position);
        let Some((at, entry)) = under_way.and_then(|at| Some((at, self.entry(at)?))) else { return false };
        let (head, before) = (u64::from(entry.read), if self.again.0 == at { self.again.1 } else { 0 });
        if before < head {
            self.again = (at, before + 1);
        }
        before < head
    }

    /// Whether a block that is disclosed at a position is read as what was passed over just now.
    pub fn goes_back(&mut self, found: Option<u64>, block: Block) -> bool {
        found != Some(self.base) && self.behind.holds(self.base, block)
    }

    /// Whether several read together, and nothing that begins where this entry does was disclosed before,
    /// nor any of these blocks behind it.
    fn is_the_only_one(&self, position: u64, blocks: [Block; 2], known: Known) -> bool {
        let Some(&Entry { order, is_first, .. }) = self.entry(position) else { return false };
        let later = |block: Block| self.find(block, |entry| entry.order > order && entry.holds(block.index, known));
        is_first && blocks.into_iter().all(|block| later(block).is_none())
    }

    /// Consumes what a read of up to `count` blocks from `first` makes true at one position.
    /// Returns how many blocks that was.
    pub fn read(&mut self, id: u16, first: Block, count: u64, holdings: Holdings<'_>, passed: &mut Vec<Passed>) -> u64 {
        let known = holdings.files.of(first.file);
        let found = self.find(first, |entry| entry.fits(first.index, known));
        if self.goes_back(found, first) {
            self.behind.clear();
            self.lanes.iter_mut().for_each(Lane::is_of_several);
            return 0;
        }
        let Some(position) = found else {
            self.learn_of_gap(first, known);
            return 0;
        };
        if self.is_read_again(first, position, known) {
            return 0;
        }
        let Some((from, len)) = self.entry(position).and_then(|entry| entry.span(known)) else { return 0 };
        let blocks = count.min(from + len - first.index);
        let ends = [first, Block { index: first.index + blocks.max(1) - 1, ..first }];
        let reader = self.reader_at(position);
        // What a recording left out is most often disclosed once more far ahead, of a later read of the same
        // block, and is still to come: to take it for that one leaves it out there as well, and so on. So it
        // stays open, and shows in its turn. But what is disclosed once of several who read together one of them
        // reads there, ahead of the others: if it stayed open it would be brought again for nobody.
        if matches!(reader, Reader::Far) && !self.window.is_true() && !self.is_the_only_one(position, ends, known) {
            self.learn_of_gap(first, known);
            return 0;
        }
        // That it was disclosed itself, a little before or behind, says nothing of other gaps.
        self.fill_gap(first, known);
        let Some(entry) = self.entry_mut(position) else { return 0 };
        // Blocks of this entry that were jumped over stay its own: they are read later more often than not.
        entry.read = (first.index + blocks - from) as u32;
        let ahead = len.saturating_sub(u64::from(entry.read)) as u32;
        self.set_ahead(position, ahead);
        let complete = ahead == 0;
        let came_true = CameTrue { blocks, telling: self.telling(first, blocks, holdings), complete };
        self.window.disclosures.came_true(came_true.telling, len);
        self.consumed_at(id, position, came_true, reader, holdings, passed);
        blocks
    }

    /// Consumes what the look-up of a name makes true.
    pub fn named(&mut self, id: u16, file: FileId, holdings: Holdings<'_>, passed: &mut Vec<Passed>) {
        let positions = self.by_place.get(&NAME).and_then(|places| places.get(&place_key(file, 0)));
        let Some(&position) = positions.and_then(VecDeque::front) else { return };
        let issued = self.entry(position).is_some_and(|entry| entry.issued > 0);
        self.window.names_back(u64::from(issued));
        let reader = self.reader_at(position);
        let came_true = CameTrue { blocks: 1, telling: 1, complete: true };
        self.consumed_at(id, position, came_true, reader, holdings, passed);
    }

    /// What a read at this position says of where the reader is.
    fn reader_at(&mut self, position: u64) -> Reader {
        let Some(lane) = self.lane_of(position) else { return Reader::Anywhere };
        self.lanes[lane].read(position, self.base).map_or(Reader::Far, |cursor| Reader::At { lane, cursor })
    }

    /// What came true at this position.
    fn consumed_at(
        &mut self,
        id: u16,
        position: u64,
        CameTrue { blocks, telling, complete }: CameTrue,
        reader: Reader,
        holdings: Holdings<'_>,
        passed: &mut Vec<Passed>,
    ) {
        self.take_evidence(position, blocks, telling, matches!(reader, Reader::Far), holdings);
        match self.source {
            Source::Related => {
                let beyond = self.walk.is_far_from(position);
                // What is read before its name is looked up, as what the dynamic linker maps at each start of a
                // program, is true whatever comes after, and earns nothing for that. Nor does what waits for its turn, far
                // behind what is brought now: who reads one file here and there shall not have another one brought.
                let earns = |entry: &Entry| match holdings.files.of(entry.file) {
                    Known::Here { home, .. } => beyond || entry.issued > 0 || self.is_due(position, home.device),
                    _ => false,
                };
                if self.entry(position).is_some_and(earns) {
                    self.window.came_true_anywhere(blocks, telling, beyond);
                } else {
                    self.window.accuracy.came_true(blocks, telling);
                }
                if beyond && self.goes_on_at(position) {
                    self.window.follow();
                    // What waits to be fetched from where the walk was waits until that comes up again.
                    let waiting = mem::replace(&mut self.ready, Ready::new(self.source.is_ordered()));
                    self.walk.go_back_to(waiting.earliest());
                    self.walk.go_to(position + 1);
                }
            }
            _ if self.entry(position).is_some_and(|entry| entry.want == Want::Name) => self.window.name_came_true(),
            // By who is far ahead nothing is earned for what is brought where the others are.
            _ if matches!(reader, Reader::Far) && self.entry(position).is_some_and(|entry| entry.issued == 0) => {
                self.window.accuracy.came_true(blocks, telling);
            }
            _ => self.window.came_true(blocks, telling),
        }
        if let Reader::At { lane, cursor } = reader {
            self.pass_to(id, lane, cursor, holdings, passed);
            self.note_foremost(lane);
        }
        if complete {
            self.close(position);
        }
        self.trim();
        self.pass_gaps(id, holdings, passed);
    }

    /// Some reader of this lane has gone on.
    fn note_foremost(&mut self, lane: usize) {
        if lane != BLOCKS || !self.lanes[lane].is_together() {
            return;
        }
        let foremost = self.lanes[lane].foremost().unwrap_or(0);
        let before_it = self.open_before(foremost);
        // Whoever is the foremost now may be behind the one before: then what lies between is nearer to him.
        let left = if foremost < self.foremost.0 { 0 } else { self.foremost.1 };
        self.gone_by += before_it.saturating_sub(left);
        self.foremost = (foremost, before_it);
        let is_decided = self.base >= DECIDED_MIN;
        self.window.left_out(if is_decided { 0 } else { self.foremost.1 });
        let before_it = if is_decided { 0 } else { foremost.saturating_sub(self.base) as usize };
        self.window.disclosures.left_out(self.entries.iter().take(before_it));
    }

    /// Forgets what is disclosed; the confidence stays. Its pages are settled before.
    pub fn clear(&mut self) -> Cleared {
        self.base = self.end();
        self.walk = Walk::new(self.base);
        let (entries, by_place) = (mem::take(&mut self.entries), mem::take(&mut self.by_place));
        let cleared = Cleared { _entries: entries, _by_place: by_place, _repeat: self.repeat.take() };
        self.ready = Ready::new(self.source.is_ordered());
        self.begins_met = FastMap::default();
        self.distance = Distance::default();
        self.window.clear();
        self.lanes = lanes(self.source);
        self.behind.clear();
        self.gaps.clear();
        self.foremost = (0, 0);
        (self.awaiting, self.far_run) = (0, 0);
        cleared
    }

    /// A disclosure, after all others.
    pub fn disclose(&mut self, file: FileId, want: Want, orders: &mut u64, known: Known) {
        match &mut self.repeat {
            Some(repeat) => repeat.later.push_back(Later::Hint(file, want)),
            None => self.push(file, want, orders, known),
        }
    }

    /// All that was disclosed has been looked at, there is room for more, and fewer entries than this
    /// are open; or so few that the cursor may pass over them: a window that was lost grows again by
    /// what comes true. What comes after passes is not asked for before them.
    pub fn is_spent(&self, lookups_max: usize, open_max: usize) -> bool {
        let open = self.entries.len();
        let has_room = open < open_max && !self.window.is_full() && self.may_look_up(lookups_max);
        let is_spent = (open as u64) < JUMP_ENTRIES_MAX || self.walk.is_over(self.end()) && has_room;
        self.repeat.is_none() && is_spent
    }

    fn push_entry(&mut self, file: FileId, want: Want, orders: &mut u64, known: Known, gap: Option<Gap>) {
        let order = *orders;
        *orders += 1;
        let mut entry =
            Entry { file, want, order, issued: 0, read: 0, ahead: 0, done: false, left: false, is_first: false, gap };
        let ahead = match (want, known) {
            // Its reader may not need it.
            _ if gap.is_some() => 0,
            (Want::All, Known::Unknown | Known::LookingUp) => self.usual_blocks(),
            (Want::Range { count, .. }, Known::Unknown | Known::LookingUp) => count,
            _ => entry.span(known).map_or(0, |(_, len)| len),
        };
        entry.ahead = ahead.min(u64::from(u32::MAX)) as u32;
        let (class, key) = entry.place();
        if let (Want::Range { first, .. }, None) = (want, gap)
            && self.source.is_read_together()
            && self.begins_met.len() < HINT_ENTRIES_MAX
        {
            entry.is_first = self.begins_met.insert(place_key(file, first), ()).is_none();
        }
        let position = self.end();
        self.by_place.entry(class).or_default().entry(key).or_default().push_back(position);
        self.distance.change(position, 0, u64::from(entry.ahead));
        self.entries.push_back(entry);
        *self.files.entry(file).or_default() += 1;
        if let Some(lane) = self.lane_of(position) {
            self.lanes[lane].push(position);
        }
    }

    /// What a file has whose size is not known: as much as the others.
    fn usual_blocks(&self) -> u64 {
        let (files, blocks) = self.sized;
        blocks.checked_div(files).unwrap_or(1).max(1)
    }

    fn set_ahead(&mut self, position: u64, blocks: u32) {
        let Some(entry) = self.entry_mut(position) else { return };
        let before = std::mem::replace(&mut entry.ahead, blocks);
        self.gone_by += u64::from(before.saturating_sub(blocks));
        if position < self.foremost.0 {
            self.foremost.1 = self.foremost.1 - u64::from(before) + u64::from(blocks);
        }
        self.distance.change(position, u64::from(before), u64::from(blocks));
    }

    /// The size of a file is known now: what was disclosed of all of it is that long.
    pub fn sized(&mut self, file: FileId, known: Known) {
        let Some(positions) = self.by_place.get(&WHOLE).and_then(|places| places.get(&place_key(file, 0))) else {
            return;
        };
        for position in positions.iter().copied().collect::<Vec<_>>() {
            let Some(entry) = self.entry(position) else { continue };
            let len = entry.span(known).map_or(0, |(_, len)| len);
            let ahead = len.saturating_sub(u64::from(entry.read)) as u32;
            self.sized = (self.sized.0 + 1, self.sized.1 + len);
            self.set_ahead(position, ahead);
        }
    }

    /// Blocks that a reader has yet to read before it comes to what is disclosed at `position`,
    /// `into` blocks from its start; None if the cursor has passed it. Of several who read together
    /// that is the nearest of those behind which it lies: the foremost leaves to others what they
    /// have not read, and to nobody what is wrong.
    pub fn distance(&self, position: u64, into: u64) -> Option<u64> {
        let entry = self.entry(position).filter(|entry| !entry.done)?;
        let into = into.checked_sub(u64::from(entry.read))?;
        let (foremost, before_it) = self.foremost;
        let behind = if position < foremost { 0 } else { before_it };
        Some(self.open_before(position).saturating_sub(behind) + into)
    }

    /// Blocks disclosed before a position that are neither read nor passed over.
    fn open_before(&self, position: u64) -> u64 {
        let chunk = (position - position % CHUNK).max(self.base);
        let in_chunk = (chunk..position).filter_map(|at| self.entry(at)).map(|entry| u64::from(entry.ahead));
        self.distance.before_chunk(position) + in_chunk.sum::<u64>()
    }

    /// What is still to be looked at for fetching, as far as names are known, of what lies behind
    /// the foremost reader or of the rest: in how many references it is read, of which the next one
    /// is number 1.
    pub fn unissued<'a>(&'a self, behind: bool, files: &'a Files) -> impl Iterator<Item = (u64, Block)> + 'a {
        let foremost = (self.foremost.0.saturating_sub(self.base) as usize).min(self.entries.len());
        let part = if behind { 0..foremost } else { foremost..self.entries.len() };
        let mut before = 0;
        self.entries.range(part).filter(|entry| !entry.done && entry.gap.is_none()).flat_map(move |entry| {
            let begins = before;
            before += u64::from(entry.ahead);
            let (first, count) = entry.span(files.of(entry.file)).unwrap_or((0, 0));
            let (file, read) = (entry.file, u64::from(entry.read));
            (read.max(u64::from(entry.issued))..count)
                .map(move |into| (begins + into - read + 1, Block { file, index: first + into }))
        })
    }

    /// When this block is to be read next: the later, the greater.
    pub fn next_use(&self, block: Block, known: Known) -> Option<u64> {
        let position = self.find(block, |entry| entry.holds(block.index, known))?;
        let into = self.entry(position)?.span(known).map_or(0, |(from, _)| block.index - from);
        Some(position << USE_BITS | into.min(INTO_MAX))
    }

    /// Blocks until then, counted from the next one to be read, which is 0.
    pub fn until(&self, when: u64) -> Option<u64> {
        let (position, into) = (when >> USE_BITS, when & INTO_MAX);
        // Uses that are not told apart are passed over with the last of them.
        let read = self.entry(position).map_or(0, |entry| u64::from(entry.read));
        self.distance(position, if into == INTO_MAX { into.max(read) } else { into })
    }

    /// A block that was to be read was given up: it is to be fetched again in time, but for its first use if that is late.
    pub fn forgo(&mut self, block: Block, known: Known, is_overdue: bool) {
        let Known::Here { home, .. } = known else { return };
        let first =
            is_overdue.then(|| self.find(block, |entry| entry.gap.is_none() && entry.holds(block.index, known)));
        let first = first.flatten().and_then(|first| Some(self.entry(first)?.order));
        // The gap that it may be of takes none of it from who disclosed it.
        for is_gap in [false, true] {
            let is_of = |entry: &Entry| entry.gap.is_some() == is_gap && Some(entry.order) > first;
            let belongs = |entry: &Entry| is_of(entry) && entry.holds(block.index, known);
            let Some(position) = self.find(block, belongs) else { continue };
            let Some(entry) = self.entry_mut(position) else { continue };
            let into = entry.span(known).map_or(0, |(from, _)| block.index - from) as u32;
            if entry.issued > into {
                entry.issued = into;
                self.make_ready(position, home, known);
            }
        }
    }

    /// Names looked up and neither used nor passed over, for the invariants' check.
    fn names_out(&self) -> u64 {
        let out = |entry: &&Entry| entry.want == Want::Name && entry.issued > 0 && !entry.done;
        self.entries.iter().filter(out).count() as u64
    }
}

#[cfg(test)]
mod tests;
