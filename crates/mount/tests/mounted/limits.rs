//! What the mount may not have more of costs who asks for it an error, and nobody the mount.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::place::{Mounted, Place, can_mount, server};
use crate::process::end;

/// Three of them, open at once, leave no room in memory for a fourth.
const LONG: usize = 8 << 20;

fn limited(mut command: Command, what: libc::__rlimit_resource_t, bytes: u64) -> Command {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: one system call on a copy of plain data.
    unsafe {
        command.pre_exec(move || {
            libc::setrlimit(what, &raw const limit);
            Ok(())
        });
    }
    command
}

#[test]
fn a_file_that_the_mount_may_not_make_so_long_is_an_error_of_who_writes_and_ends_nobody() {
    if !can_mount() {
        return;
    }
    let (place, server) = (Place::new(), server());
    let bytes: Vec<u8> = (0..LONG as u32).map(|at| (at >> 8) as u8).collect();
    server.put("/b/long", bytes.clone());
    let mount = |words: &[&str]| {
        let mut command = place.mount(&[words, &["--memory", "16MiB", "s3://b", "at"]].concat());
        command.env("AWS_ENDPOINT_URL", server.url());
        limited(command, libc::RLIMIT_FSIZE, 1 << 20)
    };
    let disk = format!("{}:64MiB", place.path("disk").display());
    let said = end(mount(&["--disk", &disk]), b"").with(2).err();
    assert!(said.contains("disk cannot be the cache's disk: File too large"), "{said}");
    let command = mount(&[]);
    let mounted = Mounted::by(place, command);
    let mut files = ["a", "b", "c", "d"].map(|name| File::create(mounted.path(name)).unwrap());
    let written = files.each_mut().map(|file| file.write_all(&bytes).map_err(|error| error.raw_os_error()));
    assert_eq!(written, [Ok(()), Ok(()), Ok(()), Err(Some(libc::EFBIG))]);
    drop(files);
    for name in ["a", "b", "c", "long"] {
        assert!(fs::read(mounted.path(name)).unwrap() == bytes, "{name}");
    }
    assert!(!mounted.path("d").exists());
    // A command that it starts has signals as they were.
    let place = Place::new();
    let ended = end(place.mount(&["from", "at", "--", "sh", "-c", "kill -XFSZ $$"]), b"");
    assert_eq!(ended.how, format!("signal {}", libc::SIGXFSZ));
}

#[test]
fn addresses_are_enough_or_it_is_not_mounted() {
    if !can_mount() {
        return;
    }
    let (place, server) = (Place::new(), server());
    let refused = |words: &[&str], bytes| {
        let mut command = place.mount(&[words, &["s3://b", "at"]].concat());
        command.env("AWS_ENDPOINT_URL", server.url());
        end(limited(command, libc::RLIMIT_AS, bytes), b"").with(2).err()
    };
    let said = refused(&["--memory", "1GiB"], 1 << 30);
    assert!(said.contains("2048 MiB of addresses, and 1024 are allowed here (ulimit -v)"), "{said}");
    let said = refused(&[], 512 << 20);
    assert!(said.contains("(ulimit -v): raise that limit"), "{said}");
    let names: Vec<String> = (0..256).map(|at| format!("f{at}")).collect();
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at >> 8) as u8).collect();
    names.iter().for_each(|name| server.put(&format!("/b/{name}"), bytes.clone()));
    let mut command = place.mount(&["s3://b", "at"]);
    command.env("AWS_ENDPOINT_URL", server.url());
    let mounted = Mounted::by(place, limited(command, libc::RLIMIT_AS, 900 << 20));
    // All of them wait at once.
    server.answer_after(Duration::from_millis(300));
    thread::scope(|scope| {
        for path in names.iter().map(|name| mounted.path(name)) {
            let bytes = &bytes;
            scope.spawn(move || {
                assert!(fs::read(&path).unwrap() == *bytes, "{}", path.display());
                fs::write(path.with_extension("new"), bytes).unwrap();
            });
        }
    });
}

#[test]
fn where_what_is_written_cannot_wait_is_told_and_is_no_error_of_a_name() {
    if !can_mount() {
        return;
    }
    let (place, server) = (Place::new(), server());
    let script = "exec 3>at/a 4>at/b 5>at/c 6>at/d; for to in 3 4 5 6; do head -c 8M /dev/zero >&$to || echo $to; done";
    let mut command = place.mount(&["--memory", "16MiB", "s3://b", "at", "--", "sh", "-c", script]);
    command.env("AWS_ENDPOINT_URL", server.url()).env("TMPDIR", "/no/where");
    let ended = end(command, b"").with(0);
    let said = ended.err();
    assert!(
        said.contains("what is written waits in /no/where (TMPDIR)") && said.contains("name a directory"),
        "{said}"
    );
    assert!(ended.out() == "6\n" && said.contains("Input/output error"), "{ended:?}");
    assert!(server.get("/b/c").is_some_and(|it| it.len() == LONG));
}
