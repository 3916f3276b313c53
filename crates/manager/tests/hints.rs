//! Which read belongs to which hint, how far a cursor moves, and what a sequence may hold.

use crate::support::{Driver, block, fetched};
use foresee_manager::*;

const TOLD: Source = Source::Library;

fn range(first: u64, count: u64) -> Want {
    Want::Range { first, count }
}

/// A driver with room for all, and file 0 of many blocks.
fn driver() -> Driver {
    let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Full);
    driver.known(0, 1 << 30);
    driver
}

/// A driver under which nothing is fetched ahead: only the cursors move.
fn cursors() -> Driver {
    let mut driver = Driver::simple("tip1:unread_share=0", 100_000, Trust::Full);
    driver.known(0, 1 << 30);
    driver
}

fn accuracy(driver: &Driver) -> (u64, u64) {
    driver.manager.accuracy(TOLD)
}

#[test]
fn reads_in_order_consume_all() {
    let mut driver = driver();
    for index in [7, 3, 9] {
        driver.hint(1, 0, range(index, 2));
    }
    driver.arrive();
    for index in [7, 3, 9] {
        driver.read(1, 0, index, 2);
    }
    assert_eq!(accuracy(&driver), (6, 0));
    assert_eq!(driver.manager.statistics().ahead_of(true).timely, 6);
}

#[test]
fn one_read_may_span_many_hints() {
    let mut driver = cursors();
    (0..100).for_each(|index| drop(driver.hint(1, 0, range(index, 1))));
    driver.read(1, 0, 0, 100);
    assert_eq!(accuracy(&driver), (100, 0));
    // One hint in many reads, and reads that reach beyond it.
    driver.hint(1, 0, range(200, 10));
    (198..212).step_by(2).for_each(|index| drop(driver.read(1, 0, index, 2)));
    assert_eq!(accuracy(&driver), (110, 0));
}

#[test]
fn a_near_jump_passes_over() {
    let mut driver = cursors();
    (0..200).for_each(|index| drop(driver.hint(1, 0, range(index * 10, 1))));
    driver.read(1, 0, JUMP_ENTRIES_MAX * 10, 1);
    assert_eq!(accuracy(&driver), (1, JUMP_ENTRIES_MAX));
    // What was passed over is no longer disclosed.
    driver.read(1, 0, 0, 1);
    assert_eq!(accuracy(&driver), (1, JUMP_ENTRIES_MAX));
}

#[test]
fn a_far_read_consumes_one_entry_alone() {
    let mut driver = cursors();
    (0..200).for_each(|index| drop(driver.hint(1, 0, range(index * 10, 1))));
    driver.read(1, 0, (JUMP_ENTRIES_MAX + 1) * 10, 1);
    assert_eq!(accuracy(&driver), (1, 0));
    (0..200).for_each(|index| drop(driver.read(1, 0, index * 10, 1)));
    assert_eq!(accuracy(&driver), (200, 0), "the far one is not consumed twice, and nothing is skipped");
}

/// What is found far ahead of a source that is not fully trusted is a later read of the same block:
/// one that was left out now.
#[test]
fn far_reads_of_what_must_prove_true_consume_nothing() {
    let mut driver = Driver::simple("tip1:unread_share=0", 100_000, Trust::Earned { initial_blocks: 4 });
    driver.known(0, 1 << 30);
    (0..2000).for_each(|index| drop(driver.hint(1, 0, range(index, 1))));
    let far = 1500;
    driver.read(1, 0, far, 1);
    assert_eq!(accuracy(&driver), (0, 0), "nothing is known yet");
    (0..200).for_each(|index| drop(driver.read(1, 0, index, 1)));
    driver.read(1, 0, far, 1);
    assert_eq!(accuracy(&driver), (200, 0), "it is flawless, and was not so far that this is known");
    (200..2000).for_each(|index| drop(driver.read(1, 0, index, 1)));
    assert_eq!(accuracy(&driver), (2000, 0), "it comes true in its turn");
}

/// Where several read together, entries are passed over when many more were read; of long ones a
/// flaw shows before that.
#[test]
fn what_the_foremost_left_out_earns_less_than_what_is_flawless() {
    let brought = |left_out: u64| {
        let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Earned { initial_blocks: 4 });
        driver.known(0, 1 << 30);
        let mut brought = 0;
        for entry in 0..1000 {
            brought += fetched(&driver.hint_from(1, Source::Profile, 0, range(entry * 8, 8))).len();
        }
        for entry in (0..20).filter(|entry| entry % 5 != 4 || entry / 5 >= left_out) {
            brought += fetched(&driver.read(1, 0, entry * 8, 8)).len();
        }
        brought += fetched(&driver.drain()).len();
        assert_eq!(driver.skipped(Source::Profile), 0, "none is passed over");
        brought
    };
    let (flawless, flawed) = (brought(0), brought(4));
    assert!(flawless > 16 * 150 && flawed < 8 * 150, "{flawless}, {flawed}");
}

