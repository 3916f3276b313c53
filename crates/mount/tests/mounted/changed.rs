//! What is there is changed as on a disk, and put as a whole in the place of what it was made of.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::bytes::bytes;
use crate::place::{Mounted, can_mount, server};
use crate::process::{end, have, kill, wait_until};
use crate::writes::{get, look_at_all_of};

#[test]
fn what_is_there_is_written_further() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/log", *b"one");
    let mounted = Mounted::bucket(&server, &[]);
    let path = mounted.path("log");
    let append = || OpenOptions::new().append(true).open(&path).unwrap();
    let mut log = append();
    log.write_all(b" two").unwrap();
    look_at_all_of(&path, b"one two");
    assert_eq!(get(&server, "log").unwrap(), b"one", "before it is closed");
    drop(log);
    assert_eq!(get(&server, "log").unwrap(), b"one two");
    // Of two, and of what one of them has put already, nothing is lost; and its name leads to it all along.
    let (mut log, mut other) = (append(), append());
    log.write_all(b" three").unwrap();
    log.sync_all().unwrap();
    assert_eq!(log.metadata().unwrap().ino(), fs::metadata(&path).unwrap().ino());
    let mut third = append();
    other.write_all(b" four").unwrap();
    third.write_all(b" five").unwrap();
    drop(other);
    log.write_all(b" six").unwrap();
    look_at_all_of(&path, b"one two three four five six");
    drop((log, third));
    assert_eq!(get(&server, "log").unwrap(), b"one two three four five six");
    // Who has it open keeps what he opened.
    let before = File::open(&path).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    file.write_all_at(b"ONE", 0).unwrap();
    file.set_len(7).unwrap();
    look_at_all_of(&path, b"ONE two");
    drop(file);
    assert_eq!(get(&server, "log").unwrap(), b"ONE two");
    let mut all = Vec::new();
    std::io::Read::read_to_end(&mut &before, &mut all).unwrap();
    assert_eq!(all, b"one two three four five six");
    look_at_all_of(&path, b"ONE two");
    // What is closed is mapped at once, as any file that nobody writes.
    for number in 0..50 {
        append().write_all(b"x").unwrap();
        let (file, size) = (File::open(&path).unwrap(), 8 + number);
        // SAFETY: a mapping that nobody uses.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert!(at != libc::MAP_FAILED, "{number}");
    }
    // By its name alone.
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    for (size, expected) in [(3, &b"ONE"[..]), (5, b"ONE\0\0"), (0, b"")] {
        // SAFETY: the name ends with a zero.
        assert_eq!(unsafe { libc::truncate(name.as_ptr(), size) }, 0);
        assert_eq!(get(&server, "log").unwrap(), expected);
        look_at_all_of(&path, expected);
    }
}

#[test]
fn who_adds_to_what_he_takes_for_nothing_replaces_nothing() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let (log, new) = (mounted.path("log"), mounted.path("new"));
    assert!(fs::metadata(&log).is_err());
    server.put("/b/log", *b"theirs");
    let append = |path| OpenOptions::new().append(true).create(true).open(path).unwrap();
    let mut file = append(&log);
    file.write_all(b"mine").unwrap();
    assert_eq!(file.sync_all().unwrap_err().raw_os_error(), Some(libc::ESTALE));
    // What cannot be put is not in the way of what is there.
    assert_eq!(fs::read(&log).unwrap(), b"theirs");
    assert_eq!(file.set_len(0).unwrap_err().raw_os_error(), Some(libc::ESTALE));
    drop(file);
    assert_eq!(get(&server, "log").unwrap(), b"theirs");
    append(&new).write_all(b"mine").unwrap();
    assert_eq!(get(&server, "new").unwrap(), b"mine");
    // As `touch` does.
    let touched = mounted.path("touched");
    assert!(fs::metadata(&touched).is_err());
    server.put("/b/touched", *b"theirs");
    drop(OpenOptions::new().write(true).create(true).truncate(false).open(&touched).unwrap());
    wait_until("theirs is found", || fs::read(&touched).is_ok_and(|it| it == b"theirs"));
}

