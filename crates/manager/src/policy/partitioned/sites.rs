//! PCC's classification: what each call site does is learned from blocks it read that are read
//! again (004 sections 4.1, 4.2).
//!
//! ```text
//! refer(b, c):   class = classify(c)                                          before anything is counted
//!                if b is in the block table, put there by d at t:
//!                    Seq(d) -= T, not below 0;  Loop(d) += T
//!                    period(d) = (period(d) + now - t) / 2                    the first time: now - t
//!                    take b out
//!                if b is sampled:  put (b, c, now) into the block table
//!                                  Seq(c) += T, unless b was there of c itself
//!
//! classify(c):   looping      if Loop(c) > Seq(c)
//!                sequential   else if Seq(c) >= threshold
//!                other        else
//! ```
//!
//! T is the sampling period; without sampling it is 1. The paper's Figure 4 has the version without
//! sampling, in which b stays in the table; that is the same, since each b is sampled.
//!
//! # Where this differs from the paper
//! - **Samples are chosen by the block** (`by_hash`), not by counting. If every T-th reference is
//!   sampled, a second pass meets other blocks than the first sampled, and adds as much to Seq as
//!   to Loop: a loop is recognised in its third pass, unless its length is a multiple of T. By the
//!   block it is in the middle of the second.
//! - **Seq and Loop are halved as they grow** (`halve_at`): else a site that looped long takes as
//!   many blocks to be seen as sequential.
//! - **A loop must be regular** (`irregular`). The paper takes a site for looping whose blocks are
//!   read again, however far apart. What reads for everybody (an interpreter, a server of blocks)
//!   has but one site, whose blocks return after anything from ten references to thousands, and MRU
//!   then throws out what is read most. So a site's mean distance from its period is kept beside
//!   the period, and it is looping only while that is small against it; else it is `other`, which a
//!   policy of recency does well. It is believed to be irregular at first: a new loop is believed
//!   after a dozen samples. Nor is it sequential, if it is irregular and more than a few of its
//!   blocks are read again: as in the paper it would be until half are, and a reader of a hot set
//!   lose that until it has read each block twice, for sequential pages go first.
//! - **Full tables** lose the older half: of sites by last use, of blocks by age. The paper evicts
//!   the site that was used longest ago with all its blocks; one that reads gigabytes in sequence
//!   would be driven out by its own.

use super::{Class, Classify, Group, Verdict};
use crate::ids::{Block, Site};
use crate::policy::{Access, Lesson};
use crate::table::{FastMap, hash};

/// Call sites known: the paper saw up to 605 in a trace; a scanned stack tells more of them apart.
const SITES_MAX: usize = 1 << 14;
/// Blocks sampled: the paper saw 9,000 with a period of 20, 220,000 without sampling.
const SAMPLES_MAX: usize = 1 << 18;

/// An irregular site is sequential while no more than this part of its blocks is read again.
const REREAD_PART: u64 = 20;
/// And until so many samples came back.
const REREAD_SAMPLES: u64 = 4;

/// How sites are classified.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// Blocks not read again that make a site sequential.
    pub threshold_blocks: u64,
    /// One block in so many is sampled.
    pub sample: u64,
    /// Which: by the block, or each `sample`-th of a site.
    pub by_hash: bool,
    /// Seq + Loop is halved when it is more than this.
    pub halve_at_blocks: u64,
    /// A site is looping while its mean distance from its period is at most so many times the
    /// period.
    pub irregular: f64,
    /// One signature in two processes is two sites.
    pub per_process: bool,
}

/// What is known of a call site: a row of the PC table.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// Seq.
    sequential: u64,
    /// Loop.
    looping: u64,
    /// References between two of a block; 0: none was read again.
    period: u64,
    /// How far from the period these lie in the mean.
    spread: u64,
    /// References since the last sample.
    unsampled: u64,
    /// Its last reference.
    used: u64,
}

impl Known {
    fn class(&self, rules: &Rules) -> Class {
        let is_regular = self.spread as f64 <= self.period as f64 * rules.irregular;
        let is_reread = self.looping > self.sequential / REREAD_PART + REREAD_SAMPLES * rules.sample;
        match self.looping > self.sequential {
            true if is_regular => Class::Looping { period: self.period },
            false if self.sequential >= rules.threshold_blocks && (is_regular || !is_reread) => Class::Sequential,
            _ => Class::Other,
        }
    }

    /// A block that was counted once was read again so many references later.
    fn came_back(&mut self, after: u64, rules: &Rules) {
        self.sequential = self.sequential.saturating_sub(rules.sample);
        self.looping += rules.sample;
        if self.period == 0 {
            (self.period, self.spread) = (after, after);
        } else {
            self.spread = (7 * self.spread + after.abs_diff(self.period)) / 8;
            self.period = (self.period + after).div_ceil(2);
        }
    }
}

/// A row of the block table.
#[derive(Debug, Clone, Copy)]
struct Sample {
    group: Group,
    at: u64,
}

