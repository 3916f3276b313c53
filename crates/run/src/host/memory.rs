//! How much memory there is for the page cache: the control group's limit less what its programs
//! use themselves, or what the machine has available.

use std::fs;
use std::path::{Path, PathBuf};

use crate::control_group::{self, and_above, number};

/// The share of the memory that is left alone: page tables, buffers, and the error of sampling. At its
/// limit a group gives up what was brought ahead first and is not read yet: what others read again and
/// again is kept, and a part of it was none of ours.
const MARGIN_SHARE: u64 = 16;
/// The most that is left to pages of files that we know nothing of: what of them is old, the kernel
/// gives up before ours.
const OTHERS_SHARE: u64 = 6;

/// Where the numbers come from; found once, read again and again.
pub struct Memory {
    /// `/`, but in tests.
    root: PathBuf,
    group: Option<Group>,
}

enum Group {
    V1(PathBuf),
    V2(PathBuf),
}

impl Memory {
    /// Finds the memory control group of this process, if one limits it.
    pub fn find() -> Self {
        Memory::find_in(Path::new("/"))
    }

    /// What the memory control group of this process may use at most, page cache included, if one limits
    /// it.
    pub fn group_limit() -> Option<u64> {
        Memory::groups(Path::new("/")).find_map(|group| group.limit())
    }

    fn find_in(root: &Path) -> Self {
        let group = Memory::groups(root).find(|group| group.limit().is_some());
        Memory { root: root.to_owned(), group }
    }

    /// Where this process is in the memory control groups of either version.
    fn groups(root: &Path) -> impl Iterator<Item = Group> + use<> {
        let [v1, v2] = control_group::own(root, "memory");
        [v1.map(Group::V1), v2.map(Group::V2)].into_iter().flatten()
    }

    /// Bytes there may be of page cache now, of which we hold so many. None if the system does not
    /// say.
    pub fn cache_bytes(&self, held: u64) -> Option<u64> {
        let machine = self.available().map(|bytes| bytes - bytes / MARGIN_SHARE);
        let group = self.group.as_ref().and_then(|group| group.cache_bytes(held));
        match (machine, group) {
            (Some(machine), Some(group)) => Some(machine.min(group)),
            (machine, group) => machine.or(group),
        }
    }

    /// What the whole machine has.
    fn available(&self) -> Option<u64> {
        let text = fs::read_to_string(self.root.join("proc/meminfo")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
    }

    /// How often the kernel made room by itself, in the group or in the whole machine: a count that
    /// only grows.
    pub fn reclaims(&self) -> u64 {
        let machine = statistic(&self.root.join("proc/vmstat"), &["pgsteal_kswapd", "pgsteal_direct"]);
        machine.unwrap_or(0) + self.group.as_ref().map_or(0, Group::reclaims)
    }
}

fn statistic(path: &Path, names: &[&str]) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let value =
        |name: &&str| text.lines().find_map(|line| line.strip_prefix(*name)?.strip_prefix(' ')?.parse::<u64>().ok());
    names.iter().map(value).sum()
}

impl Group {
    /// The lowest limit from the group up to the root, below what no machine has.
    fn limit(&self) -> Option<u64> {
        match self {
            Group::V1(path) => statistic(&path.join("memory.stat"), &["hierarchical_memory_limit"]),
            Group::V2(path) => and_above(path).filter_map(|path| number(&path.join("memory.max"))).min(),
        }
        .filter(|&limit| limit < 1 << 60)
    }

    /// The limit, less what programs use and what is cached and not ours.
    fn cache_bytes(&self, held: u64) -> Option<u64> {
        let bytes = self.limit()?.saturating_sub(self.used_by_programs()?);
        let others = self.cached()?.saturating_sub(held);
        Some(bytes - bytes / MARGIN_SHARE - others.min(bytes / OTHERS_SHARE))
    }

    /// Pages of files.
    fn cached(&self) -> Option<u64> {
        match self {
            Group::V1(path) => statistic(&path.join("memory.stat"), &["total_active_file", "total_inactive_file"]),
            Group::V2(path) => statistic(&path.join("memory.stat"), &["active_file", "inactive_file"]),
        }
    }