#[test]
fn what_others_changed_before_is_what_is_changed() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/log", *b"one");
    let mounted = Mounted::bucket(&server, &[]);
    let path = mounted.path("log");
    for theirs in [b"two".as_slice(), b"three"] {
        assert!(!fs::read(&path).unwrap().is_empty());
        server.put("/b/log", theirs);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b" mine").unwrap();
        assert_eq!(get(&server, "log").unwrap(), [theirs, b" mine"].concat());
    }
}

#[test]
fn what_is_cut_while_somebody_has_it_open_is_cut() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let path = mounted.path("log");
    let mut log = OpenOptions::new().append(true).create(true).open(&path).unwrap();
    for cut in [": > log", "truncate -s 0 log"] {
        log.write_all(b"lines").unwrap();
        log.sync_all().unwrap();
        assert_eq!(get(&server, "log").unwrap(), b"lines");
        let mut command = Command::new("sh");
        command.args(["-ec", cut]).current_dir(&mounted.at);
        end(command, b"").with(0);
        assert_eq!(get(&server, "log").unwrap(), b"", "{cut}");
    }
    log.write_all(b"more").unwrap();
    drop(log);
    assert_eq!(get(&server, "log").unwrap(), b"more");
}

#[test]
fn who_has_a_copy_goes_on_when_its_opener_was_killed() {
    if !can_mount() || !have("bash") {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let script = "exec >> log; echo start; (for i in 1 2 3 4; do sleep 0.2; echo child $i; done) & sleep 2";
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(&mounted.at);
    let mut opener = command.spawn().unwrap();
    wait_until("its child writes", || fs::read(mounted.path("log")).is_ok_and(|it| it.ends_with(b"child 1\n")));
    kill(opener.id() as i32, libc::SIGKILL);
    opener.wait().unwrap();
    let expected = b"start\nchild 1\nchild 2\nchild 3\nchild 4\n";
    wait_until("all of it is there", || get(&server, "log").is_some_and(|it| it == expected));
}

#[test]
fn what_is_changed_goes_on_where_its_name_goes() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/log", *b"one");
    let mounted = Mounted::bucket(&server, &[]);
    let mut log = OpenOptions::new().append(true).open(mounted.path("log")).unwrap();
    log.write_all(b" two").unwrap();
    fs::rename(mounted.path("log"), mounted.path("moved")).unwrap();
    log.write_all(b" three").unwrap();
    log.sync_all().unwrap();
    drop(log);
    assert_eq!((get(&server, "log"), get(&server, "moved").unwrap()), (None, b"one two three".to_vec()));
}

#[test]
fn many_who_add_to_one_file_lose_nothing() {
    if !can_mount() || !have("xargs") {
        return;
    }
    let server = server();
    server.put("/b/log", *b"0\n");
    let mounted = Mounted::bucket(&server, &[]);
    let mut command = Command::new("sh");
    command.args(["-ec", "seq 60 | xargs -P 8 -I N sh -c 'echo N >> log'; sort -n log"]).current_dir(&mounted.at);
    let said = end(command, b"").with(0).out();
    assert_eq!(said, (0..=60).map(|number| format!("{number}\n")).collect::<String>());
}

#[test]
fn who_opens_what_changes_all_the_time_gets_what_is_there() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/log", *b"");
    let mounted = Mounted::bucket(&server, &[]);
    let path = mounted.path("log");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for _ in 0..100 {
                OpenOptions::new().append(true).open(&path).unwrap().write_all(b"x").unwrap();
            }
        });
        while !writer.is_finished() {
            // What is read may be another by then, but not what is opened.
            let mut open = File::open(&path).unwrap();
            let mut found = Vec::new();
            let read = std::io::Read::read_to_end(&mut open, &mut found);
            assert!(read.is_err() || found.iter().all(|&byte| byte == b'x'));
        }
    });
    assert_eq!(get(&server, "log").unwrap(), [b'x'; 100]);
}

#[test]
fn what_was_just_changed_is_copied() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/f", *b"0");
    let mounted = Mounted::bucket(&server, &[]);
    let changes =
        "stat f > /dev/null; for i in 1 2 3 4 5; do echo $i >> f; cp f g; cat g; echo $i > f; cp f g; cat g f; done";
    let mut command = Command::new("sh");
    command.args(["-ec", changes]).current_dir(&mounted.at).env("LC_ALL", "C");
    let ended = end(command, b"");
    assert!(ended.how == "status 0" && ended.err().is_empty(), "{ended:?}");
    let expected = "01\n1\n1\n1\n2\n2\n2\n2\n3\n3\n3\n3\n4\n4\n4\n4\n5\n5\n5\n";
    assert_eq!(ended.out(), expected);
    assert_eq!(get(&server, "g").unwrap(), b"5\n");
}

