//! `foresee mount` and `foresee unmount`: done by a program of its own, for what speaks with object
//! stores takes longer to compile than all else.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program.
const PROGRAM: &str = "foresee-mount";

/// Becomes it, with these words; returns why it cannot.
pub fn main(verb: &str, words: &[OsString]) -> Result<u8, String> {
    // Beside us first: of the same version then.
    let beside = env::current_exe().ok().map(|own| own.with_file_name(PROGRAM)).filter(|path| path.is_file());
    let error = Command::new(beside.unwrap_or_else(|| PROGRAM.into())).arg(verb).args(words).exec();
    Err(match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "{PROGRAM} is not installed, which does this: foresee's .deb and tarball have it, as have \
             'cargo install {PROGRAM}', and 'make mount install-mount' in the sources"
        ),
        _ => format!("{PROGRAM}: {error}"),
    })
}
