//! It comes, and goes, and says why not.

use std::fs;
use std::io::ErrorKind;

use crate::place::{Mounted, Place, can_mount, server};
use crate::process::{end, kill, wait_until};

#[test]
fn it_is_there_for_the_time_of_a_command_and_ends_as_that_does() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("a", "text");
    assert_eq!(place.shown("cat at/a; exit 7").with(7).out(), "text");
    assert!(!place.is_mounted());
    assert_eq!(place.shown("kill -9 $$").how, "signal 9");
    let none = end(place.mount(&["from", "at", "--", "/no/program"]), b"").with(127);
    assert_eq!(none.err(), "foresee: /no/program: No such file or directory (os error 2)\n");
    assert!(!place.is_mounted());
}

#[test]
fn what_keeps_it_from_being_mounted_is_said() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let server = server();
    let said = |words: &[&str]| {
        let mut command = place.mount(words);
        command.env("AWS_ENDPOINT_URL", server.url());
        end(command, b"").with(2).err()
    };
    fs::write(place.path("file"), "").unwrap();
    fs::create_dir_all(place.path("full/x")).unwrap();
    for (words, parts) in [
        (&["from", "none"][..], &["none: is not there"][..]),
        (&["from", "full"], &["full: is not empty"]),
        (&["from", "file"], &["file: Not a directory"]),
        (&["none", "at"], &["none: No such file"]),
        (&["file", "at"], &["file: Not a directory"]),
        (&["s3://absent/x", "at"], &["there is no bucket s3://absent"]),
        (&["s3://closed", "at"], &["no right to read or write s3://closed", "AWS_ACCESS_KEY_ID"]),
        (&["s3://elsewhere", "at"], &["in another region", "AWS_REGION"]),
        (&["s3://", "at"], &["names no bucket"]),
        (&["ftp://x", "at"], &["ftp"]),
        (&["--memory", "1M", "from", "at"], &["too little"]),
        (&["--disk", "/no/where:1GiB", "from", "at"], &["/no/where", "No such file"]),
        (&["--disk", "x", "from", "at"], &["PATH:SIZE"]),
        (&["--policy", "none", "from", "at"], &["none"]),
    ] {
        let error = said(words);
        assert!(parts.iter().all(|part| error.contains(part)), "{words:?}: {error}");
        let detached = said(&[&["--detach"], words].concat());
        assert!(parts.iter().all(|part| detached.contains(part)), "{words:?}: {detached}");
        assert!(!place.is_mounted());
    }
}

#[test]
fn signals_and_unmount_end_it() {
    if !can_mount() {
        return;
    }
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let place = Place::new();
        place.write("a", "text");
        let mut mounted = Mounted::directory(place, &[]);
        assert_eq!(fs::read(mounted.path("a")).unwrap(), b"text");
        kill(mounted.daemon.id() as i32, signal);
        assert!(mounted.daemon.wait().unwrap().success() && !mounted.place.is_mounted());
    }
    let place = Place::new();
    place.write("a", "text");
    assert_eq!(end(place.mount(&["--detach", "from", "at"]), b"").with(0).err(), "");
    assert_eq!(fs::read(place.path("at/a")).unwrap(), b"text");
    let open = fs::File::open(place.path("at/a")).unwrap();
    assert!(end(place.unmount(), b"").with(2).err().contains("has files of it open"));
    drop(open);
    wait_until("nobody uses it", || end(place.unmount(), b"").how == "status 0");
    assert!(!place.is_mounted());
    assert!(end(place.unmount(), b"").with(2).err().contains("nothing is mounted there"));
}

#[test]
fn what_a_killed_one_leaves_is_cleared() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("a", "text");
    let mut mounted = Mounted::directory(place, &[]);
    let _open = fs::File::open(mounted.path("a")).unwrap();
    mounted.daemon.kill().unwrap();
    mounted.daemon.wait().unwrap();
    assert_eq!(fs::read(mounted.path("a")).unwrap_err().kind(), ErrorKind::NotConnected);
    let again = end(mounted.place.mount(&["from", "at"]), b"").with(2);
    assert!(again.err().contains("'foresee unmount at'"), "{again:?}");
    end(mounted.place.unmount(), b"").with(0);
    assert!(!mounted.place.is_mounted());
}
