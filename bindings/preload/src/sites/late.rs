//! Objects loaded while the program runs, which may be unloaded at any time by another thread.
//! Nothing of them is read: the linker is asked, which answers without a lock (`_dl_find_object`,
//! glibc 2.35), and an object goes by the pages it takes up and the place of its unwind tables,
//! which lie behind its code. Two objects that have these in common are one.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use foresee_ring::ticks;

use super::known::Known;
use super::objects::{LIBRARIES_BEGIN, Span};
use super::place_within;

/// How often the program was about to load something, or has unloaded something.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// When it did so last. We do not see when loading has ended: it takes less than this, some
/// seconds.
static CHANGED: AtomicU64 = AtomicU64::new(0);
const LOADING_TICKS: u64 = 1 << 33;

/// The kernel maps downwards, one thing below the other.
const AROUND_BYTES: usize = 1 << 32;

/// The linker's `_dl_find_object`, if it has one.
static FIND_OBJECT: AtomicUsize = AtomicUsize::new(0);

/// What the linker says of an object. More follows on some machines; nothing of it is looked at.
#[repr(C)]
struct Object {
    flags: u64,
    map_begin: usize,
    map_end: usize,
    link_map: usize,
    unwind_tables: usize,
    rest: [usize; 8],
}

/// What is said of pages, by page and number of changes; 0 of those that are no object's.
static PAGES: Known<512> = Known::new();
const PAGE_BITS: u32 = 12;
const NUMBER_BITS: u32 = 36;

pub(super) fn begin() {
    // SAFETY: the name ends with a NUL.
    let find = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr()) };
    FIND_OBJECT.store(find.expose_provenance(), Relaxed);
}

pub(super) fn change() {
    CHANGED.store(ticks(), Relaxed);
    CHANGES.fetch_add(1, Release);
}

/// Other before anything was loaded than after: a bit that no address has.
#[inline(always)]
pub(super) fn epoch() -> u64 {
    u64::from(CHANGES.load(Relaxed) != 0) << 63
}

/// Where code of theirs may lie, and that of the first libraries lies.
pub(super) fn around(libraries: Span) -> Span {
    Span { begin: libraries.begin.saturating_sub(AROUND_BYTES), bytes: libraries.bytes + 2 * AROUND_BYTES }
}

/// What stands for an address of an object in a signature.
pub(super) fn place(address: usize) -> Option<u64> {
    let changes = CHANGES.load(Acquire);
    // Neither the program's and its heap's addresses, nor no address at all.
    if changes == 0 || address < LIBRARIES_BEGIN || address >> (PAGE_BITS + NUMBER_BITS) != 0 {
        return None;
    }
    let page = changes << NUMBER_BITS | (address >> PAGE_BITS) as u64;
    let page = PAGES.get(page).unwrap_or_else(|| ask(address, page));
    (page != 0).then(|| place_within(page, address as u64 & ((1 << PAGE_BITS) - 1)))
}

/// What stands for the page of this address; 0 if it is no object's.
#[cold]
fn ask(address: usize, page: u64) -> u64 {
    let find = FIND_OBJECT.load(Relaxed);
    if find == 0 {
        return 0;
    }
    let mut object = Object { flags: 0, map_begin: 0, map_end: 0, link_map: 0, unwind_tables: 0, rest: [0; 8] };
    // SAFETY: it is the linker's function of this type.
    let find = unsafe {
        let find = core::ptr::with_exposed_provenance::<c_void>(find);
        core::mem::transmute::<*const c_void, extern "C" fn(usize, *mut Object) -> c_int>(find)
    };
    let is_object = find(address, &mut object) == 0;
    // What is being loaded may come to lie where nothing is.
    if !is_object && ticks().wrapping_sub(CHANGED.load(Relaxed)) < LOADING_TICKS {
        return 0;
    }
    let nth_page = |address: usize| ((address >> PAGE_BITS) - (object.map_begin >> PAGE_BITS)) as u64;
    let answer = if is_object {
        let name = place_within(nth_page(object.map_end), object.unwind_tables.wrapping_sub(object.map_begin) as u64);
        place_within(name, nth_page(address))
    } else {
        0
    };
    PAGES.set(page, answer);
    answer
}
