//! `foresee advise`: what each policy, and each kind of hint, would save on a trace, and what to do about it.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use foresee_manager::policy::{Choice, Registry};
use foresee_manager::{Config, Source as Disclosed, Trust};
use foresee_run::supervisor::INITIAL_BLOCKS;
use foresee_sim::cells::map;
use foresee_sim::device;
use foresee_sim::host::{self, Readahead, Report};
use foresee_sim::load::Trace;
use foresee_sim::size::Size;
use foresee_sim::timed::{self, Think};
use serde_json::{Value, json};

use crate::output::Output;
use crate::progress::Progress;
use crate::report::write_json;
use crate::say::print;
use crate::sim::{notes, policies, think};
use crate::source::Source;
use crate::text::{bytes, count, time};

/// The program as it is: LRU, and what a file system reads ahead by itself.
const AS_IT_IS: &str = "lru";
/// What saves less than this part of the time that all takes is not worth a word.
const WORTH_IT: f64 = 0.01;
/// A setting that saves this part of the most that can be saved is as good, if it is had for less.
const AS_GOOD: f64 = 0.95;

/// Options of `foresee advise`.
#[derive(Args)]
pub struct Options {
    /// The trace (- for standard input)
    trace: PathBuf,

    /// Sizes of memory: blocks (1000), bytes (64MiB), or a share of the trace's different blocks (10%)
    #[arg(long, short, value_name = "SIZE,SIZE", value_delimiter = ',', default_value = "5%,20%,50%")]
    cache: Vec<Size>,

    /// Policies without hints [default: all but null]
    #[arg(long, short, value_name = "P,Q")]
    policy: Option<String>,

    /// The device all files lie on, as for 'foresee sim': network storage of 5 ms unless told otherwise
    #[arg(long, value_name = "DEVICE", default_value = "servers=64,latency_us=5000,mb_per_s=1000")]
    device: device::Choice,

    /// How long a thread thinks before each read: traced (as in the trace), none, or a time as 50us
    #[arg(long, value_name = "TIME", default_value = "traced", value_parser = think)]
    think: Think,

    #[command(flatten)]
    source: Source,

    /// Write the table to this file as a list of objects (- for standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

/// What is known beforehand of what will be read, by what it takes to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Hints {
    /// Nothing.
    None,
    /// What an earlier run read, here the same: trusted as it comes true.
    Recorded,
    /// All, from the program itself.
    Told,
}

impl Hints {
    const ALL: [Hints; 3] = [Hints::None, Hints::Recorded, Hints::Told];
    /// Policies that fetch ahead what is disclosed.
    const POLICIES: [&str; 2] = ["tip1", "tip2"];

    fn word(self) -> &'static str {
        match self {
            Hints::None => "none",
            Hints::Recorded => "recorded",
            Hints::Told => "told",
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Hints::None => "no hints",
            Hints::Recorded => "an earlier run recorded",
            Hints::Told => "all told by the program",
        }
    }
}

/// A setting, and what came of it.
struct Setting {
    cache_blocks: u64,
    hints: Hints,
    policy: Choice,
}

/// Makes the table; returns the exit status.
pub fn main(options: Options) -> Result<u8, String> {
    let json = Output::check_any("--json", options.json.as_deref())?;
    let trace = options.source.load(&options.trace, true)?;
    let alone: Vec<Choice> = match &options.policy {
        Some(text) => policies(text)?,
        None => {
            let registry = Registry::default();
            let names = registry.specs().iter().map(|spec| spec.name).filter(|name| *name != "null");
            names.map(str::parse).collect::<Result<_, _>>()?
        }
    };
    let settings = settings(&trace, &options.cache, &alone)?;
    let progress = Progress::new();
    let reports = map(&settings, &|done, total| progress.show(done, total), |setting| run(&trace, &options, setting));
    progress.clear();
    let reports: Vec<Report> = reports.into_iter().collect::<Result<_, _>>()?;
    let rows: Vec<Row<'_>> =
        settings.iter().zip(&reports).map(|(setting, report)| Row::new(setting, report, &settings, &reports)).collect();
    let best = recommended(&rows);
    match &json {
        Some(output) => {
            let objects: Vec<Value> = rows.iter().enumerate().map(|(at, row)| row.json(Some(at) == best)).collect();
            write_json(output, &json!(objects))?;
        }
        None => {
            let table = table(&rows, trace.block_bytes) + &notes(&trace, alone.iter(), Some(options.think));
            let advice = advice(best.map(|best| &rows[best]), &rows, trace.block_bytes);
            print(|out| writeln!(out, "{table}\n{advice}"))?;
        }
    }
    Ok(0)
}

