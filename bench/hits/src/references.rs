//! Which blocks are read: drawn beforehand, so that it costs nothing then.

/// Numbers of blocks.
pub struct References(pub Vec<u32>);

impl References {
    /// So many references to so many blocks: each as likely as any, or by Zipf's law (the n-th as likely as 1/n), the likely ones
    /// anywhere.
    pub fn new(seed: u64, blocks: usize, count: usize, zipf: bool) -> Self {
        let mut random = seed + 1;
        let mut next = move || {
            // splitmix64 (Steele, Lea and Flood, 2014).
            random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = random;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        if !zipf {
            return References((0..count).map(|_| (next() % blocks as u64) as u32).collect());
        }
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=blocks)
            .map(|rank| {
                sum += 1.0 / rank as f64;
                sum
            })
            .collect();
        let mut places: Vec<u32> = (0..blocks as u32).collect();
        // The same places for each thread: they want the same blocks.
        let mut shuffle = 7u64;
        for at in (1..blocks).rev() {
            shuffle = shuffle.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            places.swap(at, ((shuffle >> 33) % (at as u64 + 1)) as usize);
        }
        let draw = |_| {
            let at = next() as f64 / u64::MAX as f64 * sum;
            places[sums.partition_point(|&it| it < at).min(blocks - 1)]
        };
        References((0..count).map(draw).collect())
    }
}
