//! `foresee explain`: why a block was fetched, kept, given up.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use foresee_manager::policy::Choice;
use foresee_manager::{Block, Config, FileId, Header, Time};
use foresee_sim::explain::{Question, Witness};
use foresee_sim::load::Trace;
use foresee_sim::replay::retrace;
use foresee_sim::size::Size;
use foresee_sim::timed::{self, Think};
use foresee_sim::trace::Input;
use foresee_sim::untimed::{Cell, run_watched};
use foresee_sim::{device, host};

use crate::say::print;
use crate::sim::think;
use crate::source::Source;
use crate::text::{count, many, time};

/// Options of `foresee explain`.
#[derive(Args)]
pub struct Options {
    /// A trace (- for standard input), to be run as told below; or a log written by 'foresee run --log', which says itself how it was run
    trace: PathBuf,

    /// The policy, with parameters if need be
    #[arg(long, short, value_name = "P", default_value = "lru")]
    policy: Choice,

    /// The cache's size: blocks (1000), bytes (64MiB), or a share of the trace's different blocks (10%)
    #[arg(long, short, value_name = "SIZE", default_value = "10%")]
    cache: Size,

    /// All that happened to this block: FILE is a name, the end of one, or a number (a log knows numbers only)
    #[arg(long, value_name = "FILE:INDEX")]
    block: Option<String>,

    /// What happened at this time (1.5s, 20ms, 300us), or at the reference of this number (1200)
    #[arg(long, value_name = "TIME", conflicts_with = "block", value_parser = moment)]
    at: Option<Question>,

    /// Run with a clock, all files on this device, as for 'foresee sim'
    #[arg(long, value_name = "DEVICE")]
    device: Option<device::Choice>,

    /// With a clock: how long a thread thinks before each read: traced (as in the trace), none, or a time as 50us
    #[arg(long, value_name = "TIME", default_value = "traced", value_parser = think, requires = "device")]
    think: Think,

    /// With a clock: each process discloses beforehand all it will read
    #[arg(long, requires = "device")]
    disclose: bool,

    #[command(flatten)]
    source: Source,
}

fn moment(text: &str) -> Result<Question, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let timed = || {
        let (number, unit) = units.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
        let ns = number.parse::<f64>().ok()? * unit;
        (0.0..1.8e19).contains(&ns).then_some(Question::Time(Time(ns as u64)))
    };
    let counted = || text.parse().ok().filter(|&number| number > 0).map(Question::Reference);
    counted()
        .or_else(timed)
        .ok_or_else(|| format!("'{text}' is no time, as 1.5s, and no number of a reference, as 1200"))
}

/// Explains; returns the exit status: 1 if there is nothing to explain.
pub fn main(options: Options) -> Result<u8, String> {
    let mut input = options.source.input(&options.trace)?;
    match header(&mut input)? {
        Some(Header(config)) => {
            let question = options.question(&[])?;
            let policy = config.policy.as_str().to_owned();
            let mut witness = Witness::new(question, &policy, &[], &[]);
            let watch = &mut |now, event, actions: &[_], manager: &_| witness.see(now, event, actions, manager);
            retrace(input, watch).map_err(|error| error.to_string())?;
            tell(&witness, &format!("{policy}, {} pages at first", count(config.capacity)), question)
        }
        None => {
            let trace = options.source.load_from(input, options.device.is_some())?;
            let names: Vec<String> = trace.files.iter().map(|file| file.name.clone()).collect();
            let question = options.question(&names)?;
            let processes = trace.processes();
            let mut witness = Witness::new(question, options.policy.as_str(), &names, &processes);
            let cache_blocks = options.cache.blocks(&trace);
            options.run(&trace, cache_blocks, &mut witness)?;
            tell(&witness, &format!("{}, {} blocks", options.policy.as_str(), count(cache_blocks)), question)
        }
    }
}

/// How a log was run; None if the file is no log.
fn header(input: &mut Input) -> Result<Option<Header>, String> {
    let path = input.path().to_owned();
    let head = input.head().map_err(|error| error.to_string())?;
    if !head.bytes.starts_with(b"foresee-log ") {
        return Ok(None);
    }
    let line = head.bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let header = String::from_utf8_lossy(line).parse();
    header.map(Some).map_err(|error| format!("{}, line 1: {error}", path.display()))
}

