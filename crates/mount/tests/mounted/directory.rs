//! A directory looks as it is.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::bytes::bytes;
use crate::place::{Mounted, Place, can_mount};
use crate::random::Random;

fn assert_same(one: &Path, other: &Path) {
    let names = |path: &Path| {
        let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(one), names(other));
    for name in names(one) {
        let (one, other) = (one.join(&name), other.join(&name));
        let said = |path: &Path| {
            let it = fs::symlink_metadata(path).unwrap();
            (it.mode(), it.uid(), it.gid(), it.len(), it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec())
        };
        assert_eq!(said(&one), said(&other), "{name:?}");
        let kind = fs::symlink_metadata(&one).unwrap().file_type();
        match () {
            () if kind.is_dir() => assert_same(&one, &other),
            () if kind.is_symlink() => assert_eq!(fs::read_link(&one).unwrap(), fs::read_link(&other).unwrap()),
            () => assert!(fs::read(&one).unwrap() == fs::read(&other).unwrap(), "{name:?}"),
        }
    }
}

#[test]
fn all_of_it_is_there_and_nothing_else() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    for size in [0, 1, 4095, 4096, 4097, 16_384, 131_072, 131_073, 3_000_000] {
        place.write(&format!("sizes/{size}"), bytes("s", 1, size));
    }
    for name in ["a b", "new\nline", "\u{e9}\u{4e2d}", "-rf", "x%20", "quote'\"", "back\\slash", ".hidden", "..."] {
        place.write(&format!("odd/{name}"), name);
        place.write(&format!("odd/d {name}/in"), name);
    }
    (0..3000).for_each(|at| drop(place.write(&format!("many/{at}"), at.to_string())));
    fs::create_dir(place.path("from/empty")).unwrap();
    symlink("../a target that is not", place.path("from/odd/link")).unwrap();
    symlink("a b", place.path("from/odd/other link")).unwrap();
    fs::set_permissions(place.write("tool", "#!/bin/sh\necho ran"), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.write("secret", "x"), Permissions::from_mode(0o600)).unwrap();
    let mounted = Mounted::directory(place, &[]);
    assert_same(&mounted.place.path("from"), &mounted.at);
    assert_eq!(Command::new(mounted.path("tool")).output().unwrap().stdout, b"ran\n");
    let refused = File::options().write(true).open(mounted.path("tool")).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EROFS));
}

#[test]
fn readers_at_random_get_the_same_bytes_in_little_memory() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let mut random = Random(7);
    let sizes: Vec<u64> = (0..6).map(|_| random.below(3 << 20) + 1).collect();
    sizes
        .iter()
        .enumerate()
        .for_each(|(at, &size)| drop(place.write(&at.to_string(), bytes(&at.to_string(), 1, size))));
    let mounted = Mounted::directory(place, &["--memory", "4M"]);
    std::thread::scope(|scope| {
        for reader in 0..8 {
            let (mounted, sizes, mut random) = (&mounted, &sizes, Random(reader));
            scope.spawn(move || {
                for _ in 0..60 {
                    let at = random.below(sizes.len() as u64) as usize;
                    let name = at.to_string();
                    let expected = bytes(&name, 1, sizes[at]);
                    let file = File::open(mounted.path(&name)).unwrap();
                    for _ in 0..4 {
                        let (offset, len) = (random.below(sizes[at] + 10), random.below(300_000));
                        let mut found = vec![0; len as usize];
                        let count = file.read_at(&mut found, offset).unwrap();
                        let end = (offset + len).min(sizes[at]).max(offset.min(sizes[at]));
                        let wanted = &expected[offset.min(sizes[at]) as usize..end as usize];
                        assert!(found[..count] == *wanted, "{name}, {len} bytes from {offset} on: {count}");
                    }
                }
            });
        }
    });
}

