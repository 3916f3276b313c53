//! Programs that read the files of a directory, and what is told of them.

use super::*;
use proptest::prelude::*;

const WAITED: bool = true;

fn directory(names: &[String]) -> Vec<Listed> {
    let entry = |name| Listed { path: Path::new("/d").join(name), is_directory: false, is_file: true, inode: 0 };
    names.iter().map(entry).collect()
}

/// A reader of `/d`, and what it is told: names, in the order of telling, and how often all was
/// withdrawn.
#[derive(Default)]
struct Reader {
    listings: Listings,
    names: Vec<String>,
    asked: usize,
    told: Vec<String>,
    unordered: Vec<String>,
    withdrawn: usize,
}

impl Reader {
    fn of(names: &[&str]) -> Self {
        Reader { names: names.iter().map(|&name| name.to_owned()).collect(), ..Reader::default() }
    }

    /// As many files, listed from the last to the first.
    fn of_files(count: usize) -> Self {
        Reader { names: (0..count).rev().map(|number| format!("f{number:04}")).collect(), ..Reader::default() }
    }

    fn visit(&mut self, name: &str, waited: bool) {
        self.listings.visited(&Path::new("/d").join(name), waited);
        self.take_told();
    }

    fn take_told(&mut self) {
        while let Some(path) = self.listings.next_listing() {
            assert_eq!(path, Path::new("/d"));
            self.asked += 1;
            self.listings.listed(&path, Ok(directory(&self.names)));
        }
        while let Some(source) = self.listings.next_withdrawn() {
            assert_eq!(source, Source::Listing);
            self.withdrawn += 1;
            self.told.clear();
        }
        while let Some((source, path)) = self.listings.next_found() {
            let told = if source == Source::Listing { &mut self.told } else { &mut self.unordered };
            told.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }

    /// It is met at this file, whatever it read before.
    fn meet(&mut self, name: &str) {
        self.listings.met(&Path::new("/d").join(name));
        self.take_told();
    }

    fn visit_all(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.visit(name, WAITED));
    }
}

#[test]
fn three_neighbours_are_a_run_in_either_order() {
    let mut sorted = Reader::of_files(100);
    sorted.visit_all(&["f0010", "f0011"]);
    assert_eq!((sorted.asked, sorted.told.len()), (0, 0));
    sorted.visit("f0012", WAITED);
    assert_eq!(sorted.told, ["f0013", "f0014", "f0015", "f0016", "f0017", "f0018"]);
    let mut listed = Reader::of_files(100);
    listed.visit_all(&["f0012", "f0011", "f0010"]);
    assert_eq!(listed.told[..2], ["f0009", "f0008"]);
    // Each file read lets it tell of two more, and of the one that is read no longer.
    listed.visit("f0009", WAITED);
    assert_eq!((listed.told.len(), listed.asked, listed.withdrawn), (9, 1, 0));
}

#[test]
fn what_is_in_memory_is_left_alone() {
    let mut reader = Reader::of_files(100);
    for number in 0..50 {
        reader.visit(&format!("f{number:04}"), !WAITED);
    }
    assert_eq!((reader.asked, reader.told.len()), (0, 0));
}

#[test]
fn one_wait_may_be_for_a_processor() {
    let mut reader = Reader::of_files(100);
    for number in 0..50 {
        reader.visit(&format!("f{number:04}"), number % 3 == 0);
    }
    assert_eq!(reader.asked, 0);
    reader.visit("f0050", WAITED);
    assert_eq!((reader.asked, reader.told.len()), (1, 6));
}

#[test]
fn a_run_ends_with_its_order() {
    let mut reader = Reader::of_files(100);
    reader.visit_all(&["f0010", "f0011", "f0012", "f0050"]);
    assert_eq!((reader.withdrawn, reader.told.len()), (1, 0));
    reader.visit_all(&["f0051", "f0052", "f0053", "f0054"]);
    assert_eq!(reader.told.len(), 0, "the last run was hardly longer than this one is yet");
    reader.visit("f0055", WAITED);
    assert_eq!(reader.told[0], "f0056");
    // Before the run's beginning nothing was read.
    reader.visit("f0001", WAITED);
    assert_eq!((reader.withdrawn, reader.told.len()), (2, 0));
}

