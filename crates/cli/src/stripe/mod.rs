//! `foresee stripe`.

mod mount;
mod view;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::Subcommand;
use foresee_run::child::Signals;
use foresee_run::stripe::{Set, join, split};

use crate::say::output;
use crate::sizes;

/// What to do with a striped file.
#[derive(Subcommand)]
pub enum Action {
    /// Deal FILE out to MEMBERs, files on different disks. None may exist; FILE stays as it is
    Split {
        /// The file to deal out
        file: PathBuf,
        /// The files to write, one on each disk
        #[arg(required = true, value_name = "MEMBER")]
        members: Vec<PathBuf>,
        /// Bytes in a row on one disk: a multiple of 4096
        #[arg(long, value_name = "BYTES", default_value = "64K", value_parser = sizes::bytes)]
        unit: u64,
    },
    /// Write the file back to standard output
    Join {
        /// All members, in any order
        #[arg(required = true, value_name = "MEMBER")]
        members: Vec<PathBuf>,
    },
    /// Show the file whole, for reading, at FILE while CMD runs, or until Ctrl-C. Reads are
    /// answered by all disks at once
    ///
    /// FILE must not exist, and is gone afterwards. Needs /dev/fuse, and root or fusermount3. Where
    /// they are missing, 'foresee stripe join' writes the file back. Ends as CMD does.
    Mount {
        /// Where to show it
        file: PathBuf,
        /// All members, in any order
        #[arg(required = true, value_name = "MEMBER")]
        members: Vec<PathBuf>,
        /// The command to run meanwhile, and its arguments
        #[arg(last = true, value_name = "CMD")]
        command: Vec<OsString>,
    },
}

/// Does it; returns the exit status.
pub fn main(action: Action) -> Result<u8, String> {
    match action {
        Action::Split { file, members, unit } => {
            let signals = Signals::take().map_err(|error| format!("signals: {error}"))?;
            split(&file, &members, unit, &|| signals.came())?;
        }
        Action::Join { members } => {
            let set = Set::open(&members)?;
            let output = output().map_err(|error| error.to_string())?;
            join(set, &mut output.lock() as &mut dyn Write)?;
        }
        Action::Mount { file, members, command } => return mount::mount(&file, &members, &command),
    }
    Ok(0)
}
