//! What `/proc` tells of a process or a thread.

use std::fmt::Display;

/// Where a field stands behind the program's name.
const STATE: usize = 0;
const MAJOR_FAULTS: usize = 9;

/// Its fields behind the name, which is in parentheses and may hold anything; None if there is none such. `of` is its place below
/// `/proc`: a number, or `self/task/` and one.
fn field(of: impl Display, number: usize) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{of}/stat")).ok()?;
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(stat.get(name_ends + 1..)?).ok()?;
    fields.split_ascii_whitespace().nth(number).map(str::to_owned)
}

/// The letter of its state: R if it runs, or would if it had a processor.
pub(crate) fn state(of: impl Display) -> Option<u8> {
    field(of, STATE)?.bytes().next()
}

/// Whether it stands still outside of a system call: it waits for a page of a file that it has mapped, unless somebody stopped it.
pub(crate) fn is_in_fault(process: u32) -> bool {
    std::fs::read(format!("/proc/{process}/syscall")).is_ok_and(|said| said.starts_with(b"-1 "))
        && state(process) == Some(b'D')
}

/// How often it waited for a page of a file that it has mapped.
pub(crate) fn major_faults(of: impl Display) -> Option<u64> {
    field(of, MAJOR_FAULTS)?.parse().ok()
}
