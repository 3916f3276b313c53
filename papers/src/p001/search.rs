//! agrep: searches of many small files (section 3.1).
//!
//! ```text
//! for each file:  look its name up (is it there?)    with TIP: and disclose it
//! for each file:  open it, read all of it            with TIP: whenever a block is read, a disclosed name may be looked up
//! ```
//!
//! **Metadata** are read by demand, and never ahead: one directory block, and an inode block for
//! every 64 files, first when names are looked up, and again when files are opened, if they left
//! the cache meanwhile.
//!
//! **Names.** Looking a name up reads half of the entries of its directory on average; so a file
//! costs more in a large one.
//!
//! **Layout.** Each directory is a cylinder group, as in 4.3BSD: inodes, the directory, files. Most
//! files lie right behind the one before, as they were written one after the other; the others lie
//! anywhere in the group.

use foresee_manager::{DeviceId, FileId, Want};
use foresee_sim::host::{HostFile, Step};

use super::testbed::{ENTRY_NS, FILE_NS, HINT_NS, HINTS, Program, RESOLVE_NS, read};
use crate::Random;

/// A set of files that are searched.
#[derive(Debug, Clone, Copy)]
pub struct Set {
    /// The name of its experiment.
    pub name: &'static str,
    directories: u64,
    files: u64,
    blocks: u64,
}

/// The four sets of Table 1.
pub const SETS: [Set; 4] = [
    Set { name: "search of X11 includes", directories: 1, files: 139, blocks: 198 },
    Set { name: "search of bboard and mail", directories: 1, files: 158, blocks: 218 },
    Set { name: "search of source code", directories: 1, files: 57, blocks: 152 },
    Set { name: "search of man pages", directories: 3, files: 834, blocks: 892 },
];

/// 16 cylinders of 14 tracks of 48 sectors: 4.3BSD's usual size.
const GROUP_BLOCKS: u64 = 672;
/// The first group that holds a directory of ours.
const FIRST_GROUP: u64 = 2;
/// Inodes are 128 bytes.
const INODES_IN_BLOCK: u64 = 64;
/// The share of files that lie right behind the one before.
const NEIGHBOUR_SHARE: f64 = 0.6;

/// A directory on disk.
struct Directory {
    /// Its inodes.
    inodes: FileId,
    /// Its own block.
    names: FileId,
    /// Its files.
    files: Vec<FileId>,
}

impl Directory {
    fn lookup_ns(&self) -> u64 {
        self.files.len() as u64 / 2 * ENTRY_NS
    }

    /// Reads the metadata of a file, as far as they are not those of the file before.
    fn read_metadata(&self, nth: u64, steps: &mut Vec<Step>) {
        if nth == 0 {
            steps.push(read(self.names, 0));
        }
        if nth.is_multiple_of(INODES_IN_BLOCK) {
            steps.push(read(self.inodes, nth / INODES_IN_BLOCK));
        }
    }
}

/// Lays a set out; the seed decides which files are long, and where they lie.
fn lay_out(set: &Set, seed: u64) -> (Vec<HostFile>, Vec<Directory>) {
    let mut random = Random::new(seed);
    let mut lengths = vec![1; set.files as usize];
    for _ in set.files..set.blocks {
        lengths[random.below(set.files) as usize] += 1;
    }
    let mut files = Vec::new();
    let mut add = |blocks, place| {
        files.push(HostFile { device: DeviceId(0), blocks, place });
        FileId(files.len() as u32 - 1)
    };
    let mut directories = Vec::new();
    for (lengths, group) in lengths.chunks(set.files.div_ceil(set.directories) as usize).zip(FIRST_GROUP..) {
        let begin = group * GROUP_BLOCKS;
        let inode_blocks = (lengths.len() as u64).div_ceil(INODES_IN_BLOCK);
        let (inodes, names) = (add(inode_blocks, begin), add(1, begin + inode_blocks));
        let places = places(lengths, GROUP_BLOCKS - inode_blocks - 1, &mut random);
        let begin = begin + inode_blocks + 1;
        let files = lengths.iter().zip(places).map(|(&blocks, place)| add(blocks, begin + place)).collect();
        directories.push(Directory { inodes, names, files });
    }
    (files, directories)
}

/// Where files of these lengths lie in so much room: runs of neighbours, in any order, with what is
/// left spread between them.
fn places(lengths: &[u64], room: u64, random: &mut Random) -> Vec<u64> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for file in 0..lengths.len() {
        match runs.last_mut() {
            Some(run) if random.share() < NEIGHBOUR_SHARE => run.push(file),
            _ => runs.push(vec![file]),
        }
    }
    random.shuffle(&mut runs);
    let free = room - lengths.iter().sum::<u64>();
    let mut gaps: Vec<u64> = runs.iter().map(|_| random.below(free + 1)).collect();
    gaps.sort_unstable();
    let (mut places, mut taken) = (vec![0; lengths.len()], 0);
    for (run, gap) in runs.iter().zip(gaps) {
        for &file in run {
            places[file] = gap + taken;
            taken += lengths[file];
        }
    }
    places
}

/// Searches a set.
pub fn program(set: &Set, with_tip: bool, seed: u64) -> Program {
    let (files, directories) = lay_out(set, seed);
    let mut steps = Vec::new();
    for directory in &directories {
        for (&file, nth) in directory.files.iter().zip(0..) {
            directory.read_metadata(nth, &mut steps);
            steps.push(Step::Think { ns: directory.lookup_ns() });
            if with_tip {
                steps.push(Step::Think { ns: HINT_NS });
                steps.push(Step::Hint { source: HINTS, file, want: Want::All });
            }
        }
    }
    for directory in &directories {
        for (&file, nth) in directory.files.iter().zip(0..) {
            directory.read_metadata(nth, &mut steps);
            let resolve_ns = if with_tip { RESOLVE_NS + directory.lookup_ns() } else { 0 };
            steps.push(Step::Think { ns: directory.lookup_ns() + FILE_NS + resolve_ns });
            steps.extend((0..files[file.0 as usize].blocks).map(|block| read(file, block)));
        }
    }
    Program { files, steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_as_large_as_published_and_no_two_files_overlap() {
        for set in &SETS {
            let (files, directories) = lay_out(set, 7);
            let named: Vec<_> = directories.iter().flat_map(|directory| &directory.files).collect();
            let blocks: u64 = named.iter().map(|file| files[file.0 as usize].blocks).sum();
            assert_eq!((named.len() as u64, blocks), (set.files, set.blocks));
            let mut ranges: Vec<_> = files.iter().map(|file| (file.place, file.place + file.blocks)).collect();
            ranges.sort_unstable();
            assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{}", set.name);
        }
    }
}
