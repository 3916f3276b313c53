//! `foresee run`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use foresee_run::account::{Account, Ending};
use foresee_run::launch::{Streams, become_command};
use foresee_run::profile::Store;
use foresee_run::run::{Failure, OWN_FAILURE, Ran};
use foresee_run::supervisor::Tally;
use serde_json::Value;

use crate::log::Log;
use crate::output::Output;
use crate::running::Running;
use crate::say::say;
use crate::{compare, join, report, top};

/// Options of `foresee run`.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    running: Running,

    /// Print the account even if standard error is no terminal
    #[arg(long, conflicts_with = "quiet")]
    report: bool,

    /// Print no account
    #[arg(long, short)]
    quiet: bool,

    /// Write the account as JSON to this file (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Run the command N times with and N times without foresee, in turn, each on a cold cache, and
    /// print medians and their ratio. Standard input of each run is /dev/null, or from its
    /// beginning the file it comes from; profiles are kept apart, and one run comes first and
    /// is not measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "log")]
    compare: Option<u32>,

    /// Share memory with this user's other runs of the same NAME, as policy lru-sp divides it
    /// between their programs. Such runs learn nothing and take no hints; the first of them
    /// settles --policy and --memory
    #[arg(long, value_name = "NAME", conflicts_with_all = ["compare", "log"])]
    join: Option<String>,

    /// Write every event the manager takes in and every action it answers to this file, for
    /// 'foresee replay'
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Runs the command; returns the exit status to end with.
pub fn main(options: Options) -> Result<u8, String> {
    let store = Store::of_user();
    let json = || Output::check_any("--json", options.json.as_deref(), &[]);
    let files = || Ok((json()?, Log::begin(options.log.as_deref())?));
    let (json, log) = match files() {
        Ok(files) => files,
        Err(message) => return Ok(failed(Failure::Wrong(message))),
    };
    let json = json.as_ref();
    if let Some(rounds) = options.compare {
        return compare::main(&options.running, rounds, json);
    }
    let shown = options.report || (!options.quiet && std::io::stderr().is_terminal());
    let asked_for = shown || json.is_some() || log.is_some();
    let streams = Streams {
        output: json.is_some_and(Output::is_standard),
        error: asked_for && !options.quiet,
        file: json.is_some() || log.is_some(),
    };
    if let Some(name) = &options.join {
        let joined = join::main(&options.running, name, streams, shown, json)?;
        return Ok(joined.unwrap_or_else(|failure| without(&options, json, failure)));
    }
    let mut run = options.running.run(store.as_ref(), streams);
    run.state = Some(top::state(&options.running.command));
    run.log = log.as_ref().map(|log| log.sink());
    let mut ran = match run.go() {
        Ok(ran) => ran,
        Err(failure) => return Ok(without(&options, json, failure)),
    };
    let unlogged = log.and_then(|log| log.finish().err());
    ran.account.warnings.extend(unlogged.clone());
    let status = conclude(&ran, store.as_ref().filter(|_| !options.running.no_learn), shown, json);
    Ok(if unlogged.is_some() { OWN_FAILURE } else { status })
}

/// Becomes the command, where it is only us who cannot run here; returns otherwise.
fn without(options: &Options, json: Option<&Output>, failure: Failure) -> u8 {
    let Failure::Unable(why) = failure else { return failed(failure) };
    let warning = format!("runs without foresee: {why}");
    if !options.quiet {
        say(&warning);
    }
    if let Some(output) = json {
        let tally = Tally { warnings: vec![warning], ..Tally::default() };
        let mut account = report::json(&Account::new(tally, Duration::ZERO, Ending::Status(0), Duration::ZERO));
        // It has not ended yet, and then nobody will be left to tell.
        account["status"] = Value::Null;
        if let Err(error) = report::write_json(output, &account) {
            return failed(Failure::Wrong(error));
        }
    }
    failed(become_command(&options.running.command))
}

/// Says why a command was not run; returns the exit status that says it too.
pub fn failed(failure: Failure) -> u8 {
    let status = failure.status();
    failure.message().into_iter().for_each(say);
    status
}

/// Keeps the profile and tells the account; returns the exit status to end with if the command's
/// own is 0.
pub fn conclude(ran: &Ran, store: Option<&Store>, shown: bool, json: Option<&Output>) -> u8 {
    let mut account = ran.account.clone();
    let kept = keep(ran, store);
    let is_kept = matches!(kept, Ok(true));
    account.warnings.extend(kept.err());
    let unwritten = json.and_then(|output| report::write_json(output, &report::json(&account)).err());
    for warning in account.warnings.iter().chain(&unwritten) {
        say(warning);
    }
    if shown {
        for line in report::lines(&account, is_kept) {
            say(line);
        }
    }
    if unwritten.is_some() { OWN_FAILURE } else { 0 }
}

/// Keeps what a run read, unless that is kept already or the run was cut short: by a signal, by
/// lost records, or, where an earlier run read more, by whatever made the command fail. What it found
/// of itself is kept in any case, where there is a profile. Returns whether the next run knows what it
/// read.
fn keep(ran: &Ran, store: Option<&Store>) -> Result<bool, String> {
    let Some(store) = store else { return Ok(false) };
    let profile = &ran.profile;
    let failed = ran.account.ending != Ending::Status(0);
    let cut_short = matches!(ran.account.ending, Ending::Signal(_)) || ran.account.records_lost > 0;
    let is_whole = !(profile.steps.is_empty() || cut_short || failed && ran.had_more);
    let kept = if ran.is_new && is_whole {
        store.save(profile)
    } else if ran.is_new || profile.findings != ran.findings {
        store.note(profile, ran.findings)
    } else {
        Ok(())
    };
    kept.map(|()| is_whole).map_err(|error| format!("the profile was not kept: {error}"))
}
