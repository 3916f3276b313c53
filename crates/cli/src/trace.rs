//! `foresee trace`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::slice::from_ref;
use std::time::Duration;

use clap::Subcommand;
use foresee_sim::trace::{Format, Info, REGISTRY, convert, info};
use serde_json::{Value, json};

use crate::damage;
use crate::output::Output;
use crate::report::write_json;
use crate::say::{print, say};
use crate::source::Reading;
use crate::text::{bytes, count, many, time};

/// What to do with a trace.
#[derive(Subcommand)]
pub enum Action {
    /// Rewrite a trace in another format
    Convert {
        /// The trace to read (- for standard input)
        input: PathBuf,
        /// The file to write (- for standard output); packed if its name ends in .gz or .zst
        output: PathBuf,
        /// The format to write
        #[arg(long, value_name = "NAME", default_value = "recorded")]
        to: &'static Format,
        /// The format to read [default: as the file's beginning tells]
        #[arg(long, value_name = "NAME")]
        from: Option<&'static Format>,
        /// Leave out so many of its first requests
        #[arg(long, value_name = "REQUESTS", default_value = "0", hide_default_value = true)]
        skip: u64,
        /// Write no more than so many requests [default: all]
        #[arg(long, value_name = "REQUESTS", value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
        #[command(flatten)]
        reading: Reading,
    },
    /// Count what a trace holds
    Info {
        /// The trace (- for standard input)
        trace: PathBuf,
        /// Its format [default: as the file's beginning tells]
        #[arg(long, value_name = "NAME")]
        format: Option<&'static Format>,
        #[command(flatten)]
        reading: Reading,
        /// Write the numbers to this file as an object (- for standard output)
        #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
        json: Option<PathBuf>,
    },
    /// Show the formats there are
    Formats,
}

/// Does it; returns the exit status.
pub fn main(action: Action) -> Result<u8, String> {
    match action {
        Action::Convert { input, output, to, from, skip, count: most, reading } => {
            let unfinished = Output::check("OUTPUT", &output, from_ref(&input))?.begin()?;
            let target = unfinished.target()?;
            let part = skip..skip.saturating_add(most.unwrap_or(u64::MAX));
            let convert = || {
                let requests = reading.open(&input, from)?;
                convert(requests, target, to, reading.block_size, part).map_err(|error| error.to_string())
            };
            let requests = damage::reading(&input, convert)?;
            if requests == 0 && skip > 0 {
                return Err(format!("--skip {skip}: {} has no more requests than that", input.display()));
            }
            unfinished.finish()?;
            let done = format!("{} requests written", count(requests));
            match output.as_os_str() == "-" {
                true => say(done),
                false => print(|out| writeln!(out, "{done} to {}", output.display()))?,
            }
        }
        Action::Info { trace, format, reading, json } => {
            let json = Output::check_any("--json", json.as_deref(), from_ref(&trace))?;
            let info = || {
                let requests = reading.open(&trace, format)?;
                info(requests, reading.block_size).map_err(|error| error.to_string())
            };
            let info = damage::reading(&trace, info)?;
            match &json {
                Some(output) => write_json(output, &object(&info))?,
                None => print(|out| show(&info, out))?,
            }
        }
        Action::Formats => print(|out| {
            REGISTRY.iter().try_for_each(|format| {
                let written = if format.write.is_some() { "read and written" } else { "read" };
                writeln!(out, "{:<14} {} ({written})", format.name, format.summary)
            })
        })?,
    }
    Ok(0)
}

fn show(info: &Info, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "format            {}", info.format)?;
    writeln!(out, "requests          {}", count(info.requests))?;
    writeln!(out, "of which writes   {}", count(info.writes))?;
    writeln!(out, "bytes             {}", bytes(info.bytes))?;
    writeln!(out, "blocks asked for  {} of {}", count(info.references), bytes(info.block_bytes))?;
    writeln!(out, "different blocks  {}", count(info.distinct_blocks))?;
    writeln!(out, "asked for again   {:.1} %", 100.0 * info.reread_share)?;
    writeln!(out, "files             {}", count(info.files))?;
    writeln!(out, "processes         {} with {}", count(info.processes), many(info.threads, "thread"))?;
    writeln!(out, "call sites        {}", if info.sites == 0 { "unknown".to_owned() } else { count(info.sites) })?;
    writeln!(out, "duration          {}", nanoseconds(info.duration_ns))?;
    writeln!(out, "requests took     {}", nanoseconds(info.took_ns))
}

/// Formats that know no time have none of 0 either.
fn nanoseconds(ns: u64) -> String {
    if ns == 0 { "unknown".to_owned() } else { time(Duration::from_nanos(ns)) }
}

fn object(info: &Info) -> Value {
    json!({
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
    })
}
