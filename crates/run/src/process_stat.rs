//! What `/proc` tells of a process or a thread.

use std::fmt::Display;

/// The letter of its state: R if it runs, or would if it had a processor; None if there is none such. `of` is its place below `/proc`:
/// a number, or `self/task/` and one.
pub(crate) fn state(of: impl Display) -> Option<u8> {
    let stat = std::fs::read(format!("/proc/{of}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    stat.get(name_ends + 2).copied()
}
