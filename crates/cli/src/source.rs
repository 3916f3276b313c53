//! The trace a command works on: its options, and its loading.

use std::path::Path;

use clap::Args;
use foresee_sim::load::{Taking, Trace};
use foresee_sim::size::Size;
use foresee_sim::trace::Format;

use crate::damage::reading;

/// Options that say what of a trace is taken.
#[derive(Args)]
pub struct Source {
    /// The trace's format [default: as the file's beginning tells]
    #[arg(long, value_name = "NAME")]
    format: Option<&'static Format>,

    /// The size of a block
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = crate::sizes::bytes)]
    block_size: u64,

    /// Leave writes out
    #[arg(long)]
    reads_only: bool,

    /// Take each request as one block whatever its size, known by where it begins, as libCacheSim does
    #[arg(long)]
    whole_requests: bool,

    /// Take a share of the blocks (1%), chosen by a hash, and scale the caches: for traces too large. Results come with their
    /// error
    #[arg(long, value_name = "SHARE", value_parser = share)]
    sample: Option<f64>,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(Size::Share(share)) if share <= 1.0 => Ok(share),
        _ => Err(format!("'{text}' is no share of a trace, as 1%")),
    }
}

impl Source {
    /// Loads the trace; without its writes if they are of no use.
    pub fn load(&self, path: &Path, reads_only: bool) -> Result<Trace, String> {
        let taking = Taking {
            block_bytes: self.block_size,
            reads_only: self.reads_only || reads_only,
            whole_requests: self.whole_requests,
            share: self.sample.unwrap_or(1.0),
        };
        reading(path, || Trace::load(path, self.format, taking)).map_err(|error| error.to_string())
    }
}
