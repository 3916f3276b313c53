//! Directories that get another name.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::place::{Mounted, can_mount, server};
use crate::process::end;
use crate::writes::get;

/// All names below a directory, with what is in the files.
fn tree(at: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            all.extend(tree(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
            all.insert(name, None);
        } else {
            all.insert(name, Some(fs::read(path).unwrap()));
        }
    }
    all
}

#[test]
fn a_directory_gets_another_name_with_all_that_is_in_it() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/d/there", *b"there");
    server.put("/b/d/e/f/deep", *b"deep");
    let mounted = Mounted::bucket(&server, &[]);
    let path = |name| mounted.path(name);
    fs::create_dir_all(path("d/empty/too")).unwrap();
    fs::write(path("d/new"), "new").unwrap();
    assert_eq!(fs::read(path("d/there")).unwrap(), b"there");
    // What is being written goes with it.
    let mut open = File::create(path("d/e/open")).unwrap();
    open.write_all(b"op").unwrap();
    let before = tree(&path("d"));
    fs::create_dir(path("x")).unwrap();
    for (from, to) in [("d", "x"), ("x", "y"), ("y", "z/d")] {
        if to == "z/d" {
            fs::create_dir(path("z")).unwrap();
        }
        fs::rename(path(from), path(to)).unwrap();
        assert!(!path(from).exists());
        assert_eq!(tree(&path(to)), before, "{to}");
    }
    open.write_all(b"en").unwrap();
    drop(open);
    assert_eq!(get(&server, "z/d/e/open").unwrap(), b"open");
    assert_eq!(fs::read(path("z/d/e/open")).unwrap(), b"open");
    assert_eq!((get(&server, "z/d/e/f/deep").unwrap(), get(&server, "d/there")), (b"deep".to_vec(), None));
    // Who works in it stays there.
    let mut command = Command::new("sh");
    command.args(["-ec", "mv ../d ../g; cat there; cat ../g/new; echo more > more"]).current_dir(path("z/d"));
    assert_eq!(end(command, b"").with(0).out(), "therenew");
    assert_eq!(get(&server, "z/g/more").unwrap(), b"more\n");
}

/// Keys that no list shows stay where they are, and keep their directory.
#[test]
fn what_is_not_shown_is_left_where_it_is() {
    if !can_mount() {
        return;
    }
    let server = server();
    for name in ["d/sub/", "d/sub/x", "d/sub//hidden", "d/y"] {
        server.put(&format!("/b/{name}"), name.as_bytes());
    }
    let mounted = Mounted::bucket(&server, &[]);
    assert_eq!(tree(&mounted.path("d")).len(), 3);
    fs::rename(mounted.path("d"), mounted.path("e")).unwrap();
    let moved = tree(&mounted.path("e"));
    assert_eq!(moved.keys().collect::<Vec<_>>(), ["sub", "sub/x", "y"]);
    // What is removed there is removed there alone.
    let _ = fs::remove_dir_all(mounted.path("d"));
    assert_eq!(tree(&mounted.path("e")), moved);
    assert!(get(&server, "e/sub/x").is_some() && get(&server, "d/sub/x").is_none());
}

#[test]
fn what_cannot_be_where_it_would_go_is_not_moved() {
    if !can_mount() {
        return;
    }
    let server = server();
    let long = ["a", "b", "c", "d"].map(|it| it.repeat(250)).join("/");
    server.put(&format!("/b/d/{long}"), *b"x");
    server.put("/b/d/0", *b"x");
    let mounted = Mounted::bucket(&server, &[]);
    let to = mounted.path("e".repeat(100));
    assert_eq!(fs::rename(mounted.path("d"), &to).unwrap_err().raw_os_error(), Some(libc::ENAMETOOLONG));
    assert!(!to.exists() && mounted.path("d/0").exists());
}

/// Files are made in it all the while: each is there in the end.
#[test]
fn what_is_made_meanwhile_goes_with_it() {
    if !can_mount() {
        return;
    }
    let server = server();
    for number in 0..50 {
        server.put(&format!("/b/d/{number}"), *b"x");
    }
    let mounted = Mounted::bucket(&server, &[]);
    let directory = File::open(mounted.path("d")).unwrap();
    let made = std::thread::scope(|scope| {
        let maker = scope.spawn(|| {
            // By the directory, and not by its name.
            let at = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&directory));
            (0..60).filter(|number| fs::write(format!("{at}/new{number}"), "new").is_ok()).collect::<Vec<_>>()
        });
        fs::rename(mounted.path("d"), mounted.path("e")).unwrap();
        maker.join().unwrap()
    });
    assert!(!made.is_empty());
    for number in made {
        assert_eq!(fs::read(mounted.path(format!("e/new{number}"))).unwrap(), b"new", "{number}");
    }
}

/// What a store has begun to take it takes under that name.
#[test]
fn a_directory_keeps_its_name_while_a_long_file_in_it_is_written() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/d/short", *b"x");
    let mounted = Mounted::bucket(&server, &[]);
    let mut file = File::create(mounted.path("d/long")).unwrap();
    let all = vec![7; 40 << 20];
    file.write_all(&all).unwrap();
    let error = fs::rename(mounted.path("d"), mounted.path("e")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EBUSY));
    assert!(mounted.path("d/short").exists() && !mounted.path("e").exists());
    drop(file);
    fs::rename(mounted.path("d"), mounted.path("e")).unwrap();
    assert!(get(&server, "e/long").unwrap() == all && get(&server, "d/long").is_none());
}

#[test]
fn what_is_no_empty_directory_is_not_replaced_by_one() {
    if !can_mount() {
        return;
    }
    let server = server();
    for name in ["d/x", "e/y", "f"] {
        server.put(&format!("/b/{name}"), *b"x");
    }
    for number in 0..1001 {
        server.put(&format!("/b/many/{number}"), *b"x");
    }
    let mounted = Mounted::bucket(&server, &[]);
    let error = |from, to| fs::rename(mounted.path(from), mounted.path(to)).unwrap_err().raw_os_error();
    assert_eq!(error("d", "e"), Some(libc::ENOTEMPTY));
    assert_eq!(error("d", "f"), Some(libc::ENOTDIR));
    assert_eq!(error("f", "d"), Some(libc::EISDIR));
    assert_eq!(error("d", "d/e"), Some(libc::EINVAL));
    assert_eq!(error("many", "more"), Some(libc::EXDEV));
    assert!(!mounted.path("more").exists());
    let mut command = Command::new("mv");
    command.args(["many", "more"]).current_dir(&mounted.at);
    end(command, b"").with(0);
    assert_eq!(fs::read_dir(mounted.path("more")).unwrap().count(), 1001);
    fs::remove_file(mounted.path("more/7")).unwrap();
    fs::rename(mounted.path("more"), mounted.path("many")).unwrap();
    assert_eq!((tree(&mounted.path("many")).len(), get(&server, "more/8")), (1000, None));
}
