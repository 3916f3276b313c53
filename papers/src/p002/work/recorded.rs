//! From a recorded trace to a program: bytes become blocks, and what the paper's file system would
//! have made of them.
//!
//! - A block that is asked for again at once is not asked for again: today's programs read 4 KB at
//!   a time, or 100 KB.
//! - A block is written to disk once, when the first of it is written. The paper's kernel would
//!   write it a little later; what else is written to it meanwhile is a reference to it, as a read
//!   is.
//! - A file is as long as the trace shows. A folder's files lie together on disk, and else in no
//!   order.
//!
//! A program that frees blocks is done with one when all its sectors were touched, and again each
//! time it comes back to it.

use std::collections::HashMap;

use foresee_sim::trace::{Span, recorded};

use super::{Disk, File, Program, Script};
use crate::Random;
use crate::p002::machine::BLOCK_BYTES;

/// The smallest part of a block that is told from another.
const SECTOR_BYTES: u64 = 512;
/// Where files lie does not change from run to run.
const PLACES_SEED: u64 = 2;

/// What makes a program done with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoneWith {
    /// Nothing: it does not say.
    Never,
    /// All of it was read.
    Read,
    /// All of it was read or written.
    Accessed,
}

/// A recorded program: its trace, how it advises by the paper, and what the trace does not tell.
#[derive(Debug)]
pub struct Recorded {
    /// What `foresee record` saw.
    pub trace: &'static [u8],
    /// Where its files lie.
    pub disk: Disk,
    /// What it computes for each block it asks for.
    pub think_ns: u64,
    /// Levels that are MRU.
    pub mru: &'static [i32],
    /// Priorities of the files whose names begin like this.
    pub priorities: &'static [(&'static str, i32)],
    /// When it frees a block, by a temporary priority of -1.
    pub done_with: DoneWith,
    /// Files whose names begin like this are removed after their last use.
    pub temporary: Option<&'static str>,
}

impl Recorded {
    /// The program. Errors tell this name.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn program(&self, name: &str) -> Result<Program, String> {
        let tape = Tape::read(name, self.trace)?;
        let files = tape.files.iter().map(|file| (file.name.as_str(), file.bytes)).collect::<Vec<_>>();
        Ok(self.script(&tape).program(self.disk, placed(&files)))
    }

    /// Its files' names, and how many bytes of each it reached.
    #[cfg(test)]
    pub fn files(&self) -> Vec<(String, u64)> {
        let tape = Tape::read("", self.trace).unwrap();
        tape.files.into_iter().map(|file| (file.name, file.bytes)).collect()
    }

    fn script(&self, tape: &Tape) -> Script {
        let mut script = Script::default();
        self.mru.iter().for_each(|&priority| script.mru(priority));
        for (file, number) in tape.files.iter().zip(0..) {
            let matches = self.priorities.iter().filter(|(begin, _)| file.name.starts_with(begin));
            matches.for_each(|&(_, priority)| script.priority(number, priority));
        }
        let mut blocks: HashMap<(u32, u64), Block> = HashMap::new();
        let mut previous = None;
        for (transfer, at) in tape.transfers.iter().zip(0..) {
            let number = transfer.file;
            let file = &tape.files[number as usize];
            for index in transfer.from / BLOCK_BYTES..transfer.to.div_ceil(BLOCK_BYTES) {
                let block = blocks.entry((number, index)).or_default();
                let is_new = previous.replace((number, index)) != Some((number, index));
                let referred = if transfer.write && !block.is_written {
                    block.is_written = true;
                    script.write(number, index);
                    true
                } else if is_new {
                    script.read(number, index);
                    script.think(self.think_ns);
                    true
                } else {
                    false
                };
                let counts = match self.done_with {
                    DoneWith::Never => false,
                    DoneWith::Read => !transfer.write,
                    DoneWith::Accessed => true,
                };
                if counts && block.touch(transfer, index, file.bytes, referred) {
                    script.done_with(number, index);
                }
            }
            if self.temporary.is_some_and(|begin| file.name.starts_with(begin)) && file.last_use == at {
                script.remove(number);
            }
        }
        script
    }
}

/// A recorded trace in memory.
#[derive(Debug, Default)]
struct Tape {
    transfers: Vec<Transfer>,
    files: Vec<Taped>,
}

/// Bytes that were read or written.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    write: bool,
    file: u32,
    /// The first byte.
    from: u64,
    /// The first byte after them.
    to: u64,
}

/// A file of a trace.
#[derive(Debug, Default)]
struct Taped {
    name: String,
    /// Up to where it was read or written.
    bytes: u64,
    /// The last transfer's number.
    last_use: usize,
}

impl Tape {
    fn read(name: &str, bytes: &'static [u8]) -> Result<Tape, String> {
        let failed = |error: foresee_sim::error::Error| error.to_string();
        let mut reader = recorded::read(name, bytes).map_err(failed)?;
        let mut tape = Tape::default();
        while let Some(request) = reader.next().map_err(failed)? {
            if let Span::Range { offset, length } = request.span {
                tape.push(Transfer { write: request.write, file: request.file, from: offset, to: offset + length });
            }
        }
        for (file, name) in tape.files.iter_mut().zip(reader.names()) {
            file.name.clone_from(name);
        }
        Ok(tape)
    }

    fn push(&mut self, transfer: Transfer) {
        let number = transfer.file as usize;
        if number >= self.files.len() {
            self.files.resize_with(number + 1, Taped::default);
        }
        let file = &mut self.files[number];
        file.bytes = file.bytes.max(transfer.to);
        file.last_use = self.transfers.len();
        self.transfers.push(transfer);
    }
}