#[test]
fn threads_that_share_the_work_keep_the_order_roughly() {
    let mut reader = Reader::of_files(100);
    reader.visit_all(&[
        "f0000", "f0001", "f0002", "f0005", "f0003", "f0004", "f0009", "f0007", "f0008", "f0006", "f0006",
    ]);
    assert_eq!(reader.withdrawn, 0);
    assert_eq!(reader.told.last().unwrap(), "f0029", "ten were read: twenty beyond the last of them");
    reader.visit("f0019", WAITED);
    assert_eq!(reader.withdrawn, 1, "nine were passed over");
}

#[test]
fn other_kinds_of_files_are_passed_over() {
    let mut reader = Reader::of(&["a.c", "a.h", "b.c", "b.h", "c.c", "c.h", "d.c", "d.h", "e.c", "e.h"]);
    reader.visit_all(&["a.c", "b.c", "c.c"]);
    assert_eq!(reader.told, ["d.c", "e.c"]);
    // So it reads others too.
    reader.visit("a.h", WAITED);
    assert_eq!((reader.withdrawn, reader.told.len()), (1, 0));
    reader.visit_all(&["d.c", "e.c"]);
    assert_eq!(reader.told.len(), 0);
}

#[test]
fn a_second_pass_is_a_run_again() {
    let mut reader = Reader::of_files(5);
    let names = ["f0000", "f0001", "f0002", "f0003", "f0004"];
    reader.visit_all(&names);
    assert_eq!(reader.told, names[3..]);
    reader.visit_all(&names);
    assert_eq!(reader.told, [&names[3..], &names[3..]].concat());
    assert_eq!((reader.asked, reader.withdrawn), (1, 0));
}

/// Numbers below `count` in an order that looks like none, the same each time.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mixed = |number: u64, factor: u64| (number ^ number >> 31).wrapping_mul(factor);
    order.sort_by_key(|&number| mixed(mixed(number as u64 + 1, 0x9E37_79B9_7F4A_7C15), 0xBF58_476D_1CE4_E5B9));
    order
}

fn file(number: usize) -> String {
    format!("f{number:04}")
}

#[test]
fn what_is_read_in_no_order_says_that_all_is_read() {
    let mut reader = Reader::of_files(1000);
    for (at, &number) in shuffled(1000).iter().enumerate() {
        reader.visit(&file(number), WAITED);
        let told = reader.unordered.len();
        match at {
            0..32 => assert_eq!(told, 0),
            32..100 => assert!(told <= at * 2, "{told} of {at}"),
            300.. => assert!(told > 650, "the rest: {told} of {at}"),
            _ => {}
        }
    }
    let unique: std::collections::HashSet<_> = reader.unordered.iter().collect();
    assert_eq!((unique.len(), reader.asked), (reader.unordered.len(), 1), "each once");
}

#[test]
fn who_finds_all_in_memory_or_keeps_an_order_is_told_of_no_others() {
    let mut reader = Reader::of_files(1000);
    shuffled(1000).iter().for_each(|&number| reader.visit(&file(number), !WAITED));
    let mut reader_of_some = Reader::of_files(1000);
    (0..100).for_each(|number| reader_of_some.visit(&file(number * 10), WAITED));
    let mut backwards = Reader::of_files(1000);
    (0..100).rev().for_each(|number| backwards.visit(&file(number * 10), WAITED));
    assert_eq!([reader, reader_of_some, backwards].map(|it| it.unordered.len()), [0; 3]);
}

#[test]
fn only_files_of_the_kind_that_is_read_are_told_of() {
    let names: Vec<String> = (0..1000).map(|number| format!("{}.{}", file(number / 2), number % 2)).collect();
    let mut reader = Reader { names, ..Reader::default() };
    shuffled(500).iter().take(300).for_each(|&number| reader.visit(&format!("{}.1", file(number)), WAITED));
    assert!(reader.unordered.len() > 100 && reader.unordered.iter().all(|name| name.ends_with(".1")));
}

