//! `strace`: what `strace -f -y -ttt [-T]` prints of a program's system calls.
//!
//! ```text
//! thread  time, s            call                                                   result        with -T
//! 1234    1795203178.755131  read(3</etc/passwd>, "root:x:0"..., 4096)            = 1221          <0.000006>
//! 1234    1795203178.755155  pread64(4</data/f>, <unfinished ...>
//! 1234    1795203178.755200  <... pread64 resumed>"\6\0"..., 784, 64)             = 784           <0.000045>
//! ```
//!
//! The thread is missing before the first fork, or written `[pid 1234]` on a terminal. Reads and
//! writes of files count, with as many bytes as they gave or took: read, pread64, readv, preadv,
//! preadv2, the same with write, what sendfile and copy_file_range read, and what splice does of
//! either. Files are known by the paths that `-y` prints; pipes, sockets, terminals, /proc and /sys
//! are none. Times that begin with 0 are those of `-r`, each since the line before.
//!
//! Where a descriptor stands is followed through open, lseek, dup, fork and clone
//! (`descriptors.rs`). One that was there before the trace began counts from 0. What is read
//! through mappings is not seen.

mod call;
mod descriptors;

use std::collections::HashMap;

use super::text::{Known, Parsed, looks_like, rows, seconds};
use super::{Format, Request, Span};
use call::{Call, Descriptor};
use descriptors::{Descriptors, Transfer};

pub(super) static FORMAT: Format = Format {
    name: "strace",
    summary: "what strace -f -y -ttt prints",
    words: &[],
    // A request may be far from the beginning; calls are enough.
    detect: |head| looks_like(head, |_, line| Line::parse(line).map(|it| it.said.contains('(').then(Request::default))),
    read: |input, _| {
        let mut strace = Strace::default();
        Ok(rows(input, move |known, line| strace.parse(known, line)))
    },
    write: None,
};

/// A line: who, when, what.
struct Line<'a> {
    /// 0 where it is not told.
    thread: i32,
    time_ns: u64,
    said: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Result<Line<'a>, String> {
        if line.starts_with("strace: ") {
            return Ok(Line { thread: 0, time_ns: 0, said: "" });
        }
        let (thread, rest) = match line.strip_prefix("[pid").and_then(|rest| rest.split_once(']')) {
            Some(parts) => parts,
            None => match line.trim_start().split_once(' ') {
                Some((first, rest)) if !first.contains('.') => (first, rest),
                _ => ("0", line),
            },
        };
        let what =
            || "does not begin with a thread and a time in seconds, as 'strace -f -y -ttt' prints them".to_owned();
        let (time, said) = rest.trim_start().split_once(' ').filter(|(time, _)| time.contains('.')).ok_or_else(what)?;
        let thread = thread.trim().parse().map_err(|_| what())?;
        Ok(Line { thread, time_ns: seconds(time, "time").map_err(|_| what())?, said: said.trim_start() })
    }
}

/// What the times of lines are.
#[derive(Default, Clone, Copy)]
enum Times {
    /// Nothing was read yet.
    #[default]
    Unknown,
    SinceEpoch,
    /// Since the line before, which was then.
    SinceLast(u64),
}

/// What was read of a trace.
#[derive(Default)]
struct Strace {
    /// Calls that are not through: when they began, and what was printed of them; by thread.
    unfinished: HashMap<i32, (u64, String)>,
    descriptors: Descriptors,
    times: Times,
}

impl Strace {
    /// When a line was that says this time.
    fn time(&mut self, time_ns: u64) -> u64 {
        self.times = match self.times {
            Times::Unknown if time_ns > 0 => Times::SinceEpoch,
            Times::Unknown => Times::SinceLast(0),
            Times::SinceEpoch => Times::SinceEpoch,
            Times::SinceLast(now_ns) => Times::SinceLast(now_ns.saturating_add(time_ns)),
        };
        if let Times::SinceLast(now_ns) = self.times { now_ns } else { time_ns }
    }

    fn parse(&mut self, known: &mut Known, line: &str) -> Parsed {
        let Line { thread, time_ns, said } = Line::parse(line)?;
        if said.is_empty() {
            return Ok(None);
        }
        let time_ns = self.time(time_ns);
        if let Some(begun) = said.strip_suffix("<unfinished ...>") {
            self.unfinished.insert(thread, (time_ns, begun.trim_end().to_owned()));
            return Ok(None);
        }
        let (time_ns, said) = match said.strip_prefix("<... ").and_then(|rest| rest.split_once("resumed>")) {
            // One that began before the trace is left out.
            Some((_, rest)) => match self.unfinished.remove(&thread) {
                Some((begun_ns, begun)) => (begun_ns, begun + rest),
                None => return Ok(None),
            },
            None => (time_ns, said.to_owned()),
        };
        // Signals and exits are not calls.
        if said.starts_with("---") || said.starts_with("+++") {
            if said.starts_with("+++ exited") || said.starts_with("+++ killed") {
                self.descriptors.ended(thread);
                self.unfinished.remove(&thread);
            }
            return Ok(None);
        }
        self.adopt(thread)?;
        let Some(call) = Call::parse(&said)? else { return Ok(None) };
        let Some(Access { file, offset, length, write }) = self.access(thread, &call)? else { return Ok(None) };
        if length == 0 || !is_file(&file) {
            return Ok(None);
        }
        Ok(Some(Request {
            time_ns: known.since_begin(time_ns),
            process: self.descriptors.process(thread),
            thread,
            file: known.file(&file),
            span: Span::Range { offset, length },
            took_ns: call.took_ns,
            write,
            ..Request::default()
        }))
    }

