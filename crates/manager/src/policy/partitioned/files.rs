//! UBM's classification, file by file (004 sections 3.2 and 5.3.3).
//!
//! ```text
//! refer(f, i):   if i follows the block f was read at last: the run goes on
//!                else if i is the run's first block, and the run was long enough: it is a loop, begun again;
//!                                                 period(f) = references since it was begun last
//!                else: a new run, no loop
//! class(f):      looping      if it is a loop
//!                sequential   else if the run is of at least `threshold` blocks
//!                other        else
//! ```
//!
//! A block read twice in a row, as by reads shorter than a block, is read once. The paper names
//! what follows: the first blocks of each file are other, its first pass is sequential, files
//! shorter than the threshold are other for ever, and a small step aside ends a loop.

use super::{Class, Classify, Verdict};
use crate::ids::{Block, FileId};
use crate::policy::Access;

/// What is known of a file.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// The run's first block, and the one after its last.
    first: u64,
    next: u64,
    /// The reference that began the run; 0: the file was not read yet.
    begun: u64,
    /// Blocks of the loop; 0: it is none.
    looped: u64,
    period: u64,
}

impl Known {
    fn refer(&mut self, now: u64, index: u64, threshold: u64) -> bool {
        let run = self.next - self.first;
        let again = self.begun > 0 && index == self.first && run > 1 && run.max(self.looped) >= threshold;
        if again {
            (self.period, self.looped) = (now - self.begun, run.max(self.looped));
            (self.next, self.begun) = (index + 1, now);
        } else if self.begun > 0 && index == self.next {
            self.next += 1;
        } else if self.begun == 0 || index + 1 != self.next {
            *self = Known { first: index, next: index + 1, begun: now, looped: 0, period: 0 };
        }
        again
    }
}

/// The files' table.
pub(crate) struct Files {
    threshold: u64,
    files: Vec<Known>,
}

impl Files {
    /// `threshold`: blocks in a row that are a sequence.
    pub fn new(threshold: u64) -> Self {
        Files { threshold, files: Vec::new() }
    }
}

impl Classify for Files {
    fn refer(&mut self, now: u64, block: Block, _: &Access) -> Verdict {
        let FileId(file) = block.file;
        if file as usize >= self.files.len() {
            self.files.resize(file as usize + 1, Known::default());
        }
        let known = &mut self.files[file as usize];
        let again = known.refer(now, block.index, self.threshold);
        let group = (u64::from(file), 0);
        let class = if known.looped > 0 {
            Class::Looping { period: known.period }
        } else if known.next - known.first >= self.threshold {
            Class::Sequential
        } else {
            Class::Other
        };
        Verdict { class, group, renewed: again.then_some((group, known.period)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Demand;
    use crate::ids::{ReaderId, Site, Time};

    fn classes(threshold: u64, blocks: &[u64]) -> String {
        let mut files = Files::new(threshold);
        let (reader, site, demand) = (ReaderId(1), Site(0), Demand::Observed);
        let access = Access { now: Time(0), reader, site, demand, hinted: None, first: false, next: None };
        let letter = |(at, &index): (usize, &u64)| match files
            .refer(at as u64 + 1, Block { file: FileId(2), index }, &access)
            .class
        {
            Class::Sequential => 'S',
            Class::Looping { .. } => 'L',
            Class::Other => 'O',
        };
        blocks.iter().enumerate().map(letter).collect()
    }

    #[test]
    fn a_file_by_itself() {
        assert_eq!(classes(3, &[0, 1, 2, 3, 0, 1, 2, 3, 0, 1]), "OOSSLLLLLL");
        assert_eq!(classes(3, &[0, 1, 0, 1, 0, 1]), "OOOOOO", "shorter than the threshold");
        assert_eq!(classes(3, &[0, 0, 1, 1, 2, 2, 0, 0]), "OOOOSSLL", "reads shorter than a block");
        assert_eq!(classes(3, &[0, 1, 2, 3, 0, 1, 7, 8, 9, 0]), "OOSSLLOOSO", "a step aside");
        assert_eq!(classes(3, &[0, 1, 2, 0, 1, 2, 3, 4, 0, 1]), "OOSLLLLLLL", "it grew");
        assert_eq!(classes(1, &[4, 4, 5, 4]), "SSSL");
    }
}
