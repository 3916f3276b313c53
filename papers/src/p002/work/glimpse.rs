//! glimpse (section 5.1): five searches in 40 MB of news articles with an index of 2 MB. Each reads the index from end to end,
//! then the articles of those of its 256 partitions in which all its words may occur, in the same order each time. The index
//! has priority 1, the articles 0, both MRU.
//!
//! Which partitions a search reads is not given. Here partitions differ in how much of technology they have, and a word occurs
//! in those that have most, less or more by chance: rare words mostly where common ones occur as well. The two searches for two
//! words read what has both.

use super::{Disk, MB, MS, Program, Script, in_a_row};
use crate::Random;

/// The files of the index: words, partitions, file names, statistics.
const INDEX_BLOCKS: [u64; 4] = [2 * MB - 24, 4, 16, 4];
const PARTITIONS: u64 = 256;
/// Articles are short and take a block each, mostly: 40 MB are more blocks than 40 x 128.
const PARTITION_BLOCKS: u64 = 40;
/// In what part of the partitions a word occurs, in percent: scheduling, disk, cluster, rendering, volume, DTM. Fitted to 9,086
/// block I/Os beside Read300, all together.
const WORDS_PERCENT: [f64; 6] = [31.0, 28.0, 21.0, 11.0, 18.0, 5.0];
/// How far chance goes, in percent. Assumed.
const CHANCE_PERCENT: f64 = 10.0;
/// The words of each search.
const SEARCHES: [&[usize]; 5] = [&[0], &[0, 1], &[2], &[3, 4], &[5]];
/// Searching a block. Assumed.
const THINK_NS: u64 = 2 * MS;

/// The searches.
pub fn program() -> Program {
    let mut random = Random::new(22);
    let mut technology: Vec<f64> = (0..PARTITIONS).map(|rank| (100 * rank / PARTITIONS) as f64).collect();
    random.shuffle(&mut technology);
    let mut holds = |percent: f64| -> Vec<bool> {
        technology.iter().map(|has| has + CHANCE_PERCENT * (random.share() - 0.5) < percent).collect()
    };
    let words = WORDS_PERCENT.map(&mut holds);
    let mut script = Script::default();
    let index = 0..INDEX_BLOCKS.len() as u32;
    index.clone().for_each(|file| script.priority(file, 1));
    script.mru(1);
    script.mru(0);
    let read = |script: &mut Script, file: u32, blocks: u64| {
        for block in 0..blocks {
            script.read(file, block);
            script.think(THINK_NS);
        }
    };
    for search in SEARCHES {
        index.clone().for_each(|file| read(&mut script, file, INDEX_BLOCKS[file as usize]));
        let matches = (0..PARTITIONS as usize).filter(|&partition| search.iter().all(|&word| words[word][partition]));
        for partition in matches {
            read(&mut script, index.end + partition as u32, PARTITION_BLOCKS);
        }
    }
    let partitions = (0..PARTITIONS).map(|_| PARTITION_BLOCKS);
    script.program(Disk::Rz56, in_a_row(INDEX_BLOCKS.into_iter().chain(partitions)))
}
