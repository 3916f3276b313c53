//! Files that programs have mapped, and what they touch of them.

use std::time::Duration;

use foresee_manager::{Block, Demand, FileId, Time};

use super::{RUN, Supervisor};
use crate::host::BLOCK_BYTES;
use crate::programs::ProgramId;
use crate::source::ring::{Touch, Touched};

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

    /// Blocks of a file were read, some time since it was looked at before.
    pub(super) fn take_touch(&mut self, ordinal: u32, program: ProgramId, touched: Touched, time: Duration) {
        let Touched { file, first, count, waited, by } = touched;
        let manager = self.driver.manager();
        let fresh = (first..first + count).find(|&index| !manager.was_read(Block { file, index }));
        let fresh = fresh.map(|fresh| (fresh, first + count - fresh));
        self.driver.host.was_used(file, &(first..first + count));
        if by == Touch::Mapping {
            if let Some((first, count)) = fresh {
                self.recorder.touched(file, ordinal, first, count);
            }
        } else {
            if let Some((first, count)) = fresh {
                self.recorder.read_outside(file, ordinal, (first, count), by == Touch::SomeCalls);
            }
            if count > 0 {
                self.ring.processes.programs().read_outside(program, count * BLOCK_BYTES);
            }
        }
        if count == 0 {
            self.recorder.mapped(file, ordinal);
            self.read_as_recorded(file);
        } else {
            let reader = self.reader_of_program(program, file).unwrap_or(RUN);
            let demand = Demand::Timed { over: Time(time.as_nanos() as u64), waited };
            let counted = self.reference(reader, file, (first, count), 0, demand);
            self.ring.processes.programs().missed(program, counted.misses);
            self.by_file.read(file, None, counted);
            if waited {
                self.suspension.savings.faulted();
                self.notice_fault(file);
            }
        }
        match by {
            Touch::Calls if first == 0 => self.notice_visit(file, waited),
            Touch::SomeCalls if first == 0 => self.notice_met(file),
            _ => {}
        }
    }
}
