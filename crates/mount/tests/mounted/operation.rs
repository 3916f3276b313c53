//! It comes, and goes, and says why not.

use std::ffi::CString;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::place::{Mounted, Place, can_mount, server};
use crate::process::{end, have, kill, wait_until};

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
fn variables_that_cannot_be_are_named() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    for (variable, value, source) in [
        ("AWS_ENDPOINT_URL", "127.0.0.1:7170", "s3://b"),
        ("AWS_ENDPOINT_URL_S3", "'http://h'", "s3://b"),
        ("AWS_REGION", "here there", "s3://b"),
        ("GOOGLE_BASE_URL", "h", "gs://b"),
        ("AZURE_STORAGE_ENDPOINT", "h", "az://b"),
    ] {
        let mut command = place.mount(&[source, "at"]);
        command.env(variable, value);
        let error = end(command, b"").with(2).err();
        assert!(error.contains(&format!("{variable} is {value:?}")) && error.lines().count() == 1, "{error}");
    }
    // What is empty is not set: these keys are.
    let server = server();
    server.put("/b/a", *b"text");
    let mut command = place.mount(&["s3://b", "at", "--", "cat", "at/a"]);
    command.env("AWS_ENDPOINT_URL", server.url()).env("AWS_ENDPOINT_URL_S3", "").env("AWS_SESSION_TOKEN", "");
    assert_eq!(end(command, b"").with(0).out(), "text");
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
        (&["from", "file"], &["file: is no directory: name an empty directory"]),
        (&["none", "at"], &["none: No such file", "s3://BUCKET/PREFIX"]),
        (&["az://x", "at"], &["az://x", "AZURE_STORAGE_ACCOUNT_NAME"]),
        (&["file", "at"], &["file: Not a directory"]),
        (&["s3://absent/x", "at"], &["there is no bucket s3://absent"]),
        (&["s3://closed", "at"], &["no right to read or write s3://closed", "AWS_ACCESS_KEY_ID"]),
        (&["s3://elsewhere", "at"], &["in another region", "AWS_REGION"]),
        (&["s3://punctual", "at"], &["s3://punctual", "clock is wrong"]),
        (&["s3://", "at"], &["names no bucket"]),
        (&["s3://b b", "at"], &["s3://b b: no bucket"]),
        (&["s3://b/../x", "at"], &["s3://b/../x: no object", "'..'"]),
        (&["s3://b/a//b", "at"], &["s3://b/a//b: no object", "''"]),
        (&["ftp://x", "at"], &["ftp://x: no such kind of store", "s3, gs, az, http, https"]),
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
fn where_no_command_was_run_the_status_is_not_like_a_commands() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    fs::create_dir_all(place.path("full/x")).unwrap();
    for words in [["from", "none"], ["from", "file"], ["from", "full"], ["none", "at"]] {
        end(place.mount(&[&words[..], &["--", "true"]].concat()), b"").with(125);
        end(place.mount(&words), b"").with(2);
    }
    end(place.mount(&["--log", "none/log", "from", "at", "--", "true"]), b"").with(125);
    // Words that are not understood are no failure of a mount's.
    end(place.mount(&["--none", "from", "at", "--", "true"]), b"").with(2);
}

#[test]
fn an_object_is_no_directory() {
    if !can_mount() {
        return;
    }
    let (place, server) = (Place::new(), server());
    server.put("/b/a", *b"a");
    server.put("/b/d/x", *b"x");
    server.put("/b/d", *b"both");
    for (address, is_one) in [("s3://b/a", false), ("s3://b/d/", true), ("s3://b/new", true)] {
        let mut command = place.mount(&[address, "at", "--", "true"]);
        command.env("AWS_ENDPOINT_URL", server.url());
        let ended = end(command, b"");
        assert_eq!(
            (ended.how == "status 0", ended.err().contains("is an object itself")),
            (is_one, !is_one),
            "{ended:?}"
        );
    }
}

#[test]
fn a_disk_that_has_less_room_than_it_may_take_is_told_of() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("f", "bytes");
    let script = "mkdir small; mount -t tmpfs -o size=2m none small
        for size in 1MiB 64MiB; do $PROGRAM mount --disk small/$size:$size from at -- cat at/f; done";
    let Some(ended) = place.unshared(script) else { return };
    let said = ended.with(0);
    assert_eq!(said.out(), "bytesbytes");
    assert!(
        said.err().contains("--disk small/64MiB: there is room for 1 MiB of 64; what finds none"),
        "{}",
        said.err()
    );
    assert!(!said.err().contains("small/1MiB"), "{}", said.err());
}