#[test]
fn what_is_disclosed_in_no_order_is_consumed_entry_by_entry() {
    let mut driver = driver();
    (0..300).for_each(|index| drop(driver.hint_from(1, Source::Unordered, 0, range(index, 1))));
    driver.arrive();
    // Near, far, and many far ones in order: nothing is passed over.
    (50..51).chain(150..300).chain(0..50).for_each(|index| drop(driver.read(1, 0, index, 1)));
    assert_eq!(driver.manager.accuracy(Source::Unordered), (201, 0));
    (51..150).rev().for_each(|index| drop(driver.read(1, 0, index, 1)));
    assert_eq!((driver.manager.accuracy(Source::Unordered), driver.manager.open_hints()), ((300, 0), 0));
}

#[test]
fn many_far_reads_in_order_bring_the_cursor_there() {
    let mut driver = cursors();
    (0..1000).for_each(|index| drop(driver.hint(1, 0, range(index, 1))));
    (500..500 + JUMP_ENTRIES_MAX).for_each(|index| drop(driver.read(1, 0, index, 1)));
    assert_eq!(accuracy(&driver).1, 0);
    driver.read(1, 0, 500 + JUMP_ENTRIES_MAX, 1);
    assert_eq!(accuracy(&driver), (JUMP_ENTRIES_MAX + 1, 500));
}

#[test]
fn two_streams_merged_are_no_jump() {
    let mut driver = cursors();
    (0..2000).for_each(|index| drop(driver.hint(1, 0, range(index, 1))));
    for index in 0..1000 {
        driver.read(1, 0, index, 1);
        driver.read(1, 0, 1000 + index, 1);
    }
    assert_eq!(accuracy(&driver), (2000, 0));
}

#[test]
fn repeated_blocks_are_matched_one_by_one() {
    let mut driver = driver();
    (0..5).for_each(|_| drop(driver.hint(1, 0, range(3, 1))));
    assert_eq!(driver.manager.statistics().ahead_of(true).fetched, 1, "it is fetched once");
    driver.arrive();
    (0..7).for_each(|_| drop(driver.read(1, 0, 3, 1)));
    assert_eq!(accuracy(&driver), (5, 0));
    assert_eq!(driver.manager.ledger().unread, 0);
}

#[test]
fn one_file_hinted_twice_is_read_twice() {
    let mut driver = driver();
    driver.known(1, 50);
    driver.hint(1, 1, Want::All);
    driver.hint(1, 1, Want::All);
    driver.arrive();
    (0..50).for_each(|index| drop(driver.read(1, 1, index, 1)));
    assert_eq!(accuracy(&driver), (50, 0));
    (0..50).for_each(|index| drop(driver.read(1, 1, index, 1)));
    assert_eq!(accuracy(&driver), (100, 0));
    assert_eq!(driver.manager.statistics().ahead_of(true).timely, 50);
}

/// Some blocks of a whole file are read out of turn, nearby.
#[test]
fn small_disorder_inside_a_file() {
    let mut driver = driver();
    driver.known(1, 40);
    driver.hint(1, 1, Want::All);
    driver.arrive();
    let order = (0..40).map(|index| index ^ 3);
    order.for_each(|index| drop(driver.read(1, 1, index, 1)));
    let ahead = driver.manager.statistics().ahead_of(true);
    assert_eq!((ahead.fetched, ahead.timely), (40, 40));
    assert_eq!(driver.manager.ledger().unread, 0);
}

/// An archive: its end is read first, then all of it. The hint must survive that.
#[test]
fn the_end_of_a_file_first() {
    let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Earned { initial_blocks: 16 });
    driver.known(0, 10_000);
    driver.hint(1, 0, Want::All);
    driver.arrive();
    driver.read(1, 0, 9_990, 10);
    for index in 0..9_990 {
        driver.read(1, 0, index, 1);
        driver.arrive();
    }
    assert!(driver.manager.statistics().ahead_of(true).timely > 9_900, "{:?}", driver.manager.statistics());
    assert_eq!(driver.skipped(TOLD), 0);
}

