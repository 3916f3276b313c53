//! Return addresses, by looking at each word of the stack: one that points into code, behind a
//! call, is taken for one.
//!
//! Most words are passed over sixteen at a time (`sieve.rs`); those that are left were mostly met
//! before (`known.rs`).

use super::sieve::{BLOCK_BYTES, Sieve, WORD_BITS, WORD_BYTES};
use super::{Signature, objects, stack};

/// As far as is looked: about what eight frames of most programs take.
const BYTES: usize = 1024;

/// Those of a word.
const BITS: usize = WORD_BITS.count_ones() as usize;

/// With so many of those from here on up: the first is who called the hook.
///
/// # Safety
/// Where `WIDE`, so is the processor ([`is_wide`](super::sieve::is_wide)).
#[inline(always)]
pub(super) unsafe fn callers<const WIDE: bool>(from: usize, mut calls: usize, mut signature: Signature) -> Signature {
    let from = from & !(WORD_BYTES - 1);
    let end = from.saturating_add(BYTES);
    let mut known_end = stack::known_end(from);
    let (sieve, epoch) = (Sieve::new(), objects::epoch());
    // A block is in one page, so all of the first one, whose beginning are frames of our own, is there.
    let mut block = from & !(BLOCK_BYTES - 1);
    let mut wanted = !0 << bits(from - block);
    while block < end {
        if block >= known_end {
            known_end = stack::next_end(known_end);
            if block >= known_end {
                break;
            }
        }
        if end - block < BLOCK_BYTES {
            wanted &= !(!0 << bits(end - block));
        }
        // SAFETY: on the stack, as far as it is known to be there; nobody else writes there.
        let mut kept = unsafe { sieve.keeps::<WIDE>(block) } & wanted;
        while kept != 0 {
            let bit = kept.trailing_zeros();
            kept &= !(WORD_BITS << bit);
            let at = block + bit as usize / BITS * WORD_BYTES;
            // SAFETY: as above.
            let word = unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
            if let Some(place) = objects::caller(word, epoch) {
                signature.add(place);
                calls -= 1;
                if calls == 0 {
                    return signature;
                }
            }
        }
        (block, wanted) = (block + BLOCK_BYTES, !0);
    }
    signature
}

/// Bits for so many bytes of words, less than a block's.
#[inline(always)]
fn bits(bytes: usize) -> u32 {
    (bytes / WORD_BYTES * BITS) as u32
}

/// Whether the instruction before this one is a call.
///
/// # Safety
/// The 8 bytes before it can be read.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn follows_a_call(address: usize) -> bool {
    // SAFETY: by the caller's promise.
    let code = unsafe { core::ptr::with_exposed_provenance::<[u8; 8]>(address - 8).read() };
    let [_, b7, b6, b5, b4, b3, b2, b1] = code;
    // `call rel32`; else ff /2 by length: the second byte's middle bits are 2, its others say how long
    // it is.
    let indirect = |opcode: u8, modrm: u8| opcode == 0xff && modrm & 0b0011_1000 == 0b0001_0000;
    let is = |modrm: u8, mode: u8, sib: bool| modrm >> 6 == mode && (modrm & 7 == 4) == sib;
    b5 == 0xe8
        || indirect(b2, b1) && (b1 >> 6 == 3 || is(b1, 0, false) && b1 & 7 != 5)
        || indirect(b3, b2) && (is(b2, 1, false) || is(b2, 0, true))
        || indirect(b4, b3) && is(b3, 1, true)
        || indirect(b6, b5) && (is(b5, 2, false) || b5 >> 6 == 0 && b5 & 7 == 5)
        || indirect(b7, b6) && is(b6, 2, true)
}

/// Whether the instruction before this one is a call: `bl` or `blr`.
///
/// # Safety
/// The 8 bytes before it can be read.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn follows_a_call(address: usize) -> bool {
    // SAFETY: by the caller's promise.
    let code = unsafe { core::ptr::with_exposed_provenance::<u32>(address.wrapping_sub(4) & !3).read() };
    cfg!(target_arch = "aarch64") && (code >> 26 == 0b100101 || code & 0xffff_fc1f == 0xd63f_0000)
}