/// Every setting, those of one size together, the program as it is first.
fn settings(trace: &Trace, sizes: &[Size], alone: &[Choice]) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    for cache_blocks in sizes.iter().map(|size| size.blocks(trace)) {
        for hints in Hints::ALL {
            let policies: Vec<Choice> = match hints {
                Hints::None => {
                    let others = alone.iter().filter(|it| it.as_str() != AS_IT_IS && !it.is_offline()).cloned();
                    [AS_IT_IS.parse()?].into_iter().chain(others).collect()
                }
                Hints::Recorded | Hints::Told => {
                    Hints::POLICIES.iter().map(|name| name.parse()).collect::<Result<_, _>>()?
                }
            };
            settings.extend(policies.into_iter().map(|policy| Setting { cache_blocks, hints, policy }));
        }
    }
    Ok(settings)
}

fn run(trace: &Trace, options: &Options, setting: &Setting) -> Result<Report, String> {
    let mut config = Config::new(setting.cache_blocks, setting.policy.clone());
    let disclose = match setting.hints {
        Hints::None => None,
        Hints::Recorded => Some(Disclosed::Profile),
        Hints::Told => Some(Disclosed::Library),
    };
    if setting.hints == Hints::Recorded {
        config.trust = Trust::Earned { initial_blocks: INITIAL_BLOCKS };
    }
    let how = timed::Options { think: options.think, disclose, device: options.device, lookup_ns: 0 };
    let mut setup = timed::setup(trace, &how, config);
    setup.readahead = Readahead::Osf1;
    host::run(&setup).map_err(|fault| format!("--device {}: {fault}", options.device))
}

/// A line of the table: a setting beside the program as it is, in the same memory.
struct Row<'a> {
    setting: &'a Setting,
    report: &'a Report,
    as_it_is: &'a Report,
}

impl<'a> Row<'a> {
    fn new(setting: &'a Setting, report: &'a Report, settings: &[Setting], reports: &'a [Report]) -> Self {
        let as_it_is = settings.iter().position(|it| it.cache_blocks == setting.cache_blocks).unwrap_or(0);
        Row { setting, report, as_it_is: &reports[as_it_is] }
    }

    fn device_bytes(report: &Report) -> u64 {
        report.devices[0].bytes
    }

    fn is_as_it_is(&self) -> bool {
        std::ptr::eq(self.report, self.as_it_is)
    }

    /// Whether it comes to what LRU does, and is not LRU.
    fn is_the_same(&self) -> bool {
        !self.is_as_it_is() && self.saved_ns() == 0 && self.saved_bytes() == 0
    }

    /// Nanoseconds less than as it is.
    fn saved_ns(&self) -> i64 {
        self.as_it_is.elapsed_ns.cast_signed() - self.report.elapsed_ns.cast_signed()
    }

    fn saved_bytes(&self) -> i64 {
        Row::device_bytes(self.as_it_is).cast_signed() - Row::device_bytes(self.report).cast_signed()
    }

    fn json(&self, recommended: bool) -> Value {
        let Row { setting, report, .. } = self;
        json!({
            "cache_blocks": setting.cache_blocks,
            "hints": setting.hints.word(),
            "policy": setting.policy.as_str(),
            "elapsed_s": report.elapsed_ns as f64 / 1e9,
            "stall_s": report.stall_ns() as f64 / 1e9,
            "device_bytes": Row::device_bytes(report),
            "saved_s": self.saved_ns() as f64 / 1e9,
            "saved_bytes": self.saved_bytes(),
            "recommended": recommended,
        })
    }
}