#[test]
fn another_readers_reads_move_no_cursor() {
    let mut driver = driver();
    driver.hint(1, 0, range(0, 4));
    driver.arrive();
    driver.read(2, 0, 0, 4);
    assert_eq!(accuracy(&driver), (0, 0));
    assert_eq!(driver.manager.statistics().ahead_of(true).timely, 4, "but the blocks were of use");
    driver.read(1, 0, 0, 4);
    assert_eq!(accuracy(&driver), (4, 0));
}

/// Segments of one file, each hinted alone, in an order of their own: reads in that order, and in
/// another, find theirs in constant time. Scanning would take 10^10 steps here.
#[test]
fn many_small_segments() {
    let count: u64 = 200_000;
    let shuffled = |step: u64| (0..count).map(move |at| at * step % count);
    for (hinted, read) in [(77_773, 77_773), (1, 77_773), (77_773, 1)] {
        let mut driver = cursors();
        shuffled(hinted).for_each(|index| drop(driver.hint(1, 0, range(index * 3, 1))));
        shuffled(read).for_each(|index| drop(driver.read(1, 0, index * 3, 1)));
        let (consumed, skipped) = accuracy(&driver);
        assert!(consumed + skipped <= count);
        assert!(hinted != read || consumed == count, "{consumed} of {count}");
        driver.handle(Event::ReaderExited { reader: ReaderId(1) });
    }
}

#[test]
fn an_endless_list_of_hints_leaves_nothing_behind() {
    let mut driver = cursors();
    driver.hint(1, 0, range(1 << 29, 1));
    for index in 0..100 + HINT_ENTRIES_MAX as u64 {
        driver.hint(1, 0, range(index, 1));
        driver.read(1, 0, index, 1);
    }
    assert_eq!(driver.manager.statistics().refused, 0);
}

#[test]
fn too_many_hints_are_refused() {
    let mut driver = cursors();
    for index in 0..HINT_ENTRIES_MAX as u64 + 5 {
        driver.hint(1, 0, range(index, 1));
    }
    assert_eq!(driver.manager.statistics().refused, 5);
    driver.handle(Event::Cancel { reader: ReaderId(1), source: TOLD });
    driver.hint(1, 0, range(0, 1));
    assert_eq!(driver.manager.statistics().refused, 5, "there is room again");
    for reader in 0..SEQUENCES_MAX as u32 + 5 {
        driver.hint(10 + reader, 0, range(0, 1));
    }
    assert_eq!(driver.manager.statistics().refused, 11);
}

// ---- names

#[test]
fn names_are_looked_up_when_the_walk_comes_by() {
    let mut driver = Driver::simple("tip1:unread_share=1", 100, Trust::Full);
    for file in 1..1000 {
        driver.hint(1, file, Want::All);
    }
    let asked = driver.lookups.len();
    assert!((2..1000).contains(&asked), "many at once, but not all: {asked}");
    // They are resolved in any order, once each; 50 files of 2 blocks fill the memory, and the walk
    // rests.
    while let Some(&file) = driver.lookups.last() {
        driver.known(file.0, 2);
    }
    driver.arrive();
    assert!(driver.manager.statistics().lookups < 600, "{}", driver.manager.statistics().lookups);
}

#[test]
fn a_file_wanted_by_two_is_looked_up_once() {
    let mut driver = Driver::simple("tip1:unread_share=1", 100, Trust::Full);
    driver.hint(1, 5, range(0, 1));
    driver.hint(2, 5, range(1, 1));
    driver.hint_from(2, Source::Command, 5, range(2, 1));
    assert_eq!(driver.manager.statistics().lookups, 1);
    let actions = driver.known(5, 10);
    assert_eq!(fetched(&actions), [block(5, 0), block(5, 1), block(5, 2)]);
}

#[test]
fn missing_names_do_not_hold_the_cursor_up() {
    let mut driver = driver();
    for file in 1..400 {
        driver.hint(1, file, Want::All);
    }
    driver.hint(1, 0, range(0, 10));
    driver.hint(1, 0, range(20, 10));
    while let Some(&file) = driver.lookups.first() {
        match file.0 % 2 {
            0 => driver.handle(Event::FileMissing { file }),
            _ => driver.known(file.0, 0), // Empty files are as void as missing ones.
        };
    }
    assert_eq!(driver.manager.ledger().unread, 20);
    driver.arrive();
    // A jump: the cursor stands at the first real hint, so the read of the second passes it over.
    driver.read(1, 0, 20, 10);
    assert_eq!(accuracy(&driver), (10, 10));
}

