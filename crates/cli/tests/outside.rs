//! Programs that do not tell of themselves, or not of all that they read: what is seen of them from
//! outside, and what comes of it.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{Device, Ended, Place, end, have, in_time};

const READER: &str = include_str!("support/reader.c");
const FILES: u64 = 200;
const BLOCKS_A_FILE: u64 = 2;
const BIG_PAGES: u64 = 4096;

/// A slow device with as many small files in `d`, as many in ten folders of `t`, a `big` one, and
/// beside it the reader, linked so; None where there is no such device or linking.
fn device(options: &[&str]) -> Option<Device> {
    if !have("gcc") {
        return None;
    }
    let files = |place: &Place| {
        for file in 0..FILES {
            place.write(format!("d/f{file:03}"), vec![file as u8; 6000]);
            place.write(format!("t/{}/f{file:03}", file % 10), vec![file as u8; 6000]);
        }
        place.write_blocks("big", BIG_PAGES as usize);
    };
    let device = Device::new(files, "cp -r d t big $SLOWDISK_MOUNT; chmod -R a+rX $SLOWDISK_MOUNT")?;
    let place = &device.place;
    place.write("reader.c", READER);
    let gcc = end(place.plain(&[&["gcc", "-O1", "-o", "reader", "reader.c"], options].concat()), b"");
    if gcc.how != "status 0" {
        eprintln!("skipped: gcc {options:?}: {gcc:?}");
        return None;
    }
    device.tell("network latency=2ms jitter=0% servers=0");
    Some(device)
}

/// The reader's words; it lies beside the slow device, and is in memory.
fn words(device: &Device, how: &str, names: &[&str]) -> Vec<String> {
    let reader = device.place.path("reader").display().to_string();
    device.words(&[&reader, how], names)
}

/// What it printed, and how often it waited.
fn result(ended: Ended) -> (String, u64) {
    let ended = ended.with(0);
    (ended.out(), ended.err().trim().lines().last().unwrap().parse().unwrap())
}

/// Whether this reads quicker: how often it waits plainly, in a first run and in a second, and the
/// second run's account.
#[track_caller]
fn compare(device: &Device, options: &[&str], words: &[String]) -> ([u64; 3], Value) {
    let (printed, plain) = result(device.plain(words));
    let (first, _) = device.foreseen(options, words);
    let (second, account) = device.foreseen(options, words);
    let (first, second) = (result(first), result(second));
    assert_eq!([&first.0, &second.0], [&printed; 2]);
    ([plain, first.1, second.1], account)
}

#[test]
fn the_files_of_a_directory_are_read_ahead_for_a_static_program() {
    in_time(|| {
        let Some(device) = device(&["-static"]) else { return };
        let ([plain, first, second], account) = compare(&device, &["--no-words"], &words(&device, "walk", &["d"]));
        assert!(first < plain / 3 && second < plain / 3, "waited {plain}, {first}, {second} times; {account:#}");
        let by_source = &account["prefetched"]["by_source"];
        assert!(by_source["profile"]["fetched"].as_u64().unwrap() > FILES, "{account:#}");
        let reads = account["by_program"][0]["reads"].as_u64().unwrap();
        assert!((FILES * 3 / 4..=FILES).contains(&reads), "each is seen once, but for the first ones: {account:#}");
        let wasted = by_source["profile"]["wasted"].as_u64().unwrap();
        assert!(wasted <= (FILES - reads) * BLOCKS_A_FILE, "only what was read unseen counts as wasted: {account:#}");
    });
}

/// Its reads are counted once, though the library is loaded into it.
#[test]
fn a_dynamic_program_past_libc_is_seen_as_a_static_one() {
    in_time(|| {
        let Some(device) = device(&["-DGO"]) else { return };
        let ([plain, first, second], account) = compare(&device, &["--no-words"], &words(&device, "walk", &["d"]));
        assert!(first < plain / 3 && second < plain / 3, "waited {plain}, {first}, {second} times; {account:#}");
        let unseen = &account["unseen"][0];
        assert_eq!((&unseen["name"], &unseen["from_outside"]), (&"reader".into(), &true.into()), "{account:#}");
        let [program] = account["by_program"].as_array().unwrap().as_slice() else { panic!("{account:#}") };
        let reads = program["reads"].as_u64().unwrap();
        assert!((FILES * 3 / 4..=FILES).contains(&reads), "each is seen once, but for the first ones: {account:#}");
    });
}

/// What it has mapped is known only to who looks at it.
#[test]
fn a_child_of_a_program_past_libc_is_seen() {
    in_time(|| {
        let Some(device) = device(&["-DGO"]) else { return };
        let (_, account) = compare(&device, &["--no-words"], &words(&device, "child-map", &["big"]));
        the_big_file_was_ahead(&account);
    });
}

