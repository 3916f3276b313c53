//! What is written of a file and not sent yet: in memory while there is room, then in a file
//! without a name, so that however many files are written at once take no more memory than was
//! said, and none waits for another that may never be closed.

use std::env;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use foresee::store::Upload;

use crate::allowance::{Allowance, Allowed};
use crate::failure::Failure;

/// What lies in memory lies there twice while it is sent.
const COPIES: usize = 2;
/// Of a file so much is sent at once.
const PIECE_BYTES: usize = 1 << 20;

/// Errors that say the same of what is written as of the file that it waits in.
const OF_ROOM: [i32; 6] = [libc::ENOSPC, libc::EDQUOT, libc::EFBIG, libc::EMFILE, libc::ENFILE, libc::ENOMEM];

/// Where what is written may be.
pub struct Room {
    /// All that lies in memory, and what uploads take.
    pub memory: Arc<Allowance>,
    /// What lies in files is sent one after the other.
    pub of_files: Mutex<()>,
}

/// The bytes, from the beginning of the file, or from the end of what was sent of it on.
pub enum Kept {
    /// In memory.
    Memory(Vec<u8>),
    /// In a file, there.
    File(File, Range<u64>),
}

impl Default for Kept {
    fn default() -> Self {
        Kept::Memory(Vec::new())
    }
}

impl Kept {
    /// How many there are.
    pub fn len(&self) -> u64 {
        match self {
            Kept::Memory(bytes) => bytes.len() as u64,
            Kept::File(_, kept) => kept.end - kept.start,
        }
    }

