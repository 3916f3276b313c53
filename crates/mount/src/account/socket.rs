//! A socket of this machine, which goes with who answers there.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A socket's file, removed with this if it is still the same.
///
/// The file's number is nobody else's as long as somebody listens, which is up to the process's end.
pub struct SocketFile {
    path: PathBuf,
    device: u64,
    number: u64,
}

impl SocketFile {
    /// Listens there. A socket that nobody answers at was left by one that was killed.
    ///
    /// # Errors
    /// What the system says.
    pub fn listen(path: &Path) -> io::Result<(UnixListener, Self)> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => match UnixStream::connect(path) {
                Err(nobody) if nobody.kind() == ErrorKind::ConnectionRefused => {
                    fs::remove_file(path)?;
                    UnixListener::bind(path)?
                }
                _ => return Err(error),
            },
            bound => bound?,
        };
        let there = fs::symlink_metadata(path)?;
        Ok((listener, SocketFile { path: path.to_owned(), device: there.dev(), number: there.ino() }))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = |it: fs::Metadata| (it.dev(), it.ino()) == (self.device, self.number);
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            // Who comes next takes the place of one that nobody answers at.
            let _ = fs::remove_file(&self.path);
        }
    }
}
