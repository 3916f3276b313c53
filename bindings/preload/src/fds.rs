//! What each descriptor is, as far as we know.
//!
//! A word for each: a generation, which changes whenever the number comes to mean something else,
//! and a class. An unknown descriptor (inherited, received, opened by a part of libc that calls
//! itself past us) is looked at when it is first read, and adopted. So is one that was opened or read
//! while the run was quiet, once a read of it waits or the run is not quiet any more.

use core::ffi::{CStr, c_int};
use core::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed},
};

use foresee_ring::{ATTENTION_FDS, Class, PATH_BYTES_MAX, Record, Took};

use crate::{state, sys};

/// Descriptors beyond are not followed. Four times what a program may open unless it asks for more.
const FDS: usize = 4096;

/// A read is told one time in so many where the supervisor wants a sample.
const SAMPLE_EVERY: u32 = 64;

/// Reads of each descriptor that the supervisor wanted a sample of. By descriptor: of files read in
/// turn, one would hide behind the other if a thread's reads were counted.
static SAMPLED: [AtomicU32; ATTENTION_FDS] = [const { AtomicU32::new(0) }; ATTENTION_FDS];

static TABLE: [AtomicU32; FDS] = [const { AtomicU32::new(0) }; FDS];

const UNKNOWN: u32 = 0;
const REGULAR: u32 = 1;
const OTHER: u32 = 2;
/// Opened while the run was quiet: looked at and told of when somebody has to know.
const UNTOLD: u32 = 3;
/// The same of what is a directory in any case.
const UNTOLD_DIRECTORY: u32 = 4;
/// A regular file that may be written.
const WRITABLE: u32 = 5;
/// One that is written at its end, wherever it stands.
const APPENDED: u32 = 6;
const CLASS_BITS: u32 = 3;
const CLASS_MASK: u32 = (1 << CLASS_BITS) - 1;

/// One use of a descriptor number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use(u32);

impl Use {
    /// The number that the supervisor knows it by.
    #[inline(always)]
    pub(crate) fn generation(self) -> u32 {
        (self.0 >> CLASS_BITS).wrapping_add(state::seed()) & (u32::MAX >> 2)
    }

    #[inline(always)]
    pub(crate) fn is_regular(self) -> bool {
        matches!(self.0 & CLASS_MASK, REGULAR | WRITABLE | APPENDED)
    }

    /// The supervisor may know of it.
    #[inline(always)]
    pub(crate) fn is_told(self) -> bool {
        self.is_regular() || self.is_other()
    }

    #[inline(always)]
    fn is_other(self) -> bool {
        self.0 & CLASS_MASK == OTHER
    }

    #[inline(always)]
    pub(crate) fn is_untold(self) -> bool {
        matches!(self.0 & CLASS_MASK, UNTOLD | UNTOLD_DIRECTORY)
    }

    #[inline(always)]
    fn is_untold_directory(self) -> bool {
        self.0 & CLASS_MASK == UNTOLD_DIRECTORY
    }

    /// What is written to it goes to the file's end.
    #[inline(always)]
    pub(crate) fn is_appended(self) -> bool {
        self.0 & CLASS_MASK == APPENDED
    }

    #[inline(always)]
    fn is_only_read(self) -> bool {
        self.0 & CLASS_MASK == REGULAR
    }

    fn followed_by(self, class: u32) -> Self {
        Use((self.0 & !CLASS_MASK).wrapping_add(CLASS_MASK + 1) | class)
    }
}

/// What we know of a descriptor; nothing if its number is out of range.
#[inline(always)]
pub(crate) fn get(fd: c_int) -> Option<Use> {
    TABLE.get(fd as usize).map(|word| Use(word.load(Relaxed)))
}

/// The descriptor, if it is a regular file. Adopts it if it is unknown or not told of.
#[inline(always)]
pub(crate) fn regular(fd: c_int) -> Option<Use> {
    let known = get(fd)?;
    if known.is_regular() {
        Some(known)
    } else if known.is_other() {
        None
    } else {
        adopt(fd, known)
    }
}

