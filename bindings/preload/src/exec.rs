//! Before the process becomes another program: whether we can be loaded into that.
//!
//! Where we cannot (other words, a chroot, a user who may not read our file), its dynamic linker
//! would complain on the program's standard error. So our part of `LD_PRELOAD` is left out of what
//! it gets. The supervisor is told of all programs that it will not see, those among them that are
//! given an environment without us (`env -i`, `sudo`).
//!
//! This runs in children of `vfork` and `posix_spawn`, which share their parent's memory, and in
//! signal handlers: nothing is allocated, and nothing of the process changed. `posix_spawn` leaves
//! its child 32 KiB of stack. The system calls are those that the dynamic linker makes at once in
//! the program itself; of others than root's one more asks for a file's rights, unless the process
//! has confined itself.

use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use foresee_ring::{IMAGE_BYTES, Image, PATH_BYTES_MAX, RIGHTS, RIGHTS_BYTES, Unseen, gives_rights};

use crate::{observe, ring, state, sys};

/// What a program is given as its environment: strings, then null.
pub(crate) type Environment = *const *const c_char;

const VARIABLE: &[u8] = b"LD_PRELOAD=";
const RING: &[u8] = b"FORESEE_RING=";
/// Variables that are copied. Whoever has more may read the dynamic linker's complaint.
const VARIABLES_MAX: usize = 1024;
/// Scripts that are each other's interpreters: the kernel follows as many.
const INTERPRETERS_MAX: usize = 5;

/// Our own file: its name as the dynamic linker was given it, and what was there. Null if that is
/// not known.
static PATH: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static FILE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Finds our own file, before the program can change what its name means.
pub(crate) fn begin() {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: there is room for what is found.
    if unsafe { libc::dladdr(begin as *const () as *const _, info.as_mut_ptr()) } == 0 {
        return;
    }
    // SAFETY: filled in; the name is the linker's own, and we stay loaded.
    let name = unsafe { CStr::from_ptr(info.assume_init_ref().dli_fname) };
    if let (Some(b'/'), Some(stat)) = (name.to_bytes().first(), sys::stat(name)) {
        FILE.iter().zip([stat.st_dev, stat.st_ino]).for_each(|(word, value)| word.store(value, Relaxed));
        PATH.store(name.as_ptr().cast_mut(), Relaxed);
    }
}

fn path() -> Option<&'static CStr> {
    let path = PATH.load(Relaxed);
    // SAFETY: see `begin`.
    (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) })
}

/// Executes a program by `call`, with an environment fit for it. Returns only what a failed call
/// does.
///
/// # Safety
/// That of `execve`.
pub(crate) unsafe fn execute(
    program: *const c_char,
    environment: Environment,
    call: impl Fn(Environment) -> isize,
) -> isize {
    let Some(library) = path() else { return call(environment) };
    // SAFETY: by the caller's promise.
    let (variable, names_ring) = unsafe { of_ours(environment) };
    let variable = variable.filter(|variable| variable.parts().any(|part| part == library.to_bytes()));
    let heard = state::region_for_executions().filter(|region| !region.is_closing());
    // SAFETY: null is none; else by the caller's promise a string, if the kernel finds a file by it.
    let why = match (program.is_null(), variable, heard) {
        (true, ..) | (_, None, None) => None,
        (false, variable, _) => unseen(library, program, variable.is_some(), names_ring),
    };
    if let (Some(why), Some(region)) = (why, heard) {
        // SAFETY: the kernel has read the path.
        state::tell_of_execution(region, why, unsafe { observe::bytes(program) });
    }
    match (why, variable) {
        // SAFETY: by the caller's promise; the variable is the environment's.
        (Some(Unseen::Foreign | Unseen::Unreachable | Unseen::Confined), Some(variable)) => unsafe {
            without(library.to_bytes(), environment, variable, call)
        },
        _ => call(environment),
    }
}

/// `LD_PRELOAD` in an environment.
#[derive(Clone, Copy)]
struct Preloads<'a> {
    /// Which of the variables it is.
    at: usize,
    value: &'a [u8],
}

impl<'a> Preloads<'a> {
    fn parts(self) -> impl Iterator<Item = &'a [u8]> {
        self.value.split(|byte| matches!(byte, b' ' | b':')).filter(|part| !part.is_empty())
    }
}

/// What is preloaded by an environment, and whether it names a ring.
///
/// # Safety
/// It is an environment, or null.
unsafe fn of_ours<'a>(environment: Environment) -> (Option<Preloads<'a>>, bool) {
    let (mut preloads, mut names_ring) = (None, false);
    if environment.is_null() {
        return (preloads, names_ring);
    }
    for at in 0.. {
        // SAFETY: up to the null at its end there are strings.
        let variable = unsafe { environment.add(at).read() };
        if variable.is_null() {
            break;
        }
        let begins = |with: &[u8]| {
            // SAFETY: a string, which is compared up to its end at most.
            with.iter().zip(0..).all(|(&byte, nth)| unsafe { variable.add(nth).read() } as u8 == byte)
        };
        names_ring |= begins(RING);
        if preloads.is_none() && begins(VARIABLE) {
            // SAFETY: as above.
            let value = unsafe { CStr::from_ptr(variable.add(VARIABLE.len())) }.to_bytes();
            preloads = Some(Preloads { at, value });
        }
    }
    (preloads, names_ring)
}

