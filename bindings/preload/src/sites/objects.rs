//! Where code lies, and what it is called from one run to the next.
//!
//! Objects that are there when the program begins stay to its end, so their code may be looked at: they are in a table, written
//! once. What is loaded later may be unloaded at any time by another thread. It is asked of the linker, which answers without a
//! lock (`_dl_find_object`, glibc 2.35); of its code nothing is read, and it goes by the bytes it takes up in memory.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use super::scan;
use crate::{observe, sys};

/// Ranges of code known: a program has one or two, and one for each library.
const RANGES: usize = 256;

/// A range of code.
#[derive(Clone, Copy)]
struct Range {
    begin: usize,
    end: usize,
    /// Where its object begins, and its name from run to run.
    base: usize,
    name: u64,
}

impl Range {
    #[inline(always)]
    fn place(&self, address: usize) -> (u64, u64) {
        (self.name, (address - self.base) as u64)
    }
}

const NO_RANGE: Range = Range { begin: 0, end: 0, base: 0, name: 0 };

/// The table: written before it counts anything, by the one thread there is, and then only read.
struct Table(UnsafeCell<[Range; RANGES]>, AtomicUsize);

// SAFETY: what is read was written before its count was stored.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new([NO_RANGE; RANGES]), AtomicUsize::new(0));

/// Where code lies at all: the program's own, and that of libraries. Most words of a stack are passed over by this alone.
struct Span {
    begin: AtomicUsize,
    bytes: AtomicUsize,
}

impl Span {
    const fn none() -> Self {
        Span { begin: AtomicUsize::new(0), bytes: AtomicUsize::new(0) }
    }

    fn cover(&self, ranges: &[Range], is_ours: impl Fn(usize) -> bool) {
        let ours = || ranges.iter().filter(|range| is_ours(range.begin));
        let begin = ours().map(|range| range.begin).min().unwrap_or(0);
        self.begin.store(begin, Relaxed);
        self.bytes.store(ours().map(|range| range.end - begin).max().unwrap_or(0), Relaxed);
    }

    fn known(&self) -> (usize, usize) {
        (self.begin.load(Relaxed), self.bytes.load(Relaxed))
    }
}

static PROGRAM: Span = Span::none();
static LIBRARIES: Span = Span::none();
/// Libraries lie above this, a program and its heap below.
const LIBRARIES_BEGIN: usize = 0x7000_0000_0000;

/// What passes over most words that are no return addresses.
#[derive(Clone, Copy)]
pub(super) struct Sieve {
    program: (usize, usize),
    libraries: (usize, usize),
}

