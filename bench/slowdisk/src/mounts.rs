//! What the kernel says is mounted.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Whether something is mounted at exactly this place.
pub fn is_mounted(at: &Path) -> bool {
    device_of(at).is_some()
}

/// The `major:minor` of what is mounted here. Read from the table and not by `stat`, which
/// would ask a FUSE server that may not answer any more.
pub fn device_of(at: &Path) -> Option<(u32, u32)> {
    let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
    table
        .split(|&byte| byte == b'\n')
        .filter_map(parse)
        .filter(|(place, _)| place == at)
        .map(|(_, device)| device)
        .next_back()
}

fn parse(line: &[u8]) -> Option<(PathBuf, (u32, u32))> {
    let mut fields = line.split(|&byte| byte == b' ').skip(2);
    let device = str::from_utf8(fields.next()?).ok()?;
    let place = fields.nth(1)?;
    let (major, minor) = device.split_once(':')?;
    Some((unescape(place), (major.parse().ok()?, minor.parse().ok()?)))
}

/// Blanks and the like are written as a backslash and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let code = after.get(..3).and_then(|d| str::from_utf8(d).ok()).and_then(|d| u8::from_str_radix(d, 8).ok());
        match code {
            Some(code) if first == b'\\' => {
                bytes.push(code);
                rest = &after[3..];
            }
            _ => bytes.push(first),
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_table() {
        let line = br"36 35 98:7 /mnt1 /my\040place rw,noatime master:1 - ext3 /dev/root rw";
        assert_eq!(parse(line), Some(("/my place".into(), (98, 7))));
        assert_eq!(parse(b""), None);
        assert!(is_mounted(Path::new("/proc")));
    }
}
