//! Dealing a file out: all members come to be, whole, or none.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use foresee_manager::Stripe;

use super::header::{Header, MEMBERS_MAX};

/// Read at once; between two of these it is asked whether to stop.
const CHUNK_BYTES: u64 = 1 << 20;

const CHANGED: &str = "was changed while it was read; try again";

/// Deals `file` out to `members`, none of which may exist, in units of `unit_bytes`. It gives up
/// when `stopped` says so. On an error nothing is left behind.
pub fn split(file: &Path, members: &[PathBuf], unit_bytes: u64, stopped: &dyn Fn() -> bool) -> Result<(), String> {
    let source = Source::open(file).map_err(|what| format!("{}: {what}", file.display()))?;
    if members.is_empty() || members.len() > MEMBERS_MAX {
        return Err(format!("{} members are given: must be 1 to {MEMBERS_MAX}", members.len()));
    }
    let mut header =
        Header { set: new_name()?, member: 0, members: members.len() as u16, unit_bytes, size: source.size() };
    header.check()?;
    let mut unfinished = Vec::with_capacity(members.len());
    let mut named = HashSet::new();
    for path in members {
        if !named.insert(path) {
            return Err(format!("{}: is named twice", path.display()));
        }
        let mut member = Unfinished::new(path, &source.before)?;
        member.write(&header.bytes())?;
        unfinished.push(member);
        header.member += 1;
    }
    let stripe = Stripe { disks: header.members, unit_blocks: unit_bytes };
    let mut chunk = vec![0; CHUNK_BYTES as usize];
    let mut at = 0;
    while at < source.size() {
        let bytes = CHUNK_BYTES.min(source.size() - at);
        let mut rest = &mut chunk[..bytes as usize];
        source.read(rest, at).map_err(|what| format!("{}: {what}", file.display()))?;
        for piece in stripe.pieces(at, bytes) {
            let (data, after) = rest.split_at_mut(piece.count as usize);
            unfinished[usize::from(piece.disk)].write(data)?;
            rest = after;
        }
        at += bytes;
        if stopped() {
            return Err("stopped; nothing is left of it".into());
        }
    }
    for member in &unfinished {
        member.file.sync_all().map_err(|error| member.complain(&error))?;
    }
    source.check_unchanged().map_err(|what| format!("{}: {what}", file.display()))?;
    for member in &mut unfinished {
        member.appear()?;
    }
    for member in &unfinished {
        member.sync_name().map_err(|error| member.complain(&error))?;
    }
    unfinished.iter_mut().for_each(|member| member.kept = true);
    Ok(())
}

/// The file to be dealt out, and how it was at first.
struct Source {
    file: File,
    before: fs::Metadata,
}

impl Source {
    fn open(path: &Path) -> Result<Self, String> {
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|error| error.to_string())?;
        let before = file.metadata().map_err(|error| error.to_string())?;
        if !before.is_file() {
            return Err("is no regular file".into());
        }
        Ok(Source { file, before })
    }

    fn size(&self) -> u64 {
        self.before.len()
    }

    fn read(&self, into: &mut [u8], at: u64) -> Result<(), String> {
        self.file.read_exact_at(into, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => CHANGED.into(),
            _ => error.to_string(),
        })
    }

    fn check_unchanged(&self) -> Result<(), String> {
        let now = self.file.metadata().map_err(|error| error.to_string())?;
        let tell = |it: &fs::Metadata| (it.len(), it.mtime(), it.mtime_nsec());
        if tell(&now) == tell(&self.before) { Ok(()) } else { Err(CHANGED.into()) }
    }
}

/// What no other set is called.
fn new_name() -> Result<u128, String> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| format!("/dev/urandom: {error}"))?;
    Ok(u128::from_ne_bytes(bytes))
}

/// A member on its way to be whole, beside where it will be; gone if it is not kept.
struct Unfinished {
    file: File,
    /// Where it is now.
    path: PathBuf,
    target: PathBuf,
    kept: bool,
}

impl Unfinished {
    fn new(target: &Path, source: &fs::Metadata) -> Result<Self, String> {
        let complain = |error: io::Error| format!("{}: {error}", target.display());
        match fs::symlink_metadata(target) {
            Ok(_) => return Err(format!("{}: exists already; remove it or name another", target.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(complain(error)),
        }
        let mut name = target.file_name().ok_or_else(|| format!("{}: names no file", target.display()))?.to_owned();
        name.push(format!(".{}.unfinished", std::process::id()));
        let path = target.with_file_name(name);
        // Whoever may not read the file may not read its members.
        let file = File::options().write(true).create_new(true).mode(source.mode() & 0o777).open(&path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!(
                    "{}: exists already; a member is named twice, or an unfinished split lies there",
                    path.display()
                )
            }
            _ => complain(error),
        })?;
        let member = Unfinished { file, path, target: target.to_owned(), kept: false };
        member.belong_to(source.gid()).map_err(complain)?;
        Ok(member)
    }

    fn complain(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.target.display())
    }

    /// Gives it to this group; where that cannot be, to its owner alone: its group and others are
    /// other people than the file's.
    fn belong_to(&self, gid: u32) -> io::Result<()> {
        if fchown(&self.file, None, Some(gid)).is_ok() {
            return Ok(());
        }
        let mode = self.file.metadata()?.mode();
        self.file.set_permissions(Permissions::from_mode(mode & 0o700))
    }

    fn write(&mut self, data: &[u8]) -> Result<(), String> {
        self.file.write_all(data).map_err(|error| self.complain(&error))
    }

    /// Takes its place, which nobody must have taken meanwhile.
    fn appear(&mut self) -> Result<(), String> {
        let as_c = |path: &Path| CString::new(path.as_os_str().as_bytes()).expect("the name of an open file");
        let (from, to) = (as_c(&self.path), as_c(&self.target));
        let here = libc::AT_FDCWD;
        // SAFETY: both names end with a zero and outlive the call.
        let done = unsafe { libc::renameat2(here, from.as_ptr(), here, to.as_ptr(), libc::RENAME_NOREPLACE) };
        let result = match done {
            0 => Ok(()),
            _ => match io::Error::last_os_error() {
                // A file system that cannot. Neither does a link take a name that is taken.
                error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                    fs::hard_link(&self.path, &self.target).and_then(|()| fs::remove_file(&self.path))
                }
                error => Err(error),
            },
        };
        result.map_err(|error| self.complain(&error))?;
        self.path.clone_from(&self.target);
        Ok(())
    }

    /// Has its name on disk as well.
    fn sync_name(&self) -> io::Result<()> {
        let directory = self.path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match File::open(directory)?.sync_all() {
            // A file system that writes names in its own way.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            done => done,
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.kept {
            // There is nobody left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}