#[test]
fn names_alone_are_looked_up_and_consumed() {
    let mut driver = Driver::simple("tip1:unread_share=1", 100, Trust::Earned { initial_blocks: 4 });
    for file in 1..20 {
        driver.hint(1, file, Want::Name);
    }
    assert_eq!(driver.lookups.len(), 4, "the window counts names too");
    driver.known(1, 1);
    driver.handle(Event::Named { reader: ReaderId(1), file: FileId(1) });
    assert_eq!(driver.lookups.len(), 18, "one less unread, sixteen more trusted: all the others");
    driver.handle(Event::Named { reader: ReaderId(1), file: FileId(4) });
    assert_eq!(accuracy(&driver), (2, 2), "two names passed over");
    driver.handle(Event::Named { reader: ReaderId(2), file: FileId(5) });
    assert_eq!(accuracy(&driver), (2, 2));
    assert!(fetched(&driver.arrive()).is_empty());
    driver.manager.check();
}

/// Two processes read what was recorded of them, one 30 entries ahead of the other.
#[test]
fn what_is_read_side_by_side_passes_nothing_over() {
    let mut driver = driver();
    (0..400).for_each(|index| drop(driver.hint_from(1, Source::Profile, 0, range(index * 10, 1))));
    driver.arrive();
    for index in 0..185 {
        driver.read(1, 0, (2 * index + 31) * 10, 1);
        driver.read(1, 0, 2 * index * 10, 1);
    }
    driver.manager.check();
    let (consumed, skipped) = driver.manager.accuracy(Source::Profile);
    assert_eq!(consumed, 370);
    // The odd ones before the thirty-first were nobody's, and the cursor comes by when both have.
    assert_eq!(skipped, 15);
}

/// What nobody reads is passed over, if later.
#[test]
fn what_none_of_many_reads_is_passed_over() {
    let mut driver = driver();
    (0..400).for_each(|index| drop(driver.hint_from(1, Source::Profile, 0, range(index * 10, 1))));
    driver.arrive();
    (0..400).step_by(2).for_each(|index| drop(driver.read(1, 0, index * 10, 1)));
    driver.manager.check();
    let (consumed, skipped) = driver.manager.accuracy(Source::Profile);
    assert_eq!(consumed, 200);
    assert!((130..=170).contains(&skipped), "all but those beside the last 64: {skipped}");
}

/// Who looks at all that was built need not build it anew: names earn names.
#[test]
fn names_earn_no_blocks() {
    let mut driver = Driver::simple("tip1:unread_share=1", 1000, Trust::Earned { initial_blocks: 8 });
    for file in 1..200 {
        driver.known(file, 4);
        driver.hint_from(1, Source::Profile, file, Want::Name);
        driver.hint_from(1, Source::Profile, file, Want::All);
    }
    for file in 1..200 {
        driver.handle(Event::Named { reader: ReaderId(1), file: FileId(file) });
        driver.arrive();
    }
    assert_eq!(driver.manager.accuracy(Source::Profile), (199, 0));
    assert_eq!(driver.manager.statistics().ahead_of(false).fetched, 8);
    driver.manager.check();
}

/// The dynamic linker's files are mapped before anything was looked up.
#[test]
fn what_is_read_before_it_is_looked_up_came_true() {
    let mut driver = driver();
    driver.hint_from(1, Source::Profile, 5, range(0, 100));
    driver.read(1, 5, 0, 100);
    assert_eq!(driver.manager.accuracy(Source::Profile), (100, 0));
    driver.known(5, 100);
    assert!(fetched(&driver.arrive()).is_empty());
    driver.manager.check();
}

#[test]
fn what_was_only_brought_was_not_read() {
    let mut driver = driver();
    driver.hint_from(1, Source::Listing, 0, range(0, 4));
    driver.arrive();
    driver.handle(Event::Cancel { reader: ReaderId(1), source: Source::Listing });
    assert_eq!(driver.manager.state_of(block(0, 0)), Some(State::Cached));
    assert!(!driver.manager.was_read(block(0, 0)));
    driver.read(1, 0, 0, 1);
    assert!(driver.manager.was_read(block(0, 0)) && !driver.manager.was_read(block(0, 1)));
}

// ---- what a sequence may hold

#[test]
fn an_aged_out_block_is_not_tried_again() {
    let mut driver = Driver::simple("tip1:unread_share=0.5", 10, Trust::Full);
    driver.known(0, 100);
    driver.hint(1, 0, range(0, 5));
    driver.arrive();
    driver.read(2, 1, 0, 20);
    assert_eq!(driver.manager.statistics().ahead_of(true).wasted, 5);
    driver.read(2, 1, 20, 20);
    driver.arrive();
    assert_eq!(driver.manager.statistics().ahead_of(true).fetched, 5, "its hint is spent");
    driver.read(1, 0, 0, 5);
    assert_eq!(accuracy(&driver), (5, 0), "and it still was true");
}

