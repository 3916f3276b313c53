//! Return addresses, by looking at each word of the stack: one that points into code, behind a call, is taken for one.

use super::{Signature, objects, stack};

/// As far as is looked: about what eight frames of most programs take. 10 to 20 ns.
const BYTES: usize = 1024;

/// Adds so many of those from here on up: the first is who called the hook.
#[inline(always)]
pub(super) fn callers(from: usize, calls: usize, signature: &mut Signature) {
    let from = from & !7;
    let mut known_end = stack::known_end(from);
    let sieve = objects::Sieve::new();
    let mut found = 0;
    for at in (from..from + BYTES).step_by(8) {
        if at >= known_end {
            known_end = stack::next_end(known_end);
            if at >= known_end {
                return;
            }
        }
        // SAFETY: on the stack, as far as it is known to be there; nobody else writes there.
        let word = unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        if sieve.keeps(word)
            && let Some((within, offset)) = objects::caller(word)
        {
            signature.add(within, offset);
            found += 1;
            if found == calls {
                return;
            }
        }
    }
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
    // `call rel32`; else ff /2 by length: the second byte's middle bits are 2, its others say how long it is.
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
