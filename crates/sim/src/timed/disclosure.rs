//! What is disclosed of a trace, and by whom.

use std::collections::HashMap;

use foresee_manager::{ReaderId, Source, Trust, Want};

use crate::host::Step;
use crate::load::{Entry, Trace};
use crate::sample::hash;

/// Who is first in a trace, and all of a recorded run.
pub(super) const RECORDED: ReaderId = ReaderId(0);

/// What is known beforehand of what will be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disclosure {
    /// Through what: of a recorded run all of it, before anything else; else by each process what
    /// it will read itself, when it begins.
    pub source: Source,
    /// How far it is believed.
    pub trust: Trust,
    /// So many of a hundred requests are disclosed as others of the same trace.
    pub wrong_percent: u64,
}

impl Disclosure {
    /// What the programs themselves say, as it comes true.
    pub const TOLD: Disclosure = Disclosure { source: Source::Library, trust: Trust::Full, wrong_percent: 0 };

    /// What the programs themselves say, and do other things now and then. They are trusted as it
    /// comes true, with a first window of so many blocks.
    pub fn told(wrong_percent: u64, initial_blocks: u64) -> Self {
        Disclosure { source: Source::Library, ..Disclosure::recorded(wrong_percent, initial_blocks) }
    }

    /// What an earlier run read, which did other things now and then. It is trusted as it comes
    /// true, with a first window of so many blocks.
    pub fn recorded(wrong_percent: u64, initial_blocks: u64) -> Self {
        Disclosure { source: Source::Profile, trust: Trust::Earned { initial_blocks }, wrong_percent }
    }

    /// In the order of the trace, by who will disclose it.
    pub(super) fn steps(&self, trace: &Trace) -> HashMap<ReaderId, Vec<Step>> {
        let mut by_reader: HashMap<ReaderId, Vec<Step>> = HashMap::new();
        for at in 0..trace.len() {
            let reader = match self.source {
                Source::Profile => RECORDED,
                _ => trace.lanes[trace.entry(at).lane].reader,
            };
            let Entry { first, count, .. } = trace.entry(self.disclosed_as(at, trace));
            let want = Want::Range { first: first.index, count };
            by_reader.entry(reader).or_default().push(Step::Hint { source: self.source, file: first.file, want });
        }
        by_reader
    }

    /// The request that is disclosed in this one's place, chosen by its number alone.
    fn disclosed_as(&self, at: usize, trace: &Trace) -> usize {
        let chance = hash(at as u64);
        if chance % 100 < self.wrong_percent { (chance >> 8) as usize % trace.len() } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_wrong_as_is_asked() {
        let trace = Trace::of_blocks(0..10_000, 4096);
        for wrong_percent in [0, 20, 100] {
            let disclosure = Disclosure::recorded(wrong_percent, 64);
            let wrong = (0..trace.len()).filter(|&at| disclosure.disclosed_as(at, &trace) != at).count() as u64;
            assert!(wrong.abs_diff(wrong_percent * 100) < 150, "{wrong} of 10,000");
        }
    }
}