#[test]
fn a_program_whose_environment_is_without_the_library_is_seen() {
    in_time(|| {
        let Some(device) = device(&[]) else { return };
        let reader = words(&device, "walk", &["d"]);
        let bare = [vec!["env".to_owned(), "-i".to_owned()], reader].concat();
        let ([plain, first, second], account) = compare(&device, &["--no-words"], &bare);
        assert!(first < plain / 3 && second < plain / 3, "waited {plain}, {first}, {second} times; {account:#}");
        let unseen = &account["unseen"][0];
        assert_eq!((&unseen["name"], &unseen["from_outside"]), (&"reader".into(), &true.into()), "{account:#}");
    });
}

#[test]
fn a_walk_over_directories_is_followed() {
    in_time(|| {
        let Some(device) = device(&["-static"]) else { return };
        let ([plain, first, second], account) = compare(&device, &["--no-words"], &words(&device, "walk", &["t"]));
        assert!(first < plain * 2 / 3 && second < plain / 3, "waited {plain}, {first}, {second} times; {account:#}");
    });
}

#[test]
fn programs_that_end_at_once_are_seen_where_they_read() {
    in_time(|| {
        let Some(device) = device(&["-static"]) else { return };
        let reader = device.place.path("reader").display().to_string();
        let script = format!("for f in {}/d/*; do {reader} walk $f 2>&1; done", device.mount.display());
        let (ended, account) = device.foreseen(&["--no-words", "--no-learn"], &["sh".into(), "-c".into(), script]);
        ended.with(0);
        let listing = &account["prefetched"]["by_source"]["listing"];
        assert!(listing["fetched"].as_u64().unwrap() > FILES / 2, "{account:#}");
        assert!(listing["wasted"].as_u64().unwrap() < FILES / 4, "{account:#}");
    });
}

#[test]
fn who_has_no_rights_is_told_what_is_read_but_not_by_whom() {
    in_time(|| {
        let Some(device) = device(&["-static"]) else { return };
        if !have("setpriv") {
            return;
        }
        let cache = device.place.path("nobodys");
        std::fs::create_dir(&cache).unwrap();
        std::os::unix::fs::chown(&cache, Some(65534), Some(65534)).unwrap();
        let binary = support::binary();
        let is_reachable = |path: &Path| end(device.place.plain(&nobody(&["test", "-r", path.to_str().unwrap()])), b"");
        if is_reachable(binary).how != "status 0" || is_reachable(&device.place.path("reader")).how != "status 0" {
            return eprintln!("skipped: nobody may not read {}", binary.display());
        }
        let account = cache.join("account");
        let options = ["run", "-q", "--no-words", "--json", account.to_str().unwrap(), "--"];
        let foresee = [&[binary.to_str().unwrap()], &options[..]].concat();
        let reader = words(&device, "walk", &["d"]);
        let foreseen = nobody(&[&foresee[..], &reader.iter().map(String::as_str).collect::<Vec<_>>()].concat());
        let (printed, plain) = result(device.plain(&reader));
        for _ in 0..2 {
            device.make_cold();
            let mut command = device.place.plain(&foreseen);
            command.env("XDG_CACHE_HOME", &cache);
            let (printed_foreseen, waits) = result(end(command, b""));
            assert_eq!(printed, printed_foreseen);
            assert!(waits < plain / 3, "waited {plain}, {waits} times");
        }
    });
}

/// These words run by somebody without rights.
fn nobody(words: &[&str]) -> Vec<String> {
    let words = [&["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"], words].concat();
    words.into_iter().map(str::to_owned).collect()
}

/// That a profile brought most of the big file before it was read. How often its reader waits all
/// the same depends on how busy the machine is.
#[track_caller]
fn the_big_file_was_ahead(account: &Value) {
    assert!(account["prefetched"]["by_source"]["profile"]["fetched"].as_u64().unwrap() > BIG_PAGES / 2, "{account:#}");
    assert!(account["by_program"][0]["missed_blocks"].as_u64().unwrap() < BIG_PAGES / 4, "{account:#}");
}

#[test]
fn a_large_file_is_read_ahead_by_where_a_static_program_stands_in_it() {
    in_time(|| {
        let Some(device) = device(&["-static"]) else { return };
        let ([plain, first, second], account) = compare(&device, &["--no-words"], &words(&device, "walk", &["big"]));
        assert!(first < plain && second < plain, "waited {plain}, {first}, {second} times; {account:#}");
        the_big_file_was_ahead(&account);
    });
}

