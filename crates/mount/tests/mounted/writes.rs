//! Objects are written as a whole or not at all, and what cannot be done is refused when it is
//! asked for.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bytes::bytes;
use crate::place::{Mounted, can_mount, server};
use crate::process::{end, have, kill, wait_until};
use foresee_object_server::Server;

pub fn get(server: &Server, name: &str) -> Option<Vec<u8>> {
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
    assert!(server.unfinished() == 0);
}

#[test]
fn who_opens_a_short_file_that_is_being_written_shares_it() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/old", *b"old bytes");
    let mounted = Mounted::bucket(&server, &[]);
    for name in ["new", "old"] {
        let (path, before) = (mounted.path(name), get(&server, name));
        let mut written = File::create(&path).unwrap();
        written.write_all(b"some").unwrap();
        let read = File::open(&path).unwrap();
        let text = || {
            let mut bytes = [0; 100];
            let count = read.read_at(&mut bytes, 0).unwrap();
            String::from_utf8_lossy(&bytes[..count]).into_owned()
        };
        assert_eq!(text(), "some");
        written.write_all(b" more").unwrap();
        assert_eq!((text(), fs::read(&path).unwrap()), ("some more".into(), b"some more".to_vec()));
        // Who reads it ends nothing by that.
        assert_eq!(get(&server, name), before);
        let mut other = OpenOptions::new().append(true).open(&path).unwrap();
        other.write_all(b" still").unwrap();
        assert_eq!(text(), "some more still");
        drop(other);
        assert_eq!(get(&server, name).unwrap(), b"some more still");
        written.write_all(b"!").unwrap();
        assert_eq!((text(), fs::read(&path).unwrap()), ("some more!still".into(), b"some more!still".to_vec()));
        drop(File::create(&path).unwrap());
        assert_eq!(text(), "");
        drop(written);
        wait_until("it is empty", || get(&server, name).unwrap().is_empty());
    }
}

#[test]
fn who_looks_while_a_file_is_synced_and_written_on_sees_all_of_it_then() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/old", *b"old bytes");
    let mounted = Mounted::bucket(&server, &[]);
    let looks: [fn(&Path); 3] = [
        |path| assert_eq!(fs::read(path).unwrap(), b"some"),
        |path| assert_eq!(fs::metadata(path).unwrap().len(), 4),
        |path| assert!(fs::read_dir(path.parent().unwrap()).unwrap().any(|it| it.unwrap().path() == path)),
    ];
    for (name, look) in ["new", "old"].into_iter().flat_map(|name| looks.map(|look| (name, look))) {
        let path = mounted.path(name);
        let mut written = File::create(&path).unwrap();
        written.write_all(b"some").unwrap();
        written.sync_all().unwrap();
        look(&path);
        written.write_all(b" more").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"some more");
        written.sync_all().unwrap();
        look_at_all_of(&path, b"some more");
        written.write_all(b", all").unwrap();
        drop(written);
        look_at_all_of(&path, b"some more, all");
    }
}

pub fn look_at_all_of(path: &Path, bytes: &[u8]) {
    assert_eq!(fs::metadata(path).unwrap().len(), bytes.len() as u64);
    assert_eq!(fs::read(path).unwrap(), bytes);
}

#[test]
fn a_descriptor_tells_that_its_file_was_written_and_removed() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/old", *b"old bytes");
    let mounted = Mounted::bucket(&server, &[]);
    let path = mounted.path("old");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let written = File::create(&path).unwrap();
    let modified = written.metadata().unwrap().modified().unwrap();
    assert!(modified > before);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified, "not when it is looked at");
    assert_eq!(written.metadata().unwrap().nlink(), 1);
    fs::remove_file(&path).unwrap();
    assert_eq!(written.metadata().unwrap().nlink(), 0);
}

