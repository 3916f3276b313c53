//! Distances, and what was wrong, where several read together.

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

/// A long file comes true, 300 blocks of it, and eight of nine short ones behind it: by blocks one in 308 is left out.
#[test]
fn a_long_file_does_not_hide_that_short_ones_are_wrong() {
    const LONG: u64 = 300;
    let mut files = Files::default();
    let (mut sequence, mut orders) = (Sequence::new(Source::Profile, Trust::Earned { initial_blocks: 64 }), 0);
    for file in (0..10).map(FileId) {
        let blocks = if file == FILE { LONG } else { 1 };
        files.set(file, Known::Here { home: Home::default(), blocks });
        sequence.disclose(file, Want::All, &mut orders, files.of(file));
    }
    let holdings = Holdings { files: &files, table: &Table::default() };
    let read = |sequence: &mut Sequence, file: u32, count: u64| {
        sequence.read(0, Block { file: FileId(file), index: 0 }, count, holdings, &mut Vec::new());
    };
    read(&mut sequence, 0, LONG);
    (1..5).for_each(|file| read(&mut sequence, file, 1));
    assert!(sequence.window.is_hardly_wrong(), "nothing was");
    (6..10).for_each(|file| read(&mut sequence, file, 1));
    assert!(!sequence.window.is_hardly_wrong(), "one of ten, which is left out");
    read(&mut sequence, 5, 1);
    assert!(sequence.window.is_hardly_wrong(), "it was only read later");
}

/// A block that is disclosed twice and was given up is fetched again, but not for its first use if that is late.
#[test]
fn what_is_late_is_fetched_again_for_later_uses_alone() {
    let mut files = Files::default();
    files.set(FILE, Known::Here { home: Home::default(), blocks: 200 });
    let known = files.of(FILE);
    let looked_at_anew = |is_overdue: bool| {
        let (mut sequence, mut orders) = (Sequence::new(Source::Profile, Trust::Full), 0);
        for first in [7, 90, 7] {
            sequence.disclose(FILE, Want::Range { first, count: 1 }, &mut orders, known);
        }
        let mut steps = Vec::new();
        while sequence.peek(0, 16, &files, &mut steps) || !steps.is_empty() {
            steps.drain(..).for_each(|(_, step)| sequence.taken(step, false));
        }
        sequence.forgo(Block { file: FILE, index: 7 }, known, is_overdue);
        sequence.unissued(false, &files).map(|(until, _)| until).collect::<Vec<_>>()
    };
    assert_eq!([false, true].map(looked_at_anew), [vec![1], vec![3]]);
}
