//! Ages and intervals in buckets: four to each power of two, for what is old is told apart as
//! coarsely as it matters.

/// Buckets to each power of two, as a power of two.
const PARTS_BITS: u32 = 2;
/// This age and all beyond it are in the last bucket.
pub const AGE_MAX: u64 = 1 << 32;
/// How many buckets there are.
pub const BUCKETS: usize = bucket(AGE_MAX) + 1;

/// The bucket of an age, in references.
pub const fn bucket(age: u64) -> usize {
    let age = if age > AGE_MAX { AGE_MAX } else { age };
    if age < 1 << PARTS_BITS {
        return age as usize;
    }
    let power = age.ilog2() - PARTS_BITS;
    let part = (age >> power) - (1 << PARTS_BITS);
    ((power as usize + 1) << PARTS_BITS) + part as usize
}

/// The least age of a bucket.
pub const fn begin(bucket: usize) -> u64 {
    let (powers, part) = (bucket >> PARTS_BITS, (bucket & ((1 << PARTS_BITS) - 1)) as u64);
    if powers == 0 { part } else { ((1 << PARTS_BITS) + part) << (powers - 1) }
}

/// How many ages are in a bucket.
pub const fn width(bucket: usize) -> u64 {
    begin(bucket + 1) - begin(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_age_is_in_the_bucket_that_begins_before_it_and_ends_behind_it() {
        for age in (0..5_000).chain((0..32).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1])) {
            let bucket = bucket(age);
            assert!(begin(bucket) <= age && age < begin(bucket) + width(bucket), "{age} in {bucket}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn no_bucket_is_wider_than_a_quarter_of_its_ages() {
        assert!((1..BUCKETS).all(|bucket| width(bucket) == 1 || width(bucket) * 4 <= begin(bucket)));
    }
}
