//! Runs that share a supervisor: one decides whose page goes, each gets its own account, and
//! nothing stays behind.

mod support;

use std::fs;
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use support::{Place, Under, end};

/// A name that no other test uses.
fn name(place: &Place) -> String {
    place.work().display().to_string().replace('/', "-")
}

fn account(place: &Place, file: &str) -> Value {
    serde_json::from_slice(&fs::read(place.path(file)).unwrap()).unwrap()
}

fn programs(account: &Value) -> Vec<&str> {
    account["by_program"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn each_run_has_its_own_account_of_one_memory() {
    let place = Place::new();
    place.write_blocks("f", 512);
    place.write_blocks("g", 512);
    let name = name(&place);
    // The first begins, and ends last.
    let long = "cat f f | cksum > /dev/null; echo begun; until test -e over; do sleep 0.01; done; exit 3";
    let options = ["--join", &name, "--memory", "1MiB", "--policy", "lru-sp", "--json", "first"];
    let first = Under::way(place.run(&options, &["sh", "-c", long]));
    let options = ["--join", &name, "--json", "second", "--report"];
    let second = end(place.run(&options, &["head", "-c", "1000000", "g"]), b"").with(0);
    assert!(
        second.err().contains("reads of 976.6 KiB") || second.err().contains("reads of 1000 KiB"),
        "{}",
        second.err()
    );
    place.write("over", "");
    assert_eq!(first.finish().1, "status 3");
    let (first, second) = (account(&place, "first"), account(&place, "second"));
    assert_eq!(programs(&second), ["head"]);
    assert!(programs(&first).starts_with(&["sh"]) && programs(&first).contains(&"cat"), "{first:#}");
    assert_eq!((&first["status"], &second["status"]), (&3.into(), &0.into()));
    assert!(first["bytes"].as_u64().unwrap() >= 4 << 20, "{first:#}");
    assert_eq!(second["manager"]["misses"], 2 * 512 + 245, "they are of one manager");
    place.assert_nothing_left();
}

#[test]
fn one_that_is_killed_takes_nothing_with_it() {
    let place = Place::new();
    place.write_blocks("f", 64);
    let name = name(&place);
    let words = ["sh", "-c", "echo begun; until test -e over; do sleep 0.01; done; cat f > /dev/null"];
    let first = Under::way(place.run(&["--join", &name], &words));
    let second = Under::way(place.run(&["--join", &name, "--json", "second"], &words));
    support::process::kill(first.pid(), libc::SIGKILL);
    assert_eq!(first.wait(), "signal 9");
    place.write("over", "");
    assert_eq!(second.finish().1, "status 0");
    assert_eq!(account(&place, "second")["by_program"][0]["name"], "sh");
    place.assert_nothing_left();
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let place = Place::new();
    let name = name(&place);
    let refused = |options: &[&str], status| {
        let ended = end(place.run(&[&["--join", &name], options].concat(), &["echo", "ran"]), b"").with(status);
        assert_eq!(ended.out(), "");
        ended.err()
    };
    assert!(
        refused(&["--policy", "tip1"], 2)
            .contains("policy tip1 knows no programs to share memory between; lru-sp does")
    );
    assert!(refused(&["--compare", "2"], 2).contains("cannot be used with"));
    let words = ["sh", "-c", "echo begun; until test -e over; do sleep 0.01; done"];
    let first = Under::way(place.run(&["--join", &name, "--memory", "1MiB"], &words));
    assert!(
        refused(&["--policy", "lru-s"], 2)
            .contains("the runs share policy informed:keep=lru-sp,keep.silent=reuse, not lru-s")
    );
    assert!(refused(&["--memory", "2MiB"], 2).contains("the first of the runs has settled --memory; leave it out"));
    let absent = end(place.run(&["--join", &name], &["absent-program"]), b"").with(127).err();
    assert!(absent.contains("absent-program: No such file or directory"), "{absent}");
    place.write("over", "");
    assert_eq!(first.finish().1, "status 0");
    place.assert_nothing_left();
}

#[test]
fn one_that_says_its_wish_slowly_makes_nobody_wait() {
    let place = Place::new();
    let name = name(&place);
    let words = ["sh", "-c", "echo begun; until test -e over; do sleep 0.01; done"];
    let first = Under::way(place.run(&["--join", &name], &words));
    // SAFETY: takes nothing, cannot fail.
    let user = unsafe { libc::geteuid() };
    let address = SocketAddr::from_abstract_name(format!("foresee-{user}-{name}")).unwrap();
    let mut slow = UnixStream::connect_addr(&address).unwrap();
    let (ended, ends) = channel();
    let speaks = thread::spawn(move || {
        // A message of two minutes, unless the other run is served meanwhile.
        (0..1200).any(|_| slow.write_all(b" ").is_err() || ends.recv_timeout(Duration::from_millis(100)).is_ok())
    });
    assert_eq!(end(place.run(&["--join", &name], &["echo", "ran"]), b"").with(0).out(), "ran\n");
    assert!(ended.send(()).is_ok(), "it waited for one that was not heard out");
    assert!(speaks.join().unwrap());
    place.write("over", "");
    assert_eq!(first.finish().1, "status 0");
    place.assert_nothing_left();
}
