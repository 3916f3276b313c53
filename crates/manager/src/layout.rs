//! Where blocks lie: on which disk of an array, and how far up on it.
//!
//! An array of `disks` deals its blocks out in stripe units: unit 0 to the first disk, unit 1 to
//! the second, and so on, in turns (000 section 3.1: 64 KB a unit, a cluster of eight blocks of 8
//! KB).
//!
//! Worked example: three disks, units of two blocks.
//!
//! ```text
//! place on the array    0 1 | 2 3 | 4 5 | 6 7 | 8 9 ...
//! disk                    0 |   1 |   2 |   0 |   1
//! place on that disk    0 1 | 0 1 | 0 1 | 2 3 | 2 3
//! ```
//!
//! Files that are really spread over disks (`stripe` of crates/run) are dealt out by the same
//! arithmetic, in blocks of one byte.

use std::cmp::Ordering;

use crate::ids::DeviceId;

/// How files are spread over disks. A file's device is the first of the array's, which are numbered
/// one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Disks of each array; 1: none is striped.
    pub disks: u16,
    /// Blocks of one unit. No fetch of more than one disk's blocks goes beyond one.
    pub unit_blocks: u64,
}

/// A run of blocks on one disk of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The disk, counted from 0.
    pub disk: u16,
    /// How far up on it.
    pub place: u64,
    /// How many.
    pub count: u64,
}

/// What begins within so many blocks of where reading was lies just behind it: a drive has read as far
/// by itself.
const BEHIND_BLOCKS: u64 = 8;

/// Whether a place is just behind a block that is at another one. What shares that block is not: it
/// would be behind and before it.
pub(crate) fn is_just_behind(place: u64, block_at: u64) -> bool {
    place > block_at && place - block_at <= BEHIND_BLOCKS
}

/// Where a file begins: the (first) device, and how far up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Home {
    pub device: DeviceId,
    pub place: u64,
}

impl Default for Stripe {
    fn default() -> Self {
        Stripe { disks: 1, unit_blocks: u64::MAX }
    }
}

impl Stripe {
    fn unit(self) -> u64 {
        self.unit_blocks.max(1)
    }

    fn disks(self) -> u64 {
        u64::from(self.disks.max(1))
    }

    /// The disk of the array, counted from 0, that holds what is at this place.
    pub fn disk(self, place: u64) -> u16 {
        (place / self.unit() % self.disks()) as u16
    }

    /// The same disk, where the array begins with `first`.
    pub fn device(self, first: DeviceId, place: u64) -> DeviceId {
        DeviceId(first.0.saturating_add(self.disk(place)))
    }

    /// How far up on its disk that is.
    pub fn on_disk(self, place: u64) -> u64 {
        place / self.unit() / self.disks() * self.unit() + place % self.unit()
    }

    /// Whether a unit begins at this place.
    pub fn begins_unit(self, place: u64) -> bool {
        place.is_multiple_of(self.unit())
    }

    /// Blocks from this place to the end of its unit.
    pub fn rest_of_unit(self, place: u64) -> u64 {
        self.unit() - place % self.unit()
    }

    /// What lies on one disk of an array that holds `total`.
    pub fn share(self, disk: u16, total: u64) -> u64 {
        let (units, rest) = (total / self.unit(), total % self.unit());
        let (rows, last) = (units / self.disks(), units % self.disks());
        let behind = match u64::from(disk).cmp(&last) {
            Ordering::Less => self.unit(),
            Ordering::Equal => rest,
            Ordering::Greater => 0,
        };
        rows * self.unit() + behind
    }

    /// A range in the pieces it is dealt out in, none longer than a unit.
    pub fn pieces(self, place: u64, count: u64) -> impl Iterator<Item = Piece> {
        let (mut place, end) = (place, place + count);
        std::iter::from_fn(move || {
            let count = self.rest_of_unit(place).min(end.checked_sub(place).filter(|&left| left > 0)?);
            let piece = Piece { disk: self.disk(place), place: self.on_disk(place), count };
            place += count;
            Some(piece)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn just_behind_is_behind_and_near() {
        let is_behind = |place| is_just_behind(place, 100);
        assert_eq!([99, 100, 101, 108, 109].map(is_behind), [false, false, true, true, false]);
    }
    use proptest::prelude::*;

    #[test]
    fn units_are_dealt_out_in_turns() {
        let stripe = Stripe { disks: 3, unit_blocks: 2 };
        let at = |place| (stripe.device(DeviceId(4), place).0, stripe.on_disk(place), stripe.rest_of_unit(place));
        assert_eq!([0, 1, 2, 4, 6, 9].map(at), [(4, 0, 2), (4, 1, 1), (5, 0, 2), (6, 0, 2), (4, 2, 2), (5, 3, 1)]);
    }

    #[test]
    fn one_disk_is_no_array() {
        let stripe = Stripe::default();
        assert_eq!((stripe.device(DeviceId(7), u64::MAX), stripe.on_disk(99)), (DeviceId(7), 99));
    }

    proptest! {
        /// Against dealing a hand of cards: one block after the other to whose turn it is.
        #[test]
        fn every_block_has_one_place_and_pieces_say_which(
            disks in 1u16..9, unit_blocks in 1u64..20, total in 0u64..500, from in 0u64..500, count in 0u64..500,
        ) {
            let stripe = Stripe { disks, unit_blocks };
            let mut hands = vec![Vec::new(); usize::from(disks)];
            for block in 0..total {
                let turn = block / unit_blocks % u64::from(disks);
                hands[turn as usize].push(block);
            }
            for (disk, hand) in hands.iter().enumerate() {
                prop_assert_eq!(stripe.share(disk as u16, total), hand.len() as u64);
            }
            let (from, end) = (from.min(total), (from + count).min(total));
            let mut met: Vec<u64> = Vec::new();
            for piece in stripe.pieces(from, end.saturating_sub(from)) {
                prop_assert!(piece.count > 0 && piece.count <= unit_blocks);
                let hand = &hands[usize::from(piece.disk)];
                met.extend(&hand[piece.place as usize..][..piece.count as usize]);
            }
            prop_assert_eq!(met, (from..end.max(from)).collect::<Vec<_>>());
        }
    }
}
