//! `foresee replay`.

use std::path::PathBuf;

use clap::Args;
use foresee_sim::replay::replay;

use crate::text::count;

/// Options of `foresee replay`.
#[derive(Args)]
pub struct Options {
    /// A log written by 'foresee run --log'
    log: PathBuf,
}

/// Replays the log; returns the exit status: 1 if an action differs.
pub fn main(options: Options) -> Result<u8, String> {
    let replay = replay(&options.log).map_err(|error| error.to_string())?;
    match replay.divergence {
        None => {
            println!("{} events, {} actions: all the same", count(replay.events), count(replay.actions));
            Ok(0)
        }
        Some(divergence) => {
            println!("{}, line {}: after '{}'", options.log.display(), divergence.line, divergence.event);
            println!("logged    {}", divergence.expected);
            println!("replayed  {}", divergence.got);
            Ok(1)
        }
    }
}