#[test]
fn the_window_grows_and_shrinks() {
    let unread = |driver: &Driver| driver.manager.ledger().unread;
    let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Earned { initial_blocks: 100 });
    driver.known(0, 100_000);
    driver.hint(1, 0, Want::All);
    assert_eq!(unread(&driver), 100);
    driver.arrive();
    driver.read(1, 0, 0, 50);
    assert_eq!(unread(&driver), 900, "sixteen more for each that came true");
    // The next thing disclosed comes 64 blocks early: the rest of the file is passed over, and that is
    // the end of trust.
    driver.known(1, 10_000);
    driver.hint(1, 1, Want::All);
    driver.arrive();
    driver.read(1, 1, 0, 1);
    assert!(driver.skipped(TOLD) >= 99_000);
    driver.arrive();
    assert_eq!(driver.manager.statistics().ahead_of(true).fetched, 950, "no trust is left");
    driver.read(1, 1, 1, 3);
    driver.arrive();
    assert_eq!(driver.manager.statistics().ahead_of(true).fetched, 962, "it is earned again, four for one");
    driver.manager.check();
}

/// A block that was passed over, but is read after all before it ages out.
#[test]
fn what_may_be_anything_begins_with_the_first_true_read() {
    let mut driver = Driver::simple("tip1:unread_share=1", 1000, Trust::Earned { initial_blocks: 64 });
    driver.known(0, 1 << 30);
    assert_eq!(fetched(&driver.hint_from(1, Source::Arguments, 0, range(0, 100))), []);
    assert_eq!(fetched(&driver.read(1, 0, 500, 1)), [], "a read of something else");
    assert_eq!(fetched(&driver.read(1, 0, 0, 1)).len() as u64, WINDOW_GROWTH_FLAWLESS);
}

#[test]
fn read_after_it_was_passed_over() {
    let mut driver = driver();
    (0..10).for_each(|index| drop(driver.hint(1, 0, range(index, 1))));
    driver.arrive();
    driver.read(1, 0, 5, 1);
    assert_eq!(accuracy(&driver), (1, 5));
    driver.read(1, 0, 2, 1);
    assert_eq!(accuracy(&driver), (2, 4));
    assert_eq!(driver.manager.statistics().ahead_of(true).timely, 2);
    driver.manager.check();
}

/// What is in no order is consumed wherever it is read, and nothing before it is given up.
#[test]
fn in_no_order_nothing_is_passed_over() {
    let mut driver = driver();
    (0..50).for_each(|index| drop(driver.hint_from(1, Source::Related, 0, range(index, 1))));
    driver.arrive();
    for index in (0..50).rev() {
        driver.read(1, 0, index, 1);
        driver.manager.check();
    }
    assert_eq!(driver.manager.accuracy(Source::Related), (50, 0));
    assert_eq!(driver.manager.statistics().ahead_of(false).timely, 50);
}

/// Who begins elsewhere in what is in no order is followed there.
#[test]
fn what_is_in_no_order_is_looked_at_where_its_reader_is() {
    for initial_blocks in [10, 256] {
        let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Earned { initial_blocks });
        driver.known(0, 100_000);
        (0..10_000).for_each(|index| drop(driver.hint_from(1, Source::Related, 0, range(index, 1))));
        driver.arrive();
        driver.read(1, 0, 0, 1);
        (5000..5020).for_each(|index| {
            driver.read(1, 0, index, 1);
            driver.arrive();
        });
        let is_here = |index| driver.manager.is_present(block(0, index));
        assert!(is_here(5021) && !is_here(initial_blocks + 90), "it reads on there");
        driver.manager.check();
    }
}

