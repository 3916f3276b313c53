//! Reads of a striped file, answered by its members at once.
//!
//! A request is cut at the units; what one member holds of it lies there in one piece and is read
//! at once, into the request's own places of one buffer. Each member has a queue and threads of its
//! own, so that no disk waits for another. The thread that reads the last part hands the request
//! over.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use super::buffer::Buffer;
use super::header::{ALIGN_BYTES, HEADER_BYTES};
use super::set::{Member, Set};
use crate::host::drop_pages;
use crate::pool::{Pool, lock};

/// Reads at one member at once: what a disk of today sorts by itself. Network storage of 5 ms gives
/// 6,400 reads a second then.
const READS_MAX: usize = 32;

/// A member that could not be read.
#[derive(Debug)]
pub struct Failure {
    /// Which one.
    pub member: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.member.display(), self.error)
    }
}

type Done = Box<dyn FnOnce(Result<&[u8], Failure>) + Send>;

/// One request under way.
struct Request {
    buffer: Buffer,
    /// What of the buffer was asked for; the rest is there for alignment.
    from: usize,
    bytes: usize,
    /// Parts still to be read.
    left: AtomicUsize,
    /// The first failure, and whom to hand the outcome to.
    outcome: Mutex<(Option<Failure>, Option<Done>)>,
}

impl Request {
    /// One part was read, or failed.
    fn came(&self, result: Result<(), Failure>) {
        if let Err(failure) = result {
            lock(&self.outcome).0.get_or_insert(failure);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let (failure, done) = std::mem::take(&mut *lock(&self.outcome));
        let Some(done) = done else { return };
        match failure {
            Some(failure) => done(Err(failure)),
            // SAFETY: this is the last of the parts, and none failed: all was written, and nobody writes any more.
            None => done(Ok(unsafe { self.buffer.part(self.from, self.bytes) })),
        }
    }
}

/// What one member holds of a request.
struct Part {
    request: Arc<Request>,
    /// Where on the member, header included.
    offset: u64,
    /// Where in the buffer, and how many bytes each.
    pieces: Vec<(usize, usize)>,
}

/// Answers reads of a striped file. What was asked before it is dropped is still answered.
pub struct Reader {
    /// One for each member, with threads of its own.
    lanes: Vec<Pool<Part>>,
    stripe: foresee_manager::Stripe,
    size: u64,
}

impl Reader {
    /// A reader of this set.
    pub fn new(set: Set) -> io::Result<Self> {
        let reader = Reader { lanes: set.members.into_iter().map(lane).collect(), stripe: set.stripe, size: set.size };
        reader.lanes.iter().try_for_each(Pool::start)?;
        Ok(reader)
    }

    /// Hands a range, as far as the file goes, to `done`; perhaps before this returns, perhaps on
    /// another thread.
    pub fn read(&self, offset: u64, bytes: usize, done: impl FnOnce(Result<&[u8], Failure>) + Send + 'static) {
        let bytes = self.size.saturating_sub(offset).min(bytes as u64);
        if bytes == 0 {
            return done(Ok(&[]));
        }
        let begin = offset - offset % ALIGN_BYTES;
        let end = (offset + bytes).next_multiple_of(ALIGN_BYTES);
        // Where each member's part begins on it, and its pieces: places in the buffer and bytes.
        let mut parts = vec![(0, Vec::new()); self.lanes.len()];
        let mut at = 0;
        for piece in self.stripe.pieces(begin, end.min(self.size) - begin) {
            let (offset, pieces) = &mut parts[usize::from(piece.disk)];
            if pieces.is_empty() {
                *offset = HEADER_BYTES + piece.place;
            }
            pieces.push((at, piece.count as usize));
            at += piece.count as usize;
        }
        let parts = self.lanes.iter().zip(parts).filter(|(_, (_, pieces))| !pieces.is_empty()).collect::<Vec<_>>();
        let request = Arc::new(Request {
            buffer: Buffer::new((end - begin) as usize),
            from: (offset - begin) as usize,
            bytes: bytes as usize,
            left: AtomicUsize::new(parts.len()),
            outcome: Mutex::new((None, Some(Box::new(done)))),
        });
        for (lane, (offset, pieces)) in parts {
            lane.add(Part { request: Arc::clone(&request), offset, pieces });
        }
    }
}

/// The threads that read one member.
fn lane(member: Member) -> Pool<Part> {
    Pool::new(READS_MAX, READS_MAX, move |part: Part| {
        let read = read_at(&member, part.offset, &part.request.buffer, &part.pieces);
        part.request.came(read.map_err(|error| Failure { member: member.path.clone(), error }));
    })
}

/// Reads what lies one behind the other on a member into these pieces of a buffer.
pub(super) fn read_at(member: &Member, offset: u64, buffer: &Buffer, pieces: &[(usize, usize)]) -> io::Result<()> {
    let wanted: usize = pieces.iter().map(|(_, bytes)| bytes).sum();
    let mut got = 0;
    while got < wanted {
        let mut skip = got;
        let mut places = Vec::with_capacity(pieces.len());
        for &(at, bytes) in pieces {
            let skipped = skip.min(bytes);
            skip -= skipped;
            // Only the file's last piece is no multiple of the alignment, and the buffer has room behind it.
            let length = (bytes - skipped).next_multiple_of(ALIGN_BYTES as usize);
            assert!(at + skipped + length <= buffer.bytes());
            if length > 0 {
                places.push(libc::iovec { iov_base: buffer.pointer(at + skipped).cast(), iov_len: length });
            }
        }
        // SAFETY: each place lies within the buffer, whose places no two parts of a request share.
        let read = unsafe {
            let count = places.len().min(PIECES_MAX) as i32;
            libc::preadv(member.file.as_raw_fd(), places.as_ptr(), count, (offset + got as u64) as i64)
        };
        if read < 0 {
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => continue,
                error => return Err(error),
            }
        }
        let before = got;
        got += read as usize;
        if got < wanted {
            // Reads past the page cache go on from where they may begin.
            got -= got % ALIGN_BYTES as usize;
            if got <= before {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "is shorter than it was"));
            }
        }
    }
    if !member.direct {
        drop_pages(&member.file, offset, wanted as u64);
    }
    Ok(())
}

/// The kernel takes no more places in one read (`UIO_MAXIOV`).
const PIECES_MAX: usize = 1024;

/// Bytes read at once when a file is written back, and how many such reads are under way.
const JOIN_BYTES: usize = 1 << 20;
const JOINS_AHEAD: usize = 16;

/// Writes the file back.
pub fn join(set: Set, out: &mut dyn Write) -> Result<(), String> {
    let size = set.size();
    let reader = Reader::new(set).map_err(|error| format!("no thread: {error}"))?;
    let mut under_way: VecDeque<Receiver<Result<Vec<u8>, Failure>>> = VecDeque::new();
    let mut next = 0;
    loop {
        while next < size && under_way.len() < JOINS_AHEAD {
            let (sender, receiver) = sync_channel(1);
            // Nobody listens any more where an earlier part failed.
            reader.read(next, JOIN_BYTES, move |result| drop(sender.send(result.map(<[u8]>::to_vec))));
            under_way.push_back(receiver);
            next += JOIN_BYTES as u64;
        }
        let Some(first) = under_way.pop_front() else { break };
        let data = first.recv().expect("every read is answered").map_err(|failure| failure.to_string())?;
        out.write_all(&data).map_err(|error| format!("the file was not written whole: {error}"))?;
    }
    out.flush().map_err(|error| format!("the file was not written whole: {error}"))
}
