//! What a process says of the reads to come and of the pages it can spare: to the kernel, and
//! through the hint library.

use foresee_manager::{Advice, LevelOrder};
use foresee_ring::{Advice as FileAdvice, Entry, Record, segments};

use super::process::Process;
use super::seen::{Advising, Disclosure, Seen};
use crate::host::blocks;
use crate::names::Names;

impl Process {
    /// What it means, if the record is one of these.
    pub fn says(&self, entry: &Entry, names: &mut Names) -> Option<Seen> {
        match entry.record {
            Record::Advised { fd, generation, advice: FileAdvice::WillNeed | FileAdvice::Sequential, offset, len } => {
                let file = self.open_file(fd, generation)?.file?;
                Some(Seen::Advised { file, offset, bytes: len })
            }
            Record::Advised { fd, generation, advice: FileAdvice::DontNeed, offset, len } => {
                let file = self.open_file(fd, generation)?.file?;
                Some(Seen::GivenUp { file, offset, bytes: len })
            }
            Record::AdvisedMemory { advice: FileAdvice::WillNeed, addr, len } => {
                let mapping = self.mapping(addr)?;
                let offset = mapping.offset.saturating_add(addr - mapping.addr);
                Some(Seen::Advised { file: mapping.file, offset, bytes: len })
            }
            Record::Hinted { whole } => {
                let path = self.resolve(libc::AT_FDCWD, entry.path, names);
                let file = path.and_then(|path| names.of_path(&path));
                Some(Seen::Disclosed(Disclosure::Hint { file, whole }))
            }
            Record::HintedSegments {} => Some(Seen::Disclosed(Disclosure::Segments(segments(entry.path).collect()))),
            Record::HintsRepeated { hints, passes } => Some(Seen::Disclosed(Disclosure::Repeat { hints, passes })),
            Record::HintsCancelled {} => Some(Seen::Disclosed(Disclosure::Cancel)),
            _ => Some(Seen::Advises(self.advises(entry, names)?)),
        }
    }

    /// What a call that advises says, if the record is one.
    fn advises(&self, entry: &Entry, names: &mut Names) -> Option<Advising> {
        let mut file = || names.of_path(&self.resolve(libc::AT_FDCWD, entry.path, names)?);
        let (ticket, advice) = match entry.record {
            Record::Managed { ticket, on } => (Some(ticket), Some(if on { Advice::Manage } else { Advice::GiveUp })),
            Record::PrioritySet { ticket, priority } => {
                (Some(ticket), file().map(|file| Advice::SetPriority { file, priority }))
            }
            Record::PriorityAsked { ticket } => (Some(ticket), file().map(|file| Advice::GetPriority { file })),
            Record::PolicySet { ticket, priority, order } => {
                let order = match order {
                    foresee_ring::LevelOrder::Lru => LevelOrder::Lru,
                    foresee_ring::LevelOrder::Mru => LevelOrder::Mru,
                };
                (Some(ticket), Some(Advice::SetPolicy { priority, order }))
            }
            Record::PolicyAsked { ticket, priority } => (Some(ticket), Some(Advice::GetPolicy { priority })),
            Record::TemporaryPrioritySet { priority, offset, len } => {
                let advice = file().zip(blocks(offset, len.min((i64::MAX as u64).saturating_sub(offset))));
                let advice =
                    advice.map(|(file, (first, count))| Advice::SetTemporaryPriority { file, first, count, priority });
                (None, advice)
            }
            _ => return None,
        };
        Some(Advising { advice, slot: self.slot, ticket })
    }
}
