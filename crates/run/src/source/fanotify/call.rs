//! What a thread that waits is about to do with the bytes: the kernel asks alike for reads, writes
//! and mappings.
//!
//! `/proc/THREAD/syscall` tells the system call it is in. A call that is not known to write or to
//! do neither counts as a read; so do requests of io_uring and libaio, of which nothing tells what
//! they are.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};

use super::access::Range;

/// The kernel rounds ranges to whole pages.
const PAGE_BYTES: u64 = 4096;
/// So often it is asked about a thread that is still on its way to sleep.
const LOOKS_MAX: usize = 1000;
/// Threads whose files are kept open at one time.
const FILES_MAX: usize = 128;

/// What a record says of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Whether they are written.
    pub write: bool,
    /// The first.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

/// A system call and what it was given.
struct Call {
    number: i64,
    arguments: [u64; 6],
}

/// Looks at the calls threads wait in.
#[derive(Default)]
pub struct Calls {
    /// What tells a thread's call, kept open: to look again is a third of the price. It ends with
    /// the thread, whoever gets its number.
    files: HashMap<u32, File>,
}

impl Calls {
    /// The call a thread waits in.
    fn of(&mut self, thread: u32) -> Option<Call> {
        // A number, six arguments and two more, of 18 characters at most: one read gets all.
        let mut buffer = [0; 256];
        for _ in 0..LOOKS_MAX {
            let length = self.look(thread, &mut buffer)?;
            let text = str::from_utf8(&buffer[..length]).ok()?;
            if !text.starts_with("running") {
                return Call::parse(text);
            }
            std::thread::yield_now();
        }
        None
    }

    fn look(&mut self, thread: u32, buffer: &mut [u8]) -> Option<usize> {
        if let Some(length) = self.files.get(&thread).and_then(|file| file.read_at(buffer, 0).ok()) {
            return Some(length);
        }
        if self.files.len() >= FILES_MAX {
            self.files.clear();
        }
        let file = File::open(format!("/proc/{thread}/syscall")).ok()?;
        let length = file.read_at(buffer, 0).ok()?;
        self.files.insert(thread, file);
        Some(length)
    }
}

/// What this thread does with these bytes of the file; None if it neither reads nor writes any.
pub fn span(calls: &mut Calls, thread: u32, file: &File, range: Range) -> Option<Span> {
    let call = calls.of(thread);
    let metadata = file.metadata().ok()?;
    let size = metadata.len();
    match call.as_ref().map_or(Doing::Reads, |call| call.doing(thread, &metadata)) {
        Doing::Neither => None,
        Doing::Writes => {
            // An append is asked about where the descriptor stands, and goes to the end.
            let appends = call.and_then(|call| call.descriptor(thread)).is_some_and(|descriptor| descriptor.appends);
            let offset = if appends { size / PAGE_BYTES * PAGE_BYTES } else { range.offset };
            Some(Span { write: true, offset, bytes: range.bytes }).filter(|span| span.bytes > 0)
        }
        Doing::Reads => {
            let bytes = size.min(range.offset.saturating_add(range.bytes)).checked_sub(range.offset)?;
            // Whether a read that begins on the last page begins beyond the last byte, as the one that finds
            // the end of a file does, the page does not tell.
            let begins = || call.and_then(|call| call.position(thread));
            let is_last = range.offset + PAGE_BYTES > size;
            let span = Span { write: false, offset: range.offset, bytes };
            Some(span).filter(|_| bytes > 0 && !(is_last && begins().is_some_and(|begins| begins >= size)))
        }
    }
}

enum Doing {
    Reads,
    Writes,
    Neither,
}

/// What a file's descriptor of a thread says.
struct Descriptor {
    position: u64,
    appends: bool,
}

