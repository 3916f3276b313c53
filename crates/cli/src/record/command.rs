//! Recording a command that is run for it.

use std::cell::RefCell;
use std::path::Path;

use super::output::Output;
use foresee_run::launch::Streams;
use foresee_run::supervisor::Traced;

use crate::report::named;
use crate::run::{conclude, failed};
use crate::running::Running;
use crate::say::say;

/// Runs the command and writes down what it read and wrote; returns the exit status.
pub fn main(trace: &Path, running: &Running, report: bool) -> Result<u8, String> {
    if trace.as_os_str() == "-" {
        return Err("--output -: the command itself writes there; name a file to write the trace to".to_owned());
    }
    let output = RefCell::new(Output::create(trace)?);
    // A recording shows what the program does by itself: nothing is read ahead, and every read is told.
    // What the recording ends with is to be told.
    let mut run = running.run(None, Streams { output: false, error: true, file: true });
    run.policy = "lru".parse()?;
    run.words = false;
    run.listings = false;
    run.trace = Some(Box::new(|traced| match traced {
        Traced::Transfer(transfer) => output.borrow_mut().take(&transfer),
        Traced::Site { site, object, offset } => output.borrow_mut().place(site, object, offset),
    }));
    let ran = match run.go() {
        Ok(ran) => ran,
        Err(failure) => return Ok(failed(failure)),
    };
    let written = output.into_inner().finish();
    let unseen = named(ran.account.unseen.iter());
    if !unseen.is_empty() {
        let lacking = "the trace lacks what these read, which foresee's library does not see";
        say(format_args!("{lacking}: {unseen}; --pid and --system see them"));
    }
    if let Err(error) = &written {
        say(error);
    }
    // The command's own failure says more than ours.
    match conclude(&ran, None, report, None) {
        0 if written.is_err() => Ok(2),
        status => Ok(status),
    }
}
