//! The file: written by one cache at a time, read by any, a slot at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::key::Key;
use super::layout::{ENTRY_BYTES, Entry, Layout, MAGIC, PAGE};

/// Who has just closed it may still be through with a write; it is not waited for longer.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
/// Of the index, so much is read at once.
const INDEX_READ_BYTES: usize = ENTRY_BYTES << 14;

/// The file.
pub struct SlotFile {
    /// Has the header and the entries; it is locked by who writes.
    file: File,
    /// The same past the page cache, for the slots; where that cannot be had, the same.
    slots: File,
    layout: Layout,
    /// The process that opened it.
    process: u32,
    /// What a test has it do.
    #[cfg(test)]
    pub staged: super::staged::Staged,
}

impl SlotFile {
    /// Opens the file, or makes it, and reads what its entries say. One that was made for other
    /// sizes begins anew, with no entries. Returns whether it is this cache's to write: another
    /// one may have it.
    ///
    /// # Errors
    /// If it cannot be had, if another cache has it for other sizes, or if it is something else:
    /// then nothing of it is touched.
    pub fn open(path: &Path, layout: Layout) -> io::Result<(Self, Vec<Option<Entry>>, bool)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // It has what others may not be allowed to read. A pipe would be waited for.
        let file = options.mode(0o600).custom_flags(libc::O_NONBLOCK).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let is_ours = lock(&file)?;
        let (header, found) = (layout.header(), first_page(&file)?);
        if !found.is_empty() && !found.starts_with(MAGIC) {
            let why = "it is no file of a cache's: give the path of another file, or remove this one";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        let is_same = found == header;
        if !is_ours && !is_same {
            let why =
                "another cache has it, with blocks or bytes of another number: give both the same, or a file each";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
        }
        if !is_same {
            // In this order: whenever it is killed, the file is empty or has a header.
            file.set_len(0)?;
            file.write_all_at(&header, 0)?;
        }
        if is_ours && file.metadata()?.len() != layout.bytes() {
            file.set_len(layout.bytes())?;
        }
        let entries =
            if is_same { entries(&file, layout, 0, layout.slots)? } else { vec![None; layout.slots as usize] };
        let same = format!("/proc/self/fd/{}", file.as_raw_fd());
        let direct = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(same);
        let slots = direct.or_else(|_| file.try_clone())?;
        let opened = SlotFile {
            file,
            slots,
            layout,
            process: std::process::id(),
            #[cfg(test)]
            staged: Default::default(),
        };
        Ok((opened, entries, is_ours))
    }

    /// What some entries say by now, from the first one on, and whether the file is this cache's to
    /// write from now on: who had it is gone.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn look(&self, first: u32, count: u32) -> io::Result<(Vec<Option<Entry>>, bool)> {
        let count = count.min(self.layout.slots - first);
        let is_ours = first == 0 && try_lock(&self.file)?;
        if first_page(&self.file)? == self.layout.header() {
            return Ok((entries(&self.file, self.layout, first, count)?, is_ours));
        }
        // It has been another one's since, who made it for other sizes.
        // SAFETY: a descriptor that is open; no memory is handed over.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
        Ok((vec![None; count as usize], false))
    }

    /// Reads slots that lie in a row. Each piece is one slot's. Returns whether all of it came.
    pub fn read(&self, first: u32, pieces: &mut [IoSliceMut<'_>]) -> io::Result<bool> {
        #[cfg(test)]
        let _reading = self.staged.reading();
        let wanted: usize = pieces.iter().map(|piece| piece.len()).sum();
        // SAFETY: an `IoSliceMut` is an `iovec` of memory that is ours to write.
        let call = |file: &File, at| unsafe {
            libc::preadv(file.as_raw_fd(), pieces.as_ptr().cast(), pieces.len() as libc::c_int, at)
        };
        self.past_the_cache_or_through_it(first, call).map(|came| came == wanted)
    }

    /// Writes the bytes of slots that lie in a row, then their entries. Each piece is one slot's.
    /// Returns the entries of the first of them, which the disk took: anything may lie in the
    /// slots after those.
    ///
    /// # Errors
    /// If it took none, or not the entries; or if somebody has written something else to the file.
    pub fn write(&self, first: u32, blocks: &[(Key, &[u8])]) -> io::Result<Vec<Entry>> {
        #[cfg(test)]
        let blocks = self.staged.writes(blocks);
        self.look_after_header()?;
        let pieces: Vec<IoSlice<'_>> = blocks.iter().map(|(_, bytes)| IoSlice::new(bytes)).collect();
        // SAFETY: an `IoSlice` is an `iovec`, whose memory is only read.
        let call = |file: &File, at| unsafe {
            libc::pwritev(file.as_raw_fd(), pieces.as_ptr().cast(), pieces.len() as libc::c_int, at)
        };
        let went = self.past_the_cache_or_through_it(first, call)? as u64 / self.layout.slot_bytes;
        let entry = |&(key, bytes): &(Key, &[u8])| Entry { key, checksum: key.checksum(bytes) };
        let entries: Vec<Entry> = blocks.iter().take(went as usize).map(entry).collect();
        let encoded: Vec<u8> = entries.iter().flat_map(Entry::encoded).collect();
        self.file.write_all_at(&encoded, self.layout.entry_at(first))?;
        Ok(entries)
    }

    /// A file that was cut off has its header again, or nobody would open it as a cache's any more;
    /// what somebody else wrote there is not written over: that is an error.
    fn look_after_header(&self) -> io::Result<()> {
        let (header, found) = (self.layout.header(), first_page(&self.file)?);
        if found == header {
            return Ok(());
        }
        if found.iter().any(|&byte| byte != 0) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is no longer a cache's file"));
        }
        self.file.write_all_at(&header, 0)?;
        self.file.set_len(self.layout.bytes())
    }

    fn past_the_cache_or_through_it(
        &self,
        slot: u32,
        call: impl Fn(&File, libc::off_t) -> libc::ssize_t,
    ) -> io::Result<usize> {
        let at = libc::off_t::try_from(self.layout.slot_at(slot)).map_err(|_| io::ErrorKind::InvalidInput)?;
        let once = |file| usize::try_from(call(file, at)).map_err(|_| io::Error::last_os_error());
        match once(&self.slots) {
            // Not every file system that opens so reads so.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => once(&self.file),
            result => result,
        }
    }
}

