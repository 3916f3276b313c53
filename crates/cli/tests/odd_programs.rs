//! Programs that treat their own process in unusual ways.

mod support;

use std::fs;
use std::os::unix::process::CommandExt;

use support::{Place, Same, end, have, lines_of, same};

/// Compiles a C program with these options into `work/NAME`.
fn compile(place: &Place, name: &str, source: &str, options: &[&str]) -> bool {
    place.write(format!("{name}.c"), source);
    let output = place.path(name);
    let mut command = place.plain(&["gcc", "-O1", "-o", output.to_str().unwrap(), &format!("{name}.c")]);
    command.args(options);
    let ended = end(command, b"");
    if ended.how != "status 0" {
        eprintln!("skipped: gcc {options:?}: {ended:?}");
    }
    ended.how == "status 0"
}

const CLOSES_ALL: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    for (int fd = 3; fd <= 1024; fd++) close(fd);
    int fd = open("f", O_RDONLY);
    char buffer[4096];
    long all = 0, got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0) { all += got; if (write(1, buffer, got) != got) return 9; }
    fprintf(stderr, "descriptor %d, %ld bytes\n", fd, all);
    close_range(3, ~0U, 0);
    FILE *again = fopen("f", "r");
    fprintf(stderr, "descriptor %d, first %c\n", fileno(again), getc(again));
    for (int fd = 0; fd < 3; fd++) close(fd);
    return open("f", O_RDONLY) == 0 ? 0 : 8;
}
"#;

#[test]
fn all_descriptors_closed() {
    if !have("gcc") {
        return;
    }
    let place = Place::new();
    place.write("f", lines_of(0, 1000));
    if compile(&place, "closes", CLOSES_ALL, &["-D_GNU_SOURCE"]) {
        let ended = same(&place, &["./closes"]).with(0);
        assert!(ended.err().starts_with("descriptor 3, "), "{ended:?}");
        Same::script(&place, "ulimit -n 5; ./closes").check();
    }
}

#[test]
fn a_static_program_is_said_to_be_seen_from_outside() {
    if !have("gcc") {
        return;
    }
    let place = Place::new();
    place.write("f", lines_of(0, 1000));
    if !compile(&place, "static", CLOSES_ALL, &["-D_GNU_SOURCE", "-static"]) {
        return;
    }
    same(&place, &["./static"]).with(0);
    let (ended, account) = place.account(&["--report"], &["./static"]);
    let unseen = serde_json::json!([{ "name": "static", "why": "static", "executions": 1, "from_outside": true }]);
    assert_eq!((&account["watched"], &account["unseen"]), (&true.into(), &unseen));
    assert!(ended.err().contains("foresee: seen from outside, without its waits: static (static)\n"), "{ended:?}");
    // Its dynamic children are watched as ever.
    let (_, account) = place.account(&[], &["sh", "-c", "./static; cat f"]);
    assert_eq!((&account["watched"], &account["unseen"][0]["name"]), (&true.into(), &"static".into()));
}

#[test]
fn programs_of_another_word_size_run_without_a_word_of_the_linkers() {
    if !have("gcc") {
        return;
    }
    let place = Place::new();
    place.write("f", lines_of(0, 1000));
    if compile(&place, "foreign", CLOSES_ALL, &["-D_GNU_SOURCE", "-m32"]) {
        same(&place, &["./foreign"]).with(0);
        same(&place, &["sh", "-c", "./foreign; true"]).with(0);
        let ended = end(place.run(&["--report"], &["./foreign"]), b"").with(0);
        assert!(ended.err().contains("foreign (for another machine or word size)"), "{ended:?}");
    }
}

#[test]
fn nothing_is_said_in_a_sandbox() {
    let place = Place::new();
    place.write("f", lines_of(0, 1000));
    let words =
        ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"];
    let words = [&words[..], &["--symlink", "usr/bin", "/bin", "--bind", ".", "/d", "cat", "/d/f"]].concat();
    if !have("bwrap") || end(place.plain(&words), b"").how != "status 0" {
        return eprintln!("skipped: bwrap cannot make a sandbox here");
    }
    same(&place, &words).with(0);
}

#[test]
fn a_cleared_environment() {
    let place = Place::new();
    place.write("f", lines_of(0, 100));
    same(&place, &["env", "-i", "cat", "f"]).with(0);
    Same::script(&place, "env -i /bin/sh -c 'cat f; env | sort'").check().with(0);
    Same::script(&place, "unset LD_PRELOAD; cat f; FORESEE_RING=/etc/passwd cat f; FORESEE_RING= cat f")
        .check()
        .with(0);
    Same::script(&place, "FORESEE_RING=/dev/zero cat f; FORESEE_RING=/proc/1/fd/3 cat f").check().with(0);
}

const PRELOADED: &str = r#"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
ssize_t read(int fd, void *buffer, size_t count) {
    ssize_t (*next)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
    ssize_t got = next(fd, buffer, count);
    // foresee itself has it loaded as well.
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own);
    if (length > 8 && !memcmp(own + length - 8, "/foresee", 8)) return got;
    for (ssize_t i = 0; i < got; i++) if (((char *)buffer)[i] == 'w') ((char *)buffer)[i] = 'W';
    return got;
}
"#;

