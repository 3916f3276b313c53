//! What a tick of the ring's clock takes: from two readings of it beside the system's clock. And
//! what time it is.

use std::time::{Duration, Instant, SystemTime};

use foresee_ring::ticks;

/// Readings of which the best is taken.
const READINGS: usize = 8;
/// The least time between the two: each is off by some ten nanoseconds.
const APART_MIN: Duration = Duration::from_micros(200);

/// A reading of both clocks.
#[derive(Debug, Clone, Copy)]
struct Reading {
    time: Instant,
    ticks: u64,
    /// Ticks that passed meanwhile: many, if something else ran in between.
    width: u64,
}

impl Reading {
    fn take() -> Self {
        let before = ticks();
        let time = Instant::now();
        let width = ticks().wrapping_sub(before);
        Reading { time, ticks: before.wrapping_add(width / 2), width }
    }

    /// The one of several that nothing came between.
    fn best(readings: impl IntoIterator<Item = Reading>) -> Self {
        let best = readings.into_iter().min_by_key(|it| it.width);
        best.unwrap_or_else(Self::take)
    }

    fn now() -> Self {
        Self::best((0..READINGS).map(|_| Self::take()))
    }
}

/// The clocks, as they stood some time ago.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Reading);

impl Clock {
    /// As they stand now.
    pub fn begin() -> Self {
        Clock(Reading::now())
    }

    /// Nanoseconds a tick. The more time has passed, the better; if it was too little, waits.
    pub fn ns_per_tick(self) -> f64 {
        while self.0.time.elapsed() < APART_MIN {
            std::hint::spin_loop();
        }
        between(self.0, Reading::now())
    }
}

/// What time it is, for what is kept for later runs.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// So long what was found of storage is believed: then it may be another.
pub const BELIEVED: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether what was found then, since 1970, is still believed.
pub fn is_believed(found: Duration) -> bool {
    since_1970().checked_sub(found).is_some_and(|age| age < BELIEVED)
}

/// Whether what was found then, since 1970, was found since this machine started: what was in memory
/// before is not.
pub fn is_since_start(found: Duration) -> bool {
    let mut up = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes a time there.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut up) };
    since_1970().checked_sub(Duration::from_secs(up.tv_sec as u64)).is_some_and(|start| start <= found)
}

fn between(one: Reading, other: Reading) -> f64 {
    let nanoseconds = other.time.duration_since(one.time).as_nanos() as f64;
    nanoseconds / other.ticks.wrapping_sub(one.ticks).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock of 2 ticks a nanosecond, read at this time by somebody who was kept waiting in
    /// between.
    fn reading(begun: Instant, nanoseconds: u64, kept_waiting: u64) -> Reading {
        let time = begun + Duration::from_nanos(nanoseconds + kept_waiting);
        let width = 2 * (kept_waiting + 20);
        Reading { time, ticks: 2 * nanoseconds + width / 2, width }
    }

    #[test]
    fn what_was_found_is_believed_for_a_day_and_never_from_the_future() {
        let now = since_1970();
        let second = Duration::from_secs(1);
        assert!(is_believed(now) && is_believed(now - BELIEVED + 60 * second));
        assert!(!is_believed(now - BELIEVED) && !is_believed(now + 60 * second));
    }

    #[test]
    fn what_was_found_before_the_machine_started_is_known_for_it() {
        let now = since_1970();
        let before = now.checked_sub(Duration::from_secs(100 * 365 * 24 * 60 * 60)).unwrap_or_default();
        assert!(is_since_start(now) && !is_since_start(before));
    }

    #[test]
    fn who_is_kept_waiting_between_the_clocks_does_not_scale_all_durations() {
        let begun = Instant::now();
        let one = Reading::best([reading(begun, 0, 3_000_000), reading(begun, 4_000_000, 10)]);
        let other = Reading::best([reading(begun, 5_000_000, 10), reading(begun, 5_000_100, 900_000)]);
        let found = between(one, other);
        assert!((found - 0.5).abs() < 0.001, "{found}");
    }
}
