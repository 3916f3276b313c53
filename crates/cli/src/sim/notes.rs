//! What a trace does not know, and what that means for the numbers: lines below a table.

use foresee_manager::policy::Choice;
use foresee_sim::load::Trace;
use foresee_sim::timed::Think;

/// For runs of these policies, with a clock if a way to think is given.
pub fn notes<'a>(trace: &Trace, choices: impl Iterator<Item = &'a Choice>, think: Option<Think>) -> String {
    let mut lines = String::new();
    let mut learn_sites: Vec<&str> =
        choices.filter(|choice| choice.build().nature().uses_sites).map(|choice| choice.as_str()).collect();
    learn_sites.dedup();
    if !learn_sites.is_empty() && !trace.knows_sites() {
        let policies = learn_sites.join(", ");
        lines.push_str(&format!("The trace knows no call sites: to {policies}, all its reads come from one.\n"));
    }
    if think == Some(Think::Traced) && trace.knows_no_durations() {
        lines.push_str("The trace knows no durations: what its programs waited for their reads counts as thinking.\n");
    }
    lines
}
