//! What was given up lately, by fingerprints: who misses it so soon would have found it on the
//! disk.
//!
//! Buckets of a few fingerprints, the latest first; in a full one the oldest goes. Two words a
//! block remember about as many blocks as the memory and the disk hold together. A block may be
//! taken for another, one time in half a milliard: then one is written in vain.

/// Fingerprints of a bucket: so many that few have to go much sooner than others.
const BUCKET: usize = 8;
/// Fingerprints for each block that is to be remembered: buckets do not fill evenly.
const ROOM: usize = 2;

/// Bytes of memory for each block that is remembered, at most: the number of buckets is a power of
/// two.
pub const BYTES_EACH: usize = 2 * ROOM * size_of::<u32>();

/// The fingerprints.
pub struct Ghosts {
    buckets: Box<[[u32; BUCKET]]>,
}

impl Ghosts {
    /// Of some so many blocks.
    pub fn new(blocks: usize) -> Self {
        let buckets = (blocks * ROOM).div_ceil(BUCKET).next_power_of_two();
        Ghosts { buckets: vec![[0; BUCKET]; buckets].into() }
    }

    fn place(&self, short: u64) -> (usize, u32) {
        // 0 is none.
        ((short as usize) & (self.buckets.len() - 1), (short >> 32) as u32 | 1)
    }

    /// A block was given up.
    pub fn add(&mut self, short: u64) {
        let (bucket, print) = self.place(short);
        let bucket = &mut self.buckets[bucket];
        let end = bucket.iter().position(|&it| it == print).unwrap_or(BUCKET - 1);
        bucket.copy_within(..end, 1);
        bucket[0] = print;
    }

    /// A block is missed: whether it was given up lately. It is forgotten.
    pub fn take(&mut self, short: u64) -> bool {
        let (bucket, print) = self.place(short);
        let bucket = &mut self.buckets[bucket];
        let Some(at) = bucket.iter().position(|&it| it == print) else { return false };
        bucket.copy_within(at + 1.., at);
        bucket[BUCKET - 1] = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(block: u64) -> u64 {
        block.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn most_of_what_is_to_be_remembered_is_and_older_things_are_not() {
        let mut ghosts = Ghosts::new(1000);
        (0..20_000).for_each(|block| ghosts.add(short(block)));
        let mut found = |blocks: std::ops::Range<u64>| blocks.filter(|&block| ghosts.take(short(block))).count();
        let (late, again, early) = (found(19_000..20_000), found(19_000..20_000), found(0..10_000));
        assert!(late > 950 && again == 0 && early == 0, "{late}, {again}, {early}");
    }

    #[test]
    fn what_is_given_up_again_is_not_there_twice() {
        let mut ghosts = Ghosts::new(8);
        (0..3).for_each(|_| ghosts.add(5));
        assert!(ghosts.take(5) && !ghosts.take(5));
    }
}
