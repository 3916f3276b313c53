//! Jumps from libc's own `read`, `write`, `lseek` and `execve` to here (x86-64).
//!
//! stdio calls the first three by a private way, which no preloaded library stands in; `sort`,
//! `sed` and `md5sum` would not be seen. All that executes a program ends in the last: `execvp`,
//! `posix_spawn`, `system`, `popen`. The first 14 bytes of each become a jump to a function that
//! makes the system call itself, as libc does, so nothing of the old code is ever run again, and
//! nothing has to be decoded. It is done once, in the constructor, before there are threads; and
//! only where the code is that of a glibc we know. Otherwise interposition is all there is.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use foresee_ring::OFFSET_CURRENT;

use crate::exec::{self, Environment};
use crate::{observe, state, sys};

/// `jmp [rip+0]`, and the address it reads.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const PATCH_BYTES: usize = JUMP.len() + 8;

/// Any byte, in a pattern.
const ANY: i16 = -1;

/// `endbr64`, with which functions begin where libc is built for control-flow enforcement.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// `cmpb $0,__libc_single_threaded(%rip); je` (glibc 2.36 to 2.40).
const CMP_SINGLE: &[i16] = &[0x80, 0x3d, ANY, ANY, ANY, ANY, 0x00, 0x74, ANY];
/// `mov %fs:0x18,%eax; test %eax,%eax; jne` (glibc 2.27 to 2.35).
const TEST_MULTIPLE: &[i16] = &[0x64, 0x8b, 0x04, 0x25, 0x18, 0, 0, 0, 0x85, 0xc0, 0x75, ANY];

/// The number of the system call, the call, and the comparison of its result. Without that, the
/// jump could reach beyond the function.
const READ_CALL: &[i16] = &[0x31, 0xc0, 0x0f, 0x05, 0x48, 0x3d, ANY, 0xf0, 0xff, 0xff];
const WRITE_CALL: &[i16] = &[0xb8, 1, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, ANY, 0xf0, 0xff, 0xff];
const LSEEK_CALL: &[i16] = &[0xb8, 8, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, ANY, 0xf0, 0xff, 0xff, ANY];
const EXECVE_CALL: &[i16] = &[0xb8, 59, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, ANY, 0xf0, 0xff, 0xff, ANY];
const _: () = assert!(LSEEK_CALL.len() >= PATCH_BYTES && EXECVE_CALL.len() >= PATCH_BYTES);

pub(crate) mod entry {
    use core::ffi::CStr;
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// A function of libc's that may be patched.
    pub(crate) struct Entry {
        pub(super) name: &'static CStr,
        /// What it may begin with, after an `endbr64`: one of these, then the system call.
        pub(super) beginnings: &'static [&'static [i16]],
        pub(super) call: &'static [i16],
        patched: AtomicBool,
    }

    impl Entry {
        const fn new(name: &'static CStr, beginnings: &'static [&'static [i16]], call: &'static [i16]) -> Self {
            Entry { name, beginnings, call, patched: AtomicBool::new(false) }
        }

        /// libc's function is ours now: whoever calls it need not tell.
        #[inline(always)]
        pub(crate) fn is_patched(&self) -> bool {
            self.patched.load(Relaxed)
        }

        pub(super) fn set_patched(&self) {
            self.patched.store(true, Relaxed);
        }
    }

    pub(crate) static READ: Entry = Entry::new(c"read", &[super::CMP_SINGLE, super::TEST_MULTIPLE], super::READ_CALL);
    pub(crate) static WRITE: Entry =
        Entry::new(c"write", &[super::CMP_SINGLE, super::TEST_MULTIPLE], super::WRITE_CALL);
    pub(crate) static LSEEK: Entry = Entry::new(c"lseek64", &[&[]], super::LSEEK_CALL);
    pub(crate) static EXECVE: Entry = Entry::new(c"execve", &[&[]], super::EXECVE_CALL);
}

/// libc's `pthread_setcanceltype`, found before anything is patched.
static SET_CANCEL_TYPE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// `PTHREAD_CANCEL_ASYNCHRONOUS`, which the libc crate has no name for.
const CANCEL_ASYNCHRONOUS: c_int = 1;

unsafe extern "C-unwind" fn reading(fd: c_int, into: *mut c_void, bytes: usize) -> isize {
    observe::read(fd, OFFSET_CURRENT, bytes, || {
        // SAFETY: the caller's promise of `read`.
        result(unsafe { cancellable(libc::SYS_read, fd, into as usize, bytes) })
    })
}

crate::sites::enter!(entered_read(fd: c_int, into: *mut c_void, bytes: usize), isize, reading);

unsafe extern "C-unwind" fn writing(fd: c_int, from: *const c_void, bytes: usize) -> isize {
    // SAFETY: the caller's promise of `write`.
    let wrote = result(unsafe { cancellable(libc::SYS_write, fd, from as usize, bytes) });
    observe::wrote(fd, OFFSET_CURRENT, wrote);
    wrote
}

crate::sites::enter!(entered_write(fd: c_int, from: *const c_void, bytes: usize), isize, writing);

unsafe extern "C-unwind" fn lseek(fd: c_int, offset: i64, whence: c_int) -> i64 {
    // SAFETY: moves the position only.
    let position =
        result(unsafe { sys::call(libc::SYS_lseek, [fd as usize, offset as usize, whence as usize, 0, 0, 0]) });
    observe::sought(fd, position as i64);
    position as i64
}

