//! The functions we stand in front of, and how a hook is written.
//!
//! Each hook has a [`Next`] in a linker section of their own, which makes them one array: the
//! constructor finds them all. (`#[used]`, or the optimiser would take them apart.) A hook that is
//! called before (another library's constructor) finds its own.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::sys;

/// Where the function of this name is that the program would have called without us.
#[repr(C)]
pub(crate) struct Next {
    name: *const c_char,
    address: AtomicPtr<c_void>,
}

// SAFETY: the name is a constant.
unsafe impl Sync for Next {}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Next { name: name.as_ptr(), address: AtomicPtr::new(null_mut()) }
    }

    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let address = self.address.load(Relaxed);
        if address.is_null() { self.find() } else { address }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: the name ends with a NUL.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name) };
        self.address.store(address, Relaxed);
        address
    }
}

unsafe extern "C" {
    #[link_name = "__start_foresee_next"]
    static FIRST: Next;
    #[link_name = "__stop_foresee_next"]
    static END: Next;
}

/// Finds all of them, so that no hook has to: dlsym is not for signal handlers.
pub(crate) fn find_all() {
    let (mut next, end) = (&raw const FIRST, &raw const END);
    while next < end {
        // SAFETY: the linker gathers all of the section, which holds nothing else, between the two marks.
        unsafe {
            (*next).address();
            next = next.add(1);
        }
    }
}

/// What a function says that libc does not have: a program can only call it because we do.
pub(crate) trait Missing {
    fn missing() -> Self;
}

macro_rules! missing {
    ($($type:ty = $value:expr),*) => {
        $(impl Missing for $type {
            fn missing() -> Self {
                sys::set_errno(libc::ENOSYS);
                $value
            }
        })*
    };
}

missing!(c_int = -1, isize = -1, i64 = -1, *mut c_void = null_mut());

/// Stands in front of one function, or of several that differ in name only:
/// `hook! { [names](arguments) -> result, next => { body } }`, where `next` is the function itself.
/// With `sited` before the names it is a function whose callers are looked for: where its frame
/// begins is noted as it is entered (`sites/entry.rs`).
macro_rules! hook {
    (sited [$($name:ident),+]$arguments:tt -> $result:ty, $next:ident => $body:block) => {
        $(
            #[cfg(target_arch = "x86_64")]
            const _: () = {
                $crate::next::hook!(@one [] body = $name $arguments, $result, $next $body);
                $crate::sites::enter!(#[unsafe(no_mangle)] $name $arguments, $result, body);
            };
            #[cfg(not(target_arch = "x86_64"))]
            $crate::next::hook!(@one [#[unsafe(no_mangle)]] $name = $name $arguments, $result, $next $body);
        )+
    };
    ([$($name:ident),+]$arguments:tt -> $result:ty, $next:ident => $body:block) => {
        $($crate::next::hook!(@one [#[unsafe(no_mangle)]] $name = $name $arguments, $result, $next $body);)+
    };
    (@one [$(#[$exported:meta])?] $function:ident = $name:ident($($argument:ident: $type:ty),*), $result:ty, $next:ident $body:block) => {
        $(#[$exported])?
        unsafe extern "C-unwind" fn $function($($argument: $type),*) -> $result {
            #[used]
            #[unsafe(link_section = "foresee_next")]
            static NEXT: $crate::next::Next = {
                const NAME: &core::ffi::CStr =
                    match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name has no NUL"),
                    };
                $crate::next::Next::new(NAME)
            };
            let next = NEXT.address();
            if next.is_null() {
                return $crate::next::Missing::missing();
            }
            // SAFETY: a function of this name has this type, wherever it is. It is called as one that does not unwind,
            // so that no landing pad comes to be in a frame that a cancelled thread unwinds through.
            let $next = unsafe { core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn($($type),*) -> $result>(next) };
            // SAFETY: the caller keeps the promises that this function asks of it; we pass its arguments on, and look
            // at what they point to only where the function has just used it without complaint.
            unsafe { $body }
        }
    };
}
pub(crate) use hook;

/// What a function does that must be jumped to, since it looks at who called it, or may have any
/// arguments: it calls `{before}`, with its own arguments kept, and jumps to where that says. For
/// `naked_asm!`.
#[cfg(target_arch = "x86_64")]
macro_rules! call_before_and_jump {
    () => {
        concat!(
            $crate::next::call_before_and_jump!(@each "push ", "\n.cfi_adjust_cfa_offset 8\n", rdi rsi rdx rcx r8 r9),
            // With the return address these are seven words; a call wants the stack aligned to two.
            "sub rsp, 8\n.cfi_adjust_cfa_offset 8\n",
            "call {before}\n",
            "add rsp, 8\n.cfi_adjust_cfa_offset -8\n",
            $crate::next::call_before_and_jump!(@each "pop ", "\n.cfi_adjust_cfa_offset -8\n", r9 r8 rcx rdx rsi rdi),
            "jmp rax",
        )
    };
    (@each $does:literal, $then:literal, $($register:ident)+) => {
        concat!($($does, stringify!($register), $then),+)
    };
}
#[cfg(target_arch = "x86_64")]
pub(crate) use call_before_and_jump;
