//! Where the stack stood when a hook was entered: there lies the address of whoever called it.
//! Below are our own frames, whose unused parts hold what earlier calls left there, and would be
//! taken for callers.
//!
//! A hook that reads is entered by a few instructions that note the stack pointer in a variable of
//! the thread's, of the kind that needs no call to find, and jump on. What a signal handler's hooks
//! note lies below what they interrupt, and is not taken for it.

use core::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss.foresee_entry,\"awT\",@nobits",
    ".p2align 3",
    ".globl foresee_entry",
    ".hidden foresee_entry",
    ".type foresee_entry, @object",
    ".size foresee_entry, 8",
    "foresee_entry:",
    ".zero 8",
    ".popsection",
);

/// Our own frames take less.
const OWN_BYTES: usize = 4096;

/// A function of this name, which notes where its frame begins and goes on to `body`.
macro_rules! enter {
    ($(#[$exported:meta])? $name:ident($($argument:ident: $type:ty),*), $result:ty, $body:ident) => {
        #[unsafe(naked)]
        $(#[$exported])?
        unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, qword ptr [rip + foresee_entry@GOTTPOFF]",
                "mov qword ptr fs:[rax], rsp",
                "jmp {body}",
                ".cfi_endproc",
                body = sym $body,
            );
        }
    };
}
pub(crate) use enter;

/// Where the hook that is being served was entered.
#[inline(always)]
pub(super) fn stack_pointer() -> usize {
    let (entered, now): (usize, usize);
    // SAFETY: reads this thread's own variable, which the linker has given a place relative to `fs`,
    // and a register.
    unsafe {
        asm!("mov {at}, qword ptr [rip + foresee_entry@GOTTPOFF]", "mov {entered}, qword ptr fs:[{at}]", "mov {now}, rsp",
            at = out(reg) _, entered = lateout(reg) entered, now = lateout(reg) now, options(nostack, preserves_flags, readonly));
    }
    if entered.wrapping_sub(now) < OWN_BYTES { entered } else { now }
}
