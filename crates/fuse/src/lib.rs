//! FUSE file systems of foresee's: there while a command runs, or until somebody ends them.

mod logger;
mod mounted;
mod process;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;

use foresee_run::launch::end_as;
use foresee_run::run::Failure;
use foresee_run::say::say;

pub use logger::{Log, To, log_file};
pub use mounted::{KIND, Mounted, NOT_ANSWERED, Shown, kind_at, unmount};
pub use process::Process;

/// Waits with it mounted: for the command's end, or without one, after `greet`, until somebody ends
/// it. Returns the exit status, unless it is the command's, as which this process then ends.
///
/// # Errors
/// Why it was not mounted, or not to the end, where there is no command.
pub fn serve<M: AsRef<Mounted>>(
    mounted: Result<M, String>,
    process: &Process,
    command: &[OsString],
    greet: impl FnOnce(&M),
) -> Result<u8, String> {
    let failed = |failure: Failure| {
        let status = failure.status();
        failure.message().into_iter().for_each(say);
        Ok(status)
    };
    match mounted {
        Ok(mounted) if command.is_empty() => {
            greet(&mounted);
            mounted.as_ref().until_told(process).map(|()| 0)
        }
        Ok(mounted) => match mounted.as_ref().while_runs(process, command) {
            Ok(status) => {
                drop(mounted);
                end_as(status.into_raw(), 0)
            }
            Err(failure) => failed(failure),
        },
        // As `foresee run`: the status must not look like the command's.
        Err(message) if !command.is_empty() => failed(Failure::Wrong(message)),
        Err(message) => Err(message),
    }
}
