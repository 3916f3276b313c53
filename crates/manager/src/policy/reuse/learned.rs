//! What was learned of each class of blocks: what a page of it is worth at each age.

use super::ages::{self, BUCKETS};
use super::density::{self, Hazards, Returns};
use super::runs::Costs;
use super::samples::{Sample, Samples};
use super::sources::{Source, Sources};
use crate::ids::Block;
use crate::policy::Lesson;

/// Intervals are told apart by their power of two; and first that which is not known.
pub const INTERVALS: usize = ages::AGE_MAX.ilog2() as usize + 2;

/// Blocks that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Class {
    /// Their file, if it is told apart.
    pub source: Source,
    /// Their last interval.
    pub interval: u8,
}

impl Class {
    /// The number of a last interval; the least of those that have it is `1 << (number - 1)`.
    fn of_interval(interval: Option<u64>) -> u8 {
        interval.map_or(0, |it| it.clamp(1, ages::AGE_MAX).ilog2() as u8 + 1)
    }

    /// Where it stands among all of them.
    pub fn number(self) -> usize {
        usize::from(self.source) * INTERVALS + usize::from(self.interval)
    }

    /// The class that stands there.
    pub fn of_number(number: usize) -> Self {
        Class { source: (number / INTERVALS) as Source, interval: (number % INTERVALS) as u8 }
    }
}

/// Memories of references for which a block is followed. A loop longer than that is not seen:
/// 1.6 % of it would be kept.
const HORIZON_MEMORIES: u64 = 64;
/// What was seen this many memories of references ago counts half, or this many references ago in
/// a smaller memory.
const HALF_LIFE_MEMORIES: u64 = 8;
const HALF_LIFE_MIN: u64 = 4_000;

/// It is learned anew after this part of as many references as there are samples: all of them are
/// looked at for that. But not sooner than after as many as there are classes.
const LEARNS_PART: u64 = 16;

/// What was seen of a class, and what its pages are worth.
#[derive(Default)]
struct Seen {
    returns: Returns,
    /// By bucket of the age; none until it has samples, and what it is worth is what all are.
    densities: Option<Vec<f64>>,
}

/// All classes.
pub struct Learned {
    samples: Samples,
    sources: Sources,
    /// What it costs to miss them.
    pub costs: Costs,
    /// By the number of the class; of files that are told apart, those of which something was seen.
    of_files: Vec<Option<Box<Seen>>>,
    /// By the interval, of all files.
    of_intervals: Vec<Seen>,
    /// Of all.
    all: Returns,
    densities_of_all: Vec<f64>,
    prior: Hazards,
    /// The number of references when it was learned from samples last.
    learned: u64,
    /// Classes of which something was known then.
    seen: u64,
    /// Since then it was taught what an earlier run learned.
    is_taught: bool,
}

impl Default for Learned {
    fn default() -> Self {
        let prior = density::prior();
        Learned {
            samples: Samples::default(),
            sources: Sources::default(),
            costs: Costs::default(),
            of_files: Vec::new(),
            of_intervals: (0..INTERVALS).map(|_| Seen::default()).collect(),
            all: Returns::default(),
            densities_of_all: density::densities(&prior),
            prior,
            learned: 0,
            seen: 0,
            is_taught: false,
        }
    }
}

impl Learned {
    /// The class of a block that is referred to now, its last interval being this, where shorter
    /// ones than `least` are alike. The memory has so many pages.
    pub fn class(&mut self, block: Block, interval: Option<u64>, least: u64, now: u64, pages: u64) -> Class {
        let (source, was_another) = self.sources.refer(block.file, now, horizon(now, pages));
        let classes = self.sources.len() * INTERVALS;
        if classes > self.of_files.len() {
            self.of_files.resize_with(classes, || None);
        }
        if was_another {
            let first = Class { source, interval: 0 }.number();
            self.of_files[first..first + INTERVALS].fill_with(|| None);
            self.costs.forget(source);
        }
        Class { source, interval: Class::of_interval(interval.map(|it| it.max(least))) }
    }

    /// A reference to a block, which is of this class from now on. If it is in the sample, which
    /// part of all blocks that is.
    pub fn refer(&mut self, block: Block, now: u64, class: Class) -> Option<f64> {
        if !self.samples.follows(block) {
            return None;
        }
        if let Some(before) = self.samples.refer(block, now, class) {
            let age = now - before.last;
            self.all.note(age);
            self.of_intervals[usize::from(before.class.interval)].returns.note(age);
            if before.class.source > 0 {
                self.of_files[before.class.number()].get_or_insert_default().returns.note(age);
            }
        }
        Some(self.samples.part())
    }

