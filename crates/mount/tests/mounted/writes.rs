//! Objects are written as a whole or not at all, and what cannot be done is refused when it is asked for.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::process::Command;

use crate::bytes::bytes;
use crate::place::{Mounted, can_mount, have, server};
use crate::process::{end, kill, wait_until};
use crate::server::Server;

fn get(server: &Server, name: &str) -> Option<Vec<u8>> {
    server.get(&format!("/b/{name}")).map(|it| it.to_vec())
}

#[test]
fn a_file_is_there_as_a_whole_when_it_is_closed() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    for size in [1, 4096, 700_000, (8 << 20) + 1, 21 << 20] {
        let (name, expected) = (format!("d{size}/f"), bytes("f", 1, size));
        fs::create_dir(mounted.path(&name).parent().unwrap()).unwrap();
        let mut file = File::create(mounted.path(&name)).unwrap();
        file.write_all(&expected).unwrap();
        assert_eq!(fs::metadata(mounted.path(&name)).unwrap().len(), size);
        assert!(get(&server, &name).is_none());
        drop(file);
        assert!(get(&server, &name).unwrap() == expected, "{size}");
        assert!(fs::read(mounted.path(&name)).unwrap() == expected);
        // In its place, which it keeps until then.
        let mut file = File::create(mounted.path(&name)).unwrap();
        file.write_all(&expected[..1]).unwrap();
        assert!(get(&server, &name).unwrap() == expected);
        file.sync_all().unwrap();
        assert!(get(&server, &name).unwrap() == expected[..1]);
        drop(file);
        assert!(fs::read(mounted.path(&name)).unwrap() == expected[..1]);
    }
    fs::write(mounted.path("empty"), "").unwrap();
    assert_eq!(fs::read(mounted.path("empty")).unwrap(), b"");
    assert_eq!(get(&server, "empty").unwrap(), b"");
    assert!(server.state.uploads.lock().unwrap().is_empty());
}

#[test]
fn what_a_store_cannot_do_is_refused() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/old", *b"old bytes");
    server.put("/b/d/x", *b"x");
    let mounted = Mounted::bucket(&server, &[]);
    let open = |options: &mut OpenOptions| options.open(mounted.path("old")).map(drop).unwrap_err().raw_os_error();
    assert_eq!(open(OpenOptions::new().write(true)), Some(libc::EOPNOTSUPP));
    assert_eq!(open(OpenOptions::new().append(true)), Some(libc::EOPNOTSUPP));
    assert_eq!(open(OpenOptions::new().read(true).write(true)), Some(libc::EOPNOTSUPP));
    assert_eq!(open(OpenOptions::new().write(true).create_new(true)), Some(libc::EEXIST));
    let error = |done: std::io::Result<()>| done.unwrap_err().raw_os_error();
    assert_eq!(error(fs::rename(mounted.path("d"), mounted.path("e"))), Some(libc::EXDEV));
    assert_eq!(error(fs::remove_dir(mounted.path("d"))), Some(libc::ENOTEMPTY));
    assert_eq!(error(fs::hard_link(mounted.path("old"), mounted.path("new"))), Some(libc::EPERM));
    assert_eq!(error(std::os::unix::fs::symlink("old", mounted.path("new"))), Some(libc::EPERM));
    let mut file = File::create(mounted.path("holes")).unwrap();
    file.write_all(b"begin").unwrap();
    file.seek(SeekFrom::Start(100)).unwrap();
    assert_eq!(error(file.write_all(b"later")), Some(libc::EOPNOTSUPP));
    file.seek(SeekFrom::Start(5)).unwrap();
    file.write_all(b" end").unwrap();
    drop(file);
    assert_eq!(get(&server, "holes").unwrap(), b"begin end");
    assert_eq!(get(&server, "old").unwrap(), b"old bytes");
    drop(mounted);
    let mounted = Mounted::bucket(&server, &["--read-only"]);
    assert_eq!(error(fs::write(mounted.path("new"), "x")), Some(libc::EROFS));
    assert_eq!(error(fs::remove_file(mounted.path("old"))), Some(libc::EROFS));
}

