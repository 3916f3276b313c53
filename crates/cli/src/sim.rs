//! `foresee sim`.

use std::path::{Path, PathBuf};

use clap::Args;
use foresee_manager::policy::{Choice, REGISTRY};
use foresee_sim::load::Trace;
use foresee_sim::size::Size;
use foresee_sim::trace::Format;
use foresee_sim::untimed::{Cell, Outcome, sweep};
use serde_json::json;

use crate::advice::Advised;
use crate::damage::reading;
use crate::progress::Progress;
use crate::report::write_json;
use crate::text::count;

/// Options of `foresee sim`.
#[derive(Args)]
pub struct Options {
    /// The trace
    #[arg(required_unless_present = "list")]
    trace: Option<PathBuf>,

    /// Policies, with parameters if need be: lru,tip1:unread_share=0.5 [default: all]. What could be had stands beside them: opt,
    /// and a cache without limit
    #[arg(long, short, value_name = "P,Q")]
    policy: Option<String>,

    /// Cache sizes: blocks (1000), bytes (64MiB), or a share of the trace's different blocks (10%)
    #[arg(long, short, value_name = "SIZE,SIZE", value_delimiter = ',', default_value = "1%,5%,10%,25%,50%")]
    cache: Vec<Size>,

    /// The trace's format [default: as the file's beginning tells]
    #[arg(long, value_name = "NAME")]
    format: Option<&'static Format>,

    /// Let every program of the trace give the advice in this file: lines 'once PATTERN', 'file PATTERN PRIORITY' (lowest priority goes first) and
    /// 'level PRIORITY lru|mru'; for policies that take advice, as lru-sp
    #[arg(long, value_name = "FILE", value_parser = crate::advice::read)]
    advice: Option<Advised>,

    /// The size of a block
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = crate::sizes::bytes)]
    block_size: u64,

    /// Write the results to this file as a list of objects (- for standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// Show the policies and their parameters
    #[arg(long)]
    list: bool,
}

/// Splits `a,b:x=1,y=2,c` at the commas before names: a piece without a name of its own sets one more parameter.
fn policies(text: &str) -> Result<Vec<Choice>, String> {
    let mut choices: Vec<String> = Vec::new();
    for piece in text.split(',') {
        let is_setting = piece.contains('=') && !piece.contains(':');
        match choices.last_mut() {
            Some(last) if is_setting => {
                last.push(',');
                last.push_str(piece);
            }
            _ => choices.push(piece.to_owned()),
        }
    }
    choices.iter().map(|choice| choice.parse()).collect()
}

/// What stands beside every policy: the least misses there can be at its size.
const BESIDE: &str = "opt";

/// Runs the policies; returns the exit status.
pub fn main(options: Options) -> Result<u8, String> {
    let Some(path) = options.trace.filter(|_| !options.list) else {
        list();
        return Ok(0);
    };
    let mut choices: Vec<Choice> = match &options.policy {
        Some(text) => policies(text)?,
        None => REGISTRY.iter().map(|spec| spec.name.parse()).collect::<Result<_, _>>()?,
    };
    if !choices.iter().any(|choice| choice.as_str() == BESIDE) {
        choices.push(BESIDE.parse()?);
    }
    let load = || Trace::load(&path, options.format, options.block_size);
    let mut trace = reading(&path, load).map_err(|error| error.to_string())?;
    if let Some(advised) = &options.advice {
        trace.advise(&advised.advice);
    }
    let cells: Vec<Cell> = options
        .cache
        .iter()
        .flat_map(|size| choices.iter().map(|policy| (policy.clone(), size.blocks(&trace))))
        .map(|(policy, cache_blocks)| Cell { policy, cache_blocks })
        .collect();
    let progress = Progress::new();
    let outcomes = sweep(&trace, &cells, &|done, total| progress.show(done, total));
    progress.clear();
    match &options.json {
        Some(file) => {
            let rows = outcomes.iter().map(row).chain([unlimited(&trace)]);
            write_json(file, &json!(rows.collect::<Vec<_>>()))?;
        }
        None => print(&path, &trace, &outcomes),
    }
    Ok(0)
}

fn row(outcome: &Outcome) -> serde_json::Value {
    json!({
        "policy": outcome.policy,
        "cache_blocks": outcome.cache_blocks,
        "requests": outcome.requests,
        "references": outcome.references,
        "hits": outcome.hits,
        "misses": outcome.misses,
        "miss_ratio": outcome.miss_ratio(),
        "run_s": outcome.took.as_secs_f64(),
        "cpu_s": outcome.cpu.as_secs_f64(),
    })
}

/// A cache that holds all the trace asks for: each block misses once.
fn unlimited(trace: &Trace) -> serde_json::Value {
    let (misses, references) = (trace.distinct_blocks(), trace.references);
    json!({
        "policy": "unlimited",
        "cache_blocks": misses,
        "requests": trace.len(),
        "references": references,
        "hits": references - misses,
        "misses": misses,
        "miss_ratio": misses as f64 / references.max(1) as f64,
        "run_s": 0.0,
        "cpu_s": 0.0,
    })
}

fn print(path: &Path, trace: &Trace, outcomes: &[Outcome]) {
    let distinct = trace.distinct_blocks();
    println!("{}: {} requests, {} different blocks", path.display(), count(trace.len() as u64), count(distinct));
    println!("{:>12}  {:<24}  {:>12}  {:>9}", "cache blocks", "policy", "misses", "hit ratio");
    for outcome in outcomes {
        let hit_ratio = 100.0 * (1.0 - outcome.miss_ratio());
        let (blocks, misses) = (count(outcome.cache_blocks), count(outcome.misses));
        println!("{blocks:>12}  {:<24}  {misses:>12}  {hit_ratio:>8.2}%", outcome.policy);
    }
    let best = 100.0 * (1.0 - distinct as f64 / trace.references.max(1) as f64);
    println!("{:>12}  {:<24}  {:>12}  {best:>8.2}%", "unlimited", "any", count(distinct));
}

fn list() {
    for spec in REGISTRY {
        println!("{:<9} {}", spec.name, spec.summary);
        println!("{:<9} source: {}", "", spec.source);
        for parameter in spec.parameters {
            println!("{:<9} {} = {}: {}", "", parameter.name, parameter.domain, parameter.help);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_part_policies_and_their_parameters() {
        let names = |text: &str| {
            policies(text).map(|it| it.iter().map(|choice| choice.as_str().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(names("lru,null").unwrap(), ["lru", "null"]);
        let tip1 = "tip1:unread_share=0.5,count_present=0";
        assert_eq!(names(&format!("lru,{tip1},null")).unwrap(), ["lru", tip1, "null"]);
        assert!(names("lru,best").unwrap_err().contains("there is no policy 'best'"));
        assert!(names("unread_share=1").is_err());
    }
}
