//! What earlier runs found out of mounts, so that it need not be asked again: one small file beside
//! the profiles.
//!
//! A mount is known by a number that the kernel gives to no other one until it is started anew
//! (Linux 6.8; before, nothing is remembered). What a daemon behind it does may change: what was
//! found is believed for a day.

use std::ffi::{CString, OsStr};
use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::{is_believed, since_1970};
use crate::kept::{self, Directory};

const NAME: &str = "mounts";
/// Mounts remembered at most, and what they take at most.
const MOUNTS_MAX: usize = 64;
const BYTES_MAX: u64 = 16 << 10;

/// What was found out of a foreign mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A file's pages are still in memory when it is opened again.
    PagesStay,
    /// They are gone, but the daemon has the bytes itself.
    DaemonKeeps,
    /// They are gone, and have to be brought again from where they came.
    NothingStays,
    /// It is quick by itself.
    Quick,
    /// Programs waited for what was brought ahead.
    DidNotPay,
}

impl Verdict {
    const ALL: [Verdict; 5] =
        [Verdict::PagesStay, Verdict::DaemonKeeps, Verdict::NothingStays, Verdict::Quick, Verdict::DidNotPay];

    /// As one word.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::PagesStay => "pages-stay",
            Verdict::DaemonKeeps => "daemon-keeps",
            Verdict::NothingStays => "nothing-stays",
            Verdict::Quick => "quick",
            Verdict::DidNotPay => "did-not-pay",
        }
    }
}

/// A mount that was found out about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remembered {
    /// The kernel's number for it.
    pub mount: u64,
    /// What was found.
    pub verdict: Verdict,
    /// How long a read takes of what is not near, if that is known.
    pub far: Option<Duration>,
    /// When, since 1970.
    found: Duration,
}

impl Remembered {
    /// Found now.
    pub fn now(mount: u64, verdict: Verdict, far: Option<Duration>) -> Self {
        Remembered { mount, verdict, far, found: since_1970() }
    }

    fn line(&self) -> String {
        let far = self.far.map_or(0, |far| far.as_nanos() as u64);
        format!("{} {} {far} {}\n", self.mount, self.verdict.word(), self.found.as_secs())
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (mount, word) = (words.next()?.parse().ok()?, words.next()?);
        let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.word() == word)?;
        let far: u64 = words.next()?.parse().ok()?;
        let found = Duration::from_secs(words.next()?.parse().ok()?);
        Some(Remembered { mount, verdict, far: (far > 0).then(|| Duration::from_nanos(far)), found })
    }

    fn is_believed(&self) -> bool {
        is_believed(self.found)
    }
}

/// Where it is kept.
#[derive(Debug)]
pub struct Memory {
    directory: PathBuf,
    /// Which start of the kernel this is.
    boot: String,
}

impl Memory {
    /// In this directory, which need not be there yet. None where the kernel does not say when it
    /// was started.
    pub fn at(directory: PathBuf) -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        Some(Memory { directory, boot })
    }

    /// What was found of this mount.
    pub fn recall(&self, mount: u64) -> Option<Remembered> {
        self.read().into_iter().find(|it| it.mount == mount)
    }

    /// All that is believed still; what cannot be read is not.
    fn read(&self) -> Vec<Remembered> {
        let bytes = kept::read(&self.directory.join(NAME), BYTES_MAX).map(|(bytes, _)| bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        if lines.next() != Some(&self.boot) {
            return Vec::new();
        }
        lines.filter_map(Remembered::parse).filter(Remembered::is_believed).collect()
    }

    /// Remembers these as well, the latest first. If that cannot be, they are asked again.
    pub fn keep(&self, found: &[Remembered]) {
        let before = self.read().into_iter().filter(|it| found.iter().all(|new| new.mount != it.mount));
        let lines = found.iter().copied().chain(before).take(MOUNTS_MAX).map(|it| it.line());
        let text: String = std::iter::once(format!("{}\n", self.boot)).chain(lines).collect();
        if let Ok(directory) = Directory::own(&self.directory) {
            let _ = directory.put(OsStr::new(NAME), text.as_bytes());
        }
    }
}

/// The number of the mount that a file lies on, if the kernel tells; its file system is not asked.
pub fn mount_of(path: &Path, dev: u64) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let flags = libc::AT_STATX_DONT_SYNC | libc::AT_NO_AUTOMOUNT;
    let mut told = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path is a string; the structure is plain data, which zeros are.
    let told = unsafe {
        if libc::statx(libc::AT_FDCWD, path.as_ptr(), flags, libc::STATX_MNT_ID_UNIQUE, told.as_mut_ptr()) != 0 {
            return None;
        }
        told.assume_init()
    };
    let is_of = libc::makedev(told.stx_dev_major, told.stx_dev_minor) == dev;
    (is_of && told.stx_mask & libc::STATX_MNT_ID_UNIQUE != 0).then_some(told.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::clock::BELIEVED;

    fn memory(name: &str) -> Memory {
        let directory = std::env::temp_dir().join(format!("foresee-mounts-{}-{name}", std::process::id()));
        Memory { directory, boot: "this".to_owned() }
    }

    #[test]
    fn what_was_found_is_known_until_the_kernel_starts_anew() {
        let memory = memory("found");
        let found = Remembered::now(7, Verdict::DaemonKeeps, Some(Duration::from_millis(20)));
        memory.keep(&[found]);
        memory.keep(&[Remembered::now(8, Verdict::NothingStays, None)]);
        let known = memory.recall(7).unwrap();
        assert_eq!((known.verdict, known.far), (found.verdict, found.far));
        assert_eq!((memory.recall(8).unwrap().far, memory.recall(9)), (None, None));
        let later = Memory { boot: "another".to_owned(), ..memory };
        assert_eq!(later.recall(7), None);
        fs::remove_dir_all(later.directory).unwrap();
    }

    #[test]
    fn what_is_old_or_damaged_is_not_believed_and_there_is_a_bound() {
        let memory = memory("bounds");
        let old = Remembered { found: since_1970() - BELIEVED, ..Remembered::now(7, Verdict::Quick, None) };
        let all: Vec<_> =
            (100..100 + 2 * MOUNTS_MAX as u64).map(|it| Remembered::now(it, Verdict::Quick, None)).collect();
        memory.keep(&[old]);
        assert_eq!(memory.recall(7), None);
        memory.keep(&all);
        assert_eq!(memory.read().len(), MOUNTS_MAX);
        fs::write(memory.directory.join(NAME), b"this\n7 quick\n8 \xff 1 1\n9 unheard-of 0 0\n\n").unwrap();
        assert_eq!(memory.read(), []);
        fs::remove_dir_all(memory.directory).unwrap();
    }

    #[test]
    fn each_mount_has_a_number_of_its_own_if_the_kernel_tells() {
        let number = |path: &str| mount_of(Path::new(path), fs::metadata(path).unwrap().dev());
        if let Some(number_here) = number("/proc/self/status") {
            assert_eq!(Some(number_here), number("/proc/version"));
            assert_ne!(Some(number_here), number("/"));
        }
        assert_eq!(
            mount_of(Path::new("/proc/version"), fs::metadata("/").unwrap().dev()),
            None,
            "another file's device"
        );
    }
}
