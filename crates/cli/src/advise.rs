//! `foresee advise`: whether foresee would help a program, by a trace of it: what to run, how much
//! faster that is, what it costs.

mod answer;
mod memory;
mod notes;
mod results;
mod settings;
mod storage;
mod table;

use std::path::PathBuf;
use std::slice::from_ref;

use clap::Args;
use foresee_manager::policy::Choice;
use foresee_sim::cells::map;
use foresee_sim::device;
use foresee_sim::host::{Fault, Report};
use foresee_sim::load::Trace;
use foresee_sim::timed::Think;
use serde_json::json;

use crate::output::Output;
use crate::progress::Progress;
use crate::report::write_json;
use crate::say::print;
use crate::sim::{heading, policies, refuse_offline, think};
use crate::source::Source;
use answer::Answer;
use memory::{Memory, Size};
use results::{Results, Row};
use settings::{Setting, compared, settings};
use storage::Storage;

/// Options of `foresee advise`.
#[derive(Args)]
#[command(mut_arg("sample", |it| it.hide(true)))]
pub struct Options {
    /// The trace (- for standard input), as 'foresee record -o TRACE -- CMD' writes it, or of
    /// another format
    trace: PathBuf,

    /// The memory there is for what is read: bytes (512MiB), or a share of all the trace reads
    /// (10%) [default: what is available here, of the control group or the machine]
    #[arg(long, value_name = "SIZE", value_parser = memory::size)]
    memory: Option<Size>,

    /// The storage all files lie on, as for 'foresee sim' [default: network storage, a hard disk, a
    /// local SSD, one after the other]
    #[arg(long, value_name = "DEVICE")]
    device: Option<device::Choice>,

    /// How long a thread thinks before each read: traced (as in the trace), none, or a time as 50us
    #[arg(long, value_name = "TIME", default_value = "traced", value_parser = think)]
    think: Think,

    /// Policies to compare foresee's own with, told nothing [default: all but null and opt]
    #[arg(long, short, value_name = "P,Q")]
    policy: Option<String>,

    #[command(flatten)]
    source: Source,

    /// Write the answer and the table to this file as an object (- for standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
}

/// Finds the answer; returns the exit status.
pub fn main(options: Options) -> Result<u8, String> {
    let json = Output::check_any("--json", options.json.as_deref(), from_ref(&options.trace))?;
    options.source.refuse_sample()?;
    let asked = options.policy.as_deref().map(policies).transpose()?;
    refuse_offline(asked.iter().flatten())?;
    let compared = compared(asked)?;
    let memory = Memory::find(options.memory)?;
    let trace = options.source.load(&options.trace, true)?;
    let memory_blocks = memory.blocks(&trace);
    let results = options.simulate(&trace, memory_blocks, &compared)?;
    let answer = Answer::new(&results, &trace);
    let mut notes = vec![memory.note(&trace)];
    notes.extend(notes::notes(&trace, options.think, &compared));
    match &json {
        Some(output) => {
            let mut object = answer.json();
            object["memory_bytes"] = memory.bytes(&trace).into();
            object["memory_is_given"] = options.memory.is_some().into();
            object["trace_bytes"] = (trace.distinct_blocks() * trace.block_bytes).into();
            object["notes"] = json!(notes);
            object["settings"] = json!(results.json());
            write_json(output, &object)?;
        }
        None => {
            let (answer, notes, table) = (answer.text(), notes.join("\n"), table::table(&results, 0));
            let (heading, storage) = (heading(&options.trace, &trace), &results.storages[0].name);
            print(|out| {
                writeln!(out, "{heading}\n{answer}{notes}\n\nEvery setting, on {storage}:\n{}", table.trim_end())
            })?;
        }
    }
    Ok(0)
}

impl Options {
    /// Runs every setting.
    fn simulate(&self, trace: &Trace, memory_blocks: u64, compared: &[Choice]) -> Result<Results, String> {
        let storages: Vec<Storage> = match self.device {
            Some(device) => vec![Storage::given(device)],
            None => storage::kinds()?.into_iter().filter(|storage| storage.holds(trace)).collect(),
        };
        let settings = settings(storages.len(), compared)?;
        let progress = Progress::new();
        let run = |setting: &Setting| setting.run(trace, memory_blocks, self.think, &storages[setting.storage]);
        let reports = map(&settings, &|done, total| progress.show(done, total), run);
        progress.clear();
        let row = |(setting, report): (Setting, Result<Report, Fault>)| {
            let device = storages[setting.storage].device;
            let report = report.map_err(|fault| format!("{}: --device {device}: {fault}", self.trace.display()))?;
            Ok(Row { setting, report })
        };
        let rows = settings.into_iter().zip(reports).map(row).collect::<Result<_, String>>()?;
        Ok(Results { storages, rows })
    }
}