impl Call {
    fn parse(text: &str) -> Option<Call> {
        let mut words = text.split_ascii_whitespace();
        let number = words.next()?.parse().ok()?;
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        }
        Some(Call { number, arguments })
    }

    fn doing(&self, thread: u32, file: &fs::Metadata) -> Doing {
        match self.number {
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
                Doing::Writes
            }
            // From one file to another, and we are asked about each.
            libc::SYS_copy_file_range | libc::SYS_sendfile | libc::SYS_splice => match self.source(thread) {
                Some(source) if (source.dev(), source.ino()) != (file.dev(), file.ino()) => Doing::Writes,
                _ => Doing::Reads,
            },
            libc::SYS_fallocate | libc::SYS_ftruncate | libc::SYS_truncate | libc::SYS_ioctl => Doing::Neither,
            _ => Doing::Reads,
        }
    }

    /// The number of the descriptor that is read or written through, if the call has one.
    fn number_of_descriptor(&self) -> Option<u64> {
        match self.number {
            libc::SYS_sendfile => Some(self.arguments[1]),
            libc::SYS_mmap | libc::SYS_execve | libc::SYS_execveat => None,
            _ => Some(self.arguments[0]),
        }
    }

    /// The file that a call reads from that has two.
    fn source(&self, thread: u32) -> Option<fs::Metadata> {
        fs::metadata(format!("/proc/{thread}/fd/{}", self.number_of_descriptor()?)).ok()
    }

    fn descriptor(&self, thread: u32) -> Option<Descriptor> {
        let text = fs::read_to_string(format!("/proc/{thread}/fdinfo/{}", self.number_of_descriptor()?)).ok()?;
        let field = |name| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let flags = i32::from_str_radix(field("flags:")?, 8).ok()?;
        Some(Descriptor { position: field("pos:")?.parse().ok()?, appends: flags & libc::O_APPEND != 0 })
    }

    /// The first byte it reads, if it reads bytes of a descriptor and that can be told.
    fn position(&self, thread: u32) -> Option<u64> {
        let at_descriptor = match self.number {
            libc::SYS_pread64 | libc::SYS_preadv => return Some(self.arguments[3]),
            libc::SYS_read | libc::SYS_readv => true,
            // Where these are given a place, it is in memory of the thread's.
            libc::SYS_copy_file_range | libc::SYS_splice => self.arguments[1] == 0,
            libc::SYS_sendfile => self.arguments[2] == 0,
            _ => false,
        };
        at_descriptor.then(|| self.descriptor(thread)).flatten().map(|descriptor| descriptor.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_as_the_kernel_writes_it() {
        let call = Call::parse("17 0x3 0x7ffd10 0x64 0x1388 0x0 0x0 0x7ffd08 0x430bc3\n").unwrap();
        assert_eq!((call.number, call.arguments), (17, [3, 0x007f_fd10, 100, 5000, 0, 0]));
        assert!(Call::parse("-1 0x7ffd08 0x430bc3\n").is_none(), "in no call: a thread of the kernel's");
        assert!(Call::parse("running\n").is_none());
        assert!(Call::parse("").is_none());
    }

    #[test]
    fn a_thread_s_call_is_looked_at_again_and_again() {
        let mut calls = Calls::default();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let sleeps =
            |calls: &mut Calls| calls.of(child.id()).is_some_and(|call| call.number == libc::SYS_clock_nanosleep);
        // It begins as us, and waits for its loader.
        while !sleeps(&mut calls) {}
        assert!(sleeps(&mut calls));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(calls.of(child.id()).is_none(), "it has ended");
    }

    #[test]
    fn our_own_descriptor_tells_where_it_stands() {
        use std::io::{Seek, SeekFrom};
        use std::os::fd::AsRawFd;
        let mut file = File::open("/proc/self/exe").unwrap();
        file.seek(SeekFrom::Start(1234)).unwrap();
        let read = Call { number: libc::SYS_read, arguments: [file.as_raw_fd() as u64, 0, 0, 0, 0, 0] };
        assert_eq!(read.position(std::process::id()), Some(1234));
        let appends = |file: &File| {
            let write = Call { number: libc::SYS_write, arguments: [file.as_raw_fd() as u64, 0, 0, 0, 0, 0] };
            write.descriptor(std::process::id()).unwrap().appends
        };
        let path = std::env::temp_dir().join(format!("foresee-appends-{}", std::process::id()));
        let appending = File::options().create(true).append(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(appends(&appending) && !appends(&file));
    }
}