/// Reads of `/t/0/f0` and so on; files in `/t` that are told of, and how often all was withdrawn.
fn read_of_folders(listings: &mut Listings, folder: &str, number: usize) -> (usize, usize) {
    let path = Path::new(folder);
    listings.visited(&path.join(file(number)), WAITED);
    while let Some(path) = listings.next_listing() {
        let entries = (0..100).map(|number| Listed {
            path: path.join(file(number)),
            is_directory: false,
            is_file: true,
            inode: 0,
        });
        listings.listed(&path, Ok(entries.collect()));
    }
    let withdrawn = std::iter::from_fn(|| listings.next_withdrawn()).filter(|it| *it == Source::Unordered).count();
    let told = std::iter::from_fn(|| listings.next_found());
    (told.filter(|(source, path)| *source == Source::Unordered && path.starts_with("/t")).count(), withdrawn)
}

#[test]
fn folders_beside_each_other_are_read_as_one() {
    let mut listings = Listings::default();
    let mut read = |number: usize| read_of_folders(&mut listings, &format!("/t/{:02}", number % 50), number / 50);
    let told: usize = shuffled(5000).iter().take(2000).map(|&number| read(number).0).sum();
    assert!((3500..4500).contains(&told), "the rest of 5,000: {told}");
}

#[test]
fn what_is_read_from_no_more_is_withdrawn() {
    let mut listings = Listings::default();
    let order = shuffled(100);
    let told: usize = order.iter().take(60).map(|&number| read_of_folders(&mut listings, "/t/0", number).0).sum();
    assert!(told > 0);
    let mut read = |number: usize| read_of_folders(&mut listings, &format!("/u/{}", number % 10), number / 10).1;
    let withdrawn: Vec<usize> = (0..600).map(&mut read).collect();
    assert_eq!((withdrawn[..500].iter().sum::<usize>(), withdrawn[500..].iter().sum::<usize>()), (0, 1));
}

/// A reader of several directories of as many files, `/t/00/f0` and so on.
struct Walker {
    listings: Listings,
    files: usize,
    asked: usize,
}

impl Walker {
    fn of_files(files: usize) -> Self {
        Walker { listings: Listings::default(), files, asked: 0 }
    }

    /// Reads a file; returns how many are told of then, and that they are in this directory.
    fn visit(&mut self, folder: usize, file: usize) -> usize {
        let folder = PathBuf::from(format!("/t/{folder:02}"));
        self.listings.visited(&folder.join(format!("f{file}")), WAITED);
        while let Some(path) = self.listings.next_listing() {
            let names = (0..self.files).map(|file| path.join(format!("f{file}")));
            let entries = names.map(|path| Listed { path, is_directory: false, is_file: true, inode: 0 });
            self.asked += 1;
            self.listings.listed(&path, Ok(entries.collect()));
        }
        let told = std::iter::from_fn(|| self.listings.next_found());
        told.inspect(|(_, path)| assert!(path.starts_with(&folder))).count()
    }
}

#[test]
fn a_walk_goes_on_in_the_next_directory() {
    let mut walker = Walker::of_files(9);
    let of_first: Vec<usize> = (0..9).map(|file| walker.visit(0, file)).collect();
    assert_eq!(of_first, [0, 0, 6, 0, 0, 0, 0, 0, 0], "the rest, once three were read");
    for folder in 1..20 {
        assert_eq!((0..9).map(|file| walker.visit(folder, file)).sum::<usize>(), 8, "all but the first");
    }
    // Not the first file: nothing is known, nor of the directories after it.
    assert_eq!((walker.visit(30, 4), walker.visit(31, 0), walker.asked), (0, 0, 21));
}

#[test]
fn some_files_of_each_directory_are_the_habit_soon() {
    let mut walker = Walker::of_files(100);
    assert_eq!((0..5).map(|file| walker.visit(0, file)).sum::<usize>(), 6 + 2 * 3);
    for folder in 1..20 {
        assert_eq!((0..5).map(|file| walker.visit(folder, file)).sum::<usize>(), 2);
    }
    assert_eq!((walker.visit(19, 5), walker.visit(19, 6)), (0, 0));
    assert_eq!(walker.visit(19, 7), 2 * 8, "so much further than the last one");
}

