//! Where blocks lie: on which disk of an array, and how far up on it.
//!
//! An array of `disks` deals its blocks out in stripe units: unit 0 to the first disk, unit 1 to the second, and so on, in
//! turns (000 section 3.1: 64 KB a unit, a cluster of eight blocks of 8 KB).
//!
//! Worked example: three disks, units of two blocks.
//!
//! ```text
//! place on the array    0 1 | 2 3 | 4 5 | 6 7 | 8 9 ...
//! disk                    0 |   1 |   2 |   0 |   1
//! place on that disk    0 1 | 0 1 | 0 1 | 2 3 | 2 3
//! ```

use crate::ids::DeviceId;

/// How files are spread over disks. A file's device is the first of the array's, which are numbered one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Disks of each array; 1: none is striped.
    pub disks: u16,
    /// Blocks of one unit. No fetch of more than one disk's blocks goes beyond one.
    pub unit_blocks: u64,
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

    /// The disk that holds what is at this place of the array that begins with `first`.
    pub fn device(self, first: DeviceId, place: u64) -> DeviceId {
        DeviceId(first.0.saturating_add((place / self.unit() % self.disks()) as u16))
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
