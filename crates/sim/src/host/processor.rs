//! One processor, shared by all readers and the system.
//!
//! Two classes of work: the system's (asking a device) and the readers' (thinking, being handed what they read). Each is
//! first come, first served; the system's interrupts the readers', as a driver does.
//!
//! Worked example: a reader thinks from 0 to 100. At 40 a device is to be asked, which takes 10: it is asked at 50, and the
//! reader is through at 110. The processor was busy for 110, 100 of them with thinking.

use std::collections::VecDeque;

use foresee_manager::Time;

use super::report::ProcessorReport;

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
    spent: ProcessorReport,
}

impl Processor {
    /// Takes work in.
    pub fn submit(&mut self, now: Time, work: Work, ns: u64) {
        let task = Task { work, left_ns: ns };
        match work {
            Work::Driver { .. } => self.system.push_back(task),
            Work::Think { .. } | Work::Hit { .. } => self.readers.push_back(task),
        }
        let is_readers = self.running.as_ref().is_some_and(|(task, _)| !matches!(task.work, Work::Driver { .. }));
        if is_readers
            && !self.system.is_empty()
            && let Some(interrupted) = self.pause(now)
        {
            self.readers.push_front(interrupted);
        }
        self.run(now);
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
            self.running = self.system.pop_front().or_else(|| self.readers.pop_front()).map(|task| (task, now));
        }
    }

    /// Stops what it does; what is left of it is brought up to date.
    fn pause(&mut self, now: Time) -> Option<Task> {
        let (mut task, since) = self.running.take()?;
        *counter(&mut self.spent, task.work) += now.0 - since.0;
        task.left_ns -= now.0 - since.0;
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

    #[test]
    fn readers_go_one_after_the_other() {
        let mut processor = Processor::default();
        processor.submit(Time(0), Work::Think { lane: 0 }, 10);
        processor.submit(Time(0), Work::Hit { lane: 1 }, 5);
        assert_eq!(processor.advance(Time(10)), Some(Work::Think { lane: 0 }));
        assert_eq!(processor.report(Time(12)), ProcessorReport { think_ns: 10, hit_ns: 2, driver_ns: 0, idle_ns: 0 });
        assert_eq!(processor.advance(Time(15)), Some(Work::Hit { lane: 1 }));
    }
}
