//! A file's number is another's once nothing of the file is left.

use crate::support::{Driver, fetched, fetches};
use foresee_manager::*;

const FILE: FileId = FileId(3);

fn forget(driver: &mut Driver) -> bool {
    let is_forgettable = driver.manager.is_forgettable(FILE);
    driver.handle(Event::FileForgotten { file: FILE });
    is_forgettable
}

#[test]
fn what_is_here_on_its_way_waited_for_or_disclosed_keeps_its_number() {
    let mut driver = Driver::simple("informed", 4, Trust::Full);
    assert!(forget(&mut driver), "a number that was never used");
    // Looked up.
    driver.hint(1, 3, Want::All);
    assert!(!forget(&mut driver), "it is disclosed, and looked up");
    let sent = driver.known(3, 2);
    assert_eq!(fetches(&sent), [(Class::Hinted, 3, 0, 2)]);
    driver.handle(Event::Cancel { reader: ReaderId(1), source: Source::Library });
    assert!(!forget(&mut driver), "it is on its way");
    driver.arrive();
    assert!(!forget(&mut driver), "it is here");
    driver.handle(Event::FileChanged { file: FILE, blocks: 0 });
    assert!(forget(&mut driver));
    // Waited for where no page is free.
    driver.serve(1, 4, 0, 4);
    driver.serve(2, 3, 0, 1);
    assert!(!forget(&mut driver), "it is waited for");
    driver.arrive();
    driver.end();
}

#[test]
fn the_next_file_of_a_number_has_nothing_of_the_one_before() {
    let mut driver = Driver::simple("informed", 8, Trust::Full);
    driver.hint(1, 3, Want::All);
    driver.known(3, 2);
    driver.arrive();
    driver.read(1, 3, 0, 2);
    driver.handle(Event::FileChanged { file: FILE, blocks: 0 });
    assert!(forget(&mut driver));
    // Its name leads somewhere else: it is looked up anew, and is as long as that is.
    let asked = driver.hint(1, 3, Want::All);
    assert!(asked.contains(&Action::Order(Order::Lookup { file: FILE })), "{asked:?}");
    assert_eq!(fetched(&driver.known(3, 5)).len(), 5);
    driver.arrive();
    driver.end();
}
