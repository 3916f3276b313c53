//! What is kept for each thread: its number, asked of the kernel once; whether it waited; and whose
//! turn it is to be timed.
//!
//! It is kept in thread-local variables of the kind that needs no call to find (initial-exec): a
//! preloaded library may have those, and std's are of the other kind.

/// One of the variables, all of them 0 at first: where it lies among them, in bytes.
#[derive(Clone, Copy)]
struct Kept(usize);

const NUMBER: Kept = Kept(0);
/// How often it had waited by the time it was last asked, and one more.
const WAITS: Kept = Kept(4);
const TURN: Kept = Kept(8);

#[cfg(target_arch = "x86_64")]
mod kept {
    core::arch::global_asm!(
        ".pushsection .tbss.foresee_thread,\"awT\",@nobits",
        ".p2align 2",
        ".globl foresee_thread",
        ".hidden foresee_thread",
        ".type foresee_thread, @object",
        ".size foresee_thread, 12",
        "foresee_thread:",
        ".zero 12",
        ".popsection",
    );

    impl super::Kept {
        #[inline(always)]
        pub(super) fn get(self) -> u32 {
            let value;
            // SAFETY: reads this thread's own variables, which the linker has given a place relative to `fs`.
            unsafe {
                core::arch::asm!("add {at}, qword ptr [rip + foresee_thread@GOTTPOFF]", "mov {value:e}, dword ptr fs:[{at}]",
                    at = inout(reg) self.0 => _, value = lateout(reg) value, options(nostack, readonly));
            }
            value
        }

        #[inline(always)]
        pub(super) fn set(self, value: u32) {
            // SAFETY: writes this thread's own variables.
            unsafe {
                core::arch::asm!("add {at}, qword ptr [rip + foresee_thread@GOTTPOFF]", "mov dword ptr fs:[{at}], {value:e}",
                    at = inout(reg) self.0 => _, value = in(reg) value, options(nostack));
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Kept {
    fn get(self) -> u32 {
        0
    }

    fn set(self, _: u32) {}
}

#[inline(always)]
pub(crate) fn id() -> u32 {
    match NUMBER.get() {
        0 => ask(),
        tid => tid,
    }
}

#[cold]
fn ask() -> u32 {
    let tid = crate::sys::gettid();
    NUMBER.set(tid);
    tid
}

/// This thread is another one now: the only one of a new process.
pub(crate) fn forget() {
    NUMBER.set(0);
}

/// Whether the thread gave its processor up by itself since it was last asked. If not, what took
/// long waited for no device: another program had the processor meanwhile. Who was not asked before
/// may have.
#[cold]
pub(crate) fn has_waited() -> bool {
    let Some(waits) = crate::sys::voluntary_switches() else { return true };
    let (before, now) = (WAITS.get(), waits.wrapping_add(1));
    WAITS.set(now);
    before != now
}

/// While the run is quiet, one look-up, open or read in so many is timed: the clock is most of what we cost
/// then. A prime, so that no order in which a program opens and reads leaves one of the two out.
const TIMED_EVERY: u32 = 7;

/// Whether this one's turn has come.
#[inline(always)]
pub(crate) fn is_timed() -> bool {
    let turn = TURN.get();
    TURN.set(if turn + 1 == TIMED_EVERY { 0 } else { turn + 1 });
    turn == 0
}
