//! Objects as files in directories: which names there are, by how many requests, and for how long
//! that holds.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::bytes::bytes;
use crate::place::{Mounted, can_mount, server};
use foresee_object_server::{Faults, Server, Versions};

fn names(path: &Path) -> BTreeSet<String> {
    fs::read_dir(path).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&it| it.to_owned()).collect()
}

/// Requests so far, by their first words.
fn asked(server: &Server, begin: &str) -> usize {
    server.asked().iter().filter(|line| line.starts_with(begin)).count()
}

#[test]
fn what_lies_between_slashes_is_a_directory() {
    if !can_mount() {
        return;
    }
    let server = server();
    let odd = ["a b", "x%20", "\u{e9}\u{4e2d}", "a&b", "<q>", "quote'\"", "plus+", "tilde~", "#", "?"];
    for name in odd {
        server.put(&format!("/b/odd/{name}"), name.as_bytes());
    }
    for key in ["d/e/f", "d/e-f", "both", "both/in", "made/", "made/x"] {
        server.put(&format!("/b/{key}"), key.as_bytes());
    }
    let mounted = Mounted::bucket(&server, &[]);
    assert_eq!(names(&mounted.at), set(&["both", "d", "made", "odd"]));
    assert_eq!(names(&mounted.path("d")), set(&["e", "e-f"]));
    assert_eq!(names(&mounted.path("odd")), set(&odd));
    for name in odd {
        assert_eq!(fs::read_to_string(mounted.path("odd").join(name)).unwrap(), name);
    }
    assert_eq!(fs::read_to_string(mounted.path("d/e/f")).unwrap(), "d/e/f");
    // A name that is both leads to what has no other way.
    assert_eq!(fs::read_to_string(mounted.path("both/in")).unwrap(), "both/in");
    assert_eq!(names(&mounted.path("made")), set(&["x"]));
    for name in ["none", "d/none", "none/x", "odd/a"] {
        assert_eq!(fs::metadata(mounted.path(name)).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
    }
}

#[test]
fn a_directory_is_listed_by_its_pages_and_nothing_of_it_is_asked_for_again() {
    if !can_mount() {
        return;
    }
    let server = server();
    (0..4500).for_each(|at| server.put(&format!("/b/d/{at:05}"), vec![b'x'; at % 7]));
    let mounted = Mounted::bucket(&server, &[]);
    let before = server.asked().len();
    let listed: Vec<_> = fs::read_dir(mounted.path("d")).unwrap().map(|it| it.unwrap()).collect();
    assert_eq!(listed.len(), 4500);
    for entry in listed {
        let at: usize = entry.file_name().to_str().unwrap().parse().unwrap();
        assert_eq!(entry.metadata().unwrap().len() as usize, at % 7);
    }
    assert_eq!(fs::metadata(mounted.path("d/none")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(server.asked().len() - before, 5, "{:?}", &server.asked()[before..]);
    assert_eq!(fs::read(mounted.path("d/00013")).unwrap(), b"xxxxxx");
    assert_eq!((asked(&server, "HEAD"), asked(&server, "GET /b/d")), (0, 1));
}

#[test]
fn a_name_in_a_long_directory_is_found_without_all_others() {
    if !can_mount() {
        return;
    }
    let server = server();
    (0..4500).for_each(|at| server.put(&format!("/b/d/{at:05}"), *b"x"));
    server.put("/b/d/zz/in", *b"y");
    (0..2000).for_each(|at| server.put(&format!("/b/d/zz-{at:05}"), *b"z"));
    let mounted = Mounted::bucket(&server, &[]);
    let before = server.asked().len();
    assert_eq!(fs::read(mounted.path("d/04321")).unwrap(), b"x");
    assert_eq!(fs::metadata(mounted.path("d/none")).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(fs::read(mounted.path("d/zz/in")).unwrap(), b"y");
    // The first page, the name, its bytes; no name; a page of names before its slash, what is below it,
    // its page, its bytes.
    assert!(server.asked().len() - before <= 8, "{:?}", &server.asked()[before..]);
}

#[test]
fn who_walks_a_tree_has_each_directory_and_each_file_asked_for_once() {
    if !can_mount() {
        return;
    }
    let server = server();
    for at in 0..200 {
        server.put(&format!("/b/d{:02}/e{}/f{at}", at % 20, at % 3), bytes("f", at, 3000));
    }
    let mounted = Mounted::bucket(&server, &[]);
    fn walk(path: &Path, found: &mut Vec<Vec<u8>>) {
        for entry in fs::read_dir(path).unwrap().map(|it| it.unwrap()) {
            match entry.file_type().unwrap().is_dir() {
                true => walk(&entry.path(), found),
                false => found.push(fs::read(entry.path()).unwrap()),
            }
        }
    }
    let mut found = Vec::new();
    walk(&mounted.at, &mut found);
    found.sort();
    let mut expected: Vec<_> = (0..200).map(|at| bytes("f", at, 3000)).collect();
    expected.sort();
    assert!(found == expected);
    let mut asked = server.asked();
    let count = asked.len();
    // 20 directories, three in each, the one that they are in, and the files.
    assert_eq!(count, 1 + 20 + 60 + 200);
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), count, "something was asked for twice");
}

#[test]
fn what_others_change_shows_when_what_is_known_has_lasted() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/d/a", *b"first");
    let mounted = Mounted::bucket(&server, &["--metadata-ttl", "0"]);
    assert_eq!(fs::read(mounted.path("d/a")).unwrap(), b"first");
    assert!(fs::metadata(mounted.path("d/new")).is_err());
    server.put("/b/d/a", *b"the second");
    server.put("/b/d/new", *b"new");
    assert_eq!(fs::read(mounted.path("d/a")).unwrap(), b"the second");
    assert_eq!(fs::read(mounted.path("d/new")).unwrap(), b"new");
    drop(mounted);
    let mounted = Mounted::bucket(&server, &["--metadata-ttl", "3600"]);
    assert_eq!(fs::metadata(mounted.path("d/a")).unwrap().len(), 10);
    let before = server.asked().len();
    server.put("/b/d/a", *b"third");
    assert_eq!(fs::metadata(mounted.path("d/a")).unwrap().len(), 10);
    assert_eq!(server.asked().len(), before);
    // What was listed can be opened no more: who reads it hears so, and who opens it next has what is
    // there now.
    let error = fs::read(mounted.path("d/a")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ESTALE));
    assert_eq!(fs::read(mounted.path("d/a")).unwrap(), b"third");
}

