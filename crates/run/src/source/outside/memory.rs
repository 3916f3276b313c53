//! The files that a process has mapped: `/proc/PID/maps`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foresee_manager::FileId;

use super::at_hand::{self, Found};
use crate::source::Mapping;

/// Mappings told of one process; of one that has more, some are not.
const MAPPINGS_MAX: usize = 1024;

/// A file that is mapped.
pub(super) struct Mapped {
    pub path: PathBuf,
    pub found: Found,
    memory: Range<u64>,
    offset: u64,
    is_code: bool,
}

impl Mapped {
    /// Where its pages are to be looked for; None of code, which is not read in any order.
    pub fn at(&self, file: FileId) -> Option<Mapping> {
        let Range { start, end } = self.memory;
        (!self.is_code).then_some(Mapping { addr: start, len: end - start, offset: self.offset, file })
    }
}

/// A line of `/proc/PID/maps` that is a file.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    memory: Range<u64>,
    offset: u64,
    inode: u64,
    path: &'a Path,
    is_code: bool,
}

/// What a process has mapped and had not when this was asked last; `told` is what was told by then.
pub(super) fn new_mappings(process: u32, told: &mut HashSet<(u64, u64)>) -> Vec<Mapped> {
    let maps = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    let lines: Vec<Line> = maps.split(|&byte| byte == b'\n').filter_map(parse).take(MAPPINGS_MAX).collect();
    told.retain(|&(start, inode)| lines.iter().any(|line| (line.memory.start, line.inode) == (start, inode)));
    let found = |line: Line| {
        let Line { memory, offset, path, is_code, .. } = line;
        let found = at_hand::behind(&format!("/proc/{process}/map_files/{:x}-{:x}", memory.start, memory.end));
        let found = found.or_else(|_| at_hand::find(path)).ok().filter(|found| found.identity.1 == line.inode)?;
        Some(Mapped { path: path.to_owned(), found, memory, offset, is_code })
    };
    let mut is_new = |line: &Line| told.insert((line.memory.start, line.inode));
    lines.into_iter().filter(|line| is_new(line)).filter_map(found).collect()
}

/// `start-end rights offset device inode   path`; the path may hold spaces.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let slash = line.iter().position(|&byte| byte == b'/')?;
    let path = Path::new(OsStr::from_bytes(&line[slash..]));
    let mut words = std::str::from_utf8(&line[..slash]).ok()?.split_ascii_whitespace();
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let (start, end) = words.next()?.split_once('-')?;
    let (memory, rights, offset) = (hex(start)?..hex(end)?, words.next()?, hex(words.next()?)?);
    let inode = words.nth(1)?.parse().ok().filter(|&inode| inode != 0)?;
    let is_there = !memory.is_empty() && !line.ends_with(b" (deleted)");
    is_there.then_some(Line { memory, offset, inode, path, is_code: rights.as_bytes().get(2) == Some(&b'x') })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_understood() {
        let line = b"7f00-7f80 r--p 00001000 fe:00 12345                      /some where/file";
        let path = Path::new("/some where/file");
        let expected = Line { memory: 0x7f00..0x7f80, offset: 0x1000, inode: 12345, path, is_code: false };
        assert_eq!(parse(line), Some(expected));
        for line in [
            &b"7f00-7f80 rw-p 00000000 00:00 0    [heap]"[..],
            b"7f00-7f80 rw-p 00000000 00:00 0",
            b"7f00-7f80 r--p 00001000 fe:00 12345   /gone (deleted)",
            b"7f80-7f00 r--p 0 fe:00 12345   /backwards",
            b"x /y",
            b"/",
            b"",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn our_own_program_is_mapped_here_and_told_once() {
        let (mut told, own) = (HashSet::new(), std::env::current_exe().unwrap().canonicalize().unwrap());
        let is_own = |mapped: &Mapped| mapped.path == own && mapped.is_code;
        assert!(new_mappings(std::process::id(), &mut told).iter().any(is_own));
        assert!(!new_mappings(std::process::id(), &mut told).iter().any(is_own));
        assert!(new_mappings(u32::MAX, &mut told).is_empty() && told.is_empty());
    }
}
