//! Where the hint library's disclosures (`bindings/c`) come in: ioctls of a file that is opened for
//! that, and of a directory.
//!
//! One of them has room for some thousand ranges. What is said by one descriptor is put together
//! until its last part is there: lists of different threads do not mix.

use std::ops::Range;

use foresee_run::pool::lock;

use super::Shown;
use crate::failure::Failure;

/// The type of all of them, no driver's. As in `bindings/c/foresee.c`: a change is a new number,
/// and the old one stays.
const TYPE: u32 = 0xf7;
const NUMBER_BITS: u32 = 8;
const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;
/// Ranges of one hint.
const RANGES_MAX: usize = 1 << 20;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The file will be read so, and more.
    Begin,
    /// The file will be read so.
    Hint,
    /// The last hints will come true several times.
    Repeat,
    /// No hint will come true any more.
    Cancel,
}

impl Told {
    /// What a command means, if it is one of these.
    pub fn of(command: u32) -> Option<Self> {
        let all = [Told::Begin, Told::Hint, Told::Repeat, Told::Cancel];
        let is_ours = command >> NUMBER_BITS & NUMBER_MASK == TYPE;
        all.get((command & NUMBER_MASK).checked_sub(1)? as usize).copied().filter(|_| is_ours)
    }
}

/// Two numbers of 64 bits each time.
fn pairs(data: &[u8]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let numbers = data.as_chunks::<8>().0;
    numbers.as_chunks::<2>().0.iter().map(|&[one, other]| (u64::from_ne_bytes(one), u64::from_ne_bytes(other)))
}

impl Shown {
    /// A thread tells what will be read.
    pub fn told(&self, thread: u32, handle: u64, told: Told, data: &[u8]) -> Result<(), Failure> {
        match told {
            Told::Begin | Told::Hint => self.hint(thread, handle, told == Told::Hint, data),
            Told::Repeat => {
                pairs(data).for_each(|(hints, passes)| self.disclosed.repeat(thread, hints, passes));
                Ok(())
            }
            Told::Cancel => {
                self.disclosed.withdraw(thread);
                Ok(())
            }
        }
    }

    fn hint(&self, thread: u32, handle: u64, is_whole: bool, data: &[u8]) -> Result<(), Failure> {
        let open = self.files.get(handle)?;
        if !open.is_cached {
            // Hints go by the number, which is another version's.
            return Ok(());
        }
        let mut ranges: Vec<Range<u64>> = std::mem::take(&mut *lock(&open.hinted));
        ranges.extend(pairs(data).map(|(offset, length)| offset..offset.saturating_add(length)));
        ranges.truncate(RANGES_MAX);
        if is_whole {
            return self.disclosed.hint(thread, open.number, &open.file, &ranges);
        }
        *lock(&open.hinted) = ranges;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_by_their_type_and_number() {
        let of = |number: u32| Told::of(1 << 30 | 16 << 16 | TYPE << NUMBER_BITS | number);
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(of),
            [None, Some(Told::Begin), Some(Told::Hint), Some(Told::Repeat), Some(Told::Cancel), None]
        );
        assert_eq!(Told::of(0x5401), None, "a terminal's");
    }

    #[test]
    fn pairs_are_whole() {
        let data: Vec<u8> = [1_u64 << 40, u64::MAX].iter().flat_map(|it| it.to_ne_bytes()).collect();
        assert_eq!(pairs(&data).collect::<Vec<_>>(), [(1 << 40, u64::MAX)]);
        assert_eq!(pairs(&data[..15]).count(), 0);
    }
}
