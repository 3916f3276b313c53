//! The ring as a source: records are taken out, and what they mean is found.

use std::time::{Duration, Instant};

use foresee_ring::{Consumer, Next, PATH_BYTES_MAX, Region};

use super::processes::{Processes, is_dead};
use super::seen::{Disclosure, Seen};
use crate::clock::Clock;
use crate::names::Names;
use crate::programs::ProgramId;
use crate::source::{Sighting, Source};

/// A record half posted for so long will not be finished: its program was killed.
const HOLE_GRACE: Duration = Duration::from_millis(100);
/// Records taken in before the clocks are read again: some milliseconds' worth.
const CLOCK_LASTS: u32 = 4096;

/// The ring, and the processes that post to it.
pub struct Ring<'a> {
    /// What they post to.
    pub region: &'a Region,
    /// Who they are.
    pub processes: Processes,
    consumer: Consumer<'a>,
    /// Where a record was half posted, and since when.
    stalled: Option<(u64, Instant)>,
    times: Times,
}

/// Turns the ring's ticks into times.
struct Times {
    begun: Instant,
    ns_per_tick: f64,
    /// Both clocks as they were read last, and for how many records that lasts.
    ticks: u64,
    elapsed: Duration,
    lasts: u32,
}

impl Times {
    fn read_clocks(&mut self) {
        (self.ticks, self.elapsed, self.lasts) = (foresee_ring::ticks(), self.begun.elapsed(), CLOCK_LASTS);
    }

    fn duration(&self, ticks: u64) -> Duration {
        Duration::from_nanos((ticks as f64 * self.ns_per_tick) as u64)
    }

    /// When that was, since the run began.
    fn of(&mut self, ticks: u64) -> Duration {
        if self.lasts == 0 {
            self.read_clocks();
        }
        self.lasts -= 1;
        match ticks.checked_sub(self.ticks) {
            Some(since) => self.elapsed + self.duration(since),
            None => self.elapsed.saturating_sub(self.duration(self.ticks - ticks)),
        }
    }
}

impl<'a> Ring<'a> {
    /// The ring of this region. Times are since `begun`.
    pub fn new(region: &'a Region, clock: Clock, begun: Instant) -> Self {
        let times = Times { begun, ns_per_tick: clock.ns_per_tick(), ticks: 0, elapsed: Duration::ZERO, lasts: 0 };
        let (consumer, processes) = (Consumer::new(region), Processes::default());
        Ring { region, processes, consumer, stalled: None, times }
    }

    /// So many of the ring's ticks take so long.
    pub fn duration(&self, ticks: u64) -> Duration {
        self.times.duration(ticks)
    }

    /// A duration in the ring's ticks.
    pub fn ticks(&self, duration: Duration) -> u64 {
        (duration.as_nanos() as f64 / self.times.ns_per_tick) as u64
    }

    /// Records that were lost, or made no sense.
    pub fn lost(&self) -> u64 {
        self.region.lost() + self.consumer.corrupt()
    }

    /// Slots of processes that are gone, and the processes.
    pub fn dead(&self) -> Vec<(u32, u32)> {
        let owned = (0..foresee_ring::PROCESS_SLOTS as u32).filter_map(|slot| Some((slot, self.region.owner(slot)?)));
        owned.filter(|&(_, pid)| is_dead(pid)).collect()
    }

    /// Gives the slot of a process that is gone, and what it counted, back. Returns the process's
    /// number, if it is followed.
    pub fn retire(&mut self, slot: u32, pid: u32) -> Option<u32> {
        self.count_in(slot, self.processes.program(pid));
        self.processes.programs().release(slot);
        self.region.release(slot);
        self.processes.forget(pid)
    }

    /// Takes in what all processes have counted by now.
    pub fn count_all_in(&mut self) {
        for slot in 0..foresee_ring::PROCESS_SLOTS as u32 {
            if let Some(pid) = self.region.owner(slot) {
                self.count_in(slot, self.processes.program(pid));
            }
        }
    }

    /// What a slot counted since was this program's doing.
    fn count_in(&mut self, slot: u32, program: ProgramId) {
        let Some(process) = self.region.process(slot) else { return };
        self.processes.programs().count(slot, program, process.counters());
    }

    /// A record was begun there, and is not finished.
    fn wait_for(&mut self, at: u64) {
        match self.stalled {
            Some((before, since)) if before == at => {
                if since.elapsed() > HOLE_GRACE {
                    self.consumer.skip_hole();
                }
            }
            _ => self.stalled = Some((at, Instant::now())),
        }
    }
}

impl Source for Ring<'_> {
    fn next(&mut self, names: &mut Names, room: &mut usize) -> Option<Sighting> {
        let mut path = [0; PATH_BYTES_MAX];
        while *room > 0 {
            match self.consumer.next(&mut path) {
                Next::Record(entry) => {
                    self.stalled = None;
                    *room -= 1;
                    let (process, thread, ticks) = (entry.stamp.pid, entry.stamp.tid, entry.stamp.ticks);
                    let Some(seen) = self.processes.learn(&entry, names) else { continue };
                    // Each segment takes about as long as a record.
                    if let Seen::Disclosed(Disclosure::Segments(segments)) = &seen {
                        *room = room.saturating_sub(segments.len());
                    }
                    let (ordinal, program) = (self.processes.ordinal(process), self.processes.program(process));
                    return Some(Sighting { process, ordinal, program, thread, time: self.times.of(ticks), seen });
                }
                Next::Empty => break,
                Next::Stalled { at } => {
                    self.wait_for(at);
                    break;
                }
            }
        }
        if *room > 0 {
            // Nothing more by now: what comes next comes later.
            self.times.lasts = 0;
        }
        None
    }
}
