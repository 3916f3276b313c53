//! Objects whose bytes tell where they belong. Eight at a time: the tests make and compare
//! gigabytes of them, unoptimised.

/// Another number for each pair, but by chance: no letter of a name makes up for a generation.
fn mix(mixed: u64, more: u64) -> u64 {
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ more;
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// So many bytes of an object of this name and generation from this place on.
pub fn bytes_at(name: &str, generation: u64, offset: u64, count: usize) -> Vec<u8> {
    const WORD: usize = size_of::<u64>();
    let whose = mix(name.bytes().map(u64::from).fold(0, mix), generation);
    let skipped = offset as usize % WORD;
    let mut bytes = Vec::with_capacity(skipped + count + WORD);
    let mut word = offset / WORD as u64;
    while bytes.len() < skipped + count {
        bytes.extend_from_slice(&mix(whose, word).to_le_bytes());
        word += 1;
    }
    bytes.truncate(skipped + count);
    bytes.drain(..skipped);
    bytes
}

/// All of them.
pub fn bytes(name: &str, generation: u64, size: u64) -> Vec<u8> {
    bytes_at(name, generation, 0, size as usize)
}
