//! Which control groups this process is in.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders that say what this controller allows: of the first version of control groups, and of the
/// second. `root` is `/`, but in tests.
pub(crate) fn own(root: &Path, controller: &str) -> [Option<PathBuf>; 2] {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let path_of = |controller: &str| {
        own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|it| it == controller).then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let groups = root.join("sys/fs/cgroup");
    let v1 = path_of(controller).map(|path| groups.join(controller).join(path));
    [v1, path_of("").map(|path| groups.join(path))]
}

/// A group and those that it is in.
pub(crate) fn and_above(group: &Path) -> impl Iterator<Item = &Path> {
    group.ancestors().take_while(|it| !it.ends_with("sys/fs"))
}

/// What one of a group's files says, if that is a number.
pub(crate) fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
