//! Whether the command itself can be watched. Of what it starts, the preload library says the same
//! (`bindings/preload/src/exec.rs`).

use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use foresee_ring::{IMAGE_BYTES, Image, RIGHTS, RIGHTS_BYTES, Record, Region, Stamp, Unseen, gives_rights, ticks};

/// Scripts that are each other's interpreters: the kernel follows as many.
const INTERPRETERS_MAX: usize = 5;

/// What a command executes.
pub struct Executed {
    /// The file; of a script its interpreter.
    pub program: PathBuf,
    /// Why it will not tell of itself; None if it will.
    pub why_unseen: Option<Unseen>,
}

/// What this command executes; None if there is no such program.
pub fn executed(command: &OsStr) -> Option<Executed> {
    let mut program = found(command)?;
    for _ in 0..INTERPRETERS_MAX {
        let file = std::fs::metadata(&program).ok().filter(Metadata::is_file)?;
        let Ok(head) = head(&program) else {
            // Who may execute it need not be allowed to read it.
            let why_unseen = is_privileged(&program, &file).then_some(Unseen::Privileged)?;
            return Some(Executed { program, why_unseen: Some(why_unseen) });
        };
        let why_unseen = match Image::of(&head) {
            Image::Script(interpreter) => {
                program = looked_up_by_env(interpreter, &head).unwrap_or(PathBuf::from(OsStr::from_bytes(interpreter)));
                continue;
            }
            Image::Foreign => Some(Unseen::Foreign),
            Image::Static => Some(Unseen::Static),
            Image::Dynamic if is_privileged(&program, &file) => Some(Unseen::Privileged),
            Image::Dynamic | Image::Unknown => None,
        };
        return Some(Executed { program, why_unseen });
    }
    None
}

/// Its first bytes.
fn head(program: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(program)?.take(IMAGE_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// `#!/usr/bin/env PROGRAM`: what env will find.
fn looked_up_by_env(interpreter: &[u8], head: &[u8]) -> Option<PathBuf> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_program = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
    interpreter.ends_with(b"/env").then_some(())?;
    words.by_ref().find(|word| word.ends_with(interpreter))?;
    found(OsStr::from_bytes(words.find(|word| is_program(word))?))
}

/// Says that this command will not tell of itself, if it will not.
pub fn tell_if_unseen(region: &Region, command: &OsStr, executed: &Executed) {
    if let Some(why) = executed.why_unseen {
        let stamp = Stamp { pid: std::process::id(), tid: std::process::id(), ticks: ticks() };
        region.post(stamp, &Record::ExecutesUnseen { why }, command.as_bytes());
    }
}

/// The file that is executed by this name.
fn found(command: &OsStr) -> Option<PathBuf> {
    if command.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(command));
    }
    let directories = std::env::var_os("PATH")?;
    let is_program = |path: &Path| std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.mode() & 0o111 != 0);
    std::env::split_paths(&directories).map(|directory| directory.join(command)).find(|path| is_program(path))
}

/// Whether it runs as somebody else than who starts it, or with rights that he has not.
fn is_privileged(program: &Path, file: &Metadata) -> bool {
    let Ok(name) = CString::new(program.as_os_str().as_bytes()) else { return false };
    // SAFETY: these take nothing and cannot fail.
    let (user, group, is_root) = unsafe { (libc::geteuid(), libc::getegid(), libc::getuid() == 0) };
    let says_so = file.mode() & libc::S_ISUID != 0 && file.uid() != user
        || file.mode() & libc::S_ISGID != 0 && file.gid() != group
        || !is_root && has_rights(&name);
    says_so && !is_without_rights(&name)
}

/// Whether a file gives rights (`setcap`).
fn has_rights(name: &CStr) -> bool {
    let mut rights = [0; RIGHTS_BYTES];
    // SAFETY: both names end with a zero, and as much is written as there is room for.
    let got = unsafe { libc::getxattr(name.as_ptr(), RIGHTS.as_ptr(), rights.as_mut_ptr().cast(), RIGHTS_BYTES) };
    usize::try_from(got).is_ok_and(|bytes| gives_rights(&rights[..bytes]))
}

/// Whether it lies on a mount that gives no file's program rights of its own (`nosuid`).
fn is_without_rights(name: &CStr) -> bool {
    // SAFETY: numbers all of them; the name ends with a zero, and the numbers are written.
    unsafe {
        let mut system: libc::statvfs = mem::zeroed();
        libc::statvfs(name.as_ptr(), &mut system) == 0 && system.f_flag & libc::ST_NOSUID != 0
    }
}

/// Why, in words.
pub fn words(why: Unseen) -> &'static str {
    match why {
        Unseen::Foreign => "for another machine or word size",
        Unseen::Static => "static",
        Unseen::Privileged => "with rights of its own",
        Unseen::Unreachable => "out of reach of foresee's library",
        Unseen::Confined => "confined",
        Unseen::Uring => "io_uring",
        Unseen::Aio => "Linux AIO",
        Unseen::OwnCalls => "system calls of its own, as Go's programs make",
        Unseen::Bare => "its environment is without foresee's library",
    }
}
