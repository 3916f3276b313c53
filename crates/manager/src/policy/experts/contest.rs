//! The contest: what each expert would have paid lately for what it would have missed, and who of
//! them is to be followed.
//!
//! ```text
//! window:      a quarter of a memory of references; cost(e): what expert e would have missed in it, at its price
//! S(e):        the sum of cost(e) over the windows, a window half_life memories ago counting half
//! Q(e, f):     the same sum of (cost(e) - cost(f))^2
//!
//! after each window, of the experts e with S(f) - S(e) > turns sqrt(Q(e, f)), and more than a fiftieth of the memory,
//! against f that is followed:  the one of the least S is followed
//! ```
//!
//! Two experts that keep different parts of one loop pay less in turns, each while its own part is
//! read. Such differences cancel out in S, and add up in Q; those of one that pays less all the
//! time add up in both.
//!
//! # The bound
//! All is forgiven but to cost more than LRU: `estimate/debt.rs` says when LRU is followed for that,
//! how long, and what that bounds. Pages are handed over in the order of their last reference. The
//! bound holds where the sample is all there is, and nothing is fetched ahead.
//!
//! # Samples
//! Of a large memory a sample is looked at: stretches of files, by a hash, in shadows of memories
//! as much smaller (miniature simulations: Waldspurger, Saemundsson, Ahmad, Park: Cache Modeling
//! and Optimization using Miniature Simulations, ATC 2017). Where the memory changes, so does the
//! sample; the larger one holds the smaller.

use super::price::Pieces;
use super::shadow::Shadow;
use crate::estimate::debt::Debt;
use crate::ids::Block;
use crate::policy::{Access, Context, Lesson, Policy};

/// Pages of a shadow at most. With four times as many, hit ratios of seven recordings and a disk
/// were 0.3 points lower in the mean.
const SHADOW_PAGES_MAX: u64 = 1 << 10;
/// Blocks, as a power of two, that are in the sample together, so that runs are seen as such.
const STRETCH_BITS: u32 = 4;
/// Windows in a memory of references.
const WINDOWS: u64 = 4;
/// Less than this part of the memory is no lead.
const LEAD_MIN: f64 = 0.02;

struct Expert {
    shadow: Shadow,
    /// What its shadow lacks.
    pieces: Pieces,
    /// In this window.
    cost: f64,
    /// In those before, the older ones counting less.
    sum: f64,
}

/// The experts, each with its shadow.
pub struct Contest {
    experts: Vec<Expert>,
    /// Of pairs of experts.
    squares: Vec<f64>,
    followed: usize,
    /// Which of them is LRU.
    lru: usize,
    /// What the memory itself lacks.
    pieces: Pieces,
    debt: Debt,
    /// One block of so many is in the sample, as a power of two.
    rate_bits: u32,
    /// References of this window.
    referred: u64,
    /// What a window counts after one more.
    fade: f64,
    turns: f64,
}

/// Multiplies and folds: the upper bits choose.
fn hash(block: Block) -> u64 {
    let mixed = u128::from((block.key() >> STRETCH_BITS) ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
    (mixed as u64) ^ ((mixed >> 64) as u64)
}

impl Contest {
    /// The first of these is followed to begin with; `lru` is the number of LRU.
    pub fn new(policies: impl Iterator<Item = Box<dyn Policy>>, lru: usize, half_life: f64, turns: f64) -> Self {
        let experts: Vec<_> = policies
            .map(|policy| Expert { shadow: Shadow::new(policy), pieces: Pieces::default(), cost: 0.0, sum: 0.0 })
            .collect();
        Contest {
            squares: vec![0.0; experts.len() * experts.len()],
            experts,
            followed: 0,
            lru,
            pieces: Pieces::default(),
            debt: Debt::default(),
            rate_bits: 0,
            referred: 0,
            fade: (-1.0 / (half_life * WINDOWS as f64)).exp2(),
            turns,
        }
    }

    /// The expert to be followed.
    pub fn followed(&self) -> usize {
        self.followed
    }

    /// One reference, what it costs whom its block is missing, as runs have it, and whether that
    /// was the memory itself.
    pub fn refer(&mut self, block: Block, price: f64, missed: bool, context: &Context<'_>, access: &Access) {
        if self.rate_bits > 0 && hash(block) >> (u64::BITS - self.rate_bits) > 0 {
            return;
        }
        self.rate_bits = context.capacity.div_ceil(SHADOW_PAGES_MAX).next_power_of_two().ilog2();
        let pages = (context.capacity >> self.rate_bits).max(1);
        let is_preceded = self.rate_bits == 0 || !block.index.is_multiple_of(1 << STRETCH_BITS);
        let mut by_lru = 0.0;
        for (at, expert) in self.experts.iter_mut().enumerate() {
            expert.shadow.resize(pages, context);
            if !expert.shadow.refer(block, context, access) {
                let cost = expert.pieces.cost(block, access, price, is_preceded);
                expert.cost += cost;
                if at == self.lru {
                    by_lru = cost;
                }
            }
        }
        let paid = if missed { self.pieces.cost(block, access, price, is_preceded) } else { 0.0 };
        self.debt.refer(paid, by_lru, pages as f64);
        self.referred += 1;
        let window_ends = self.referred * WINDOWS >= pages;
        if window_ends {
            self.referred = 0;
            self.close_window();
        }
        if self.debt.is_due() {
            self.followed = self.lru;
        } else if window_ends && let Some(leader) = self.leader(pages) {
            self.followed = leader;
        }
    }

    fn close_window(&mut self) {
        let experts = self.experts.len();
        for (at, square) in self.squares.iter_mut().enumerate() {
            let by = self.experts[at / experts].cost - self.experts[at % experts].cost;
            *square = *square * self.fade + by * by;
        }
        for expert in &mut self.experts {
            expert.sum = expert.sum * self.fade + expert.cost;
            expert.cost = 0.0;
        }
    }

    /// Who leads the one that is followed.
    fn leader(&self, pages: u64) -> Option<usize> {
        let leads = |&at: &usize| {
            let by = self.experts[self.followed].sum - self.experts[at].sum;
            let square = self.squares[at * self.experts.len() + self.followed];
            by > self.turns * square.sqrt() && by > LEAD_MIN * pages as f64
        };
        let leaders = (0..self.experts.len()).filter(leads);
        leaders.min_by(|&one, &other| self.experts[one].sum.total_cmp(&self.experts[other].sum))
    }

    /// What an expert learned, in references of all blocks.
    pub fn lessons(&self, expert: usize) -> Vec<Lesson> {
        let whole = |sampled: u64| sampled << self.rate_bits;
        let lessons = self.experts[expert].shadow.policy().reports().map(|reports| reports.lessons());
        let in_whole = |it: Lesson| match it {
            Lesson::Site { site, sequential, looping, period, spread } => {
                let [sequential, looping, period, spread] = [sequential, looping, period, spread].map(whole);
                Lesson::Site { site, sequential, looping, period, spread }
            }
            Lesson::Reuse { .. } => it,
        };
        lessons.into_iter().flatten().map(in_whole).collect()
    }

    /// Teaches those who learn.
    pub fn taught(&mut self, lesson: Lesson) {
        for learning in self.experts.iter_mut().filter_map(|expert| expert.shadow.policy_mut().learning()) {
            learning.taught(lesson);
        }
    }

    /// For tests.
    pub fn check(&self, context: &Context<'_>) {
        self.experts.iter().for_each(|expert| expert.shadow.check(context));
    }
}
