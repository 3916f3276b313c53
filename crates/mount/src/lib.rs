//! `foresee mount` and `foresee unmount`: a program of its own, which the command starts, for what
//! speaks with object stores takes longer to compile than all else.

mod account;
mod addresses;
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
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use foresee_run::run::OWN_FAILURE;
use foresee_run::say::say;

use options::Cli;

/// The words it takes: those of `foresee mount` and `foresee unmount`.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Does what this process's words say.
pub fn main() -> ExitCode {
    let is_helper = fstab::is_helper(&env::args_os().next().unwrap_or_default());
    let cli = if is_helper { helper() } else { Ok(Some(Cli::parse())) };
    // As `foresee run`: the status must not look like the command's.
    let on_failure = match &cli {
        Ok(Some(Cli::Mount(options))) if !options.command.is_empty() => OWN_FAILURE,
        _ => 2,
    };
    let result = cli.and_then(|cli| match cli {
        Some(Cli::Mount(options)) => mount::mount(&options),
        Some(Cli::Unmount { dir }) => foresee_fuse::unmount(&dir).map(|()| 0),
        None => Ok(0),
    });
    result.map(ExitCode::from).unwrap_or_else(|message| {
        say(message);
        ExitCode::from(on_failure)
    })
}

/// As mount(8) calls us. None if we are to do all but mount.
fn helper() -> Result<Option<Cli>, String> {
    // SAFETY: takes no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let given: Vec<_> = env::args().skip(1).collect();
    if fstab::asks_for_help(&given) {
        // Who closed the output does not want to know.
        let _ = writeln!(io::stdout(), "{}", fstab::USAGE);
        return Ok(None);
    }
    let said = fstab::understood(&given, is_root)?;
    // SAFETY: there is one thread.
    said.environment.iter().for_each(|(name, value)| unsafe { env::set_var(name, value) });
    let words = [String::from("foresee")].into_iter().chain(said.words);
    let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    Ok((!said.is_fake).then_some(cli))
}
