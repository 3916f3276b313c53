//! Sectors passing under the head: when each of them is read or written.
//!
//! The platter never stops: where it is depends on the time alone. A pass begins when the arm has
//! come to the track, waits for its first sector, and goes on from track to track; each change of
//! track takes a head switch or a seek of one cylinder, and then the wait for the first sector
//! there, which the skew keeps short.
//!
//! Worked example: a turn of 10 ms and 10 sectors, the head on the track at 12.5 ms, sectors 3 and
//! 4. The platter is at 2.5 ms of its turn; sector 3 begins at 13 ms, sector 4 has passed at 15 ms.

use super::DiskSpec;
use super::geometry::Track;

/// Where the arm stands, and which head is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Arm {
    pub cylinder: u64,
    pub surface: u64,
}

/// Neighbouring sectors of one track.
struct Stretch {
    first: u64,
    end: u64,
    track: Track,
    /// When angle 0 came by last before it began, and since when the arm was on its way there.
    origin_ns: u64,
    left_ns: u64,
}

impl Stretch {
    /// When the head is at the beginning of this sector, which is of this stretch or the one behind
    /// it.
    fn at_ns(&self, spec: &DiskSpec, sector: u64) -> u64 {
        let round = self.track.angle + (sector - self.track.first);
        let begun = (self.track.angle + (self.first - self.track.first)) / self.track.turn;
        self.origin_ns + (round - begun * self.track.turn) * spec.turn_ns / self.track.turn
    }
}

/// A pass over neighbouring sectors. Times never depend on what comes later, so it may be made
/// longer.
#[derive(Default)]
pub(super) struct Pass {
    stretches: Vec<Stretch>,
}

impl Pass {
    /// Goes on to the sector `end`, from `first` if it is new. The arm is told to move at
    /// `ready_ns`, and reads or writes nothing before `data_ns`.
    pub fn extend(&mut self, spec: &DiskSpec, mut arm: Arm, (first, end): (u64, u64), times: Start) {
        let (mut sector, mut now) = (first, times.ready_ns);
        while sector < end {
            let track = spec.geometry.track(sector);
            let last = end.min(track.first + track.data);
            let left_ns = now;
            now += spec.move_ns(arm, track, times.settles);
            now = now.max(times.data_ns);
            let angle = (track.angle + (sector - track.first)) % track.turn;
            let begins = angle * spec.turn_ns / track.turn;
            now += (begins + spec.turn_ns - now % spec.turn_ns) % spec.turn_ns;
            let stretch = Stretch { first: sector, end: last, track, origin_ns: now - begins, left_ns };
            now = stretch.at_ns(spec, last);
            self.stretches.push(stretch);
            arm = Arm { cylinder: track.cylinder, surface: track.surface };
            sector = last;
        }
    }

    /// When this sector, which is one of the pass, has passed.
    pub fn end_of(&self, spec: &DiskSpec, sector: u64) -> u64 {
        let within = self.stretches.partition_point(|stretch| stretch.end <= sector);
        self.stretches.get(within).map_or(0, |stretch| stretch.at_ns(spec, sector + 1))
    }

    /// When the last one has passed, and the sector behind it; None if the pass holds none.
    pub fn end(&self, spec: &DiskSpec) -> Option<(u64, u64)> {
        self.stretches.last().map(|last| (last.at_ns(spec, last.end), last.end))
    }

    /// The first sector that has not passed whole by now; None if none was to pass. Stretches that
    /// have passed are forgotten, but for the last.
    pub fn reached(&mut self, spec: &DiskSpec, now: u64) -> Option<u64> {
        let unfinished = self.stretches.iter().position(|stretch| stretch.at_ns(spec, stretch.end) > now);
        self.stretches.drain(..unfinished.unwrap_or(self.stretches.len().saturating_sub(1)));
        let stretch = self.stretches.first()?;
        (stretch.first..stretch.end).find(|&sector| stretch.at_ns(spec, sector + 1) > now).or(Some(stretch.end))
    }

    /// Where the arm is by now, if the pass moved it yet.
    pub fn arm(&self, now: u64) -> Option<Arm> {
        let Track { cylinder, surface, .. } = self.stretches.iter().rfind(|stretch| stretch.left_ns <= now)?.track;
        Some(Arm { cylinder, surface })
    }
}

/// When a pass may begin.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// The arm may move.
    pub ready_ns: u64,
    /// The data may be moved.
    pub data_ns: u64,
    /// Whether the head must settle for writing.
    pub settles: bool,
}

#[cfg(test)]
mod tests {
    use super::super::disks::REGISTRY;
    use super::*;

    const NOW: Start = Start { ready_ns: 12_345_678, data_ns: 0, settles: false };

    #[test]
    fn a_pass_takes_its_sectors_and_the_changes_of_track() {
        for spec in REGISTRY {
            let geometry = &spec.geometry;
            let mut pass = Pass::default();
            let track = geometry.track(0);
            // All of cylinder 0 and the first track of cylinder 1.
            let tracks = geometry.surfaces + 1;
            pass.extend(spec, Arm::default(), (0, tracks * track.data), NOW);
            let begun = pass.end_of(spec, 0) - spec.turn_ns / track.turn;
            let (ended, sector) = pass.end(spec).unwrap();
            assert_eq!(sector, tracks * track.data);
            // The skews are such that no track is missed: each change takes less than the part of a turn it is
            // skewed by.
            let angles =
                tracks * track.data + (tracks - 2) * geometry.zones[0].track_skew + geometry.zones[0].cylinder_skew;
            let spares = (tracks - 1) * geometry.spare_sectors;
            let expected = (angles + spares) * spec.turn_ns / track.turn;
            assert!((ended - begun).abs_diff(expected) < 100, "{}: {} for {expected}", spec.name, ended - begun);
        }
    }

    #[test]
    fn a_longer_pass_is_the_same_pass() {
        for spec in REGISTRY {
            let (mut whole, mut parts) = (Pass::default(), Pass::default());
            whole.extend(spec, Arm::default(), (100, 400), NOW);
            for end in [101, 130, 300, 400] {
                let (ready_ns, first) = parts.end(spec).unwrap_or((NOW.ready_ns, 100));
                let arm = parts.arm(u64::MAX).unwrap_or_default();
                parts.extend(spec, arm, (first, end), Start { ready_ns, ..NOW });
            }
            for sector in 100..400 {
                assert_eq!(whole.end_of(spec, sector), parts.end_of(spec, sector), "{} {sector}", spec.name);
            }
            let middle = whole.end_of(spec, 250);
            assert_eq!((whole.reached(spec, middle - 1), whole.reached(spec, middle)), (Some(250), Some(251)));
            assert_eq!((whole.reached(spec, u64::MAX), whole.end(spec)), (Some(400), parts.end(spec)));
        }
    }
}
