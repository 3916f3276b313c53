//! What was learned of each class of blocks: what a page of it is worth at each age.

use super::ages;
use super::density::{self, Hazards, Returns};
use super::samples::Samples;
use crate::ids::Block;

/// Classes by the power of two of a block's last interval, and first that of blocks whose last
/// interval is not known.
pub const CLASSES: usize = ages::AGE_MAX.ilog2() as usize + 2;

/// Memories of references for which a block is followed. A loop longer than that is not seen:
/// 1.6 % of it would be kept.
const HORIZON_MEMORIES: u64 = 64;
/// What was seen this many memories of references ago counts half, or this many references ago in
/// a smaller memory.
const HALF_LIFE_MEMORIES: u64 = 8;
const HALF_LIFE_MIN: u64 = 4_000;

/// It is learned anew after this part of as many references as there are samples: all of them are
/// looked at for that.
const LEARNS_PART: u64 = 16;

/// One class.
#[derive(Default)]
struct Class {
    returns: Returns,
    /// By bucket of the age; none until it has samples, and what it is worth is what all are.
    densities: Option<Vec<f64>>,
}

/// All classes.
pub struct Learned {
    samples: Samples,
    classes: Vec<Class>,
    /// Of all classes together.
    all: Returns,
    densities_of_all: Vec<f64>,
    prior: Hazards,
    /// The number of references when it was learned from samples last.
    learned: u64,
}

impl Default for Learned {
    fn default() -> Self {
        let prior = density::prior();
        let classes = (0..CLASSES).map(|_| Class::default()).collect();
        let densities_of_all = density::densities(&prior);
        Learned { samples: Samples::default(), classes, all: Returns::default(), densities_of_all, prior, learned: 0 }
    }
}

/// The class of a block whose last interval is this, where shorter ones than `least` are alike.
pub fn class(interval: Option<u64>, least: u64) -> u8 {
    interval.map_or(0, |it| it.clamp(least, ages::AGE_MAX).ilog2() as u8 + 1)
}

impl Learned {
    /// A reference to a block, which is of this class from now on. If it is in the sample, which
    /// part of all blocks that is.
    pub fn refer(&mut self, block: Block, now: u64, class: u8) -> Option<f64> {
        if !self.samples.follows(block) {
            return None;
        }
        if let Some(before) = self.samples.refer(block, now, class) {
            self.all.note(now - before.last);
            self.classes[usize::from(before.class)].returns.note(now - before.last);
        }
        Some(self.samples.part())
    }

    /// Brings up to date what pages are worth, if there is enough that is new.
    pub fn learn(&mut self, now: u64, capacity: u64) {
        let Learned { samples, classes, all, .. } = self;
        if now - self.learned < samples.len() / LEARNS_PART {
            return;
        }
        samples.expire(now.saturating_sub(HORIZON_MEMORIES * capacity));
        let half_life = (HALF_LIFE_MEMORIES * capacity).max(HALF_LIFE_MIN) as f64;
        let faded = 0.5_f64.powf((now - self.learned) as f64 / half_life);
        self.learned = now;
        // What was counted of twice as many blocks counts half beside those that are followed now.
        let faded = faded * samples.adapt();
        let fading = density::fading(half_life);
        let open = samples.open(now, CLASSES);
        let mut open_of_all = [0; ages::BUCKETS];
        for of_class in &open {
            open_of_all.iter_mut().zip(of_class).for_each(|(sum, it)| *sum += it);
        }
        all.fade(faded);
        let above = all.hazards(&open_of_all, &fading, &self.prior);
        self.densities_of_all = density::densities(&above);
        for (class, open) in classes.iter_mut().zip(&open) {
            if class.densities.is_some() || open.iter().any(|&it| it > 0) {
                class.returns.fade(faded);
                class.densities = Some(density::densities(&class.returns.hazards(open, &fading, &above)));
            }
        }
    }

    /// What a page of this class is worth at this age: hits a reference of memory.
    pub fn density(&self, class: u8, age: u64) -> f64 {
        let densities = self.classes[usize::from(class)].densities.as_ref().unwrap_or(&self.densities_of_all);
        densities[ages::bucket(age)]
    }
}
