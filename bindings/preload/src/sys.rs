//! System calls of our own. They go past libc: they leave errno alone, are no cancellation points,
//! and are not hooked.

use core::ffi::{CStr, c_char, c_int};
use core::mem::MaybeUninit;

/// Makes a system call and returns what the kernel returns: a result, or minus an errno.
///
/// # Safety
/// That of the system call.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn call(number: i64, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel keeps all registers but rax, rcx and r11; the rest is the caller's promise.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Makes a system call and returns what the kernel returns: a result, or minus an errno.
///
/// # Safety
/// That of the system call.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn call(number: i64, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let before = errno();
    // SAFETY: the caller's promise.
    let result = unsafe { libc::syscall(number as libc::c_long, a, b, c, d, e, f) } as isize;
    let result = if result == -1 { -(errno() as isize) } else { result };
    set_errno(before);
    result
}

pub(crate) fn errno() -> c_int {
    // SAFETY: libc gives the calling thread's own errno.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: libc gives the calling thread's own errno.
    unsafe { *libc::__errno_location() = value }
}

pub(crate) fn getpid() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_getpid, [0; 6]) as u32 }
}

pub(crate) fn getppid() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_getppid, [0; 6]) as u32 }
}

pub(crate) fn real_user() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_getuid, [0; 6]) as u32 }
}

pub(crate) fn effective_user() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_geteuid, [0; 6]) as u32 }
}

pub(crate) fn effective_group() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_getegid, [0; 6]) as u32 }
}

