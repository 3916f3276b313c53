//! How many processes more there may be, threads included: each one that is ours, the program may lack.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use crate::control_group::{self, and_above, number};
use crate::limit;
use crate::process_stat::{numbered, status};

/// Of what is left, threads of one kind of ours take one in so many at most; there are two kinds.
const SHARE: u64 = 16;
/// If a user may have so many more than there are on the whole machine, it does not matter which of them are
/// the user's: we take no fewer.
const PLENTY: u64 = 1024;
/// `CAP_SYS_ADMIN` and `CAP_SYS_RESOURCE`, as bits of what a process has of them.
const UNBOUND: u64 = 1 << 21 | 1 << 24;

/// How many more there might be when this was asked first. What the program has started since, and what
/// is ours, is among them.
pub fn left() -> u64 {
    static LEFT: OnceLock<u64> = OnceLock::new();
    *LEFT.get_or_init(|| left_to_groups(Path::new("/")).min(left_to_user()))
}

/// How many threads of one kind there may be of ours, where so many are wanted: one at least.
pub(crate) fn threads(wanted: usize) -> usize {
    share_of(left(), wanted)
}

fn share_of(left: u64, wanted: usize) -> usize {
    ((left / SHARE) as usize).clamp(1, wanted)
}

/// By `ulimit -u`, which counts all that the user has.
fn left_to_user() -> u64 {
    let limit = limit::soft(libc::RLIMIT_NPROC);
    if limit == libc::RLIM_INFINITY || of_everybody().is_some_and(|all| limit >= all + PLENTY) || is_unbound() {
        return u64::MAX;
    }
    limit.saturating_sub(of_user())
}

/// Those of the whole machine.
fn of_everybody() -> Option<u64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_once('/')?.1.split(' ').next()?.parse().ok()
}

/// Whether the user's limit does not bind us: the machine's root, and who may do the like there.
fn is_unbound() -> bool {
    // What may be done in a namespace of users does not count.
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_machines = users.split_ascii_whitespace().eq(["0", "0", "4294967295"]);
    // SAFETY: takes nothing, cannot fail.
    let is_root = unsafe { libc::getuid() } == 0;
    let may = || u64::from_str_radix(&status("self", "CapEff")?, 16).ok();
    is_machines && (is_root || may().is_some_and(|may| may & UNBOUND != 0))
}

/// Those of our user.
fn of_user() -> u64 {
    // SAFETY: takes nothing, cannot fail.
    let user = unsafe { libc::getuid() }.to_string();
    let is_users = |process: &u32| status(process, "Uid").is_some_and(|it| it.split('\t').next() == Some(&user));
    let threads = |process: u32| status(process, "Threads")?.parse::<u64>().ok();
    numbered("/proc").filter(is_users).filter_map(threads).sum()
}

/// By the limits of the control groups that we are in.
fn left_to_groups(root: &Path) -> u64 {
    let left = |group: &Path| {
        let limit = number(&group.join("pids.max"))?;
        Some(limit.saturating_sub(number(&group.join("pids.current"))?))
    };
    let groups = control_group::own(root, "pids");
    let left = groups.iter().flatten().filter_map(|group| and_above(group).filter_map(left).min());
    left.min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_a_small_part_and_never_nothing() {
        assert_eq!([0, 15, 64, 1024, u64::MAX].map(|left| share_of(left, 64)), [1, 1, 4, 64, 64]);
    }

    #[test]
    fn the_user_and_the_machine_have_some() {
        let (user, all) = (of_user(), of_everybody().expect("this machine has a /proc"));
        assert!(user >= 1 && all >= 1, "{user} of {all}");
        assert!(left() > 0);
    }

    /// What groups of these files leave.
    fn left_by(name: &str, own: &str, files: &[(&str, &str)]) -> u64 {
        let root = std::env::temp_dir().join(format!("foresee-processes-{name}-{}", std::process::id()));
        for (path, text) in [("proc/self/cgroup", own)].iter().chain(files) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let left = left_to_groups(&root);
        fs::remove_dir_all(root).unwrap();
        left
    }

    #[test]
    fn the_narrowest_group_counts() {
        let first = [
            ("sys/fs/cgroup/pids/a/b/pids.max", "max\n"),
            ("sys/fs/cgroup/pids/a/b/pids.current", "3\n"),
            ("sys/fs/cgroup/pids/a/pids.max", "60\n"),
            ("sys/fs/cgroup/pids/a/pids.current", "20\n"),
        ];
        assert_eq!(left_by("v1", "5:pids:/a/b\n4:memory:/\n0::/\n", &first), 40);
        let second = [
            ("sys/fs/cgroup/a/b/pids.max", "100\n"),
            ("sys/fs/cgroup/a/b/pids.current", "90\n"),
            ("sys/fs/cgroup/a/pids.max", "200\n"),
            ("sys/fs/cgroup/a/pids.current", "100\n"),
        ];
        assert_eq!(left_by("v2", "0::/a/b\n", &second), 10);
    }

    /// A container sees its group as the root, and its own name from outside.
    #[test]
    fn a_container_sees_its_group_elsewhere() {
        let files = [("sys/fs/cgroup/pids/pids.max", "5\n"), ("sys/fs/cgroup/pids/pids.current", "7\n")];
        assert_eq!(left_by("container", "5:pids:/docker/1\n", &files), 0);
    }

    #[test]
    fn without_a_limit_there_is_no_end() {
        let files = [("sys/fs/cgroup/a/pids.max", "max\n"), ("sys/fs/cgroup/a/pids.current", "7\n")];
        assert_eq!(left_by("none", "0::/a\n", &files), u64::MAX);
    }
}