#[test]
fn what_a_store_cannot_do_is_refused() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/old", *b"old bytes");
    server.put("/b/d/x", *b"x");
    server.put("/b/longer", bytes("longer", 0, (8 << 20) + 1));
    let mounted = Mounted::bucket(&server, &[]);
    let open =
        |name: &str, options: &mut OpenOptions| options.open(mounted.path(name)).map(drop).unwrap_err().raw_os_error();
    assert_eq!(open("longer", OpenOptions::new().append(true)), Some(libc::EOPNOTSUPP));
    assert_eq!(open("longer", OpenOptions::new().read(true).write(true)), Some(libc::EOPNOTSUPP));
    assert_eq!(open("old", OpenOptions::new().write(true).create_new(true)), Some(libc::EEXIST));
    let error = |done: std::io::Result<()>| done.unwrap_err().raw_os_error();
    assert_eq!(error(fs::remove_dir(mounted.path("d"))), Some(libc::ENOTEMPTY));
    assert_eq!(error(fs::hard_link(mounted.path("old"), mounted.path("new"))), Some(libc::EPERM));
    assert_eq!(error(std::os::unix::fs::symlink("old", mounted.path("new"))), Some(libc::EPERM));
    let (file, long) = (File::create(mounted.path("long")).unwrap(), bytes("long", 1, 17 << 20));
    file.write_all_at(&long[..long.len() - 1], 0).unwrap();
    file.write_all_at(&long[long.len() - 1..], long.len() as u64 - 1).unwrap();
    file.sync_all().unwrap();
    assert_eq!(error(file.write_all_at(b"x", long.len() as u64)), Some(libc::EOPNOTSUPP));
    assert_eq!(error(file.set_len(100)), Some(libc::EOPNOTSUPP));
    drop(file);
    assert!(get(&server, "long").unwrap() == long);
    assert_eq!(get(&server, "old").unwrap(), b"old bytes");
    // Each name would do, and the key is longer than any store takes.
    let key = format!("d/{}", "n".repeat(1023));
    assert_eq!(error(fs::write(mounted.path(key), "x")), Some(libc::ENAMETOOLONG));
    drop(mounted);
    let mounted = Mounted::bucket(&server, &["--read-only"]);
    assert_eq!(error(fs::write(mounted.path("new"), "x")), Some(libc::EROFS));
    assert_eq!(error(fs::remove_file(mounted.path("old"))), Some(libc::EROFS));
}

#[test]
fn what_is_passed_over_in_a_longer_file_is_zeros() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let mut all = bytes("all", 0, 7 << 20);
    let file = File::create(mounted.path("all")).unwrap();
    file.write_all_at(&all, 0).unwrap();
    for (at, end) in [(9 << 20, (9 << 20) + 5), (15 << 20, 20 << 20)] {
        file.write_all_at(b"bytes", at).unwrap();
        file.set_len(end).unwrap();
        all.resize(at as usize, 0);
        all.extend(b"bytes");
        all.resize(end as usize, 0);
    }
    drop(file);
    assert!(get(&server, "all").unwrap() == all && fs::read(mounted.path("all")).unwrap() == all);
}

#[test]
fn what_is_renamed_is_the_same_file_to_who_opens_it() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    fs::write(mounted.path("a"), "a").unwrap();
    fs::rename(mounted.path("a"), mounted.path("b")).unwrap();
    let before = fs::metadata(mounted.path("b")).unwrap().ino();
    assert_eq!(File::open(mounted.path("b")).unwrap().metadata().unwrap().ino(), before);
    assert_eq!(fs::read(mounted.path("b")).unwrap(), b"a");
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
    // The last with half a character at the end of its name.
    for (size, name) in [(1000, "python3"), (20 << 20, "python3"), (1000, "abcdefghijklmn\\xc3")] {
        let called = format!("import sys, time\nopen('/proc/self/comm', 'wb').write(b'{name}')\n");
        let writes = format!("f = open('old', 'wb', 0)\nf.write(bytes({size}))\nprint()\ntime.sleep(60)");
        // By two descriptors, as `cmd > f 2> f` has it.
        let script = called + "other = open('old', 'ab', 0)\n" + &writes;
        let mut command = Command::new("python3");
        command.args(["-uc", &script]).current_dir(&mounted.at).stdout(std::process::Stdio::piped());
        let mut writer = command.spawn().unwrap();
        std::io::Read::read_exact(writer.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        kill(writer.id() as i32, libc::SIGKILL);
        writer.wait().unwrap();
        wait_until("it is closed", || fs::read(mounted.path("old")).is_ok_and(|it| it == b"old"));
        wait_until("its parts are gone", || server.unfinished() == 0);
        assert_eq!(get(&server, "old").unwrap(), b"old");
    }
}

