//! `foresee sim`.

mod notes;
mod timed;
mod untimed;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use foresee_manager::policy::{Choice, Registry, Spec};
use foresee_sim::device::{self, disk};
use foresee_sim::host::Readahead;
use foresee_sim::load::Trace;
use foresee_sim::size::Size;
use foresee_sim::timed::{self as clocked, Disclosure, Think};
use foresee_sim::untimed::{Cell, sweep};
use serde_json::{Value, json};

use crate::advice::Advised;
use crate::output::Output;
use crate::progress::Progress;
use crate::report::{write_csv, write_json};
use crate::running::default_policy;
use crate::say::print;
use crate::source::Source;
use crate::text::many;
pub use notes::notes;
use timed::{Disclosures, Program, disclosures};
pub use timed::{disclosure, refuse_offline, think};

/// Options of `foresee sim`.
#[derive(Args)]
pub struct Options {
    /// The trace (- for standard input); with a clock several, which are run side by side in one
    /// memory
    #[arg(value_name = "TRACE", required_unless_present = "list")]
    traces: Vec<PathBuf>,

    /// Policies, each with its parameters if need be, all joined by commas:
    /// lru,pcc:by_hash=0,halve_at=0,arc. A parameter of a policy that is itself one:
    /// readahead:keep=pcc,keep.onward=0. Among them opt: the fewest misses there can be of what
    /// fetches nothing ahead [default: all]
    #[arg(long, short, value_name = "P,Q")]
    policy: Option<String>,

    /// Cache sizes: blocks (1000), bytes (64MiB), or a share of the trace's different blocks (10%)
    #[arg(long, short, value_name = "SIZE,SIZE", value_delimiter = ',', default_value = "1%,5%,10%,25%,50%")]
    cache: Vec<Size>,

    #[command(flatten)]
    source: Source,

    /// What the policies learn when they run this trace first, without a clock, they are taught
    /// before they run the others: as foresee run remembers it from one run of a program to the
    /// next (informed, reuse, pcc and experts do)
    #[arg(long, value_name = "TRACE")]
    after: Option<PathBuf>,

    /// Let every program of the trace give the advice in this file: lines 'file PATTERN PRIORITY'
    /// (lowest priority goes first), 'once PATTERN' and 'level PRIORITY lru|mru'; for policies
    /// that take advice, as lru-sp. Given more than once: of each trace its own (/dev/null
    /// advises nothing)
    #[arg(long, value_name = "FILE", value_parser = crate::advice::read)]
    advice: Vec<Advised>,

    #[arg(long, value_name = "DEVICE", help = device_help(), conflicts_with = "sample")]
    device: Option<device::Choice>,

    /// With a clock: how long a thread thinks before each read: traced (as in the trace), none, or
    /// a time as 50us
    #[arg(long, value_name = "TIME", default_value = "traced", value_parser = think, requires = "device")]
    think: Think,

    /// With a clock: so many such devices, over which files are striped by 16 blocks
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=256), requires = "device")]
    disks: u16,

    /// With a clock: what the file system reads ahead by itself of files read in order: none,
    /// one_block, or osf1, up to 256 KiB. With it, lru is a machine without foresee
    #[arg(long, value_name = "HOW", default_value = "none", requires = "device")]
    readahead: Readahead,

    /// With a clock: what is known beforehand, for policies that fetch ahead, as tip1 and tip2.
    /// told: each process discloses when it begins all it will read; recorded: what an earlier
    /// run read, trusted as it comes true; told:20%, recorded:20%: as many of its requests were
    /// others; none. Of several traces the same, or of each its own: told,none
    #[arg(long, value_name = "HOW,HOW", num_args = 0..=1, require_equals = true, default_missing_value = "told",
          value_parser = disclosures, requires = "device")]
    disclose: Option<Disclosures>,

    /// With a clock: beside each elapsed time, the least that the device, the memory and the
    /// program's own work allow, whatever the policy
    #[arg(long, requires = "device")]
    bound: bool,

    /// Write the results to this file as a list of objects (- for standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// Write the results to this file as comma-separated values (- for standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    csv: Option<PathBuf>,

    /// Show the policies and their parameters
    #[arg(long)]
    list: bool,
}

