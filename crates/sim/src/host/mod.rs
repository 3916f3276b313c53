//! The simulated host: readers in a closed loop (the source), the driver, a machine of devices and
//! a processor (the host), and a clock that only moves from one event to the next.
//!
//! A reader does its steps one after the other. It thinks; it reads, and then waits until the
//! manager wakes it; it discloses. The host opens a file at its first read (the manager then learns
//! its device and size), answers look-ups after `lookup_ns`, and fetches when the file's device is
//! done with them. All else is the manager's: what is simulated is what runs.
//!
//! Two parts of a machine can be added: one [`Processor`] for all, which thinking, handing out
//! blocks and asking devices take time of, and the file system's own [`Readahead`].
//!
//! Worked example: a reader reads block 0 of a file twice, on a device of 500 us. The first read
//! fetches, the fetch is done at 500 us, the reader is woken; the second read finds the block and
//! is woken at once. It stalled 500 us of 500.

mod bound;
mod machine;
mod processor;
mod readahead;
mod readers;
mod report;
mod setup;

use foresee_driver::Driver;
use foresee_manager::{Event, Outcomes};

pub use bound::least_elapsed_ns;
pub use foresee_driver::Tap;
pub use machine::{Machine, Turn};
pub use readahead::Readahead;
pub use report::{Fault, ProcessorReport, ReaderReport, Report};
pub use setup::{HostFile, Processor, Reader, Setup, Step};

use readers::Readers;

/// Runs until all readers are through and nothing is on its way.
///
/// # Errors
/// If the setup speaks of what is not there, or a reader is never woken.
pub fn run(setup: &Setup) -> Result<Report, Fault> {
    run_watched(setup, &mut |_, _, _, _| {})
}

/// Like [`run`], and tells `tap` of every event: to log, or to check.
///
/// # Errors
/// As [`run`].
pub fn run_watched(setup: &Setup, tap: &mut Tap<'_>) -> Result<Report, Fault> {
    let machine = Machine::new(setup);
    machine.check_files()?;
    let tap = Box::new(|now, event, actions: &[_], manager: &_| tap(now, event, actions, manager));
    let driver = Driver::new(&setup.config, machine, Some(tap));
    Simulation { setup, driver, readers: Readers::new(setup) }.run()
}

struct Simulation<'a> {
    setup: &'a Setup,
    driver: Driver<'a, Machine<'a>>,
    readers: Readers,
}

impl Simulation<'_> {
    fn run(mut self) -> Result<Report, Fault> {
        for lane in 0..self.setup.readers.len() {
            self.driver.host.begin(lane);
        }
        while let Some(turn) = self.driver.host.turn() {
            match turn {
                Turn::Reader { lane } => self.go_on(lane)?,
                Turn::Event(event) => self.tell(event),
                Turn::Processor => {
                    while let Some(lane) = self.driver.host.next_through() {
                        self.readers.was_queued(lane, &self.driver.host);
                        self.go_on(lane)?;
                    }
                }
                Turn::Nothing => {}
            }
        }
        self.readers.check()?;
        let mut statistics = self.driver.manager().statistics().clone();
        statistics.ahead.iter_mut().for_each(Outcomes::end);
        Ok(self.readers.report(&self.driver.host, statistics))
    }

    /// Tells the manager; readers hear what it replies.
    fn tell(&mut self, event: Event) {
        let readers = &mut self.readers;
        self.driver.tell(event, |machine, reply| readers.hear(machine, reply));
    }
}
