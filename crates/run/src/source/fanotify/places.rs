//! Which file systems there are to record on.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Where the file systems are mounted that lie on devices of this machine, once each.
pub fn local() -> Vec<PathBuf> {
    let kinds = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    on_devices(&kinds, &mounts)
}

fn on_devices(kinds: &str, mounts: &str) -> Vec<PathBuf> {
    // Those without a device say so: the network's, the kernel's own, those in memory.
    let kinds: HashSet<&str> = kinds.lines().filter_map(|line| line.strip_prefix('\t')).collect();
    let mut devices = HashSet::new();
    let mount = |line| {
        let (mount, kind) = str::split_once(line, " - ")?;
        let mut fields = mount.split(' ').skip(2);
        let (device, point) = (fields.next()?, fields.nth(1)?);
        let is_new = kinds.contains(kind.split(' ').next()?) && devices.insert(device);
        is_new.then(|| unescaped(point))
    };
    mounts.lines().filter_map(mount).collect()
}

/// The kernel writes blanks and backslashes as a backslash and three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| byte == b'\\').and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_is_met_once_under_its_name() {
        let kinds = "nodev\tproc\nnodev\tnfs\n\text4\n\txfs\n";
        let mounts = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:5 / /proc rw - proc proc rw
23 21 8:1 /sub /bound rw - ext4 /dev/sda1 rw
24 21 0:40 / /net rw - nfs server:/x rw
25 21 8:17 / /my\\040disk\\134x rw shared:4 master:2 - xfs /dev/sdb1 rw
";
        assert_eq!(on_devices(kinds, mounts), [PathBuf::from("/"), PathBuf::from("/my disk\\x")]);
    }
}