/// The kernel closes what a program does not get, and where reading `/proc/PID/stat` waits for that, as
/// on Linux 6.18, nobody may read it to answer. A child's close is answered by whose child it is
/// alone; one of a process with half a character at the end of its name is told apart, too.
#[test]
fn who_starts_a_program_holds_nobody_up_by_what_is_closed_then() {
    if !can_mount() || !have("python3") {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let name = "open('/proc/self/comm', 'wb').write(b'abcdefghijklmn\\xc3')\n";
    let itself = "os.execvp('true', ['true'])";
    let another = "subprocess.run(['true'], close_fds=False); os.write(f, b' more'); os.close(f)";
    let (nothing, more) = ("os.ftruncate(f, 0); os.execvp('true', ['true'])", "some more");
    for (before, script, expected) in [
        ("", itself, "some"),
        ("", another, more),
        (name, itself, "some"),
        (name, another, more),
        ("", nothing, ""),
        (name, nothing, ""),
    ] {
        let begin =
            "import os, subprocess\nf = os.open('f', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\nos.write(f, b'some')";
        let mut command = Command::new("python3");
        command.args(["-c", &format!("{before}{begin}\n{script}")]).current_dir(&mounted.at);
        let mut writer = command.spawn().unwrap();
        let began = Instant::now();
        while writer.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(writer.id() as i32, libc::SIGKILL);
        assert!(writer.try_wait().unwrap().is_some_and(|status| status.success()), "{before}{script}");
        assert_eq!(String::from_utf8_lossy(&get(&server, "f").unwrap()), expected, "{before}{script}");
        fs::remove_file(mounted.path("f")).unwrap();
    }
}

#[test]
fn who_closes_hears_that_it_could_not_be_written() {
    if !can_mount() || !have("dd") {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    server.refuse_writes(true);
    let mut some = Command::new("dd");
    some.args(["if=/dev/zero", "of=f", "bs=1000", "count=3"]);
    let mut none = Command::new("touch");
    none.arg("f");
    for mut command in [some, none] {
        command.current_dir(&mounted.at).env("LC_ALL", "C");
        let ended = end(command, b"");
        assert!(ended.how == "status 1" && ended.err().contains("Permission denied"), "{ended:?}");
        assert!(fs::metadata(mounted.path("f")).is_err() && get(&server, "f").is_none());
    }
}

#[test]
fn what_another_process_writes_by_a_copy_is_there_when_that_ends() {
    if !can_mount() || !have("python3") {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let script = "import os, subprocess\n\
                  f = os.open('f', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)\n\
                  child = subprocess.Popen('echo one; /bin/echo two', shell=True, stdout=f, stdin=subprocess.PIPE)\n\
                  os.close(f)\n\
                  child.wait()\n\
                  os.rename('f', 'g')\n\
                  assert open('g').read() == 'one\\ntwo\\n'";
    for _ in 0..20 {
        let mut command = Command::new("python3");
        command.args(["-c", script]).current_dir(&mounted.at);
        let ended = end(command, b"");
        assert!(ended.how == "status 0", "{ended:?}");
        assert_eq!((get(&server, "f"), get(&server, "g")), (None, Some(b"one\ntwo\n".to_vec())));
    }
}

#[test]
fn what_was_there_stays_until_another_process_has_written() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/f", *b"old");
    let mounted = Mounted::bucket(&server, &[]);
    let mut command = Command::new("sh");
    command.args(["-c", "read line; echo $line"]).stdin(Stdio::piped());
    let mut child = command.stdout(File::create(mounted.path("f")).unwrap()).spawn().unwrap();
    // Here it is closed, without a byte.
    drop(command);
    assert_eq!(get(&server, "f").unwrap(), b"old");
    child.stdin.take().unwrap().write_all(b"new\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(get(&server, "f").unwrap(), b"new\n");
}

#[test]
fn who_makes_many_files_has_their_directory_listed_once() {
    if !can_mount() {
        return;
    }
    let server = server();
    (0..50).for_each(|at| server.put(&format!("/b/d/old{at}"), *b"old"));
    server.list_by(1000);
    let mounted = Mounted::bucket(&server, &[]);
    let lists = || server.asked().iter().filter(|line| line.contains("list-type")).count();
    assert!(fs::metadata(mounted.path("d/new0")).is_err());
    let before = lists();
    (0..100).for_each(|at| fs::write(mounted.path(format!("d/new{at}")), "new").unwrap());
    (0..50).for_each(|at| assert_eq!(fs::metadata(mounted.path(format!("d/old{at}"))).unwrap().len(), 3));
    assert!(lists() - before < 10, "{:?}", server.asked());
    fs::rename(mounted.path("d/new0"), mounted.path("d/old0")).unwrap();
    fs::remove_file(mounted.path("d/old1")).unwrap();
    let is_there = |name: &str| fs::metadata(mounted.path("d").join(name)).is_ok();
    assert_eq!(["new0", "new1", "old0", "old1", "old2"].map(is_there), [false, true, true, false, true]);
    assert_eq!(fs::read(mounted.path("d/old0")).unwrap(), b"new");
    assert_eq!(fs::read_dir(mounted.path("d")).unwrap().count(), 148);
    assert_eq!(fs::read(mounted.path("d/new99")).unwrap(), b"new");
}

#[test]
fn what_is_closed_never_comes_after_what_takes_its_place() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    server.answer_after(Duration::from_millis(2));
    for round in 0..40 {
        fs::write(mounted.path("new"), format!("round {round}")).unwrap();
        let mut old = File::create(mounted.path("old")).unwrap();
        // Closed before or after that, and without a byte or with some.
        if round % 4 > 1 {
            old.write_all(b"old").unwrap();
        }
        let open = (round % 2 == 0).then_some(old);
        fs::rename(mounted.path("new"), mounted.path("old")).unwrap();
        drop(open);
        assert_eq!((get(&server, "new"), get(&server, "old").unwrap()), (None, format!("round {round}").into_bytes()));
    }
    // Who could not be given the name leaves it to whoever writes.
    fs::write(mounted.path("new"), "new").unwrap();
    let mut old = File::create(mounted.path("old")).unwrap();
    old.write_all(b"old").unwrap();
    server.refuse_writes(true);
    assert_eq!(fs::rename(mounted.path("new"), mounted.path("old")).unwrap_err().raw_os_error(), Some(libc::EACCES));
    assert_eq!(get(&server, "old").unwrap(), b"round 39");
    server.refuse_writes(false);
    drop(old);
    assert_eq!((get(&server, "new"), get(&server, "old")), (Some(b"new".to_vec()), Some(b"old".to_vec())));
}

#[test]
fn who_syncs_hears_that_it_could_not_be_written_and_what_was_there_stays() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/old", *b"old bytes");
    let mounted = Mounted::bucket(&server, &[]);
    server.refuse_writes(true);
    for size in [1000, 20 << 20] {
        let mut file = File::create(mounted.path("old")).unwrap();
        // What is longer than is kept may be refused earlier, but once it was, it stays so.
        let written = file.write_all(&vec![7; size]);
        assert!(size > 1000 || written.is_ok(), "{written:?}");
        for _ in 0..2 {
            assert_eq!(file.sync_all().unwrap_err().raw_os_error(), Some(libc::EACCES), "{size}");
        }
        drop(file);
        assert_eq!(fs::read(mounted.path("old")).unwrap(), b"old bytes", "{size}");
        assert_eq!(get(&server, "old").unwrap(), b"old bytes");
    }
    assert_eq!(server.unfinished(), 0);
}

#[test]
fn a_short_file_is_written_in_any_order_read_and_cut_until_it_is_closed() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    let file = options.open(mounted.path("f")).unwrap();
    file.write_all_at(b"later", 5).unwrap();
    file.write_all_at(b"begin", 0).unwrap();
    file.write_all_at(b"gone", 20).unwrap();
    file.set_len(12).unwrap();
    let mut found = [1; 12];
    file.read_exact_at(&mut found, 0).unwrap();
    assert_eq!(&found, b"beginlater\0\0");
    file.sync_all().unwrap();
    assert_eq!(get(&server, "f").unwrap(), b"beginlater\0\0");
    file.write_all_at(b"B", 0).unwrap();
    drop(file);
    assert_eq!(get(&server, "f").unwrap(), b"Beginlater\0\0");
}

