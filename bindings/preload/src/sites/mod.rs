//! Which place in the program a read or a write comes from: a *call-site signature* (004 section
//! 4.3), 32 bits that are the same in every run of the program.
//!
//! The address that called `read` says next to nothing: programs read through wrappers. So the
//! signature is made of the chain of calls that led there, each as the object it lies in (by its
//! build id) and its place within, so that it does not matter where objects are loaded. Python's
//! functions join it, which the interpreter's own chain does not show.
//!
//! It is found where somebody wants it: a recording, or a policy that learns by it; else signatures
//! are 0, unknown, and cost nothing. `FORESEE_SITES` says how:
//!
//! - `scan` (default): words on the stack that look like return addresses (`scan.rs`), 35 to 70 ns.
//!   Values left over from earlier calls are taken for callers, which tells apart what is the same;
//!   what differs is not mixed up.
//! - `exact`: the stack is unwound by the objects' own tables (`unwind.rs`). That takes some 20 KB
//!   of stack, so on any but the main thread's, of which nobody knows how much is left, it is a
//!   scan.
//! - `0`: signatures are 0, unknown. So they are on Valgrind (`valgrind.rs`).
//!
//! ```text
//! entry.rs    where the stack stood when the program called
//! objects.rs  where code lies: ranges of addresses, and what they are called from run to run
//! late.rs     the same of what is loaded later
//! known.rs    what was found before
//! stack.rs    how far the stack may be looked at
//! scan.rs     return addresses on it
//! sieve.rs    words that are none
//! unwind.rs   the same, exactly
//! python.rs   the running Python functions
//! met.rs      what lies there, told once of each site
//! ```

#[cfg(target_arch = "x86_64")]
mod entry;
mod known;
mod late;
mod met;
mod objects;
mod python;
mod scan;
mod sieve;
mod stack;
#[cfg(target_arch = "x86_64")]
mod unwind;
mod valgrind;

#[cfg(target_arch = "x86_64")]
pub(crate) use entry::enter;

/// Where the hook that is being served was entered, roughly.
#[cfg(not(target_arch = "x86_64"))]
use stack as entry;

pub(crate) use met::tell;

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

const OFF: u8 = 0;
const SCAN: u8 = 1;
const WIDE_SCAN: u8 = 2;
const EXACT: u8 = 3;

static MODE: AtomicU8 = AtomicU8::new(OFF);

/// Calls of a chain that count, the innermost first.
const CALLS_MAX: usize = 8;

/// The same where Python's functions say the rest: beyond, there is but the interpreter.
const CALLS_IN_PYTHON_MAX: usize = 2;

const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What stands for a place in a signature: what it lies in, and where.
#[inline(always)]
fn place_within(within: u64, at: u64) -> u64 {
    let mixed = u128::from(0xcbf2_9ce4_8422_2325 ^ within.rotate_left(32) ^ at) * u128::from(SPREAD);
    (mixed as u64) ^ ((mixed >> 64) as u64)
}

/// A chain of calls becoming a signature. Places are well mixed, so that it is enough to tell their
/// order.
#[derive(Clone, Copy)]
struct Signature(u64);

impl Signature {
    const BEGIN: Signature = Signature(0);

    /// One more caller.
    #[inline(always)]
    fn add(&mut self, place: u64) {
        self.0 = self.0.rotate_left(11).wrapping_add(place);
    }

    /// 32 bits of it, never 0: that is unknown.
    #[inline(always)]
    fn bits(self) -> u32 {
        ((self.0.wrapping_mul(SPREAD) >> 32) as u32).max(1)
    }
}

/// Finds what is needed, as long as there is one thread.
pub(crate) fn begin(wish: Option<&CStr>, places: bool) {
    if valgrind::is_here() {
        return;
    }
    let scan = if sieve::is_wide() { WIDE_SCAN } else { SCAN };
    let mode = match wish {
        Some(wish) if wish == c"0" => return,
        Some(wish) if wish == c"exact" => EXACT,
        _ => scan,
    };
    stack::begin();
    objects::begin();
    python::begin();
    if places {
        met::begin();
    }
    if mode == EXACT && !unwind::begin() {
        return MODE.store(scan, Relaxed);
    }
    MODE.store(mode, Relaxed);
}

/// The program is about to load more objects, or has unloaded some.
pub(crate) fn objects_change() {
    objects::change();
}

/// The signature of the call being served, of which this is inlined into the hook; 0 if it is
/// unknown.
#[inline(always)]
pub(crate) fn signature() -> u32 {
    let mode = MODE.load(Relaxed);
    if mode == OFF {
        return 0;
    }
    let from = entry::stack_pointer();
    match mode {
        // SAFETY: so is the processor.
        WIDE_SCAN => unsafe { scanned_wide(from) },
        EXACT if stack::is_roomy(from) => unwound(),
        _ => scanned(from),
    }
}

/// Unwinding, where there is none.
#[cfg(not(target_arch = "x86_64"))]
mod unwind {
    pub(super) fn begin() -> bool {
        false
    }

    pub(super) fn callers(_: &mut super::Signature) {}
}

#[inline(never)]
fn scanned(from: usize) -> u32 {
    // SAFETY: it is not wide.
    unsafe { scanned_by::<false>(from) }
}

/// The same by wider vectors.
///
/// # Safety
/// The processor has them.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
#[inline(never)]
unsafe fn scanned_wide(from: usize) -> u32 {
    // SAFETY: by the caller's promise.
    unsafe { scanned_by::<true>(from) }
}

#[inline(always)]
unsafe fn scanned_by<const WIDE: bool>(from: usize) -> u32 {
    let mut signature = Signature::BEGIN;
    let calls = if python::functions(&mut signature) { CALLS_IN_PYTHON_MAX } else { CALLS_MAX };
    // SAFETY: by the caller's promise.
    unsafe { scan::callers::<WIDE>(from, calls, signature) }.bits()
}

#[inline(never)]
fn unwound() -> u32 {
    let mut signature = Signature::BEGIN;
    unwind::callers(&mut signature);
    python::functions(&mut signature);
    signature.bits()
}
