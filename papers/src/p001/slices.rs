//! XDataSlice: slices of a cube of 300 x 300 x 300 numbers, read block by block from one large file
//! (section 3.2).
//!
//! A block of 8 KB holds 16 x 16 x 8 numbers, so that the cube has 19 x 19 x 38 blocks. They lie in
//! row-major order, Z first: block (x, y, z) is number (x 19 + y) 38 + z. Hence
//!
//! ```text
//! Y-Z slice    one x    19 x 38 = 722 blocks    19 columns, neighbours
//! X-Z slice    one y    19 x 38 = 722 blocks    19 columns, each 18 beyond the one before
//! X-Y slice    one z    19 x 19 = 361 blocks    one of each column
//! ```
//!
//! The program discloses the list of blocks it needs, loads them, and draws the slice.
//!
//! **Layout.** A file of 100 MB is not in one piece on a file system that is in use. Here each
//! column of 38 blocks is, and up to a track of something else lies between it and the next. Were
//! all strides the same, each block of an X-Y slice would wait the same part of a turn, and the
//! drive's skew of cylinders, which is not known, decide: for skews of 0 to 17 sectors,
//! speed-ups of 1.0 to 1.8 on one disk and 2.5 to 3.2 on two; so laid out, of 1.1 to 1.3 and 2.2 to
//! 2.3. A column is a file of its own to the simulated host.

use foresee_manager::{DeviceId, FileId, Want};
use foresee_sim::host::{HostFile, Step};

use super::testbed::{HINT_NS, HINTS, Program, read};
use crate::Random;

/// Across which axis a slice is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plane {
    /// All of one x.
    Yz,
    /// All of one y.
    Xz,
    /// All of one z.
    Xy,
}

impl Plane {
    /// Every plane, with the name of its experiment.
    pub const ALL: [(&'static str, Plane); 3] =
        [("Y-Z slices", Plane::Yz), ("X-Z slices", Plane::Xz), ("X-Y slices", Plane::Xy)];
}

/// The cube's edge, in numbers, and in blocks along X, Y and Z.
const EDGE: u64 = 300;
const BLOCKS: (u64, u64, u64) = (19, 19, 38);
const EDGES: (u64, u64, u64) = (16, 16, 8);
/// Drawing a slice: what the times bound by the processor leave when 5.7 ms for each block are
/// taken off.
const DRAW_NS: u64 = 160_000_000;
/// Where the file begins on the array.
const BEGIN: u64 = 1344;
/// What lies between a column and the next at most: a track.
const GAP_BLOCKS_MAX: u64 = 3;

/// The column and the place in it of each of a slice's blocks, in the order in which they are read.
fn blocks(plane: Plane, at: u64) -> Vec<(u64, u64)> {
    let (nx, ny, nz) = BLOCKS;
    let pairs = |n: u64, m: u64| (0..n).flat_map(move |a| (0..m).map(move |b| (a, b)));
    match plane {
        Plane::Yz => pairs(ny, nz).map(|(y, z)| (at / EDGES.0 * ny + y, z)).collect(),
        Plane::Xz => pairs(nx, nz).map(|(x, z)| (x * ny + at / EDGES.1, z)).collect(),
        Plane::Xy => pairs(nx, ny).map(|(x, y)| (x * ny + y, at / EDGES.2)).collect(),
    }
}

/// Renders one slice. The seed decides which, and how the file is laid out.
pub fn program(plane: Plane, with_tip: bool, seed: u64) -> Program {
    let mut random = Random::new(seed);
    let slice = blocks(plane, random.below(EDGE));
    let (nx, ny, nz) = BLOCKS;
    let mut end = BEGIN;
    let mut column = || {
        let place = end + random.below(GAP_BLOCKS_MAX + 1);
        end = place + nz;
        HostFile { device: DeviceId(0), blocks: nz, place }
    };
    let files = (0..nx * ny).map(|_| column()).collect();
    let file = |column: u64| FileId(column as u32);
    let mut steps = Vec::new();
    if with_tip {
        steps.push(Step::Think { ns: HINT_NS });
        steps.extend(slice.iter().map(|&(column, first)| {
            let want = Want::Range { first, count: 1 };
            Step::Hint { source: HINTS, file: file(column), want }
        }));
    }
    steps.extend(slice.iter().map(|&(column, block)| read(file(column), block)));
    steps.push(Step::Think { ns: DRAW_NS });
    Program { files, steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_as_many_blocks_as_published_and_lie_as_it_says() {
        let (_, _, nz) = BLOCKS;
        let shape = |plane| {
            let numbers: Vec<u64> = blocks(plane, 299).iter().map(|(column, block)| column * nz + block).collect();
            let mut strides: Vec<u64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
            strides.sort_unstable();
            strides.dedup();
            (numbers.len(), numbers.into_iter().max().map(|last| last < 19 * 19 * 38), strides)
        };
        assert_eq!(shape(Plane::Yz), (722, Some(true), vec![1]));
        assert_eq!(shape(Plane::Xz), (722, Some(true), vec![1, 18 * 38 + 1]));
        assert_eq!(shape(Plane::Xy), (361, Some(true), vec![38]));
    }
}
