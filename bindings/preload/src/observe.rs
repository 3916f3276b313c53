//! From what a call did to a record of it.

use core::ffi::{CStr, c_char, c_int};

use foresee_ring::{Attention, FAR_PART, OFFSET_APPENDED, OFFSET_CURRENT, PATH_BYTES_MAX, Record, Region, Took, ticks};

use crate::fds::{self, Use};
use crate::{sites, state, sys, thread};

/// Makes a read at an offset, and tells of it if it is one of a regular file.
#[inline(always)]
pub(crate) fn read(fd: c_int, offset: u64, asked: usize, call: impl FnOnce() -> isize) -> isize {
    read_found(fd, || (call(), offset, asked))
}

/// The same for a call that shows only when it is done where it read, and how much it was asked to:
/// it says what it got, the offset, and the bytes asked.
#[inline(always)]
pub(crate) fn read_found(fd: c_int, call: impl FnOnce() -> (isize, u64, usize)) -> isize {
    let Some(region) = state::region() else { return call().0 };
    let is_quiet = region.is_quiet();
    let untold = if is_quiet { fds::untold(fd) } else { None };
    let Some(mut file) = untold.or_else(|| fds::regular(fd)) else { return call().0 };
    let process = state::process();
    let count = |got: isize| process.map_or((), |process| process.count_read(counter(), got.max(0) as u64));
    let attention = process.map_or(Attention::Every, |process| process.attention(fd, file.generation()));
    if !is_wanted(attention, fd) || untold.is_some() && !is_timed(region) {
        // Not timed either: the clock is half of what we cost.
        let (got, ..) = call();
        count(got);
        return got;
    }
    let began = ticks();
    let (got, offset, asked) = call();
    let now = ticks();
    let took = waited(region, now.wrapping_sub(began), got);
    count(got);
    // One that may be written is told of in any case, but not what is read of it where that says itself from where.
    let is_spared = untold.is_some() || is_quiet && offset != OFFSET_CURRENT;
    if is_spared && !(is_far(region, took, got) && (untold.is_none() || fds::is_of_storage(fd))) {
        return got;
    }
    if took >= region.stall_ticks_min()
        && let Some(process) = process
    {
        process.count_stall(counter(), took);
    }
    if is_spared && !region.ends_quiet(now, took) {
        return got;
    }
    if untold.is_some() {
        match fds::regular(fd) {
            Some(adopted) => file = adopted,
            None => return got,
        }
    }
    // Nobody learns from a file's end or an error; where small files are read whole, they are half of
    // all reads.
    if let Ok(bytes @ 1..) = u64::try_from(got) {
        if (attention != Attention::Every || untold.is_some()) && offset == OFFSET_CURRENT {
            locate(region, fd, file, bytes);
        }
        post_read(region, fd, file, Done { offset, asked, got, began, took });
    }
    got
}

/// Whether a call is timed while it is quiet.
#[inline(always)]
fn is_timed(region: &Region) -> bool {
    region.counts_waits() || thread::is_timed()
}

/// Whether a read or an open that took so long may have been for a device.
#[inline(always)]
fn is_far(region: &Region, took: u64, got: isize) -> bool {
    took >= far(region, got)
}

/// What a read or an open takes at least that was for a device. What is copied takes a hundredth of
/// a stall a page.
#[inline(always)]
fn far(region: &Region, got: isize) -> u64 {
    let (stall, pages) = (region.stall_ticks_min(), got.max(0) as u64 >> 12);
    (stall / u64::from(FAR_PART)).saturating_add((stall / 100).saturating_mul(pages))
}

/// What a read took, less what another program had the processor for.
#[inline(always)]
fn waited(region: &Region, took: u64, got: isize) -> u64 {
    if is_far(region, took, got) && !thread::has_waited() { far(region, got) / 2 } else { took }
}

/// Which of the process's counters this thread uses: none in particular if it is the only one.
#[inline(always)]
fn counter() -> Option<u32> {
    if state::is_single_threaded() { None } else { Some(thread::id()) }
}

#[inline(always)]
fn is_wanted(attention: Attention, fd: c_int) -> bool {
    match attention {
        Attention::Every | Attention::Located => true,
        Attention::Sampled => fds::is_sample(fd),
        Attention::None => false,
    }
}

/// Tells where the read that was just made began: the reads before it were not all told.
#[cold]
fn locate(region: &Region, fd: c_int, file: Use, got: u64) {
    let offset = sys::position(fd).saturating_sub(got);
    post(region, Record::Seeked { fd, generation: file.generation(), offset }, &[]);
}

struct Done {
    offset: u64,
    asked: usize,
    got: isize,
    began: u64,
    took: u64,
}

