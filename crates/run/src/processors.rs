//! How busy the processors are, and what of that is our doing.

use std::mem::MaybeUninit;
use std::time::Duration;

/// What they did so far, in ticks of the kernel's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Busy {
    /// Time in which they had nothing to do, or waited for a device.
    pub idle: u64,
    /// All time.
    pub all: u64,
}

impl Busy {
    /// Of the processors that this process may run on; None if the kernel does not say.
    pub fn now() -> Option<Self> {
        Some(Self::of(&std::fs::read_to_string("/proc/stat").ok()?, may_run_on()?))
    }

    fn of(text: &str, is_ours: impl Fn(usize) -> bool) -> Self {
        let mut busy = Busy::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let number = words.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            if number.is_some_and(&is_ours) {
                // User, nice, system, idle, waiting for devices, interrupts twice, stolen; guests' are counted with the
                // first two.
                let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
                busy.all += ticks.iter().sum::<u64>();
                busy.idle += ticks.iter().skip(3).take(2).sum::<u64>();
            }
        }
        busy
    }

    /// The part of the time since `before` that was idle; None if none has passed.
    pub fn idle_since(self, before: Busy) -> Option<f64> {
        let all = self.all.saturating_sub(before.all);
        (all > 0).then(|| self.idle.saturating_sub(before.idle) as f64 / all as f64)
    }
}

/// Which processors this process may run on. Of a share of their time that a control group sets,
/// nothing is known.
fn may_run_on() -> Option<impl Fn(usize) -> bool> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the structure is filled by the kernel; zeros are a valid value.
    let set = unsafe {
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) != 0 {
            return None;
        }
        set.assume_init()
    };
    // SAFETY: the number is within the set.
    Some(move |number| number < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(number, &set) })
}

/// Processors that this process may run on.
pub fn count() -> usize {
    may_run_on().map_or(1, |is_ours| (0..libc::CPU_SETSIZE as usize).filter(|&number| is_ours(number)).count())
}

/// What this process has used of them.
pub fn own() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is written to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  500 5 300 900 60 1 2 3 0 0\ncpu0 400 5 100 600 50 1 2 3 0 0\n\
                        cpu1 100 0 200 300 10 0 0 0 0 0\nintr 12 0\nctxt 7\n";

    #[test]
    fn the_processors_we_may_run_on_are_summed() {
        assert_eq!(Busy::of(STAT, |_| true), Busy { idle: 960, all: 1771 });
        assert_eq!(Busy::of(STAT, |number| number == 1), Busy { idle: 310, all: 610 });
        assert_eq!(Busy::of("", |_| true), Busy::default());
    }

    #[test]
    fn what_is_idle_is_a_part_of_the_time_between() {
        let (before, after) = (Busy { idle: 100, all: 1000 }, Busy { idle: 110, all: 1040 });
        assert_eq!(after.idle_since(before), Some(0.25));
        assert_eq!(after.idle_since(after), None);
    }

    #[test]
    fn this_process_uses_some_of_them() {
        assert!(own() > Duration::ZERO && count() > 0);
        assert!(Busy::now().is_none_or(|busy| busy.all > 0));
    }
}
