//! How much memory there is for the page cache: the control group's limit less what its programs use themselves, or what
//! the machine has available.

use std::fs;
use std::path::{Path, PathBuf};

/// The share of the memory that is left alone: page tables, buffers, and the error of sampling.
const MARGIN_SHARE: u64 = 16;

/// Where the numbers come from; found once, read again and again.
pub struct Memory {
    group: Option<Group>,
}

enum Group {
    V1(PathBuf),
    V2(PathBuf),
}

impl Memory {
    /// Finds the memory control group of this process, if one limits it.
    pub fn find() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let path_of = |controller: &str| {
            own.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                controllers.split(',').any(|it| it == controller).then(|| path.trim_start_matches('/').to_owned())
            })
        };
        let v1 = path_of("memory").map(|path| Group::V1(Path::new("/sys/fs/cgroup/memory").join(path)));
        let v2 = path_of("").map(|path| Group::V2(Path::new("/sys/fs/cgroup").join(path)));
        let group = [v1, v2].into_iter().flatten().find(|group| group.limit().is_some());
        Memory { group }
    }

    /// Bytes there may be of page cache now. None if the system does not say.
    pub fn cache_bytes(&self) -> Option<u64> {
        let machine = meminfo("MemAvailable");
        let group =
            self.group.as_ref().and_then(|group| Some(group.limit()?.saturating_sub(group.used_by_programs()?)));
        let bytes = match (machine, group) {
            (Some(machine), Some(group)) => machine.min(group),
            (machine, group) => machine.or(group)?,
        };
        Some(bytes - bytes / MARGIN_SHARE)
    }
}

fn meminfo(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
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
            Group::V2(path) => path.ancestors().filter_map(|path| number(&path.join("memory.max"))).min(),
        }
        .filter(|&limit| limit < 1 << 60)
    }

    /// All that is charged to the group and is no file's page, shared memory (our ring, too) and the kernel's part included:
    /// where it is forgotten, the kernel reclaims, and it takes what was read ahead and not read yet first.
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
        let bytes = Memory::find().cache_bytes().expect("this machine has a /proc");
        assert!(bytes > 1 << 20);
    }
}
