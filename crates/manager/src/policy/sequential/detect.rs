//! Runs found without a table of streams (003 section II-A), and what is read ahead of them (II-B).
//!
//! Each block here has a counter, set when it is first read: one more than that of the block before it, if that is here, and 1
//! otherwise; never more than the threshold. Any number of runs may be read at once, at any pace: what is known of a run is in its
//! blocks. A block whose predecessor has reached the threshold, and that is missing, is a *sequential miss*: from it on is read ahead
//! while its reader waits (synchronously). One of the blocks so brought carries the *trigger*: when it is read, the next stretch is
//! read ahead, and nobody waits (asynchronously).
//!
//! Worked example, threshold 3, degree 24, group 6, offset 3, a file read from block 0 on:
//!
//! ```text
//! reads of 0, 1, 2   miss; counters 1, 2, 3
//! read of 3          a sequential miss: 4 ..= 24 are read ahead; 21 carries the trigger
//! reads of 4 to 20   hits
//! read of 21         22 ..= 42 are wanted: 25 ..= 42 are read ahead; 39 carries the trigger
//! ```

use super::lists::Class;
use super::{ANOMALY, DEGREE, GROUP, THRESHOLD, TRIGGER_OFFSET};
use crate::ids::{Block, FileId, Page};
use crate::policy::{Context, Stretch, Values};

/// When something is read ahead, and how far.
pub struct Rules {
    threshold: u8,
    degree: u64,
    group: u64,
    trigger_offset: u64,
    anomaly: bool,
}

impl Rules {
    /// As the user chose them.
    pub fn of(values: &Values) -> Self {
        Rules {
            threshold: values.get(THRESHOLD.name) as u8,
            degree: values.get(DEGREE.name) as u64,
            group: values.get(GROUP.name) as u64,
            trigger_offset: values.get(TRIGGER_OFFSET.name) as u64,
            anomaly: values.get(ANOMALY.name) >= 0.5,
        }
    }
}

/// What is kept of a page.
#[derive(Clone, Copy)]
struct Track {
    class: Class,
    /// 0 until it is read.
    counter: u8,
    /// Reading it has the next stretch read ahead.
    trigger: bool,
}

/// A stretch that is wanted.
#[derive(Clone, Copy)]
struct Wanted {
    file: FileId,
    /// From this block up to before `end`.
    first: u64,
    end: u64,
    /// The block that is to carry the trigger.
    trigger: Option<u64>,
    misses: u64,
}

impl Wanted {
    fn holds(&self, block: Block) -> bool {
        block.file == self.file && (self.first..self.end).contains(&block.index)
    }

    fn triggers_at(&self, block: Block) -> bool {
        block.file == self.file && Some(block.index) == self.trigger
    }

    fn stretch(&self) -> Stretch {
        let first = Block { file: self.file, index: self.first };
        Stretch { first, count: self.end - self.first, misses: self.misses }
    }
}

/// What is known of runs.
pub struct Detector {
    rules: Rules,
    /// By page.
    tracks: Vec<Track>,
    /// Not handed out yet: reads of it that come in the same event find it as if it were here.
    wanted: Option<Wanted>,
    /// Being read ahead.
    current: Option<Wanted>,
}

impl Detector {
    /// Without pages.
    pub fn new(rules: Rules) -> Self {
        Detector { rules, tracks: Vec::new(), wanted: None, current: None }
    }

    /// The list a page is for.
    pub fn class(&self, page: Page) -> Class {
        self.tracks[page as usize].class
    }

    fn begin(&mut self, page: Page, track: Track) {
        if page as usize >= self.tracks.len() {
            self.tracks.resize(page as usize + 1, Track { class: Class::Random, counter: 0, trigger: false });
        }
        self.tracks[page as usize] = track;
    }

    /// A page is taken for a block that is read ahead.
    pub fn taken_ahead(&mut self, page: Page, block: Block) {
        let trigger = self.current.is_some_and(|current| current.triggers_at(block));
        self.begin(page, Track { class: Class::Sequential, counter: 0, trigger });
    }

    /// The counter of the block before, if that is here.
    fn before(&self, block: Block, context: &Context<'_>) -> Option<u8> {
        let index = block.index.checked_sub(1)?;
        context.table.find(Block { index, ..block }).map(|page| self.tracks[page as usize].counter)
    }

    /// A page is taken for a block that a reader misses. Returns what is to be read ahead because of it.
    pub fn missed(&mut self, page: Page, block: Block, context: &Context<'_>) -> Option<Stretch> {
        let before = self.before(block, context);
        let counter = before.unwrap_or(0).saturating_add(1).min(self.rules.threshold);
        if let Some(wanted) = self.wanted.filter(|wanted| wanted.holds(block)) {
            self.begin(page, Track { class: Class::Sequential, counter, trigger: false });
            return if wanted.triggers_at(block) { self.want(block, 0, context) } else { None };
        }
        let follows = before == Some(self.rules.threshold);
        let class = if follows { Class::Sequential } else { Class::Random };
        self.begin(page, Track { class, counter, trigger: false });
        if follows { self.want(block, 1, context) } else { None }
    }

    /// A reader finds a page here or on its way. Returns what is to be read ahead because of it.
    #[inline]
    pub fn found(&mut self, page: Page, block: Block, context: &Context<'_>) -> Option<Stretch> {
        let track = self.tracks[page as usize];
        if track.counter == 0 {
            let before = self.before(block, context).unwrap_or(0);
            self.tracks[page as usize].counter = before.saturating_add(1).min(self.rules.threshold);
        }
        if track.trigger { self.want(block, 0, context) } else { None }
    }

    /// What comes after this block is wanted.
    fn want(&mut self, block: Block, misses: u64, context: &Context<'_>) -> Option<Stretch> {
        let Block { file, index } = block;
        let Rules { degree, group, trigger_offset, .. } = self.rules;
        let last = (index + degree).saturating_sub(index % group);
        let trigger = last.checked_sub(trigger_offset).filter(|&trigger| trigger > index);
        let end = (last + 1).min(context.blocks_of(file)).max(index + 1);
        let new = Wanted { file, first: index + 1, end, trigger, misses };
        self.wanted = match self.wanted {
            Some(old) if old.file == file => Some(Wanted {
                first: old.first.min(new.first),
                end: old.end.max(end),
                misses: old.misses + misses,
                ..new
            }),
            _ => Some(new),
        };
        Some(new.stretch())
    }

    /// A page of a stretch that is wanted is here or on its way already. Whether it counts as brought anew, and the trigger moves:
    /// with the one before as well, a memory that is too small for a stretch does better or worse by chance.
    pub fn join(&mut self, page: Page, block: Block) -> bool {
        let track = &mut self.tracks[page as usize];
        let triggers = self.wanted.is_some_and(|wanted| wanted.triggers_at(block));
        if self.rules.anomaly {
            track.trigger |= triggers;
            return false;
        }
        (track.class, track.trigger) = (Class::Sequential, triggers);
        true
    }

    /// Hands out what is wanted. Asked again, what was handed out is on its way.
    pub fn next_stretch(&mut self) -> Option<Stretch> {
        self.current = self.wanted.take();
        self.current.as_ref().map(Wanted::stretch)
    }

    /// Whether a block would be given up for one of the same stretch that is read after it.
    pub fn is_nearer(&self, block: Block, missing: Option<Block>) -> bool {
        let holds =
            |current: &Wanted| missing.is_some_and(|missing| current.holds(missing) && block.index < missing.index);
        !self.rules.anomaly && self.current.is_some_and(|current| current.holds(block) && holds(&current))
    }
}
