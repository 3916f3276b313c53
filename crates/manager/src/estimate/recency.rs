//! How far down a recency queue the hits fall, and so what one buffer more or less is worth: the
//! marginal hit rate.
//!
//! The queue is cut into segments of equal length, and each has a count of the hits that fell into
//! it (000 section 5.2, Figure 9):
//!
//! ```text
//!          MRU end                                               LRU end
//! queue    [ segment 0 ][ segment 1 ][ segment 2 ][ segment 3 ] ...        resident pages, then ghosts
//! hits           40           7            1           30
//! ```
//!
//! Two readings of it:
//!
//! - **majorant** (000 section 4.3, Figure 6): a segment is worth the largest mean of the rates
//!   from it on to any later one. Above, segment 1 is worth (7 + 1 + 30) / 3 a segment, not 7: who
//!   keeps one segment more comes nearer to the working set that fits with two more.
//! - **point** (000 section 5.2): the segment's own rate.
//!
//! # Where this differs from the paper
//! The paper tags each buffer with its segment and retags those at the borders at every reference.
//! With a million buffers, 31 borders cost 31 cache misses a reference. Here an entry keeps the
//! number of the *bucket* it entered at the MRU end; a bucket is closed when it has its share of
//! the queue, and its place is the sum of the newer buckets' counts. A hit in a bucket that spans
//! places a..b is dealt out evenly over a..b. Buckets are a quarter of a segment or less.

/// Buckets a queue is cut into while it is full; as many again are kept before neighbours are
/// merged.
const BUCKETS: usize = 128;

/// How a segment's worth follows from the hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The largest mean from the segment on.
    Majorant,
    /// The segment's own rate.
    Point,
}

/// The bucket an entry is in.
pub type Tag = u32;
/// No bucket has this tag.
pub const NO_TAG: Tag = Tag::MAX;

/// A recency queue's hits by depth. It holds no entries: they keep their [`Tag`]s.
pub struct Recency {
    reading: Reading,
    /// Places of one segment.
    segment: u64,
    /// Places the counts cover.
    length: u64,
    /// Entries in a bucket when it is closed.
    bucket_max: u32,
    /// The first tag of each bucket, oldest bucket first.
    firsts: Vec<Tag>,
    /// Entries in each.
    counts: Vec<u32>,
    /// Hits of each segment, decayed.
    hits: Vec<f64>,
    /// References to the queue, decayed.
    references: f64,
    /// References until all is halved.
    until_halved: u64,
    /// Entries in newer buckets than each, and the worth of each segment, as they were `age`
    /// references ago.
    newer: Vec<u64>,
    worth: Vec<f64>,
    age: u64,
}

impl Recency {
    /// For a queue of up to `length` entries, in segments of `segment`.
    pub fn new(reading: Reading, length: u64, segment: u64) -> Self {
        let (length, segment) = (length.max(1), segment.max(1));
        let segments = length.div_ceil(segment) as usize;
        Recency {
            reading,
            segment,
            length,
            bucket_max: (length / BUCKETS as u64).min(segment / 4).clamp(1, u64::from(u32::MAX)) as u32,
            firsts: vec![0],
            counts: vec![0],
            hits: vec![0.0; segments],
            references: 0.0,
            until_halved: 4 * length,
            newer: vec![0],
            worth: vec![0.0; segments],
            age: 0,
        }
    }

    /// An entry comes to the MRU end, from outside or from deeper down.
    pub fn enter(&mut self) -> Tag {
        let mut newest = self.counts.len() - 1;
        if self.counts[newest] >= self.bucket_max {
            if self.counts.len() >= 2 * BUCKETS {
                self.merge();
            }
            let next = self.firsts[self.firsts.len() - 1].wrapping_add(1);
            self.firsts.push(if next == NO_TAG { 0 } else { next });
            self.counts.push(0);
            self.newer.push(0);
            newest = self.counts.len() - 1;
        }
        self.counts[newest] += 1;
        self.firsts[newest]
    }

    /// An entry leaves the queue.
    pub fn leave(&mut self, tag: Tag) {
        let bucket = self.bucket_of(tag);
        self.counts[bucket] -= 1;
    }

    /// A reference found an entry, resident or ghost, which leaves its place.
    pub fn hit(&mut self, tag: Tag) {
        let bucket = self.bucket_of(tag);
        self.refresh();
        let newer = self.newer[bucket];
        let mut rest = newer..newer + u64::from(self.counts[bucket]);
        self.counts[bucket] -= 1;
        let each = 1.0 / (rest.end - rest.start) as f64;
        while rest.start < rest.end {
            let segment = ((rest.start / self.segment) as usize).min(self.hits.len() - 1);
            let end = rest.end.min((rest.start / self.segment + 1) * self.segment);
            self.hits[segment] += each * (end - rest.start) as f64;
            rest.start = end;
        }
        self.reference();
    }

    /// A reference found nothing.
    pub fn miss(&mut self) {
        self.reference();
    }

    fn reference(&mut self) {
        self.references += 1.0;
        self.age += 1;
        self.until_halved -= 1;
        if self.until_halved == 0 {
            self.until_halved = 4 * self.length;
            self.references /= 2.0;
            self.hits.iter_mut().for_each(|hits| *hits /= 2.0);
        }
    }

    /// Hits a reference would lose if the queue's resident part, `pages` long, lost its last page;
    /// as of the last `refresh`.
    pub fn marginal_hit_rate(&self, pages: u64) -> f64 {
        let segment = (pages.saturating_sub(1) / self.segment) as usize;
        self.worth[segment.min(self.worth.len() - 1)]
    }

