//! Which mounts there are, as `/proc/self/mountinfo` tells: no file system is asked, so that none
//! can keep us waiting.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// What a file system is to whoever reads ahead on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On a device of this machine, or served by foresee itself; its pages stay until memory is
    /// short.
    Local,
    /// As local, but the kernel must be asked by mincore which pages are there.
    Overlay,
    /// In memory, or made up by the kernel as it is read: there is nothing to bring, and some of it
    /// changes by being read.
    Memory,
    /// Behind a network or a daemon: what an open, a read and a second read cost there is not
    /// known.
    Foreign,
}

/// File systems whose files lie on no device of their own, and nevertheless on this machine's.
const LOCAL_WITHOUT_DEVICE: [&str; 7] = ["btrfs", "zfs", "bcachefs", "ubifs", "jffs2", "aufs", "ecryptfs"];
/// Ours: what an open finds is kept, and a request out of order costs no more than another.
const OWN: &str = "fuse.foresee";
/// File systems in memory, or made up by the kernel.
const IN_MEMORY: [&str; 22] = [
    "tmpfs",
    "ramfs",
    "devtmpfs",
    "rootfs",
    "proc",
    "sysfs",
    "debugfs",
    "tracefs",
    "securityfs",
    "selinuxfs",
    "cgroup",
    "cgroup2",
    "bpf",
    "configfs",
    "efivarfs",
    "pstore",
    "fusectl",
    "binfmt_misc",
    "devpts",
    "mqueue",
    "hugetlbfs",
    "nsfs",
];

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its device number, as stat tells it.
    pub dev: u64,
    /// Where it is mounted.
    pub point: PathBuf,
    /// The type of its file system: `ext4`, `fuse.sshfs`.
    pub file_system: String,
    /// What it is to us.
    pub kind: Kind,
}

impl Mount {
    /// One of which the kernel says nothing: it may be the worst.
    pub fn unknown(dev: u64) -> Self {
        Mount { dev, point: "/".into(), file_system: "?".to_owned(), kind: Kind::Foreign }
    }
}

fn kind_of(file_system: &str, dev: u64) -> Kind {
    match file_system {
        "overlay" => Kind::Overlay,
        OWN => Kind::Local,
        _ if IN_MEMORY.contains(&file_system) => Kind::Memory,
        // fuseblk has a device, and a daemon before it.
        _ if file_system.starts_with("fuse") => Kind::Foreign,
        _ if libc::major(dev) != 0 || LOCAL_WITHOUT_DEVICE.contains(&file_system) => Kind::Local,
        _ => Kind::Foreign,
    }
}

/// All mounts of our mount namespace, the latest last.
#[derive(Debug, Default)]
pub struct Table(Vec<Mount>);

impl Table {
    /// As it is now; empty where the kernel does not say.
    pub fn read() -> Self {
        Table::parse(&fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    /// As a text of the form of `/proc/self/mountinfo` tells.
    pub fn parse(text: &[u8]) -> Self {
        Table(text.split(|&byte| byte == b'\n').filter_map(mount).collect())
    }

    /// The mount of a file of this device number and path. Some file systems (btrfs, overlays of
    /// several) give files other numbers than their mount has; then the path tells.
    pub fn of(&self, dev: u64, path: &Path) -> Option<&Mount> {
        let of_dev = self.0.iter().filter(|mount| mount.dev == dev);
        let by_dev = of_dev.max_by_key(|mount| (path.starts_with(&mount.point), mount.point.as_os_str().len()));
        by_dev.or_else(|| self.on_path(path))
    }

    /// The mount that a path leads to, if no link is on the way.
    pub fn on_path(&self, path: &Path) -> Option<&Mount> {
        let above = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        above.max_by_key(|mount| mount.point.as_os_str().len())
    }

    /// Where there are mounts of this kind.
    pub fn points(&self, kind: Kind) -> Vec<PathBuf> {
        self.0.iter().filter(|mount| mount.kind == kind).map(|mount| mount.point.clone()).collect()
    }
}

/// A line of mountinfo: `36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw`.
fn mount(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|&byte| byte == b' ');
    let dev = std::str::from_utf8(words.nth(2)?).ok()?;
    let (major, minor) = dev.split_once(':')?;
    let dev = libc::makedev(major.parse().ok()?, minor.parse().ok()?);
    let point = PathBuf::from(OsString::from_vec(unescape(words.nth(1)?)));
    let described = words.skip_while(|word| *word != b"-").nth(1)?;
    let file_system = String::from_utf8_lossy(&unescape(described)).into_owned();
    let kind = kind_of(&file_system, dev);
    Some(Mount { dev, point, file_system, kind })
}

/// Spaces and the like are written as a backslash and three octal digits.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&byte, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|digits| byte == b'\\' && digits.iter().all(|it| (b'0'..=b'7').contains(it)));
        (plain, rest) = match digits {
            Some(digits) => {
                let code = digits.iter().fold(0_u32, |code, digit| code * 8 + u32::from(digit - b'0'));
                plain.push(code as u8);
                (plain, &after[3..])
            }
            None => {
                plain.push(byte);
                (plain, after)
            }
        };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
22 28 0:21 / /proc rw,nosuid - proc proc rw
28 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 28 0:38 / /mnt/my\\040remote rw,nosuid master:2 - fuse.sshfs host:/data rw,user_id=0
41 28 0:39 /volume /home rw - btrfs /dev/vdb rw
42 28 0:40 / /merged rw - overlay overlay rw
43 28 8:1 / /stick rw - fuseblk /dev/sda1 rw
44 28 0:41 / /new rw - somethingfs source rw
45 28 0:42 / /home/deep rw - tmpfs tmpfs rw
46 28 0:43 / /bucket rw - fuse.foresee s3://bucket rw
malformed
";

    #[test]
    fn mounts_are_told_by_their_device_or_by_the_path() {
        let table = Table::parse(TEXT.as_bytes());
        let kind = |dev, path: &str| table.of(dev, Path::new(path)).map(|mount| mount.kind);
        assert_eq!(kind(libc::makedev(254, 0), "/etc/passwd"), Some(Kind::Local));
        assert_eq!(kind(libc::makedev(0, 38), "/mnt/my remote/file"), Some(Kind::Foreign));
        assert_eq!(kind(libc::makedev(0, 77), "/home/user/file"), Some(Kind::Local), "a subvolume of btrfs");
        assert_eq!(kind(libc::makedev(0, 42), "/home/deep/file"), Some(Kind::Memory));
        assert_eq!(kind(libc::makedev(0, 40), "/merged/file"), Some(Kind::Overlay));
        assert_eq!(kind(libc::makedev(8, 1), "/stick/file"), Some(Kind::Foreign), "a daemon before a device");
        assert_eq!(kind(libc::makedev(0, 41), "/new/file"), Some(Kind::Foreign), "of what is not known, the worst");
        assert_eq!(kind(libc::makedev(0, 43), "/bucket/file"), Some(Kind::Local), "ours");
        let mount = table.of(libc::makedev(0, 38), Path::new("/elsewhere")).unwrap();
        assert_eq!((mount.point.to_str(), mount.file_system.as_str()), (Some("/mnt/my remote"), "fuse.sshfs"));
        assert_eq!(Table::default().of(1, Path::new("/")), None);
    }
}
