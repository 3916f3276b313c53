//! Processes that run, looked up.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

fn pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The running processes that have this in their environment.
pub fn with_variable(name: &str, value: &OsStr) -> Vec<i32> {
    let wanted = [name.as_bytes(), b"=", value.as_bytes()].concat();
    let has = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|it| it == wanted)
    };
    pids().filter(has).collect()
}

/// State letter and parent of a process, if it is there.
pub fn state_of(pid: i32) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether signals wait to be taken by this process.
pub fn has_pending_signals(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().filter_map(|line| line.strip_prefix("ShdPnd:")).any(|set| set.trim().bytes().any(|it| it != b'0'))
}

/// The program that this foresee runs: its child beside the supervisor, or the one of joined runs.
pub fn program_of(foresee: i32) -> i32 {
    let programs = children_of(foresee, |name| !["supervisor", "foresee"].contains(&name));
    assert_eq!(programs.len(), 1, "{programs:?}");
    programs[0]
}

/// The supervisor of this foresee's run alone, once it goes by that name.
pub fn supervisor_of(foresee: i32) -> Option<i32> {
    children_of(foresee, |name| name == "supervisor").first().copied()
}

fn children_of(foresee: i32, is_named: impl Fn(&str) -> bool) -> Vec<i32> {
    let is_it = |&pid: &i32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        is_named(name.trim_end()) && state_of(pid).is_some_and(|(_, above)| above == foresee)
    };
    pids().filter(is_it).collect()
}
