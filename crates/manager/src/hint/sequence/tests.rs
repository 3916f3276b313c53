//! Distances, where several read together.

use super::*;
use crate::layout::Home;
use crate::table::Table;

const FILE: FileId = FileId(0);

/// 100 entries of two blocks each, of which every second one up to the 50th was read, the last
/// one to its half.
#[test]
fn what_the_foremost_left_out_is_not_before_what_he_reads_next() {
    let mut files = Files::default();
    files.set(FILE, Known::Here { home: Home::default(), blocks: 200 });
    let (mut sequence, mut orders) = (Sequence::new(Source::Profile, Trust::Full), 0);
    for first in (0..200).step_by(2) {
        sequence.disclose(FILE, Want::Range { first, count: 2 }, &mut orders, files.of(FILE));
    }
    sequence.disclose(FileId(1), Want::Name, &mut orders, Known::Unknown);
    let holdings = Holdings { files: &files, table: &Table::default() };
    for index in (2..100).step_by(4) {
        let count = if index == 98 { 1 } else { 2 };
        sequence.read(0, Block { file: FILE, index }, count, holdings, &mut Vec::new());
    }
    let seen = |sequence: &Sequence| {
        let until = |behind: bool, block: u64| {
            let found = sequence.unissued(behind, &files).find(|(_, it)| it.index == block);
            found.map(|(until, _)| until)
        };
        assert_eq!((until(true, 0), until(true, 97), until(true, 99)), (Some(1), Some(50), None));
        assert_eq!((until(false, 0), until(false, 99), until(false, 100)), (None, Some(1), Some(2)));
        assert_eq!(
            (sequence.distance(48, 1), sequence.distance(49, 1), sequence.distance(50, 0)),
            (Some(49), Some(0), Some(1))
        );
    };
    seen(&sequence);
    sequence.named(0, FileId(1), holdings, &mut Vec::new());
    seen(&sequence);
    // Of what is left out some can never be read.
    sequence.close(0);
    assert_eq!((sequence.distance(48, 1), sequence.distance(50, 0)), (Some(47), Some(1)));
}
