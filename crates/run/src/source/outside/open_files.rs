//! What a process has open, and where it stands in it: `/proc/PID/fd` and `fdinfo`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foresee_ring::Unseen;

use super::at_hand::{self, Found, Kind};

/// Descriptors looked at of one process; of one that has more, some are not.
const DESCRIPTORS_MAX: usize = 1024;
/// So much of what a process has mapped is looked at: some 10,000 mappings.
const MAPS_BYTES_MAX: u64 = 1 << 20;
/// Smaller files are read whole, and nobody asks where a program is in them.
pub(super) const WHOLE_BYTES_MAX: u64 = 256 << 10;
/// Who stands further in a file when it is first seen to be open has not read so far, but gone
/// there.
const BEGINNING_BYTES_MAX: u64 = 1 << 20;

/// What a look found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A file or directory is open that was not before.
    Opened { path: PathBuf, found: Found, past_cache: bool },
    /// It went on in a file, and read these bytes.
    WentOn { path: PathBuf, from: u64, to: u64 },
}

/// What a process had open when it was looked at last.
#[derive(Default)]
pub(super) struct OpenFiles {
    known: HashMap<i32, OpenFile>,
}

struct OpenFile {
    link: PathBuf,
    found: Found,
    position: u64,
}

/// What `/proc/PID/fdinfo` says of a descriptor.
#[derive(Debug, Default, PartialEq, Eq)]
struct Standing {
    position: u64,
    flags: i32,
}

impl OpenFiles {
    /// What is new since the last look, in which this process was given so many bytes by reads of
    /// any kind.
    ///
    /// # Errors
    /// If we may not look.
    pub fn look(&mut self, process: u32, given: u64) -> io::Result<Vec<Change>> {
        let (mut before, mut changes) = (std::mem::take(&mut self.known), Vec::new());
        for entry in fs::read_dir(format!("/proc/{process}/fd"))?.flatten().take(DESCRIPTORS_MAX) {
            let Some(fd) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Ok(link) = fs::read_link(entry.path()) else { continue };
            let known = before.remove(&fd).filter(|known| known.link == link);
            if let Some(open) = look_at(process, fd, link, known, given, &mut changes) {
                self.known.insert(fd, open);
            }
        }
        Ok(changes)
    }
}

fn look_at(
    process: u32,
    fd: i32,
    link: PathBuf,
    known: Option<OpenFile>,
    given: u64,
    changes: &mut Vec<Change>,
) -> Option<OpenFile> {
    if !is_name(&link) {
        return None;
    }
    let is_new = known.is_none();
    let mut open = match known {
        Some(known) => known,
        None => OpenFile { found: at_hand::behind(&format!("/proc/{process}/fd/{fd}")).ok()?, link, position: 0 },
    };
    let standing = || standing(&fs::read_to_string(format!("/proc/{process}/fdinfo/{fd}")).ok()?);
    match open.found.kind {
        Kind::Other => return None,
        Kind::Directory if is_new => {
            changes.push(Change::Opened { path: open.link.clone(), found: open.found, past_cache: false });
        }
        Kind::Regular(bytes) if is_new || bytes > WHOLE_BYTES_MAX => {
            let Standing { position, flags } = standing()?;
            let (past_cache, is_read) = (flags & libc::O_DIRECT != 0, flags & libc::O_ACCMODE != libc::O_WRONLY);
            if is_new {
                changes.push(Change::Opened { path: open.link.clone(), found: open.found, past_cache });
            }
            let from = went_from(open.position, position, if is_new { BEGINNING_BYTES_MAX } else { given });
            if is_read && !past_cache && bytes > WHOLE_BYTES_MAX && from < position {
                changes.push(Change::WentOn { path: open.link.clone(), from, to: position });
            }
            open.position = position;
        }
        _ => {}
    }
    Some(open)
}

/// Where the bytes begin that were read up to this position, of so many given at most: what lies
/// before was passed over.
fn went_from(before: u64, now: u64, given: u64) -> u64 {
    match before {
        0 if now > given => now,
        before if before <= now => before.max(now.saturating_sub(given)),
        _ => now.saturating_sub(given),
    }
}

/// The queue that a process may read by, past libc, if it has one.
pub(crate) fn queue_of(process: u32) -> Option<Unseen> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let links = entries.take(DESCRIPTORS_MAX).filter_map(|entry| fs::read_link(entry.path()).ok());
    if links.into_iter().any(|link| link == Path::new("anon_inode:[io_uring]")) {
        return Some(Unseen::Uring);
    }
    // A queue of AIO's is no descriptor, but mapped.
    let mut maps = Vec::new();
    File::open(format!("/proc/{process}/maps")).ok()?.take(MAPS_BYTES_MAX).read_to_end(&mut maps).ok()?;
    let is_queue = |line: &[u8]| line.ends_with(b"/[aio] (deleted)");
    maps.split(|&byte| byte == b'\n').any(is_queue).then_some(Unseen::Aio)
}

/// Whether it is the name of a file that still has it.
fn is_name(link: &Path) -> bool {
    link.is_absolute() && !link.as_os_str().as_bytes().ends_with(b" (deleted)")
}

fn standing(text: &str) -> Option<Standing> {
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let flags = of("flags:").and_then(|flags| i32::from_str_radix(flags, 8).ok())?;
    Some(Standing { position: of("pos:")?.parse().ok()?, flags })
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

    use super::*;

    #[test]
    fn what_the_kernel_says_of_a_descriptor_is_understood() {
        let text = "pos:\t4096\nflags:\t02140000\nmnt_id:\t29\nino:\t7\n";
        let flags = 0o2140000;
        assert_eq!(standing(text), Some(Standing { position: 4096, flags }));
        for text in ["", "pos:\n", "pos:\t1\nflags:\t9\n", "pos:\t-1\nflags:\t0\n", "flags:\t0\n"] {
            assert_eq!(standing(text), None, "{text:?}");
        }
    }

    #[test]
    fn no_more_was_read_than_was_given() {
        assert_eq!(went_from(100, 200, 1000), 100);
        assert_eq!(went_from(100, 1 << 40, 50), (1 << 40) - 50, "it went there by lseek");
        assert_eq!(went_from(1000, 300, 100), 200, "and back");
        assert_eq!(went_from(0, 5000, 4000), 5000, "nothing is known of how it came there");
    }

    #[test]
    fn what_is_open_is_seen_with_where_it_stands() {
        let path = std::env::temp_dir().canonicalize().unwrap().join(format!("foresee-open-{}", std::process::id()));
        fs::write(&path, vec![1; 1 << 20]).unwrap();
        let (mut files, process) = (OpenFiles::default(), std::process::id());
        let mut of_path = |given| -> Vec<Change> {
            let is_it = |change: &Change| match change {
                Change::Opened { path: of, .. } | Change::WentOn { path: of, .. } => *of == path,
            };
            files.look(process, given).unwrap().into_iter().filter(is_it).collect()
        };
        assert_eq!(of_path(0), []);
        let mut file = File::open(&path).unwrap();
        let found = at_hand::find(&path).unwrap();
        assert_eq!(of_path(0), [Change::Opened { path: path.clone(), found, past_cache: false }]);
        file.read_exact(&mut [0; 300_000]).unwrap();
        assert_eq!(of_path(300_000), [Change::WentOn { path: path.clone(), from: 0, to: 300_000 }]);
        file.seek(SeekFrom::Start(900_000)).unwrap();
        assert_eq!(of_path(0), [], "nothing was read");
        assert_eq!(of_path(0), []);
        fs::remove_file(&path).unwrap();
        assert_eq!(of_path(0), [], "it has no name any more");
    }
}