#[inline(always)]
fn post_read(region: &Region, fd: c_int, file: Use, done: Done) {
    if region.is_closing() {
        return state::leave();
    }
    let site = site(region);
    let record = Record::Read {
        fd,
        generation: file.generation(),
        offset: done.offset,
        asked: done.asked.min(u32::MAX as usize) as u32,
        got: done.got.min(i32::MAX as isize) as i32,
        took: Took::from_ticks(done.took),
        site,
    };
    region.post(state::stamp(done.began), &record, &[]);
}

/// The call site being served.
#[inline(always)]
fn site(region: &Region) -> u32 {
    let site = sites::signature();
    sites::tell(region, site);
    site
}

/// Tells of a write, if it was one to a regular file and wrote something.
#[inline(always)]
pub(crate) fn wrote(fd: c_int, offset: u64, got: isize) {
    wrote_or_appended(fd, offset, got, false);
}

/// The same of one that went to the file's end whatever descriptor it was.
#[inline(always)]
pub(crate) fn wrote_or_appended(fd: c_int, offset: u64, got: isize, appended: bool) {
    if got <= 0 {
        return;
    }
    let Some(region) = state::region() else { return };
    let is_told = fds::get(fd).is_some_and(|file| file.is_told());
    if let Some(file) = fds::regular(fd) {
        let len = got as u64;
        let offset = match offset {
            // Where that is matters to traces alone.
            offset if (appended || file.is_appended()) && region.wants_places() => end(fd, offset, len),
            // One adopted here was found where this write had left it.
            OFFSET_CURRENT if !is_told => sys::position(fd).saturating_sub(len),
            offset => offset,
        };
        let record = Record::Wrote { fd, generation: file.generation(), offset, len, site: site(region) };
        post(region, record, &[]);
    }
}

/// Where so many bytes lie that were just written at a file's end, whatever place the call named
/// (pwrite(2), BUGS): then the file stands where it stood.
#[cold]
fn end(fd: c_int, offset: u64, len: u64) -> u64 {
    match offset {
        OFFSET_CURRENT => sys::position(fd).saturating_sub(len) | OFFSET_APPENDED,
        _ => sys::size(fd).saturating_sub(len),
    }
}

/// Tells of a new file position.
#[inline(always)]
pub(crate) fn sought(fd: c_int, position: i64) {
    let Some(region) = state::region() else { return };
    // One not known yet is adopted at its first read, wherever it stands then.
    if let Some(file) = fds::get(fd).filter(|file| file.is_regular())
        && position >= 0
    {
        post(region, Record::Seeked { fd, generation: file.generation(), offset: position as u64 }, &[]);
    }
}

pub(crate) fn post(region: &Region, record: Record, path: &[u8]) {
    if region.is_closing() {
        return state::leave();
    }
    state::post(region, record, path);
}

/// Makes an open by path, and tells of it.
///
/// # Safety
/// `call` gives the path to a system call.
#[inline(always)]
pub(crate) unsafe fn open(dirfd: c_int, path: *const c_char, flags: c_int, call: impl FnOnce() -> c_int) -> c_int {
    let naming = Naming::begin(is_to_read(flags));
    let fd = call();
    if let Some(took) = naming.opened(fd, flags & libc::O_DIRECTORY != 0) {
        // SAFETY: by the caller's promise.
        unsafe { opened(fd, dirfd, path, flags, took) };
    }
    fd
}

/// Whether an open with these flags is of what is to be read or listed, and that there is.
#[inline(always)]
fn is_to_read(flags: c_int) -> bool {
    const MORE: c_int = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_PATH;
    flags & MORE == libc::O_RDONLY
}

/// Looks at a file's attributes by path, and tells of it.
///
/// # Safety
/// `call` gives the path to a system call.
#[inline(always)]
pub(crate) unsafe fn stat(dirfd: c_int, path: *const c_char, call: impl FnOnce() -> c_int) -> c_int {
    let naming = Naming::begin(true);
    let result = call();
    if let Some((region, took)) = naming.ended(|| true) {
        // SAFETY: by the caller's promise.
        unsafe { stated(region, result == 0, dirfd, path, took) };
    }
    result
}

