//! `foresee replay`.

use std::path::PathBuf;

use clap::Args;
use foresee_sim::replay::replay;

use crate::say::print;
use crate::text::count;

/// Options of `foresee replay`.
#[derive(Args)]
pub struct Options {
    /// A log written by 'foresee run --log' (- for standard input)
    log: PathBuf,
}

/// Replays the log; returns the exit status: 1 if an action differs.
pub fn main(options: Options) -> Result<u8, String> {
    let replay = replay(&options.log).map_err(|error| error.to_string())?;
    match replay.divergence {
        None => {
            let (events, actions) = (count(replay.events), count(replay.actions));
            print(|out| writeln!(out, "{events} events, {actions} actions: all the same"))?;
            Ok(0)
        }
        Some(divergence) => {
            print(|out| {
                writeln!(out, "{}, line {}: after '{}'", options.log.display(), divergence.line, divergence.event)?;
                writeln!(out, "logged    {}", divergence.expected)?;
                writeln!(out, "replayed  {}", divergence.got)
            })?;
            Ok(1)
        }
    }
}