unsafe extern "C-unwind" fn executing(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: Environment,
) -> c_int {
    let call = |environment: Environment| {
        // SAFETY: the caller's promise of `execve`.
        unsafe { sys::call(libc::SYS_execve, [path as usize, arguments as usize, environment as usize, 0, 0, 0]) }
    };
    // SAFETY: likewise.
    result(unsafe { exec::execute(path, environment, call) }) as c_int
}

/// As libc returns it.
#[inline(always)]
fn result(raw: isize) -> isize {
    if raw < 0 {
        sys::set_errno(-raw as c_int);
        return -1;
    }
    raw
}

/// Makes a system call in which the thread may be cancelled, the way libc does: where there are
/// other threads, one of them may cancel this one, and it must then not stay blocked; the unwinder
/// starts from the system call itself.
///
/// # Safety
/// That of the system call.
#[inline(always)]
unsafe fn cancellable(number: i64, fd: c_int, buffer: usize, bytes: usize) -> isize {
    let arguments = [fd as usize, buffer, bytes, 0, 0, 0];
    if state::is_single_threaded() {
        // SAFETY: the caller's promise.
        return unsafe { sys::call(number, arguments) };
    }
    // SAFETY: found before anything was patched, and of this type.
    let set_cancel_type = unsafe {
        core::mem::transmute::<*mut c_void, extern "C" fn(c_int, *mut c_int) -> c_int>(SET_CANCEL_TYPE.load(Relaxed))
    };
    let (mut before, mut now) = (0, 0);
    set_cancel_type(CANCEL_ASYNCHRONOUS, &mut before);
    // SAFETY: the caller's promise.
    let raw = unsafe { sys::call(number, arguments) };
    set_cancel_type(before, &mut now);
    raw
}

/// Patches what can be.
pub(crate) fn apply() {
    // SAFETY: the names end with NULs; the library is loaded already, and stays.
    let (libc, set_cancel_type) = unsafe {
        let libc = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        (libc, libc::dlsym(libc::RTLD_DEFAULT, c"pthread_setcanceltype".as_ptr()))
    };
    // With threads about, one might be in the very instructions.
    if libc.is_null() || set_cancel_type.is_null() || !state::is_single_threaded() {
        return;
    }
    SET_CANCEL_TYPE.store(set_cancel_type, Relaxed);
    let ours = [
        (&entry::READ, entered_read as *const () as usize),
        (&entry::WRITE, entered_write as *const () as usize),
        (&entry::LSEEK, lseek as *const () as usize),
        (&entry::EXECVE, executing as *const () as usize),
    ];
    let memory = sys::open(c"/proc/self/mem", libc::O_RDWR | libc::O_CLOEXEC);
    for (entry, to) in ours {
        if let Some(code) = find(libc, entry)
            && replace(memory, code, to)
        {
            entry.set_patched();
        }
    }
    if let Some(memory) = memory {
        sys::close(memory);
    }
}

/// libc's code of this name, if it is code we know.
fn find(libc: *mut c_void, entry: &entry::Entry) -> Option<*mut u8> {
    // SAFETY: a name that ends with a NUL.
    let code = unsafe { libc::dlsym(libc, entry.name.as_ptr()) }.cast::<u8>();
    if code.is_null() {
        return None;
    }
    // Byte by byte: none is looked at beyond the first that differs, so none beyond the function.
    // SAFETY: as long as all bytes before are those of the pattern, which does not end in a function's
    // end, this one is there.
    let byte = |at: usize| i16::from(unsafe { *code.add(at) });
    let skipped =
        if ENDBR64.iter().enumerate().all(|(at, &wanted)| byte(at) == i16::from(wanted)) { ENDBR64.len() } else { 0 };
    let is_known = |beginning: &&[i16]| {
        let mut pattern = beginning.iter().chain(entry.call).enumerate();
        pattern.all(|(at, &wanted)| wanted == ANY || wanted == byte(skipped + at))
    };
    entry.beginnings.iter().any(is_known).then_some(code)
}

/// Writes the jump, by `/proc/self/mem` if it is open, which may write to code without making it
/// writable; or else by making it so.
fn replace(memory: Option<c_int>, code: *mut u8, to: usize) -> bool {
    let mut patch = [0; PATCH_BYTES];
    patch[..JUMP.len()].copy_from_slice(&JUMP);
    patch[JUMP.len()..].copy_from_slice(&to.to_le_bytes());
    if let Some(memory) = memory {
        let arguments = [memory as usize, patch.as_ptr() as usize, PATCH_BYTES, code as usize, 0, 0];
        // SAFETY: the code is libc's, of which nobody runs what is written over.
        let wrote = unsafe { sys::call(libc::SYS_pwrite64, arguments) };
        if wrote == PATCH_BYTES as isize {
            return true;
        }
    }
    // SAFETY: asks for a constant.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let from = code as usize & !(page - 1);
    let bytes = code as usize + PATCH_BYTES - from;
    let protect = |prot: c_int| {
        // SAFETY: these are pages of libc's code, which stay executable throughout.
        unsafe { sys::call(libc::SYS_mprotect, [from, bytes, prot as usize, 0, 0, 0]) == 0 }
    };
    if !protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
        return false;
    }
    // SAFETY: writable now, and of the size found.
    unsafe { core::ptr::copy_nonoverlapping(patch.as_ptr(), code, PATCH_BYTES) };
    protect(libc::PROT_READ | libc::PROT_EXEC);
    true
}