/// What is known of a block so far.
#[derive(Debug, Default)]
struct Block {
    is_written: bool,
    /// A bit a sector.
    touched: u64,
}

impl Block {
    /// Takes in what a transfer touches of this block, `index` of a file of so many bytes. Returns
    /// whether all of it was touched only now, or all of it was and it is `referred` to again.
    fn touch(&mut self, transfer: &Transfer, index: u64, file_bytes: u64, referred: bool) -> bool {
        let begin = index * BLOCK_BYTES;
        let all = sectors(0, (file_bytes - begin).min(BLOCK_BYTES));
        let before = self.touched;
        self.touched |= sectors(transfer.from.saturating_sub(begin), (transfer.to - begin).min(BLOCK_BYTES));
        self.touched == all && (referred || before != all)
    }
}

/// The sectors of a block that these bytes of it touch.
fn sectors(from: u64, to: u64) -> u64 {
    let below = |sector: u64| (1 << sector) - 1;
    below(to.div_ceil(SECTOR_BYTES)) & !below(from / SECTOR_BYTES)
}

/// Files of these names and so many bytes on disk: folder by folder, as file systems of that time
/// placed them, else in no order.
fn placed(named: &[(&str, u64)]) -> Vec<File> {
    let mut files: Vec<File> =
        named.iter().map(|(_, bytes)| File { place: 0, blocks: bytes.div_ceil(BLOCK_BYTES) }).collect();
    let mut order: Vec<usize> = (0..named.len()).collect();
    Random::new(PLACES_SEED).shuffle(&mut order);
    let folder = |file: usize| named[file].0.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut folders = HashMap::new();
    for (&file, at) in order.iter().zip(0..) {
        folders.entry(folder(file)).or_insert(at);
    }
    order.sort_by_key(|&file| folders[folder(file)]);
    let mut end = 0;
    for file in order {
        files[file].place = end;
        end += files[file].blocks;
    }
    files
}

#[cfg(test)]
mod tests {
    use foresee_manager::{Advice, FileId};
    use foresee_sim::host::Step;

    use super::*;

    /// What a program with this habit makes of transfers of one file: r a block that is read, w
    /// written, d done with, x the file removed.
    fn told(done_with: DoneWith, transfers: &[(bool, u64, u64)]) -> String {
        let mut tape = Tape::default();
        transfers.iter().for_each(|&(write, from, to)| tape.push(Transfer { write, file: 0, from, to }));
        tape.files[0].name = "tmp/1".to_owned();
        let temporary = Some("tmp/");
        let recorded =
            Recorded { trace: &[], disk: Disk::Rz56, think_ns: 1, mru: &[], priorities: &[], done_with, temporary };
        let program = recorded.script(&tape).program(Disk::Rz56, placed(&[("tmp/1", tape.files[0].bytes)]));
        let letter = |step: Step| match step {
            Step::Read { first, .. } => format!("r{first} "),
            Step::Write { index, .. } => format!("w{index} "),
            Step::Advise { advice: Advice::SetTemporaryPriority { first, .. } } => format!("d{first} "),
            Step::Remove { file: FileId(0) } => "x".to_owned(),
            _ => String::new(),
        };
        program.steps(0).into_iter().map(letter).collect()
    }

    #[test]
    fn what_is_read_in_pieces_is_one_read_of_a_block() {
        let pieces = [(false, 0, 4096), (false, 4096, 8192), (false, 8192, 30_000), (false, 0, 1)];
        assert_eq!(told(DoneWith::Never, &pieces), "r0 r1 r2 r3 r0 x");
    }

    #[test]
    fn a_block_is_written_once() {
        let pieces = [(true, 0, 100), (true, 100, 9000), (true, 0, 10), (false, 0, 9000)];
        assert_eq!(told(DoneWith::Never, &pieces), "w0 w1 r0 r1 x");
        // What was there and is written to goes to disk.
        assert_eq!(told(DoneWith::Never, &[(false, 0, 10), (true, 0, 10)]), "r0 w0 x");
    }

    #[test]
    fn it_is_done_with_what_it_touched_whole() {
        let pieces = [(false, 0, 4096), (false, 8192, 9000), (false, 4000, 8192), (false, 10, 20)];
        assert_eq!(told(DoneWith::Read, &pieces), "r0 r1 d1 r0 d0 x");
        let again = [(false, 0, 8192), (true, 8192, 9000), (false, 0, 10)];
        assert_eq!(told(DoneWith::Read, &again), "r0 d0 w1 r0 d0 x");
        assert_eq!(told(DoneWith::Accessed, &again), "r0 d0 w1 d1 r0 d0 x");
    }

    #[test]
    fn a_folder_lies_in_one_place() {
        let named = ["a/1", "b/1", "a/2", "b/2", "a/3", "b/3", "c", "a/4", "b/4"].map(|name| (name, 20_000));
        let mut on_disk: Vec<(u64, &str)> =
            placed(&named).iter().zip(named).map(|(file, (name, _))| (file.place, name)).collect();
        on_disk.sort_unstable();
        assert_eq!(
            on_disk.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
            (0..9).map(|at| 3 * at).collect::<Vec<_>>()
        );
        let mut folders: Vec<&str> = on_disk.iter().map(|(_, name)| &name[..1]).collect();
        folders.dedup();
        assert_eq!(folders.len(), 3, "{on_disk:?}");
    }
}
