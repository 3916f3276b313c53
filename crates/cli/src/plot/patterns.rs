//! The pattern of each reference, as the policy of patterns sees it: `pcc` where a trace knows call
//! sites, else `ubm`.

use std::collections::HashMap;

use foresee_manager::Block;
use foresee_sim::load::{Entry, Trace};
use foresee_sim::untimed::{Cell, run_watched};

/// The policy of patterns.
fn policy(trace: &Trace) -> &'static str {
    if trace.knows_sites() { "pcc" } else { "ubm" }
}

/// The patterns of a trace's references.
pub struct Patterns {
    /// The policy that told them.
    pub policy: &'static str,
    /// Their names.
    pub names: Vec<String>,
    /// The pattern of each reference, one after the other.
    of_reference: Vec<u8>,
    /// Where each request's references begin.
    begins: Vec<usize>,
}

impl Patterns {
    /// Runs the policy with memory for all: a pattern does not depend on what is kept.
    pub fn of(trace: &Trace) -> Result<Patterns, String> {
        let policy = policy(trace);
        let cell = Cell::new(policy.parse()?, trace.references);
        let (mut names, mut of_reference, mut begins) = (Vec::new(), Vec::new(), Vec::new());
        run_watched(trace, &cell, &|_| {}, |at, _, manager| {
            let Entry { first, count, .. } = trace.entry(at);
            begins.push(of_reference.len());
            let pattern = |index| manager.partition_of(Block { index, ..first }).map_or(u8::MAX, |it| it as u8);
            of_reference.extend((first.index..first.index + count).map(pattern));
            if names.is_empty() {
                names = manager.partitions().into_iter().map(|part| part.name).collect();
            }
        });
        // What it never saw (pages brought ahead) needs no name.
        let seen = of_reference.iter().map(|&it| usize::from(it)).filter(|&it| it < names.len()).max();
        names.truncate(seen.map_or(0, |last| last + 1));
        Ok(Patterns { policy, names, of_reference, begins })
    }

    /// The name of the only pattern there is, if there is one only.
    pub fn only(&self) -> Option<&str> {
        let mut seen = self.of_reference.iter().map(|&it| usize::from(it)).filter(|&it| it < self.names.len());
        let first = seen.next()?;
        seen.all(|it| it == first).then(|| self.names[first].as_str())
    }

    /// The pattern of the n-th block of a request.
    pub fn of_reference(&self, at: usize, nth: u64) -> Option<usize> {
        let pattern = usize::from(self.of_reference[self.begins[at] + nth as usize]);
        (pattern < self.names.len()).then_some(pattern)
    }

    /// How many references of each pattern each group made.
    pub fn of_groups(&self, trace: &Trace, key: fn(&Entry, &Trace) -> u64) -> HashMap<u64, Vec<u64>> {
        let mut groups: HashMap<u64, Vec<u64>> = HashMap::new();
        for at in 0..trace.len() {
            let entry = trace.entry(at);
            let counts = groups.entry(key(&entry, trace)).or_insert_with(|| vec![0; self.names.len()]);
            for pattern in (0..entry.count).filter_map(|nth| self.of_reference(at, nth)) {
                counts[pattern] += 1;
            }
        }
        groups
    }
}
