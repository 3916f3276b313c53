//! What the programs of 000 read, and when.

pub mod agrep;
pub mod cat;
pub mod davidson;
pub mod postgres;
pub mod sphinx;
pub mod xds;

use foresee_manager::{FileId, ReaderId, Site, Source, Want};
use foresee_sim::host::{Reader, Step};

/// A file on the array.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Where it begins.
    pub place: u64,
    /// How long it is.
    pub blocks: u64,
}

/// Programs that run at once, and their files.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// The files; their places here are their numbers.
    pub files: Vec<File>,
    /// The programs.
    pub readers: Vec<Reader>,
}

impl Load {
    /// One program.
    fn of(files: Vec<File>, script: Script) -> Self {
        Load { files, readers: vec![script.reader(ReaderId(0))] }
    }
}

/// Files of these lengths, one behind the other.
fn in_a_row<const N: usize>(blocks: [u64; N]) -> Vec<File> {
    let mut place = 0;
    let file = |blocks| {
        let file = File { place, blocks };
        place += blocks;
        file
    };
    blocks.map(file).into()
}

/// A program as it is written down.
#[derive(Debug, Default)]
struct Script {
    steps: Vec<Step>,
    /// Whether it discloses; if not, its hints are left out.
    hints: bool,
}

impl Script {
    fn new(hints: bool) -> Self {
        Script { steps: Vec::new(), hints }
    }

    /// Computes for so long.
    fn think(&mut self, ns: u64) {
        self.steps.push(Step::Think { ns });
    }

    /// Reads one block.
    fn read(&mut self, file: u32, first: u64) {
        self.steps.push(Step::Read { file: FileId(file), first, count: 1, site: Site(0) });
    }

    /// Discloses that it will read all of a file.
    fn hint_all(&mut self, file: u32) {
        self.hint(file, Want::All);
    }

    /// Discloses that it will read one block.
    fn hint_block(&mut self, file: u32, first: u64) {
        self.hint(file, Want::Range { first, count: 1 });
    }

    fn hint(&mut self, file: u32, want: Want) {
        if self.hints {
            self.steps.push(Step::Hint { source: Source::Library, file: FileId(file), want });
        }
    }

    fn reader(self, id: ReaderId) -> Reader {
        Reader { id, steps: self.steps }
    }
}
