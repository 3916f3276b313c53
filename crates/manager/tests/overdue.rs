//! What was brought for a disclosed use that does not come.

use crate::support::{Driver, fetched};
use foresee_manager::*;

const PAGES: u64 = 50;
/// Blocks of file 0, of which the first is left out, so that some of the recording is wrong.
const SLOW: u64 = 20;
/// Blocks of file 1.
const NEVER_READ: u64 = 40;
/// Reads of file 2 for each of file 0.
const EACH: u64 = 15;
/// Blocks of file 3, which nobody disclosed.
const HOT: u64 = 20;

/// How often blocks of file 1 were fetched. Recorded were files 0, 1 and 2. Of two who read together one is in file 0, slowly, the
/// other in file 2, so that file 1 seems to be read next; and nobody reads it.
fn between_two_readers(reads: u64) -> u64 {
    let mut driver = Driver::simple("informed", PAGES, Trust::Earned { initial_blocks: 64 });
    (0..4).for_each(|file| drop(driver.known(file, 1 << 30)));
    // In no run.
    let place = |at: u64| (at + 1) * (at + 1) % 100_003 * 10;
    let mut done = Vec::new();
    for (file, blocks) in [(0, SLOW), (1, NEVER_READ), (2, EACH * SLOW)] {
        for at in 0..blocks {
            done.extend(driver.hint_from(1, Source::Profile, file, Want::Range { first: place(at), count: 1 }));
        }
    }
    done.extend(driver.arrive());
    for at in 0..reads {
        let (turn, left) = (at / (EACH + 1), at % (EACH + 1));
        let (file, block) = if left == 0 { (0, turn + 1) } else { (2, turn * EACH + left - 1) };
        for (reader, file, block) in [(1, file, block), (2, 3, at * 7 % HOT)] {
            done.extend(driver.read(reader, file, place(block), 1));
            done.extend(driver.arrive());
        }
    }
    driver.manager.check();
    fetched(&done).iter().filter(|block| block.file == FileId(1)).count() as u64
}

/// By the time of 60 reads each of them was to be read. What is given up before that is fetched again, and some of it twice; at
/// the price of what is read next it would be fetched for ever.
#[test]
fn what_does_not_come_is_fetched_no_more() {
    let [by_then, later] = [60, EACH * SLOW].map(between_two_readers);
    assert!(later - by_then <= 2 * NEVER_READ, "{by_then} and {}", later - by_then);
}
