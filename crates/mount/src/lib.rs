//! `foresee mount` and `foresee unmount`: a program of its own, which the command starts, for what
//! speaks with object stores takes longer to compile than all else.

mod account;
mod ahead;
mod allowance;
mod detach;
mod disclosed;
mod failure;
mod fstab;
mod mount;
mod nodes;
mod options;
mod processes;
mod sizes;
mod tree;
mod view;

use std::env;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use foresee_run::say::say;

use options::Cli;

/// The words it takes: those of `foresee mount` and `foresee unmount`.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Does what this process's words say.
pub fn main() -> ExitCode {
    let cli = if fstab::is_helper(&env::args_os().next().unwrap_or_default()) { helper() } else { Ok(Cli::parse()) };
    let result = cli.and_then(|cli| match cli {
        Cli::Mount(options) => mount::mount(&options),
        Cli::Unmount { dir } => foresee_fuse::unmount(&dir).map(|()| 0),
    });
    result.map(ExitCode::from).unwrap_or_else(|message| {
        say(message);
        ExitCode::from(2)
    })
}

/// As mount(8) calls us.
fn helper() -> Result<Cli, String> {
    let fstab::Said { environment, words } = fstab::understood(&env::args().skip(1).collect::<Vec<_>>())?;
    // SAFETY: there is one thread.
    environment.iter().for_each(|(name, value)| unsafe { env::set_var(name, value) });
    Cli::try_parse_from([String::from("foresee")].into_iter().chain(words)).map_err(|error| error.to_string())
}
