//! Files that are not what they seem, change under their readers, or cannot be read.

mod support;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use support::{Place, Same, end, have, is_root, lines_of, same};

#[test]
fn names_of_all_kinds() {
    let place = Place::new();
    let long = format!("{}/{}", vec!["x".repeat(200); 15].join("/"), "y".repeat(255));
    let mut names: Vec<OsString> = [" ", "a b", "new\nline", "-n", "--", "tab\t", "quote'\"", "%41", "*", "\\", "ü €"]
        .into_iter()
        .map(OsString::from)
        .collect();
    names.push(OsStr::from_bytes(b"\xff\xfe not utf-8").to_owned());
    names.push(long.into());
    let mut words: Vec<OsString> = vec!["cat".into(), "--".into()];
    for (number, name) in names.iter().enumerate() {
        place.write(name, lines_of(number, 200));
        words.push(name.clone());
    }
    let ended = same(&place, &words).with(0);
    assert_eq!(ended.out(), (0..names.len()).map(|it| lines_of(it, 200)).collect::<String>());
    same(&place, &["grep", "-rc", "word3", "."]).with(0);
    same(&place, &["cat", &"z".repeat(300)]).with(1);
    same(&place, &["cat", &"z/".repeat(3000)]).with(1);
    same(&place, &["cat", ""]).with(1);
    // Such a profile must be told of, too.
    let listed = end(place.foresee(&["profile", "list", "--json"]), b"").with(0);
    let rows: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    for row in rows.as_array().unwrap() {
        assert!(row["error"].is_null(), "{row}");
        end(place.foresee(&["profile", "show", row["name"].as_str().unwrap()]), b"").with(0);
    }
}

#[test]
fn fifos_devices_directories_and_loops() {
    let place = Place::new();
    place.write_lines(3, 50);
    symlink("loop2", place.path("loop1")).unwrap();
    symlink("loop1", place.path("loop2")).unwrap();
    symlink("..", place.path("d/up")).unwrap();
    symlink("nowhere", place.path("dangling")).unwrap();
    symlink("d/f1", place.path("fine")).unwrap();
    same(&place, &["cat", "loop1", "d/f0", "dangling", "fine", "d"]).with(1);
    same(&place, &["head", "-c", "100000", "/dev/zero"]).with(0);
    same(&place, &["head", "-c", "10", "/dev/null", "/dev/zero", "d/f2"]).with(0);
    same(&place, &["cat", "/dev/null", "/dev/stdin", "d/f1"]).with(0);
    same(&place, &["grep", "-R", "word1 ", "d/f0", "d/f1"]).with(0);
    same(&place, &["tar", "-c", "--mtime=@0", "--sort=name", "."]).with(0);
    same(&place, &["cat", "/proc/version", "/proc/sys/kernel/ostype"]).with(0);
    // Nobody but the program itself may open a FIFO: its writer would see a reader come and go.
    let script = "rm -f p; mkfifo p; (cat d/f0 > p; echo written) & cat p d/f1; wait; rm p";
    Same::script(&place, script).sorted().check().with(0);
    let fifo = place.path("fifo");
    end(place.plain(&["mkfifo", "fifo"]), b"").with(0);
    let script = "cat d/f2 > fifo & cat fifo; wait";
    Same::script(&place, script).check().with(0);
    // Named among the arguments, as a hint would find it.
    let words = ["sh", "-c", "(sleep 0.2; echo through > fifo) & cat \"$@\"; wait", "sh", "fifo", "d/f1"];
    assert!(same(&place, &words).with(0).out().starts_with("through\n"));
    fs::remove_file(fifo).unwrap();
}

