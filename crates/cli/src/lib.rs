//! The `foresee` command, as a library so that its man pages and completions are made of the words
//! it takes (`dist/pages`).

// A full disk or a closed pipe behind standard output is no reason to panic: `say` prints.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod advice;
mod advise;
mod compare;
mod damage;
mod explain;
mod join;
mod log;
mod mount;
mod output;
mod paper;
mod plot;
mod profile;
mod progress;
mod record;
mod replay;
mod report;
mod run;
mod running;
mod say;
mod sim;
mod sizes;
mod source;
mod stack;
mod stripe;
mod text;
mod top;
mod trace;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Runs programs with their reads foreseen: what they will read is read ahead, in parallel, just
/// early enough.
#[derive(Parser)]
#[command(name = "foresee", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a command with its reads foreseen
    Run(run::Options),
    /// Run a command and write what it reads as a trace
    Record(record::Options),
    /// Run policies on a trace: what hits, what misses
    Sim(sim::Options),
    /// Say why a block was fetched, kept or given up, in a run of a trace or in the log of a real
    /// one
    Explain(explain::Options),
    /// Say whether foresee would help a program, by a trace of it: with what command, by how much,
    /// at what cost
    Advise(advise::Options),
    /// Draw a trace: references, patterns, miss ratios, in one page or picture
    Plot(plot::Options),
    /// Convert traces, and count what they hold
    #[command(subcommand)]
    Trace(trace::Action),
    /// Replay the log of a run through the simulator, which must decide the same
    Replay(replay::Options),
    /// Show the runs of this user that are under way: what waits, what is read ahead, by program
    /// and file
    Top(top::Options),
    /// List, show, carry or forget what earlier runs read
    #[command(subcommand)]
    Profile(profile::Action),
    /// Make a paper's experiments on the simulated host, published numbers beside ours
    Paper(paper::Options),
    /// Spread one file over several disks, and read it from all of them at once
    #[command(subcommand)]
    Stripe(stripe::Action),
    /// Show what an object store or a slow directory has as files
    #[command(disable_help_flag = true)]
    Mount(Words),
    /// Unmount what 'foresee mount' shows
    #[command(disable_help_flag = true)]
    Unmount(Words),
    /// Supervise joined runs; the first of them starts it
    #[command(hide = true)]
    Supervise,
}

/// What another program makes of them.
#[derive(clap::Args)]
struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

/// The words it takes.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Does what this process's words say.
pub fn main() -> ExitCode {
    stack::with_room(run)
}

fn run() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => carry_out(cli.command),
        Err(wrong) if wrong.use_stderr() => wrong.exit(),
        Err(help) => say::print(|out| write!(out, "{help}")).map(|()| 0),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(message) => {
            say::say(message);
            ExitCode::from(2)
        }
    }
}

/// Does it; returns the exit status.
fn carry_out(verb: Verb) -> Result<u8, String> {
    if !matches!(verb, Verb::Run(_) | Verb::Record(_) | Verb::Supervise) {
        // What prints to a pipe ends with it. A run does not: its program decides.
        // SAFETY: no handler is installed.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }
    match verb {
        Verb::Run(options) => run::main(options),
        Verb::Record(options) => record::main(options),
        Verb::Sim(options) => sim::main(options),
        Verb::Explain(options) => explain::main(options),
        Verb::Advise(options) => advise::main(options),
        Verb::Plot(options) => plot::main(options),
        Verb::Trace(action) => trace::main(action),
        Verb::Replay(options) => replay::main(options),
        Verb::Top(options) => top::main(options),
        Verb::Profile(action) => profile::main(action),
        Verb::Paper(options) => paper::main(options),
        Verb::Stripe(action) => stripe::main(action),
        Verb::Mount(Words { words }) => mount::main("mount", &words),
        Verb::Unmount(Words { words }) => mount::main("unmount", &words),
        Verb::Supervise => join::supervise(),
    }
}