#[test]
fn runs_side_by_side() {
    let mut walker = Walker::of_files(100);
    let told: usize = (0..100).map(|file| walker.visit(0, file) + walker.visit(1, file)).sum();
    // As the second began, the first one seemed to be over after three files: the second looks further
    // once it has read six.
    assert_eq!(told, 97 + 94);
}

#[test]
fn what_cannot_be_listed_is_asked_for_once() {
    let mut listings = Listings::default();
    for number in 0..100 {
        listings.visited(Path::new(&format!("/d/f{number:03}")), WAITED);
        if let Some(path) = listings.next_listing() {
            assert_eq!(number, 2);
            listings.listed(&path, Err(io::ErrorKind::FileTooLarge.into()));
        }
        assert_eq!(listings.next_found(), None);
    }
}

#[test]
fn few_directories_are_watched_at_one_time() {
    let mut listings = Listings::default();
    for number in 0..10 * DIRECTORIES_MAX {
        listings.visited(Path::new(&format!("/{number}/f")), WAITED);
    }
    assert_eq!(listings.directories.len(), DIRECTORIES_MAX);
    let last = format!("/{}", 10 * DIRECTORIES_MAX - 1);
    assert!(listings.directories.contains_key(Path::new(&last)) && !listings.directories.contains_key(Path::new("/0")));
}

proptest! {
    /// Whoever reads all in one of the orders is told of each file after the third, once, and before it comes to it; of no
    /// more than twice what it has read.
    #[test]
    fn a_run_tells_of_all_that_comes(
        names in prop::collection::hash_set("[a-d]{1,3}[.]?[ab]?", 4..60), sorts in any::<bool>(), from in 0..3_usize,
    ) {
        let mut order: Vec<String> = names.into_iter().collect();
        let mut listed = order.clone();
        if sorts {
            order.sort();
            // In no part the same order.
            listed = order.iter().rev().cloned().collect();
        }
        let mut reader = Reader { names: listed, ..Reader::default() };
        for (at, name) in order.iter().enumerate().skip(from) {
            let read = at + 1 - from;
            let expected = if read > NEIGHBOURS_MIN { 1 } else { 0 };
            prop_assert_eq!(reader.told.iter().filter(|it| *it == name).count(), expected);
            reader.visit(name, WAITED);
            prop_assert!(reader.told.len() <= read.saturating_sub(NEIGHBOURS_MIN) + 2 * read);
        }
        prop_assert_eq!(reader.withdrawn, 0);
    }

    /// Whoever reads so much of a directory and stops was told of little more than that.
    #[test]
    fn who_stops_was_told_of_little(files in 100..1000_usize, part in 0.0..0.2_f64) {
        let mut reader = Reader::of_files(files);
        let read = (files as f64 * part) as usize;
        shuffled(files).iter().take(read).for_each(|&number| reader.visit(&file(number), WAITED));
        prop_assert!(reader.unordered.len() <= read + 8 * read * read / files);
    }

    /// Whatever is read: what is told and not withdrawn lies ahead of a run, which earned it.
    #[test]
    fn no_order_tells_little(visits in prop::collection::vec(0..500_usize, 1..200)) {
        let mut reader = Reader::of_files(500);
        for (at, number) in visits.iter().enumerate() {
            reader.visit(&format!("f{number:04}"), WAITED);
            prop_assert!(reader.told.len() <= 3 * (at + 1));
        }
        let runs = |by: i64| {
            let numbers: Vec<i64> = visits.iter().map(|&it| it as i64).collect();
            numbers.windows(3).filter(|it| it[0] + by == it[1] && it[1] + by == it[2]).count()
        };
        prop_assert!(runs(1) + runs(-1) > 0 || reader.told.is_empty() && reader.withdrawn == 0);
    }
}

#[test]
fn a_reader_who_is_met_now_and_then_passes_nothing_over() {
    let mut reader = Reader::of_files(1000);
    for file in [10, 14, 30, 60, 130, 190] {
        reader.meet(&format!("f{file:04}"));
    }
    assert_eq!(reader.withdrawn, 0);
    assert!(reader.told.len() > 100, "{}", reader.told.len());
    reader.visit("f0250", WAITED);
    assert_eq!(reader.withdrawn, 1, "who is seen to read each file has passed these over");
}