#[test]
fn what_a_static_program_has_mapped_is_seen() {
    in_time(|| {
        let Some(device) = device(&["-static"]) else { return };
        let ([plain, first, second], account) = compare(&device, &["--no-words"], &words(&device, "map", &["big"]));
        assert!(first < plain && second < plain, "waited {plain}, {first}, {second} times; {account:#}");
        the_big_file_was_ahead(&account);
    });
}

#[test]
fn what_is_read_past_the_cache_is_not_brought_into_it() {
    in_time(|| {
        let Some(device) = device(&[]) else { return };
        for options in [&[][..], &["-static"]] {
            let link = [&["gcc", "-O1", "-o", "reader", "reader.c"], options].concat();
            end(device.place.plain(&link), b"").with(0);
            let words = words(&device, "direct", &["big"]);
            let plain = device.plain(&words);
            if plain.how == "status 77" {
                return eprintln!("skipped: no O_DIRECT here");
            }
            for _ in 0..2 {
                let (ended, account) = device.foreseen(&[], &words);
                assert_eq!(result(ended).0, result(device.plain(&words)).0);
                let sources = account["prefetched"]["by_source"].as_object().unwrap();
                let of = |outcome: &str| sources.values().map(|it| it[outcome].as_u64().unwrap()).sum::<u64>();
                assert!(of("fetched") < BIG_PAGES / 8, "{options:?}: {account:#}");
                assert!(of("timely") + of("late") < BIG_PAGES / 8, "{options:?}: {account:#}");
            }
        }
    });
}

#[test]
fn what_was_not_seen_to_be_read_is_said_to_have_been() {
    let Some(device) = device(&[]) else { return };
    // So slow that it is not over before anybody looks.
    device.tell("network latency=5ms jitter=0% servers=0");
    let is_told = |ended: &Ended| ended.err().contains("in ways that foresee does not see");
    for (how, is_expected) in [("uring", true), ("aio", true), ("walk", false)] {
        let (ended, account) = device.foreseen(&["--report", "--no-learn"], &words(&device, how, &["big"]));
        if ended.how == "status 77" {
            eprintln!("skipped: no {how} here");
            continue;
        }
        assert_eq!(is_told(&ended), is_expected, "{how}: {ended:?} {account:#}");
        let unseen = account["unseen_bytes"].as_u64().unwrap();
        assert_eq!(unseen > BIG_PAGES * 4096 / 2, is_expected, "{how}: {account:#}");
    }
}

#[test]
fn a_recording_says_what_it_lacks() {
    let place = Place::new();
    place.write_blocks("big", 16);
    place.write("reader.c", READER);
    // Of one past libc it has what goes through libc.
    for (options, is_lacking) in [(&["-static"][..], true), (&[], false), (&["-DGO"], false)] {
        let link = [&["gcc", "-O1", "-o", "reader", "reader.c"], options].concat();
        if !have("gcc") || end(place.plain(&link), b"").how != "status 0" {
            eprintln!("skipped: no gcc {options:?} here");
            continue;
        }
        let words = ["record", "-o", "trace", "--", "./reader", "walk", "big"];
        let said = end(place.foresee(&words), b"").with(0).err();
        let lacking = "the trace lacks what these read, which foresee's library does not see: reader (static); --pid";
        assert_eq!(said.contains(lacking), is_lacking, "{said}");
        assert_eq!(said.contains("the trace lacks"), is_lacking, "{said}");
    }
}

#[test]
fn what_is_read_by_io_uring_is_seen_from_outside() {
    in_time(|| {
        let Some(device) = device(&[]) else { return };
        // So slow that the reader is no quicker than an unoptimised supervisor on a quick machine.
        device.tell("network latency=5ms jitter=0% servers=0");
        let words = words(&device, "uring", &["big"]);
        let plain = device.plain(&words);
        if plain.how == "status 77" {
            return eprintln!("skipped: no io_uring here");
        }
        let printed = result(plain).0;
        for run in ["first", "second"] {
            let (ended, account) = device.foreseen(&["--no-words"], &words);
            assert_eq!(result(ended).0, printed);
            let unseen =
                serde_json::json!([{ "name": "reader", "why": "io_uring", "executions": 1, "from_outside": true }]);
            // In the second run it may be over before it is looked at.
            assert!(run == "second" || account["unseen"] == unseen, "{account:#}");
            let outcomes = &account["prefetched"]["guessed"];
            assert!(run == "first" || outcomes["fetched"].as_u64().unwrap() > BIG_PAGES * 3 / 4, "{account:#}");
            assert_eq!(outcomes["wasted"], 0, "{account:#}");
        }
    });
}