/// Begins a new use of the number. Nothing if the number is out of range.
fn begin(fd: c_int, class: u32) -> Option<Use> {
    let word = TABLE.get(fd as usize)?;
    let mut begun = Use(0);
    let _ = word.fetch_update(AcqRel, Acquire, |before| {
        begun = Use(before).followed_by(class);
        Some(begun.0)
    });
    Some(begun)
}

/// Whether this read of a descriptor is one of the sample. Threads that read it at the same time
/// may count as one.
#[inline(always)]
pub(crate) fn is_sample(fd: c_int) -> bool {
    let Some(reads) = SAMPLED.get(fd as usize) else { return true };
    let read = reads.load(Relaxed);
    reads.store(read.wrapping_add(1), Relaxed);
    read.is_multiple_of(SAMPLE_EVERY)
}

fn class_of(stat: &libc::stat) -> Class {
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => Class::Regular,
        libc::S_IFDIR => Class::Directory,
        _ => Class::Other,
    }
}

fn word_of(class: Class, flags: c_int) -> u32 {
    match class {
        Class::Regular if flags & libc::O_ACCMODE == libc::O_RDONLY => REGULAR,
        Class::Regular if flags & libc::O_APPEND != 0 => APPENDED,
        Class::Regular => WRITABLE,
        _ => OTHER,
    }
}

/// The program opened a descriptor: one `fstat` tells what. Returns what to post.
pub(crate) fn opened(fd: c_int, dirfd: c_int, flags: c_int, took: Took) -> Option<Record> {
    let stat = sys::fstat(fd)?;
    let class = class_of(&stat);
    let begun = begin(fd, word_of(class, flags))?;
    Some(record(fd, begun, &stat, Opening { dirfd, flags, took, adopted_at: None }))
}

/// The descriptor, if nobody need know what is read of it, as the run is quiet: it was not told of, or
/// is not any more. One that may be written stays told of, as it would be adopted again at each write:
/// what is read of it is left out by itself (`observe`).
#[inline(always)]
pub(crate) fn untold(fd: c_int) -> Option<Use> {
    let known = get(fd)?;
    if known.is_untold() {
        Some(known)
    } else if known.is_only_read() {
        tell_no_more(fd, known)
    } else {
        None
    }
}

/// Whether a descriptor is one of a file or a directory: others wait for whom they speak with.
#[cold]
pub(crate) fn is_of_storage(fd: c_int) -> bool {
    sys::fstat(fd).is_some_and(|stat| class_of(&stat) != Class::Other)
}

#[cold]
fn tell_no_more(fd: c_int, told: Use) -> Option<Use> {
    let region = state::region_of_this_process()?;
    let untold = told.followed_by(UNTOLD);
    TABLE.get(fd as usize)?.compare_exchange(told.0, untold.0, AcqRel, Acquire).ok()?;
    state::post(region, Record::Closed { fd, generation: told.generation() }, &[]);
    Some(untold)
}

/// The program opened a descriptor, and nobody need know.
#[inline(always)]
pub(crate) fn opened_untold(fd: c_int, is_directory: bool) {
    if let Some(word) = TABLE.get(fd as usize) {
        let class = if is_directory { UNTOLD_DIRECTORY } else { UNTOLD };
        // Whoever had the number has forgotten it before it was closed.
        word.store(Use(word.load(Relaxed)).followed_by(class).0, Relaxed);
    }
}

/// The program copied a descriptor. Whether nobody need know: it is a directory that was not told
/// of, and has no position that matters; and nobody knows of what the number was before.
#[inline(always)]
pub(crate) fn duplicated_untold(from: c_int, to: c_int) -> bool {
    let is_untold = get(from).is_some_and(Use::is_untold_directory) && !get(to).is_some_and(Use::is_told);
    if is_untold {
        let _ = begin(to, UNTOLD_DIRECTORY);
    }
    is_untold
}

/// The number no longer means what it did, unless another thread has already opened it anew since
/// it was `before`. Returns what to post, if it was told of.
pub(crate) fn closed_since(fd: c_int, before: Use) -> Option<Record> {
    let after = before.followed_by(UNKNOWN).0;
    let ended = TABLE.get(fd as usize)?.compare_exchange(before.0, after, AcqRel, Acquire).is_ok();
    (ended && before.is_told()).then_some(Record::Closed { fd, generation: before.generation() })
}