#[test]
fn what_is_in_no_order_earns_by_what_lies_beyond() {
    let trust = Trust::Earned { initial_blocks: 10 };
    let mut driver = Driver::simple("tip1:unread_share=1", 100_000, trust);
    driver.known(0, 100_000);
    let fetched = |driver: &Driver| driver.manager.statistics().ahead_of(false).fetched;
    (0..10_000).for_each(|index| drop(driver.hint_from(1, Source::Related, 0, range(index, 1))));
    driver.arrive();
    assert_eq!(fetched(&driver), 10);
    (0..10).for_each(|index| drop(driver.read(1, 0, index, 1)));
    driver.arrive();
    assert_eq!(fetched(&driver), 10 + 8 + 10, "one more may be out for each that is read, in sweeps of half of all");
    driver.read(1, 0, 5000, 1);
    driver.arrive();
    assert_eq!(fetched(&driver), 28, "that earns no sweep");
    // Each too far from the one before to say that the reader goes on from there.
    (51..99).for_each(|part| drop(driver.read(1, 0, part * 100, 1)));
    driver.arrive();
    let (may_be_out, out) = (20 + 16 * 10, fetched(&driver) - 10);
    assert!(out <= may_be_out, "of what was looked at, no more than ten came true: {out}");
    assert!(out > may_be_out / 2, "{out}");
    driver.manager.check();
}

#[test]
fn what_is_read_before_it_is_looked_up_earns_nothing_of_what_is_in_no_order() {
    let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Earned { initial_blocks: 10 });
    driver.known(0, 10_000);
    drop(driver.hint_from(1, Source::Related, 1, range(0, 1000)));
    (0..10_000).for_each(|index| drop(driver.hint_from(1, Source::Related, 0, range(index, 1))));
    driver.read(1, 1, 0, 1000);
    driver.known(1, 1000);
    driver.arrive();
    assert_eq!(driver.manager.statistics().ahead_of(false).fetched, 10, "as many as before it was read");
    driver.manager.check();
}

/// Two sources of one reader disclose the same: each has its own cursor, and one's jump is not the
/// other's.
#[test]
fn two_sources_two_cursors() {
    let mut driver = driver();
    (0..40).for_each(|index| drop(driver.hint_from(1, Source::Profile, 0, range(index, 1))));
    (0..40).rev().for_each(|index| drop(driver.hint_from(1, Source::Command, 0, range(index, 1))));
    driver.arrive();
    driver.read(1, 0, 0, 1);
    driver.manager.check();
    assert_eq!(driver.manager.accuracy(Source::Profile), (1, 0));
    assert_eq!(driver.manager.accuracy(Source::Command), (1, 39));
    (1..40).for_each(|index| drop(driver.read(1, 0, index, 1)));
    assert_eq!(driver.manager.accuracy(Source::Profile), (40, 0));
    driver.manager.check();
}

#[test]
fn cancelling_one_source_leaves_the_other() {
    let mut driver = driver();
    driver.hint_from(1, Source::Command, 0, range(0, 4));
    driver.hint_from(1, Source::Advice, 0, range(10, 4));
    driver.hint_from(2, Source::Command, 0, range(20, 4));
    driver.arrive();
    driver.handle(Event::Cancel { reader: ReaderId(1), source: Source::Command });
    driver.manager.check();
    assert_eq!(driver.manager.ledger().unread, 8);
    assert_eq!(driver.manager.state_of(block(0, 0)), Some(State::Cached), "what came stays until it ages out");
    (0..24).for_each(|index| drop((driver.read(1, 0, index, 1), driver.read(2, 0, index, 1))));
    let ahead = driver.manager.statistics().ahead;
    let of = |source: Source| ahead[source as usize];
    assert_eq!((of(Source::Command).wasted, of(Source::Command).timely), (4, 4));
    assert_eq!((of(Source::Advice).wasted, of(Source::Advice).timely), (0, 4));
    assert_eq!(driver.manager.accuracy(Source::Command), (4, 0));
}

#[test]
fn a_reader_that_exits_takes_its_hints_along_but_not_its_record() {
    let mut driver = driver();
    driver.hint(1, 0, range(0, 4));
    driver.hint(1, 7, Want::All);
    driver.arrive();
    driver.read(1, 0, 0, 2);
    driver.handle(Event::ReaderExited { reader: ReaderId(1) });
    driver.manager.check();
    assert_eq!(accuracy(&driver), (2, 0));
    assert_eq!(driver.manager.ledger().unread, 0);
    // The answer to its question comes late, and its number is used again.
    assert!(driver.known(7, 5).is_empty());
    let actions = driver.hint(1, 7, range(1, 1));
    assert_eq!(fetched(&actions), [block(7, 1)]);
    driver.arrive();
    driver.read(1, 7, 1, 1);
    assert_eq!(accuracy(&driver), (3, 0));
    driver.manager.check();
}