impl Options {
    fn question(&self, names: &[String]) -> Result<Question, String> {
        match (&self.at, &self.block) {
            (Some(question), _) => Ok(*question),
            (None, Some(text)) => block(text, names).map(Question::Block),
            (None, None) => Err("say what is to be explained: --block FILE:INDEX, or --at TIME".to_owned()),
        }
    }

    fn run(&self, trace: &Trace, cache_blocks: u64, witness: &mut Witness<'_>) -> Result<(), String> {
        let policy = self.policy.clone();
        match self.device {
            None => {
                run_watched(trace, &Cell { policy, cache_blocks }, &|_| {}, |at, actions, manager| {
                    let (now, event) = trace.observed(at);
                    witness.see(now, event, actions, manager);
                });
            }
            Some(device) => {
                let disclose = self.disclose.then_some(foresee_manager::Source::Library);
                let how = timed::Options { think: self.think, disclose, device, lookup_ns: 0 };
                let setup = timed::setup(trace, &how, Config::new(cache_blocks, policy));
                host::run_watched(&setup, &mut |now, event, actions, manager| {
                    witness.see(now, event, actions, manager)
                })
                .map_err(|fault| format!("--device {device}: {fault}"))?;
            }
        }
        Ok(())
    }
}

/// A block by its file's name (or the end of it that only one has), or number.
fn block(text: &str, names: &[String]) -> Result<Block, String> {
    let bad = || format!("--block {text}: is not of the form FILE:INDEX, as data.db:17");
    let (file, index) = text.rsplit_once(':').ok_or_else(bad)?;
    let index = index.parse().ok().filter(|&index| index < Block::INDEX_LIMIT).ok_or_else(bad)?;
    let of = |number: usize| Block { file: FileId(number as u32), index };
    if let Some(number) = names.iter().position(|name| name == file) {
        return Ok(of(number));
    }
    if let Some(number) = file.parse().ok().filter(|&number| names.is_empty() || number < names.len()) {
        return Ok(of(number));
    }
    let ending: Vec<usize> = (0..names.len()).filter(|&at| !file.is_empty() && names[at].ends_with(file)).collect();
    match ending[..] {
        [number] => Ok(of(number)),
        [] if names.is_empty() => Err(format!("--block {text}: a log knows files by their numbers; '{file}' is none")),
        [] => Err(format!("--block {text}: the trace has no file '{file}'; 'foresee plot' names those read most")),
        [one, another, ..] => {
            Err(format!("--block {text}: '{file}' is {} as well as {}; name more of it", names[one], names[another]))
        }
    }
}

fn tell(witness: &Witness<'_>, run: &str, question: Question) -> Result<u8, String> {
    print(|out| lines(witness, run, question, out))?;
    Ok(u8::from(witness.lines.is_empty()))
}

fn lines(witness: &Witness<'_>, run: &str, question: Question, out: &mut dyn Write) -> io::Result<()> {
    let timed = witness.lines.iter().any(|line| line.now > Time(0));
    writeln!(out, "under {run}")?;
    for line in &witness.lines {
        let now = if timed { format!("{:>9}  ", time(Duration::from_nanos(line.now.0))) } else { String::new() };
        writeln!(out, "{now}reference {:<9} {}", count(line.references), line.text)?;
    }
    if witness.lines.is_empty() {
        writeln!(
            out,
            "nothing happened {}",
            if matches!(question, Question::Block(_)) { "to it" } else { "then or later" }
        )?;
        return Ok(());
    }
    if matches!(question, Question::Block(_)) {
        let sum = witness.sum;
        writeln!(
            out,
            "read {}: {} found, {} on its way, {} missed; given up {}, {} of them read again",
            many(sum.found + sum.late + sum.missed, "time"),
            count(sum.found),
            count(sum.late),
            count(sum.missed),
            many(sum.given_up, "time"),
            count(sum.regretted)
        )?;
    }
    Ok(())
}
