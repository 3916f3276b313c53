//! Several runs with one supervisor: each has its programs, its advice and its account.

use foresee_manager::{AdviceFile, Event};

use super::{Supervisor, Tally};

impl Supervisor<'_> {
    /// A run begins: whatever this process starts, with this advice. Runs are numbered by whoever
    /// begins them, from 1.
    pub fn begin_run(&mut self, run: u32, starter: u32, advice: Option<AdviceFile>) {
        self.ring.processes.starts(starter, run);
        self.suspension.begin_run(run);
        if let Some(advice) = advice {
            self.file_advice.set(run, advice);
        }
    }

    /// The run's command has ended, and with it its programs' advice. Their pages stay, and go by
    /// LRU.
    pub fn end_run(&mut self, run: u32, starter: u32) -> Tally {
        self.catch_up();
        let suspended = self.suspension.end_run(run);
        let tally = Tally { suspended, ..self.tally(run) };
        self.ring.processes.starts_no_more(starter);
        self.file_advice.forget(run);
        for reader in self.ring.processes.programs().readers_of(run) {
            self.tell(Event::ReaderExited { reader });
        }
        tally
    }
}
