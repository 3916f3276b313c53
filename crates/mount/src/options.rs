//! The words of the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser};
use log::LevelFilter;

use crate::account::Where;
use crate::sizes;

/// Object stores and slow directories as fast files.
#[derive(Parser)]
#[command(name = "foresee", bin_name = "foresee", version, propagate_version = true)]
pub enum Cli {
    /// Show what an object store or a slow directory has as files, at DIR, while CMD runs, or until
    /// Ctrl-C
    ///
    /// SOURCE is s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, http(s)://HOST/PATH
    /// or a directory. Credentials and endpoints are the environment's: AWS_ACCESS_KEY_ID,
    /// AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL, or AWS_PROFILE's in
    /// ~/.aws; GOOGLE_APPLICATION_CREDENTIALS; AZURE_STORAGE_ACCOUNT_NAME,
    /// AZURE_STORAGE_ACCOUNT_KEY. Needs /dev/fuse, and root or fusermount3. Ends as CMD does.
    Mount(Box<Mount>),
    /// Unmount what is shown at DIR, if it is not in use; also where the foresee that showed it was
    /// killed
    Unmount {
        /// Where it is
        dir: PathBuf,
    },
}

/// How much is said.
fn level() -> impl TypedValueParser<Value = LevelFilter> {
    PossibleValuesParser::new(["error", "warn", "info", "debug"])
        .map(|level| level.parse().unwrap_or(LevelFilter::Info))
}

/// `foresee mount`.
#[derive(Args)]
pub struct Mount {
    /// What to show
    pub source: String,
    /// Where: an empty directory
    pub dir: PathBuf,
    /// Memory for what was read and is read ahead, at most: 1GiB, or a quarter of what is free here or
    /// left in the control group, if that is less
    #[arg(long, value_name = "BYTES", value_parser = sizes::bytes)]
    pub memory: Option<u64>,
    /// Keep what memory gives up in this file, of so many bytes at most; it outlives the mount
    #[arg(long, value_name = "PATH:BYTES", value_parser = sizes::disk)]
    pub disk: Option<(PathBuf, u64)>,
    /// What decides what is read ahead and what stays in memory: a name that 'foresee sim --list'
    /// has
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Refuse to write
    #[arg(long)]
    pub read_only: bool,
    /// Refuse to execute what is shown
    #[arg(long)]
    pub noexec: bool,
    /// For how long names, sizes and times are taken to stay as they are
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = sizes::seconds)]
    pub metadata_ttl: Duration,
    /// For how long a store that does not answer, or fails in passing, is asked again before who
    /// reads or writes gets an error
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = sizes::deadline)]
    pub deadline: Duration,
    /// Permissions of files of an object store
    #[arg(long, value_name = "MODE", default_value = "644", value_parser = sizes::mode)]
    pub file_mode: u16,
    /// Permissions of directories of an object store
    #[arg(long, value_name = "MODE", default_value = "755", value_parser = sizes::mode)]
    pub dir_mode: u16,
    /// Owner of what an object store has, by number; who mounts, unless said
    #[arg(long, value_name = "NUMBER")]
    pub uid: Option<u32>,
    /// Its group, by number
    #[arg(long, value_name = "NUMBER")]
    pub gid: Option<u32>,
    /// Tell what came of it in Prometheus' format to whoever asks there by HTTP: unix:PATH or
    /// HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<Where>,
    /// How much to say: error, warn, info or debug, which tells of each request
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = level())]
    pub log_level: LevelFilter,
    /// Say it at the end of this file, instead of on standard error, or in the system's log with
    /// --detach
    #[arg(long, value_name = "PATH")]
    pub log: Option<PathBuf>,
    /// Go to the background once it is mounted; 'foresee unmount DIR' ends it
    #[arg(long, conflicts_with = "command")]
    pub detach: bool,
    /// The command to run meanwhile, and its arguments; the status is its own, or 125 where foresee failed and
    /// it was not run
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}
