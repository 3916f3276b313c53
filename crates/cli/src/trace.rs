//! `foresee trace`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use foresee_sim::trace::{Format, convert, info};
use serde_json::json;

use crate::damage::reading;
use crate::sizes;
use crate::text::{bytes, count, many, time};

/// What to do with a trace.
#[derive(Subcommand)]
pub enum Action {
    /// Rewrite a trace in another format
    Convert {
        /// The trace to read
        input: PathBuf,
        /// The file to write
        output: PathBuf,
        /// The format to write
        #[arg(long, value_name = "NAME", default_value = "recorded")]
        to: &'static Format,
        /// The format to read [default: as the file's beginning tells]
        #[arg(long, value_name = "NAME")]
        from: Option<&'static Format>,
        /// The size of a block, where the trace does not tell it
        #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = sizes::bytes)]
        block_size: u64,
    },
    /// Count what a trace holds
    Info {
        /// The trace
        trace: PathBuf,
        /// Its format [default: as the file's beginning tells]
        #[arg(long, value_name = "NAME")]
        format: Option<&'static Format>,
        /// The size of a block
        #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = sizes::bytes)]
        block_size: u64,
        /// Print an object
        #[arg(long)]
        json: bool,
    },
    /// Show the formats there are
    Formats,
}

/// Does it; returns the exit status.
pub fn main(action: Action) -> Result<u8, String> {
    match action {
        Action::Convert { input, output, to, from, block_size } => {
            let convert = || convert(&input, from, &output, to, block_size);
            let requests = reading(&input, convert).map_err(|error| error.to_string())?;
            println!("{} requests written to {}", count(requests), output.display());
        }
        Action::Info { trace, format, block_size, json } => {
            let info = reading(&trace, || info(&trace, format, block_size)).map_err(|error| error.to_string())?;
            if json { print_json(&info) } else { print(&info) }
        }
        Action::Formats => {
            for format in foresee_sim::trace::REGISTRY {
                let written = if format.write.is_some() { "read and written" } else { "read" };
                println!("{:<14} {} ({written})", format.name, format.summary);
            }
        }
    }
    Ok(0)
}

fn print(info: &foresee_sim::trace::Info) {
    println!("format            {}", info.format);
    println!("requests          {}", count(info.requests));
    println!("of which writes   {}", count(info.writes));
    println!("bytes             {}", bytes(info.bytes));
    println!("blocks asked for  {} of {}", count(info.references), bytes(info.block_bytes));
    println!("different blocks  {}", count(info.distinct_blocks));
    println!("asked for again   {:.1} %", 100.0 * info.reread_share);
    println!("files             {}", count(info.files));
    println!("processes         {} with {}", count(info.processes), many(info.threads, "thread"));
    println!("call sites        {}", if info.sites == 0 { "unknown".to_owned() } else { count(info.sites) });
    println!("duration          {}", nanoseconds(info.duration_ns));
    println!("requests took     {}", nanoseconds(info.took_ns));
}

/// Formats that know no time have none of 0 either.
fn nanoseconds(ns: u64) -> String {
    if ns == 0 { "unknown".to_owned() } else { time(Duration::from_nanos(ns)) }
}

fn print_json(info: &foresee_sim::trace::Info) {
    let object = json!({
        "format": info.format,
        "requests": info.requests,
        "writes": info.writes,
        "bytes": info.bytes,
        "references": info.references,
        "distinct_blocks": info.distinct_blocks,
        "block_bytes": info.block_bytes,
        "reread_share": info.reread_share,
        "files": info.files,
        "processes": info.processes,
        "threads": info.threads,
        "sites": info.sites,
        "duration_s": info.duration_ns as f64 / 1e9,
        "took_s": info.took_ns as f64 / 1e9,
    });
    println!("{object:#}");
}