impl Sieve {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Sieve { program: PROGRAM.known(), libraries: LIBRARIES.known() }
    }

    #[inline(always)]
    pub(super) fn keeps(self, word: usize) -> bool {
        let within = |(begin, bytes): (usize, usize)| word.wrapping_sub(begin) < bytes;
        within(self.program) | within(self.libraries)
    }
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
    // SAFETY: the name ends with a NUL.
    let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(find.expose_provenance(), Relaxed);
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
            if let [before, after] = &mut ranges[at - 1..=at]
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
    if segments.iter().any(|segment| segment.p_type == libc::PT_LOAD && within(segment, ours)) {
        return 0;
    }
    // SAFETY: its segments are in memory.
    let name = unsafe { name_of(info, segments) };
    for segment in segments {
        let code = libc::PF_X | libc::PF_R;
        let begin = base + segment.p_vaddr as usize;
        if segment.p_type == libc::PT_LOAD
            && segment.p_flags & code == code
            && let Some(range) = found.ranges.get_mut(found.count)
        {
            *range = Range { begin, end: begin + segment.p_memsz as usize, base, name };
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

/// What a word of the stack lies in and where, if it is a return address.
#[inline(always)]
pub(super) fn caller(word: usize) -> Option<(u64, u64)> {
    match range_of(word) {
        // SAFETY: it is code of an object that stays; of its first bytes nothing follows a call.
        Some(range) => (word - range.begin >= 8 && unsafe { scan::follows_a_call(word) }).then(|| range.place(word)),
        None => late(word),
    }
}

/// What an address of code lies in, and where.
pub(super) fn place(address: usize) -> Option<(u64, u64)> {
    range_of(address).map(|range| range.place(address)).or_else(|| late(address))
}

#[inline(always)]
fn range_of(address: usize) -> Option<&'static Range> {
    let ranges = ranges();
    let after = ranges.partition_point(|range| range.begin <= address);
    after.checked_sub(1).and_then(|at| ranges.get(at)).filter(|range| address < range.end)
}

// ---- objects loaded later

/// More than what was there at first may be loaded.
static LATE: AtomicBool = AtomicBool::new(false);
/// The kernel maps downwards, one thing below the other.
const LATE_BYTES: usize = 1 << 32;
/// The linker's `_dl_find_object`, if it has one.
static FIND_OBJECT: AtomicUsize = AtomicUsize::new(0);

/// What the linker says of an object. More follows on some machines; nothing of it is looked at.
#[repr(C)]
struct Object {
    flags: u64,
    map_begin: usize,
    map_end: usize,
    rest: [usize; 8],
}

/// Pages that were asked for: the page's number, the number of its place within the object, and the object's pages; all in one
/// word, so that it is whole whoever writes it.
const CACHE: usize = 512;
static PAGES: [AtomicU64; CACHE] = [const { AtomicU64::new(0) }; CACHE];
const PAGE_BITS: u32 = 12;
const NUMBER_BITS: u32 = 36;
const PLACE_BITS: u32 = 14;

pub(super) fn change() {
    if !LATE.swap(true, Relaxed) {
        // They may come to lie anywhere near the others.
        LIBRARIES.bytes.fetch_add(2 * LATE_BYTES, Relaxed);
        LIBRARIES.begin.fetch_sub(LATE_BYTES, Relaxed);
    }
    PAGES.iter().for_each(|page| page.store(0, Relaxed));
}

#[inline(always)]
fn late(word: usize) -> Option<(u64, u64)> {
    // Neither the program's and its heap's addresses, nor no address at all.
    if !LATE.load(Relaxed) || word < LIBRARIES_BEGIN || word >> (PAGE_BITS + NUMBER_BITS) != 0 {
        return None;
    }
    let number = (word >> PAGE_BITS) as u64;
    let slot = &PAGES[number as usize % CACHE];
    let mut known = slot.load(Relaxed);
    if known >> (64 - NUMBER_BITS) != number {
        known = number << (64 - NUMBER_BITS) | ask(word);
        slot.store(known, Relaxed);
    }
    let place = known & ((1 << PLACE_BITS) - 1);
    let pages = known >> PLACE_BITS & ((1 << (64 - NUMBER_BITS - PLACE_BITS)) - 1);
    (pages > 0).then_some((pages, place << PAGE_BITS | word as u64 & ((1 << PAGE_BITS) - 1)))
}

/// Which page of an object of how many an address lies on; 0 if on none, or on one of an object larger than can be said.
#[cold]
fn ask(word: usize) -> u64 {
    let find = FIND_OBJECT.load(Relaxed);
    if find == 0 {
        return 0;
    }
    let mut object = Object { flags: 0, map_begin: 0, map_end: 0, rest: [0; 8] };
    // SAFETY: it is the linker's function of this type.
    let find = unsafe {
        let find = core::ptr::with_exposed_provenance::<c_void>(find);
        core::mem::transmute::<*const c_void, extern "C" fn(usize, *mut Object) -> c_int>(find)
    };
    if find(word, &mut object) != 0 {
        return 0;
    }
    let place = ((word >> PAGE_BITS) - (object.map_begin >> PAGE_BITS)) as u64;
    let pages = (object.map_end.div_ceil(1 << PAGE_BITS) - (object.map_begin >> PAGE_BITS)) as u64;
    if pages >= 1 << PLACE_BITS { 0 } else { pages << PLACE_BITS | place }
}