#[test]
fn names_are_made_moved_and_removed() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/d/a", *b"a");
    server.put("/b/d/b", *b"b");
    let mounted = Mounted::bucket(&server, &["--metadata-ttl", "0"]);
    fs::rename(mounted.path("d/a"), mounted.path("moved")).unwrap();
    assert_eq!((get(&server, "d/a"), get(&server, "moved")), (None, Some(b"a".to_vec())));
    assert_eq!(fs::read(mounted.path("moved")).unwrap(), b"a");
    assert!(fs::metadata(mounted.path("d/a")).is_err());
    fs::rename(mounted.path("d/b"), mounted.path("moved")).unwrap();
    assert_eq!(fs::read(mounted.path("moved")).unwrap(), b"b");
    // Its last file went: a store has no such directory any more, and who works in it does not notice.
    assert_eq!(fs::read_dir(mounted.path("d")).unwrap().count(), 0);
    fs::remove_dir(mounted.path("d")).unwrap();
    assert!(fs::metadata(mounted.path("d")).is_err());
    fs::create_dir_all(mounted.path("new/deep")).unwrap();
    assert_eq!(fs::read_dir(mounted.path("new")).unwrap().count(), 1);
    fs::write(mounted.path("new/deep/f"), "f").unwrap();
    assert_eq!(get(&server, "new/deep/f").unwrap(), b"f");
    fs::remove_dir_all(mounted.path("new")).unwrap();
    assert!(get(&server, "new/deep/f").is_none() && fs::metadata(mounted.path("new")).is_err());
    fs::remove_file(mounted.path("moved")).unwrap();
    assert!(get(&server, "moved").is_none());
    assert_eq!(fs::read_dir(&mounted.at).unwrap().count(), 0);
}

#[test]
fn programs_write_as_they_are_used_to() {
    if !can_mount() || !have("tar") || !have("python3") {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let says = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(&mounted.at).env("LC_ALL", "C");
        end(command, b"").with(0).out()
    };
    assert_eq!(says("echo one > a; cat a; (echo two; /bin/echo three; cat a) > b; cat b"), "one\ntwo\nthree\none\n");
    assert_eq!(get(&server, "b").unwrap(), b"two\nthree\none\n");
    assert_eq!(says("exec 3> c; echo x >&3; /bin/echo y >&3; exec 3>&-; cat c; : > e; cat e; wc -c < e"), "x\ny\n0\n");
    assert_eq!(says("touch t; cp a copy; cp -p a kept; mv a moved; cat copy kept moved; ls"), {
        "one\none\none\nb\nc\ncopy\ne\nkept\nmoved\nt\n"
    });
    let tree = "mkdir -p t1/x && seq 1000 > t1/x/s && seq 9 > t1/n && tar cf - t1 | (mkdir t2; cd t2; tar xf -); diff -r t1 t2/t1";
    assert_eq!(says(tree), "");
    assert_eq!(says("mv t2 t3; diff -r t1 t3/t1; rm -r t1 t3; ls"), "b\nc\ncopy\ne\nkept\nmoved\nt\n");
    let python = "
import os, shutil
with open('p', 'w') as f: f.write('text' * 100000)
shutil.copytree('.', 'd', ignore=lambda *_: ['d'])
shutil.move('d/p', 'q')
os.replace('q', 'p')
shutil.rmtree('d')
print(os.path.getsize('p'), sorted(os.listdir()))
";
    assert_eq!(says(&format!("python3 -c \"{python}\"")), {
        "400000 ['b', 'c', 'copy', 'e', 'kept', 'moved', 'p', 't']\n"
    });
}

#[test]
fn who_is_killed_leaves_no_part_of_a_file() {
    if !can_mount() || !have("python3") {
        return;
    }
    let server = server();
    server.put("/b/old", *b"old");
    let mounted = Mounted::bucket(&server, &[]);
    for size in [1000, 20 << 20] {
        let script =
            format!("import sys, time\nf = open('old', 'wb', 0)\nf.write(bytes({size}))\nprint()\ntime.sleep(60)");
        let mut command = Command::new("python3");
        command.args(["-uc", &script]).current_dir(&mounted.at).stdout(std::process::Stdio::piped());
        let mut writer = command.spawn().unwrap();
        std::io::Read::read_exact(writer.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        kill(writer.id() as i32, libc::SIGKILL);
        writer.wait().unwrap();
        wait_until("it is closed", || fs::read(mounted.path("old")).is_ok_and(|it| it == b"old"));
        wait_until("its parts are gone", || server.state.uploads.lock().unwrap().is_empty());
        assert_eq!(get(&server, "old").unwrap(), b"old");
    }
}

#[test]
fn who_closes_hears_that_it_could_not_be_written() {
    if !can_mount() || !have("dd") {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    server.refuse_writes();
    let mut command = Command::new("dd");
    command.args(["if=/dev/zero", "of=f", "bs=1000", "count=3"]).current_dir(&mounted.at).env("LC_ALL", "C");
    let ended = end(command, b"");
    assert!(ended.how == "status 1" && ended.err().contains("Permission denied"), "{ended:?}");
    assert!(fs::metadata(mounted.path("f")).is_err() && get(&server, "f").is_none());
}
