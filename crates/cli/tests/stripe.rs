//! `foresee stripe`: the file is there, whole, for any program, foreseen or not; and gone
//! afterwards.

mod support;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use support::process::{kill, wait_until};
use support::{Ended, Place, Under, binary, end, is_root, lines_of};

/// Whether striped files can be shown here; says so if not.
fn can_mount() -> bool {
    let fuse = File::options().read(true).write(true).open("/dev/fuse");
    fuse.inspect_err(|error| eprintln!("skipped: /dev/fuse: {error}")).is_ok() && is_root()
}

/// A place with a file `f`, dealt out to `m0`, `m1` and `m2`.
fn striped() -> (Place, String) {
    let place = Place::new();
    let text = lines_of(7, 60_000);
    place.write("f", &text);
    let split = ["stripe", "split", "--unit", "16K", "f", "m0", "m1", "m2"];
    end(place.foresee(&split), b"").with(0);
    (place, text)
}

/// What a command on the mounted file `s` comes to.
fn shown(place: &Place, words: &[&str]) -> Ended {
    let ended = end(place.foresee(&[&["stripe", "mount", "s", "m2", "m0", "m1", "--"], words].concat()), b"");
    assert_gone(place);
    ended
}

fn assert_gone(place: &Place) {
    assert!(fs::symlink_metadata(place.path("s")).is_err(), "the file is still there");
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(place.work().to_str().unwrap()), "{mounts}");
}

#[test]
fn a_file_comes_back() {
    let (place, text) = striped();
    assert_eq!(end(place.foresee(&["stripe", "join", "m1", "m2", "m0"]), b"").with(0).out(), text);
    assert!(fs::read_to_string(place.path("m1")).unwrap().starts_with("foresee stripe 1\nset "));
    let again = end(place.foresee(&["stripe", "split", "f", "m0", "new"]), b"").with(2);
    assert_eq!(again.err(), "foresee: m0: exists already; remove it or name another\n");
    assert!(!place.path("new").exists());
    let fewer = end(place.foresee(&["stripe", "join", "m1", "m2"]), b"").with(2);
    assert_eq!(fewer.err(), "foresee: m1: its set has 3 members; number 1 is not given\n");
    // To a disk that is full.
    let mut full = place.foresee(&["stripe", "join", "m0", "m1", "m2"]);
    full.stdout(File::options().write(true).open("/dev/full").unwrap()).stderr(Stdio::piped());
    let output = full.output().unwrap();
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("No space"));
}

#[test]
fn a_split_that_is_interrupted_or_finds_no_room_leaves_nothing() {
    let place = Place::new();
    File::create(place.path("f")).unwrap().set_len(8 << 30).unwrap();
    let mut child = place.foresee(&["stripe", "split", "f", "m0", "m1"]).spawn().unwrap();
    wait_until("it writes", || fs::read_dir(place.work()).unwrap().count() == 3);
    kill(child.id() as i32, libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert_eq!(fs::read_dir(place.work()).unwrap().count(), 1);
    // A limit on files stands for a full disk: the error comes from the same call.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" stripe split f m0 m1"]).arg(binary());
    limited.current_dir(place.work());
    let ended = end(limited, b"").with(2);
    assert!(ended.err().contains("m0: File too large") || ended.err().contains("m1: File too large"), "{ended:?}");
    assert_eq!(fs::read_dir(place.work()).unwrap().count(), 1);
}

#[test]
fn any_program_reads_it_foreseen_or_not() {
    let (place, text) = striped();
    if !can_mount() {
        return;
    }
    assert_eq!(shown(&place, &["cat", "s"]).with(0).out(), text);
    let matching = end(place.plain(&["grep", "-n", "word3", "f"]), b"").with(0);
    let foreseen = [binary().to_str().unwrap(), "run", "-q", "--", "grep", "-n", "word3", "s"];
    for _ in 0..2 {
        assert_eq!(shown(&place, &foreseen), matching);
    }
    // From the place, by mapping, with and without the page cache.
    let python = "import mmap, os, sys
f = open('s', 'rb')
assert os.fstat(f.fileno()).st_size == os.stat('f').st_size
m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
d = os.open('s', os.O_RDONLY | os.O_DIRECT)
b = mmap.mmap(-1, 1 << 20)
n = os.preadv(d, [b], 12288)
whole = open('f', 'rb').read()
sys.exit(not (m[:] == whole and b[:n] == whole[12288:12288 + n] and n > 0))";
    shown(&place, &["python3", "-c", python]).with(0);
    let denied = shown(&place, &["sh", "-c", "echo more >> s"]);
    assert!(denied.how != "status 0" && denied.err().contains("Read-only"), "{denied:?}");
}

#[test]
fn a_file_of_any_size_is_shown() {
    if !can_mount() {
        return;
    }
    for size in [0, 1, 4095, 4096, 65_536, 65_537, 131_072, 500_000] {
        let place = Place::new();
        let data: Vec<u8> = (0..size).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        place.write("f", &data);
        end(place.foresee(&["stripe", "split", "f", "m0", "m1", "m2"]), b"").with(0);
        assert!(shown(&place, &["cat", "s"]).with(0).stdout == data, "{size} bytes");
    }
}

#[test]
fn threads_reading_at_random_get_exact_bytes() {
    let (place, text) = striped();
    if !can_mount() {
        return;
    }
    let mut shown = mounted(&place);
    let file = File::open(place.path("s")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6u64 {
            let (file, text) = (&file, text.as_bytes());
            scope.spawn(move || {
                let mut random = 88_172_645_463_325_252 + thread;
                for _ in 0..400 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let (at, bytes) = ((random % text.len() as u64) as usize, (random >> 40) as usize % 50_000);
                    let mut got = vec![0; bytes.min(text.len() - at)];
                    file.read_exact_at(&mut got, at as u64).unwrap();
                    assert!(got == text[at..][..got.len()], "{bytes} from {at}");
                    if random % 16 == 0 {
                        foresee_run::host::drop_pages(file, 0, 0);
                    }
                }
            });
        }
    });
    drop(file);
    shown.stop(libc::SIGTERM);
    assert_gone(&place);
}

