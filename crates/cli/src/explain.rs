//! `foresee explain`: why a block was fetched, kept, given up, and why a file was not fetched.

use std::cell::RefCell;
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
use foresee_sim::timed::{self, Disclosure, Think};
use foresee_sim::trace::Input;
use foresee_sim::untimed::{Cell, run_watched};
use foresee_sim::{device, host};

use crate::running::default_policy;
use crate::say::print;
use crate::sim::{disclosure, refuse_offline, think};
use crate::source::Source;
use crate::text::{count, many, time};

/// Options of `foresee explain`.
#[derive(Args)]
pub struct Options {
    /// A trace (- for standard input), to be run as told below; or a log written by 'foresee run
    /// --log', which says itself how it was run
    trace: PathBuf,

    /// The policy, with parameters if need be [default: informed, as of 'foresee run']
    #[arg(long, short, value_name = "P")]
    policy: Option<Choice>,

    /// The cache's size: blocks (1000), bytes (64MiB), or a share of the trace's different blocks
    /// (10%) [default: 10%]
    #[arg(long, short, value_name = "SIZE")]
    cache: Option<Size>,

    /// All that happened to this block: FILE is a name, the end of one, or a number
    #[arg(long, value_name = "FILE:INDEX")]
    block: Option<String>,

    /// All that happened to this file, and why it was fetched or not: a name, the end of one, or a
    /// number
    #[arg(long, value_name = "FILE", conflicts_with = "block")]
    file: Option<String>,

    /// What happened at this time (1.5s, 20ms, 300us), or at the reference of this number (1200)
    #[arg(long, value_name = "TIME", conflicts_with_all = ["block", "file"], value_parser = moment)]
    at: Option<Question>,

    /// Run with a clock, all files on this device, as for 'foresee sim'
    #[arg(long, value_name = "DEVICE")]
    device: Option<device::Choice>,

    /// With a clock: how long a thread thinks before each read: traced (as in the trace), none, or
    /// a time as 50us
    #[arg(long, value_name = "TIME", default_value = "traced", value_parser = think, requires = "device")]
    think: Think,

    /// With a clock: what is known beforehand, told, recorded or recorded:20%, as for 'foresee sim'
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "told",
          value_parser = disclosure, requires = "device")]
    disclose: Option<Disclosure>,

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
            options.refuse_for_log()?;
            let policy = config.policy.as_str().to_owned();
            let witness = options.retrace(input, &policy)?;
            tell(&witness, &format!("{policy}, {} at first", many(config.capacity, "page")))
        }
        None => {
            let trace = options.source.load_from(input, options.device.is_some())?;
            let names: Vec<String> = trace.files.iter().map(|file| file.name.clone()).collect();
            let question = options.asked()?.among(&names)?;
            let processes = trace.processes();
            let policy = options.policy.clone().unwrap_or_else(|| default_policy(false));
            let mut witness = Witness::new(question, policy.as_str(), names, &processes);
            witness.name_sites(&trace.sites_named);
            let cache_blocks = options.cache.map_or_else(|| "10%".parse(), Ok)?.blocks(&trace);
            options.run(&trace, &policy, cache_blocks, &mut witness)?;
            tell(&witness, &format!("{}, {}", policy.as_str(), many(cache_blocks, "block")))
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
    fn asked(&self) -> Result<Asked<'_>, String> {
        match (&self.at, &self.block, &self.file) {
            (Some(question), ..) => Ok(Asked { text: "", file: "", question: Some(*question), index: None }),
            (None, Some(text), _) => Asked::block(text),
            (None, None, Some(file)) => Ok(Asked { text: file, file, question: None, index: None }),
            (None, None, None) => {
                Err("say what is to be explained: --file FILE, --block FILE:INDEX, or --at TIME".to_owned())
            }
        }
    }

    /// Makes the run of a log again. What its files are called is said as they come.
    fn retrace<'a>(&self, input: Input, policy: &'a str) -> Result<Witness<'a>, String> {
        let asked = self.asked()?;
        let question = asked.question.or_else(|| Some(asked.of(FileId(asked.file.parse().ok()?))));
        let mut found: Option<(Question, String)> = None;
        let mut doubt = None;
        let nobody = Question::File(FileId(u32::MAX));
        let witness = RefCell::new(Witness::new(question.unwrap_or(nobody), policy, Vec::new(), &[]));
        let name = |file: FileId, name: &str| {
            let mut witness = witness.borrow_mut();
            witness.name_file(file, name);
            if question.is_some() || !name.ends_with(asked.file) {
                return;
            }
            match &found {
                // The whole of a name is one file's only.
                Some((_, before)) if before == asked.file => {}
                Some((_, before)) if name != asked.file => {
                    doubt.get_or_insert_with(|| asked.doubtful(before, name));
                }
                _ => {
                    witness.ask(asked.of(file));
                    found = Some((asked.of(file), name.to_owned()));
                }
            }
        };
        let watch =
            &mut |now, event, actions: &[_], manager: &_| witness.borrow_mut().see(now, event, actions, manager);
        retrace(input, name, watch).map_err(|error| error.to_string())?;
        match (question.or(found.map(|it| it.0)), doubt) {
            (_, Some(doubt)) => Err(doubt),
            (None, None) => Err(format!("'{}': the run met no file of that name", asked.text)),
            (Some(_), None) => Ok(witness.into_inner()),
        }
    }

    /// A log says how it was run.
    fn refuse_for_log(&self) -> Result<(), String> {
        let given = [
            ("--policy", self.policy.is_some()),
            ("--cache", self.cache.is_some()),
            ("--device", self.device.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((option, _)) => Err(format!(
                "{option}: {} is the log of a run, which says how it was run; leave it out",
                self.trace.display()
            )),
        }
    }

    fn run(&self, trace: &Trace, policy: &Choice, cache_blocks: u64, witness: &mut Witness<'_>) -> Result<(), String> {
        let policy = policy.clone();
        match self.device {
            None => {
                let cell = Cell { explains: true, ..Cell::new(policy, cache_blocks) };
                run_watched(trace, &cell, &|_| {}, |at, actions, manager| {
                    let (now, event) = trace.observed(at);
                    witness.see(now, event, actions, manager);
                });
            }
            Some(device) => {
                refuse_offline([&policy])?;
                let how = timed::Options { think: self.think, disclose: self.disclose, device, disks: 1, lookup_ns: 0 };
                let config = Config { explains: true, ..Config::new(cache_blocks, policy) };
                let setup = timed::setup(trace, &how, config);
                host::run_watched(&setup, &mut |now, event, actions, manager| {
                    witness.see(now, event, actions, manager)
                })
                .map_err(|fault| format!("--device {device}: {fault}"))?;
            }
        }
        Ok(())
    }
}