#[test]
fn bytes_that_the_kernel_has_are_not_read_again_unless_they_are_others() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/a", bytes("a", 1, 300_000));
    let mounted = Mounted::bucket(&server, &["--metadata-ttl", "0"]);
    let open = File::open(mounted.path("a")).unwrap();
    let mut some = [0; 1000];
    open.read_exact_at(&mut some, 0).unwrap();
    assert!(fs::read(mounted.path("a")).unwrap() == bytes("a", 1, 300_000));
    let before = asked(&server, "GET /b/a");
    assert!(fs::read(mounted.path("a")).unwrap() == bytes("a", 1, 300_000));
    assert_eq!(asked(&server, "GET /b/a"), before);
    server.put("/b/a", bytes("a", 2, 300_000));
    assert!(fs::read(mounted.path("a")).unwrap() == bytes("a", 2, 300_000));
    // Beside it, what was open is still what it was.
    open.read_exact_at(&mut some, 1000).unwrap();
    assert!(some[..] == bytes("a", 1, 2000)[1000..]);
}

#[test]
fn objects_without_tags_are_told_apart_by_their_times() {
    if !can_mount() {
        return;
    }
    let server = Server::new(Versions::Times, Faults::default());
    server.list_by(1000);
    let mounted = Mounted::bucket(&server, &["--metadata-ttl", "0"]);
    for text in [b"one", b"two"] {
        server.put("/b/a", *text);
        assert_eq!(fs::read(mounted.path("a")).unwrap(), text);
    }
}