#[test]
fn what_others_change_meanwhile_is_not_lost() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/log", *b"one");
    let mounted = Mounted::bucket(&server, &[]);
    let mut log = OpenOptions::new().append(true).open(mounted.path("log")).unwrap();
    for expected in [b"one two".as_slice(), b"one two two"] {
        log.write_all(b" two").unwrap();
        log.sync_all().unwrap();
        assert_eq!(get(&server, "log").unwrap(), expected, "of its own it is told apart");
    }
    server.put("/b/log", *b"theirs");
    log.write_all(b" three").unwrap();
    assert_eq!(log.sync_all().unwrap_err().raw_os_error(), Some(libc::ESTALE));
    drop(log);
    assert_eq!(get(&server, "log").unwrap(), b"theirs");
    // The same of what was put once by who has it open still.
    let mut new = File::create(mounted.path("new")).unwrap();
    new.write_all(b"mine").unwrap();
    new.sync_all().unwrap();
    server.put("/b/new", *b"theirs");
    new.write_all(b" more").unwrap();
    assert_eq!(new.sync_all().unwrap_err().raw_os_error(), Some(libc::ESTALE));
    assert_eq!(get(&server, "new").unwrap(), b"theirs");
}

#[test]
fn what_is_opened_to_write_and_not_written_is_not_put() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/some", *b"some");
    server.put("/b/none", *b"");
    let mounted = Mounted::bucket(&server, &[]);
    server.refuse_writes(true);
    for name in ["some", "none"] {
        let file = OpenOptions::new().append(true).open(mounted.path(name)).unwrap();
        file.sync_all().unwrap();
        drop(file);
        look_at_all_of(&mounted.path(name), get(&server, name).unwrap().as_slice());
    }
    let mut file = OpenOptions::new().append(true).open(mounted.path("some")).unwrap();
    file.write_all(b" more").unwrap();
    assert!(file.sync_all().is_err());
    drop(file);
    wait_until("it is as it was", || fs::read(mounted.path("some")).is_ok_and(|it| it == b"some"));
}

#[test]
fn what_grows_beyond_what_is_kept_goes_in_parts() {
    if !can_mount() {
        return;
    }
    let server = server();
    let all = bytes("all", 0, 20 << 20);
    server.put("/b/all", all[..7 << 20].to_vec());
    let (short, long) = ((8 << 20) - 100, (8 << 20) + 200);
    server.put("/b/both", all[..short].to_vec());
    let mounted = Mounted::bucket(&server, &[]);
    let mut file = OpenOptions::new().append(true).open(mounted.path("all")).unwrap();
    file.write_all(&all[7 << 20..]).unwrap();
    drop(file);
    assert!(get(&server, "all").unwrap() == all && fs::read(mounted.path("all")).unwrap() == all);
    // By two, of which one closes it when it is long, and by a write over the end of what is kept.
    let open = || OpenOptions::new().write(true).open(mounted.path("both")).unwrap();
    let (one, other) = (open(), open());
    other.write_all_at(&all[short - 50..long], short as u64 - 50).unwrap();
    drop(other);
    one.write_all_at(&all[long..long + 10], long as u64).unwrap();
    drop(one);
    assert!(get(&server, "both").unwrap() == all[..long + 10]);
}

