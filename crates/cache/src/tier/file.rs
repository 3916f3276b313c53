//! The file: opened by one process at a time, read and written a slot at a time.

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
    /// Has the header and the entries; it is locked.
    file: File,
    /// The same past the page cache, for the slots; where that cannot be had, the same.
    slots: File,
    layout: Layout,
    /// What a test's disk takes longer for each read.
    #[cfg(test)]
    pub late: std::sync::Mutex<Duration>,
}

impl SlotFile {
    /// Opens the file, or makes it, and reads what its entries say. One that was made for other sizes begins anew, with no entries.
    ///
    /// # Errors
    /// If it cannot be had, if another cache has it, or if it is something else: then nothing of it is touched.
    pub fn open(path: &Path, layout: Layout) -> io::Result<(Self, Vec<Option<Entry>>)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // It has what others may not be allowed to read. A pipe would be waited for.
        let file = options.mode(0o600).custom_flags(libc::O_NONBLOCK).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        lock(&file)?;
        let (header, mut found) = (layout.header(), vec![0; PAGE as usize]);
        let found_bytes = file.read_at(&mut found, 0)?;
        found.truncate(found_bytes);
        if !found.is_empty() && !found.starts_with(MAGIC) {
            let why = "it is no file of a cache's: give the path of another file, or remove this one";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        let is_same = found == header;
        if !is_same {
            // In this order: whenever it is killed, the file is empty or has a header.
            file.set_len(0)?;
            file.write_all_at(&header, 0)?;
        }
        if file.metadata()?.len() != layout.bytes() {
            file.set_len(layout.bytes())?;
        }
        let entries = if is_same { entries(&file, layout)? } else { vec![None; layout.slots as usize] };
        let same = format!("/proc/self/fd/{}", file.as_raw_fd());
        let direct = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(same);
        let slots = direct.or_else(|_| file.try_clone())?;
        let opened = SlotFile {
            file,
            slots,
            layout,
            #[cfg(test)]
            late: std::sync::Mutex::default(),
        };
        Ok((opened, entries))
    }

    /// Reads slots that lie in a row. Each piece is one slot's. Returns whether all of it came.
    pub fn read(&self, first: u32, pieces: &mut [IoSliceMut<'_>]) -> io::Result<bool> {
        #[cfg(test)]
        thread::sleep(*self.late.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let wanted: usize = pieces.iter().map(|piece| piece.len()).sum();
        // SAFETY: an `IoSliceMut` is an `iovec` of memory that is ours to write.
        let call = |file: &File, at| unsafe {
            libc::preadv(file.as_raw_fd(), pieces.as_ptr().cast(), pieces.len() as libc::c_int, at)
        };
        self.past_the_cache_or_through_it(first, call).map(|came| came == wanted)
    }

    /// Writes the bytes of a slot, then its entry.
    ///
    /// # Errors
    /// If the disk does not take them: anything may lie in the slot then.
    pub fn write(&self, slot: u32, key: Key, bytes: &[u8]) -> io::Result<Entry> {
        let piece = IoSlice::new(bytes);
        // SAFETY: an `IoSlice` is an `iovec`, whose memory is only read.
        let call = |file: &File, at| unsafe { libc::pwritev(file.as_raw_fd(), (&raw const piece).cast(), 1, at) };
        if self.past_the_cache_or_through_it(slot, call)? != bytes.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let entry = Entry { key, checksum: key.checksum(bytes) };
        self.file.write_all_at(&entry.encoded(), self.layout.entry_at(slot))?;
        Ok(entry)
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

fn lock(file: &File) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        // SAFETY: a descriptor that is open; no memory is handed over.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ if begun.elapsed() < LOCK_PATIENCE => thread::sleep(Duration::from_millis(5)),
            _ => {
                let why = "another cache has it: give each a file of its own, or let one serve all";
                return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
            }
        }
    }
}

fn entries(file: &File, layout: Layout) -> io::Result<Vec<Option<Entry>>> {
    let mut entries = Vec::with_capacity(layout.slots as usize);
    let mut buffer = vec![0; INDEX_READ_BYTES];
    while entries.len() < layout.slots as usize {
        let left = (layout.slots as usize - entries.len()) * ENTRY_BYTES;
        let buffer = &mut buffer[..left.min(INDEX_READ_BYTES)];
        file.read_exact_at(buffer, layout.entry_at(entries.len() as u32))?;
        entries.extend(buffer.as_chunks().0.iter().map(Entry::decoded));
    }
    Ok(entries)
}
