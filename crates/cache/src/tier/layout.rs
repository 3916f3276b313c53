//! Where things lie in the file.
//!
//! ```text
//! header (a page) | an entry for each slot, to the next page | slot | slot | ...
//! ```
//!
//! An entry says whose bytes lie in its slot, and their checksum. It is written after they are. So
//! an entry may be that of earlier or of later bytes, whenever its process is killed, and then the
//! checksum is another.

use super::key::{Key, ObjectKey};

/// What reads past the system's page cache must be aligned to.
pub const PAGE: u64 = 4096;
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 40;
/// What the file begins with. Another number: a program of another layout.
pub const MAGIC: &[u8; 16] = b"foresee tier 1\r\n";

/// Whose bytes lie in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Whose.
    pub key: Key,
    /// Theirs ([`Key::checksum`]).
    pub checksum: u64,
}

/// The layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a slot: a block.
    pub slot_bytes: u64,
    /// How many there are.
    pub slots: u32,
}

/// What is written last of anything that is written whole: it is whole if this fits.
fn seal(bytes: &[u8]) -> [u8; 8] {
    let mut seal = [0; 8];
    seal.copy_from_slice(&blake3::hash(bytes).as_bytes()[..8]);
    seal
}

impl Layout {
    /// As many slots as fit into a file of so many bytes.
    pub fn new(bytes: u64, slot_bytes: u64) -> Self {
        // A page for the header, and one that the entries may not fill.
        let slots = bytes.saturating_sub(2 * PAGE) / (slot_bytes + ENTRY_BYTES as u64);
        // Slots are numbered as frames are.
        Layout { slot_bytes, slots: u32::try_from(slots).unwrap_or(u32::MAX).min(i32::MAX as u32) }
    }

    /// Where a slot's entry is.
    pub fn entry_at(self, slot: u32) -> u64 {
        PAGE + u64::from(slot) * ENTRY_BYTES as u64
    }

    /// Where a slot is.
    pub fn slot_at(self, slot: u32) -> u64 {
        self.entry_at(self.slots).next_multiple_of(PAGE) + u64::from(slot) * self.slot_bytes
    }

    /// Bytes of the file.
    pub fn bytes(self) -> u64 {
        self.slot_at(self.slots)
    }

    /// The header's page.
    pub fn header(self) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend(self.slot_bytes.to_le_bytes());
        header.extend(self.slots.to_le_bytes());
        header.extend(seal(&header));
        header.resize(PAGE as usize, 0);
        header
    }
}

impl Entry {
    /// As it lies in the file.
    pub fn encoded(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..16].copy_from_slice(&self.key.object.0);
        bytes[16..24].copy_from_slice(&self.key.block.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.checksum.to_le_bytes());
        let sealed = seal(&bytes[..32]);
        bytes[32..].copy_from_slice(&sealed);
        bytes
    }

    /// What lies in the file, if that was once written whole.
    pub fn decoded(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let number = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
        let object = ObjectKey(*bytes.first_chunk()?);
        let is_whole = seal(&bytes[..32]) == bytes[32..];
        is_whole.then(|| Entry { key: Key { object, block: number(16) }, checksum: number(24) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_longer_than_it_may_be_and_hardly_shorter() {
        for slot_bytes in [4096, 16 << 10, 1 << 20] {
            for bytes in [0, 4096, 100_000, 1 << 20, 10_000_001, 5 << 30, 1 << 40] {
                let layout = Layout::new(bytes, slot_bytes);
                assert!(layout.slots == 0 || layout.bytes() <= bytes, "{layout:?} in {bytes}");
                assert!(layout.bytes() + 2 * slot_bytes + 2 * PAGE >= bytes, "{layout:?} in {bytes}");
                assert_eq!(layout.slot_at(layout.slots) % PAGE, 0);
            }
        }
    }

    #[test]
    fn an_entry_of_which_a_bit_is_another_is_none() {
        let entry = Entry { key: Key { object: ObjectKey([7; 16]), block: 1 << 39 }, checksum: 77 };
        let bytes = entry.encoded();
        assert_eq!(Entry::decoded(&bytes), Some(entry));
        for bit in 0..8 * ENTRY_BYTES {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Entry::decoded(&flipped), None);
        }
        assert_eq!(Entry::decoded(&[0; ENTRY_BYTES]), None);
    }
}
