//! Runs found without a table of streams (003 section II-A), and what is read ahead of them (II-B).
//!
//! Each block here has a counter, set when it is first read: one more than that of the block before
//! it, if that is here, and 1 otherwise; never more than the threshold. Any number of runs may be
//! read at once, at any pace: what is known of a run is in its blocks. A block whose predecessor
//! has reached the threshold, and that is missing, is a *sequential miss*: from it on is read ahead
//! while its reader waits (synchronously). One of the blocks so brought carries the *trigger*: when
//! it is read, the next stretch is read ahead, and nobody waits (asynchronously).
//!
//! Worked example, threshold 3, degree 24, group 6, offset 3, a file read from block 0 on:
//!
//! ```text
//! reads of 0, 1, 2   miss; counters 1, 2, 3
//! read of 3          a sequential miss: 4 ..= 24 are read ahead; 21 carries the trigger
//! reads of 4 to 20   hits
//! read of 21         22 ..= 42 are wanted: 25 ..= 42 are read ahead; 39 carries the trigger
//! ```
//!
//! A track of the paper holds a request; a block here is less. With its rules a request of four
//! blocks is a run. With those of `sarc-amp` all blocks of a request get one count, and what was
//! read longer ago counts half, or nothing: in a memory that holds a large part of what is read at
//! random, most blocks have the one before them beside them, and that has its own, and so on. Beside
//! many hits a run may be slower than that: then those before it tell, by when they were read. A
//! request that begins in the block in which the one before ended goes on from it. `informed` does
//! not wait for the threshold where much of what lies behind such requests is read (`super::onset`), and
//! reads ahead of requests at equal distances as well (`super::strided`).

use super::amp::{Amp, Carried};
use super::departed::{Departed, Read};
use super::lists::Class;
use super::onset::{Begin, Onset, Place};
use super::strided::Strided;
use super::wanted::Wanted;
use super::{ANOMALY, DEGREE, GROUP, THRESHOLD, TRIGGER_OFFSET};
use crate::ids::{Block, Page};
use crate::policy::unread::TURNED_PART;
use crate::policy::{Context, Stretch, Values, by_page};

/// How far is read ahead, and where the trigger goes.
enum Reach {
    /// As far for every stream (003).
    Fixed { degree: u64, group: u64, trigger_offset: u64 },
    /// As each stream needs it.
    Adapted(Amp),
}

/// What a step of a run counts.
const WHOLE_STEP: u16 = 2;
const HALF_STEP: u16 = 1;
/// The part of the memory that may be referenced between two requests that are a whole step of a
/// run: with more, a run of reads at random is one in `WHOLE_PART` squared at most, and with less,
/// more runs at once than that would hide one another.
const WHOLE_PART: u64 = 12;
/// And those that are half a step, as all are where the memory has no more than eight pages for
/// each of many runs: twice as many by chance are rarer still.
const HALF_PART: u64 = 6;
/// And so many blocks, for a whole one, in any memory.
pub const RECENT_MIN: u64 = 64;
/// What is read slowly beside many other references is a run if so many blocks before are here that
/// were read one after the other: of blocks read by chance one in 5! has them, as many as go on by
/// chance from one that was read within a twelfth of the memory. But as many at least as make a run.
const IN_ORDER: u64 = 5;
/// And if it goes on in its own pace: what was read in order long ago is no run.
const PACES: u64 = 2;

/// When something is read ahead, and how far.
pub struct Rules {
    /// In half steps.
    threshold: u16,
    reach: Reach,
    anomaly: bool,
    /// Whether requests that are on no run of blocks one after the other may begin a run.
    by_onset: bool,
}

impl Rules {
    /// 003's, as the user chose them.
    pub fn fixed(values: &Values) -> Self {
        let [degree, group, trigger_offset] = [DEGREE, GROUP, TRIGGER_OFFSET].map(|it| values.get(it.name) as u64);
        Rules {
            threshold: values.get(THRESHOLD.name) as u16 * WHOLE_STEP,
            reach: Reach::Fixed { degree, group, trigger_offset },
            anomaly: values.get(ANOMALY.name) >= 0.5,
            by_onset: false,
        }
    }

