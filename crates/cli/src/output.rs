//! Files that options name to be written: looked at before the work, whole or not there at all.
//!
//! What is written lies beside its place under another name until it is whole, and is gone if it
//! does not become so: after an error, on a full disk, after Ctrl-C. Standard output (`-`), devices
//! and pipes have no such place: they take what comes.

use std::ffi::{CString, c_char};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32};

use foresee_sim::trace::Target;

use crate::say;

/// Where an option has something written.
pub struct Output {
    option: &'static str,
    path: PathBuf,
}

impl Output {
    /// Of this option, which names this path.
    pub fn new(option: &'static str, path: &Path) -> Output {
        Output { option, path: path.to_owned() }
    }

    /// The same, and makes sure that a file can be made there, in the place of none of these, which
    /// the command reads: of a trace that took weeks to record nothing would be left.
    pub fn check(option: &'static str, path: &Path, read: &[PathBuf]) -> Result<Output, String> {
        let output = Output::new(option, path);
        if read.iter().any(|it| output.is_put_at(if it.as_os_str() == "-" { Path::new("/dev/stdin") } else { it })) {
            return Err(format!("{option} {}: is the trace to be read; name another file to write", path.display()));
        }
        // To open a pipe is to be its writer, and to close it ends it for its reader.
        if output.is_standard() || !output.takes_what_comes() {
            output.begin()?;
        }
        Ok(output)
    }

    /// The same of an option that may not be given.
    pub fn check_any(option: &'static str, path: Option<&Path>, read: &[PathBuf]) -> Result<Option<Output>, String> {
        path.map(|path| Output::check(option, path, read)).transpose()
    }

    /// Makes sure that two outputs go to two places: in a file the second one would be all there
    /// is, and on standard output nobody can tell where it begins.
    pub fn check_both(one: Option<&Output>, other: Option<&Output>) -> Result<(), String> {
        let (Some(one), Some(other)) = (one, other) else { return Ok(()) };
        let both_standard = one.is_standard() && other.is_standard();
        if both_standard || (!one.is_standard() && one.is_put_at(&other.path)) {
            let (option, path) = (other.option, other.path.display());
            let what = if both_standard { "standard output" } else { "this file" };
            return Err(format!("{option} {path}: {} goes to {what} already; name another file", one.option));
        }
        Ok(())
    }

    /// Whether it takes the place of this file, by whatever names.
    fn is_put_at(&self, path: &Path) -> bool {
        // What is not there yet is known by the folder that it will be in.
        let place = |path: &Path| {
            let folder = path.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
            path.canonicalize().ok().or_else(|| Some(folder?.canonicalize().ok()?.join(path.file_name()?)))
        };
        let same = || place(&self.path).is_some_and(|one| place(path) == Some(one));
        !self.is_standard() && !self.takes_what_comes() && (self.path == path || same())
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `-` stands for it.
    pub fn is_standard(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    /// Whether there is something that is no regular file, and no folder either.
    pub fn takes_what_comes(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| !found.is_file() && !found.is_dir())
    }

    /// Writes it all at once.
    pub fn write(&self, contents: &[u8]) -> Result<(), String> {
        if self.is_standard() {
            return say::print(|out| out.write_all(contents));
        }
        let unfinished = self.begin()?;
        (&unfinished.file).write_all(contents).map_err(|error| self.failed(&error))?;
        unfinished.finish()
    }

    /// Begins to write it bit by bit.
    pub fn begin(&self) -> Result<Unfinished, String> {
        let begun = if self.is_standard() {
            let output = say::output().and_then(|output| output.as_fd().try_clone_to_owned());
            output.map(|output| (output.into(), None))
        } else if self.takes_what_comes() {
            File::options().write(true).open(&self.path).map(|file| (file, None))
        } else {
            self.beside().map(|(file, place)| (file, Some(place)))
        };
        let (file, beside) = begun.map_err(|error| self.failed(&error))?;
        Ok(Unfinished { output: Output::new(self.option, &self.path), file, beside })
    }

    /// Makes a file beside the place. One that is there must be one that could be written; its mode
    /// stays.
    fn beside(&self) -> io::Result<(File, Beside)> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let whole = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let before = match File::options().write(true).open(&whole) {
            Ok(file) => Some(file.metadata()?.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = whole.with_file_name(format!(".foresee.{}.{number}.unfinished", std::process::id()));
        // Named before it is there: a signal may come in between.
        let place = Beside { slot: enlist(&name), name, whole };
        let file = File::options().write(true).create_new(true).open(&place.name)?;
        if let Some(permissions) = before {
            file.set_permissions(permissions)?;
        }
        Ok((file, place))
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("{} {}: {error}", self.option, self.path.display())
    }
}

/// Something on its way to be whole; gone if it is not finished.
pub struct Unfinished {
    output: Output,
    file: File,
    beside: Option<Beside>,
}

impl Unfinished {
    /// What to write to.
    pub fn writer(&self) -> Result<File, String> {
        self.file.try_clone().map_err(|error| self.failed(&error))
    }

    /// The same, as what a trace is written to.
    pub fn target(&self) -> Result<Target, String> {
        let path = if self.output.is_standard() { "standard output".into() } else { self.output.path.clone() };
        Ok(Target { path, file: self.writer()? })
    }

    /// Says that it could not be written, and why.
    pub fn failed(&self, error: &io::Error) -> String {
        self.output.failed(error)
    }

    /// Puts it in its place.
    pub fn finish(self) -> Result<(), String> {
        match &self.beside {
            Some(beside) => fs::rename(&beside.name, &beside.whole).map_err(|error| self.failed(&error)),
            None => Ok(()),
        }
    }
}

/// The name of a file while it is not whole.
struct Beside {
    name: PathBuf,
    whole: PathBuf,
    slot: Option<&'static AtomicPtr<c_char>>,
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After it was put in its place there is nothing to remove.
        let _ = fs::remove_file(&self.name);
        if let Some(slot) = self.slot {
            slot.store(null_mut(), Relaxed);
        }
    }
}

/// The names of what is not whole, for a signal's handler. A command writes three files at most.
static NAMES: [AtomicPtr<c_char>; 4] = [const { AtomicPtr::new(null_mut()) }; 4];
/// Who writes them. A child has the same names and handlers until it is another program.
static WRITER: AtomicI32 = AtomicI32::new(0);

fn enlist(name: &Path) -> Option<&'static AtomicPtr<c_char>> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        WRITER.store(std::process::id() as i32, Relaxed);
        [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ].into_iter().for_each(remove_at);
    });
    // Never given back: a handler may be looking at it on another thread.
    let name = CString::new(name.as_os_str().to_owned().into_vec()).ok()?.into_raw();
    NAMES.iter().find(|slot| slot.compare_exchange(null_mut(), name, Relaxed, Relaxed).is_ok())
}

/// Removes what is not whole before this signal ends us, if it would.
fn remove_at(signal: i32) {
    let handler = end as extern "C" fn(i32) as libc::sighandler_t;
    // SAFETY: the handler does nothing but what signal-safety(7) allows.
    unsafe {
        if libc::signal(signal, handler) == libc::SIG_IGN {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

extern "C" fn end(signal: i32) {
    abandon();
    // SAFETY: no pointers. It takes effect when the handler returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Removes what is not whole, where no destructor will.
pub fn abandon() {
    // SAFETY: the names are never freed.
    unsafe {
        if libc::getpid() != WRITER.load(Relaxed) {
            return;
        }
        for name in NAMES.iter().map(|slot| slot.load(Relaxed)).filter(|name| !name.is_null()) {
            libc::unlink(name);
        }
    }
}
