//! The options common to all that runs a command.

use std::ffi::OsString;

use clap::Args;
use foresee_manager::policy::Choice;
use foresee_run::launch::Streams;
use foresee_run::profile::Store;
use foresee_run::run::Run;

use crate::advice::Advised;
use crate::profile::Given;

/// What is common to all that runs a command.
#[derive(Args)]
pub struct Running {
    /// The command to run, and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,

    /// Neither use nor record what this command reads
    #[arg(long)]
    pub no_learn: bool,

    /// Go by what this file says that runs elsewhere read, as 'foresee profile export' wrote it,
    /// where no run of this command here is known: paths in a tree that is elsewhere here are
    /// found by the command's words and directory
    #[arg(long, value_name = "FILE", value_parser = crate::profile::read)]
    pub profile: Option<Given>,

    /// Take no hints from the command's own words (files and directories among its arguments)
    #[arg(long)]
    pub no_words: bool,

    /// Guess nothing from the order in which a directory's files are read
    #[arg(long)]
    pub no_listings: bool,

    /// Reckon with so much page cache (as in 512MiB), in place of what the control group or the
    /// machine has
    #[arg(long, value_name = "BYTES", value_parser = crate::sizes::bytes)]
    pub memory: Option<u64>,

    /// The policy that decides what is fetched ahead and what is dropped, with its parameters if
    /// need be, as in readahead:keep=pcc,keep.onward=0; 'foresee sim --list' shows them
    /// [default: informed; with --advice or --join
    /// informed:keep=lru-sp,keep.silent=reuse]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<Choice>,

    /// Give the command's programs the advice in this file, which of their own pages go first:
    /// lines 'file PATTERN PRIORITY' (lowest priority goes first), 'once PATTERN' and 'level
    /// PRIORITY lru|mru'; for policies that take advice, as lru-sp
    #[arg(long, value_name = "FILE", value_parser = crate::advice::read)]
    pub advice: Option<Advised>,
}

/// Whether reads ahead may go through io_uring: FORESEE_IO=threads does without it.
pub fn may_use_uring() -> bool {
    std::env::var_os("FORESEE_IO").is_none_or(|value| value != "threads")
}

/// The policy of a run that does not say which: what is known of its future is read ahead, and what
/// was used again soonest stays; of programs that say what they can spare, that decides.
pub fn default_policy(advised: bool) -> Choice {
    let name = if advised { "informed:keep=lru-sp,keep.silent=reuse" } else { "informed" };
    name.parse().unwrap_or_else(|error| unreachable!("{error}"))
}

impl Running {
    /// The run these options describe, which has something to say on these streams.
    pub fn run<'a>(&self, store: Option<&'a Store>, streams: Streams) -> Run<'a> {
        Run {
            command: self.command.clone(),
            policy: self.policy.clone().unwrap_or_else(|| default_policy(self.advice.is_some())),
            store: store.filter(|_| !self.no_learn),
            profile: self.profile.as_ref().map(|it| it.profile.clone()),
            words: !self.no_words,
            listings: !self.no_listings,
            advice: self.advice.as_ref().map(|it| it.advice.clone()),
            memory_bytes: self.memory,
            uring: may_use_uring(),
            trace: None,
            state: None,
            log: None,
            streams,
        }
    }
}