    /// A request and the next one, soon, are a step of a run; else a block and the next one,
    /// whenever that was.
    fn by_requests(&self) -> bool {
        matches!(self.reach, Reach::Adapted(_))
    }

    /// Those of AMP.
    pub fn adapted(values: &Values) -> Self {
        Rules {
            threshold: values.get(THRESHOLD.name) as u16 * WHOLE_STEP,
            reach: Reach::Adapted(Amp::new(values)),
            anomaly: false,
            by_onset: false,
        }
    }

    /// The same; and requests begin runs that go on none, where what lies behind others like them was
    /// read soon, or where they lie at equal distances.
    pub fn learned(values: &Values) -> Self {
        Rules { by_onset: true, ..Rules::adapted(values) }
    }
}

/// What is kept of a page.
#[derive(Clone, Copy)]
struct Track {
    class: Class,
    /// In half steps; 0 until it is read.
    counter: u16,
    /// Reading it has the next stretch read ahead.
    trigger: bool,
    /// How many references there had been when it was read; until then, how many pages had come when it
    /// was brought.
    read_at: u32,
}

/// What is known of runs.
pub struct Detector {
    rules: Rules,
    /// By page.
    tracks: Vec<Track>,
    /// The page of the block that was read last.
    last: Page,
    /// Of blocks that were given up soon after they were read, if that counts.
    departed: Option<Departed>,
    /// References so far.
    now: u32,
    /// That block is of the request that is being served.
    in_request: bool,
    /// The page with which that began.
    first: Page,
    /// When that block was read before, if that request has read nothing but what was read already.
    reread: Option<u32>,
    /// References there had been when that request came.
    request_at: u32,
    /// What is known of requests that go on no run, if that counts.
    onset: Option<Onset>,
    /// And of those that lie at equal distances.
    strided: Option<Strided>,
    /// Not handed out yet: reads of it that come in the same event find it as if it were here.
    wanted: Option<Wanted>,
    /// Being read ahead.
    current: Option<Wanted>,
}

impl Detector {
    /// Without pages.
    pub fn new(rules: Rules) -> Self {
        Detector {
            onset: rules.by_onset.then(Onset::default),
            strided: rules.by_onset.then(Strided::default),
            rules,
            tracks: Vec::new(),
            last: 0,
            departed: None,
            now: 0,
            in_request: false,
            first: 0,
            reread: None,
            request_at: 0,
            wanted: None,
            current: None,
        }
    }

    /// As `new`; and what was read just now counts though another policy gives it up at once, as
    /// one does that expects it last of all.
    pub fn beside_another(rules: Rules) -> Self {
        Detector { departed: Some(Departed::default()), ..Detector::new(rules) }
    }

    /// The list a page is for.
    pub fn class(&self, page: Page) -> Class {
        self.tracks[page as usize].class
    }

    fn carry(&mut self, page: Page, track: Track, carried: Carried) {
        by_page::reach(&mut self.tracks, page, Track { class: Class::Random, counter: 0, trigger: false, read_at: 0 });
        self.tracks[page as usize] = track;
        if let Reach::Adapted(amp) = &mut self.rules.reach {
            amp.carry(page, carried);
        }
    }

    fn carried(&self, page: Page) -> Carried {
        match &self.rules.reach {
            Reach::Fixed { .. } => Carried::default(),
            Reach::Adapted(amp) => amp.of(page),
        }
    }

    /// A page is taken for a block that is read ahead.
    pub fn taken_ahead(&mut self, page: Page, block: Block, context: &Context<'_>) {
        let current = self.current.filter(|current| current.holds(block));
        let trigger = current.is_some_and(|current| current.triggers_at(block));
        let read_at = context.table.came() as u32;
        let track = Track { class: Class::Sequential, counter: 0, trigger, read_at };
        self.carry(page, track, Carried::default());
        if let (Reach::Adapted(amp), Some(current)) = (&mut self.rules.reach, current) {
            amp.bring(page, current.stream.at(block.index, current.end));
            if let (true, Some(strided)) = (amp.of(page).is_strided(), &mut self.strided) {
                strided.brought(block);
            }
        }
    }

