//! What a page is worth at each age: the hits it will have, over the references for which it takes
//! up memory, if it is given up when that is best. (A Gittins index; Beckmann, Chen and Cidon call
//! such a ratio *hit density*.)

use super::ages::{self, BUCKETS};

/// What is believed before anything was seen counts for so many blocks that were.
const PRIOR_BLOCKS: f64 = 2.0;
/// What part comes true of what is believed is counted from so many returns, believed and seen.
const PRIOR_RETURNS: f64 = 16.0;
/// What was seen at younger ages counts by this for each bucket between: half at half the age.
const YOUNGER_COUNT: f64 = 0.84;
/// Of less than so many returns that are left nothing is known.
const FADED: f64 = 0.01;
/// It is believed that of the blocks not used for some time `2^-PRIOR_POWER` are not used until
/// twice that time has gone by: what was not used for longest is worth least, as under LRU.
const PRIOR_POWER: f64 = 0.5;

/// By bucket, of the blocks that were not used until it begins, the part that is used in it.
pub type Hazards = Vec<f64>;

/// By bucket, what counts of a block after it has gone on for so long.
pub type Fading = Vec<f64>;

/// Densities that differ by no more than this are the same, but for how they were added up.
const ALIKE: f64 = 1.0 - 1e-9;

/// Half counts after each `half_life`.
pub fn fading(half_life: f64) -> Fading {
    (0..BUCKETS).map(|bucket| 0.5_f64.powf(ages::width(bucket) as f64 / half_life)).collect()
}

/// What is believed before anything was seen.
pub fn prior() -> Hazards {
    let hazard = |bucket| {
        let (from, to) = (ages::begin(bucket).max(1) as f64, ages::begin(bucket + 1).max(2) as f64);
        1.0 - (from / to).powf(PRIOR_POWER)
    };
    (0..BUCKETS).map(hazard).collect()
}

/// At which ages blocks were used again, by bucket. What lies back counts less.
pub struct Returns {
    used: Vec<f64>,
    /// Blocks of an earlier run, by the age that they had come to when it ended; empty without such a run.
    open: Vec<f64>,
}

impl Default for Returns {
    fn default() -> Self {
        Returns { used: vec![0.0; BUCKETS], open: Vec::new() }
    }
}

impl Returns {
    /// A block was used again at this age.
    pub fn note(&mut self, age: u64) {
        self.used[ages::bucket(age)] += 1.0;
    }

    /// In an earlier run so many blocks were used again at about this age, or had come to it.
    pub fn add(&mut self, age: u64, used: u64, open: u64) {
        let bucket = ages::bucket(age);
        self.open.resize(BUCKETS, 0.0);
        self.used[bucket] += used as f64;
        self.open[bucket] += open as f64;
    }

    /// By bucket, in whole blocks: how many were used again, and how many had come to that age when
    /// the run ended, now that `open` are of it.
    pub fn sums(&self, open: &[u32; BUCKETS]) -> impl Iterator<Item = (u64, u64)> {
        let sum = |bucket: usize| {
            let open = self.open(bucket) + f64::from(open[bucket]);
            (self.used[bucket].round() as u64, open.round() as u64)
        };
        (0..BUCKETS).map(sum)
    }

    /// All that was seen counts for this part of itself.
    pub fn fade(&mut self, part: f64) {
        self.used.iter_mut().chain(&mut self.open).for_each(|it| *it *= part);
    }