/// The setting that saves as good as the most, in the least memory, with the least said beforehand; None if none is worth it.
fn recommended(rows: &[Row<'_>]) -> Option<usize> {
    let slowest = rows.iter().map(|row| row.as_it_is.elapsed_ns).max()?;
    let saved = |row: &Row<'_>| slowest as f64 - row.report.elapsed_ns as f64;
    let most = rows.iter().map(saved).fold(0.0, f64::max);
    if most < WORTH_IT * slowest as f64 {
        return None;
    }
    let enough = rows.iter().enumerate().filter(|(_, row)| saved(row) >= AS_GOOD * most);
    let (at, best) = enough.min_by_key(|(_, row)| {
        let Setting { cache_blocks, hints, .. } = row.setting;
        (*cache_blocks, *hints, row.report.elapsed_ns)
    })?;
    // More memory alone is no setting of foresee.
    (best.setting.hints != Hints::None || best.saved_ns() > 0).then_some(at)
}

fn table(rows: &[Row<'_>], block_bytes: u64) -> String {
    let width = rows.iter().map(|row| row.setting.policy.as_str().len()).max().unwrap_or(0).max(14) + 2;
    let mut text = String::new();
    let (mut memory, mut hints, mut same) = (0, None, Vec::new());
    for row in rows {
        let Setting { cache_blocks, policy, .. } = row.setting;
        // Writing to a string does not fail.
        if memory != *cache_blocks {
            let line = if memory == 0 { "" } else { "\n" };
            let size = format!("{} blocks, {}", count(*cache_blocks), bytes(cache_blocks.saturating_mul(block_bytes)));
            let _ = writeln!(
                text,
                "{line}memory of {size}\n{:<width$}  {:>9}  {:>20}  {:>11}  {:>10}",
                "", "elapsed", "saved", "from device", "saved"
            );
            (memory, hints) = (*cache_blocks, None);
        }
        if hints != Some(row.setting.hints) {
            let _ = writeln!(text, "{}", row.setting.hints.heading());
            hints = Some(row.setting.hints);
        }
        let name = if row.is_as_it_is() { "lru, as it is" } else { policy.as_str() };
        if row.is_the_same() {
            same.push(name);
            continue;
        }
        let elapsed = row.as_it_is.elapsed_ns.max(1) as f64;
        // Rounded before it is shown: -0.04 is 0.
        let percent = (1000.0 * row.saved_ns() as f64 / elapsed).round() / 10.0 + 0.0;
        let saved_ns = signed(row.saved_ns(), |ns| time(Duration::from_nanos(ns)));
        let saved = format!("{saved_ns} ({percent:.1} %)");
        let (saved, saved_bytes) = match row.is_as_it_is() {
            true => (String::new(), String::new()),
            false => (saved, signed(row.saved_bytes(), bytes)),
        };
        let line = format!(
            "  {name:<width$}{:>9}  {saved:>20}  {:>11}  {saved_bytes:>10}",
            time(Duration::from_nanos(row.report.elapsed_ns)),
            bytes(Row::device_bytes(row.report)),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    same.sort_unstable();
    same.dedup();
    if !same.is_empty() {
        let _ = writeln!(text, "\nthe same as lru in some memory: {}", same.join(", "));
    }
    text
}

fn signed(number: i64, show: impl Fn(u64) -> String) -> String {
    format!("{}{}", if number < 0 { "-" } else { "" }, show(number.unsigned_abs()))
}

/// One sentence or two: what to do.
fn advice(best: Option<&Row<'_>>, rows: &[Row<'_>], block_bytes: u64) -> String {
    let Some(row) = best else {
        let waits = rows.iter().map(|row| row.as_it_is.stall_ns()).max().unwrap_or(0);
        let waits = time(Duration::from_nanos(waits));
        return format!(
            "Recommended: leave it as it is. It waits for {waits} at most, and nothing here saves a part worth it."
        );
    };
    let Setting { cache_blocks, hints, policy } = row.setting;
    let policy = policy.as_str();
    let memory = bytes(cache_blocks.saturating_mul(block_bytes));
    let how = match hints {
        Hints::None => format!("'foresee run --no-learn --policy {policy} -- CMD'"),
        Hints::Recorded => format!("'foresee run --policy {policy} -- CMD', from its second run on"),
        Hints::Told => format!(
            "'foresee run --policy {policy} -- CMD', and let the program disclose what it reads (docs/hints.md)"
        ),
    };
    let (from, to) = (row.as_it_is.elapsed_ns, row.report.elapsed_ns);
    let [from, to] = [from, to].map(|ns| time(Duration::from_nanos(ns)));
    format!("Recommended: {how}, in {memory}: {from} as it is, {to} so.")
}