/// What is asked about, in the user's words.
struct Asked<'a> {
    text: &'a str,
    file: &'a str,
    question: Option<Question>,
    /// The block of the file, if it is not all of it.
    index: Option<u64>,
}

impl<'a> Asked<'a> {
    fn block(text: &'a str) -> Result<Self, String> {
        let bad = || format!("--block {text}: is not of the form FILE:INDEX, as data.db:17");
        let (file, index) = text.rsplit_once(':').ok_or_else(bad)?;
        let index = index.parse().ok().filter(|&index| index < Block::INDEX_LIMIT).ok_or_else(bad)?;
        if file.is_empty() {
            return Err(bad());
        }
        Ok(Asked { text, file, question: None, index: Some(index) })
    }

    fn of(&self, file: FileId) -> Question {
        self.index.map_or(Question::File(file), |index| Question::Block(Block { file, index }))
    }

    fn doubtful(&self, one: &str, another: &str) -> String {
        format!("'{}': '{}' is {one} as well as {another}; name more of it", self.text, self.file)
    }

    /// The question, of the file of this name, or of the end of it that only one has, or of this
    /// number.
    fn among(&self, names: &[String]) -> Result<Question, String> {
        let of = |number: usize| Ok(self.of(FileId(number as u32)));
        if let Some(question) = self.question {
            return Ok(question);
        }
        if let Some(number) = names.iter().position(|name| name == self.file) {
            return of(number);
        }
        if let Some(number) = self.file.parse().ok().filter(|&number| names.is_empty() || number < names.len()) {
            return of(number);
        }
        let ending: Vec<usize> = (0..names.len()).filter(|&at| names[at].ends_with(self.file)).collect();
        match ending[..] {
            [number] => of(number),
            [] => Err(format!(
                "'{}': the trace has no file '{}'; 'foresee plot' names those read most",
                self.text, self.file
            )),
            [one, another, ..] => Err(self.doubtful(&names[one], &names[another])),
        }
    }
}

fn tell(witness: &Witness<'_>, run: &str) -> Result<u8, String> {
    print(|out| lines(witness, run, witness.question(), out))?;
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
            if matches!(question, Question::Block(_) | Question::File(_)) { "to it" } else { "then or later" }
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
