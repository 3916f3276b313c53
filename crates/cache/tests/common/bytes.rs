//! Objects whose bytes tell where they belong.

/// The byte of an object of this name and generation at this place.
pub fn byte(name: &str, generation: u64, at: u64) -> u8 {
    let mut mixed = at ^ generation << 40;
    for letter in name.bytes() {
        mixed = (mixed ^ u64::from(letter)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56) as u8
}

/// All of them.
pub fn bytes(name: &str, generation: u64, size: u64) -> Vec<u8> {
    (0..size).map(|at| byte(name, generation, at)).collect()
}
