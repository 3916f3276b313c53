//! What `/proc` tells of a process or a thread.

use std::fmt::Display;
use std::str::FromStr;

use crate::launch::PRELOAD_LIBRARY;

/// Where this field stands in proc_pid_stat(5) behind the program's name.
const MAJOR_FAULTS: usize = 9;

/// What a line of proc_pid_status(5) says; None if there is no such process. `of` is its place below
/// `/proc`: a number, or `self/task/` and one.
///
/// Who reads `stat`, `syscall`, `io` or `maps` waits for a process that is about to be another program
/// (Linux 6.18), so for the store of each file that it closes by that; who reads this does not.
pub fn status(of: impl Display, name: &str) -> Option<String> {
    let status = std::fs::read(format!("/proc/{of}/status")).ok()?;
    // The program's name, in the first line, may hold anything but a line's end.
    let mut lines = status.split(|&byte| byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(|it| it.trim().to_owned())
}

/// The letter of its state: R if it runs, or would if it had a processor.
pub(crate) fn state(of: impl Display) -> Option<u8> {
    status(of, "State")?.bytes().next()
}

/// The process that began it, or has taken it over.
pub(crate) fn parent(of: impl Display) -> Option<u32> {
    status(of, "PPid")?.parse().ok().filter(|&parent| parent > 0)
}

/// Whether our library is in this process. Nothing is known of one whose memory we may not look at:
/// it is not.
pub(crate) fn has_library(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/maps")).is_ok_and(|maps| maps.contains(PRELOAD_LIBRARY))
}

/// The process of a thread.
pub fn process_of(thread: u32) -> Option<u32> {
    status(thread, "Tgid")?.parse().ok()
}

/// Whether it stands still outside of a system call: it waits for a page of a file that it has
/// mapped, unless somebody stopped it.
pub(crate) fn is_in_fault(process: u32) -> bool {
    state(process) == Some(b'D')
        && std::fs::read(format!("/proc/{process}/syscall")).is_ok_and(|said| said.starts_with(b"-1 "))
}

/// How often it waited for a page of a file that it has mapped.
pub(crate) fn major_faults(of: impl Display) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{of}/stat")).ok()?;
    // The name is in parentheses and may hold anything.
    let name_ends = stat.iter().rposition(|&byte| byte == b')')?;
    let fields = std::str::from_utf8(stat.get(name_ends + 1..)?).ok()?;
    fields.split_ascii_whitespace().nth(MAJOR_FAULTS)?.parse().ok()
}

/// What a process, and those of its children that it has waited for, were given by reads of any
/// kind, and what of that, or ahead of it, the kernel read from devices for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfers {
    /// By reads of files, pipes, terminals and whatever else is read.
    pub given: u64,
    /// For those reads, for the kernel's readahead, and for pages of mapped files; what foresee
    /// read ahead is not among it.
    pub from_devices: u64,
}

impl Transfers {
    /// Those of this process, if we may know.
    pub fn of(process: impl Display) -> Option<Self> {
        Transfers::parse(&std::fs::read_to_string(format!("/proc/{process}/io")).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok();
        Some(Transfers { given: of("rchar:")?, from_devices: of("read_bytes:")? })
    }
}

/// The numbers among a directory's names.
pub(crate) fn numbered<N: FromStr>(directory: &str) -> impl Iterator<Item = N> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_understood() {
        let text =
            "rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 0\n";
        assert_eq!(Transfers::parse(text), Some(Transfers { given: 6976, from_devices: 4096 }));
        assert_eq!(Transfers::parse("rchar: 1\nread_bytes: x\n"), None);
        assert_eq!((parent(u32::MAX), state(u32::MAX), process_of(u32::MAX)), (None, None, None));
    }

    #[test]
    fn who_reads_this_is_known() {
        // SAFETY: takes no arguments and cannot fail.
        let thread = unsafe { libc::gettid() } as u32;
        assert_eq!(process_of(thread), Some(std::process::id()));
        assert_eq!(parent(std::process::id()).unwrap_or(0), std::os::unix::process::parent_id());
        assert_eq!(state(format_args!("self/task/{thread}")), Some(b'R'));
        assert!(major_faults("self").is_some() && major_faults("none").is_none());
    }
}
