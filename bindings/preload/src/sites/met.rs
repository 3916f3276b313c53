//! What lies at a site, for people to read: told of when the site is met first.
//!
//! That is the innermost caller outside of libc, by the path of its object and its place there.
//! Objects that are loaded later may be gone at any moment, and are passed over: who called them
//! stands for them.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use foresee_ring::{PATH_BYTES_MAX, Record, Region};

use super::{entry, objects, stack};
use crate::{state, sys};

/// Sites met before, each in the one place where it may be: one that takes another's is told of
/// again.
static MET: [AtomicU32; 4096] = [const { AtomicU32::new(0) }; 4096];
/// So many are told of at most.
const TOLD_MAX: u32 = 8192;

static TOLD: AtomicU32 = AtomicU32::new(0);
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// As far up the stack as is looked.
const BYTES: usize = 1024;

pub(super) fn begin() {
    IS_WANTED.store(true, Relaxed);
}

/// Tells what lies at the site of the call being served, if it was not met before. To be inlined
/// into the hook.
#[inline(always)]
pub(crate) fn tell(region: &Region, site: u32) {
    let known = &MET[site as usize % MET.len()];
    if IS_WANTED.load(Relaxed) && known.load(Relaxed) != site {
        known.store(site, Relaxed);
        tell_new(region, site, entry::stack_pointer());
    }
}

#[cold]
#[inline(never)]
fn tell_new(region: &Region, site: u32, from: usize) {
    let Some((path, offset)) = caller(from).filter(|_| TOLD.fetch_add(1, Relaxed) < TOLD_MAX) else { return };
    let mut target = [0; PATH_BYTES_MAX];
    // The linker has no name for the program itself.
    let path = if path.is_empty() { sys::readlink(c"/proc/self/exe", &mut target) } else { path };
    state::post(region, Record::SiteMet { site, offset }, path);
}

/// The object of the innermost caller outside of libc, and the place there.
fn caller(from: usize) -> Option<(&'static [u8], u64)> {
    let from = from & !(size_of::<usize>() - 1);
    let mut known_end = stack::known_end(from);
    for at in (from..from.saturating_add(BYTES)).step_by(size_of::<usize>()) {
        if at >= known_end {
            known_end = stack::next_end(known_end);
        }
        if at >= known_end {
            break;
        }
        // SAFETY: on the stack, as far as it is known to be there; nobody else writes there.
        let word = unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        let found = objects::lasting(word);
        if found.is_some() {
            return found;
        }
    }
    None
}