fn device_help() -> String {
    format!(
        "Run with a clock, all files on this device: servers=4,latency_us=500,mb_per_s=100 (0: no limit), or a disk ({}). \
         Reads alone count: a write does not wait",
        disk::names()
    )
}

/// Splits `a,b:x=1,y=2,c` at the commas before names: a piece without a name of its own sets one
/// more parameter.
pub fn policies(text: &str) -> Result<Vec<Choice>, String> {
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

/// What is said of all traces, or of each its own.
fn of_each<T>(said: &[T], at: usize) -> Option<&T> {
    if said.len() == 1 { said.first() } else { said.get(at) }
}

impl Options {
    /// Loads a trace, whose programs give this advice.
    fn advised(&self, path: &Path, advice: Option<&Advised>) -> Result<Trace, String> {
        let mut trace = self.source.load(path, self.device.is_some())?;
        advice.into_iter().for_each(|advised| trace.advise(&advised.advice));
        Ok(trace)
    }

    fn known(&self) -> &[Option<Disclosure>] {
        self.disclose.as_ref().map_or(&[], |it| &it.0)
    }

    /// What is said is said of all traces, or of each.
    fn check_numbers(&self) -> Result<(), String> {
        for (option, values) in [("--advice", self.advice.len()), ("--disclose", self.known().len())] {
            if values > 1 && values != self.traces.len() {
                let traces = many(self.traces.len() as u64, "trace");
                return Err(format!("{option}: {values} values for {traces}; give one for all, or one for each"));
            }
        }
        Ok(())
    }

    /// What is learned is learned of blocks of one size.
    fn check_before(&self, before: Option<&Trace>, path: &Path, trace: &Trace) -> Result<(), String> {
        match (&self.after, before) {
            (Some(after), Some(before)) if before.block_bytes != trace.block_bytes => Err(format!(
                "--after {}: it is in blocks of {} bytes, and {} of {}; nothing of the one holds of the other",
                after.display(),
                before.block_bytes,
                path.display(),
                trace.block_bytes
            )),
            _ => Ok(()),
        }
    }

    /// The traces, and what is known of each.
    fn programs(&self) -> Result<Vec<Program<'_>>, String> {
        let known = self.known();
        let mut programs: Vec<Program<'_>> = Vec::new();
        for (at, path) in self.traces.iter().enumerate() {
            let trace = self.advised(path, of_each(&self.advice, at))?;
            programs.push(Program { path, trace, disclose: of_each(known, at).copied().flatten() });
        }
        let block_bytes = |program: &Program<'_>| program.trace.block_bytes;
        if let Some(other) = programs.iter().find(|it| block_bytes(it) != block_bytes(&programs[0])) {
            let [(one, of_one), (other, of_other)] =
                [&programs[0], other].map(|it| (it.path.display(), block_bytes(it)));
            return Err(format!(
                "{one} is in blocks of {of_one} bytes, and {other} of {of_other}; they share no memory"
            ));
        }
        Ok(programs)
    }
}

