//! The clock of the records: the cheapest one that all processors agree on.

/// The time now, in ticks: the time-stamp counter on x86-64, nanoseconds of `CLOCK_MONOTONIC`
/// elsewhere.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: `rdtsc` reads a counter and has no other effect.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The time now, in ticks: the time-stamp counter on x86-64, nanoseconds of `CLOCK_MONOTONIC`
/// elsewhere.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn ticks() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
