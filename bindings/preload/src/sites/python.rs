//! The Python functions that are running in this thread: their code and where in it each stands.
//! The interpreter runs them all in one function of C, so the stack does not tell them apart.
//!
//! What is read lies where it did in the versions named below, CPython's usual builds of 3.11 to
//! 3.13 (others are left alone), and is the thread's own: it stands still while the thread is in a
//! call of ours, with or without the interpreter's lock. The first time each pointer is checked
//! before it is followed, and if it does not lead to what it should, Python is left alone for good.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering::Relaxed};

use super::{Signature, place_within, stack};

/// Functions that count, the innermost first: what reads is often a library's.
const FUNCTIONS_MAX: usize = 4;
/// Frames looked at for them.
const FRAMES_MAX: usize = 8;

/// Where things lie, in bytes from the beginning of what they are in.
struct Layout {
    /// Of a thread state: what points to the current frame, or (`frame_at` is given) to what points
    /// to it there.
    frame: usize,
    frame_at: Option<usize>,
    /// Of a frame.
    code: usize,
    previous: usize,
    instruction: usize,
    /// Of a code object.
    first_line: usize,
}

/// Of any object: its type. Of one of variable size: how many items it has.
const TYPE: usize = 8;
const ITEMS: usize = 16;

static V3_11: Layout = Layout { frame: 56, frame_at: Some(8), code: 32, previous: 48, instruction: 56, first_line: 72 };
static V3_12: Layout = Layout { frame: 56, frame_at: Some(0), code: 0, previous: 8, instruction: 56, first_line: 68 };
static V3_13: Layout = Layout { frame: 72, frame_at: None, code: 0, previous: 8, instruction: 56, first_line: 68 };

static LAYOUT: AtomicPtr<Layout> = AtomicPtr::new(core::ptr::null_mut());
static THREAD_STATE: AtomicUsize = AtomicUsize::new(0);
static CODE_TYPE: AtomicUsize = AtomicUsize::new(0);

/// Whether pointers are followed unchecked.
static TRUST: AtomicU8 = AtomicU8::new(UNTRIED);
const UNTRIED: u8 = 0;
const TRUSTED: u8 = 1;

fn symbol(name: &CStr) -> usize {
    // SAFETY: the name ends with a NUL.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.expose_provenance()
}

pub(super) fn begin() {
    let version = symbol(c"Py_Version");
    // Where the lock can be left out, objects are laid out otherwise.
    if version == 0 || symbol(c"_Py_DecRefShared") != 0 {
        return;
    }
    // SAFETY: a constant of this type (3.11 and later), the version as 0xMMmmpprr.
    let layout = match unsafe { core::ptr::with_exposed_provenance::<u64>(version).read() } >> 16 {
        0x030b => &V3_11,
        0x030c => &V3_12,
        0x030d => &V3_13,
        _ => return,
    };
    THREAD_STATE.store(symbol(c"PyGILState_GetThisThreadState"), Relaxed);
    CODE_TYPE.store(symbol(c"PyCode_Type"), Relaxed);
    if THREAD_STATE.load(Relaxed) != 0 && CODE_TYPE.load(Relaxed) != 0 {
        LAYOUT.store(core::ptr::from_ref(layout).cast_mut(), Relaxed);
    }
}

/// Adds the running functions; whether there are any.
#[inline(always)]
pub(super) fn functions(signature: &mut Signature) -> bool {
    // SAFETY: set to one of the layouts, which are constants.
    unsafe { LAYOUT.load(Relaxed).as_ref() }.is_some_and(|layout| walk(layout, signature))
}

#[inline(never)]
fn walk(layout: &Layout, signature: &mut Signature) -> bool {
    // SAFETY: Python's function of this type, which takes no lock: it asks for a variable of the
    // thread's.
    let state = unsafe {
        let function = core::ptr::with_exposed_provenance::<c_void>(THREAD_STATE.load(Relaxed));
        core::mem::transmute::<*const c_void, extern "C" fn() -> usize>(function)()
    };
    let reader = Reader { checks: TRUST.load(Relaxed) != TRUSTED };
    if state == 0 {
        return false;
    }
    let functions = frames(layout, reader, state, signature);
    if functions.is_none() {
        LAYOUT.store(core::ptr::null_mut(), Relaxed);
    }
    functions.is_some_and(|functions| functions > 0)
}

/// How many there are; nothing if a pointer leads nowhere.
fn frames(layout: &Layout, reader: Reader, state: usize, signature: &mut Signature) -> Option<usize> {
    let mut frame = reader.word(state + layout.frame)?;
    if let Some(at) = layout.frame_at {
        frame = reader.word(frame + at)?;
    }
    let mut functions = 0;
    for _ in 0..FRAMES_MAX {
        if frame == 0 || functions == FUNCTIONS_MAX {
            break;
        }
        let code = reader.word(frame + layout.code)?;
        // Between Python's frames lie some of its own, with something else in this place.
        if code != 0 && reader.word(code + TYPE)? == CODE_TYPE.load(Relaxed) {
            let items = reader.word(code + ITEMS)? as u64;
            let line = reader.word((code + layout.first_line) & !7)?.to_le_bytes();
            let line =
                line.split_at(layout.first_line & 7).1.first_chunk::<4>().map_or(0, |it| c_int::from_le_bytes(*it));
            let instruction = reader.word(frame + layout.instruction)?;
            signature.add(place_within(items << 32 ^ line as u64, instruction.wrapping_sub(code) as u64));
            functions += 1;
            TRUST.store(TRUSTED, Relaxed);
        }
        frame = reader.word(frame + layout.previous)?;
    }
    Some(functions)
}

/// Reads words of the interpreter's.
#[derive(Clone, Copy)]
struct Reader {
    checks: bool,
}

impl Reader {
    #[inline(always)]
    fn word(self, address: usize) -> Option<usize> {
        if self.checks && (address == 0 || !address.is_multiple_of(8) || !stack::is_readable(address)) {
            return None;
        }
        // SAFETY: checked, or reached on a way that was checked before.
        Some(unsafe { core::ptr::with_exposed_provenance::<usize>(address).read_volatile() })
    }
}
