//! Programs of another user than foresee's: handed the ring if they are of the run, and nobody else
//! is.

mod support;

use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::process::kill;
use support::processes::{program_of, state_of};
use support::{Ended, Place, Under, binary, end, have, is_root, lines_of, wait_until};

const NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// A place where anybody may write, with foresee where anybody may read it; None where we cannot
/// act as another user.
fn place() -> Option<Place> {
    if !is_root() || !have("setpriv") {
        return None;
    }
    let place = Place::new();
    place.write_lines(4, 2000);
    fs::set_permissions(place.work(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::create_dir(place.aside("bin")).unwrap();
    for file in [binary().to_owned(), binary().with_file_name("libforesee_preload.so")] {
        copy(&place, &file, &place.aside("bin"));
    }
    Some(place)
}

/// Copies a program by another one: what this process has open to be written, a child of another test's may
/// have as well for a moment, and as long nobody can execute it.
fn copy(place: &Place, program: &Path, to: &Path) {
    end(place.plain(&[OsStr::new("cp"), program.as_os_str(), to.as_os_str()]), b"").with(0);
}

/// `foresee run OPTIONS -- WORDS`, from where anybody may read it.
fn run(place: &Place, options: &[&str], words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = place.command(place.aside("bin").join("foresee"));
    command.arg("run").args(options).arg("--").args(words);
    command
}

/// A script run by nobody under root's foresee: how it ended, and the account.
fn account(place: &Place, options: &[&str], script: &str) -> (Ended, Value) {
    let file = place.aside("account.json");
    let options = [options, &["--no-words", "--json", file.to_str().unwrap()]].concat();
    let ended = end(run(place, &options, &[&NOBODY[..], &["sh", "-c", script]].concat()), b"");
    (ended, serde_json::from_slice(&fs::read(&file).unwrap()).unwrap())
}

/// Reads of a program in an account.
fn bytes_of(account: &Value, program: &str) -> u64 {
    let programs = account["by_program"].as_array().unwrap().iter();
    programs.filter(|it| it["name"] == program).map(|it| it["bytes"].as_u64().unwrap()).sum()
}

fn said(files: usize) -> String {
    (0..files).map(|it| lines_of(it, 2000)).collect()
}

#[test]
fn they_are_seen_and_known_in_the_next_run() {
    let Some(place) = place() else { return };
    // The last is nobody's child any more.
    let script = "cat d/f0; sh -c 'cat d/f1; exec cat d/f2'; (setsid sh -c 'cat d/f3 >out; mv out done' &)
        until [ -e done ]; do sleep 0.01; done; cat done; rm done";
    for steps in [0, 4] {
        place.make_cold();
        let (ended, account) = account(&place, &[], script);
        assert!(ended.clone().with(0).out() == said(4) && ended.err().is_empty(), "{ended:?}");
        assert_eq!(account["unseen"], Value::Array(Vec::new()), "{account:#}");
        assert!(bytes_of(&account, "cat") >= said(4).len() as u64, "{account:#}");
        assert!(account["profile_steps"].as_u64().unwrap_or(0) >= steps, "{account:#}");
    }
    place.assert_nothing_left();
}

#[test]
fn they_are_seen_where_runs_share_a_supervisor() {
    let Some(place) = place() else { return };
    let name = format!("other-users-{}", std::process::id());
    let (ended, account) = account(&place, &["--join", &name], "cat d/f0 d/f1");
    assert_eq!(ended.with(0).out(), said(2));
    assert!(bytes_of(&account, "cat") >= said(2).len() as u64, "{account:#}");
}

#[test]
fn who_is_not_of_the_run_is_given_nothing_and_not_heard_for_ever() {
    let Some(place) = place() else { return };
    // What anybody may know of the run, said until nobody listens.
    let stranger = "
import socket, sys
asker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
asker.bind('')
asker.connect(b'\\0' + sys.argv[1].encode())
asker.settimeout(0.2)
said = 0
try:
    while said < 1000000:
        said += asker.send(sys.argv[1].encode()) > 0
except OSError:
    print('heard', said > 1000)
try:
    print('given', asker.recvmsg(10, 100))
except OSError:
    print('given nothing')
";
    place.write("stranger.py", stranger);
    if !have("python3") {
        return;
    }
    let script = format!("echo ready; until [ -e go ]; do sleep 0.01; done; {} cat d/f0", NOBODY.join(" "));
    let file = place.aside("account.json");
    let under = Under::way(run(&place, &["--json", file.to_str().unwrap()], &["sh", "-c", &script]));
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    let ours = format!("@/proc/{}/fd/", under.pid());
    let address = sockets.split_whitespace().find(|word| word.starts_with(&ours)).expect("a socket for the run");
    let asked = end(place.plain(&["python3", "stranger.py", &address[1..]]), b"").with(0);
    assert_eq!(asked.out(), "heard True\ngiven nothing\n", "{asked:?}");
    place.write("go", "");
    let (said_all, how) = under.finish();
    assert_eq!((said_all, how), (format!("ready\n{}", said(1)), "status 0".to_owned()));
    let account: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(bytes_of(&account, "cat"), 0, "nobody is heard any more: {account:#}");
}

#[test]
fn who_kills_what_was_started_kills_them_too() {
    let Some(place) = place() else { return };
    // By then it is another user's, and the kernel has forgotten that it is to end with its parent.
    let script = "echo ready; exec sleep 1000";
    for options in [&[][..], &["--no-learn"]] {
        let under = Under::way(run(&place, options, &[&NOBODY[..], &["sh", "-c", script]].concat()));
        let program = program_of(under.pid());
        kill(under.pid(), libc::SIGKILL);
        assert_eq!(under.wait(), "signal 9");
        wait_until("the program has ended", || state_of(program).is_none_or(|(state, _)| state == 'Z'));
        place.assert_nothing_left();
    }
}

#[test]
fn they_begin_as_ever_when_the_companion_was_killed() {
    let Some(place) = place() else { return };
    let script = format!("echo ready; until [ -e go ]; do sleep 0.01; done; {} cat d/f0 d/f1", NOBODY.join(" "));
    let under = Under::way(run(&place, &[], &["sh", "-c", &script]));
    let program = program_of(under.pid());
    let companion = place.processes().into_iter().find(|&pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        pid != program && name == "supervisor\n"
    });
    let companion = companion.expect("a companion");
    kill(companion, libc::SIGKILL);
    wait_until("the companion is gone", || state_of(companion).is_none());
    place.write("go", "");
    let (said_all, _) = under.finish();
    assert!(said_all == format!("ready\n{}", said(2)), "the output differs");
    place.assert_nothing_left();
}

/// Gives a program the right to read all files (`setcap cap_dac_read_search+ep`); whether that can be.
fn give_right(program: &Path) -> bool {
    // Version 2, effective; then which are permitted and which may be inherited, in two halves.
    let rights: Vec<u8> = [0x0200_0001_u32, 1 << 2, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes).collect();
    let path = CString::new(program.as_os_str().as_bytes()).unwrap();
    let name = c"security.capability".as_ptr();
    // SAFETY: the names end with a zero, and there are as many bytes as is said.
    let result = unsafe { libc::setxattr(path.as_ptr(), name, rights.as_ptr().cast(), rights.len(), 0) };
    let is_given = result == 0;
    if !is_given {
        eprintln!("skipped: setxattr: {}", std::io::Error::last_os_error());
    }
    is_given
}

/// Of which the dynamic linker keeps the library out.
#[test]
fn what_has_rights_of_its_own_is_named_to_others_than_root() {
    let Some(place) = place() else { return };
    let named = |program: &str, mode: u32| {
        fs::set_permissions(place.path(program), fs::Permissions::from_mode(mode)).unwrap();
        let (direct, script) = ([program, "d/f0"], format!("{program} d/f0; cat d/f1 >&2"));
        for words in [&direct[..], &["sh", "-c", &script]] {
            let under = run(&place, &["--no-learn", "--report"], words);
            let mut command = place.command(NOBODY[0]);
            command.args(&NOBODY[1..]).arg(under.get_program()).args(under.get_args());
            let ended = end(command, b"").with(0);
            assert_eq!(ended.out(), said(1));
            let is_named = ended.err().contains("with rights of its own");
            assert!(is_named && !ended.err().contains("static"), "{words:?}, {mode:o}: {}", ended.err());
        }
    };
    for program in ["./set_user", "./capable"] {
        copy(&place, Path::new("/bin/cat"), &place.path(program));
    }
    for mode in [0o4755, 0o4711] {
        named("./set_user", mode);
    }
    fs::set_permissions(place.path("./capable"), fs::Permissions::from_mode(0o755)).unwrap();
    if give_right(&place.path("./capable")) {
        named("./capable", 0o755);
        named("./capable", 0o711);
    }
}

/// Where they are not given, the library is in it.
#[test]
fn what_lies_on_a_mount_that_gives_no_rights_has_none_of_its_own() {
    const MOUNTS: &str =
        "mount -t tmpfs -o nosuid none d && cp /bin/cat d && chmod 4755 d/cat && echo text > d/f && exec \"$@\"";
    let Some(place) = place() else { return };
    if !have("unshare") || end(place.plain(&["unshare", "--mount", "true"]), b"").how != "status 0" {
        return;
    }
    let under = run(&place, &["--no-learn", "--report"], &["d/cat", "d/f"]);
    let mut command = place.plain(&["unshare", "--mount", "sh", "-c", MOUNTS, "sh"]);
    command.args(NOBODY).arg(under.get_program()).args(under.get_args());
    let ended = end(command, b"").with(0);
    assert_eq!(ended.out(), "text\n");
    let report = ended.err();
    assert!(!report.contains("with rights of its own") && report.contains("reads of 5 B"), "{report}");
}
