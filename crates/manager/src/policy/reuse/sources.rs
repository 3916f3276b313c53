//! Files of which so much is read that what is learned of their blocks is told apart: an index
//! beside the articles that it leads to, a table beside a log.

use crate::ids::FileId;
use crate::table::FastMap;

/// Files that are told apart, beside all others together. With 16 of them hits are 0.07 points
/// fewer in the mean of 98 cells (`bench/policies/untold.py`), with 64 the same.
const SOURCES_MAX: usize = 32;
/// Numbers there are.
pub const SOURCES: usize = SOURCES_MAX + 1;
/// From so many references on. With 50 hits are 0.02 points fewer, with 800 0.13.
const REFERENCES_MIN: u32 = 200;
/// Files of which references are counted; with more of them it begins anew.
const COUNTED_MAX: usize = 1 << 12;

/// Numbers of sources; all files that are not told apart are nought.
pub type Source = u8;

struct Known {
    file: FileId,
    /// The reference that came last to it.
    last: u64,
}

/// The files that are told apart.
#[derive(Default)]
pub struct Sources {
    known: Vec<Known>,
    numbers: FastMap<FileId, Source>,
    counted: FastMap<FileId, u32>,
}

impl Sources {
    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.known.len() + 1
    }

    /// The reference of this number is one to a file. The file's number, and whether that was
    /// another file's until now: one that nobody has read since reference `since`.
    pub fn refer(&mut self, file: FileId, now: u64, since: u64) -> (Source, bool) {
        if let Some(&source) = self.numbers.get(&file) {
            self.known[usize::from(source) - 1].last = now;
            return (source, false);
        }
        let count = self.counted.entry(file).or_default();
        *count = count.saturating_add(1);
        // Of what is most of all references so far the same is learned as of all.
        if *count < REFERENCES_MIN || u64::from(*count) * 2 > now {
            if self.counted.len() > COUNTED_MAX {
                self.counted.clear();
            }
            return (0, false);
        }
        let known = Known { file, last: now };
        let (at, was_another) = if self.known.len() < SOURCES_MAX {
            self.known.push(known);
            (self.known.len() - 1, false)
        } else if let Some(at) = self.known.iter().position(|it| it.last < since) {
            self.numbers.remove(&self.known[at].file);
            self.known[at] = known;
            (at, true)
        } else {
            return (0, false);
        };
        let source = at as Source + 1;
        self.counted.remove(&file);
        self.numbers.insert(file, source);
        (source, was_another)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFTEN: u32 = REFERENCES_MIN + 1;

    /// References to each of these files in turn, so many of each, from `now` on.
    fn read(sources: &mut Sources, files: std::ops::Range<u32>, times: u32, now: u64) -> Vec<(Source, bool)> {
        let mut now = now;
        let mut last = Vec::new();
        for time in 0..times {
            for file in files.clone() {
                now += 1;
                let number = sources.refer(FileId(file), now, now.saturating_sub(100_000));
                if time + 1 == times {
                    last.push(number);
                }
            }
        }
        last
    }

    #[test]
    fn files_that_are_read_often_have_numbers_of_their_own() {
        let mut sources = Sources::default();
        assert_eq!(read(&mut sources, 0..3, REFERENCES_MIN - 1, 0), [(0, false); 3]);
        assert_eq!(read(&mut sources, 0..3, 1, 1_000), [(1, false), (2, false), (3, false)]);
        assert_eq!(read(&mut sources, 0..3, 1, 2_000), [(1, false), (2, false), (3, false)]);
        assert_eq!(sources.len(), 4);
    }

    #[test]
    fn a_file_that_is_all_there_is_has_none() {
        assert_eq!(read(&mut Sources::default(), 0..1, 5_000, 0), [(0, false)]);
    }

    #[test]
    fn numbers_are_given_to_others_when_nobody_reads_their_files() {
        let mut sources = Sources::default();
        let all = SOURCES_MAX as u32;
        read(&mut sources, 0..all, OFTEN, 0);
        assert_eq!(read(&mut sources, all..all + 2, OFTEN, 10_000), [(0, false); 2]);
        // Two of those known are still read.
        read(&mut sources, 0..2, 1, 200_000);
        assert_eq!(read(&mut sources, all..all + 1, 1, 200_010), [(3, true)]);
        assert_eq!(read(&mut sources, 2..3, 1, 200_020), [(0, false)]);
        assert_eq!(read(&mut sources, 1..2, 1, 200_030), [(2, false)]);
    }

    #[test]
    fn of_files_without_number_few_are_counted() {
        let mut sources = Sources::default();
        read(&mut sources, 0..100_000, 1, 0);
        assert!(sources.counted.len() <= COUNTED_MAX + 1);
    }
}