    /// How often the group, or one it is in, was at its limit.
    fn reclaims(&self) -> u64 {
        let times = |path: &Path| match self {
            Group::V1(_) => number(&path.join("memory.failcnt")),
            Group::V2(_) => statistic(&path.join("memory.events"), &["max"]),
        };
        let (Group::V1(path) | Group::V2(path)) = self;
        and_above(path).filter_map(times).sum()
    }

    /// All that is charged to the group and is no file's page, shared memory (our ring, too) and
    /// the kernel's part included: where it is forgotten, the kernel reclaims, and it takes
    /// what was read ahead and not read yet first.
    fn used_by_programs(&self) -> Option<u64> {
        match self {
            Group::V1(path) => {
                let kernel = number(&path.join("memory.kmem.usage_in_bytes")).unwrap_or(0);
                Some(statistic(&path.join("memory.stat"), &["total_rss", "total_shmem"])? + kernel)
            }
            Group::V2(path) => statistic(&path.join("memory.stat"), &["anon", "shmem", "kernel"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_how_much_it_has() {
        let bytes = Memory::find().cache_bytes(0).expect("this machine has a /proc");
        assert!(bytes > 1 << 20);
    }

    /// A machine of files, with 1 GiB available, on which the kernel took 30 pages.
    fn machine(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("foresee-memory-{name}-{}", std::process::id()));
        let everywhere = [
            ("proc/meminfo", "MemTotal: 2097152 kB\nMemAvailable:    1048576 kB\n"),
            ("proc/vmstat", "pgsteal_kswapd 10\npgsteal_direct 20\npgsteal_file 99\n"),
        ];
        for (path, text) in everywhere.iter().chain(files) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn check(root: &Path) {
        let memory = Memory::find_in(root);
        // 160 MiB may be used, of which programs use 64.
        let left = 96 << 20;
        assert_eq!(memory.cache_bytes(40 << 20), Some(left - left / 16), "all files' pages are ours");
        assert_eq!(memory.cache_bytes(30 << 20), Some(left - left / 16 - (10 << 20)), "10 MiB are others'");
        assert_eq!(memory.cache_bytes(0), Some(left - left / 16 - left / 6), "more than we leave to others");
        assert_eq!(memory.reclaims(), 30 + 7);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_group_of_the_first_version() {
        let statistics = format!(
            "cache 1\nhierarchical_memory_limit {}\ntotal_rss {}\ntotal_shmem {}\ntotal_active_file {}\ntotal_inactive_file {}\n",
            160 << 20,
            50 << 20,
            8 << 20,
            15 << 20,
            25 << 20
        );
        check(&machine(
            "v1",
            &[
                ("proc/self/cgroup", "5:cpu:/\n4:memory:/a/b\n0::/\n"),
                ("sys/fs/cgroup/memory/a/b/memory.stat", &statistics),
                ("sys/fs/cgroup/memory/a/b/memory.kmem.usage_in_bytes", "6291456\n"),
                ("sys/fs/cgroup/memory/a/b/memory.failcnt", "3\n"),
                ("sys/fs/cgroup/memory/a/memory.failcnt", "4\n"),
            ],
        ));
    }

    #[test]
    fn a_group_of_the_second_version() {
        let statistics = format!(
            "anon {}\nshmem {}\nkernel {}\nactive_file {}\ninactive_file {}\n",
            50 << 20,
            8 << 20,
            6 << 20,
            15 << 20,
            25 << 20
        );
        check(&machine(
            "v2",
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/b/memory.stat", &statistics),
                ("sys/fs/cgroup/a/b/memory.max", "max\n"),
                ("sys/fs/cgroup/a/memory.max", "167772160\n"),
                ("sys/fs/cgroup/a/b/memory.events", "low 1\nhigh 2\nmax 3\n"),
                ("sys/fs/cgroup/a/memory.events", "low 1\nhigh 2\nmax 4\n"),
            ],
        ));
    }

    #[test]
    fn no_group_leaves_what_the_machine_has() {
        let root = machine("none", &[]);
        assert_eq!(Memory::find_in(&root).cache_bytes(0), Some((1 << 30) - (1 << 26)));
        fs::remove_dir_all(root).unwrap();
    }
}