/// The numbers of sequences are used again: who is gone is not taken for who came after, and leaves
/// nothing behind.
#[test]
fn who_came_after_disclosed_nothing_of_it() {
    let mut driver = driver();
    let sources = |driver: &Driver, file| driver.manager.sources_of(FileId(file)).collect::<Vec<_>>();
    for reader in 1..50 {
        driver.hint_from(reader, Source::Profile, 1, Want::All);
        driver.hint_from(reader, Source::Profile, 1, range(3, 2));
        assert_eq!(sources(&driver, 1), [Source::Profile]);
        driver.handle(Event::ReaderExited { reader: ReaderId(reader) });
        assert_eq!(sources(&driver, 1), []);
        driver.hint_from(reader + 100, Source::Library, 2, Want::All);
        assert_eq!(sources(&driver, 1), [], "reader {reader} is gone");
        assert_eq!(sources(&driver, 2), [Source::Library]);
        driver.handle(Event::ReaderExited { reader: ReaderId(reader + 100) });
        driver.manager.check();
    }
}

/// What is withdrawn is disclosed no more: nobody takes it for a file that somebody sees to.
#[test]
fn what_is_withdrawn_is_of_no_source() {
    let mut driver = driver();
    driver.hint_from(1, Source::Profile, 1, range(3, 2));
    driver.handle(Event::Cancel { reader: ReaderId(1), source: Source::Profile });
    assert_eq!(driver.manager.sources_of(FileId(1)).count(), 0);
    driver.manager.check();
}

/// A hinted block found here counts as unread (000), or (`count_present=0`, 001) does not.
#[test]
fn found_blocks() {
    for (count_present, unread) in [(1, 3), (0, 0)] {
        let mut driver = Driver::simple(&format!("tip1:count_present={count_present}"), 30, Trust::Full);
        driver.known(0, 100);
        driver.read(2, 0, 0, 10);
        driver.hint(1, 0, range(0, 3));
        assert_eq!(driver.manager.ledger().unread, unread);
        // Promoted, they outlive the others.
        driver.read(2, 1, 0, 27);
        assert_eq!(driver.manager.is_present(block(0, 0)), count_present == 1);
        assert_eq!(driver.manager.statistics().ahead_of(true).fetched, 0);
        driver.handle(Event::ReaderExited { reader: ReaderId(1) });
        driver.manager.check();
    }
}

/// Hints for what is here already do not stop the walk, however many there are.
#[test]
fn a_long_walk_over_what_is_here_takes_more_than_one_event() {
    let mut driver = Driver::simple("tip1:count_present=0", 100_000, Trust::Full);
    driver.known(0, 60_000);
    driver.read(2, 0, 0, 50_000);
    driver.hint(1, 0, Want::All);
    let mut events = 1;
    while driver.flights.is_empty() {
        driver.read(2, 1, 0, 1);
        events += 1;
    }
    assert!((2..10).contains(&events), "{events}");
    driver.manager.check();
}

/// Ten blocks read three times, and what is disclosed meanwhile comes after them.
#[test]
fn passes_over_a_sequence() {
    let mut driver = cursors();
    (0..10).for_each(|index| drop(driver.hint(1, 0, range(index, 1))));
    driver.handle(Event::Repeat { reader: ReaderId(1), source: TOLD, entries: 10, passes: 3 });
    driver.hint(1, 0, range(50, 1));
    for _ in 0..3 {
        assert_eq!(accuracy(&driver).1, 0);
        (0..10).for_each(|index| drop(driver.read(1, 0, index, 1)));
    }
    assert_eq!(accuracy(&driver), (30, 0));
    (0..10).for_each(|index| drop(driver.read(1, 0, index, 1)));
    assert_eq!(accuracy(&driver), (30, 0), "there is no fourth pass");
    driver.read(1, 0, 50, 1);
    assert_eq!((accuracy(&driver), driver.manager.open_hints()), ((31, 0), 0));
}

#[test]
fn endless_passes_take_the_room_of_two() {
    let mut driver = cursors();
    driver.hint(1, 0, range(0, 5));
    driver.hint(1, 0, range(20, 5));
    driver.handle(Event::Repeat { reader: ReaderId(1), source: TOLD, entries: u64::MAX, passes: u64::MAX });
    for _ in 0..100 {
        driver.read(1, 0, 0, 5);
        driver.read(1, 0, 20, 5);
        assert!(driver.manager.open_hints() <= 6, "{}", driver.manager.open_hints());
        driver.manager.check();
    }
    assert_eq!(accuracy(&driver), (1000, 0));
    driver.handle(Event::Cancel { reader: ReaderId(1), source: TOLD });
    assert_eq!(driver.manager.open_hints(), 0);
}