    /// A page is taken for a block that is disclosed, or that a reader misses who disclosed it: it
    /// is of no run's list.
    pub fn taken_disclosed(&mut self, page: Page, context: &Context<'_>) {
        let read_at = context.table.came() as u32;
        self.carry(page, Track { class: Class::Random, counter: 0, trigger: false, read_at }, Carried::default());
    }

    /// A page is on its run's list no longer.
    pub fn leave(&mut self, page: Page) {
        let track = &mut self.tracks[page as usize];
        (track.class, track.trigger) = (Class::Random, false);
    }

    /// What was read of the block before, if that is here, or was given up just now.
    fn before(&self, block: Block, context: &Context<'_>) -> Option<Read> {
        let before = Block { index: block.index.checked_sub(1)?, ..block };
        // Most often it was read just now.
        let page =
            Some(self.last).filter(|&last| context.table.holds(last, before)).or_else(|| context.table.find(before));
        match page {
            Some(page) => Some(self.before_request(self.read_of(page))),
            None => self.departed.as_ref()?.find(before, self.now),
        }
    }

    /// Whether the request that is being served read this last.
    fn is_of_request(&self, read: Read) -> bool {
        self.rules.by_requests() && self.in_request && read.counter > 0 && read.age(self.now) == 1
    }

    /// A request that has only read again so far goes on from one that ended where it is: of what it
    /// read last counts when that was read before.
    fn before_request(&self, read: Read) -> Read {
        match self.reread {
            Some(at) if self.is_of_request(read) => Read { at, ..read },
            _ => read,
        }
    }

    /// What was read of a page's block.
    fn read_of(&self, page: Page) -> Read {
        let Track { counter, read_at, .. } = self.tracks[page as usize];
        Read { counter, at: read_at, carried: self.carried(page) }
    }

    /// What it counts that the block after this one is read now; nothing: it goes on no run.
    fn step_from(&self, before: Read, context: &Context<'_>) -> u16 {
        let age = before.age(self.now);
        if !self.rules.by_requests() || age <= (context.capacity / WHOLE_PART).max(RECENT_MIN) {
            WHOLE_STEP
        } else if age <= context.capacity / HALF_PART {
            HALF_STEP
        } else {
            0
        }
    }

    /// Whether a block that is read now long after the one before goes on a run all the same: those before
    /// were read in order, and no faster.
    fn goes_on_slowly(&self, block: Block, before: Read, context: &Context<'_>) -> bool {
        if !self.rules.by_requests() || self.step_from(before, context) > 0 {
            return false;
        }
        let count = IN_ORDER.max(u64::from(self.rules.threshold / WHOLE_STEP));
        let Some(first) = block.index.checked_sub(count) else { return false };
        let mut ages = (first..block.index).rev().map(|index| {
            let read = self.before_request(self.read_of(context.table.find(Block { index, ..block })?));
            (read.counter > 0).then(|| read.age(self.now))
        });
        let Some(Some(nearest)) = ages.next() else { return false };
        let mut furthest = nearest;
        let in_order = ages.all(|age| age.is_some_and(|age| std::mem::replace(&mut furthest, age) < age));
        in_order && nearest * (count - 1) <= PACES * (furthest - nearest)
    }

    fn counter_after(&self, before: Option<Read>, is_slow: bool, context: &Context<'_>) -> u16 {
        let Some(before) = before else { return WHOLE_STEP };
        if is_slow {
            return self.rules.threshold;
        }
        // This request read it.
        if self.reread.is_none() && self.is_of_request(before) {
            return before.counter;
        }
        match self.step_from(before, context) {
            0 => WHOLE_STEP,
            step => (before.counter + step).clamp(WHOLE_STEP, self.rules.threshold.max(WHOLE_STEP)),
        }
    }

