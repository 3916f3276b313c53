//! Where code lies, and what it is called from one run to the next.
//!
//! Objects that are there when the program begins stay to its end, so their code may be looked at:
//! they are in a table, written once, and what was found of a word is true to the end. What is
//! loaded later is another matter (`late.rs`).

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use super::known::Known;
pub(super) use super::late::epoch;
use super::{late, place_within, scan, sieve};
use crate::{observe, sys};

/// Ranges of code known: a program has one or two, and one for each library.
const RANGES: usize = 256;

/// A range of code.
#[derive(Clone, Copy)]
struct Range {
    begin: usize,
    end: usize,
    /// All its object takes up, what addresses within are counted from, and its name from run to
    /// run.
    object: Span,
    base: usize,
    name: u64,
    /// The linker's, empty of the program itself.
    path: &'static [u8],
}

impl Range {
    fn place(&self, address: usize) -> u64 {
        place_within(self.name, (address - self.base) as u64)
    }
}

const NO_RANGE: Range = Range { begin: 0, end: 0, object: Span { begin: 0, bytes: 0 }, base: 0, name: 0, path: &[] };

/// The table: written before it counts anything, by the one thread there is, and then only read.
struct Table(UnsafeCell<[Range; RANGES]>, AtomicUsize);

// SAFETY: what is read was written before its count was stored.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new([NO_RANGE; RANGES]), AtomicUsize::new(0));

/// Addresses from one on.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) begin: usize,
    pub(super) bytes: usize,
}

impl Span {
    #[inline(always)]
    fn holds(self, address: usize) -> bool {
        address.wrapping_sub(self.begin) < self.bytes
    }
}

/// Where code lies at all: the program's own, and that of libraries. Most words of a stack are
/// passed over by this alone.
struct Code {
    begin: AtomicUsize,
    bytes: AtomicUsize,
}

impl Code {
    const fn none() -> Self {
        Code { begin: AtomicUsize::new(0), bytes: AtomicUsize::new(0) }
    }

    fn cover(&self, ranges: &[Range], is_ours: impl Fn(usize) -> bool) {
        let ours = || ranges.iter().filter(|range| is_ours(range.begin));
        let begin = ours().map(|range| range.begin).min().unwrap_or(0);
        self.begin.store(begin, Relaxed);
        self.bytes.store(ours().map(|range| range.end - begin).max().unwrap_or(0), Relaxed);
    }

    #[inline(always)]
    fn span(&self) -> Span {
        Span { begin: self.begin.load(Relaxed), bytes: self.bytes.load(Relaxed) }
    }
}

static PROGRAM: Code = Code::none();
static LIBRARIES: Code = Code::none();
/// Libraries lie above this, a program and its heap below.
pub(super) const LIBRARIES_BEGIN: usize = 0x7000_0000_0000;

/// The program is about to load more objects, or has unloaded some.
pub(super) fn change() {
    late::change();
    sieve::set([PROGRAM.span(), late::around(LIBRARIES.span())]);
}

fn ranges() -> &'static [Range] {
    let count = TABLE.1.load(Acquire);
    // SAFETY: these are written and stay as they are.
    unsafe { core::slice::from_raw_parts(TABLE.0.get().cast::<Range>(), count) }
}

pub(super) fn begin() {
    let mut found = Found { ranges: [NO_RANGE; RANGES], count: 0 };
    // SAFETY: `add` gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut found).cast()) };
    let ranges = found.ranges.get_mut(..found.count).unwrap_or_default();
    // SAFETY: as many as there is room for; the count is 0, so nobody looks at the table.
    unsafe { core::ptr::copy_nonoverlapping(ranges.as_ptr(), TABLE.0.get().cast(), ranges.len()) };
    PROGRAM.cover(ranges, |begin| begin < LIBRARIES_BEGIN);
    LIBRARIES.cover(ranges, |begin| begin >= LIBRARIES_BEGIN);
    TABLE.1.store(ranges.len(), Release);
    sieve::set([PROGRAM.span(), LIBRARIES.span()]);
    late::begin();
}

struct Found {
    ranges: [Range; RANGES],
    count: usize,
}

impl Found {
    /// Moves the last range to its place among the others.
    fn settle(&mut self) {
        let ranges = self.ranges.get_mut(..self.count).unwrap_or_default();
        for at in (1..ranges.len()).rev() {
            if let Some([before, after]) = ranges.get_mut(at - 1..=at)
                && before.begin > after.begin
            {
                core::mem::swap(before, after);
            }
        }
    }
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the linker passes on what `begin` gave it, and describes an object.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Found>()) };
    // SAFETY: the linker's description of it.
    let segments = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let base = info.dlpi_addr as usize;
    let ours = begin as *const () as usize;
    let within = |segment: &libc::Elf64_Phdr, address: usize| {
        address.wrapping_sub(base + segment.p_vaddr as usize) < segment.p_memsz as usize
    };
    let loaded = || segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD);
    let is_ours = loaded().any(|segment| within(segment, ours));
    let object_begin = base + loaded().map(|segment| segment.p_vaddr).min().unwrap_or(0) as usize;
    let object_end = base + loaded().map(|segment| segment.p_vaddr + segment.p_memsz).max().unwrap_or(0) as usize;
    let object = Span { begin: object_begin, bytes: object_end - object_begin };
    // SAFETY: its segments are in memory, and the linker's name of it is there as long as it is: to the
    // end.
    let (name, path) = unsafe { (name_of(info, segments), observe::bytes(info.dlpi_name)) };
    for segment in loaded() {
        let code = libc::PF_X | libc::PF_R;
        let begin = base + segment.p_vaddr as usize;
        if segment.p_flags & code == code
            && let Some(range) = found.ranges.get_mut(found.count)
        {
            // Our own code calls nobody's read.
            let bytes = if is_ours { 0 } else { segment.p_memsz as usize };
            *range = Range { begin, end: begin + bytes, object, base, name, path };
            found.count += 1;
            found.settle();
        }
    }
    0
}