/// A generator is asked when all it said was looked at, once each time.
#[test]
fn a_generator_is_asked_for_more() {
    let mut driver = driver();
    let asked =
        |actions: &[Action]| actions.iter().filter(|it| matches!(it, Action::Reply(Reply::Pull { .. }))).count();
    driver.hint(1, 0, range(0, 3));
    let more = Event::More { reader: ReaderId(1), source: TOLD };
    assert_eq!(asked(&driver.handle(more)), 1);
    assert_eq!(asked(&driver.hint(1, 0, range(3, 3))), 0, "it said nothing of more");
    assert_eq!(asked(&driver.handle(more)), 1);
    driver.handle(Event::ReaderExited { reader: ReaderId(1) });
    assert_eq!(asked(&driver.read(1, 0, 0, 1)), 0);
}

/// Of what it would say then some would be lost.
#[test]
fn no_generator_is_asked_for_what_finds_no_room() {
    let mut driver = Driver::simple("informed", 16, Trust::Full);
    driver.known(0, 1 << 30);
    let asked = |actions: &[Action]| actions.iter().any(|it| matches!(it, Action::Reply(Reply::Pull { .. })));
    (0..HINT_ENTRIES_MAX as u64 - 300).for_each(|index| _ = driver.hint(1, 0, range(index, 1)));
    assert!(!asked(&driver.handle(Event::More { reader: ReaderId(2), source: TOLD })));
    assert!(asked(&driver.handle(Event::Cancel { reader: ReaderId(1), source: TOLD })));
}

/// Whatever the memory is, a generator under the default policy is asked in time for all it says to
/// be here when it is read; beyond what there is room for it has said what may wait (256 entries),
/// and no more.
#[test]
fn informed_asks_a_generator_in_time() {
    const WAIT_MAX: u64 = 256;
    let mut driver = Driver::simple("informed", 16, Trust::Full);
    driver.known(0, 1 << 30);
    let asked = |actions: &[Action]| actions.iter().any(|it| matches!(it, Action::Reply(Reply::Pull { .. })));
    let (mut said, mut not_here) = (0, 0);
    let mut says = |driver: &mut Driver| loop {
        driver.hint(1, 0, range(said, 3));
        said += 3;
        let mut actions = driver.handle(Event::More { reader: ReaderId(1), source: TOLD });
        actions.extend(driver.arrive());
        if !asked(&actions) {
            return said;
        }
    };
    let mut disclosed = says(&mut driver);
    for index in 0..3000 {
        not_here += u64::from(!driver.manager.is_present(block(0, index)));
        let mut actions = driver.read(1, 0, index, 1);
        actions.extend(driver.arrive());
        if asked(&actions) {
            disclosed = says(&mut driver);
        }
        let may_be = index + 1..index + 16 + 3 * (WAIT_MAX + 2);
        assert!(may_be.contains(&disclosed), "{disclosed} are disclosed when {index} is read");
        driver.manager.check();
    }
    assert_eq!((accuracy(&driver), not_here), ((3000, 0), 0));
}

/// Under cost and benefit, of two sources that disclose at once the one that says it is often wrong
/// waits for memory.
#[test]
fn confidence_scales_what_is_worth_memory() {
    let mut driver = Driver::simple("tip2", 40, Trust::Full);
    driver.known(0, 1000);
    driver.known(1, 1000);
    driver.handle(Event::Confidence { reader: ReaderId(1), source: TOLD, percent: 10 });
    driver.hint(1, 0, Want::All);
    driver.hint(2, 1, Want::All);
    driver.arrive();
    let here = |file| (0..1000).filter(|&index| driver.manager.is_present(block(file, index))).count();
    assert!(here(0) < 8 && here(1) > 30, "{} {}", here(0), here(1));
}

/// A reader that takes a millisecond a block needs five blocks of a device of 5 ms ahead, not
/// 12,500; with a margin of four, twenty.
#[test]
fn the_horizon_follows_the_readers_pace() {
    let ahead_with = |policy: &str| {
        let mut driver = Driver::simple(policy, 100_000, Trust::Full);
        driver.known(0, 1 << 30);
        driver.hint(1, 0, range(0, 50_000));
        driver.arrive();
        // What was fetched before anything was known of the reader is read, and then some.
        for index in 0..20_000 {
            driver.read(1, 0, index, 1);
            driver.arrive();
            driver.now += 1_000_000;
        }
        driver.manager.ledger().unread
    };
    let (printed, paced) = (ahead_with("tip2:t_disk_us=5000"), ahead_with("tip2:t_disk_us=5000,burst_margin=4"));
    assert!((12_400..12_800).contains(&printed), "{printed}");
    // And what goes along in one request of 256 blocks.
    assert!((19..280).contains(&paced), "{paced}");
}
