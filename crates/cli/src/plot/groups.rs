//! Who makes the references: call sites, or where a trace knows none, processes, or files.

use std::collections::HashMap;

use foresee_chart::{Page, Plot, Scale, Shape};
use foresee_sim::load::{Entry, Trace};

use super::patterns::Patterns;
use crate::text::count;

/// Groups with a colour of their own; all others share grey.
const SHOWN: usize = 6;
/// Rows of a table.
const ROWS: usize = 12;

/// A request's group.
type Key = fn(&Entry, &Trace) -> u64;

fn site(entry: &Entry, _: &Trace) -> u64 {
    entry.site.0
}

fn process(entry: &Entry, trace: &Trace) -> u64 {
    trace.lanes[entry.lane].process as u64
}

fn file(entry: &Entry, _: &Trace) -> u64 {
    u64::from(entry.first.file.0)
}

fn name(what: &str, key: u64, trace: &Trace) -> String {
    match what {
        "call site" => format!("{key:x}"),
        "process" => format!("process {}", key as i32),
        _ => match trace.files[key as usize].name.as_str() {
            "" => "all".to_owned(),
            name => name.to_owned(),
        },
    }
}

/// References of each group, most first.
fn counted(trace: &Trace, key: Key) -> Vec<(u64, u64)> {
    let mut references: HashMap<u64, u64> = HashMap::new();
    for at in 0..trace.len() {
        let entry = trace.entry(at);
        *references.entry(key(&entry, trace)).or_default() += entry.count;
    }
    let mut counted: Vec<(u64, u64)> = references.into_iter().collect();
    counted.sort_unstable_by_key(|&(key, references)| (std::cmp::Reverse(references), key));
    counted
}

/// The groups a trace's references are coloured by.
pub struct Groups<'a> {
    trace: &'a Trace,
    /// What a group is.
    pub what: &'static str,
    /// The groups' names, most referenced first; what is left over last.
    pub names: Vec<String>,
    key: Key,
    of_key: HashMap<u64, usize>,
}

impl<'a> Groups<'a> {
    pub fn of(trace: &'a Trace) -> Groups<'a> {
        let kinds: [(&'static str, Key); 3] = [("call site", site), ("process", process), ("file", file)];
        let counts = kinds.map(|(_, key)| counted(trace, key));
        let which = counts.iter().position(|counted| counted.len() > 1).unwrap_or(2);
        let ((what, key), counted) = (kinds[which], &counts[which]);
        let mut names: Vec<String> = counted.iter().take(SHOWN).map(|&(it, _)| name(what, it, trace)).collect();
        match counted.len() {
            // One of a kind needs no name.
            1 => names[0].clear(),
            all if all > SHOWN => names.push(format!("others ({})", count((all - SHOWN) as u64))),
            _ => {}
        }
        let of_key = counted.iter().take(SHOWN).enumerate().map(|(at, &(it, _))| (it, at)).collect();
        Groups { trace, what, names, key, of_key }
    }

    /// The group of a request.
    pub fn of_reference(&self, at: usize, _: u64) -> Option<usize> {
        let key = (self.key)(&self.trace.entry(at), self.trace);
        Some(self.of_key.get(&key).copied().unwrap_or(SHOWN))
    }
}

/// How many files, and how many call sites, make how much of the references; and those that make most, with their patterns.
pub fn distribution(trace: &Trace, patterns: &Patterns, page: &mut Page) {
    let mut plot = Plot::new(
        "How few make most of the references",
        "files, or call sites, most referenced first",
        "of all references (%)",
    );
    plot.x_scale = Scale::Log;
    for (what, key) in [("file", file as Key), ("call site", site)] {
        let counted = counted(trace, key);
        if counted.len() < 2 {
            continue;
        }
        let mut sum = 0;
        let points = counted.iter().enumerate().map(|(at, &(_, references))| {
            sum += references;
            ((at + 1) as f64, 100.0 * sum as f64 / trace.references as f64)
        });
        plot.add(format!("{what}s"), Shape::Line, points.collect(), Vec::new());
    }
    if plot.series.is_empty() {
        return;
    }
    page.plot(plot);
    for (what, key) in [("file", file as Key), ("call site", site)] {
        let counted = counted(trace, key);
        if counted.len() < 2 {
            continue;
        }
        let of = patterns.of_groups(trace, key);
        let mut columns = vec![what, "references", "of all"];
        columns.extend(patterns.names.iter().map(String::as_str));
        let percent = |part: u64, of: u64| format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64);
        let row = |&(it, references): &(u64, u64)| {
            let mut row = vec![name(what, it, trace), count(references), percent(references, trace.references)];
            row.extend(of[&it].iter().map(|&part| percent(part, references)));
            row
        };
        page.heading(format!("The {what}s referenced most"));
        page.table(&columns, counted.iter().take(ROWS).map(row).collect());
    }
}