/// Why the program of this path will not tell of itself; nothing if it will, or if there is none.
/// `names_us` and `names_ring`: its environment does.
fn unseen(library: &CStr, program: *const c_char, names_us: bool, names_ring: bool) -> Option<Unseen> {
    let mut interpreter = [0; 256];
    let mut head = [0; IMAGE_BYTES];
    // Who is given nothing of ours need not reach it.
    let mut own_reach = (!names_us).then_some(None);
    let mut next = program;
    for _ in 0..INTERPRETERS_MAX {
        // SAFETY: the kernel reads it as `execve` will; or it is what was copied below.
        let file = unsafe { sys::stat_raw(next) }?;
        if file.st_mode & libc::S_IFMT != libc::S_IFREG || file.st_mode & 0o111 == 0 {
            return None;
        }
        // Not earlier: whoever looks for a program along `PATH` tries many names.
        let reaches = *own_reach
            .get_or_insert_with(|| if state::is_confined() { Some(Unseen::Confined) } else { reach(library) });
        if reaches.is_some() {
            return reaches;
        }
        // SAFETY: the kernel found a file by it, so it is a string.
        let path = unsafe { CStr::from_ptr(next) };
        let Some(head) = sys::head(path, &mut head) else {
            // Who may execute it need not be allowed to read it.
            return is_privileged(path, &file).then_some(Unseen::Privileged);
        };
        match Image::of(head) {
            Image::Script(name) => {
                let (place, rest) = interpreter.split_at_mut_checked(name.len())?;
                place.copy_from_slice(name);
                *rest.first_mut()? = 0;
                next = interpreter.as_ptr().cast();
            }
            Image::Foreign => return Some(Unseen::Foreign),
            Image::Static => return Some(Unseen::Static),
            Image::Dynamic if is_privileged(path, &file) => return Some(Unseen::Privileged),
            Image::Dynamic if !(names_us && names_ring) => return Some(Unseen::Bare),
            Image::Dynamic | Image::Unknown => return None,
        }
    }
    None
}

/// Whether our file and the ring are out of reach.
fn reach(library: &CStr) -> Option<Unseen> {
    let is_ours = sys::stat(library).is_some_and(|it| {
        FILE.iter().zip([it.st_dev, it.st_ino]).all(|(word, value)| word.load(Relaxed) == value)
            && sys::is_readable_after_exec(library)
    });
    (!is_ours || !ring::is_reachable()).then_some(Unseen::Unreachable)
}

/// Whether it runs as somebody else than who starts it, or with rights that he has not.
fn is_privileged(path: &CStr, file: &libc::stat) -> bool {
    file.st_mode & libc::S_ISUID != 0 && file.st_uid != sys::effective_user()
        || file.st_mode & libc::S_ISGID != 0 && file.st_gid != sys::effective_group()
        || sys::real_user() != 0 && !state::is_confined() && has_rights(path)
}

/// Whether a file gives rights (`setcap`).
fn has_rights(path: &CStr) -> bool {
    let mut rights = [0; RIGHTS_BYTES];
    sys::attribute(path, RIGHTS, &mut rights).is_some_and(gives_rights)
}

/// Calls with an environment in which our part of `LD_PRELOAD` is missing.
///
/// # Safety
/// That of `execve`; the variable is the environment's.
#[inline(never)]
unsafe fn without(
    library: &[u8],
    environment: Environment,
    variable: Preloads,
    call: impl Fn(Environment) -> isize,
) -> isize {
    let mut text = [0; PATH_BYTES_MAX + 1];
    let mut copy = [null::<c_char>(); VARIABLES_MAX + 1];
    let others = variable.parts().filter(|part| *part != library);
    let Some(has_others) = write_value(others, &mut text) else { return call(environment) };
    let mut places = copy.iter_mut();
    for at in 0.. {
        // SAFETY: by the caller's promise, up to the null at the end.
        let string = unsafe { environment.add(at).read() };
        let string = match at == variable.at {
            true if has_others => text.as_ptr().cast(),
            true => continue,
            false => string,
        };
        let Some(place) = places.next() else { return call(environment) };
        *place = string;
        if string.is_null() {
            break;
        }
    }
    call(copy.as_ptr())
}

/// Writes the variable with these parts, with a NUL behind it. Says whether there is any; nothing
/// if there is no room.
fn write_value<'a>(parts: impl Iterator<Item = &'a [u8]>, text: &mut [u8]) -> Option<bool> {
    let mut rest = text;
    let mut separator: &[u8] = VARIABLE;
    let mut any = false;
    for part in parts {
        for bytes in [separator, part] {
            let (place, after) = rest.split_at_mut_checked(bytes.len())?;
            place.copy_from_slice(bytes);
            rest = after;
        }
        (separator, any) = (b":", true);
    }
    *rest.first_mut()? = 0;
    Some(any)
}