#[test]
fn what_has_a_files_name_and_is_none_any_more_is_found_when_it_is_opened() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    ["f", "d/in"].iter().for_each(|name| _ = place.write(name, name));
    // The kernel takes names to stay for long.
    let mounted = Mounted::directory(place, &["--metadata-ttl", "1000"]);
    assert!(fs::metadata(mounted.path("f")).unwrap().is_file());
    fs::remove_file(mounted.place.path("from/f")).unwrap();
    fs::rename(mounted.place.path("from/d"), mounted.place.path("from/f")).unwrap();
    let opened = File::open(mounted.path("f")).unwrap();
    assert!(opened.metadata().unwrap().is_dir());
    assert_eq!(fs::read(mounted.path("f/in")).unwrap(), b"d/in");
}

/// Somebody who is neither root nor an owner.
const READER: u32 = 54_321;

/// Whether there can be such readers; says so if not.
fn has_readers() -> bool {
    // SAFETY: takes no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        println!("skipped: not root");
    }
    is_root && can_mount()
}

/// What such a reader's program says.
fn said(program: &str, path: &Path) -> Result<String, String> {
    let output = Command::new(program).arg(path).uid(READER).gid(READER).env("LC_ALL", "C").output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn a_link_that_took_a_directorys_place_is_followed_by_its_readers_rights() {
    if !has_readers() {
        return;
    }
    let place = Place::new();
    ["d/in", "d/sub/in", "private/in", "private/sub/in"].iter().for_each(|name| _ = place.write(name, name));
    let mounted = Mounted::directory(place, &["--metadata-ttl", "1000"]);
    let from = |name: &str| mounted.place.path("from").join(name);
    fs::set_permissions(from("private"), Permissions::from_mode(0o700)).unwrap();
    // The kernel remembers who is let into this one.
    assert_eq!(said("ls", &mounted.path("d/sub")), Ok("in\n".into()));
    fs::rename(from("d"), from("gone")).unwrap();
    symlink("private", from("d")).unwrap();
    for (program, name) in [("cat", "d/in"), ("ls", "d"), ("ls", "d/sub"), ("cat", "d/sub/in"), ("readlink", "d/in")] {
        let found = said(program, &mounted.path(name));
        assert!(found.as_ref().is_err_and(|why| !why.contains("private")), "{program} {name}: {found:?}");
    }
    fs::set_permissions(from("private"), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(fs::read(mounted.path("d/sub/in")).unwrap(), b"private/sub/in");
}

/// A list as acl(5) has it: its version, and tag, permissions and number of each entry.
fn set_list(path: &Path, entries: &[(u16, u16, u32)]) -> std::io::Result<()> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, number) in entries {
        list.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
        list.extend(number.to_le_bytes());
    }
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: both names end with a zero, and the list is as long as is said.
    let done = unsafe {
        libc::setxattr(path.as_ptr(), c"system.posix_acl_access".as_ptr(), list.as_ptr().cast(), list.len(), 0)
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn who_is_on_no_list_of_a_file_reads_it_as_little_as_where_it_lies() {
    let [owner, user, group, mask, others] = [0x1, 0x2, 0x4, 0x10, 0x20];
    if !has_readers() {
        return;
    }
    let place = Place::new();
    let none = u32::MAX;
    let lists = [
        ("denied", [(owner, 6, none), (user, 0, READER), (group, 4, none), (mask, 4, none), (others, 4, none)]),
        ("let in", [(owner, 6, none), (user, 4, READER), (group, 0, none), (mask, 4, none), (others, 0, none)]),
    ];
    for (name, list) in &lists {
        if let Err(error) = set_list(&place.write(name, name), list) {
            return println!("skipped: no such lists here: {error}");
        }
    }
    place.write("all", "all");
    let mounted = Mounted::directory(place, &[]);
    for name in ["denied", "let in", "all"] {
        // Who owns it has the kernel bring it, and nobody else may have it by that.
        assert_eq!(fs::read(mounted.path(name)).unwrap(), name.as_bytes());
        let reads =
            |path: &Path| Command::new("cat").arg(path).uid(READER).gid(READER).output().unwrap().status.success();
        let (here, there) = (reads(&mounted.path(name)), reads(&mounted.place.path("from").join(name)));
        assert_eq!((here, there), (name != "denied", name != "denied"), "{name}");
    }
}

#[test]
fn what_changes_of_a_directory_itself_shows() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("d/f", "f");
    let mounted = Mounted::directory(place, &["--metadata-ttl", "0"]);
    let of = |path: &Path| fs::metadata(path).map(|it| (it.mode(), it.mtime(), it.mtime_nsec())).unwrap();
    let from = mounted.place.path("from");
    // By its descriptor, as who works in it has it.
    let opened = File::open(&mounted.at).unwrap();
    for mode in [0o700, 0o755] {
        fs::set_permissions(&from, Permissions::from_mode(mode)).unwrap();
        mounted.place.write(&format!("new {mode}"), "new");
        assert_eq!(of(&mounted.at), of(&from));
        assert_eq!(opened.metadata().unwrap().mode() & 0o777, mode);
    }
}

#[test]
fn programs_that_copy_it_or_look_for_room_get_what_they_get_of_its_source() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("d/f", "f");
    let mounted = Mounted::directory(place, &[]);
    let run = |program: &str, words: &[&str]| {
        let ended = Command::new(program).args(words).current_dir(mounted.place.path("")).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap()
    };
    run("cp", &["-a", "at/d", "copy"]);
    assert_eq!(fs::read(mounted.place.path("copy/f")).unwrap(), b"f");
    assert_eq!(run("stat", &["-f", "-c", "%b %S %c", "at"]), run("stat", &["-f", "-c", "%b %S %c", "from"]));
}

