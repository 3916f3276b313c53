//! Files that programs have mapped, and what they touch of them.

use std::time::Duration;

use foresee_manager::{Block, Demand, FileId, State, Time};

use super::{RUN, Supervisor};
use crate::programs::ProgramId;

impl Supervisor<'_> {
    /// A file was mapped; what is touched of it will be seen or not.
    pub(super) fn take_mapping(&mut self, ordinal: u32, file: FileId, is_watched: bool) {
        self.recorder.mapped(file, ordinal);
        let recorded = self.recorded.take_mapped(file);
        if !is_watched {
            // Nothing will tell what of it is touched: the recorded run did.
            for (first, count) in recorded {
                self.reference(RUN, file, (first, count), 0, Demand::Observed);
            }
        }
    }

    /// Blocks of a mapped file were touched, some time since it was looked at before.
    pub(super) fn take_touch(
        &mut self,
        ordinal: u32,
        program: ProgramId,
        file: FileId,
        (first, count): (u64, u64),
        time: Duration,
        waited: bool,
    ) {
        let manager = self.driver.manager();
        let is_fresh = |index| manager.state_of(Block { file, index }) != Some(State::Cached);
        if let Some(fresh) = (first..first + count).find(|&index| is_fresh(index)) {
            self.recorder.touched(file, ordinal, fresh, first + count - fresh);
        }
        let reader = self.reader_of_program(program, file).unwrap_or(RUN);
        let demand = Demand::Timed { over: Time(time.as_nanos() as u64), waited };
        let counted = self.reference(reader, file, (first, count), 0, demand);
        self.ring.processes.programs().missed(program, counted.misses);
        self.by_file.read(file, None, counted);
    }
}
