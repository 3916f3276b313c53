//! Which place in the program a read or a write comes from: a *call-site signature* (004 section 4.3), 32 bits that are the same in every
//! run of the program.
//!
//! The address that called `read` says next to nothing: programs read through wrappers. So the signature is made of the chain
//! of calls that led there, each as the object it lies in (by its build id) and its place within, so that it does not matter
//! where objects are loaded. Python's functions join it, which the interpreter's own chain does not show.
//!
//! It is found where somebody wants it: a recording, or a policy that learns by it; else signatures are 0, unknown, and cost
//! nothing. `FORESEE_SITES` says how:
//!
//! - `scan` (default): words on the stack that look like return addresses (`scan.rs`), some 150 ns. Values left over from earlier
//!   calls are taken for callers, which tells apart what is the same; what differs is not mixed up.
//! - `exact`: the stack is unwound by the objects' own tables (`unwind.rs`). That takes some 20 KB of stack, so on any but the main
//!   thread's, of which nobody knows how much is left, it is a scan.
//! - `0`: signatures are 0, unknown.
//!
//! ```text
//! entry.rs    where the stack stood when the program called
//! objects.rs  where code lies: ranges of addresses, and what they are called from run to run
//! stack.rs    how far the stack may be looked at
//! scan.rs     return addresses on it
//! unwind.rs   the same, exactly
//! python.rs   the running Python functions
//! ```

#[cfg(target_arch = "x86_64")]
mod entry;
mod objects;
mod python;
mod scan;
mod stack;
#[cfg(target_arch = "x86_64")]
mod unwind;

#[cfg(target_arch = "x86_64")]
pub(crate) use entry::enter;

/// Where the hook that is being served was entered, roughly.
#[cfg(not(target_arch = "x86_64"))]
use stack as entry;

use core::ffi::CStr;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

const OFF: u8 = 0;
const SCAN: u8 = 1;
const EXACT: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(OFF);

/// Calls of a chain that count, the innermost first.
const CALLS_MAX: usize = 8;

/// The same where Python's functions say the rest: beyond, there is but the interpreter.
const CALLS_IN_PYTHON_MAX: usize = 2;

/// A chain of calls becoming a signature.
#[derive(Clone, Copy)]
struct Signature(u64);

impl Signature {
    const BEGIN: Signature = Signature(0xcbf2_9ce4_8422_2325);

    /// One more caller: what it lies in, and where.
    #[inline(always)]
    fn add(&mut self, within: u64, at: u64) {
        let mixed = u128::from(self.0 ^ within.rotate_left(32) ^ at) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (mixed as u64) ^ ((mixed >> 64) as u64);
    }

    /// 32 bits of it, never 0: that is unknown.
    #[inline(always)]
    fn bits(self) -> u32 {
        ((self.0 ^ (self.0 >> 32)) as u32).max(1)
    }
}

/// Finds what is needed, as long as there is one thread.
pub(crate) fn begin(wish: Option<&CStr>) {
    let mode = match wish {
        Some(wish) if wish == c"0" => return,
        Some(wish) if wish == c"exact" => EXACT,
        _ => SCAN,
    };
    stack::begin();
    objects::begin();
    python::begin();
    if mode == EXACT && !unwind::begin() {
        return MODE.store(SCAN, Relaxed);
    }
    MODE.store(mode, Relaxed);
}

/// The program is about to load more objects.
pub(crate) fn objects_change() {
    objects::change();
}

/// The signature of the call being served, of which this is inlined into the hook; 0 if it is unknown.
#[inline(always)]
pub(crate) fn signature() -> u32 {
    let mode = MODE.load(Relaxed);
    if mode == OFF {
        return 0;
    }
    let from = entry::stack_pointer();
    if mode == EXACT && stack::is_roomy(from) { unwound() } else { scanned(from) }
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
    let mut signature = Signature::BEGIN;
    let calls = if python::functions(&mut signature) { CALLS_IN_PYTHON_MAX } else { CALLS_MAX };
    scan::callers(from, calls, &mut signature);
    signature.bits()
}

#[inline(never)]
fn unwound() -> u32 {
    let mut signature = Signature::BEGIN;
    unwind::callers(&mut signature);
    python::functions(&mut signature);
    signature.bits()
}
