//! One processor, shared by all readers and the system.
//!
//! Two classes of work: the system's (asking a device) and the readers' (thinking, being handed
//! what they read). The system's interrupts the readers', as a driver does, and is first come,
//! first served. The readers share evenly, as under time-sharing: the one that has had least of the
//! processor goes first, and as it comes interrupts one that has had more. (First come,
//! first served would give each as many pieces of work as the other, however long: a reader that
//! hardly computes would be held to the pace of one that does.) Who waited for a device is owed no
//! more than [`OWED_NS_MAX`] for that.
//!
//! Worked example: a reader thinks from 0 to 100. At 40 a device is to be asked, which takes 10: it
//! is asked at 50, and the reader is through at 110. The processor was busy for 110, 100 of them
//! with thinking.

use std::collections::VecDeque;

use foresee_manager::Time;

use super::report::ProcessorReport;

/// How far a reader that comes is behind those that are there, at most: a time slice.
const OWED_NS_MAX: u64 = 10_000_000;

/// What the processor is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A reader thinks.
    Think { lane: usize },
    /// A reader is handed what it read.
    Hit { lane: usize },
    /// A device is asked.
    Driver { ticket: u64 },
}

impl Work {
    /// Whose work it is; None: the system's.
    fn lane(self) -> Option<usize> {
        match self {
            Work::Think { lane } | Work::Hit { lane } => Some(lane),
            Work::Driver { .. } => None,
        }
    }
}

/// A piece of work, and what is left of it.
struct Task {
    work: Work,
    left_ns: u64,
}

/// The processor at work.
#[derive(Default)]
pub(super) struct Processor {
    system: VecDeque<Task>,
    readers: VecDeque<Task>,
    /// What it does, and since when; `left_ns` is as of then.
    running: Option<(Task, Time)>,
    /// What each reader has had, or is taken to have had.
    had_ns: Vec<u64>,
    /// What the one that had least of those who were there had.
    least_ns: u64,
    spent: ProcessorReport,
}

impl Processor {
    /// Takes work in.
    pub fn submit(&mut self, now: Time, work: Work, ns: u64) {
        let is_readers = self.running.as_ref().is_some_and(|(task, _)| task.work.lane().is_some());
        if is_readers && let Some(interrupted) = self.pause(now) {
            self.readers.push_front(interrupted);
        }
        let task = Task { work, left_ns: ns };
        match work.lane() {
            None => self.system.push_back(task),
            Some(lane) => {
                self.join(lane);
                self.readers.push_back(task);
            }
        }
        self.run(now);
    }

    /// A reader comes.
    fn join(&mut self, lane: usize) {
        if lane >= self.had_ns.len() {
            self.had_ns.resize(lane + 1, 0);
        }
        let least_ns = self.readers.iter().map(|task| self.had_ns_of(task)).min();
        self.least_ns = self.least_ns.max(least_ns.unwrap_or(0));
        self.had_ns[lane] = self.had_ns[lane].max(self.least_ns.saturating_sub(OWED_NS_MAX));
    }

    fn had_ns_of(&self, task: &Task) -> u64 {
        task.work.lane().map_or(0, |lane| self.had_ns[lane])
    }

    /// When it is through with what it does.
    pub fn next_event(&self) -> Option<Time> {
        self.running.as_ref().map(|(task, since)| Time(since.0.saturating_add(task.left_ns)))
    }

    /// A piece of work that is done by now.
    pub fn advance(&mut self, now: Time) -> Option<Work> {
        if self.next_event()? > now {
            return None;
        }
        let done = self.pause(now)?;
        self.run(now);
        Some(done.work)
    }

    /// What it did until now, since time 0.
    pub fn report(&self, now: Time) -> ProcessorReport {
        let mut spent = self.spent;
        if let Some((task, since)) = &self.running {
            *counter(&mut spent, task.work) += now.0 - since.0;
        }
        spent.idle_ns = now.0 - spent.think_ns - spent.hit_ns - spent.driver_ns;
        spent
    }

    fn run(&mut self, now: Time) {
        if self.running.is_none() {
            self.running = self.system.pop_front().or_else(|| self.next_reader()).map(|task| (task, now));
        }
    }

    /// The reader that has had least; of equals, the first to come.
    fn next_reader(&mut self) -> Option<Task> {
        let next = (0..self.readers.len()).min_by_key(|&at| self.had_ns_of(&self.readers[at]))?;
        self.readers.remove(next)
    }

    /// Stops what it does; what is left of it is brought up to date.
    fn pause(&mut self, now: Time) -> Option<Task> {
        let (mut task, since) = self.running.take()?;
        let ns = now.0 - since.0;
        *counter(&mut self.spent, task.work) += ns;
        task.left_ns -= ns;
        if let Some(lane) = task.work.lane() {
            self.had_ns[lane] += ns;
        }
        Some(task)
    }
}

fn counter(spent: &mut ProcessorReport, work: Work) -> &mut u64 {
    match work {
        Work::Think { .. } => &mut spent.think_ns,
        Work::Hit { .. } => &mut spent.hit_ns,
        Work::Driver { .. } => &mut spent.driver_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        let mut processor = Processor::default();
        processor.submit(Time(0), Work::Think { lane: 0 }, 100);
        processor.submit(Time(40), Work::Driver { ticket: 7 }, 10);
        assert_eq!((processor.next_event(), processor.advance(Time(49))), (Some(Time(50)), None));
        assert_eq!(processor.advance(Time(50)), Some(Work::Driver { ticket: 7 }));
        assert_eq!(
            (processor.next_event(), processor.advance(Time(110))),
            (Some(Time(110)), Some(Work::Think { lane: 0 }))
        );
        let report = ProcessorReport { think_ns: 100, hit_ns: 0, driver_ns: 10, idle_ns: 5 };
        assert_eq!((processor.report(Time(115)), processor.next_event()), (report, None));
    }

    /// How often each of two readers that always have something to do gets it done in a second.
    fn shares(first_ns: u64, second_ns: u64) -> [u64; 2] {
        let mut processor = Processor::default();
        let ns = [first_ns, second_ns];
        let mut done = [0; 2];
        (0..2).for_each(|lane| processor.submit(Time(0), Work::Think { lane }, ns[lane]));
        while let Some(now) = processor.next_event().filter(|now| now.0 < 1_000_000_000) {
            if let Some(Work::Think { lane }) = processor.advance(now) {
                done[lane] += 1;
                processor.submit(now, Work::Think { lane }, ns[lane]);
            }
        }
        done
    }

    #[test]
    fn readers_share_evenly_however_long_their_pieces() {
        assert_eq!(shares(1_000_000, 1_000_000), [500, 499]);
        let [long, short] = shares(1_000_000, 100_000);
        assert!(long.abs_diff(500) <= 10 && short.abs_diff(5000) <= 100, "{long} {short}");
    }

    #[test]
    fn who_comes_later_is_owed_a_slice_and_no_more() {
        let ms = |ms: u64| Time(ms * 1_000_000);
        let mut processor = Processor::default();
        processor.submit(ms(0), Work::Think { lane: 0 }, ms(900).0);
        processor.submit(ms(500), Work::Hit { lane: 1 }, OWED_NS_MAX);
        assert_eq!(processor.advance(ms(510)), Some(Work::Hit { lane: 1 }));
        // It has had as much as the other now, and the other came first.
        processor.submit(ms(510), Work::Hit { lane: 1 }, 1);
        assert_eq!(processor.next_event(), Some(ms(910)));
    }
}