    /// Whether a block that is read now goes on a run, of which the one before it is the last.
    fn is_run(&self, before: Read, context: &Context<'_>) -> bool {
        before.counter >= self.rules.threshold && self.step_from(before, context) > 0
    }

    /// A reader is at this page, whose block was read before at this time.
    fn note_read(&mut self, page: Page, read_before: Option<u32>) {
        if !self.in_request {
            (self.request_at, self.reread, self.first) = (self.now, read_before, page);
        }
        self.reread = self.reread.and(read_before);
        self.tracks[page as usize].read_at = self.now;
        self.now = self.now.wrapping_add(1);
        self.last = page;
        self.in_request = true;
    }

    /// A block is read that was not since it came. Returns whether its request has read no such block
    /// before.
    fn note_new(&mut self, block: Block, missed: bool, is_run: bool, context: &Context<'_>) -> bool {
        let is_first = !self.in_request || self.reread.is_some();
        if let Some(strided) = &mut self.strided {
            let begin = if self.in_request { context.table.block(self.first) } else { block };
            strided.read(block, begin, !is_first, missed, is_run);
        }
        self.onset.iter_mut().for_each(|onset| onset.read(block, !is_first, is_run, context));
        is_first
    }

    /// A page is taken for a block that a reader misses. Returns what is to be read ahead because
    /// of it.
    pub fn missed(&mut self, page: Page, block: Block, context: &Context<'_>) -> Option<Stretch> {
        let before = self.before(block, context);
        let is_slow = before.is_some_and(|before| self.goes_on_slowly(block, before, context));
        let counter = self.counter_after(before, is_slow, context);
        let run = before.filter(|&before| is_slow || self.is_run(before, context));
        let begins = self.note_new(block, true, run.is_some(), context);
        if let (true, None, Some(onset)) = (begins, run, &mut self.onset) {
            onset.missed(block, Place::of(block, counter > WHOLE_STEP), context);
        }
        let track = Track { class: Class::Random, counter, trigger: false, read_at: self.now };
        if let Some(wanted) = self.wanted.filter(|wanted| wanted.holds(block)) {
            let carried = wanted.stream.at(block.index, wanted.end);
            self.carry(page, Track { class: Class::Sequential, ..track }, carried);
            self.note_read(page, None);
            return wanted.triggers_at(block).then(|| self.go_on(block, carried, context));
        }
        let class = if run.is_some() { Class::Sequential } else { Class::Random };
        let carried = run.map_or(Carried::default(), |before| before.carried);
        // Where nothing may be read ahead for now, the run is carried on as it is.
        let let_go_on = run.is_none() || context.reads_runs(block.file);
        self.carry(page, Track { class, ..track }, if let_go_on { Carried::default() } else { carried.at_its_end() });
        self.note_read(page, None);
        run.filter(|_| let_go_on)?;
        let wanted = match &self.rules.reach {
            &Reach::Fixed { degree, group, trigger_offset } => Wanted::fixed(block, degree, group, trigger_offset),
            Reach::Adapted(amp) => Wanted::adapted(block, amp.missed(carried, context.capacity)),
        };
        if let Reach::Adapted(amp) = &mut self.rules.reach {
            amp.carry(page, wanted.stream.at(block.index, wanted.end));
        }
        Some(self.want(Wanted { misses: 1, ..wanted }, context))
    }

    /// Whether a page was brought for a run, and may well be read yet: not once so many pages came
    /// that it may be taken to have been brought in vain.
    pub fn is_awaited(&self, page: Page, context: &Context<'_>) -> bool {
        let read = self.read_of(page);
        let came = context.table.came() as u32;
        self.class(page) == Class::Sequential && read.counter == 0 && read.age(came) <= context.capacity / TURNED_PART
    }

