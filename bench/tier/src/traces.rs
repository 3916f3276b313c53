//! Which blocks are read: drawn by a seed, the same for all.

/// All of them.
pub const NAMES: [&str; 3] = ["zipf", "cycle", "mix"];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // splitmix64 (Steele, Lea and Flood, 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// By Zipf's law (the n-th as likely as 1/n), the likely ones anywhere.
fn zipf(blocks: u64, count: usize, random: &mut Random) -> Vec<u64> {
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=blocks)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    let mut places: Vec<u64> = (0..blocks).collect();
    for at in (1..places.len()).rev() {
        places.swap(at, (random.next() % (at as u64 + 1)) as usize);
    }
    let draw = |_| {
        let at = random.next() as f64 / u64::MAX as f64 * sum;
        places[sums.partition_point(|&it| it < at).min(places.len() - 1)]
    };
    (0..count).map(draw).collect()
}

/// So many references to so many blocks.
pub fn trace(name: &str, blocks: u64, count: usize) -> Vec<u64> {
    let mut random = Random(1);
    match name {
        "zipf" => zipf(blocks, count, &mut random),
        "cycle" => (0..count as u64).map(|at| at % blocks).collect(),
        // Half of the data by Zipf's law, and between them a scan of the other half, over and over.
        "mix" => {
            let half = blocks / 2;
            let likely = zipf(half, count / 2, &mut random);
            let scanned = (0..).map(|at| half + at % half);
            likely.into_iter().zip(scanned).flat_map(|(one, other)| [one, other]).collect()
        }
        _ => unreachable!("{name}"),
    }
}