/// What the object is called from run to run: its build id, else its path and size.
///
/// # Safety
/// The object is loaded, and these are its segments.
unsafe fn name_of(info: &libc::dl_phdr_info, segments: &[libc::Elf64_Phdr]) -> u64 {
    for notes in segments.iter().filter(|segment| segment.p_type == libc::PT_NOTE) {
        let address = (info.dlpi_addr as usize).wrapping_add(notes.p_vaddr as usize);
        let pointer = core::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: by the caller's promise.
        let bytes = unsafe { core::slice::from_raw_parts(pointer, notes.p_memsz as usize) };
        if let Some(id) = build_id(bytes, notes.p_align as usize) {
            return hash(id);
        }
    }
    let size = segments.iter().map(|segment| segment.p_vaddr + segment.p_memsz).max().unwrap_or(0);
    let mut target = [0; foresee_ring::PATH_BYTES_MAX];
    // SAFETY: the linker's name of the object; the program itself has none.
    let path = unsafe { observe::bytes(info.dlpi_name) };
    let path = if path.is_empty() { sys::readlink(c"/proc/self/exe", &mut target) } else { path };
    hash(path) ^ size
}

/// The build id among an object's notes.
fn build_id(mut notes: &[u8], align: usize) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let align = align.clamp(4, 8);
    loop {
        let (head, rest) = notes.split_first_chunk::<12>()?;
        let word = |at: usize| head.get(at..at + 4).and_then(|it| it.try_into().ok()).map_or(0, u32::from_ne_bytes);
        let (name_bytes, id_bytes) = (word(0) as usize, word(4) as usize);
        let id_at = name_bytes.next_multiple_of(align.min(4));
        let id = rest.get(id_at..id_at.checked_add(id_bytes)?)?;
        if word(8) == NT_GNU_BUILD_ID && rest.starts_with(b"GNU\0") {
            return Some(id);
        }
        notes = rest.get((id_at + id_bytes).next_multiple_of(align)..)?;
    }
}

/// FNV-1a.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// What was found of words: what stands for them in a signature; 0 if they are no return addresses.
/// Those between the objects of the table are no object's as long as nothing was loaded later, so
/// that words of these two times are different questions.
static PLACES: Known<1024> = Known::new();

/// What stands for a word of the stack in a signature, if it is a return address.
#[inline(always)]
pub(super) fn caller(word: usize, epoch: u64) -> Option<u64> {
    let question = word as u64 | epoch;
    let place = PLACES.get(question).unwrap_or_else(|| meet(word, question));
    (place != 0).then_some(place)
}

/// The same of a word not met before, or forgotten, or of what may change.
#[inline(never)]
fn meet(word: usize, question: u64) -> u64 {
    if !PROGRAM.span().holds(word) && !LIBRARIES.span().holds(word) {
        return late::place(word).unwrap_or(0);
    }
    let place = match find(word) {
        // SAFETY: it is code of an object that stays; of its first bytes nothing follows a call.
        Lies::InCode(range) if word - range.begin >= 8 && unsafe { scan::follows_a_call(word) } => range.place(word),
        Lies::InCode(_) | Lies::InObject => 0,
        Lies::Elsewhere if question == word as u64 => 0,
        Lies::Elsewhere => return late::place(word).unwrap_or(0),
    };
    PLACES.set(question, place);
    place
}

/// The object in whose code outside of libc this word of the stack is a return address, if it is,
/// and the place there.
pub(super) fn lasting(word: usize) -> Option<(&'static [u8], u64)> {
    match find(word) {
        // SAFETY: it is code of an object that stays; of its first bytes nothing follows a call.
        Lies::InCode(range) if word - range.begin >= 8 && unsafe { scan::follows_a_call(word) } => {
            let file = range.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            (!file.starts_with(b"libc.")).then_some((range.path, (word - range.base) as u64))
        }
        _ => None,
    }
}

/// What stands for an address of code in a signature.
#[cfg(target_arch = "x86_64")]
pub(super) fn place(address: usize) -> Option<u64> {
    match find(address) {
        Lies::InCode(range) => Some(range.place(address)),
        Lies::InObject => None,
        Lies::Elsewhere => late::place(address),
    }
}

/// Where an address lies, seen from the objects of the table.
enum Lies {
    InCode(&'static Range),
    InObject,
    Elsewhere,
}

fn find(address: usize) -> Lies {
    let ranges = ranges();
    let after = ranges.partition_point(|range| range.begin <= address);
    let before = after.checked_sub(1).and_then(|at| ranges.get(at));
    match before {
        Some(range) if address < range.end => Lies::InCode(range),
        _ if before.into_iter().chain(ranges.get(after)).any(|range| range.object.holds(address)) => Lies::InObject,
        _ => Lies::Elsewhere,
    }
}