    /// Takes them to be so many: zeros are added, or the last ones are cut off. They move to a file
    /// if there is no room for them.
    pub fn resize(&mut self, size: u64, room: &mut Allowed) -> Result<(), Failure> {
        match self {
            Kept::Memory(bytes) if room.grow(size as usize * COPIES) => {
                bytes.reserve_exact((size as usize).saturating_sub(bytes.len()));
                bytes.resize(size as usize, 0);
            }
            Kept::Memory(_) => {
                self.move_to_file()?;
                return self.resize(size, room);
            }
            Kept::File(file, kept) => {
                kept.end = kept.start + size;
                file.set_len(kept.end).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Takes them from the beginning of a file that has at least as many.
    pub fn fill(&mut self, file: &foresee::File) -> Result<(), Failure> {
        if let Kept::Memory(bytes) = self {
            file.read_at(bytes, 0)?;
            return Ok(());
        }
        let mut piece = vec![0; PIECE_BYTES.min(self.len() as usize)];
        for at in (0..self.len()).step_by(PIECE_BYTES) {
            let count = file.read_at(&mut piece, at)?;
            self.write_at(&piece[..count], at)?;
        }
        Ok(())
    }

    /// Replaces some of them.
    pub fn write_at(&mut self, new: &[u8], offset: u64) -> Result<(), Failure> {
        match self {
            Kept::Memory(bytes) => bytes[offset as usize..][..new.len()].copy_from_slice(new),
            Kept::File(file, kept) => file.write_all_at(new, kept.start + offset).map_err(failed)?,
        }
        Ok(())
    }

    /// Up to so many of them, from here on.
    pub fn read_at(&self, offset: u64, size: usize) -> Result<Vec<u8>, Failure> {
        let count = (size as u64).min(self.len().saturating_sub(offset)) as usize;
        match self {
            Kept::Memory(_) if count == 0 => Ok(Vec::new()),
            Kept::Memory(bytes) => Ok(bytes[offset as usize..][..count].to_vec()),
            Kept::File(file, kept) => {
                let mut bytes = vec![0; count];
                file.read_exact_at(&mut bytes, kept.start + offset).map_err(failed)?;
                Ok(bytes)
            }
        }
    }

    /// Sends all of them.
    pub fn send(&self, to: &mut dyn Upload, failure: impl Fn(foresee::store::Error) -> Failure) -> Result<(), Failure> {
        match self {
            Kept::Memory(bytes) => to.write(bytes).map_err(failure),
            Kept::File(..) => (0..self.len())
                .step_by(PIECE_BYTES)
                .try_for_each(|at| to.write(&self.read_at(at, PIECE_BYTES)?).map_err(&failure)),
        }
    }

    /// Sends the first of them, which are not kept any more.
    pub fn send_first(
        &mut self,
        count: usize,
        to: &mut dyn Upload,
        failure: impl Fn(foresee::store::Error) -> Failure,
    ) -> Result<(), Failure> {
        for at in (0..count).step_by(PIECE_BYTES) {
            let piece = PIECE_BYTES.min(count - at);
            match self {
                Kept::Memory(bytes) => to.write(&bytes[at..][..piece]).map_err(&failure)?,
                Kept::File(..) => to.write(&self.read_at(at as u64, piece)?).map_err(&failure)?,
            }
        }
        match self {
            // In place: what is left takes no second room beside what is on its way.
            Kept::Memory(bytes) => drop(bytes.drain(..count)),
            Kept::File(file, kept) => {
                give_room_back(file, kept.start, count);
                kept.start += count as u64;
            }
        }
        Ok(())
    }

    /// They are in a file from now on.
    pub fn move_to_file(&mut self) -> Result<(), Failure> {
        if let Kept::Memory(bytes) = self {
            let file = file_without_a_name()?;
            file.write_all_at(bytes, 0).map_err(failed)?;
            *self = Kept::File(file, 0..bytes.len() as u64);
        }
        Ok(())
    }

    /// They are in memory from now on, which has room for them.
    pub fn move_to_memory(&mut self) -> Result<(), Failure> {
        if matches!(self, Kept::File(..)) {
            *self = Kept::Memory(self.read_at(0, self.len() as usize)?);
        }
        Ok(())
    }
}

/// A file system that cannot do so keeps it until the file is gone.
fn give_room_back(file: &File, from: u64, count: usize) {
    let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: takes numbers, of a file that is open.
    unsafe { libc::fallocate(file.as_raw_fd(), how, from as i64, count as i64) };
}

fn file_without_a_name() -> Result<File, Failure> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let path = folder().join(format!(".foresee-{}-{}", process::id(), COUNT.fetch_add(1, Relaxed)));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    fs::remove_file(&path).map_err(failed)?;
    Ok(file)
}

fn folder() -> PathBuf {
    env::temp_dir()
}

/// Why what is written cannot wait in files, if it cannot.
pub fn unusable_for_writing() -> Option<Failure> {
    file_without_a_name().err()
}

/// What is wrong with a file that nobody named is not told as if it were that of who writes.
fn failed(error: io::Error) -> Failure {
    let why = format!("what is written waits in {} (TMPDIR): {error}", folder().display());
    let errno = error.raw_os_error().filter(|errno| OF_ROOM.contains(errno)).unwrap_or(libc::EIO);
    Failure { errno, why }
}

#[cfg(test)]
mod tests {
    use foresee::store::{Error, Version};

    use super::*;

    struct Sent(Vec<u8>);

    impl Upload for Sent {
        fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<Option<Version>, Error> {
            Ok(None)
        }
    }

    #[test]
    fn what_has_no_room_in_memory_is_the_same_in_a_file() {
        let memory = Allowance::new(8);
        for (mut room, is_in_memory) in [(memory.nothing(), true), (memory.nothing(), false)] {
            let mut kept = Kept::default();
            kept.resize(4, &mut room).unwrap();
            kept.write_at(b"text", 0).unwrap();
            if !is_in_memory {
                kept.resize(5, &mut room).unwrap();
                kept.resize(4, &mut room).unwrap();
            }
            assert_eq!(matches!(kept, Kept::Memory(_)), is_in_memory);
            assert_eq!((kept.len(), kept.read_at(1, 2).unwrap()), (4, b"ex".to_vec()));
            assert_eq!((kept.read_at(2, 9).unwrap(), kept.read_at(9, 9).unwrap()), (b"xt".to_vec(), Vec::new()));
            let mut sent = Sent(Vec::new());
            kept.send_first(1, &mut sent, |error| panic!("{error}")).unwrap();
            assert_eq!((kept.len(), kept.read_at(0, 9).unwrap()), (3, b"ext".to_vec()));
            kept.write_at(b"o", 0).unwrap();
            match is_in_memory {
                true => kept.move_to_file().unwrap(),
                false => kept.move_to_memory().unwrap(),
            }
            assert_eq!(matches!(kept, Kept::Memory(_)), !is_in_memory);
            kept.resize(4, &mut room).unwrap();
            kept.send(&mut sent, |error| panic!("{error}")).unwrap();
            assert_eq!(sent.0, b"toxt\0");
        }
    }
}