    /// Kaplan and Meier's estimate. `open` are the blocks that may yet be used again, by the bucket of
    /// their age: they count as far as they have come. Where little was seen, it is `above`, times the
    /// part that came true of it at younger ages. Without that, pages older than any sample would be worth
    /// more than those of which it was seen that hardly one is used again.
    /// That a block came past some age counts less by how long it has gone on since: `fading`.
    pub fn hazards(&self, open: &[u32; BUCKETS], fading: &Fading, above: &Hazards) -> Hazards {
        let reached = self.reached(open, fading);
        let (mut seen, mut believed) = (0.0, 0.0);
        let hazard = |bucket: usize| {
            let (returned, reached, above) = (self.used[bucket], reached[bucket], above[bucket]);
            let came_true = (seen + PRIOR_RETURNS) / (believed + PRIOR_RETURNS);
            // Older than any sample, nothing more is known.
            if reached > 0.0 {
                seen = (seen + returned) * YOUNGER_COUNT;
                believed = (believed + reached * above) * YOUNGER_COUNT;
            }
            (returned + PRIOR_BLOCKS * came_true.min(1.0) * above) / (reached + PRIOR_BLOCKS)
        };
        (0..BUCKETS).map(hazard).collect()
    }

    /// The same of a part of the blocks that `of_all` is of: what was seen of it counts as much as what
    /// was seen of all, and no more. The blocks of a file are read together, so that of one that was
    /// read once little is known however long it is.
    pub fn hazards_of_part(&self, open: &[u32; BUCKETS], fading: &Fading, of_all: &Hazards) -> Hazards {
        let reached = self.reached(open, fading);
        let hazard = |bucket: usize| {
            let believed = reached[bucket] + PRIOR_BLOCKS;
            (self.used[bucket] + believed * of_all[bucket]) / (reached[bucket] + believed)
        };
        (0..BUCKETS).map(hazard).collect()
    }

    fn open(&self, bucket: usize) -> f64 {
        self.open.get(bucket).copied().unwrap_or(0.0)
    }

    /// Whether hardly anything is left of what was seen.
    pub fn is_faded(&self) -> bool {
        self.used.iter().sum::<f64>() < FADED
    }

    /// By bucket, the blocks that were seen at that age: half of those that are in it now, as some will
    /// be used again there.
    fn reached(&self, open: &[u32; BUCKETS], fading: &Fading) -> Vec<f64> {
        let mut reached = vec![0.0; BUCKETS];
        let mut older = 0.0;
        for bucket in (0..BUCKETS).rev() {
            let (returned, open) = (self.used[bucket], f64::from(open[bucket]) + self.open(bucket));
            reached[bucket] = older + returned + open / 2.0;
            older = (older + returned + open) * fading[bucket];
        }
        reached
    }
}

/// Ages from one on, up to where it is best to give a page up.
struct Stretch {
    /// Hits in it, of one page.
    hits: f64,
    /// References for which the page is here.
    time: f64,
    /// How likely it is not used in all of it.
    survival: f64,
    /// The bucket before which it ends.
    end: usize,
}

impl Stretch {
    /// That of a bucket of which this part is used.
    fn of(bucket: usize, hazard: f64) -> Self {
        let time = ages::width(bucket) as f64 * (1.0 - hazard / 2.0);
        Stretch { hits: hazard, time, survival: 1.0 - hazard, end: bucket + 1 }
    }

    fn append(&mut self, next: Stretch) {
        self.hits += self.survival * next.hits;
        self.time += self.survival * next.time;
        self.survival *= next.survival;
        self.end = next.end;
    }

    fn density(&self) -> f64 {
        self.hits / self.time
    }
}

/// Hits a reference of memory, of a page that has come to the begin of each bucket.
///
/// The stretch that begins with a bucket takes in the next ones as long as these are worth more
/// than itself; so those that are left are worth less and less.
pub fn densities(hazards: &Hazards) -> Vec<f64> {
    let mut densities = vec![0.0; BUCKETS];
    let mut beyond: Vec<Stretch> = Vec::new();
    for bucket in (0..BUCKETS).rev() {
        let mut stretch = Stretch::of(bucket, hazards[bucket]);
        while let Some(next) = beyond.pop_if(|next| next.hits * stretch.time >= stretch.hits * next.time) {
            stretch.append(next);
        }
        densities[bucket] = stretch.density();
        beyond.push(stretch);
    }
    densities
}

