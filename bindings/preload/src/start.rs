//! Where it begins, and where it ends.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use foresee_ring::{Counters, PATH_BYTES_MAX, Process, Record, Region, Unseen};

use crate::{calls, exec, next, observe, own_calls, patch, ring, sites, state, sys};

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn begin() {
    // Without a ring as well: later is too late for a signal handler.
    next::find_all();
    state::find_single_threaded();
    exec::begin();
    if let Some(region) = ring::open().and_then(map).filter(|region| !region.is_closing()) {
        enter(region);
    }
    // What was not found is no error of the program's.
    // SAFETY: takes the message away.
    unsafe { libc::dlerror() };
}

fn enter(region: &'static Region) {
    // While we are still silent: what this loads is not the program's doing.
    if variable(c"FORESEE_PATCH").is_none_or(|value| value != c"0") {
        patch::apply();
    }
    if region.wants_sites() {
        sites::begin(variable(c"FORESEE_SITES"), region.wants_places());
    }
    at_fork(forked);
    let Some(slot) = state::enter(region) else { return };
    calls::begin(state::process());
    let path = &mut [0; PATH_BYTES_MAX];
    let ppid = state::parent_number();
    state::post(region, Record::ProcessStarted { ppid, slot }, sys::working_directory(path));
    let Counters { reads, bytes, stall_ticks } = state::process().map(Process::counters).unwrap_or_default();
    state::post(region, Record::Executed { reads, bytes, stall_ticks }, executed());
    if region.looks_from_outside() && own_calls::are_made() {
        state::post(region, Record::ExecutesUnseen { why: Unseen::OwnCalls }, executed());
        return state::tell_wishes_alone();
    }
    tell_of_objects(region, 0);
}

extern "C" fn end() {
    if let Some(region) = state::region_of_this_process() {
        tell_of_objects(region, TOLD_AT_START.load(Relaxed));
        state::post(region, Record::Exited {}, &[]);
    }
}

/// Has this called in each child of `fork`, as its only thread. glibc has the function's first name
/// alone where it loads us into programs, other libcs the second.
fn at_fork(in_child: unsafe extern "C" fn()) {
    type Handler = Option<unsafe extern "C" fn()>;
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *const c_void) -> c_int;
    // SAFETY: names that end with NULs.
    let [own, common] =
        [c"__register_atfork", c"pthread_atfork"].map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
    let register = if own.is_null() { common } else { own };
    if !register.is_null() {
        // SAFETY: of this type; the second takes no fourth argument, and does not look at it. We stay
        // loaded.
        unsafe {
            core::mem::transmute::<*mut c_void, Register>(register)(None, None, Some(in_child), core::ptr::null())
        };
    }
}

unsafe extern "C" fn forked() {
    let Some(region) = state::region() else { return state::stay_silent() };
    calls::forget();
    let parent = state::process_number();
    match state::become_this_process(region) {
        Some(slot) => observe::post(region, Record::Forked { parent, slot }, &[]),
        None => state::leave(),
    }
}

/// What the process runs, as it was given to `exec`: of a script its own name, not its
/// interpreter's.
fn executed() -> &'static [u8] {
    // SAFETY: takes a number.
    let name = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const libc::c_char;
    // SAFETY: if it is there, the kernel put a string there, which stays.
    if name.is_null() { &[] } else { unsafe { CStr::from_ptr(name).to_bytes() } }
}

pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: constructors run before the program can change its environment.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: what getenv gives, if not null, is a string.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Maps a file, which is closed, if it is a ring.
fn map(fd: c_int) -> Option<&'static Region> {
    let bytes = Region::layout_size();
    // Memory beyond the end of a file is there, and deadly.
    let whole = sys::is_fixed(fd) && sys::fstat(fd).is_some_and(|stat| stat.st_size as usize >= bytes);
    let (prot, flags) = ((libc::PROT_READ | libc::PROT_WRITE) as usize, libc::MAP_SHARED as usize);
    // SAFETY: a new mapping, where the kernel likes.
    let mapped = if whole { unsafe { sys::call(libc::SYS_mmap, [0, bytes, prot, flags, fd as usize, 0]) } } else { -1 };
    sys::close(fd);
    if (-4095..0).contains(&mapped) {
        return None;
    }
    // A core file is the program's, and may be limited.
    // SAFETY: the mapping is ours; what it holds does not change.
    unsafe { sys::call(libc::SYS_madvise, [mapped as usize, bytes, libc::MADV_DONTDUMP as usize, 0, 0, 0]) };
    // SAFETY: so many bytes are mapped, and stay so.
    let region = unsafe { Region::attach(mapped as *mut u8, bytes) };
    if region.is_err() {
        // SAFETY: nobody else knows of it.
        unsafe { sys::call(libc::SYS_munmap, [mapped as usize, bytes, 0, 0, 0, 0]) };
    }
    region.ok()
}

/// How many objects the linker had loaded when the program began.
static TOLD_AT_START: AtomicUsize = AtomicUsize::new(0);

/// Tells of the objects that the linker has loaded, but for the first so many.
fn tell_of_objects(region: &'static Region, told: usize) {
    let mut telling = Telling { region, told, seen: 0 };
    // SAFETY: `tell` gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(tell), (&raw mut telling).cast()) };
    TOLD_AT_START.store(telling.seen, Relaxed);
}

struct Telling {
    region: &'static Region,
    told: usize,
    seen: usize,
}

unsafe extern "C" fn tell(info: *mut libc::dl_phdr_info, _: usize, telling: *mut c_void) -> c_int {
    // SAFETY: the linker passes on what `tell_of_objects` gave it, and describes an object.
    let (info, telling) = unsafe { (&*info, &mut *telling.cast::<Telling>()) };
    telling.seen += 1;
    if telling.seen <= telling.told {
        return 0;
    }
    let mut target = [0; PATH_BYTES_MAX];
    // SAFETY: the linker's name of the object.
    let name = if info.dlpi_name.is_null() { &[] } else { unsafe { observe::bytes(info.dlpi_name) } };
    // The program itself has no name; the kernel's own object has one, but no file.
    let path = if name.is_empty() { sys::readlink(c"/proc/self/exe", &mut target) } else { name };
    if path.contains(&b'/') {
        state::post(telling.region, Record::Loaded { addr: info.dlpi_addr }, path);
    }
    0
}