/// The PC table and the block table.
pub(crate) struct Sites {
    rules: Rules,
    sites: FastMap<Group, Known>,
    samples: FastMap<u64, Sample>,
}

impl Sites {
    pub fn new(rules: Rules) -> Self {
        Sites { rules, sites: FastMap::default(), samples: FastMap::default() }
    }

    /// Whether this block is sampled each time.
    fn is_sampled_by_hash(&self, key: u64) -> bool {
        hash(key).is_multiple_of(self.rules.sample)
    }

    /// Whether this block, which may be sampled, is now.
    fn is_sampled(&mut self, group: Group) -> bool {
        if self.rules.by_hash {
            return true;
        }
        let Some(known) = self.sites.get_mut(&group) else { return false };
        known.unsampled = (known.unsampled + 1) % self.rules.sample;
        known.unsampled == 0
    }

    fn know(&mut self, group: Group, known: Known) {
        if self.sites.len() >= SITES_MAX {
            keep_newer_half(&mut self.sites, |known| known.used);
        }
        self.sites.insert(group, known);
    }
}

/// Drops what was last used before the median.
fn keep_newer_half<K: Eq + std::hash::Hash, V>(map: &mut FastMap<K, V>, used: impl Fn(&V) -> u64) {
    let mut times: Vec<u64> = map.values().map(&used).collect();
    let half = times.len() / 2;
    let (_, &mut median, _) = times.select_nth_unstable(half);
    map.retain(|_, it| used(it) > median);
}

impl Classify for Sites {
    fn uses_sites(&self) -> bool {
        true
    }

    fn refer(&mut self, now: u64, block: Block, access: &Access) -> Verdict {
        let group = (access.site.0, if self.rules.per_process { access.reader.0 } else { 0 });
        let mut class = Class::Other;
        match self.sites.get_mut(&group) {
            Some(known) => {
                known.used = now;
                class = known.class(&self.rules);
            }
            None => self.know(group, Known { used: now, ..Known::default() }),
        }
        if self.rules.by_hash && !self.is_sampled_by_hash(block.key()) {
            return Verdict { class, group, renewed: None };
        }
        let before = self.samples.remove(&block.key());
        let mut renewed = None;
        if let Some(Sample { group, at }) = before
            && let Some(known) = self.sites.get_mut(&group)
        {
            known.came_back(now - at, &self.rules);
            renewed = Some((group, known.period));
        }
        if self.is_sampled(group) {
            if self.samples.len() >= SAMPLES_MAX {
                keep_newer_half(&mut self.samples, |sample| sample.at);
            }
            self.samples.insert(block.key(), Sample { group, at: now });
            if before.is_none_or(|it| it.group != group)
                && let Some(known) = self.sites.get_mut(&group)
            {
                known.sequential += self.rules.sample;
            }
        }
        if let Some(known) = self.sites.get_mut(&group)
            && known.sequential + known.looping > self.rules.halve_at_blocks
        {
            (known.sequential, known.looping) = (known.sequential / 2, known.looping / 2);
        }
        // A page's period is its site's as it is now.
        if let Some((renewed, period)) = renewed
            && let Class::Looping { .. } = class
            && group == renewed
        {
            class = Class::Looping { period };
        }
        Verdict { class, group, renewed }
    }

    /// What is learned of processes apart does not outlive them.
    fn lessons(&self) -> Vec<Lesson> {
        let lesson = |(&(site, _), known): (&Group, &Known)| {
            let Known { sequential, looping, period, spread, .. } = *known;
            Lesson::Site { site: Site(site), sequential, looping, period, spread }
        };
        if self.rules.per_process {
            return Vec::new();
        }
        let mut known: Vec<_> = self.sites.iter().filter(|(_, it)| it.sequential + it.looping > 0).collect();
        known.sort_unstable_by_key(|&(&(site, _), _)| site);
        known.into_iter().map(lesson).collect()
    }

