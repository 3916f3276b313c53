//! Names first, then what they lead to: where a device serves requests one by one, as an arm does.
//!
//! Names lie elsewhere than blocks. Asked for together, they send the arm to and fro, and each time
//! it comes back only those blocks wait whose names are known by then. So blocks are held back
//! there while names are looked up, and go out in one sweep when most are known. Worked example: of
//! 7,000 files on the model of a disk, the names take half a second by themselves, the blocks 0.8 s
//! in the order of their places; asked for together, both took 13 s.
//!
//! Until it is known how a device serves requests, few are out at once: beside many others each one
//! takes long.

use crate::ids::Time;

use super::overlap::Overlap;

/// Requests at once while names are looked up and it is not known how the device serves them.
const UNDECIDED_REQUESTS: u32 = 16;
/// Beside so many others at least a request that waits for them is slow. Beside a single one, which
/// is half done, it takes less than twice its time on any device.
const BESIDE_MIN: u32 = 2;
/// So few names may be on their way still: some lie on a mount that does not answer.
const STRAGGLERS: usize = 8;
/// Blocks are held back for so long at most: a reader may wait for them.
const HELD_MAX_NS: u64 = 2_000_000_000;

/// When the blocks of one device go out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweep {
    overlap: Overlap,
    /// Since when blocks are held back.
    since: Option<Time>,
    /// The blocks that wait go out, until none does.
    is_out: bool,
    /// Names that were looked up since blocks are held back: those that led here, and those that
    /// led elsewhere.
    here: u64,
    elsewhere: u64,
}

impl Sweep {
    /// Whether the device serves requests one by one, if that has shown.
    pub fn is_one_by_one(&self) -> Option<bool> {
        self.overlap.clearly_side_by_side().map(|it| !it)
    }

    /// A name was looked up.
    pub fn named(&mut self, is_here: bool) {
        if is_here {
            self.here += 1;
        } else {
            self.elsewhere += 1;
        }
    }

    /// A request that took so long came, beside which so many were out when it was sent. Where
    /// requests are served one by one it waited for those, and says nothing of what is quick: under
    /// constant load each takes as long as all before it.
    pub fn finished(&mut self, now: Time, took_ns: u64, beside: u32, requests_max: u32) {
        if beside == 0 || self.is_one_by_one() != Some(true) {
            self.overlap.took(took_ns);
        }
        // Where no more may be out, one must do.
        let says_something = beside >= BESIDE_MIN.min(requests_max.saturating_sub(1)).max(1);
        self.overlap.finished(now, took_ns, says_something, requests_max);
    }

    /// Nothing waits any more.
    pub fn is_over(&mut self) {
        (self.is_out, self.since, self.here, self.elsewhere) = (false, None, 0, 0);
    }

    /// Whether what waits stays where it is, while so many names are being looked up and so many
    /// requests are out.
    pub fn holds_back(&mut self, now: Time, names: usize, outstanding: u32) -> bool {
        if self.is_out || names <= STRAGGLERS {
            self.is_out = true;
            return false;
        }
        match self.overlap.clearly_side_by_side() {
            None => outstanding >= UNDECIDED_REQUESTS,
            Some(true) => false,
            Some(false) => {
                let since = *self.since.get_or_insert(now);
                // What is looked up may lead to other devices.
                self.is_out = now.0.saturating_sub(since.0) > HELD_MAX_NS || self.elsewhere > self.here;
                !self.is_out
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Of a device that has answered 32 requests sent at once, each after the one before or all
    /// together.
    fn answered(one_by_one: bool) -> Sweep {
        let mut sweep = Sweep::default();
        for request in 1..=32 {
            let took = 5 * MS * if one_by_one { request } else { 1 };
            sweep.finished(Time(took), took, request as u32 - 1, 128);
        }
        sweep
    }

    #[test]
    fn blocks_wait_for_names_where_there_is_an_arm() {
        let mut disk = answered(true);
        assert!(disk.holds_back(Time(0), 100, 0));
        disk.named(true);
        assert!(!disk.holds_back(Time(MS), STRAGGLERS, 0), "nearly all are known");
        assert!(!disk.holds_back(Time(MS), 100, 0), "the sweep has begun");
        disk.is_over();
        assert!(disk.holds_back(Time(2 * MS), 100, 0));
        assert!(!disk.holds_back(Time(3 * MS + HELD_MAX_NS), 100, 0), "readers may wait");
        assert!(!answered(false).holds_back(Time(0), 100, 127));
    }

    /// Always 70 out, so that each takes as long as 70. Its lone requests show when it has become a
    /// link.
    #[test]
    fn what_waits_at_a_busy_arm_says_nothing_of_what_is_quick() {
        let mut disk = answered(true);
        (0..1000).for_each(|at| disk.finished(Time((200 + 5 * at) * MS), 350 * MS, 69, 128));
        assert_eq!(disk.is_one_by_one(), Some(true));
        (0..1000)
            .for_each(|at| disk.finished(Time((6000 + 500 * at) * MS), 350 * MS, if at % 8 > 0 { 69 } else { 0 }, 128));
        assert_eq!(disk.is_one_by_one(), Some(false));
    }

    /// Two at a time take twice as long one by one, which side by side some do as well.
    #[test]
    fn beside_a_single_other_nothing_is_slow() {
        let mut device = Sweep::default();
        device.finished(Time(0), 5 * MS, 0, 128);
        (1..100).for_each(|at| device.finished(Time(5 * MS * at), 10 * MS, 1, 128));
        assert_eq!(device.is_one_by_one(), None);
        (100..109).for_each(|at| device.finished(Time(5 * MS * at), 100 * MS, 1, 2));
        assert_eq!(device.is_one_by_one(), Some(true), "where no more may be out");
    }

    #[test]
    fn names_that_lead_elsewhere_hold_nothing_back() {
        let mut disk = answered(true);
        assert!(disk.holds_back(Time(0), 100, 0));
        disk.named(false);
        assert!(!disk.holds_back(Time(MS), 100, 0));
    }

    #[test]
    fn few_go_out_until_it_is_known() {
        let mut unknown = Sweep::default();
        assert!(!unknown.holds_back(Time(0), 100, UNDECIDED_REQUESTS - 1));
        assert!(unknown.holds_back(Time(0), 100, UNDECIDED_REQUESTS));
        assert!(!unknown.holds_back(Time(0), 0, 127));
    }
}
