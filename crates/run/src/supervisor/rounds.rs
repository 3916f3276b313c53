//! How often there is a round, and how long is slept between them.

use std::time::{Duration, Instant};

/// How often memory, processes and residency are looked at: at first every 20 ms, for programs grow
/// most as they begin; it takes 0.2 ms. Where nothing was to do for long, what memory has come to
/// meanwhile matters only when something is, and is looked at then.
const LOOK_AROUND_FIRST: Duration = Duration::from_millis(20);
const LOOK_AROUND_MAX: Duration = Duration::from_millis(250);
const LOOK_AT_MEMORY_MAX: Duration = Duration::from_secs(2);
/// The shortest and the longest sleep. The first bounds what watching costs (2,000 wake-ups a
/// second), the second how late a quiet program is noticed: one that reads what is in memory fills
/// the ring in 20 ms.
const SLEEP_MIN: Duration = Duration::from_micros(500);
const SLEEP_MAX: Duration = Duration::from_millis(10);
/// 100 rounds a second cost half a percent of a processor, most of it for being woken. So where
/// nothing was to do for long, it is looked into the ring after such a part of that time, but in
/// time.
const LOOK_PART: u32 = 100;
const LOOK_MAX: Duration = Duration::from_millis(16);
/// And there is a round only when something has come, or after such a part, but no longer than this:
/// who asks about the run waits for it.
const DOZE_PART: u32 = 20;
const DOZE_MAX: Duration = Duration::from_millis(100);

/// When to do what is done now and then.
pub(super) struct Rounds {
    sleep: Duration,
    /// When something was to do last.
    worked: Instant,
    /// More is in the ring than is taken in at once.
    pub is_behind: bool,
    looked_around: Instant,
    looked_at_memory: Instant,
    look_around_after: Duration,
}

/// How the time until the next round is slept through: it begins when there is something to do, or
/// after `doze`; whether there is, is looked every `look`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rest {
    pub look: Duration,
    pub doze: Duration,
}

impl Rounds {
    /// There was none yet.
    pub fn new() -> Self {
        let now = Instant::now();
        Rounds {
            sleep: SLEEP_MIN,
            worked: now,
            is_behind: false,
            looked_around: now,
            looked_at_memory: now,
            look_around_after: LOOK_AROUND_FIRST,
        }
    }

    /// Whether it is time to look at processes and the like, which is done then.
    pub fn looks_around(&mut self, now: Instant) -> bool {
        let is_time = now - self.looked_around >= self.look_around_after;
        if is_time {
            self.looked_around = now;
            self.look_around_after = (self.look_around_after * 5 / 4).min(LOOK_AROUND_MAX);
        }
        is_time
    }

    /// Whether it is time to look at memory as well.
    pub fn looks_at_memory(&mut self, now: Instant) -> bool {
        let idle = ((now - self.worked) / DOZE_PART).min(LOOK_AT_MEMORY_MAX);
        let is_time = now - self.looked_at_memory >= idle;
        if is_time {
            self.looked_at_memory = now;
        }
        is_time
    }

    /// A round is over, in which there was something to do or not; `is_quiet`: programs tell nothing.
    pub fn rest(&mut self, now: Instant, worked: bool, is_quiet: bool) -> Rest {
        if worked {
            self.worked = now;
        }
        self.sleep = match worked {
            true if !is_quiet => SLEEP_MIN,
            _ => (self.sleep * 2).min(SLEEP_MAX),
        };
        // More is in the ring than is taken at once, and a program that hints may be waiting for room.
        let sleep = if self.is_behind { Duration::ZERO } else { self.sleep };
        let idle = now - self.worked;
        let look = (idle / LOOK_PART).min(LOOK_MAX).max(sleep);
        Rest { look, doze: (idle / DOZE_PART).min(DOZE_MAX).max(look) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_seldom_where_nothing_is_to_do_and_often_as_soon_as_something_is() {
        let mut rounds = Rounds::new();
        let (mut now, begun) = (rounds.worked, rounds.worked);
        let busy = Rest { look: SLEEP_MIN, doze: SLEEP_MIN };
        assert_eq!(rounds.rest(now, true, false), busy);
        let (mut count, mut looks) = (0, 0);
        while now - begun < Duration::from_secs(10) {
            let Rest { look, doze } = rounds.rest(now, false, false);
            assert!(look <= LOOK_MAX && doze <= DOZE_MAX && look <= doze);
            looks += doze.as_micros() / look.as_micros();
            count += 1;
            now += doze;
        }
        assert!(count < 200 && looks < 800, "{count} rounds and {looks} looks in ten seconds");
        assert_eq!(rounds.rest(now, true, false), busy);
        rounds.is_behind = true;
        assert_eq!(rounds.rest(now, true, false), Rest { look: Duration::ZERO, doze: Duration::ZERO });
    }
}
