//! What was given up lately, by fingerprints: who misses it so soon would have found it on the
//! disk.
//!
//! Buckets of a few fingerprints, the latest first; in a full one the oldest goes. Two to four words
//! a block remember as many blocks as the memory and the disk hold together or some more, and when
//! each was given up. A block may be taken for another, one time in sixty thousand: then one is
//! written in vain.

use super::waits::Tick;

/// Fingerprints of a bucket: so many that few have to go much sooner than others.
const BUCKET: usize = 8;
/// Fingerprints for each block that is to be remembered: buckets do not fill evenly.
const ROOM: usize = 2;
/// Bits of a word that say when: the time begins again after so many units, two to this power.
const TIME_BITS: u32 = 12;
/// What is older than this is forgotten, long before it would be taken for younger.
const UNITS_MAX: u32 = 1 << (TIME_BITS - 1);
/// So many units at least while as many blocks are brought as are to be remembered.
const UNITS: usize = 1 << (TIME_BITS - 3);

/// Bytes of memory for each block that is remembered, at most: the number of buckets is a power of
/// two.
pub const BYTES_EACH: usize = 2 * ROOM * size_of::<u32>();

/// The fingerprints.
pub struct Ghosts {
    /// A fingerprint's bits above those of its time. 0 is none.
    buckets: Box<[[u32; BUCKET]]>,
    /// Ticks of a unit: two to this power.
    unit: u32,
    /// The bucket whose old fingerprints are forgotten next.
    swept: usize,
}

impl Ghosts {
    /// Of some so many blocks.
    pub fn new(blocks: usize) -> Self {
        let buckets = (blocks * ROOM).div_ceil(BUCKET).next_power_of_two();
        let unit = (blocks / UNITS).max(1).ilog2();
        Ghosts { buckets: vec![[0; BUCKET]; buckets].into(), unit, swept: 0 }
    }

    fn place(&self, short: u64) -> (usize, u32) {
        // 0 is none.
        ((short as usize) & (self.buckets.len() - 1), (short >> (32 + TIME_BITS)) as u32 | 1)
    }

    /// A block was given up.
    pub fn add(&mut self, short: u64, now: Tick) {
        let ((bucket, print), now) = (self.place(short), self.units(now));
        let bucket = &mut self.buckets[bucket];
        let end = bucket.iter().position(|&it| it >> TIME_BITS == print).unwrap_or(BUCKET - 1);
        bucket.copy_within(..end, 1);
        bucket[0] = print << TIME_BITS | now;
    }

    /// A block is missed: how long ago it was given up, if that was lately. It is forgotten.
    pub fn take(&mut self, short: u64, now: Tick) -> Option<u32> {
        let ((bucket, print), now) = (self.place(short), self.units(now));
        let bucket = &mut self.buckets[bucket];
        let at = bucket.iter().position(|&it| it >> TIME_BITS == print)?;
        let units = age(bucket[at], now);
        bucket.copy_within(at + 1.., at);
        bucket[BUCKET - 1] = 0;
        Some(units << self.unit)
    }

    /// A block was brought. With each, what is old is forgotten of one bucket: of all of them within a
    /// quarter of [`UNITS_MAX`].
    pub fn sweep(&mut self, now: Tick) {
        let (now, count) = (self.units(now), self.buckets.len());
        let bucket = &mut self.buckets[self.swept];
        self.swept = (self.swept + 1) % count;
        // The later ones lie before them.
        let old = bucket.iter().position(|&it| it != 0 && age(it, now) > UNITS_MAX).unwrap_or(BUCKET);
        bucket[old..].fill(0);
    }

    fn units(&self, now: Tick) -> u32 {
        (now.0 >> self.unit) % (1 << TIME_BITS)
    }
}

/// Units since a word's time.
fn age(word: u32, now: u32) -> u32 {
    now.wrapping_sub(word) % (1 << TIME_BITS)
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
        (0..20_000).for_each(|block| ghosts.add(short(block), Tick(0)));
        let mut found =
            |blocks: std::ops::Range<u64>| blocks.filter(|&block| ghosts.take(short(block), Tick(0)).is_some()).count();
        let (late, again, early) = (found(19_000..20_000), found(19_000..20_000), found(0..10_000));
        assert!(late > 950 && again == 0 && early == 0, "{late}, {again}, {early}");
    }

    #[test]
    fn how_long_ago_it_was_is_known_to_a_unit_also_as_time_begins_again() {
        const UNIT: u32 = 8;
        let mut ghosts = Ghosts::new(UNITS * UNIT as usize);
        for begin in [0, 12_345, u32::MAX - 1000] {
            for waited in [0, 1, 100, 5000, 20_000] {
                ghosts.add(short(1), Tick(begin));
                let found = ghosts.take(short(1), Tick(begin.wrapping_add(waited))).unwrap();
                assert!(found.abs_diff(waited) < UNIT, "{found} for {waited} from {begin}");
            }
        }
    }

    #[test]
    fn what_is_old_is_forgotten_before_its_age_begins_again() {
        const BLOCKS: u32 = 4096;
        let mut ghosts = Ghosts::new(BLOCKS as usize);
        let mut now = Tick(u32::MAX - 100);
        ghosts.add(short(1), now);
        let mut forgotten_at = None;
        for waited in 1..20 * BLOCKS {
            now = Tick(now.0.wrapping_add(1));
            ghosts.sweep(now);
            let found = ghosts.take(short(1), now);
            match found {
                Some(ticks) => {
                    assert!(ticks.abs_diff(waited) < 1 << ghosts.unit, "{ticks} for {waited}");
                    ghosts.add(short(1), Tick(now.0.wrapping_sub(waited)));
                }
                None => forgotten_at = forgotten_at.or(Some(waited)),
            }
        }
        assert!((BLOCKS..6 * BLOCKS).contains(&forgotten_at.unwrap()), "{forgotten_at:?}");
    }

    #[test]
    fn what_is_given_up_again_is_not_there_twice() {
        let mut ghosts = Ghosts::new(8);
        (0..3).for_each(|at| ghosts.add(5, Tick(at)));
        assert_eq!((ghosts.take(5, Tick(3)), ghosts.take(5, Tick(3))), (Some(1), None));
    }
}
