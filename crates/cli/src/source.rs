//! The trace a command works on: its options, and its loading.

use std::path::Path;

use clap::Args;
use foresee_run::host::Memory;
use foresee_sim::load::{Taking, Trace};
use foresee_sim::size::Size;
use foresee_sim::trace::{Format, Input, Limits, Requests};

use crate::damage::reading;
use crate::sizes;

/// Options that say how a trace is read.
#[derive(Args)]
pub struct Reading {
    /// The size of a block, where the trace does not tell it
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = sizes::bytes)]
    pub block_size: u64,

    /// The longest request there may be: a longer one is taken for damage, unless it is a large
    /// mapping that was recorded
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = sizes::bytes)]
    max_request: u64,
}

impl Reading {
    /// Opens a trace (- is standard input) within limits.
    pub fn input(&self, path: &Path) -> Result<Input, String> {
        let limits = Limits { request_bytes: self.max_request, memory_bytes: memory_bytes() };
        Input::open(path).map(|input| input.within(limits)).map_err(|error| error.to_string())
    }

    /// The same, and begins to read it.
    pub fn open(&self, path: &Path, format: Option<&'static Format>) -> Result<Requests, String> {
        self.requests(self.input(path)?, format)
    }

    fn requests(&self, input: Input, format: Option<&'static Format>) -> Result<Requests, String> {
        Requests::of(input, format, self.block_size).map_err(|error| error.to_string())
    }
}

/// What a trace may take of the memory: a third of what is free, for a table that doubles needs
/// twice its own room beside itself.
fn memory_bytes() -> u64 {
    let mut address_space = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: it fills in the structure, or leaves it as it is.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut address_space) };
    Memory::find().cache_bytes(0).unwrap_or(u64::MAX).min(address_space.rlim_cur) / 3
}

/// Options that say what of a trace is taken.
#[derive(Args)]
pub struct Source {
    /// The trace's format [default: as the file's beginning tells]
    #[arg(long, value_name = "NAME")]
    format: Option<&'static Format>,

    #[command(flatten)]
    reading: Reading,

    /// Leave writes out
    #[arg(long)]
    reads_only: bool,

    /// Take each request as one block whatever its size, known by where it begins, as libCacheSim
    /// does
    #[arg(long)]
    whole_requests: bool,

    /// Take a share of the blocks (1%), chosen by a hash, and scale the caches: for traces too
    /// large. Results come with their error
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
        self.load_from(self.reading.input(path)?, reads_only)
    }

    /// Refuses a sample, of which a clock would tell nothing: what is left out takes its time as
    /// well.
    pub fn refuse_sample(&self) -> Result<(), String> {
        match self.sample {
            None => Ok(()),
            Some(share) => Err(format!(
                "--sample {}%: a part of the blocks does not tell how long all take; leave it out",
                100.0 * share
            )),
        }
    }

    /// Opens what may be a trace.
    pub fn input(&self, path: &Path) -> Result<Input, String> {
        self.reading.input(path)
    }

    /// Loads the trace that was opened.
    pub fn load_from(&self, input: Input, reads_only: bool) -> Result<Trace, String> {
        let taking = Taking {
            block_bytes: self.reading.block_size,
            reads_only: self.reads_only || reads_only,
            whole_requests: self.whole_requests,
            share: self.sample.unwrap_or(1.0),
        };
        let path = input.path().to_owned();
        let load = || {
            let requests = self.reading.requests(input, self.format)?;
            Trace::read(&path, requests, taking).map_err(|error| error.to_string())
        };
        let trace = reading(&path, load)?;
        // What is to come is told in 32 bits.
        if trace.references >= u64::from(u32::MAX) {
            let (path, references) = (path.display(), trace.references);
            return Err(format!(
                "{path}: asks for {references} blocks, and 2^32 are too many; take larger ones (--block-size), or a --sample"
            ));
        }
        match (trace.whole().0, trace.is_empty()) {
            (_, false) => Ok(trace),
            (0, true) => Err(format!(
                "{}: holds no request{}",
                path.display(),
                if taking.reads_only { " that reads" } else { "" }
            )),
            (_, true) => Err(format!("{}: none of its blocks is in the sample; take a larger share", path.display())),
        }
    }
}