    /// Sums places and worths up again, if a 256th of the queue's length was referenced since.
    pub fn refresh(&mut self) {
        if self.age < (self.length / 256).max(1) && self.newer.len() == self.counts.len() {
            return;
        }
        self.age = 0;
        self.newer.resize(self.counts.len(), 0);
        let mut sum = 0;
        for (newer, &count) in self.newer.iter_mut().zip(&self.counts).rev() {
            *newer = sum;
            sum += u64::from(count);
        }
        self.weigh();
    }

    fn weigh(&mut self) {
        let per = 1.0 / (self.references.max(1.0) * self.segment as f64);
        match self.reading {
            Reading::Point => self.worth.iter_mut().zip(&self.hits).for_each(|(worth, hits)| *worth = hits * per),
            Reading::Majorant => {
                // From the last segment on: stretches of falling means lie behind; one that is richer is worth
                // going on to.
                let mut stretches: Vec<(f64, f64)> = Vec::with_capacity(self.hits.len());
                for (worth, &hits) in self.worth.iter_mut().zip(&self.hits).rev() {
                    let (mut sum, mut len) = (hits, 1.0);
                    while let Some(&(further, segments)) = stretches.last()
                        && further * len >= sum * segments
                    {
                        (sum, len) = (sum + further, len + segments);
                        stretches.pop();
                    }
                    stretches.push((sum, len));
                    *worth = sum / len * per;
                }
            }
        }
    }

    /// The bucket with this tag in it; tags of merged buckets are in the one they were merged into.
    fn bucket_of(&self, tag: Tag) -> usize {
        let base = self.firsts[0];
        self.firsts.partition_point(|first| first.wrapping_sub(base) <= tag.wrapping_sub(base)) - 1
    }

    /// Each two neighbours become one, and empty ones none; the newest stays as it is.
    fn merge(&mut self) {
        let mut merged: Vec<(Tag, u32)> = Vec::with_capacity(2 * BUCKETS);
        let last = self.counts.len() - 1;
        for (at, (&first, &count)) in self.firsts.iter().zip(&self.counts).enumerate() {
            match merged.last_mut() {
                Some(before) if at < last && before.1.saturating_add(count) <= self.bucket_max => before.1 += count,
                _ => merged.push((first, count)),
            }
        }
        if merged.len() > BUCKETS * 3 / 2 {
            // More entries than the queue's length promised: coarser buckets.
            self.bucket_max = self.bucket_max.saturating_mul(2);
        }
        (self.firsts, self.counts) = merged.into_iter().unzip();
        self.newer.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue of `length` in which every entry is found again at each of these depths in turn.
    fn cyclic(length: u64, segment: u64, reading: Reading, cycle: usize) -> Recency {
        let mut recency = Recency::new(reading, length, segment);
        let mut tags: Vec<Tag> = (0..cycle)
            .map(|_| {
                recency.miss();
                recency.enter()
            })
            .collect();
        for at in 0..cycle * 20 {
            let tag = &mut tags[at % cycle];
            recency.hit(*tag);
            *tag = recency.enter();
        }
        recency.refresh();
        recency
    }

    #[test]
    fn a_cycle_is_found_at_its_length() {
        let point = cyclic(1000, 50, Reading::Point, 420);
        assert!(point.marginal_hit_rate(420) > 0.9 / 50.0, "{}", point.marginal_hit_rate(420));
        assert!(point.marginal_hit_rate(340) < 1e-3 && point.marginal_hit_rate(470) < 1e-3);
    }

    #[test]
    fn the_majorant_looks_past_what_is_worth_nothing() {
        let majorant = cyclic(1000, 50, Reading::Majorant, 420);
        let near = majorant.marginal_hit_rate(400);
        let far = majorant.marginal_hit_rate(20);
        assert!(near > far && far > 0.9 / 450.0, "{near} {far}");
        assert!(majorant.marginal_hit_rate(600) < 1e-3);
    }

    #[test]
    fn the_majorant_is_the_largest_mean() {
        let mut recency = Recency::new(Reading::Majorant, 60, 10);
        recency.hits = vec![40.0, 7.0, 1.0, 30.0, 0.0, 2.0];
        (recency.references, recency.age) = (100.0, 1);
        recency.refresh();
        let worth: Vec<f64> = (0..6).map(|segment| recency.marginal_hit_rate(segment * 10 + 1) * 1000.0).collect();
        for (ours, sum) in worth.iter().zip([40.0, 38.0 / 3.0, 31.0 / 2.0, 30.0, 1.0, 2.0]) {
            assert!((ours - sum).abs() < 1e-9, "{worth:?}");
        }
    }

    /// Depths from buckets against those of a list, for a queue that entries move up in at random.
    #[test]
    fn places_are_those_of_a_list() {
        let (length, segment) = (1024, 64);
        let mut recency = Recency::new(Reading::Point, length, segment);
        let mut list: Vec<(u32, Tag)> = (0..1024).map(|name| (name, recency.enter())).collect();
        let (mut exact, mut random) = (vec![0.0; 16], 9_u64);
        for _ in 0..2000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Near the newest end more often than not.
            let depth = ((random >> 40) as usize % 1024) * ((random >> 20) as usize % 1024) / 1024;
            let (name, tag) = list.remove(list.len() - 1 - depth);
            recency.hit(tag);
            exact[depth / 64] += 1.0;
            list.push((name, recency.enter()));
        }
        for (segment, (hits, exact)) in recency.hits.iter().zip(&exact).enumerate() {
            assert!((hits - exact).abs() <= 8.0 + exact * 0.1, "segment {segment}: {hits} for {exact}");
        }
        assert!(recency.counts.len() <= 2 * BUCKETS);
        assert_eq!(recency.counts.iter().sum::<u32>(), 1024);
    }
}