/// From now on what is written to this descriptor goes to the file's end, or does not.
pub(crate) fn set_appended(fd: c_int, appended: bool) {
    // A child of vfork changes its own alone.
    if state::region_of_this_process().is_none() {
        return;
    }
    let (from, to) = if appended { (WRITABLE, APPENDED) } else { (APPENDED, WRITABLE) };
    let class = |word: u32| (word & CLASS_MASK == from).then_some(word & !CLASS_MASK | to);
    if let Some(word) = TABLE.get(fd as usize) {
        let _ = word.fetch_update(AcqRel, Acquire, class);
    }
}

/// All the numbers in a range, as far as they are followed.
pub(crate) fn range(first: u32, last: u32) -> core::ops::Range<c_int> {
    first.min(FDS as u32) as c_int..last.saturating_add(1).min(FDS as u32) as c_int
}

/// The program copied a descriptor. Returns what to post.
pub(crate) fn duplicated(from: c_int, to: c_int) -> Option<Record> {
    // It is looked at now if it was not before: two that share a position must be known to.
    let class = match regular(from) {
        Some(of) => of.0 & CLASS_MASK,
        None if get(from).is_some_and(Use::is_other) => OTHER,
        None => UNKNOWN,
    };
    let generation = begin(to, class)?.generation();
    (class != UNKNOWN).then_some(Record::Duplicated { from, to, generation })
}

/// Looks at a descriptor that turned up from nowhere, or was not worth it before, and tells of it
/// if it is a file or a directory.
#[cold]
fn adopt(fd: c_int, unknown: Use) -> Option<Use> {
    let region = state::region_of_this_process()?;
    let stat = sys::fstat(fd)?;
    let class = class_of(&stat);
    let flags = sys::open_flags(fd);
    let adopted = unknown.followed_by(word_of(class, flags));
    if let Err(now) = TABLE.get(fd as usize)?.compare_exchange(unknown.0, adopted.0, AcqRel, Acquire) {
        // Another thread was faster, to adopt or to open.
        return Some(Use(now)).filter(|now| now.is_regular());
    }
    if class != Class::Other {
        let mut target = [0; PATH_BYTES_MAX];
        let path = sys::readlink(c_path_of_fd(fd, &mut [0; 32]), &mut target);
        let adopted_at = Some(sys::position(fd));
        let opening = Opening { dirfd: libc::AT_FDCWD, flags, took: Took::from_ticks(0), adopted_at };
        let record = record(fd, adopted, &stat, opening);
        state::post(region, record, path);
    }
    adopted.is_regular().then_some(adopted)
}

/// How a descriptor came to be.
struct Opening {
    dirfd: c_int,
    flags: c_int,
    took: Took,
    /// Where it stood when it was found.
    adopted_at: Option<u64>,
}

fn record(fd: c_int, this: Use, stat: &libc::stat, opening: Opening) -> Record {
    let Opening { dirfd, flags, took, adopted_at } = opening;
    Record::Opened {
        fd,
        generation: this.generation(),
        flags,
        dirfd,
        class: class_of(stat),
        adopted: adopted_at.is_some(),
        dev: stat.st_dev,
        ino: stat.st_ino,
        size: stat.st_size as u64,
        offset: adopted_at.unwrap_or(0),
        took,
    }
}

/// Writes "/proc/self/fd/N" from its end, without the formatting machinery, which is most of a
/// small library.
fn c_path_of_fd(fd: c_int, buffer: &mut [u8; 32]) -> &CStr {
    let mut rest = fd.unsigned_abs();
    let digits = core::iter::from_fn(|| {
        let digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        Some((digit, rest))
    });
    // The last byte stays the NUL that it is.
    let mut places = buffer.iter_mut().rev().skip(1);
    for ((digit, rest), place) in digits.zip(&mut places) {
        *place = digit;
        if rest == 0 {
            break;
        }
    }
    for (letter, place) in b"/proc/self/fd/".iter().rev().zip(places) {
        *place = *letter;
    }
    let unused = buffer.iter().take_while(|byte| **byte == 0).count();
    buffer.get(unused..).and_then(|path| CStr::from_bytes_until_nul(path).ok()).unwrap_or_default()
}