pub(crate) fn gettid() -> u32 {
    // SAFETY: takes nothing, changes nothing.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// How often this thread gave its processor up by itself, to wait for something.
pub(crate) fn voluntary_switches() -> Option<u32> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills in one `struct rusage`.
    let result =
        unsafe { call(libc::SYS_getrusage, [libc::RUSAGE_THREAD as usize, usage.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    // SAFETY: it did.
    (result == 0).then(|| unsafe { usage.assume_init() }.ru_nvcsw as u32)
}

/// Sleeps for less than a second, or until a signal comes.
pub(crate) fn sleep(nanoseconds: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds };
    // SAFETY: the kernel reads one `struct timespec`.
    unsafe { call(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]) };
}

pub(crate) fn open(path: &CStr, flags: c_int) -> Option<c_int> {
    let path = path.as_ptr() as usize;
    // SAFETY: the path ends with a NUL.
    let fd = unsafe { call(libc::SYS_openat, [libc::AT_FDCWD as usize, path, flags as usize, 0, 0, 0]) };
    (fd >= 0).then_some(fd as c_int)
}

pub(crate) fn close(fd: c_int) {
    // SAFETY: only called with descriptors this library opened.
    unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

pub(crate) fn fstat(fd: c_int) -> Option<libc::stat> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the buffer is one `struct stat`, which libc and the kernel lay out alike on 64-bit
    // machines.
    let result = unsafe { call(libc::SYS_fstat, [fd as usize, found.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    // SAFETY: the kernel filled it.
    (result == 0).then(|| unsafe { found.assume_init() })
}

/// Whether nobody can change the size of the file behind a descriptor.
pub(crate) fn is_fixed(fd: c_int) -> bool {
    const SEALS: isize = (libc::F_SEAL_SHRINK | libc::F_SEAL_GROW) as isize;
    // SAFETY: asks only.
    let seals = unsafe { call(libc::SYS_fcntl, [fd as usize, libc::F_GET_SEALS as usize, 0, 0, 0, 0]) };
    seals >= 0 && seals & SEALS == SEALS
}

/// What is at this path.
pub(crate) fn stat(path: &CStr) -> Option<libc::stat> {
    // SAFETY: it ends with a NUL.
    unsafe { stat_raw(path.as_ptr()) }
}

/// The same of a path that only the kernel has looked at, or will.
///
/// # Safety
/// It is what a program gives a system call as a path.
pub(crate) unsafe fn stat_raw(path: *const c_char) -> Option<libc::stat> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    let (path, into) = (path as usize, found.as_mut_ptr() as usize);
    // SAFETY: the kernel finds bad addresses by itself; the buffer is one `struct stat`.
    let result = unsafe { call(libc::SYS_newfstatat, [libc::AT_FDCWD as usize, path, into, 0, 0, 0]) };
    // SAFETY: the kernel filled it.
    (result == 0).then(|| unsafe { found.assume_init() })
}

/// Whether a program that this process executes may read a file, as far as that follows from users.
/// Rights that this process holds apart from its user's are gone by then, and the call asks without
/// them; where real and effective user differ, the dynamic linker loads nothing in any case.
pub(crate) fn is_readable_after_exec(path: &CStr) -> bool {
    let (path, mode) = (path.as_ptr() as usize, libc::R_OK as usize);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: asks only; the path ends with a NUL.
    let result = unsafe { call(libc::SYS_access, [path, mode, 0, 0, 0, 0]) };
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: as above.
    let result = unsafe { call(libc::SYS_faccessat, [libc::AT_FDCWD as usize, path, mode, 0, 0, 0]) };
    result == 0
}

/// The first bytes of a file.
pub(crate) fn head<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let fd = open(path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY)?;
    let (into, bytes) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the kernel writes at most the buffer's length.
    let got = unsafe { call(libc::SYS_read, [fd as usize, into, bytes, 0, 0, 0]) };
    close(fd);
    buffer.get(..usize::try_from(got).ok()?)
}

/// An attribute of a file; nothing if it has none, or one that is longer.
pub(crate) fn attribute<'a>(path: &CStr, name: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let (path, name, into) = (path.as_ptr() as usize, name.as_ptr() as usize, buffer.as_mut_ptr() as usize);
    // SAFETY: both names end with a NUL, and the kernel writes at most the buffer's length.
    let got = unsafe { call(libc::SYS_getxattr, [path, name, into, buffer.len(), 0, 0]) };
    buffer.get(..usize::try_from(got).ok()?)
}

/// The descriptor's position, or 0 if it has none.
pub(crate) fn position(fd: c_int) -> u64 {
    // SAFETY: asks only.
    let at = unsafe { call(libc::SYS_lseek, [fd as usize, 0, libc::SEEK_CUR as usize, 0, 0, 0]) };
    at.max(0) as u64
}

/// The size of the file behind a descriptor, or 0.
pub(crate) fn size(fd: c_int) -> u64 {
    fstat(fd).map_or(0, |stat| stat.st_size as u64)
}

/// The flags a descriptor was opened with, or 0.
pub(crate) fn open_flags(fd: c_int) -> c_int {
    // SAFETY: asks only.
    let flags = unsafe { call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) };
    flags.max(0) as c_int
}

/// The target of a symbolic link, or nothing.
pub(crate) fn readlink<'a>(path: &CStr, buffer: &'a mut [u8]) -> &'a [u8] {
    let (path, into, bytes) = (path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the kernel writes at most the buffer's length.
    let got = unsafe { call(libc::SYS_readlinkat, [libc::AT_FDCWD as usize, path, into, bytes, 0, 0]) };
    buffer.get(..got.max(0) as usize).unwrap_or_default()
}

/// This process's number in the PID namespace of the `/proc` that is mounted here, if there is one
/// that shows it.
pub(crate) fn number_in_proc() -> Option<u32> {
    let mut target = [0; 16];
    let digits = readlink(c"/proc/self", &mut target);
    let number = |number: u32, digit: &u8| number.checked_mul(10)?.checked_add(u32::from(digit.checked_sub(b'0')?));
    digits.iter().try_fold(0, number).filter(|&number| number > 0)
}

/// The working directory, or nothing.
pub(crate) fn working_directory(buffer: &mut [u8]) -> &[u8] {
    let (into, bytes) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the kernel writes at most the buffer's length.
    let got = unsafe { call(libc::SYS_getcwd, [into, bytes, 0, 0, 0, 0]) };
    // The count includes the NUL.
    buffer.get(..(got - 1).max(0) as usize).unwrap_or_default()
}