#[test]
fn none_is_mounted_over_another_and_what_may_not_be_executed_is_not() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    // A name that the system's list of mounts writes in another way.
    fs::create_dir(place.path("a t")).unwrap();
    let script = "\"$0\" mount from 'a t' -- true; echo $?; ls 'a t'";
    let words = ["from", "a t", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_foresee-mount")];
    let ended = end(place.mount(&words), b"").with(0);
    assert!(
        ended.out() == "125\n" && ended.err().contains("a t: a foresee shows something there already"),
        "{ended:?}"
    );
    let program = place.write("program", "#!/bin/sh\necho done\n");
    fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(end(place.mount(&["from", "at", "--", "at/program"]), b"").with(0).out(), "done\n");
    end(place.mount(&["--noexec", "from", "at", "--", "at/program"]), b"").with(126);
}

#[test]
fn profiles_of_amazons_tools_say_who_asks() {
    if !can_mount() {
        return;
    }
    let (place, server) = (Place::new(), server());
    for owner in ["ann", "ben", "cleo"] {
        server.put(&format!("/of-{owner}/a"), owner.as_bytes().to_vec());
    }
    let keys = |name: &str| format!("[{name}]\naws_access_key_id = {name}\naws_secret_access_key = x\n");
    let printed =
        r#"{"Version": 1, "AccessKeyId": "cleo", "SecretAccessKey": "x", "Expiration": "2999-01-01T00:00:00Z"}"#;
    let place_of = format!("region = here\nendpoint_url = {}\n", server.url());
    let config = format!("[profile ann]\n{place_of}[profile ben]\n{place_of}[profile cleo]\n{place_of}");
    fs::write(
        place.path("config"),
        format!("{config}credential_process = echo '{printed}'\n[profile half]\nregion = here\n"),
    )
    .unwrap();
    fs::write(place.path("credentials"), keys("ann") + &keys("ben")).unwrap();
    let shown = |profile: &str, owner: &str| {
        let mut command = place.mount(&[&format!("s3://of-{owner}"), "at", "--", "cat", "at/a"]);
        for variable in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"] {
            command.env_remove(variable);
        }
        command.env("AWS_PROFILE", profile).env("AWS_CONFIG_FILE", place.path("config"));
        command.env("AWS_SHARED_CREDENTIALS_FILE", place.path("credentials"));
        end(command, b"")
    };
    for profile in ["ann", "ben", "cleo"] {
        assert_eq!(shown(profile, profile).with(0).out(), profile);
    }
    let error = shown("ann", "ben").with(125).err();
    assert!(error.contains("no right to read or write s3://of-ben"), "{error}");
    let error = shown("dora", "ann").with(125).err();
    assert!(error.contains("there is no profile \"dora\" (AWS_PROFILE)") && error.contains("credentials"), "{error}");
}

#[test]
fn who_waits_for_a_store_that_does_not_answer_is_told() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    // A port where nobody listens.
    let mut command = place.mount(&["http://127.0.0.1:9", "at"]);
    let mut waits = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(waits.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "foresee: http://127.0.0.1:9: no answer yet; it is waited for, 120 seconds at most\n");
    // Nothing is mounted yet: who is tired of it ends it at once. (Ctrl-C is ignored where a shell runs
    // this in the background.)
    kill(waits.id() as i32, libc::SIGTERM);
    assert_eq!(waits.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn a_directory_is_not_shown_within_itself() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    fs::create_dir_all(place.path("from/in")).unwrap();
    symlink("from/in", place.path("link")).unwrap();
    for at in ["from", "from/in", "link"] {
        let error = end(place.mount(&["from", at]), b"").err();
        assert!(error.contains("lies within from"), "{error}");
    }
    assert!(!place.is_mounted());
}

