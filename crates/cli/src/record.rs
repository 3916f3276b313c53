//! `foresee record`.

mod command;
mod live;
mod output;
mod symbols;

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use foresee_run::source::fanotify::Whose;

use crate::running::Running;

/// Options of `foresee record`.
#[derive(Args)]
#[command(mut_arg("command", |command| command.required(false)))]
#[command(group(ArgGroup::new("what").args(["command", "pid", "system"]).required(true)))]
pub struct Options {
    /// The trace to write (Apache Parquet; one row a read or write)
    #[arg(long, short, value_name = "TRACE")]
    output: PathBuf,

    /// Record these processes and all they start, until they have ended or Ctrl-C; what they open
    /// from now on, by whatever means they read it. Root, Linux 6.14, files on ext4, XFS or
    /// btrfs. Each read on these file systems, whosever it is, waits some microseconds longer
    /// meanwhile. Call sites and durations are not known, places are rounded to pages, and a
    /// mapping counts as one read of all that is mapped (docs/record.md)
    #[arg(long, value_name = "PID", num_args = 1.., conflicts_with_all = OF_COMMANDS)]
    pid: Vec<u32>,

    /// Record every process until Ctrl-C, on the file systems that hold these paths, or on all
    /// local ones; else as --pid
    #[arg(long, value_name = "PATH", num_args = 0.., conflicts_with_all = OF_COMMANDS)]
    system: Option<Vec<PathBuf>>,

    #[command(flatten)]
    running: Running,

    /// Print the account of the run
    #[arg(long)]
    report: bool,
}

/// Options that say something of a command that is run.
const OF_COMMANDS: [&str; 7] = ["no_learn", "no_words", "no_listings", "memory", "policy", "advice", "report"];

/// Writes down what is read and written; returns the exit status.
pub fn main(options: Options) -> Result<u8, String> {
    match options.system {
        Some(places) => live::main(&options.output, Whose::Everybody(places)),
        None if !options.pid.is_empty() => live::main(&options.output, Whose::Processes(options.pid)),
        None => command::main(&options.output, &options.running, options.report),
    }
}