#[test]
fn who_is_killed_takes_nothing_from_who_writes_beside_him() {
    if !can_mount() || !have("python3") {
        return;
    }
    let server = server();
    server.put("/b/log", *b"old");
    let mounted = Mounted::bucket(&server, &[]);
    let mut log = OpenOptions::new().append(true).open(mounted.path("log")).unwrap();
    let script = "import time\nf = open('log', 'ab', 0)\nf.write(b' his')\nprint()\ntime.sleep(60)";
    let mut command = Command::new("python3");
    command.args(["-uc", script]).current_dir(&mounted.at).stdout(std::process::Stdio::piped());
    let mut writer = command.spawn().unwrap();
    std::io::Read::read_exact(writer.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    kill(writer.id() as i32, libc::SIGKILL);
    writer.wait().unwrap();
    log.write_all(b" mine").unwrap();
    drop(log);
    assert_eq!(get(&server, "log").unwrap(), b"old his mine");
}

#[test]
fn programs_change_what_is_there() {
    if !can_mount() || !have("git") || !have("sqlite3") {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let says = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(&mounted.at).env("LC_ALL", "C").env("HOME", &mounted.at);
        end(command, b"").with(0).out()
    };
    let log = "for i in 1 2 3; do echo $i >> log; done; (echo 4; /bin/echo 5) >> log; cat log";
    assert_eq!(says(log), "1\n2\n3\n4\n5\n");
    assert_eq!(get(&server, "log").unwrap(), b"1\n2\n3\n4\n5\n");
    let git = "git init -q r; cd r; git config user.email a@b; git config user.name c
for i in 1 2 3; do echo $i >> f; git add f; git commit -qm $i; done
git gc -q; git fsck --strict; git log --format=%s; git status --short";
    assert_eq!(says(git), "3\n2\n1\n");
    let sqlite = "sqlite3 d 'create table t (a); insert into t values (1), (2);'
sqlite3 d 'begin; insert into t values (3); commit; update t set a = a + 1; select sum(a) from t; pragma integrity_check;'
sqlite3 d 'insert into t values (10); select sum(a) from t;'";
    assert_eq!(says(sqlite), "9\nok\n19\n");
}

/// Editors take a file for another's change whose number or time is another than when they wrote it; and so does
/// git, of all that it has to read again then.
#[test]
fn what_was_written_stays_as_it_is() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/there", *b"one");
    let mounted = Mounted::bucket(&server, &["--metadata-ttl", "1"]);
    let of = |path: &Path| {
        let it = fs::metadata(path).unwrap();
        (it.ino(), it.modified().unwrap(), it.len())
    };
    for (name, read) in
        [("there", false), ("there", true), ("new", false), ("new", true), ("long", false), ("long", true)]
    {
        let path = mounted.path(name);
        if read {
            let _ = fs::read(&path);
        }
        let written = if name == "long" { vec![1; 9 << 20] } else { b"two".to_vec() };
        fs::write(&path, &written).unwrap();
        let after = of(&path);
        assert!(fs::read(&path).unwrap() == written);
        assert_eq!(of(&path), after, "{name} {read}, read");
        sleep(Duration::from_millis(1200));
        assert_eq!(of(&path), after, "{name} {read}, later");
        fs::read(&path).unwrap();
        assert_eq!(of(&path), after, "{name} {read}, later and read");
    }
}

/// As vim does.
#[test]
fn what_is_long_is_opened_and_then_cut_to_none() {
    if !can_mount() {
        return;
    }
    const LONG: usize = 9 << 20;
    let server = server();
    let long = |of: u8| vec![of; LONG];
    server.put("/b/long", long(1));
    let mounted = Mounted::bucket(&server, &[]);
    let path = mounted.path("long");
    let open = || OpenOptions::new().write(true).open(&path).unwrap();
    // As long as it is not cut, it is as it was.
    let mut file = open();
    assert_eq!(file.write_all(b"two").unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    assert_eq!(file.set_len(5).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    assert!(fs::read(&path).unwrap() == long(1));
    let other = open();
    drop((file, other));
    assert!(fs::read(&path).unwrap() == long(1) && get(&server, "long").unwrap() == long(1));
    for new in [b"two".to_vec(), long(2), vec![3; LONG + 1], Vec::new()] {
        let mut file = open();
        file.set_len(0).unwrap();
        file.write_all(&new).unwrap();
        drop(file);
        assert!(get(&server, "long").unwrap() == new, "{}", new.len());
        assert!(fs::read(&path).unwrap() == new, "{}", new.len());
    }
    // Once more by who has written it.
    let mut file = open();
    file.write_all(&long(4)).unwrap();
    file.set_len(0).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    file.write_all(b"five").unwrap();
    drop(file);
    assert_eq!(get(&server, "long").unwrap(), b"five");
    for refused in [OpenOptions::new().append(true), OpenOptions::new().read(true).write(true)] {
        fs::write(&path, long(6)).unwrap();
        assert_eq!(refused.open(&path).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    }
}
