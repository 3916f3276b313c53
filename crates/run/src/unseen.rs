//! Whether the command itself can be watched. Of what it starts, the preload library says the same (`bindings/preload/src/exec.rs`).

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use foresee_ring::{IMAGE_BYTES, Image, Record, Region, Stamp, Unseen, ticks};

/// Scripts that are each other's interpreters: the kernel follows as many.
const INTERPRETERS_MAX: usize = 5;

/// Why this command will not tell of itself; None if it will, or if there is no such program.
pub fn why_unseen(command: &OsStr) -> Option<Unseen> {
    let mut path = found(command)?;
    for _ in 0..INTERPRETERS_MAX {
        let file = std::fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let mut head = Vec::new();
        File::open(&path).ok()?.take(IMAGE_BYTES as u64).read_to_end(&mut head).ok()?;
        match Image::of(&head) {
            Image::Script(interpreter) => path = PathBuf::from(OsStr::from_bytes(interpreter)),
            Image::Foreign => return Some(Unseen::Foreign),
            Image::Static => return Some(Unseen::Static),
            Image::Dynamic if is_privileged(&file) => return Some(Unseen::Privileged),
            Image::Dynamic | Image::Unknown => return None,
        }
    }
    None
}

/// Says that this command will not tell of itself, if it will not.
pub fn tell_if_unseen(region: &Region, command: &[OsString]) {
    if let Some(program) = command.first()
        && let Some(why) = why_unseen(program)
    {
        let stamp = Stamp { pid: std::process::id(), tid: std::process::id(), ticks: ticks() };
        region.post(stamp, &Record::ExecutesUnseen { why }, program.as_bytes());
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

/// Whether it runs as somebody else than who starts it.
fn is_privileged(file: &Metadata) -> bool {
    // SAFETY: these take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    file.mode() & libc::S_ISUID != 0 && file.uid() != user || file.mode() & libc::S_ISGID != 0 && file.gid() != group
}

/// Why, in words.
pub fn words(why: Unseen) -> &'static str {
    match why {
        Unseen::Foreign => "for another machine or word size",
        Unseen::Static => "static",
        Unseen::Privileged => "with rights of its own",
        Unseen::Unreachable => "out of reach of foresee's library",
        Unseen::Confined => "confined",
    }
}