#[test]
fn what_others_mounted_is_not_unmounted() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let mounts = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(place.path("at")).output().is_ok_and(|it| it.status.success())
    };
    if !mounts(&["mount", "-t", "tmpfs", "none"]) {
        eprintln!("skipped: only root may mount a tmpfs");
        return;
    }
    let error = end(place.unmount(), b"").with(2).err();
    assert!(mounts(&["umount"]) && error.contains("kind tmpfs") && error.contains("'umount "), "{error}");
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
    // By a link, with a slash behind it as shells complete it.
    symlink("at", place.path("link")).unwrap();
    wait_until("nobody uses it", || end(place.unmount_at("link/"), b"").how == "status 0");
    assert!(!place.is_mounted());
    assert!(end(place.unmount(), b"").with(2).err().contains("nothing is mounted there"));
}

#[test]
fn ordinary_users_unmount_what_is_theirs_without_a_path_and_are_told_what_is_roots() {
    // SAFETY: takes no arguments and cannot fail.
    if !can_mount() || unsafe { libc::geteuid() } != 0 {
        return eprintln!("skipped: not root");
    }
    const NOBODY: u32 = 65534;
    const HELPER: &str = "/bin/fusermount3";
    let mode = |path| fs::metadata(path).map_or(0, |it| it.mode());
    let place = Place::new();
    place.write("a", "text");
    chown(place.path("at"), Some(NOBODY), Some(NOBODY)).unwrap();
    let by_nobody = |mut command: Command| {
        command.env("PATH", "/no/where").uid(NOBODY).gid(NOBODY).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.output().inspect_err(|error| eprintln!("skipped: nobody may not start it here: {error}")).ok()
    };
    end(place.mount(&["--detach", "from", "at"]), b"").with(0);
    let refused = by_nobody(place.unmount());
    end(place.unmount(), b"").with(0);
    let Some(refused) = refused else { return };
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("at: root mounted it"), "{said}");
    if mode(HELPER) & 0o4000 == 0 || mode("/dev/fuse") & 0o006 != 0o006 {
        return eprintln!("skipped: {HELPER} is not to be run as root, or /dev/fuse is root's alone");
    }
    let told = place.path("told");
    fs::write(&told, "").unwrap();
    chown(&told, Some(NOBODY), Some(NOBODY)).unwrap();
    // Written by a process of its own, as nothing is started that another test's child has open to write.
    let mut script = Command::new("sh");
    script.args(["-c", "cat > helper; chmod 755 helper"]).current_dir(place.path(""));
    end(script, format!("#!/bin/sh\necho \"$*\" >> {}\nexec {HELPER} \"$@\"\n", told.display()).as_bytes()).with(0);
    for by_another in [false, true] {
        let mut command = place.mount(&["from", "at", "--", "/bin/cat", "at/a"]);
        command.env_remove("FUSERMOUNT_PATH");
        if by_another {
            command.env("FUSERMOUNT_PATH", place.path("helper"));
        }
        let Some(shown) = by_nobody(command) else { return };
        assert_eq!((shown.status.code(), &*shown.stdout), (Some(0), &b"text"[..]), "{shown:?}");
        assert!(!place.is_mounted(), "{shown:?}");
        assert_eq!(fs::read_to_string(&told).unwrap().contains("-u -z"), by_another);
    }
}

#[test]
fn root_that_may_not_mount_is_told_what_is_missing() {
    // SAFETY: takes no arguments and cannot fail.
    if !can_mount() || unsafe { libc::geteuid() } != 0 || !have("setpriv") {
        return eprintln!("skipped: not root, or no setpriv");
    }
    let place = Place::new();
    end(place.mount(&["--detach", "from", "at"]), b"").with(0);
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-sys_admin", env!("CARGO_BIN_EXE_foresee-mount"), "unmount", "at"]);
    command.current_dir(place.path(""));
    let refused = end(command, b"");
    end(place.unmount(), b"").with(0);
    let said = refused.with(2).err();
    assert!(said.contains("CAP_SYS_ADMIN") && !said.contains("root mounted it"), "{said}");
}

#[test]
fn who_is_unmounted_leaves_what_is_mounted_there_next() {
    if !can_mount() {
        return;
    }
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("skipped: not root");
    }
    let place = Place::new();
    place.write("a", "first");
    let mut first = Mounted::directory(place, &[]);
    // So that it hears of its end only when the next is there.
    kill(first.daemon.id() as i32, libc::SIGSTOP);
    let at = CString::new(first.at.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name ends with a zero. As umount(8) does, without a look at what does not answer.
    assert_eq!(unsafe { libc::umount2(at.as_ptr(), 0) }, 0);
    let second = first.place.mount(&["--detach", "from", "at"]);
    end(second, b"").with(0);
    kill(first.daemon.id() as i32, libc::SIGCONT);
    assert!(first.daemon.wait().unwrap().success());
    assert_eq!(fs::read(first.path("a")).unwrap(), b"first");
    end(first.place.unmount(), b"").with(0);
}

