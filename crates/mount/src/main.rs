//! `foresee mount` and `foresee unmount`: a program of its own, which the command starts, for what speaks with object stores takes longer
//! to compile than all else.

mod ahead;
mod allowance;
mod detach;
mod failure;
mod mount;
mod nodes;
mod options;
mod sizes;
mod tree;
mod view;

use std::process::ExitCode;

use clap::Parser;
use foresee_run::say::say;

use options::Cli;

fn main() -> ExitCode {
    let result = match Cli::parse() {
        Cli::Mount(options) => mount::mount(&options),
        Cli::Unmount { dir } => foresee_fuse::unmount(&dir).map(|()| 0),
    };
    result.map(ExitCode::from).unwrap_or_else(|message| {
        say(message);
        ExitCode::from(2)
    })
}