    fn taught(&mut self, lesson: Lesson) {
        if let Lesson::Site { site, sequential, looping, period, spread } = lesson
            && !self.rules.per_process
        {
            self.know((site.0, 0), Known { sequential, looping, period, spread, ..Known::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Demand;
    use crate::ids::{FileId, ReaderId, Time};

    const PAPER: Rules = Rules {
        threshold_blocks: 3,
        sample: 1,
        by_hash: false,
        halve_at_blocks: u64::MAX,
        irregular: f64::INFINITY,
        per_process: false,
    };

    /// Drives a table, and counts the references.
    struct Walk(Sites, u64);

    impl Walk {
        fn new(rules: Rules) -> Self {
            Walk(Sites::new(rules), 0)
        }

        fn read(&mut self, site: u64, index: u64) -> Class {
            self.1 += 1;
            let (reader, demand) = (ReaderId(1), Demand::Observed);
            let access =
                Access { now: Time(0), reader, site: Site(site), demand, hinted: None, first: false, next: None };
            self.0.refer(self.1, Block { file: FileId(0), index }, &access).class
        }

        /// The classes of one pass, as letters; a loop with its period.
        fn pass(&mut self, site: u64, blocks: std::ops::Range<u64>) -> String {
            let words: Vec<String> = blocks
                .map(|index| match self.read(site, index) {
                    Class::Sequential => "S".to_owned(),
                    Class::Looping { period, .. } => format!("L{period}"),
                    Class::Other => "O".to_owned(),
                })
                .collect();
            words.join(" ")
        }
    }

    /// 004 Figure 5, with a threshold of three.
    #[test]
    fn the_walk_of_figure_5() {
        let mut walk = Walk::new(PAPER);
        // PC1 reads a sequence: the first three are other, the rest sequential.
        assert_eq!(walk.pass(1, 0..6), "O O O S S S");
        // Again: with the first block that returns Seq is 5 and Loop 1, and so on; it is looping when Loop
        // is the greater.
        assert_eq!(walk.pass(1, 0..6), "S S S S L6 L6");
        // PC2 comes in between, reads other blocks, and is sequential after three.
        assert_eq!(walk.pass(2, 100..106), "O O O S S S");
        // Future blocks of PC1 are looping at once.
        assert_eq!(walk.pass(1, 200..203), "L6 L6 L6");
        // Nothing has changed for PC2.
        assert_eq!(walk.pass(2, 106..108), "S S");
        // PC3 reads what PC1 read. It is new: other, then sequential, although PC1 stays looping.
        assert_eq!(walk.pass(3, 0..6), "O O O S S S");
        // 17 references after PC1 read them: its period has moved that way six times from 6.
        assert_eq!(walk.pass(1, 300..302), "L17 L17");
    }

    /// 004 section 4.1: small files read once each by one site add up to its threshold, and need no
    /// learning of their own.
    #[test]
    fn small_files_are_one_site() {
        let mut walk = Walk::new(PAPER);
        assert_eq!(walk.pass(1, 0..2), "O O");
        assert_eq!(walk.pass(1, 50..52), "O S");
    }

    /// Every 20th reference sampled, a loop whose length is no multiple is seen in the third pass;
    /// by the block, in the second.
    #[test]
    fn when_a_sampled_loop_is_seen() {
        let passes = |by_hash, length: u64| {
            let mut walk = Walk::new(Rules { threshold_blocks: 100, sample: 20, by_hash, ..PAPER });
            (0..4).map(|_| walk.pass(1, 0..length).contains('L')).collect::<Vec<_>>()
        };
        assert_eq!(passes(false, 1010), [false, false, true, true]);
        assert_eq!(passes(false, 1000), [false, true, true, true]);
        assert_eq!(passes(true, 1010), [false, true, true, true]);
    }

    /// A site that looped is seen as sequential after about as many blocks as are remembered.
    #[test]
    fn what_was_learned_fades() {
        let blocks = |halve_at_blocks| {
            let mut walk = Walk::new(Rules { threshold_blocks: 100, halve_at_blocks, ..PAPER });
            (0..20).for_each(|_| drop(walk.pass(1, 0..500)));
            (1000..).position(|index| walk.read(1, index) == Class::Sequential)
        };
        assert!(blocks(u64::MAX) > Some(9_000));
        assert!(blocks(1000) < Some(1_000), "{:?}", blocks(1000));
    }

    /// Blocks that return after 2 references and after hundreds are no loop.
    #[test]
    fn what_is_irregular_is_other() {
        let last = |irregular| {
            let mut walk = Walk::new(Rules { irregular, ..PAPER });
            let mut last = Class::Other;
            for index in 0..4000 {
                last = walk.read(1, if index % 4 == 0 { index % 1200 } else { 5000 + index % 2 });
            }
            last
        };
        assert!(matches!(last(f64::INFINITY), Class::Looping { .. }));
        assert_eq!(last(0.3), Class::Other);
    }

    #[test]
    fn a_second_run_starts_classified() {
        let mut first = Walk::new(PAPER);
        (0..3).for_each(|_| drop(first.pass(7, 0..50)));
        first.pass(8, 100..150);
        let mut second = Walk::new(PAPER);
        first.0.lessons().into_iter().for_each(|lesson| second.0.taught(lesson));
        assert_eq!(second.pass(7, 0..2), "L50 L50");
        assert_eq!(second.pass(8, 100..102), "S S");
        assert_eq!(second.0.lessons().len(), 2);
    }

    /// More sites and blocks than there is room for: the newer ones are known.
    #[test]
    fn tables_do_not_grow_for_ever() {
        let mut walk = Walk::new(PAPER);
        for site in 0..3 * SITES_MAX as u64 {
            walk.read(site, site);
        }
        assert!(walk.0.sites.len() <= SITES_MAX && walk.0.sites.contains_key(&(3 * SITES_MAX as u64 - 1, 0)));
        for index in 0..2 * SAMPLES_MAX as u64 {
            walk.read(1, index);
        }
        assert!(walk.0.samples.len() <= SAMPLES_MAX);
        assert_eq!(walk.read(1, 2 * SAMPLES_MAX as u64), Class::Sequential);
    }
}