    /// Brings up to date what pages are worth, if there is enough that is new.
    pub fn learn(&mut self, now: u64, capacity: u64) {
        let is_soon = now - self.learned < (self.samples.len() / LEARNS_PART).max(self.seen);
        if is_soon && !self.is_taught {
            return;
        }
        self.is_taught = false;
        self.samples.expire(horizon(now, capacity));
        let half_life = (HALF_LIFE_MEMORIES * capacity).max(HALF_LIFE_MIN) as f64;
        let faded = 0.5_f64.powf((now - self.learned) as f64 / half_life);
        self.learned = now;
        // What was counted of twice as many blocks counts half beside those that are followed now.
        let faded = faded * self.samples.adapt();
        let fading = density::fading(half_life);
        let open = self.open(now);
        self.all.fade(faded);
        let above = self.all.hazards(&open.all, &fading, &self.prior);
        self.densities_of_all = density::densities(&above);
        let mut hazards = vec![None; INTERVALS];
        let of_intervals = self.of_intervals.iter_mut().zip(&open.of_intervals).zip(&mut hazards);
        for ((seen, open), hazards) in of_intervals.filter(|((seen, open), _)| seen.densities.is_some() || open.is_some())
        {
            seen.returns.fade(faded);
            let of_interval = seen.returns.hazards(open.as_deref().unwrap_or(&NONE), &fading, &above);
            seen.densities = Some(density::densities(&of_interval));
            *hazards = Some(of_interval);
        }
        self.seen = hazards.iter().flatten().count() as u64;
        for (number, (of_file, open)) in self.of_files.iter_mut().zip(&open.of_files).enumerate() {
            if let Some(seen) = of_file
                && let Some(of_all) = &hazards[usize::from(Class::of_number(number).interval)]
            {
                seen.returns.fade(faded);
                if open.is_none() && seen.returns.is_faded() {
                    *of_file = None;
                    continue;
                }
                let own = seen.returns.hazards_of_part(open.as_deref().unwrap_or(&NONE), &fading, of_all);
                seen.densities = Some(density::densities(&own));
                self.seen += 1;
            }
        }
    }

    /// What was learned of all files, for a later run: of the blocks in the sample. So it weighs no more
    /// than a sample, however long the run was: of all blocks (as many times as many as there are to
    /// one of the sample) a wrong lesson costs 0.3 points of hits for 0.1, and a right one gains 0.7 for 0.6.
    pub fn lessons(&self, now: u64) -> Vec<Lesson> {
        let mut open = vec![NONE; INTERVALS];
        for Sample { last, class } in self.samples.all() {
            open[usize::from(class.interval)][ages::bucket(now - last)] += 1;
        }
        let mut lessons = Vec::new();
        for (number, (seen, open)) in self.of_intervals.iter().zip(&open).enumerate() {
            let interval = if number == 0 { 0 } else { 1 << (number - 1) };
            let sums = seen.returns.sums(open).enumerate().filter(|(_, (used, open))| used + open > 0);
            lessons.extend(sums.map(|(bucket, (used, open))| Lesson::Reuse {
                interval,
                age: ages::begin(bucket),
                used,
                open,
            }));
        }
        lessons
    }

    /// An earlier run saw this of blocks whose last interval was about as long; of none, where that is
    /// not known. It counts as if it had been seen now: with at most 8,000 blocks of it, hits of runs
    /// that are like it are 0.1 points fewer, and those of others 0.05 more.
    pub fn taught(&mut self, interval: Option<u64>, age: u64, used: u64, open: u64) {
        let seen = &mut self.of_intervals[usize::from(Class::of_interval(interval))];
        seen.densities.get_or_insert_with(|| self.densities_of_all.clone());
        seen.returns.add(age, used, open);
        self.all.add(age, used, open);
        self.is_taught = true;
    }

    /// The blocks that may yet be used again.
    fn open(&mut self, now: u64) -> Open {
        let mut open = Open { all: NONE, of_intervals: vec![None; INTERVALS], of_files: Vec::new() };
        open.of_files.resize_with(self.of_files.len(), || None);
        for Sample { last, class } in self.samples.all() {
            let bucket = ages::bucket(now - last);
            open.all[bucket] += 1;
            open.of_intervals[usize::from(class.interval)].get_or_insert_with(|| Box::new(NONE))[bucket] += 1;
            if class.source > 0 {
                open.of_files[class.number()].get_or_insert_with(|| Box::new(NONE))[bucket] += 1;
                self.of_files[class.number()].get_or_insert_default();
            }
        }
        open
    }

    /// What a page of this class is worth at this age: hits a reference of memory.
    pub fn density(&self, class: Class, age: u64) -> f64 {
        self.densities(class)[ages::bucket(age)]
    }

    /// How likely a page of this class that has come to this age is used before it is best given up, and
    /// in how many references that is.
    pub fn best(&self, class: Class, age: u64) -> (f64, u64) {
        let (chance, until) = density::best(self.densities(class), ages::bucket(age));
        (chance, until.saturating_sub(age))
    }

    /// By bucket of the age.
    fn densities(&self, class: Class) -> &[f64] {
        let of_file = || if class.source > 0 { self.of_files.get(class.number())?.as_deref() } else { None };
        let of_interval = &self.of_intervals[usize::from(class.interval)];
        let densities = of_file().and_then(|it| it.densities.as_ref()).or(of_interval.densities.as_ref());
        densities.unwrap_or(&self.densities_of_all)
    }
}

/// Blocks by the bucket of their age: none.
const NONE: [u32; BUCKETS] = [0; BUCKETS];

/// How many blocks that are followed are of each age: all, and of each class.
struct Open {
    all: [u32; BUCKETS],
    of_intervals: Vec<Option<Box<[u32; BUCKETS]>>>,
    of_files: Vec<Option<Box<[u32; BUCKETS]>>>,
}

/// What was not used since this reference is followed no longer.
fn horizon(now: u64, pages: u64) -> u64 {
    now.saturating_sub(HORIZON_MEMORIES * pages)
}
