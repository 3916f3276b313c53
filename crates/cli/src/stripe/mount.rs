//! `foresee stripe mount`: the file is there while a command runs, or until somebody ends it, and
//! gone afterwards.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use foresee_fuse::{Log, Mounted, NOT_ANSWERED, Process, Shown, serve};
use foresee_run::stripe::Set;
use fuser::MountOption;

use super::view::View;
use crate::say::say;
use crate::text;

/// How far the kernel reads ahead of a sequential reader. It makes no request longer than that, and
/// foresee's own reads ahead are of 1 MiB: cut into 128 KiB, several of them at once make a disk's
/// arm skip back and forth.
const READ_AHEAD_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=8 << 20;

/// Shows the file; returns the exit status.
pub fn mount(file: &Path, members: &[PathBuf], command: &[OsString]) -> Result<u8, String> {
    let process = Process::prepare(Log::default()).map_err(|error| error.to_string())?;
    serve(Whole::new(file, members), &process, command, |whole| {
        let (size, count) = (text::bytes(whole.size), members.len());
        say(format_args!("{}: {size} from {count} disks, until Ctrl-C", file.display()));
    })
}

/// The file, in its place until this is dropped.
struct Whole {
    size: u64,
    mounted: Mounted,
    /// Goes when nothing is mounted on it any more.
    _place: Place,
}

impl AsRef<Mounted> for Whole {
    fn as_ref(&self) -> &Mounted {
        &self.mounted
    }
}

impl Whole {
    fn new(file: &Path, members: &[PathBuf]) -> Result<Self, String> {
        let set = Set::open(members)?;
        let (size, stripe) = (set.size(), set.stripe());
        let place = Place::take(file)?;
        let view = View::new(set).map_err(|error| error.to_string())?;
        let shown = Shown { name: "foresee-stripe", at: &place.path, options: vec![MountOption::RO], threads: 2 };
        let remedy = |why| format!("{why}; 'foresee stripe join MEMBER... > FILE' does without");
        let mounted = Mounted::new(view, shown).map_err(remedy)?;
        // Two rows of units, as the kernel's own arrays do: with less, some disks are idle.
        let bytes = 2 * u64::from(stripe.disks) * stripe.unit_blocks;
        mounted.read_ahead(bytes.clamp(*READ_AHEAD_BYTES.start(), *READ_AHEAD_BYTES.end()));
        Ok(Whole { size, mounted, _place: place })
    }
}

/// The empty file that the striped one is mounted on; gone when it is dropped.
struct Place {
    path: PathBuf,
    /// Open, so that its number is no other file's as long as we need it.
    _file: File,
    dev: u64,
    ino: u64,
}

impl Place {
    fn take(file: &Path) -> Result<Self, String> {
        let complain = |error: io::Error| match error.raw_os_error() {
            // A dead mount exists as well, as long as the kernel remembers what it was.
            Some(libc::EEXIST | NOT_ANSWERED) if is_dead(file) => {
                format!(
                    "{0}: was left by a foresee that was killed or crashed; 'umount {0}' and remove it",
                    file.display()
                )
            }
            Some(libc::EEXIST) => format!("{}: exists already; name a file that does not", file.display()),
            _ => format!("{}: {error}", file.display()),
        };
        let made = File::options().write(true).create_new(true).open(file).map_err(complain)?;
        let metadata = made.metadata().map_err(complain)?;
        let path = fs::canonicalize(file).map_err(complain)?;
        Ok(Place { path, _file: made, dev: metadata.dev(), ino: metadata.ino() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Another if it could not be unmounted, which was told, or if somebody put his own there.
        if fs::symlink_metadata(&self.path).is_ok_and(|it| (it.dev(), it.ino()) == (self.dev, self.ino)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn is_dead(file: &Path) -> bool {
    File::open(file).is_err_and(|error| error.raw_os_error() == Some(NOT_ANSWERED))
}