    /// Whether the request that is being served has read a page: its reader is past it.
    pub fn is_passed(&self, page: Page) -> bool {
        let read = self.read_of(page);
        self.in_request && read.counter > 0 && read.age(self.now) <= u64::from(self.now.wrapping_sub(self.request_at))
    }

    /// Whether what was read here goes on a run.
    pub fn is_of_run(&self, page: Page) -> bool {
        self.tracks[page as usize].counter >= self.rules.threshold
    }

    /// A page's block is read, and what comes after it is not to be read ahead for that.
    pub fn read(&mut self, page: Page, context: &Context<'_>) {
        self.read_here(page, context);
        self.strided.iter_mut().for_each(Strided::leave);
    }

    #[inline]
    fn read_here(&mut self, page: Page, context: &Context<'_>) {
        let Track { counter, read_at, .. } = self.tracks[page as usize];
        if counter == 0 {
            self.first_read(page, context);
        }
        self.note_read(page, (counter > 0).then_some(read_at));
    }

    /// Apart, as is what a trigger leads to, so that what comes on every hit is small enough to be
    /// part of its caller.
    #[cold]
    fn first_read(&mut self, page: Page, context: &Context<'_>) {
        let block = context.table.block(page);
        let before = self.before(block, context);
        let is_slow = before.is_some_and(|before| self.goes_on_slowly(block, before, context));
        self.tracks[page as usize].counter = self.counter_after(before, is_slow, context);
        let is_run = is_slow || before.is_some_and(|before| self.is_run(before, context));
        self.note_new(block, false, is_run, context);
        if let Reach::Adapted(amp) = &mut self.rules.reach {
            if let (true, Some(strided)) = (amp.of(page).is_strided(), &mut self.strided) {
                strided.of_use(block);
            }
            amp.of_use(page);
        }
    }

    /// A reader finds a page here or on its way. Returns what is to be read ahead because of it.
    #[inline(always)]
    pub fn found(&mut self, page: Page, context: &Context<'_>) -> Option<Stretch> {
        self.read_here(page, context);
        if self.tracks[page as usize].trigger { self.trigger(page, context) } else { None }
    }

    /// A reader waits for a page on its way.
    pub fn late(&mut self, page: Page, block: Block, context: &Context<'_>) {
        let is_unread = self.tracks[page as usize].counter == 0;
        if let (true, Reach::Adapted(amp)) = (is_unread, &mut self.rules.reach) {
            amp.late(page, block, context.table);
            if let (true, Some(strided)) = (amp.of(page).is_strided(), &mut self.strided) {
                strided.late(block);
            }
        }
    }

    /// A page is given up.
    pub fn left(&mut self, page: Page, block: Block, context: &Context<'_>) {
        let read = self.read_of(page);
        if let Some(onset) = self.onset.as_mut().filter(|_| read.counter > 0) {
            onset.gave_up(block, context);
        }
        let Reach::Adapted(amp) = &mut self.rules.reach else { return };
        if read.counter == 0 {
            if let (true, Some(strided)) = (amp.of(page).is_strided(), &mut self.strided) {
                strided.in_vain(block);
            }
            amp.in_vain(page, block, context.table);
        } else if let Some(departed) = &mut self.departed {
            departed.push(block, read, self.now);
        }
    }

    /// A page's block could not be brought.
    pub fn lost(&mut self, page: Page) {
        if let Reach::Adapted(amp) = &mut self.rules.reach {
            amp.forget_unread(page);
        }
    }

    /// What is noted of all agrees with what is noted of each.
    pub fn check(&self) {
        self.onset.iter().for_each(Onset::check);
        if let Reach::Adapted(amp) = &self.rules.reach {
            amp.check();
        }
    }

    /// The page has the trigger.
    #[inline(never)]
    fn trigger(&mut self, page: Page, context: &Context<'_>) -> Option<Stretch> {
        let block = context.table.block(page);
        context.reads_runs(block.file).then(|| self.go_on(block, self.carried(page), context))
    }

