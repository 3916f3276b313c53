//! A server that misbehaves: never a wrong byte, every error at its own reader, and all of it comes
//! to an end.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::bytes::bytes;
use crate::place::{Mounted, Place, can_mount, server};
use crate::process::{end, heed_signals, kill, wait_until};
use crate::random::Random;
use foresee_object_server::{Faults, Server, Versions};

const SIZE: u64 = 1_500_000;

/// Whether this is the whole of one of these generations.
fn is_whole(name: &str, found: &[u8], generations: u64) -> bool {
    (1..=generations).any(|generation| found == bytes(name, generation, found.len() as u64))
}

#[test]
fn readers_of_what_fails_and_is_replaced_get_one_version_or_an_error() {
    if !can_mount() {
        return;
    }
    for versions in [Versions::Tags, Versions::IgnoredTags] {
        let faults = Faults { seed: 5, busy: 50, cut: 60, short: 60, late_us_max: 2000, ..Faults::default() };
        let server = Server::new(versions, faults);
        server.list_by(1000);
        let names = ["a", "b", "c"];
        names.iter().for_each(|name| server.put(&format!("/b/d/{name}"), bytes(name, 1, SIZE)));
        let mounted = Mounted::bucket(&server, &["--metadata-ttl", "0", "--memory", "8M"]);
        const GENERATIONS: u64 = 6;
        thread::scope(|scope| {
            let readers: Vec<_> = (0..4)
                .map(|reader| {
                    let (mounted, mut random) = (&mounted, Random(reader));
                    scope.spawn(move || {
                        let (mut whole, mut stale) = (0, 0);
                        for _ in 0..25 {
                            let name = names[random.below(3) as usize];
                            match fs::read(mounted.path("d").join(name)) {
                                Ok(found) => {
                                    assert!(is_whole(name, &found, GENERATIONS), "a mix, or a wrong byte");
                                    assert_eq!(found.len() as u64, SIZE);
                                    whole += 1;
                                }
                                Err(error) => {
                                    assert_eq!(error.raw_os_error(), Some(libc::ESTALE), "{error}");
                                    stale += 1;
                                }
                            }
                        }
                        (whole, stale)
                    })
                })
                .collect();
            for generation in 2..=GENERATIONS {
                thread::sleep(Duration::from_millis(50));
                names.iter().for_each(|name| server.put(&format!("/b/d/{name}"), bytes(name, generation, SIZE)));
            }
            let counts: Vec<(u32, u32)> = readers.into_iter().map(|it| it.join().unwrap()).collect();
            assert!(counts.iter().all(|(whole, _)| *whole > 0), "{counts:?}");
        });
    }
}

#[test]
fn a_server_that_is_away_stalls_who_needs_it_and_nobody_else() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/here", bytes("here", 1, SIZE));
    server.put("/b/there", bytes("there", 1, SIZE));
    let mounted = Mounted::bucket(&server, &[]);
    assert!(fs::read(mounted.path("here")).unwrap() == bytes("here", 1, SIZE));
    let there = File::open(mounted.path("there")).unwrap();
    server.go_away(true);
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..16)
            .map(|at| {
                let there = &there;
                scope.spawn(move || {
                    let mut found = vec![0; 1000];
                    there.read_exact_at(&mut found, at * 90_000).map(|()| found)
                })
            })
            .collect();
        let before = server.asked().len();
        // What is here is read, what is known is told, while they wait.
        assert!(fs::read(mounted.path("here")).unwrap() == bytes("here", 1, SIZE));
        assert_eq!(fs::metadata(mounted.path("there")).unwrap().len(), SIZE);
        assert_eq!(server.asked().len(), before);
        assert!(waiting.iter().all(|it| !it.is_finished()));
        server.go_away(false);
        for (at, found) in waiting.into_iter().enumerate() {
            let found = found.join().unwrap().unwrap();
            assert!(found == bytes("there", 1, SIZE)[at * 90_000..at * 90_000 + 1000]);
        }
    });
}

