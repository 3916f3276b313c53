//! Files of this machine.
//!
//! A file's version is what the file system says of it: device, inode, size and times. It is looked
//! at after each read: whoever writes to a file sets its times before its bytes, so that bytes of
//! another version are never taken for these. A time stamp is as coarse as the system's clock
//! ticks: a file that was changed within the last moment is waited for until a further change would
//! show. What is written through a shared mapping shows when the system writes it back. That a file lost
//! its last name is no change to who has it open.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Error, Folder, Listed, Object, Store, Version, begins_at};

/// No system's clock ticks more coarsely: 100 ticks a second, and one of them may just have begun.
const TICK_NS: u64 = 20_000_000;
/// What reads past the system's own cache must be aligned to: a page, which no device's block is
/// larger than.
const ALIGNMENT: usize = 4096;
/// Pieces of one call at most (IOV_MAX).
const PIECES_MAX: usize = 1024;

/// Files by their paths, absolute ones or of the working directory; paths that are not UTF-8 cannot
/// be named.
#[derive(Debug, Clone, Copy, Default)]
pub struct Local {
    direct: bool,
}

impl Local {
    /// Files, read through the system's page cache: what is there is read quickly, and what is read
    /// stays there as well.
    pub fn new() -> Self {
        Local::default()
    }

    /// Past the page cache (`O_DIRECT`), where the file system can: what is read is in memory once,
    /// and comes from the device. A read whose place, length or memory is not of whole pages
    /// puts an end to that for its file.
    pub fn direct() -> Self {
        Local { direct: true }
    }
}

impl Store for Local {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
        // A pipe would be waited for.
        let open = |flags| OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | flags).open(name);
        let (file, is_direct) = match self.direct.then(|| open(libc::O_DIRECT)) {
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => (open(0)?, false),
            Some(direct) => (direct?, true),
            None => (open(0)?, false),
        };
        let metadata = settled(&file)?;
        let (size, version) = (metadata.len(), Version::from(&metadata));
        let needs_thread = !is_direct || waits(&file);
        let opened = Open { file, is_direct: is_direct.into(), needs_thread, size, version };
        if metadata.is_dir() {
            return Err(io::Error::from_raw_os_error(libc::EISDIR).into());
        }
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file").into());
        }
        // Files that the system makes up as they are read say that they are empty or, in sysfs, as long as a
        // page, and take no room. One byte cannot be read past the page cache, and what this one is read by
        // says how all of its place are.
        let has_byte = |at| read(&open(0)?, at, &mut [IoSliceMut::new(&mut [0])]).map(|came| came > 0);
        let is_wrong = match metadata.len() {
            0 => has_byte(0)?,
            // Other file systems may say of no file what room it takes: where the byte cannot be read, who reads
            // the file is told why.
            len if len == page_bytes() && metadata.blocks() == 0 => matches!(has_byte(len - 1), Ok(false)),
            _ => false,
        };
        if is_wrong && opened.file.metadata()?.len() == metadata.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it does not say how long it is").into());
        }
        Ok(Arc::new(opened))
    }

    /// As a store of objects has it: whatever lies below a directory whose path begins so, too. What
    /// cannot be listed of that is an error. Links to directories are not followed, but for the one
    /// that is asked for.
    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        let Folder { mut objects, mut folders, .. } = self.folder(prefix, None)?;
        while let Some(folder) = folders.pop() {
            if folder != prefix && fs::symlink_metadata(&folder).is_ok_and(|it| it.is_symlink()) {
                continue;
            }
            match self.folder(&format!("{folder}/"), None) {
                Ok(below) => {
                    objects.extend(below.objects);
                    folders.extend(below.folders);
                }
                // It went meanwhile.
                Err(Error::NotFound) => {}
                Err(Error::Io(error)) => return Err(io::Error::new(error.kind(), format!("{folder}: {error}")).into()),
                Err(error) => return Err(error),
            }
        }
        objects.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(objects)
    }

    /// A directory as `.` or `..` is no beginning of a name: what lies in it is meant.
    fn folder(&self, prefix: &str, page: Option<&str>) -> Result<Folder, Error> {
        Folder::refuse_page(page)?;
        let is_directory = matches!(prefix.rsplit('/').next(), Some("." | ".."));
        let prefix = &if is_directory { format!("{prefix}/") } else { prefix.to_owned() };
        let above = prefix.rsplit_once('/').map_or(".", |(above, _)| if above.is_empty() { "/" } else { above });
        let begin = prefix.rsplit_once('/').map_or("", |(above, _)| &prefix[..=above.len()]);
        let mut folder = Folder::default();
        for entry in fs::read_dir(Path::new(above))? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = format!("{begin}{name}");
            // Links are followed, as opening does; what went meanwhile is not listed.
            let metadata = name.starts_with(prefix.as_str()).then(|| fs::metadata(entry.path()).ok()).flatten();
            match metadata {
                Some(metadata) if metadata.is_file() => {
                    let (size, modified) = (metadata.len(), metadata.modified().ok());
                    folder.objects.push(Listed { name, size, version: Some(Version::from(&metadata)), modified });
                }
                Some(metadata) if metadata.is_dir() => folder.folders.push(name),
                _ => {}
            }
        }
        folder.objects.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        folder.folders.sort_unstable();
        Ok(folder)
    }
}

