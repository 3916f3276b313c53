//! Without a clock: what hits and what misses.

use std::fmt::Write;
use std::path::Path;

use foresee_manager::policy::Choice;
use foresee_sim::load::Trace;
use foresee_sim::untimed::{Outcome, sweep};
use serde_json::{Value, json};

use super::notes::notes;
use super::{Results, cells, heading};
use crate::progress::Progress;
use crate::text::{count, many};

/// Runs each policy at each size.
pub fn run(path: &Path, trace: &Trace, choices: &[Choice], sizes: &[u64], before: Option<&Trace>) -> Results {
    let cells = cells(choices, sizes, before);
    let progress = Progress::new();
    let outcomes = sweep(trace, &cells, &|done, total| progress.show(done, total));
    progress.clear();
    let unlimited = trace.counted_distinct_blocks().map(|misses| unlimited(trace, misses));
    let rows = outcomes.iter().map(row).chain(unlimited).collect();
    Ok((rows, heading(path, trace) + &table(trace, &outcomes, sizes) + &notes(trace, choices.iter(), None)))
}

fn row(outcome: &Outcome) -> Value {
    json!({
        "policy": outcome.policy,
        "cache_blocks": outcome.cache_blocks,
        "requests": outcome.requests,
        "references": outcome.references,
        "hits": outcome.hits,
        "misses": outcome.misses,
        "misses_error": outcome.misses_error,
        "untold": outcome.untold,
        "miss_ratio": outcome.miss_ratio(),
        "run_s": outcome.took.as_secs_f64(),
        "cpu_s": outcome.cpu.as_secs_f64(),
    })
}

/// A cache that holds all the trace asks for: each block misses once.
fn unlimited(trace: &Trace, misses: u64) -> Value {
    let (requests, references) = trace.whole();
    json!({
        "policy": "unlimited",
        "cache_blocks": misses,
        "requests": requests,
        "references": references,
        "hits": references.saturating_sub(misses),
        "misses": misses,
        "misses_error": 0,
        "untold": null,
        "miss_ratio": misses as f64 / references.max(1) as f64,
        "run_s": 0.0,
        "cpu_s": 0.0,
    })
}

/// A line a policy, a column a size: hit ratios; misses besides where there is one size only.
fn table(trace: &Trace, outcomes: &[Outcome], sizes: &[u64]) -> String {
    let (_, references) = trace.whole();
    let percent = |misses: u64| 100.0 * (1.0 - misses as f64 / references.max(1) as f64);
    let error = |outcome: &Outcome| match outcome.misses_error {
        0 => String::new(),
        error => format!(" ±{:.2}", 100.0 * error as f64 / references.max(1) as f64),
    };
    let policies = &outcomes[..outcomes.len() / sizes.len().max(1)];
    let names = policies.iter().map(|outcome| outcome.policy.as_str());
    let width = names.clone().map(str::len).max().unwrap_or(0).max("cache of, blocks".len());
    let mut text = format!("{:<width$}", "cache of, blocks");
    let mut columns = Vec::new();
    for (nth, size) in sizes.iter().enumerate() {
        let of_size = &outcomes[nth * policies.len()..][..policies.len()];
        let head = count(*size);
        let ratios = of_size.iter().map(|outcome| format!("{:.2}%{}", percent(outcome.misses), error(outcome)));
        let cells: Vec<String> = ratios.collect();
        let width = cells.iter().map(|it| it.chars().count()).max().unwrap_or(0).max(head.len()) + 2;
        columns.push((cells, width));
        // Writing to a string does not fail.
        let _ = write!(text, "{head:>width$}");
    }
    let misses = sizes.len() == 1;
    text.push_str(if misses { "        misses\n" } else { "\n" });
    for (at, name) in names.enumerate() {
        let _ = write!(text, "{name:<width$}");
        for (cells, width) in &columns {
            let _ = write!(text, "{:>width$}", cells[at]);
        }
        if misses {
            let _ = write!(text, "{:>14}", count(policies[at].misses));
        }
        text.push('\n');
    }
    if let Some(misses) = trace.counted_distinct_blocks() {
        let (best, width_of) = (format!("{:.2}%", percent(misses)), columns[0].1);
        let _ = writeln!(text, "{:<width$}{best:>width_of$}  {}", "unlimited", many(misses, "miss"));
    }
    for outcome in policies {
        if let Some(reason) = outcome.untold {
            let _ = writeln!(text, "A sample does not tell of {}: {reason}.", outcome.policy);
        }
    }
    let fetches_ahead = |name: &&str| {
        let of_policy = outcomes.iter().filter(|outcome| outcome.policy == *name);
        of_policy.flat_map(|outcome| &outcome.statistics.ahead).any(|ahead| ahead.fetched > 0)
    };
    let ahead: Vec<&str> = policies.iter().map(|outcome| outcome.policy.as_str()).filter(fetches_ahead).collect();
    if !ahead.is_empty() {
        let ahead = ahead.join(", ");
        let _ = writeln!(
            text,
            "Fetched ahead by {ahead}: without a clock that is there at once and counts as hits, even above opt. \
             --device tells what it costs."
        );
    }
    text
}