impl Drop for SlotFile {
    /// A child that was forked meanwhile has the file open as well, and with it the lock.
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: a descriptor that is open; no memory is handed over.
            unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
        }
    }
}

/// The page of the header, as far as the file has it.
fn first_page(file: &File) -> io::Result<Vec<u8>> {
    let mut page = vec![0; PAGE as usize];
    let bytes = file.read_at(&mut page, 0)?;
    page.truncate(bytes);
    Ok(page)
}

/// Locks it, if nobody else has it.
fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: a descriptor that is open; no memory is handed over.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        error => Err(error),
    }
}

/// The same with some patience.
fn lock(file: &File) -> io::Result<bool> {
    let begun = Instant::now();
    loop {
        let is_ours = try_lock(file)?;
        if is_ours || begun.elapsed() >= LOCK_PATIENCE {
            return Ok(is_ours);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn entries(file: &File, layout: Layout, first: u32, count: u32) -> io::Result<Vec<Option<Entry>>> {
    let mut entries = Vec::with_capacity(count as usize);
    let mut buffer = vec![0; INDEX_READ_BYTES.min(count as usize * ENTRY_BYTES)];
    while entries.len() < count as usize {
        let left = (count as usize - entries.len()) * ENTRY_BYTES;
        let buffer = &mut buffer[..left.min(INDEX_READ_BYTES)];
        file.read_exact_at(buffer, layout.entry_at(first + entries.len() as u32))?;
        entries.extend(buffer.as_chunks().0.iter().map(Entry::decoded));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::{env, fs, process, ptr};

    use super::*;

    /// A child that has what this process has, does this, and lives on until it is killed.
    fn forked(does: impl FnOnce()) -> libc::pid_t {
        // SAFETY: the child takes no lock that another thread may have.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: takes no pointers.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                does();
                loop {
                    // SAFETY: takes no pointers.
                    unsafe { libc::pause() };
                }
            }
            child => child,
        }
    }

    fn kill(child: libc::pid_t) {
        // SAFETY: no pointers but a null one; it is our child.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, ptr::null_mut(), 0);
        }
    }

    #[test]
    fn it_is_whose_process_opened_it_whatever_children_that_has() {
        let path = env::temp_dir().join(format!("foresee-slots-{}", process::id()));
        let open = || SlotFile::open(&path, Layout::new(1 << 20, 4096)).unwrap();
        let (ours, _, is_ours) = open();
        let (mut told, mut tells) = io::pipe().unwrap();
        let of_child = &raw const ours;
        let child = forked(|| {
            // SAFETY: the child's own, which it lets go once.
            drop(unsafe { of_child.read() });
            let _ = tells.write_all(b"x");
        });
        drop(tells);
        told.read_exact(&mut [0]).unwrap();
        let is_lost = open().2;
        kill(child);
        let child = forked(|| ());
        drop(ours);
        let is_free = open().2;
        kill(child);
        fs::remove_file(&path).unwrap();
        assert_eq!((is_ours, is_lost, is_free), (true, false, true));
    }
}