/// Runs the policies; returns the exit status.
pub fn main(options: Options) -> Result<u8, String> {
    if options.list {
        print(list)?;
        return Ok(0);
    }
    options.check_numbers()?;
    let read: Vec<PathBuf> = options.traces.iter().chain(&options.after).cloned().collect();
    let json = Output::check_any("--json", options.json.as_deref(), &read)?;
    let csv = Output::check_any("--csv", options.csv.as_deref(), &read)?;
    Output::check_both(json.as_ref(), csv.as_ref())?;
    let choices: Vec<Choice> = match &options.policy {
        Some(text) => policies(text)?,
        None => specs().iter().map(|spec| spec.name.parse()).collect::<Result<_, _>>()?,
    };
    let load = |path| options.source.load(path, options.device.is_some());
    let before = options.after.as_deref().map(load).transpose()?;
    let before = before.as_ref();
    let (rows, text) = match (options.device, &options.traces[..]) {
        (Some(device), _) => {
            let choices = match &options.policy {
                Some(_) => choices,
                None => choices.into_iter().filter(|choice| !choice.is_offline()).collect(),
            };
            let how =
                clocked::Options { think: options.think, disclose: None, device, disks: options.disks, lookup_ns: 0 };
            let programs = options.programs()?;
            options.check_before(before, programs[0].path, &programs[0].trace)?;
            timed::run(&programs, &how, options.readahead, &choices, &options.cache, before, options.bound)?
        }
        (None, [path]) => {
            let trace = options.advised(path, of_each(&options.advice, 0))?;
            options.check_before(before, path, &trace)?;
            let sizes: Vec<u64> = options.cache.iter().map(|size| size.blocks(&trace)).collect();
            untimed::run(path, &trace, &choices, &sizes, before)?
        }
        (None, _) => return Err("several traces are run side by side, which takes a clock: add --device".to_owned()),
    };
    if let Some(output) = &json {
        write_json(output, &json!(rows))?;
    }
    if let Some(output) = &csv {
        write_csv(output, &rows)?;
    }
    if json.is_none() && csv.is_none() {
        print(|out| out.write_all(text.as_bytes()))?;
    }
    Ok(0)
}

/// Each policy at each size, size by size, taught what it learns of the trace before.
fn cells(choices: &[Choice], sizes: &[u64], before: Option<&Trace>) -> Vec<Cell> {
    let cell = |cache_blocks| choices.iter().map(move |policy| Cell::new(policy.clone(), cache_blocks));
    let cells: Vec<Cell> = sizes.iter().copied().flat_map(cell).collect();
    let Some(before) = before else { return cells };
    let progress = Progress::new();
    let outcomes = sweep(before, &cells, &|done, total| progress.show(done, total));
    progress.clear();
    cells.into_iter().zip(outcomes).map(|(cell, outcome)| Cell { taught: outcome.learned, ..cell }).collect()
}

/// Results as objects, and as a table.
type Results = Result<(Vec<Value>, String), String>;

/// What of the trace was run.
pub fn heading(path: &Path, trace: &Trace) -> String {
    let (requests, references) = trace.whole();
    let path = if path.as_os_str() == "-" { "standard input".into() } else { path.to_string_lossy() };
    let different = match trace.counted_distinct_blocks() {
        Some(blocks) => format!(", {}", many(blocks, "different one")),
        None => String::new(),
    };
    format!("{path}: {} for {}{different}\n", many(requests, "request"), many(references, "block"))
}

/// All policies, the one that `foresee run` goes by first.
fn specs() -> Vec<&'static Spec> {
    let mut specs = Registry::default().specs().to_vec();
    let default = default_policy(false).spec().name;
    specs.sort_by_key(|spec| spec.name != default);
    specs
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    for spec in specs() {
        writeln!(out, "{:<9} {}", spec.name, spec.summary)?;
        writeln!(out, "{:<9} source: {}", "", spec.source)?;
        for parameter in spec.parameters {
            writeln!(out, "{:<9} {} = {}: {}", "", parameter.name, parameter.domain, parameter.help)?;
        }
    }
    Ok(())
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
        let nested = "readahead:keep=pcc,keep.other=2q,keep.other.recent=0.5";
        assert_eq!(names(&format!("arc,{nested},lru")).unwrap(), ["arc", nested, "lru"]);
        assert!(names("lru,best").unwrap_err().contains("there is no policy 'best'"));
        assert!(names("unread_share=1").is_err());
    }
}