/// A call that looks a name up: when it began, if it is timed, and whether it need not be told
/// unless it waits.
#[derive(Clone, Copy)]
pub(crate) struct Naming(Option<(&'static Region, bool, Option<u64>)>);

impl Naming {
    /// To be called before it. What changes something is told in any case.
    #[inline(always)]
    pub(crate) fn begin(is_to_read: bool) -> Self {
        Naming(state::region().map(|region| {
            let is_quiet = is_to_read && region.is_quiet();
            (region, is_quiet, (!is_quiet || is_timed(region)).then(ticks))
        }))
    }

    /// To be called after it: how long it took, if it is to be told. One that waited for storage, as
    /// is asked then, ends the quiet.
    #[inline(always)]
    fn ended(self, is_of_storage: impl FnOnce() -> bool) -> Option<(&'static Region, Took)> {
        let (region, is_quiet, began) = self.0?;
        let now = ticks();
        let took = waited(region, now.wrapping_sub(began?), 0);
        if is_quiet && !(is_far(region, took, 0) && is_of_storage() && region.ends_quiet(now, took)) {
            return None;
        }
        Some((region, Took::from_ticks(took)))
    }

    /// The same of one that opened this descriptor, if it is one.
    #[inline(always)]
    pub(crate) fn opened(self, fd: c_int, is_directory: bool) -> Option<Took> {
        let ended = self.ended(|| fd < 0 || fds::is_of_storage(fd));
        if ended.is_none() && fd >= 0 && self.0.is_some() {
            fds::opened_untold(fd, is_directory);
        }
        ended.map(|(_, took)| took)
    }
}

/// Tells of an open by path, done or failed.
///
/// # Safety
/// `path` was just given to a system call, which gave `fd`.
pub(crate) unsafe fn opened(fd: c_int, dirfd: c_int, path: *const c_char, flags: c_int, took: Took) {
    let Some(region) = state::region_of_this_process() else { return };
    tell_directory(dirfd);
    let record = if fd >= 0 {
        fds::opened(fd, dirfd, flags, took)
    } else {
        Some(Record::OpenFailed { dirfd, errno: sys::errno() }).filter(|_| has_read_path())
    };
    if let Some(record) = record {
        // SAFETY: the kernel has read the path.
        state::post(region, record, unsafe { bytes(path) });
    }
}

/// What a path is relative to may not have been told of.
#[inline(always)]
fn tell_directory(dirfd: c_int) {
    if dirfd >= 0 {
        let _ = fds::regular(dirfd);
    }
}

/// Tells of a look at a file's attributes by path.
///
/// # Safety
/// `path` was just given to a system call, which succeeded or not.
unsafe fn stated(region: &Region, ok: bool, dirfd: c_int, path: *const c_char, took: Took) {
    if path.is_null() || !(ok || has_read_path()) {
        return;
    }
    // SAFETY: the kernel has read the path.
    let path = unsafe { bytes(path) };
    // An empty path is that of a descriptor, whose file the program has opened already.
    if !path.is_empty() {
        tell_directory(dirfd);
        post(region, Record::Stated { dirfd, ok, took }, path);
    }
}

/// A directory is about to be listed, which takes calls that are not looked at: only whether the
/// thread waited from here on.
pub(crate) fn begin_listing() {
    if state::region().is_some() {
        let _ = thread::has_waited();
    }
}

/// It was listed. If the thread gave its processor up meanwhile, that was for a device, most likely:
/// said in vain it costs little.
pub(crate) fn end_listing() {
    if let Some(region) = state::region()
        && thread::has_waited()
        && (!region.is_quiet() || region.ends_quiet(ticks(), 0))
    {
        post(region, Record::ListingWaited {}, &[]);
    }
}

/// The errno of a failed call says that the kernel looked for the path, and so that the path can be
/// read.
fn has_read_path() -> bool {
    matches!(sys::errno(), libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::EEXIST | libc::EISDIR | libc::ELOOP)
}

/// The bytes of a string, or none if it is longer than any path.
///
/// # Safety
/// `string` is one.
pub(crate) unsafe fn bytes<'a>(string: *const c_char) -> &'a [u8] {
    // SAFETY: by the caller's promise.
    let bytes = unsafe { CStr::from_ptr(string) }.to_bytes();
    if bytes.len() <= PATH_BYTES_MAX { bytes } else { &[] }
}

/// Tells that a descriptor is gone, if this process closed it.
pub(crate) fn closed(fd: c_int) {
    closed_since(fd, fds::get(fd));
}

/// The same, unless another thread has already opened the number anew since it was that.
pub(crate) fn closed_since(fd: c_int, was: Option<Use>) {
    let Some(was) = was else { return };
    if was.is_untold() {
        // Also if a child of vfork did: then it is adopted here at its next read.
        let _ = fds::closed_since(fd, was);
    // Asked first, as it is free: programs that close all the numbers there are shall not pay for
    // it.
    } else if was.is_told()
        && let Some(region) = state::region_of_this_process()
        && let Some(record) = fds::closed_since(fd, was)
    {
        state::post(region, record, &[]);
    }
}

/// Tells that one descriptor is now a copy of another.
pub(crate) fn duplicated(from: c_int, to: c_int) {
    if to >= 0
        && from != to
        && !fds::duplicated_untold(from, to)
        && let Some(region) = state::region_of_this_process()
        && let Some(record) = fds::duplicated(from, to)
    {
        state::post(region, record, &[]);
    }
}