    /// A thread may speak before the call that made it returns.
    fn adopt(&mut self, thread: i32) -> Result<(), String> {
        if self.descriptors.knows(thread) {
            return Ok(());
        }
        let making =
            self.unfinished.iter().filter(|(_, (_, begun))| makes_threads(begun)).max_by_key(|(_, (at, _))| *at);
        match making {
            Some((&parent, (_, begun))) => self.descriptors.inherit(parent, thread, begun),
            None => {
                self.descriptors.first(thread);
                Ok(())
            }
        }
    }

    /// What the call reads or writes; and what it does to descriptors is done.
    fn access(&mut self, thread: i32, call: &Call<'_>) -> Result<Option<Access>, String> {
        let mut write = call.name.contains("write");
        let (descriptor, place) = match call.name {
            "open" | "openat" | "openat2" | "creat" => {
                let (descriptor, flags) = (call.result_descriptor()?, if call.name == "open" { 1 } else { 2 });
                if call.name == "creat" || call.has(flags, "O_TRUNC") {
                    self.descriptors.set_end(&descriptor.path, 0);
                }
                self.descriptors.opened(thread, &descriptor, call.has(flags, "O_APPEND"));
                return Ok(None);
            }
            "dup" | "dup2" | "dup3" => {
                self.descriptors.duplicated(thread, &call.descriptor(0)?, &call.result_descriptor()?);
                return Ok(None);
            }
            "fcntl" if call.arguments.get(1).is_some_and(|it| it.starts_with("F_DUPFD")) => {
                self.descriptors.duplicated(thread, &call.descriptor(0)?, &call.result_descriptor()?);
                return Ok(None);
            }
            "fcntl" if call.has(1, "F_SETFL") => {
                self.descriptors.set_appends(thread, &call.descriptor(0)?, call.has(2, "O_APPEND"));
                return Ok(None);
            }
            "ftruncate" => {
                self.descriptors.set_end(&call.descriptor(0)?.path, call.number(1)?.cast_unsigned());
                return Ok(None);
            }
            // With an empty path newfstatat asks the same; else its first argument is a directory.
            "fstat" | "newfstatat" if call.name == "fstat" || call.arguments.get(1) == Some(&r#""""#) => {
                if let (Ok(descriptor), Some(size)) = (call.descriptor(0), call.size()) {
                    self.descriptors.set_end(&descriptor.path, size);
                }
                return Ok(None);
            }
            "lseek" => {
                let (descriptor, to) = (call.descriptor(0)?, call.result.cast_unsigned());
                if call.arguments.get(1) == Some(&"0") && call.has(2, "SEEK_END") {
                    self.descriptors.set_end(&descriptor.path, to);
                }
                self.descriptors.seek(thread, &descriptor, to);
                return Ok(None);
            }
            "fork" | "vfork" | "clone" | "clone3" => {
                let child = i32::try_from(call.result).map_err(|_| format!("{} is no thread", call.result))?;
                if !self.descriptors.knows(child) {
                    self.descriptors.inherit(thread, child, call.text)?;
                }
                return Ok(None);
            }
            "read" | "write" | "readv" | "writev" => (call.descriptor(0)?, None),
            "pread64" | "pwrite64" | "preadv" | "pwritev" => (call.descriptor(0)?, Some(call.number(3)?)),
            "preadv2" | "pwritev2" => (call.descriptor(0)?, Some(call.number(3)?).filter(|&offset| offset >= 0)),
            "sendfile" | "sendfile64" => {
                self.pass(thread, call, &call.descriptor(0)?, None, true);
                (call.descriptor(1)?, call.pointed(2)?)
            }
            "copy_file_range" => {
                self.pass(thread, call, &call.descriptor(2)?, call.pointed(3)?, true);
                (call.descriptor(0)?, call.pointed(1)?)
            }
            "splice" => {
                let from = call.descriptor(0)?;
                write = !is_file(&from.path);
                if write { (call.descriptor(2)?, call.pointed(3)?) } else { (from, call.pointed(1)?) }
            }
            _ => return Ok(None),
        };
        let offset = self.pass(thread, call, &descriptor, place, write);
        let (file, length) = (descriptor.path, call.result.cast_unsigned());
        Ok(Some(Access { file, offset, length, write }))
    }

    /// Where a call read or wrote that gives its bytes.
    fn pass(&mut self, thread: i32, call: &Call<'_>, by: &Descriptor, place: Option<i64>, write: bool) -> u64 {
        let (place, length) = (place.map(i64::cast_unsigned), call.result.cast_unsigned());
        self.descriptors.pass(thread, by, Transfer { place, length, write })
    }
}

/// What a call reads or writes.
struct Access {
    file: String,
    offset: u64,
    length: u64,
    write: bool,
}

fn makes_threads(call: &str) -> bool {
    ["fork(", "vfork(", "clone(", "clone3("].iter().any(|name| call.starts_with(name))
}

/// Whether a path is a file's or a disk's, and not one the kernel makes up.
fn is_file(path: &str) -> bool {
    let devices = ["null", "zero", "full", "random", "urandom", "tty", "pts/"];
    let made_up = ["/proc/", "/sys/"];
    if let Some(device) = path.strip_prefix("/dev/") {
        return !devices.iter().any(|it| device.starts_with(it));
    }
    path.starts_with('/') && !made_up.iter().any(|it| path.starts_with(it))
}
