//! The file that a cache's log goes to.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A log that this cache alone writes.
pub struct LogFile {
    /// None once it is dropped.
    file: Option<BufWriter<File>>,
    process: u32,
}

impl LogFile {
    /// Made anew. Another cache that still writes the file that was there goes on with that one, which
    /// has no name any more: in one file they would write over each other.
    ///
    /// # Errors
    /// If it cannot be had; they name it.
    pub fn create(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        // What may not be written is not replaced either, and a link leads on to what is to be made.
        let found = File::options().write(true).create(true).truncate(false).open(path).map_err(named)?;
        let metadata = found.metadata().map_err(named)?;
        let file = match metadata.is_file() {
            true => match replaced(path, metadata.permissions()) {
                Ok(file) => file,
                // Its folder may be another's, or the file be mounted on its own.
                Err(_) => {
                    found.set_len(0).map_err(named)?;
                    found
                }
            },
            // A pipe or a terminal may be several ones', and has nothing before.
            false => found,
        };
        Ok(LogFile { file: Some(BufWriter::new(file)), process: std::process::id() })
    }

    /// Adds to it. A cache does not stop for its log; what is missing shows in the log.
    pub fn add(&mut self, text: &str) {
        _ = self.file.as_mut().map(|file| file.write_all(text.as_bytes()));
    }
}

/// A new file in the place of one that is there.
fn replaced(path: &Path, permissions: Permissions) -> io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let whole = path.canonicalize()?;
    let number = NUMBER.fetch_add(1, Relaxed);
    let beside = whole.with_file_name(format!(".foresee-log-{}-{number}", std::process::id()));
    let file = File::options().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.set_permissions(permissions)
        .and_then(|()| fs::rename(&beside, &whole))
        .inspect_err(|_| _ = fs::remove_file(&beside))?;
    Ok(file)
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let file = self.file.take();
        if self.process != std::process::id() {
            // What a forked child has of the text is its parent's to write.
            drop(file.map(BufWriter::into_parts));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_writes_nothing_of_its_parents() {
        let path = std::env::temp_dir().join(format!("foresee-forked-log-{}", std::process::id()));
        let mut log = LogFile::create(&path).unwrap();
        log.add("once");
        // SAFETY: the child drops the log, which is all its own, and ends.
        match unsafe { libc::fork() } {
            0 => {
                drop(log);
                // SAFETY: it ends the child alone.
                unsafe { libc::_exit(0) };
            }
            child => {
                // SAFETY: its status is not asked for.
                assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
            }
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
        drop(log);
        assert_eq!(fs::read_to_string(&path).unwrap(), "once");
        fs::remove_file(&path).unwrap();
    }
}
