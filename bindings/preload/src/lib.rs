//! The library that `foresee run` loads into programs (`LD_PRELOAD`) to learn what they open, list
//! and read.
//!
//! It stands in front of libc's functions, calls them, and posts what they did to the ring shared
//! with the supervisor (`foresee-ring`; `FORESEE_RING` names the memory). What must hold, whatever
//! the program does:
//!
//! 1. **Results and errno are libc's.** Our own system calls go past libc (`sys.rs`), so errno is
//!    never touched.
//! 2. **No hook waits.** No lock, no allocation, no symbol bound at first use: everything is found
//!    when the library is loaded (`next.rs`), so hooks may run in signal handlers, after fork, and
//!    in cancelled threads.
//! 3. **Without a supervisor it is not there.** No variable, no memory, another version: each hook
//!    is one test and a call.
//! 4. **No descriptor is kept**, so programs that close or count all of theirs see nothing of us.
//! 5. **Only the process that loaded it speaks.** A child of `vfork` runs in our memory with
//!    descriptors of its own; what it closes must not be taken for closed here.
//!
//! ```text
//! start.rs    the constructor: tells of the program, patches
//! ring.rs     where the ring is; handover.rs: who gives it to us where we may not look there
//! exec.rs     before the process becomes another program: whether we can be loaded into that
//! own_calls.rs  whether the program makes its system calls itself
//! patch.rs    stdio reads through an entry of libc's that no preloaded library can stand in front of: jump from there
//! fds.rs      what each descriptor is: the reads of anything but regular files are left alone
//! observe.rs  from what a call did to a record of it
//! hooks/      the functions, by what they do
//! hints.rs    what the hint library discloses; advice.rs: what it advises
//! calls.rs    how they are posted: they are the program's own wish, so they may wait
//! sites/      from where in the program a read or a write is made
//! ```
//!
//! Functions that a cancelled thread unwinds through are `extern "C-unwind"`, and no value with a
//! destructor lives in them: the unwinder finds frames to pop and nothing to run.
//!
//! It is built without std where panics abort (the release profile), which is 300 KiB less to load
//! into every program.
#![cfg_attr(panic = "abort", no_std)]

mod advice;
mod calls;
mod exec;
mod fds;
mod handover;
#[cfg(panic = "abort")]
mod heap;
mod hints;
mod hooks;
mod next;
mod observe;
mod own_calls;
#[cfg(target_arch = "x86_64")]
mod patch;
mod ring;
mod sites;
mod start;
mod state;
mod sys;
mod thread;

// It says itself that it needs libc: the `libc` crate leaves that to `std` where another crate of
// the same build has that feature on, and then the dynamic linker may prepare us before libc, whose
// `memcpy` it cannot choose yet.
#[link(name = "c")]
unsafe extern "C" {}

/// Nothing here panics; if it did, the program must not run on with who knows what done.
#[cfg(panic = "abort")]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}

/// Functions in whose place [`patch`] put ours, where there is such a thing.
#[cfg(not(target_arch = "x86_64"))]
mod patch {
    pub(crate) fn apply() {}

    pub(crate) mod entry {
        pub(crate) struct Entry;
        impl Entry {
            pub(crate) fn is_patched(&self) -> bool {
                false
            }
        }
        pub(crate) static READ: Entry = Entry;
        pub(crate) static WRITE: Entry = Entry;
        pub(crate) static LSEEK: Entry = Entry;
        pub(crate) static EXECVE: Entry = Entry;
    }
}