/// How likely a page that has come to this bucket is used before it is best given up, and at which
/// age that is. Nobody keeps it: it is found again from the densities when somebody asks why a page
/// went.
pub fn best(densities: &[f64], from: usize) -> (f64, u64) {
    let mut beyond: Vec<Stretch> = Vec::new();
    for bucket in (from..BUCKETS).rev() {
        let (density, time) = (densities[bucket], ages::width(bucket) as f64);
        let mut rest = Stretch { hits: 0.0, time: 0.0, survival: 1.0, end: bucket + 1 };
        while let Some(next) = beyond.pop_if(|next| next.density() >= density * ALIKE) {
            rest.append(next);
        }
        // density = (hazard + (1 - hazard) * rest.hits) / (time * (1 - hazard / 2) + (1 - hazard) * rest.time)
        let hazard = (density * (time + rest.time) - rest.hits)
            / (1.0 - rest.hits + density * (time / 2.0 + rest.time)).max(f64::MIN_POSITIVE);
        let mut stretch = Stretch::of(bucket, hazard.clamp(0.0, 1.0));
        stretch.append(rest);
        beyond.push(stretch);
    }
    beyond.last().map_or((0.0, ages::AGE_MAX), |best| (best.hits, ages::begin(best.end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_of_a_part_counts_as_much_as_what_was_seen_of_all() {
        let (mut returns, mut open) = (Returns::default(), [0; BUCKETS]);
        let lasting = fading(f64::INFINITY);
        let of_all = vec![0.5; BUCKETS];
        assert_eq!(returns.hazards_of_part(&open, &lasting, &of_all), of_all);
        // Of ten, six were used again at the age of 2, and the others not by the age of 100.
        (0..6).for_each(|_| returns.note(2));
        open[ages::bucket(100)] = 4;
        let hazards = returns.hazards_of_part(&open, &lasting, &of_all);
        let expected = [(0.0 + 12.0 * 0.5) / 22.0, (6.0 + 12.0 * 0.5) / 22.0, (0.0 + 6.0 * 0.5) / 10.0];
        assert_eq!([0, 2, 3].map(|age| hazards[ages::bucket(age)]), expected);
        assert_eq!(hazards[ages::bucket(1_000)], 0.5);
    }

    /// The same by trying each end.
    fn densities_by_trying(hazards: &Hazards) -> Vec<f64> {
        let from = |begin: usize| {
            let (mut hits, mut time, mut survival, mut best) = (0.0, 0.0, 1.0, 0.0_f64);
            for (bucket, hazard) in hazards.iter().enumerate().skip(begin) {
                hits += survival * hazard;
                time += survival * ages::width(bucket) as f64 * (1.0 - hazard / 2.0);
                survival *= 1.0 - hazard;
                best = best.max(hits / time);
            }
            best
        };
        (0..BUCKETS).map(from).collect()
    }

    #[test]
    fn the_best_end_is_found() {
        let mut random = 7_u64;
        for _ in 0..200 {
            let mut hazard = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let part = (random >> 40) as f64 / (1_u64 << 24) as f64;
                part * part * part
            };
            let hazards: Hazards = (0..BUCKETS).map(|_| hazard()).collect();
            for (found, tried) in densities(&hazards).iter().zip(densities_by_trying(&hazards)) {
                assert!((found - tried).abs() <= 1e-9 * tried, "{found} for {tried}");
            }
        }
    }

    #[test]
    fn how_likely_a_use_is_and_by_when_is_found_again() {
        let mut hazards = vec![0.0; BUCKETS];
        let (soon, late) = (ages::bucket(100), ages::bucket(1_000));
        (hazards[soon], hazards[late]) = (0.25, 0.5);
        let densities = densities(&hazards);
        let close = |(chance, until): (f64, u64), expected: f64, end: usize| {
            assert!((chance - expected).abs() < 1e-6 && until == ages::begin(end), "{chance} until {until}");
        };
        // It is worth less to wait for the later use as well, until the sooner one has not come.
        close(best(&densities, soon - 3), 0.25, soon + 1);
        close(best(&densities, soon + 1), 0.5, late + 1);
        close(best(&densities, late), 0.5, late + 1);
        assert!(best(&densities, late + 1).0 < 1e-6);
        for (bucket, density) in super::densities(&prior()).iter().enumerate() {
            let (chance, until) = best(&super::densities(&prior()), bucket);
            let references = (until - ages::begin(bucket)) as f64;
            assert!(chance <= density * references * (1.0 + 1e-6) && chance > 0.0, "{chance} in {references}");
        }
    }

    #[test]
    fn before_anything_was_seen_the_oldest_page_is_worth_least() {
        let densities = densities(&prior());
        assert!(densities[2..].is_sorted_by(|younger, older| younger > older));
    }

    /// One block in fifty is used again, soon; the others have come to all ages up to 50,000.
    #[test]
    fn where_hardly_anything_returns_what_is_older_than_any_sample_is_worth_least() {
        let (mut returns, mut open) = (Returns::default(), [0; BUCKETS]);
        (0..1_000).for_each(|age| returns.note(4 * age));
        (0..50_000).for_each(|age| open[ages::bucket(age)] += 1);
        let densities = densities(&returns.hazards(&open, &fading(1e9), &prior()));
        let (young, older, oldest) = (ages::bucket(1_000), ages::bucket(30_000), ages::bucket(100_000));
        assert!(densities[young] > 10.0 * densities[oldest], "{} {}", densities[young], densities[oldest]);
        assert!(densities[young] > 10.0 * densities[older], "{} {}", densities[young], densities[older]);
        assert!(densities[ages::bucket(65_536)..].is_sorted_by(|younger, older| younger >= older));
    }

    #[test]
    fn in_a_loop_the_page_used_last_is_worth_least() {
        let mut returns = Returns::default();
        (0..1_000).for_each(|_| returns.note(1_000));
        let densities = densities(&returns.hazards(&[0; BUCKETS], &fading(1e9), &prior()));
        let (young, old) = (ages::bucket(8), ages::bucket(1_000));
        assert!(densities[young..=old].is_sorted_by(|younger, older| younger < older));
        // What missed its turn is worth least.
        assert!(densities[old + 1..].iter().all(|it| *it < densities[young]));
    }

    /// Of ten blocks five returned at age 100, and five have come to age 50: nobody knows of those.
    #[test]
    fn what_may_return_yet_is_no_block_that_does_not() {
        let mut returns = Returns::default();
        (0..5_000).for_each(|_| returns.note(100));
        let mut open = [0; BUCKETS];
        open[ages::bucket(50)] = 5_000;
        let hazards = returns.hazards(&open, &fading(1e9), &prior());
        assert!(hazards[ages::bucket(100)] > 0.99 && hazards[ages::bucket(50)] < 0.01);
        open[ages::bucket(200)] = 5_000;
        let hazards = returns.hazards(&open, &fading(1e9), &prior());
        assert!((hazards[ages::bucket(100)] - 0.5).abs() < 0.01);
    }

    /// Half of the blocks return at age 100, half never do, for a long time.
    #[test]
    fn what_does_not_return_fades_as_what_does() {
        const HALF_LIFE: f64 = 1_000.0;
        let (mut returns, mut open) = (Returns::default(), [0; BUCKETS]);
        for age in 0..20_000 {
            open[ages::bucket(age)] += 1;
            returns.fade(0.5_f64.powf(1.0 / HALF_LIFE));
            returns.note(100);
        }
        let hazards = returns.hazards(&open, &fading(HALF_LIFE), &prior());
        let hazard = hazards[ages::bucket(100)];
        assert!((0.45..0.55).contains(&hazard), "{hazard}");
    }
}