#[test]
fn a_program_that_preloads_too() {
    if !have("gcc") {
        return;
    }
    let place = Place::new();
    place.write("f", lines_of(0, 100));
    if !compile(&place, "own.so", PRELOADED, &["-D_GNU_SOURCE", "-shared", "-fPIC"]) {
        return;
    }
    let own = place.path("own.so").display().to_string();
    let script = format!("LD_PRELOAD={own} cat f");
    assert!(Same::script(&place, &script).check().with(0).out().contains("Word1 "));
    // Both, as foresee puts itself before what is there.
    let ended = Same::new(&place, &["head", "-n", "5", "f"]).adapt(|command| {
        command.env("LD_PRELOAD", &own);
    });
    assert!(ended.check().with(0).out().contains("Word1 "));
    let script = format!("LD_PRELOAD=\"$LD_PRELOAD:{own}\" cat f");
    assert!(Same::script(&place, &script).check().with(0).out().contains("Word1 "));
}

const REPORTS_ITSELF: &str = "
import os, sys, resource, signal
def line(*what): os.write(4, (' '.join(map(str, what)) + '\\n').encode())
status = dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)
for key in ['SigBlk', 'SigIgn', 'Groups', 'Umask', 'NoNewPrivs', 'CapEff', 'Cpus_allowed_list']: line(key, status[key].strip())
line('limits', open('/proc/self/limits').read())
hidden = ('LD_PRELOAD', 'FORESEE_RING')
line('environment', sorted((k, v) for k, v in os.environ.items() if k not in hidden))
line('directory', os.getcwd(), 'nice', os.nice(0), 'words', sys.argv, sys.orig_argv)
for fd in range(10):
    try: target = os.readlink(f'/proc/self/fd/{fd}').split(':')[0]
    except OSError as e: target = e.strerror
    line(fd, target, 'closed on exec' if target != 'No such file or directory' and not os.get_inheritable(fd) else '')
line('group leader', os.getpgrp() == os.getpid(), 'session leader', os.getsid(0) == os.getpid())
line('scheduler', os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)))
line('personality', open('/proc/self/personality').read(), open('/proc/self/oom_score_adj').read())
line('timer slack', open('/proc/self/timerslack_ns').read() if os.path.exists('/proc/self/timerslack_ns') else '')
";

/// What a program inherits from whoever starts it must pass through foresee.
fn inherits(what: &str, prepare: fn()) {
    if !have("python3") {
        return;
    }
    let place = Place::new();
    place.write("report.py", REPORTS_ITSELF);
    let mut reports = Vec::new();
    for foreseen in [false, true] {
        let words = ["python3", "report.py", "a", "-b", "--", "c d", ""];
        let mut command = if foreseen { place.run(&[], &words) } else { place.plain(&words) };
        let file = fs::File::create(place.aside("report")).unwrap();
        let to = std::os::fd::AsRawFd::as_raw_fd(&file);
        // SAFETY: system calls only, between fork and exec.
        unsafe {
            command.pre_exec(move || {
                if libc::dup2(to, 4) < 0 || libc::fcntl(4, libc::F_SETFD, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                prepare();
                Ok(())
            });
        }
        let ended = end(command, b"").with(0);
        assert_eq!((ended.out(), ended.err()), (String::new(), String::new()), "{what}");
        let report = fs::read_to_string(place.aside("report")).unwrap();
        reports.push(
            report.lines().map(|line| line.replace("group leader True", "group leader False")).collect::<Vec<_>>(),
        );
    }
    assert!(reports[0].len() > 20, "{reports:?}");
    let differ: Vec<_> = reports[0].iter().zip(&reports[1]).filter(|(plain, foreseen)| plain != foreseen).collect();
    assert!(differ.is_empty() && reports[0].len() == reports[1].len(), "{what}: (plain, foreseen) {differ:#?}");
}

fn ignore(signal: i32) {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

#[test]
fn nothing_inherited_is_lost() {
    inherits("as the test harness has it", || {});
}

#[test]
fn ignored_signals_stay_ignored() {
    inherits("SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGUSR1 ignored", || {
        [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1].into_iter().for_each(ignore);
    });
    inherits("SIGPIPE ignored", || ignore(libc::SIGPIPE));
    inherits("SIGCHLD ignored", || ignore(libc::SIGCHLD));
}

#[test]
fn blocked_signals_stay_blocked() {
    inherits("SIGTERM and SIGCHLD blocked", || {
        // SAFETY: the set is filled in before it is read.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
    });
}

#[test]
fn closed_standard_descriptors_stay_closed() {
    inherits("standard input closed", || close(0));
    inherits("standard output closed", || close(1));
    inherits("standard error closed", || close(2));
}

fn close(fd: i32) {
    // SAFETY: the process is about to be another program, and uses nothing of this one's.
    unsafe { libc::close(fd) };
}

#[test]
fn limits_niceness_and_mask_are_kept() {
    inherits("limits, niceness and mask", || {
        // SAFETY: the structure is a local.
        unsafe {
            let limit = libc::rlimit { rlim_cur: 100, rlim_max: 200 };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 1 << 20 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::nice(3);
            libc::umask(0o027);
            libc::dup2(1, 7);
        }
    });
}
