//! What the answer rests on: what the trace does not show, and how to learn more.

use std::time::Duration;

use foresee_manager::policy::Choice;
use foresee_sim::load::Trace;
use foresee_sim::timed::Think;

use crate::running::default_policy;
use crate::sim;
use crate::text::time;

/// A line each.
pub fn notes(trace: &Trace, think: Think, compared: &[Choice]) -> Vec<String> {
    let mut notes = Vec::new();
    if trace.distinct_blocks() == trace.references {
        notes.push("It reads nothing twice: what helps is reading ahead alone, in any memory.".to_owned());
    }
    if think == Think::Traced && !trace.knows_times() {
        notes.push(
            "The trace has no times: the program is taken to do nothing but read, which gains most. 'foresee record -o TRACE -- CMD' \
             records times; --think 50us assumes some."
                .to_owned(),
        );
    }
    match trace.took_ns() {
        0 => {}
        took_ns => notes.push(format!(
            "Where it was recorded, its reads took {} in all: where they take no longer, foresee saves no more.",
            time(Duration::from_nanos(took_ns))
        )),
    }
    let choices = [default_policy(false)];
    notes.extend(sim::notes(trace, choices.iter().chain(compared), Some(think)).lines().map(str::to_owned));
    notes.push(
        "Simulated, on a cold cache. 'foresee run --compare 5 -- CMD' measures it here; a first run may gain more, by the command's words."
            .to_owned(),
    );
    notes
}
