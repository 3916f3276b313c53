//! Reads far from where the readers of a sequence are.

use crate::support::Driver;
use foresee_manager::*;

fn range(first: u64, count: u64) -> Want {
    Want::Range { first, count }
}

/// What is disclosed once is read there, by one who is ahead of the others: if it stayed open it would
/// be brought once more for nobody. What is disclosed twice may be another read of the same block.
#[test]
fn far_reads_of_what_several_read_are_what_is_disclosed_once() {
    let mut driver = Driver::simple("tip1:unread_share=0", 100_000, Trust::Earned { initial_blocks: 4 });
    driver.known(0, 1 << 30);
    let (once, again, later) = (1500, 1000, 1700);
    let disclosed = (0..2000).filter(|&index| index != later).chain([again, later, later]);
    disclosed.for_each(|index| drop(driver.hint_from(1, Source::Profile, 0, range(index, 1))));
    let accuracy = |driver: &Driver| driver.manager.accuracy(Source::Profile);
    driver.read(1, 0, once, 1);
    assert_eq!(accuracy(&driver), (1, 0));
    // What a pass left out is disclosed for the next ones.
    [again, later].into_iter().for_each(|index| drop(driver.read(1, 0, index, 1)));
    assert_eq!(accuracy(&driver), (1, 0));
    driver.read(1, 0, once, 1);
    assert_eq!(accuracy(&driver), (1, 0), "it was read");
    driver.manager.check();
}

/// Who reads one file here and there does not have another one brought by that, which is most of all that was disclosed.
#[test]
fn what_is_in_no_order_earns_by_what_its_turn_has_come_for() {
    let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Earned { initial_blocks: 10 });
    [0, 1].into_iter().for_each(|file| drop(driver.known(file, 100_000)));
    drop(driver.hint_from(1, Source::Related, 1, range(0, 100_000)));
    (0..250).for_each(|index| drop(driver.hint_from(1, Source::Related, 0, range(index * 10, 1))));
    driver.arrive();
    for index in 0..150 {
        driver.read(1, 0, (249 - index) * 10, 1);
        driver.arrive();
    }
    assert_eq!(driver.consumed(Source::Related), 150);
    assert_eq!(driver.manager.statistics().ahead_of(false).fetched, 10, "and one more would be no sweep");
    driver.manager.check();
}

/// Who has read much of what was disclosed, in no order, is brought the rest: of 240 blocks that he reads backwards 10 are
/// out at first.
#[test]
fn of_what_is_in_no_order_the_rest_is_brought_to_who_has_read_much() {
    let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Earned { initial_blocks: 10 });
    driver.known(0, 100_000);
    (0..240).for_each(|at| drop(driver.hint_from(1, Source::Related, 0, range(at * 10, 1))));
    let mut fetched = |reads: std::ops::Range<u64>| {
        for at in reads {
            driver.read(1, 0, (239 - at) * 10, 1);
            driver.arrive();
        }
        driver.manager.check();
        driver.manager.statistics().ahead_of(false).fetched
    };
    let of_a_tenth = fetched(0..24);
    assert!(of_a_tenth <= 10 + 24, "{of_a_tenth}");
    assert!(fetched(24..120) >= 120 - 10);
}