#[test]
fn a_server_that_is_away_beyond_the_deadline_is_an_error_of_who_needs_it() {
    if !can_mount() {
        return;
    }
    let server = server();
    ["here", "there"].iter().for_each(|name| server.put(&format!("/b/{name}"), bytes(name, 1, SIZE)));
    let mounted = Mounted::bucket(&server, &["--deadline", "2"]);
    assert!(fs::read(mounted.path("here")).unwrap() == bytes("here", 1, SIZE));
    let there = File::open(mounted.path("there")).unwrap();
    let read = |at: usize| {
        let mut found = vec![0; 1000];
        there.read_exact_at(&mut found, at as u64).map(|()| found)
    };
    server.go_away(true);
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..16).map(|at| scope.spawn(move || read(at * 90_000))).collect();
        while waiting.iter().any(|it| !it.is_finished()) {
            assert!(fs::read(mounted.path("here")).unwrap() == bytes("here", 1, SIZE));
            thread::sleep(Duration::from_millis(10));
        }
        for it in waiting {
            assert_eq!(it.join().unwrap().unwrap_err().raw_os_error(), Some(libc::EIO));
        }
    });
    let new = File::create(mounted.path("new")).unwrap();
    new.write_all_at(b"new", 0).unwrap();
    assert_eq!(new.sync_all().unwrap_err().raw_os_error(), Some(libc::EIO));
    drop(new);
    server.go_away(false);
    // Who asks at once is not believed to have another answer.
    thread::sleep(Duration::from_millis(300));
    assert!(read(90_000).unwrap() == bytes("there", 1, SIZE)[90_000..91_000]);
    assert!(fs::read(mounted.path("there")).unwrap() == bytes("there", 1, SIZE));
    fs::write(mounted.path("new"), "new").unwrap();
    assert!(server.get("/b/new").is_some());
}

#[test]
fn who_waits_for_a_server_that_is_away_can_be_ended() {
    if !can_mount() {
        return;
    }
    let server = server();
    ["/b/file", "/b/d/other"].iter().for_each(|name| server.put(name, bytes(name, 1, SIZE)));
    let mounted = Mounted::bucket(&server, &["--deadline", "1000"]);
    assert!(fs::metadata(mounted.path("file")).is_ok());
    server.go_away(true);
    // A look-up, a listing, a read; and a program that catches the signal.
    for (signal, words) in [
        (libc::SIGKILL, &["ls", "d/unknown"][..]),
        (libc::SIGINT, &["ls", "d"]),
        (libc::SIGKILL, &["cat", "file"]),
        (libc::SIGTERM, &["sh", "-c", "trap 'exit 9' TERM; while :; do test -e d/unknown; done"]),
    ] {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(&mounted.at).stdout(Stdio::null()).stderr(Stdio::null());
        heed_signals(&mut command);
        let mut child = command.spawn().unwrap();
        thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "{words:?} does not wait");
        kill(child.id() as i32, signal);
        wait_until("its end, long before the deadline", || child.try_wait().unwrap().is_some());
        let status = child.wait().unwrap();
        let caught = if words[0] == "sh" { Some(9) } else { None };
        assert_eq!((status.code(), status.signal().is_some()), (caught, caught.is_none()), "{words:?}: {status}");
    }
    server.go_away(false);
    assert!(fs::read(mounted.path("file")).unwrap() == bytes("/b/file", 1, SIZE));
    assert_eq!(fs::read_dir(mounted.path("d")).unwrap().count(), 1);
}

#[test]
fn an_error_is_its_readers_alone() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/a", bytes("a", 1, SIZE));
    server.put("/b/gone", bytes("gone", 1, SIZE));
    let mounted = Mounted::bucket(&server, &[]);
    assert!(fs::metadata(mounted.path("gone")).is_ok());
    server.remove("/b/gone");
    assert_eq!(fs::read(mounted.path("gone")).unwrap_err().raw_os_error(), Some(libc::ESTALE));
    let again = fs::read(mounted.path("gone")).unwrap_err().raw_os_error();
    assert!(matches!(again, Some(libc::ESTALE | libc::ENOENT)), "{again:?}");
    assert!(fs::read(mounted.path("a")).unwrap() == bytes("a", 1, SIZE));
}

/// A single reader of what is replaced looks again. One of a store whose versions never last would find
/// no cause.
#[test]
fn a_store_that_never_sends_what_was_opened_is_told_of() {
    if !can_mount() {
        return;
    }
    let server = server();
    let put = |generation| server.put("/b/f", bytes("f", generation, 1000));
    put(0);
    let place = Place::new();
    let mut mount = place.mount(&["--metadata-ttl", "0", "--log", "log", "--detach", "s3://b", "at"]);
    mount.env("AWS_ENDPOINT_URL", server.url());
    end(mount, b"").with(0);
    let read_replaced = |generation| {
        let file = File::open(place.path("at/f")).unwrap();
        put(generation);
        file.read_at(&mut [0; 10], 0).unwrap_err().raw_os_error()
    };
    let log = || fs::read_to_string(place.path("log")).unwrap_or_default();
    // The kernel may ask more than once for what one reader reads.
    for (generation, is_told) in [(1..4, false), (4..20, true)] {
        generation.for_each(|it| assert_eq!(read_replaced(it), Some(libc::ESTALE)));
        assert_eq!(log().contains("another version"), is_told, "{}", log());
    }
    assert_eq!(log().matches("16 reads in a row found another version").count(), 1, "{}", log());
    assert!(fs::read(place.path("at/f")).is_ok());
    wait_until("nobody uses it", || end(place.unmount(), b"").how == "status 0");
}