#[test]
fn unreadable_files() {
    let place = Place::new();
    place.write_lines(3, 50);
    let closed = place.path("d/f1");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let ended = same(&place, &["cat", "d/f0", "d/f1", "d/f2"]);
    if !is_root() {
        ended.with(1);
        return;
    }
    let reach = |program: &str, file: &std::path::Path| -> bool {
        let words = [program, "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-r", file.to_str().unwrap()];
        end(place.plain(&words), b"").how == "status 0"
    };
    let library = support::binary().with_file_name("libforesee_preload.so");
    if !have("setpriv") || !reach("setpriv", &place.path("d/f0")) || !reach("setpriv", &library) {
        eprintln!("skipped: another user cannot be had, or reaches neither the files nor the library");
        return;
    }
    let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", "d/f0", "d/f1", "d/f2"];
    same(&place, &words).with(1);
    let script = "setpriv --reuid=65534 --regid=65534 --clear-groups grep -r word1 d; echo $?; grep -c word1 d/f1";
    Same::script(&place, script).check().with(0);
}

#[test]
fn a_deleted_working_directory() {
    let place = Place::new();
    let f = place.write("f", lines_of(0, 10));
    let gone = "mkdir -p gone && cd gone && rmdir ../gone && ";
    let script = format!("{gone} cat {} missing; ls; pwd -P; echo $?", f.display());
    Same::script(&place, &script).check().with(0);
    // foresee itself in such a place.
    let script = format!("{gone} {} cat {}", place.foresee_word(), f.display());
    let ended = end(place.plain(&["sh", "-c", &script]), b"").with(0);
    assert_eq!(ended.out(), lines_of(0, 10), "{ended:?}");
}

#[test]
fn a_file_that_others_write_meanwhile() {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    let before = || {
        place.write("f", lines_of(1, 20_000));
    };
    let appended = "
import os, subprocess
f = os.open('f', os.O_RDONLY)
first = os.read(f, 300000)
subprocess.run(['sh', '-c', 'cat f.more >> f'])
subprocess.run(['dd', 'if=/dev/zero', 'of=f', 'bs=1000', 'seek=500', 'count=200', 'conv=notrunc', 'status=none'])
rest = b''
while part := os.read(f, 65536): rest += part
import hashlib
print(len(first), len(rest), hashlib.md5(first + rest).hexdigest())
";
    place.write("f.more", lines_of(2, 5000));
    Same::python(&place, appended).before(before).check().with(0);
    let replaced = "
import os
f = open('f', 'rb')
first = f.read(100000)
with open('new', 'wb') as n: n.write(b'new contents')
os.rename('new', 'f')
print(len(first) + len(f.read()), open('f', 'rb').read())
os.unlink('f')
f.seek(5)
print(f.read(10))
";
    Same::python(&place, replaced).before(before).check().with(0);
    // A program that reads what it wrote itself, by another descriptor.
    let own = "
import os
w = os.open('f', os.O_RDWR)
r = os.open('f', os.O_RDONLY)
for i in range(50):
    os.pwrite(w, bytes([65 + i % 26]) * 5000, i * 3000)
    assert os.pread(r, 5000, i * 3000) == bytes([65 + i % 26]) * 5000, i
os.ftruncate(w, 1000)
print(len(os.pread(r, 5000, 0)))
";
    Same::python(&place, own).before(before).check().with(0);
}

#[test]
fn a_file_cut_short_under_its_reader() {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    let before = || {
        place.write("f", lines_of(1, 20_000));
    };
    let read = "
import os
f = os.open('f', os.O_RDONLY)
print(len(os.read(f, 4096)))
os.truncate('f', 6000)
print(len(os.read(f, 65536)), len(os.read(f, 65536)), len(os.pread(f, 10, 5995)), len(os.pread(f, 10, 900000)))
";
    assert_eq!(Same::python(&place, read).before(before).check().with(0).out(), "4096\n1904 0 5 0\n");
    let mapped = "
import mmap, os
f = open('f', 'rb')
m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
print(m[0:4], flush=True)
os.truncate('f', 0)
print(m[500000])
";
    let ended = Same::python(&place, mapped).before(before).check();
    assert_eq!(ended.how, format!("signal {}", libc::SIGBUS), "{ended:?}");
}