struct Open {
    file: File,
    /// Whether it is read past the page cache.
    is_direct: AtomicBool,
    /// Whether who reads it waits for it, whatever is asked of its file system.
    needs_thread: bool,
    size: u64,
    version: Version,
}

impl Open {
    /// The file, from now on read through the page cache.
    fn buffered(&self) -> io::Result<&File> {
        if self.is_direct.load(Relaxed) {
            let descriptor = self.file.as_raw_fd();
            // SAFETY: an open descriptor's flags are read, and set; no memory is handed over.
            let set = unsafe {
                let flags = libc::fcntl(descriptor, libc::F_GETFL);
                libc::fcntl(descriptor, libc::F_SETFL, flags & !libc::O_DIRECT)
            };
            if set < 0 {
                return Err(io::Error::last_os_error());
            }
            self.is_direct.store(false, Relaxed);
        }
        Ok(&self.file)
    }
}

impl Object for Open {
    fn size(&self) -> u64 {
        self.size
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn place(&self) -> String {
        match self.version {
            Version::Stamp([device, ..]) => device.to_string(),
            Version::Tag(_) => String::new(),
        }
    }

    /// Only where a device of this machine holds it: who has the file from another one may have to ask
    /// that for it.
    fn begins_at(&self) -> u64 {
        match self.version {
            Version::Stamp([device, ..]) if libc::major(device) > 0 => begins_at(&self.file),
            _ => 0,
        }
    }

    fn file(&self) -> Option<&File> {
        (self.is_direct.load(Relaxed) && !self.needs_thread).then_some(&self.file)
    }

    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        let pieces_read = pieces.len().min(PIECES_MAX);
        let pieces = &mut pieces[..pieces_read];
        let aligned = |piece: &IoSliceMut<'_>| {
            piece.as_ptr().addr().is_multiple_of(ALIGNMENT) && piece.len().is_multiple_of(ALIGNMENT)
        };
        let is_aligned = offset.is_multiple_of(ALIGNMENT as u64) && pieces.iter().all(aligned);
        let came = match is_aligned && self.is_direct.load(Relaxed) {
            // Not every file system that opens so reads so.
            true => read(&self.file, offset, pieces).or_else(|_| read(self.buffered()?, offset, pieces))?,
            false => read(self.buffered()?, offset, pieces)?,
        };
        Ok((came, self.version.of_open(&self.file.metadata()?)))
    }
}

fn read(file: &File, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        // SAFETY: an `IoSliceMut` is an `iovec` of memory that is ours to write; there are no more of them
        // than an int holds.
        let came =
            unsafe { libc::preadv(file.as_raw_fd(), pieces.as_ptr().cast(), pieces.len() as libc::c_int, offset) };
        match usize::try_from(came) {
            Ok(came) => return Ok(came),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Whether the file system cannot begin a read without waiting for it: then io_uring would need a
/// thread of the kernel's for each, or refuses it. A byte where none can be read is asked for, so
/// that nothing is read.
fn waits(file: &File) -> bool {
    let mut byte = 0_u8;
    let piece = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: one piece, of one byte of ours.
    let came = unsafe { libc::preadv2(file.as_raw_fd(), &raw const piece, 1, 1, libc::RWF_NOWAIT) };
    came < 0 && matches!(io::Error::last_os_error().raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
}

/// Bytes of one of this machine's pages.
fn page_bytes() -> u64 {
    // SAFETY: it is asked for a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    (seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(nanoseconds as u64)
}

impl From<&Metadata> for Version {
    fn from(of: &Metadata) -> Self {
        let changed = nanoseconds(of.mtime(), of.mtime_nsec());
        let touched = nanoseconds(of.ctime(), of.ctime_nsec());
        Version::Stamp([of.dev(), of.ino(), of.len(), changed, touched])
    }
}

impl Version {
    /// The version that a file which was opened in this one has by now, as the system says.
    #[must_use]
    pub fn of_open(&self, now: &Metadata) -> Version {
        let version = Version::from(now);
        match (self, &version) {
            // That its last name went is told by the time of its inode, and its bytes can be written by nobody
            // but who has it open as well, which the other stamps tell.
            (Version::Stamp(then), Version::Stamp(now_stamps)) if now.nlink() == 0 && then[..4] == now_stamps[..4] => {
                self.clone()
            }
            _ => version,
        }
    }
}

/// What the system says of a file, once any further change would show as another stamp. What hides
/// behind this one was written before any byte is read; a file that is written to all the time is
/// not waited for again, or it could never be opened.
fn settled(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos() as u64);
    // A stamp of the future is another machine's clock, which says nothing of ours.
    match now.checked_sub(nanoseconds(metadata.ctime(), metadata.ctime_nsec())) {
        Some(age) if age < TICK_NS => thread::sleep(Duration::from_nanos(TICK_NS - age)),
        _ => {}
    }
    Ok(metadata)
}