#[test]
fn who_reads_a_file_that_is_written_anew_keeps_what_he_opened() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/f", bytes("f", 1, 300_000));
    let mounted = Mounted::bucket(&server, &[]);
    let reader = File::open(mounted.path("f")).unwrap();
    reader.read_exact_at(&mut [0; 10], 0).unwrap();
    fs::write(mounted.path("f"), "new").unwrap();
    assert_eq!(reader.metadata().unwrap().len(), 300_000);
    let mut found = vec![0; 100_000];
    match reader.read_exact_at(&mut found, 150_000) {
        Ok(()) => assert!(found == bytes("f", 1, 300_000)[150_000..250_000]),
        Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ESTALE)),
    }
    assert_eq!(fs::read(mounted.path("f")).unwrap(), b"new");
}

#[test]
fn what_is_written_goes_where_its_name_goes() {
    if !can_mount() {
        return;
    }
    let server = server();
    server.put("/b/d/old", *b"old");
    let mounted = Mounted::bucket(&server, &[]);
    let mut file = File::create(mounted.path("d/new")).unwrap();
    file.write_all(b"one").unwrap();
    let listed: Vec<_> = fs::read_dir(mounted.path("d")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(listed.len(), 2, "{listed:?}");
    fs::rename(mounted.path("d/new"), mounted.path("d/old")).unwrap();
    file.write_all(b" two").unwrap();
    drop(file);
    assert_eq!((get(&server, "d/new"), get(&server, "d/old")), (None, Some(b"one two".to_vec())));
    // Also where that takes a while.
    let mut file = File::create(mounted.path("d/new")).unwrap();
    file.write_all(b"one").unwrap();
    file.sync_all().unwrap();
    server.answer_after(Duration::from_millis(100));
    std::thread::scope(|scope| {
        scope.spawn(|| fs::rename(mounted.path("d/new"), mounted.path("d/old")).unwrap());
        std::thread::sleep(Duration::from_millis(150));
        file.write_all(b" two, later").unwrap();
        drop(file);
    });
    server.answer_after(Duration::ZERO);
    assert_eq!((get(&server, "d/new"), get(&server, "d/old")), (None, Some(b"one two, later".to_vec())));
    // Without a name it is nobody's, and no error of who writes it.
    let mut file = File::create(mounted.path("d/gone")).unwrap();
    file.write_all(b"x").unwrap();
    file.sync_all().unwrap();
    fs::remove_file(mounted.path("d/gone")).unwrap();
    file.write_all(&vec![7; 9 << 20]).unwrap();
    file.sync_all().unwrap();
    drop(file);
    assert!(get(&server, "d/gone").is_none() && server.unfinished() == 0);
    fs::create_dir(mounted.path("e")).unwrap();
    let file = File::create(mounted.path("e/f")).unwrap();
    assert_eq!(fs::remove_dir(mounted.path("e")).unwrap_err().raw_os_error(), Some(libc::ENOTEMPTY));
    drop(file);
}

#[test]
fn who_opens_what_was_just_closed_waits_until_it_is_there() {
    if !can_mount() {
        return;
    }
    let server = server();
    let mounted = Mounted::bucket(&server, &[]);
    for _ in 0..50 {
        drop(File::create(mounted.path("f")).unwrap());
        assert_eq!(get(&server, "f").unwrap(), b"");
        // Closed without a byte where there is a file, it is put when the system lets go of it.
        fs::write(mounted.path("f"), "x").unwrap();
        drop(File::create(mounted.path("f")).unwrap());
        drop(OpenOptions::new().append(true).open(mounted.path("f")).unwrap());
        fs::write(mounted.path("f"), "x").unwrap();
        assert_eq!(get(&server, "f").unwrap(), b"x");
        fs::remove_file(mounted.path("f")).unwrap();
    }
}
