//! What processes disclosed through the hint library: who spoke of which files, and how much each
//! hint came to.
//!
//! Here each process is a reader of its own. It withdraws and repeats what it said itself; and
//! where several processes read one file, each in an order of its own (the workers of a data loader
//! do), each needs its own place in what it said.
//!
//! **Whose is a read?** The process's own, if it spoke of that file; else that of the process that
//! began last of those who did (a parent discloses, its children read); else the run's as a whole,
//! as are the command's words and the recorded run.

use std::collections::{BTreeSet, VecDeque};

use foldhash::HashMap;
use foresee_manager::{FileId, HINT_ENTRIES_MAX, ReaderId};

/// Hints of one process that it can repeat: as many as the manager keeps. Four bytes each.
const HINTS_MAX: usize = HINT_ENTRIES_MAX;
/// Files that processes spoke of, each counted once for each process. Some 20 bytes each; reads of
/// a file beyond are the run's.
const FILES_MAX: usize = 1 << 20;

/// What one process disclosed.
#[derive(Default)]
struct Disclosed {
    /// The file it hinted last, if that can be followed.
    file: Option<FileId>,
    /// How many disclosures to the manager each hint came to, in their order.
    hints: VecDeque<u32>,
}

/// All that was disclosed through the hint library.
#[derive(Default)]
pub struct Library {
    readers: HashMap<ReaderId, Disclosed>,
    files: BTreeSet<(FileId, ReaderId)>,
}

impl Library {
    /// A process begins a hint of this file.
    pub fn hint(&mut self, reader: ReaderId, file: Option<FileId>) {
        let disclosed = self.readers.entry(reader).or_default();
        disclosed.file = file;
        disclosed.hints.push_back(0);
        if disclosed.hints.len() > HINTS_MAX {
            disclosed.hints.pop_front();
        }
        if let Some(file) = file.filter(|_| self.files.len() < FILES_MAX) {
            self.files.insert((file, reader));
        }
    }

    /// The hint comes to one disclosure more. Returns the file that it is of.
    pub fn disclose(&mut self, reader: ReaderId) -> Option<FileId> {
        let disclosed = self.readers.get_mut(&reader)?;
        let count = disclosed.hints.back_mut()?;
        *count = count.saturating_add(1);
        disclosed.file
    }

    /// How many disclosures the last hints of a process came to.
    pub fn disclosures(&self, reader: ReaderId, hints: u64) -> u64 {
        let counts = self.readers.get(&reader).into_iter().flat_map(|it| it.hints.iter().rev());
        counts.take(usize::try_from(hints).unwrap_or(usize::MAX)).map(|&count| u64::from(count)).sum()
    }

    /// The reader whose a process's read of this file is, if anybody spoke of the file.
    pub fn reader_of(&self, process: ReaderId, file: FileId) -> Option<ReaderId> {
        if self.files.contains(&(file, process)) {
            return Some(process);
        }
        let of_file = (file, ReaderId(0))..=(file, ReaderId(u32::MAX));
        self.files.range(of_file).next_back().map(|&(_, reader)| reader)
    }

    /// What a process disclosed no longer holds. Returns whether there was anything.
    pub fn withdraw(&mut self, reader: ReaderId) -> bool {
        let Some(disclosed) = self.readers.get_mut(&reader) else { return false };
        *disclosed = Disclosed::default();
        self.files.retain(|&(_, of)| of != reader);
        true
    }

    /// A process ended. Returns whether it ever disclosed anything.
    pub fn end(&mut self, reader: ReaderId) -> bool {
        self.withdraw(reader) && self.readers.remove(&reader).is_some()
    }

    /// Whether no process that disclosed something is there.
    pub fn is_silent(&self) -> bool {
        self.readers.is_empty()
    }

    /// The processes that disclosed something and have not ended.
    pub fn readers(&self) -> Vec<ReaderId> {
        let mut readers: Vec<ReaderId> = self.readers.keys().copied().collect();
        readers.sort_unstable();
        readers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FileId = FileId(1);
    const B: FileId = FileId(2);

    fn hint(library: &mut Library, reader: u32, file: FileId, disclosures: u32) {
        library.hint(ReaderId(reader), Some(file));
        for _ in 0..disclosures {
            assert_eq!(library.disclose(ReaderId(reader)), Some(file));
        }
    }

    #[test]
    fn hints_are_counted_from_the_last_one_back() {
        let mut library = Library::default();
        let reader = ReaderId(1);
        assert_eq!((library.disclosures(reader, 5), library.disclose(reader)), (0, None));
        hint(&mut library, 1, A, 1);
        hint(&mut library, 2, A, 7);
        hint(&mut library, 1, B, 0);
        hint(&mut library, 1, B, 3);
        let counts = [0, 1, 2, 3, 4, u64::MAX].map(|hints| library.disclosures(reader, hints));
        assert_eq!(counts, [0, 3, 3, 4, 4, 4]);
        assert!(library.withdraw(reader));
        assert_eq!((library.disclosures(reader, 9), library.disclosures(ReaderId(2), 9)), (0, 7));
    }

    #[test]
    fn a_file_that_cannot_be_followed_takes_no_segments() {
        let mut library = Library::default();
        hint(&mut library, 1, A, 2);
        library.hint(ReaderId(1), None);
        assert_eq!(library.disclose(ReaderId(1)), None);
    }

    #[test]
    fn a_read_is_of_who_spoke_of_the_file() {
        let mut library = Library::default();
        assert_eq!(library.reader_of(ReaderId(1), A), None);
        hint(&mut library, 2, A, 1);
        hint(&mut library, 4, A, 1);
        hint(&mut library, 3, B, 1);
        let of = |library: &Library, process, file| library.reader_of(ReaderId(process), file).map(|reader| reader.0);
        assert_eq!((of(&library, 2, A), of(&library, 4, A), of(&library, 9, A)), (Some(2), Some(4), Some(4)));
        assert_eq!((of(&library, 2, B), of(&library, 2, FileId(3))), (Some(3), None));
        assert!(library.end(ReaderId(4)) && !library.end(ReaderId(4)));
        assert_eq!((of(&library, 4, A), library.readers()), (Some(2), vec![ReaderId(2), ReaderId(3)]));
    }
}
