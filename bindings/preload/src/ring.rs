//! Where the ring is: `FORESEE_RING` is `/proc/PID/fd/N:NAME`, a descriptor of the supervisor's and
//! what the memory behind it is called.
//!
//! In another PID namespace the path leads to a stranger's descriptor, which may be anything: to
//! open a FIFO lets its writer through. So nothing is opened whose link does not say the name,
//! which no other memory has. Where the kernel does not show us the link, [`handover`] asks for the
//! ring.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int};

use crate::{handover, start, sys};

/// More than either takes.
const BYTES: usize = 64;

/// Written by the constructor, then only read.
struct Kept(UnsafeCell<[[u8; BYTES]; 2]>);

// SAFETY: see above.
unsafe impl Sync for Kept {}

/// The path, and what its link says.
static KEPT: Kept = Kept(UnsafeCell::new([[0; BYTES]; 2]));

fn kept() -> [&'static CStr; 2] {
    // SAFETY: nobody writes any more.
    let kept = unsafe { &*KEPT.0.get() };
    kept.each_ref().map(|bytes| CStr::from_bytes_until_nul(bytes).unwrap_or_default())
}

/// The ring, opened, if there is one that we can reach. To be called by the constructor.
pub(crate) fn open() -> Option<c_int> {
    let value = start::variable(c"FORESEE_RING")?.to_bytes();
    let colon = value.iter().rposition(|&byte| byte == b':')?;
    let (path, name) = (value.get(..colon)?, value.get(colon + 1..)?);
    // SAFETY: there is one thread, and it holds no reference to these.
    let [kept_path, kept_target] = unsafe { &mut *KEPT.0.get() };
    put(kept_path, &[path])?;
    put(kept_target, &[b"/memfd:", name, b" (deleted)"])?;
    let [path, target] = kept();
    match leads_there() {
        true => sys::open(path, libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY),
        false => handover::ask(path, target.to_bytes()),
    }
}

/// Whether a program that this process executes can reach the ring.
pub(crate) fn is_reachable() -> bool {
    let [path, target] = kept();
    !path.is_empty() && (leads_there() || handover::ask(path, target.to_bytes()).map(sys::close).is_some())
}

/// Whether the path still leads to the ring.
fn leads_there() -> bool {
    let [path, target] = kept();
    sys::readlink(path, &mut [0; BYTES]) == target.to_bytes()
}

/// Writes the parts one after the other, and leaves a NUL behind them. Nothing if they do not fit.
fn put(into: &mut [u8; BYTES], parts: &[&[u8]]) -> Option<()> {
    let mut rest = into.get_mut(..BYTES - 1)?;
    for part in parts {
        let (place, after) = rest.split_at_mut_checked(part.len())?;
        place.copy_from_slice(part);
        rest = after;
    }
    Some(())
}
