//! `foresee plot`: a trace in pictures.
//!
//! References over time, coloured by who made them and by their pattern (004's Figures 1 and 2);
//! miss-ratio curves (Figure 11); how few files and call sites make most references (Figures 7 and
//! 8); a cache's partitions over time, under each policy that has some.

mod curves;
mod groups;
mod partitions;
mod patterns;
mod references;

use std::path::PathBuf;
use std::slice::from_ref;
use std::time::Duration;

use clap::Args;
use foresee_chart::Page;
use foresee_sim::load::Trace;
use foresee_sim::size::Size;

use crate::advice::Advised;
use crate::output::Output;
use crate::progress::Progress;
use crate::say::say;
use crate::sim::policies;
use crate::source::Source;
use crate::text::{bytes, count, time};
use groups::{Groups, distribution};
use patterns::Patterns;
use references::{Ranks, references};

/// Options of `foresee plot`.
#[derive(Args)]
pub struct Options {
    /// The trace (- for standard input)
    trace: PathBuf,

    /// Where the page goes [default: the trace's name with .html; none with --png alone]
    #[arg(long, short, value_name = "FILE.html")]
    output: Option<PathBuf>,

    /// Write the pictures to this file, one below the other; and no page, unless --output names one
    #[arg(long, value_name = "FILE.png")]
    png: Option<PathBuf>,

    /// Policies: their miss ratios, and the partitions of those that divide the cache
    #[arg(long, short, value_name = "P,Q", default_value = "lru,arc,lirs,ubm,pcc,opt")]
    policy: String,

    /// The cache whose partitions are shown: blocks (1000), bytes (64MiB), or a share of the
    /// trace's different blocks (10%)
    #[arg(long, short, value_name = "SIZE", default_value = "10%")]
    cache: Size,

    /// Let every program of the trace give the advice in this file, as for 'foresee sim'
    #[arg(long, value_name = "FILE", value_parser = crate::advice::read)]
    advice: Option<Advised>,

    #[command(flatten)]
    source: Source,
}

/// Draws the trace; returns the exit status.
pub fn main(options: Options) -> Result<u8, String> {
    let name = match options.trace.file_name() {
        Some(name) if name != "-" => name.to_string_lossy().into_owned(),
        _ => "trace".to_owned(),
    };
    let read = from_ref(&options.trace);
    let page_path = match (&options.output, &options.png) {
        (None, Some(_)) => None,
        (None, None) => Some(format!("{name}.html").into()),
        (given, _) => given.clone(),
    };
    let page_output = Output::check_any("--output", page_path.as_deref(), read)?;
    let png_output = Output::check_any("--png", options.png.as_deref(), read)?;
    Output::check_both(page_output.as_ref(), png_output.as_ref())?;
    let choices = policies(&options.policy)?;
    let mut trace = options.source.load(&options.trace, false)?;
    if let Some(advised) = &options.advice {
        trace.advise(&advised.advice);
    }
    let progress = Progress::new();
    let page = page(&name, &trace, &choices, options.cache.blocks(&trace), &progress)?;
    progress.clear();
    if let Some(output) = &page_output {
        output.write(page.html().as_bytes())?;
        say(format_args!("page: {}", output.path().display()));
    }
    if let Some(output) = &png_output {
        let path = output.path().display();
        let painted = page.png().map_err(|error| format!("--png {path}: {error}"))?;
        output.write(&painted)?;
        say(format_args!("picture: {path}"));
    }
    Ok(0)
}

fn page(
    name: &str,
    trace: &Trace,
    choices: &[foresee_manager::policy::Choice],
    cache_blocks: u64,
    progress: &Progress,
) -> Result<Page, String> {
    let mut page = Page::new(name);
    page.text(summary(trace));
    let groups = Groups::of(trace);
    let patterns = Patterns::of(trace)?;
    let ranks = Ranks::of(trace);
    let title = if groups.names.len() > 1 { format!("References by {}", groups.what) } else { "References".to_owned() };
    page.plot(references(trace, &ranks, &title, &groups.names, |at, nth| groups.of_reference(at, nth)));
    match patterns.only() {
        Some(pattern) => page.text(format!("To {} all references are of one pattern: {pattern}.", patterns.policy)),
        None => {
            let title = format!("References by pattern, as {} sees them", patterns.policy);
            page.plot(references(trace, &ranks, &title, &patterns.names, |at, nth| patterns.of_reference(at, nth)));
        }
    }
    match curves::miss_ratios(trace, choices, progress) {
        Some(plot) => page.plot(plot),
        None => page.text("Hardly a block is referenced twice: no cache, of whatever size and policy, saves a miss."),
    }
    partitions::partitions(trace, choices, cache_blocks, progress).into_iter().for_each(|plot| page.plot(plot));
    distribution(trace, &patterns, &mut page);
    Ok(page)
}

fn summary(trace: &Trace) -> String {
    let (requests, references) = trace.whole();
    let distinct = trace.distinct_blocks();
    let entries = || (0..trace.len()).map(|at| trace.entry(at));
    let begin = entries().map(|entry| entry.time_ns).min().unwrap_or(0);
    let end = entries().map(|entry| entry.time_ns.saturating_add(entry.took_ns)).max().unwrap_or(0);
    let duration = match end - begin {
        0 => String::new(),
        ns => format!(", in {}", time(Duration::from_nanos(ns))),
    };
    let files = trace.files.iter().filter(|file| file.blocks > 0).count();
    let many = |number: usize, what: &str| match number {
        1 => format!("one {what}"),
        number => format!("{} {what}s", count(number as u64)),
    };
    format!(
        "{} requests for {} blocks of {}, {} different ones ({}), in {}, by {}{duration}.",
        count(requests),
        count(references),
        bytes(trace.block_bytes),
        count(distinct),
        bytes(distinct.saturating_mul(trace.block_bytes)),
        many(files, "file"),
        many(trace.lanes.len(), "thread")
    )
}
