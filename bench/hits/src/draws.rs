//! Numbers by a seed, and Zipf's law: what all benches of the library draw by.

/// splitmix64 (Steele, Lea and Flood, 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// So many of these places by Zipf's law: the n-th is as likely as 1/n.
pub fn zipf<T: Copy>(places: &[T], count: usize, random: &mut Random) -> Vec<T> {
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=places.len())
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    let draw = |_| {
        let at = random.next() as f64 / u64::MAX as f64 * sum;
        places[sums.partition_point(|&it| it < at).min(places.len() - 1)]
    };
    (0..count).map(draw).collect()
}
