//! References over time: which block at which moment, coloured by a group.
//!
//! Millions of references become a grid of cells, each of the colour of those that are most in it.

use std::collections::HashMap;

use foresee_chart::{Plot, Shape};
use foresee_manager::{Block, FileId};
use foresee_sim::load::{Entry, Trace};

const COLUMNS: usize = 320;
const ROWS: usize = 160;

/// Each block's place among those referenced, file after file in the order of their first
/// reference: what was never read takes no room.
pub struct Ranks {
    of_block: HashMap<Block, u32>,
}

impl Ranks {
    pub fn of(trace: &Trace) -> Ranks {
        let mut order: HashMap<FileId, usize> = HashMap::new();
        let mut blocks: HashMap<Block, u32> = HashMap::new();
        for at in 0..trace.len() {
            let Entry { first, count, .. } = trace.entry(at);
            let next = order.len();
            order.entry(first.file).or_insert(next);
            blocks.extend((first.index..first.index + count).map(|index| (Block { index, ..first }, 0)));
        }
        let mut sorted: Vec<Block> = blocks.keys().copied().collect();
        sorted.sort_unstable_by_key(|block| (order[&block.file], block.index));
        for (rank, block) in sorted.into_iter().enumerate() {
            blocks.insert(block, rank as u32);
        }
        Ranks { of_block: blocks }
    }
}

/// The plot. `group_of` tells for the n-th block of a request which of `names` it belongs to, if
/// any.
pub fn references(
    trace: &Trace,
    ranks: &Ranks,
    title: &str,
    names: &[String],
    group_of: impl Fn(usize, u64) -> Option<usize>,
) -> Plot {
    let (references, blocks) = (trace.references.max(1), ranks.of_block.len().max(1) as u64);
    let (columns, rows) = (COLUMNS.min(references as usize), ROWS.min(blocks as usize));
    let mut cells = vec![0_u32; columns * rows * names.len()];
    let mut number = 0;
    for at in 0..trace.len() {
        let Entry { first, count, .. } = trace.entry(at);
        for nth in 0..count {
            let rank = u64::from(ranks.of_block[&Block { index: first.index + nth, ..first }]);
            let column = (number * columns as u64 / references) as usize;
            let row = (rank * rows as u64 / blocks) as usize;
            if let Some(group) = group_of(at, nth) {
                cells[(row * columns + column) * names.len() + group] += 1;
            }
            number += 1;
        }
    }
    let (width, height) = (references as f64 / columns as f64, blocks as f64 / rows as f64);
    let mut points = vec![Vec::new(); names.len()];
    for (cell, counts) in cells.chunks(names.len()).enumerate() {
        let most = counts.iter().enumerate().filter(|(_, count)| **count > 0).max_by_key(|(_, count)| **count);
        if let Some((group, _)) = most {
            let (column, row) = ((cell % columns) as f64, (cell / columns) as f64);
            points[group].push(((column + 0.5) * width, (row + 0.5) * height));
        }
    }
    let mut plot = Plot::new(title, "reference", "block, file after file");
    for (name, points) in names.iter().zip(points) {
        plot.add(name, Shape::Cells { width, height }, points, Vec::new());
    }
    plot
}