    /// The trigger was read: what comes after is wanted.
    #[inline(never)]
    fn go_on(&mut self, block: Block, carried: Carried, context: &Context<'_>) -> Stretch {
        let wanted = match &self.rules.reach {
            &Reach::Fixed { degree, group, trigger_offset } => Wanted::fixed(block, degree, group, trigger_offset),
            Reach::Adapted(amp) => Wanted::adapted(block, amp.goes_on(carried, context.capacity)),
        };
        self.want(wanted, context)
    }

    /// The request that is being served is over. Returns what is to be read ahead if it begins a run,
    /// unless one is read on already.
    pub fn request_ended(&mut self, context: &Context<'_>) -> Option<Stretch> {
        let begin = self.onset.as_mut().and_then(Onset::ended);
        if let (true, Some(strided), Reach::Adapted(amp)) = (self.in_request, &mut self.strided, &self.rules.reach) {
            strided.request_ended(context.table.block(self.last), amp, context);
        }
        begin.and_then(|begin| self.begin(begin, context))
    }

    /// The request that is over may begin a run.
    fn begin(&mut self, begin: Begin, context: &Context<'_>) -> Option<Stretch> {
        let Reach::Adapted(amp) = &mut self.rules.reach else { return None };
        let last = begin.last;
        if self.wanted.is_some() || !context.table.holds(self.last, last) || !context.reads_runs(last.file) {
            return None;
        }
        let wanted = Wanted::adapted(last, amp.begins(context.capacity));
        let end = wanted.end.min(context.blocks_of(last.file));
        if !begin.pays(end.saturating_sub(wanted.first), context) {
            return None;
        }
        amp.carry(self.last, wanted.stream.at(last.index, wanted.end));
        Some(self.want(wanted, context))
    }

    /// This is wanted, as far as the file goes.
    fn want(&mut self, wanted: Wanted, context: &Context<'_>) -> Stretch {
        let new = Wanted { end: wanted.end.min(context.blocks_of(wanted.file)).max(wanted.first), ..wanted };
        self.wanted = match self.wanted {
            Some(old) if old.file == new.file => Some(Wanted {
                first: old.first.min(new.first),
                end: old.end.max(new.end),
                misses: old.misses + new.misses,
                ..new
            }),
            _ => Some(new),
        };
        new.stretch()
    }

    /// A page of a stretch that is wanted is here or on its way already. Whether it counts as
    /// brought anew, and the trigger moves: with the one before as well, a memory that is too
    /// small for a stretch does better or worse by chance.
    pub fn join(&mut self, page: Page, block: Block) -> bool {
        let track = &mut self.tracks[page as usize];
        let triggers = self.wanted.is_some_and(|wanted| wanted.triggers_at(block));
        if self.rules.anomaly {
            track.trigger |= triggers;
            return false;
        }
        (track.class, track.trigger) = (Class::Sequential, triggers);
        if let (Reach::Adapted(amp), Some(wanted)) = (&mut self.rules.reach, self.wanted) {
            let carried = wanted.stream.at(block.index, wanted.end);
            if track.counter == 0 {
                amp.bring(page, carried);
            } else {
                amp.carry(page, carried);
            }
        }
        true
    }

    /// Hands out what is wanted. Asked again, what was handed out is on its way.
    pub fn next_stretch(&mut self) -> Option<Stretch> {
        let of_strided = |strided: &mut Strided| strided.next_stretch().map(Wanted::strided);
        self.current = self.wanted.take().or_else(|| self.strided.as_mut().and_then(of_strided));
        self.in_request &= self.current.is_some();
        self.current.as_ref().map(Wanted::stretch)
    }

    /// Whether a block would be given up for one of the same stretch that is read after it.
    pub fn is_nearer(&self, block: Block, missing: Option<Block>) -> bool {
        let holds =
            |current: &Wanted| missing.is_some_and(|missing| current.holds(missing) && block.index < missing.index);
        !self.rules.anomaly && self.current.is_some_and(|current| current.holds(block) && holds(&current))
    }
}
