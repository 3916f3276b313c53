//! A socket of this machine, which goes with who answers there.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Who was there before may go at any moment, and others may come: so often is tried.
const ATTEMPTS: usize = 5;

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
        let mut bound = UnixListener::bind(path);
        for _ in 1..ATTEMPTS {
            match &bound {
                Err(error) if error.kind() == ErrorKind::AddrInUse && is_free(path)? => {
                    bound = UnixListener::bind(path);
                }
                _ => break,
            }
        }
        let listener = bound?;
        let there = fs::symlink_metadata(path)?;
        Ok((listener, SocketFile { path: path.to_owned(), device: there.dev(), number: there.ino() }))
    }
}

/// Whether nobody listens there, now that what was left there is removed.
fn is_free(path: &Path) -> io::Result<bool> {
    match UnixStream::connect(path).map_err(|error| error.kind()) {
        Err(ErrorKind::ConnectionRefused) => match fs::remove_file(path) {
            // Who was there went himself.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            removed => removed.map(|()| true),
        },
        Err(ErrorKind::NotFound) => Ok(true),
        _ => Ok(false),
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A path that nothing is at.
    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("foresee-socket-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_place_is_free_unless_somebody_listens_there() {
        let path = path("free");
        assert!(is_free(&path).unwrap(), "who was there has gone since");
        let (listener, _file) = SocketFile::listen(&path).unwrap();
        assert!(!is_free(&path).unwrap());
        assert_eq!(SocketFile::listen(&path).err().unwrap().kind(), ErrorKind::AddrInUse);
        drop(listener);
        assert!(is_free(&path).unwrap() && !path.exists(), "what was left is removed");
    }

    #[test]
    fn what_was_left_is_replaced_and_goes_with_who_listens() {
        let path = path("left");
        drop(UnixListener::bind(&path).unwrap());
        let listens = SocketFile::listen(&path).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        drop(listens);
        assert!(!path.exists());
    }

    #[test]
    fn a_link_that_leads_nowhere_is_left_as_it_is() {
        let path = path("link");
        symlink("nowhere", &path).unwrap();
        assert_eq!(SocketFile::listen(&path).err().unwrap().kind(), ErrorKind::AddrInUse);
        fs::remove_file(&path).unwrap();
    }
}