#[test]
fn who_was_unmounted_while_in_use_leaves_what_is_mounted_there_next() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("a", "first");
    let mut first = Mounted::directory(place, &[]);
    let open = fs::File::open(first.path("a")).unwrap();
    let at = CString::new(first.at.as_os_str().as_bytes()).unwrap();
    // SAFETY: the name ends with a zero.
    if unsafe { libc::umount2(at.as_ptr(), libc::MNT_DETACH) } != 0 {
        return eprintln!("skipped: not root");
    }
    let second = first.place.mount(&["--detach", "from", "at"]);
    end(second, b"").with(0);
    kill(first.daemon.id() as i32, libc::SIGTERM);
    assert!(first.daemon.wait().unwrap().success());
    assert_eq!(fs::read(first.path("a")).unwrap(), b"first");
    drop(open);
    end(first.place.unmount(), b"").with(0);
}

#[test]
fn what_it_says_is_as_much_as_was_asked_for_and_where() {
    if !can_mount() {
        return;
    }
    for (level, expected) in [("error", &[][..]), ("info", &["info"]), ("debug", &["info", "debug"])] {
        let place = Place::new();
        place.write("a", "text");
        let words = ["--log", "log", "--log-level", level, "from", "at", "--detach"];
        assert_eq!(end(place.mount(&words), b"").with(0).err(), "");
        assert_eq!(fs::read(place.path("at/a")).unwrap(), b"text");
        wait_until("nobody uses it", || end(place.unmount(), b"").how == "status 0");
        let log = fs::read_to_string(place.path("log")).unwrap();
        let mut levels: Vec<_> = log.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
        levels.dedup();
        assert!(levels.starts_with(expected) && levels.is_empty() == expected.is_empty(), "{level}: {log}");
        let is_told = |part: &str| log.contains(part) == (level == "debug");
        assert!(is_told("/from/a: done") && is_told("/from/a, 4096 bytes from 0 on: done in "), "{log}");
    }
}

#[test]
fn who_is_nobody_mounts_by_fusermount3() {
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("skipped: not root, and all else is tried so");
    }
    if !can_mount() || !["setpriv", "fusermount3"].iter().all(|it| have(it)) {
        return;
    }
    let place = Place::new();
    place.write("a", "text");
    // Where nobody may go, and what is nobody's.
    let program = place.path("foresee-mount");
    // By a process of its own: what another test starts just now would have it open to write, and
    // nothing that is may be started.
    let mut copy = Command::new("cp");
    copy.args([env!("CARGO_BIN_EXE_foresee-mount")]).arg(&program);
    end(copy, b"").with(0);
    let nobody = 65_534;
    for name in ["", "at"] {
        std::os::unix::fs::chown(place.path(name), Some(nobody), Some(nobody)).unwrap();
    }
    let script = "
./foresee-mount mount --detach from at
cat at/a
grep -c \" $PWD/at fuse.foresee \" /proc/self/mounts
./foresee-mount unmount at
ls at
./foresee-mount mount from at -- cat at/a
";
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "sh", "-ec", script]);
    command.current_dir(place.path("")).env("LC_ALL", "C");
    let ended = end(command, b"");
    // Where FUSE is root's alone.
    if ended.err().contains("/dev/fuse") {
        return eprintln!("skipped: {}", ended.err());
    }
    assert_eq!(ended.with(0).out(), "text1\ntext");
    assert!(!place.is_mounted());
    wait_until("its process is gone", || !runs("foresee-mount", nobody));
}

/// Whether a program of this name runs for this user. What asks for the command lines of all
/// processes, as pgrep does, waits for those of other tests that wait for their mounts.
fn runs(name: &str, user: u32) -> bool {
    let mut processes = fs::read_dir("/proc").unwrap().map_while(Result::ok).map(|it| it.path());
    let is_it = |process: &Path| {
        fs::metadata(process).is_ok_and(|it| it.uid() == user)
            && fs::read_to_string(process.join("comm")).is_ok_and(|it| it.trim_end() == name)
    };
    processes.any(|it| is_it(&it))
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