/// `stripe mount` without a command.
struct Shown(Option<std::process::Child>);

impl Shown {
    fn stop(&mut self, signal: i32) {
        let mut child = self.0.take().unwrap();
        kill(child.id() as i32, signal);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            kill(child.id() as i32, libc::SIGTERM);
            let _ = child.wait();
        }
    }
}

fn mounted(place: &Place) -> Shown {
    let child = place.foresee(&["stripe", "mount", "s", "m0", "m1", "m2"]).stderr(Stdio::null()).spawn().unwrap();
    let shown = Shown(Some(child));
    wait_until("it is mounted", || fs::metadata(place.path("s")).is_ok_and(|it| it.len() > 0));
    shown
}

#[test]
fn it_ends_cleanly_however_it_is_ended() {
    let (place, text) = striped();
    if !can_mount() {
        return;
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut shown = mounted(&place);
        assert_eq!(fs::read_to_string(place.path("s")).unwrap(), text);
        shown.stop(signal);
        assert_gone(&place);
    }
    // Somebody unmounts it.
    let mut shown = mounted(&place);
    let path = place.path("s");
    assert!(Command::new("umount").arg(&path).status().unwrap().success());
    assert_eq!(shown.0.take().unwrap().wait().unwrap().code(), Some(0));
    assert_gone(&place);
    // Somebody has it open.
    let mut shown = mounted(&place);
    let open = File::open(&path).unwrap();
    shown.stop(libc::SIGTERM);
    assert_gone(&place);
    let _ = open.read_at(&mut [0; 10], 0);
    // Its place is another's meanwhile.
    let mut child = mounted(&place).0.take().unwrap();
    kill(child.id() as i32, libc::SIGSTOP);
    assert!(Command::new("umount").arg("-l").arg(&path).status().unwrap().success());
    fs::remove_file(&path).unwrap();
    place.write("s", "mine");
    kill(child.id() as i32, libc::SIGCONT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(&path).unwrap();
    // With a command: its own status, its own signals.
    assert_eq!(shown_status(&place, "exit 7"), "status 7");
    assert_eq!(shown_status(&place, "kill -TERM $$"), "signal 15");
    let under = Under::way(place.foresee(&[
        "stripe",
        "mount",
        "s",
        "m0",
        "m1",
        "m2",
        "--",
        "sh",
        "-c",
        "trap 'exit 9' TERM; echo; while :; do sleep 0.05; done",
    ]));
    kill(under.pid(), libc::SIGTERM);
    assert_eq!(under.finish().1, "status 9");
    assert_gone(&place);
    end(place.foresee(&["stripe", "mount", "s", "m0", "m1", "m2", "--", "no-such-program"]), b"").with(127);
    assert_gone(&place);
}

/// Has the kernel give up the file system at `s`; says so if it cannot.
fn abort(place: &Place) -> bool {
    let (control, dev) = (place.aside("control"), fs::metadata(place.path("s")).unwrap().dev());
    fs::create_dir_all(&control).unwrap();
    let control_word = control.to_str().unwrap();
    if end(place.plain(&["mount", "-t", "fusectl", "fusectl", control_word]), b"").how != "status 0" {
        eprintln!("skipped: no fusectl");
        return false;
    }
    let done = fs::write(control.join(libc::minor(dev).to_string()).join("abort"), "1");
    end(place.plain(&["umount", control_word]), b"").with(0);
    done.unwrap();
    true
}

#[test]
fn what_dies_before_its_time_is_an_error() {
    let (place, _) = striped();
    if !can_mount() {
        return;
    }
    let mut shown = mounted(&place);
    if !abort(&place) {
        return;
    }
    assert_eq!(shown.0.take().unwrap().wait().unwrap().code(), Some(2));
    assert_gone(&place);
    let words = ["stripe", "mount", "s", "m0", "m1", "m2", "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done"];
    let mut child = place.foresee(&words).stderr(Stdio::null()).spawn().unwrap();
    wait_until("it is mounted", || fs::metadata(place.path("s")).is_ok_and(|it| it.len() > 0));
    assert!(abort(&place));
    place.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert_gone(&place);
}

#[test]
fn who_may_not_read_a_member_may_not_read_the_file() {
    let (place, _) = striped();
    if !can_mount() {
        return;
    }
    for (owners, modes, perm) in [
        ([(1, 1), (2, 2), (3, 3)], [0o644, 0o444, 0o664], "444"),
        ([(1, 1), (2, 1), (1, 1)], [0o644, 0o600, 0o644], "0"),
        ([(1, 1), (2, 1), (1, 1)], [0o640, 0o640, 0o640], "40"),
        ([(1, 1), (1, 2), (1, 1)], [0o640, 0o640, 0o640], "400"),
        ([(1, 1), (2, 2), (1, 1)], [0o640, 0o640, 0o640], "0"),
        ([(1, 1), (1, 1), (1, 1)], [0o640, 0o644, 0o640], "440"),
    ] {
        for (member, ((uid, gid), mode)) in owners.into_iter().zip(modes).enumerate() {
            let member = place.path(format!("m{member}"));
            chown(&member, Some(uid), Some(gid)).unwrap();
            fs::set_permissions(&member, Permissions::from_mode(mode)).unwrap();
        }
        let told = shown(&place, &["stat", "-c", "%a", "s"]).with(0).out();
        assert_eq!(told.trim(), perm, "{owners:?} {modes:?}");
    }
}

#[test]
fn what_a_killed_one_left_is_told_from_a_file() {
    let (place, _) = striped();
    if !can_mount() {
        return;
    }
    let mut child = mounted(&place).0.take().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = end(place.foresee(&["stripe", "mount", "s", "m0", "m1", "m2"]), b"").with(2);
    assert_eq!(ended.err(), "foresee: s: was left by a foresee that was killed or crashed; 'umount s' and remove it\n");
    assert!(Command::new("umount").arg(place.path("s")).status().unwrap().success());
    fs::remove_file(place.path("s")).unwrap();
    assert_gone(&place);
}

fn shown_status(place: &Place, script: &str) -> String {
    shown(place, &["sh", "-c", script]).how
}

#[test]
fn what_cannot_be_shown_is_refused_and_said() {
    let (place, _) = striped();
    let refused = |words: &[&str]| {
        let ended = end(place.foresee(&[&["stripe", "mount"], words].concat()), b"").with(2);
        assert!(Path::new(&place.path("s")).symlink_metadata().is_err());
        ended.err()
    };
    assert_eq!(refused(&["f", "m0", "m1", "m2"]), "foresee: f: exists already; name a file that does not\n");
    assert_eq!(refused(&["s", "m0", "m2"]), "foresee: m0: its set has 3 members; number 2 is not given\n");
    assert!(refused(&["no/s", "m0", "m1", "m2"]).starts_with("foresee: no/s: No such file"));
    File::options().write(true).open(place.path("m2")).unwrap().set_len(5000).unwrap();
    assert!(refused(&["s", "m0", "m1", "m2"]).starts_with("foresee: m2: has 5000 bytes where member 3 of its set has"));
    // Where the command's status is awaited, ours must not look like it.
    end(place.foresee(&["stripe", "mount", "s", "m0", "m1", "m2", "--", "true"]), b"").with(125);
}

#[test]
fn a_broken_member_fails_what_lies_on_it_only() {
    let (place, text) = striped();
    if !can_mount() {
        return;
    }
    let mut shown = mounted(&place);
    // All but its first unit goes while it is shown: bytes 65,536 to 81,919 are the next to miss.
    File::options().write(true).open(place.path("m1")).unwrap().set_len(4096 + 16_384).unwrap();
    let file = File::open(place.path("s")).unwrap();
    let mut page = [0; 4096];
    for at in [0, 16_384, 28_672, 61_440, 81_920, 98_304] {
        file.read_exact_at(&mut page, at).unwrap_or_else(|error| panic!("at {at}: {error}"));
        assert!(page == text.as_bytes()[at as usize..][..4096]);
    }
    for at in [65_536, 77_824, 114_688] {
        assert_eq!(file.read_at(&mut page, at).unwrap_err().raw_os_error(), Some(libc::EIO), "at {at}");
    }
    drop(file);
    shown.stop(libc::SIGINT);
    assert_gone(&place);
}