#[test]
fn a_file_has_the_same_number_in_the_next_mount() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    ["a", "b", "d/a"].iter().for_each(|name| _ = place.write(name, name));
    let shown = || place.shown("cd at && stat -c %i a b d/a d").with(0).out();
    let first = shown();
    assert_eq!(first, shown());
    assert_eq!(first.lines().collect::<std::collections::BTreeSet<_>>().len(), 4);
    place.write("b", "other");
    let changed: Vec<_> = first.lines().zip(shown().lines()).map(|(before, now)| before == now).collect();
    assert_eq!(changed, [true, false, true, true], "its bytes are others");
}

#[test]
fn an_open_file_is_one_version_and_a_name_the_one_it_has_now() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let (one, other) = (bytes("f", 1, 400_000), bytes("f", 2, 500_000));
    place.write("f", &one);
    let mounted = Mounted::directory(place, &["--metadata-ttl", "0"]);
    let open = File::open(mounted.path("f")).unwrap();
    let mut begin = vec![0; 4096];
    open.read_exact_at(&mut begin, 0).unwrap();
    // Another file in its place, and then the same one, written to.
    let new = mounted.place.write("new", &other);
    fs::rename(new, mounted.place.path("from/f")).unwrap();
    assert!(fs::read(mounted.path("f")).unwrap() == other);
    let is_of = |open: &File, bytes: &[u8], at: usize| {
        let mut found = vec![0; 4096];
        // What is in memory may be read, and is of the version that was open.
        match open.read_exact_at(&mut found, at as u64) {
            Ok(()) => assert!(found == bytes[at..at + 4096], "bytes of another version"),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ESTALE)),
        }
    };
    let mut rest = vec![0; one.len()];
    open.read_exact_at(&mut rest, 0).unwrap();
    assert!(rest == one, "who has a file open keeps it, though it has no name any more");
    let open = File::open(mounted.path("f")).unwrap();
    File::options().write(true).open(mounted.place.path("from/f")).unwrap().write_all_at(&one, 0).unwrap();
    let mut both = one.clone();
    both.extend(&other[one.len()..]);
    assert!(fs::read(mounted.path("f")).unwrap() == both);
    is_of(&open, &other, 200_000);
    fs::remove_file(mounted.place.path("from/f")).unwrap();
    assert!(fs::read(mounted.path("f")).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound));
}
