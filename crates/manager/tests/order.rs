//! Reads that are not quite in the order of what was disclosed: a generator is slower than its reader at
//! times, and several threads read side by side.

use crate::support::{Driver, config};
use foresee_manager::*;
use proptest::prelude::*;

const TOLD: Source = Source::Library;
const READER: ReaderId = ReaderId(1);

/// Records that begin and end within blocks, so that most blocks are in two of them.
const RECORDS: u64 = 40;

fn driver() -> Driver {
    let mut driver = Driver::simple("tip1:unread_share=1", 1000, Trust::Full);
    driver.known(0, 1 << 20);
    driver
}

fn more(driver: &mut Driver) {
    driver.handle(Event::More { reader: READER, source: TOLD });
}

proptest! {
    #![proptest_config(config(256))]

    /// Whatever was read before it was disclosed, what is disclosed in time comes true: nothing is
    /// passed over, and nothing is open that was read.
    #[test]
    fn a_reader_that_is_quicker_than_its_generator_loses_nothing(
        records in prop::collection::vec(0..RECORDS, 1..150),
        turns in prop::collection::vec((0..30u8, 0..30u8), 1..30),
        in_blocks in any::<bool>(),
    ) {
        let mut driver = driver();
        more(&mut driver);
        let (mut disclosed, mut read, mut in_time) = (0, 0, 0);
        for (discloses, reads) in turns.into_iter().chain([(150, 150)]) {
            for &first in records.iter().skip(disclosed).take(discloses.into()) {
                driver.hint(1, 0, Want::Range { first, count: 2 });
                in_time += u64::from(disclosed >= read);
                disclosed += 1;
            }
            more(&mut driver);
            for &first in records.iter().skip(read).take(reads.into()) {
                if in_blocks {
                    driver.read(1, 0, first, 1);
                    driver.read(1, 0, first + 1, 1);
                } else {
                    driver.read(1, 0, first, 2);
                }
                read += 1;
            }
            prop_assert_eq!(driver.manager.open_hints(), disclosed.saturating_sub(read));
        }
        prop_assert_eq!(driver.manager.accuracy(TOLD), (2 * in_time, 0));
    }

    /// Where the same blocks are disclosed again soon, one read may be taken for another; but by no
    /// more than two jumps.
    #[test]
    fn several_threads_may_read_what_one_disclosed(
        records in prop::collection::vec((0..RECORDS, 0..8usize), 1..600),
        in_blocks in any::<bool>(),
    ) {
        let mut driver = driver();
        for &(first, _) in &records {
            driver.hint(1, 0, Want::Range { first, count: 2 });
        }
        let mut read: Vec<usize> = (0..records.len()).collect();
        read.sort_by_key(|&at| at + records[at].1);
        for (count, at) in read.into_iter().enumerate() {
            let (first, _) = records[at];
            let (reads, blocks) = if in_blocks { (2, 1) } else { (1, 2) };
            (0..reads).for_each(|block| drop(driver.read(1, 0, first + block, blocks)));
            let (open, left) = (driver.manager.open_hints(), records.len() - 1 - count);
            prop_assert!(open.abs_diff(left) as u64 <= 2 * JUMP_ENTRIES_MAX, "{open} are open where {left} are left");
        }
    }
}

/// What is disclosed when a generator is through, or its plan withdrawn, was not read before.
#[test]
fn what_was_read_before_a_plan_ended_is_read_anew() {
    let (reader, source) = (READER, TOLD);
    for end in [Event::Cancel { reader, source }, Event::NoMore { reader, source }] {
        let mut driver = driver();
        for (index, open) in [(7, 0), (8, 1)] {
            more(&mut driver);
            driver.read(1, 0, index, 1);
            if open > 0 {
                driver.handle(end);
                driver.read(1, 0, index, 1);
            }
            driver.hint(1, 0, Want::Range { first: index, count: 1 });
            assert_eq!(driver.manager.open_hints(), open);
        }
    }
}
