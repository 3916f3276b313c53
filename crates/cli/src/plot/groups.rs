//! Who makes the references: call sites, or where a trace knows none, processes, or files.

use std::collections::HashMap;

use foresee_chart::{Page, Plot, Scale, Shape};
use foresee_manager::Site;
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

/// The names of groups that are counted.
fn names(what: &str, counted: &[(u64, u64)], trace: &Trace) -> HashMap<u64, String> {
    match what {
        "call site" => sites(counted, trace),
        "process" => counted.iter().map(|&(it, _)| (it, format!("process {}", it as i32))).collect(),
        _ => counted.iter().map(|&(it, _)| (it, file_name(it, trace).to_owned())).collect(),
    }
}

fn file_name(file: u64, trace: &Trace) -> &str {
    match trace.files[file as usize].name.as_str() {
        "" => "all",
        name => name,
    }
}

/// Call sites by what lies there, if the trace says it, and by what they read: their numbers say
/// nothing to anybody.
fn sites(counted: &[(u64, u64)], trace: &Trace) -> HashMap<u64, String> {
    let mut reads: HashMap<u64, HashMap<u64, u64>> = HashMap::new();
    for at in 0..trace.len() {
        let entry = trace.entry(at);
        *reads.entry(site(&entry, trace)).or_default().entry(file(&entry, trace)).or_default() += entry.count;
    }
    let mut alike: HashMap<String, usize> = HashMap::new();
    let name = |&(it, _): &(u64, u64)| {
        let files = &reads[&it];
        let most = files.iter().max_by_key(|&(&file, &references)| (references, std::cmp::Reverse(file)));
        let most = most.map_or("nothing", |(&file, _)| file_name(file, trace));
        let base = most.rsplit('/').next().unwrap_or(most);
        let what = match files.len() {
            0 | 1 => format!("reads {base}"),
            all => format!("reads {base} and {} more", count(all as u64 - 1)),
        };
        let name = trace.sites_named.get(&Site(it)).map_or(what.clone(), |place| format!("{place} {what}"));
        let nth = alike.entry(name.clone()).and_modify(|nth| *nth += 1).or_insert(1);
        (it, if *nth == 1 { name } else { format!("{name}, site {nth}") })
    };
    counted.iter().map(name).collect()
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
        let named = names(what, counted, trace);
        let mut names: Vec<String> = counted.iter().take(SHOWN).map(|(it, _)| named[it].clone()).collect();
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

/// How many files, and how many call sites, make how much of the references; and those that make
/// most, with their patterns.
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
        let (of, named) = (patterns.of_groups(trace, key), names(what, &counted, trace));
        let mut columns = vec![what, "references", "of all"];
        columns.extend(patterns.names.iter().map(String::as_str));
        let percent = |part: u64, of: u64| format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64);
        let row = |&(it, references): &(u64, u64)| {
            let mut row = vec![named[&it].clone(), count(references), percent(references, trace.references)];
            row.extend(of[&it].iter().map(|&part| percent(part, references)));
            row
        };
        page.heading(format!("The {what}s referenced most"));
        page.table(&columns, counted.iter().take(ROWS).map(row).collect());
    }
}
