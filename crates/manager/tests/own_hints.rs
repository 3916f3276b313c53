//! What programs disclose themselves: they keep a part of it, read heads of files twice, and the
//! system gives up what was brought for them.

use crate::support::{Driver, block, fetched};
use foresee_manager::*;

const TOLD: Source = Source::Library;

fn range(first: u64, count: u64) -> Want {
    Want::Range { first, count }
}

/// A driver with room for all, and a file of 1000 blocks that is disclosed so many times.
fn disclosed(times: u32) -> Driver {
    let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Full);
    driver.known(0, 1000);
    (0..times).for_each(|_| drop(driver.hint(1, 0, Want::All)));
    driver.arrive();
    driver
}

/// Programs read the head of a file, and then all of it: that passes nothing over.
#[test]
fn the_head_of_a_file_first() {
    let mut driver = disclosed(2);
    driver.read(1, 0, 0, 4);
    for first in (0..1000).step_by(10) {
        driver.read(1, 0, first, 10);
    }
    assert_eq!((driver.consumed(TOLD), driver.skipped(TOLD)), (1000, 0));
    // Where nothing is left of the first one, the head is of the next.
    driver.read(1, 0, 0, 4);
    assert_eq!((driver.consumed(TOLD), driver.skipped(TOLD)), (1004, 0));
}

/// Who reads the head a third time reads only that.
#[test]
fn only_the_heads_of_a_file() {
    let mut driver = disclosed(3);
    driver.read(1, 0, 0, 4);
    driver.read(1, 0, 0, 4);
    assert_eq!(driver.skipped(TOLD), 0);
    driver.read(1, 0, 0, 4);
    assert_eq!((driver.consumed(TOLD), driver.skipped(TOLD)), (8, 996));
}

/// What the system gave up by itself is missing again, and is to be read.
#[test]
fn what_is_gone_is_fetched_again() {
    let mut driver = Driver::simple("informed", 1000, Trust::Full);
    driver.known(0, 1000);
    let order = [70, 20, 400, 21];
    order.iter().for_each(|&index| drop(driver.hint(1, 0, range(index, 1))));
    driver.drain();
    driver.read(1, 0, 70, 1);
    let brought = |driver: &Driver| driver.manager.brought_with(block(0, 20)).map(|it| it.index).collect::<Vec<_>>();
    assert_eq!(brought(&driver), [20, 400, 21], "in the order in which they came");
    let mut actions = driver.handle(Event::Gone { file: FileId(0), first: 20, count: 1 });
    actions.extend(driver.drain());
    assert_eq!(fetched(&actions), [block(0, 20)]);
}

/// A program discloses what it needs, and does not read again what it still has: a recording holds
/// only what it read.
#[test]
fn what_a_program_keeps_speaks_against_no_hint_of_its_own() {
    let brought = |source: Source| {
        let mut driver = Driver::simple("tip1:unread_share=1", 100_000, Trust::Earned { initial_blocks: 4 });
        driver.known(0, 1 << 30);
        let mut brought = 0;
        for index in (0..2000).flat_map(|index| [index, index]) {
            brought += fetched(&driver.hint_from(1, source, 0, range(index, 1))).len();
        }
        for index in 0..100 {
            brought += fetched(&driver.drain()).len();
            brought += fetched(&driver.read(1, 0, index, 1)).len();
        }
        (brought, driver.skipped(source))
    };
    let ((of_library, skipped), (of_profile, _)) = (brought(Source::Library), brought(Source::Profile));
    assert_eq!(skipped, 99, "each is passed over when the next one is read");
    assert!(of_library > 1500 && of_profile < 1000, "{of_library}, {of_profile}");
}
