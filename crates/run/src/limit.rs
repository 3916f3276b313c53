//! What limits (getrlimit(2)) this process has.

use libc::{__rlimit_resource_t as Resource, RLIM_INFINITY, rlim_t};

/// The limit in force; `RLIM_INFINITY` is more than any other.
pub fn soft(resource: Resource) -> rlim_t {
    let mut limit = libc::rlimit { rlim_cur: RLIM_INFINITY, rlim_max: RLIM_INFINITY };
    // SAFETY: the structure is filled in, or stays as it is.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    limit.rlim_cur
}
