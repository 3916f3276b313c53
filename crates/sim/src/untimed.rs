//! A trace through a policy without a clock: what hits, what misses. Every fetch arrives at once.
//!
//! The trace is loaded once and shared; each combination of policy and size is a run of its own,
//! and runs go in parallel.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foresee_manager::policy::{Choice, Patterns};
use foresee_manager::{Action, Config, DeviceId, Event, FileId, Manager, Order, Statistics, Time};

use crate::cells::map;
use crate::load::Trace;
use crate::sample::Missed;

/// Requests between two reports of progress: some milliseconds.
const REQUESTS_PER_REPORT: usize = 1 << 16;

/// One run to make.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The policy.
    pub policy: Choice,
    /// The cache's size.
    pub cache_blocks: u64,
    /// What the policy is taught first: [`Outcome::learned`] of an earlier run.
    pub taught: Vec<Event>,
    /// Whether the manager says by what pages went.
    pub explains: bool,
}

impl Cell {
    /// A run of a policy that was taught nothing.
    pub fn new(policy: Choice, cache_blocks: u64) -> Self {
        Cell { policy, cache_blocks, taught: Vec::new(), explains: false }
    }
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The policy, as it was chosen.
    pub policy: String,
    /// The cache's size.
    pub cache_blocks: u64,
    /// The trace's requests.
    pub requests: u64,
    /// The blocks they asked for.
    pub references: u64,
    /// References that found their block.
    pub hits: u64,
    /// References that did not.
    pub misses: u64,
    /// Of a sampled trace: twice the standard error of `misses`. 0 for a whole one.
    pub misses_error: u64,
    /// Why a sample does not tell of this policy, and `misses_error` is too small; None where it
    /// does, or the trace is whole.
    pub untold: Option<&'static str>,
    /// How the policy classified references, if it does.
    pub patterns: Option<Patterns>,
    /// What the policy learned that serves another run.
    pub learned: Vec<Event>,
    /// All the manager counted; of a sampled trace, in the sample.
    pub statistics: Statistics,
    /// How long the run took, on the wall's clock.
    pub took: Duration,
    /// The processor's time it took, without what the trace's future took to find.
    pub cpu: Duration,
}

impl Outcome {
    /// The share of references that missed.
    pub fn miss_ratio(&self) -> f64 {
        if self.references == 0 { 0.0 } else { self.misses as f64 / self.references as f64 }
    }
}

/// Makes all runs, as many at once as there are processors. Results come in the order of `cells`.
/// `progress` is told, from any thread, how many requests of how many over all runs are done.
pub fn sweep(trace: &Trace, cells: &[Cell], progress: &(dyn Fn(u64, u64) + Sync)) -> Vec<Outcome> {
    if cells.iter().any(|cell| cell.policy.is_offline()) {
        trace.future();
    }
    let done = AtomicU64::new(0);
    let total = trace.len() as u64 * cells.len() as u64;
    let advance = |requests: usize| {
        let requests = requests as u64;
        progress(done.fetch_add(requests, Ordering::Relaxed) + requests, total);
    };
    map(cells, &|_, _| {}, |cell| run(trace, cell, &advance))
}

/// Makes one run. `advance` is told now and then how many more requests are done.
pub fn run(trace: &Trace, cell: &Cell, advance: &dyn Fn(usize)) -> Outcome {
    let Some(sample) = trace.sample() else { return run_watched(trace, cell, advance, |_, _, _| {}) };
    let mut missed = Missed::default();
    let scaled = Cell { cache_blocks: sample.scaled(cell.cache_blocks), ..cell.clone() };
    let of_sample = run_watched(trace, &scaled, advance, |at, _, manager| {
        missed.count(trace.entry(at).first, manager.statistics().misses);
    });
    let (misses, misses_error) = missed.estimate(sample);
    let (requests, references) = (sample.requests, sample.references);
    let (misses, cache_blocks) = (misses.min(references), cell.cache_blocks);
    let untold = cell.policy.unlike_a_part();
    Outcome { cache_blocks, requests, references, misses, hits: references - misses, misses_error, untold, ..of_sample }
}

/// Makes one run on the requests as they are loaded, sampled or not. `watch` looks at each, at what
/// the manager did for it and at the manager.
pub fn run_watched(
    trace: &Trace,
    cell: &Cell,
    advance: &dyn Fn(usize),
    mut watch: impl FnMut(usize, &[Action], &Manager),
) -> Outcome {
    let (begun, begun_cpu) = (Instant::now(), cpu_time());
    let config = Config { explains: cell.explains, ..Config::new(cell.cache_blocks, cell.policy.clone()) };
    let mut manager = match cell.policy.is_offline() {
        true => Manager::foreseeing(&config, Arc::clone(trace.future())),
        false => Manager::new(&config),
    };
    let mut actions = Vec::new();
    for &event in &cell.taught {
        manager.handle(Time(0), event, &mut actions);
    }
    for file in 0..trace.files.len() {
        manager.handle(Time(0), known(trace, FileId(file as u32)), &mut actions);
    }
    actions.clear();
    let mut at = 0;
    let mut advised = trace.advised().iter().peekable();
    while at < trace.len() {
        let until = trace.len().min(at + REQUESTS_PER_REPORT);
        for at in at..until {
            let (now, event) = trace.observed(at);
            while let Some(&(_, reader, advice)) = advised.next_if(|advised| advised.0 == at) {
                manager.handle(now, advice.event(reader), &mut actions);
            }
            manager.handle(now, event, &mut actions);
            answer(&mut manager, trace, now, &mut actions);
            watch(at, &actions, &manager);
            actions.clear();
        }
        advance(until - at);
        at = until;
    }
    let statistics = manager.statistics().clone();
    let took = begun.elapsed();
    Outcome {
        policy: cell.policy.as_str().to_owned(),
        cache_blocks: cell.cache_blocks,
        requests: trace.len() as u64,
        references: statistics.references,
        hits: statistics.hits + statistics.late_hits,
        misses: statistics.misses,
        misses_error: 0,
        untold: None,
        patterns: manager.patterns(),
        learned: manager.learned(),
        statistics,
        took,
        cpu: begun_cpu.zip(cpu_time()).map_or(took, |(begun, ended)| ended.saturating_sub(begun)),
    }
}

/// The processor's time of this thread so far, as Linux tells it.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn known(trace: &Trace, file: FileId) -> Event {
    match trace.files.get(file.0 as usize) {
        Some(traced) => Event::FileKnown { file, device: DeviceId(0), blocks: traced.blocks, place: 0 },
        None => Event::FileMissing { file },
    }
}

/// Carries the actions out, and those they lead to, without time passing; these are appended.
fn answer(manager: &mut Manager, trace: &Trace, now: Time, actions: &mut Vec<Action>) {
    let mut at = 0;
    while let Some(&action) = actions.get(at) {
        at += 1;
        match action {
            Action::Order(Order::Fetch { fetch, .. }) => {
                manager.handle(now, Event::FetchDone { fetch }, actions);
            }
            Action::Order(Order::Lookup { file }) => {
                manager.handle(now, known(trace, file), actions);
            }
            // A run without a clock holds no bytes, and its readers neither wait nor disclose, and do not listen.
            Action::Order(Order::PassOver { .. } | Order::Drop { .. }) | Action::Reply(_) => {}
        }
    }
}
