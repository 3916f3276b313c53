//! Table II and Figures 6, 7 and 8: the controller under SPC-1-like load, at Table I's loads from
//! the highest to the lowest.

use super::machine::{Machine, Measured, Phase, SCALE, run};
use crate::{Effort, Progress, Report, map};
use foresee_chart::{Plot, Shape};

/// A back-end configuration: its name, its footprint in GB, and Table I's highest load for it, in
/// scaled requests a second.
pub struct Configuration {
    /// Its name.
    pub name: &'static str,
    gigabytes: [f64; 3],
    highest: u64,
    /// A read response, in milliseconds, that all policies have at some of Table II's loads.
    level_ms: f64,
}

/// Both.
pub const CONFIGURATIONS: [Configuration; 2] = [
    Configuration { name: "cache-sensitive", gigabytes: [45.0, 45.0, 10.0], highest: 25_000, level_ms: 6.0 },
    Configuration { name: "cache-insensitive", gigabytes: [1443.0, 1443.0, 320.0], highest: 11_364, level_ms: 10.0 },
];
/// Table I's loads in percent of the highest: those of its requests a second, not of its line of
/// percentages, which says 97.5 and 95 for 95 and 90.
const LOADS: [u64; 6] = [100, 95, 90, 80, 50, 10];
/// A scaled request of the paper is so many of ours: it does not say how many of its own. Fitted:
/// one number for both configurations, under which LRU-Top saturates at both highest loads.
const REQUESTS: f64 = 1.0;
/// What is compared: its name and the policy. SARC is the last.
pub const POLICIES: [(&str, &str); 3] = [
    ("LRU-Top", "lru-top:degree=192,group=48,trigger_offset=24,threshold=24"),
    ("LRU-Bottom", "lru-bottom:degree=192,group=48,trigger_offset=24,threshold=24"),
    ("SARC", "sarc:degree=192,group=48,trigger_offset=24,threshold=24"),
];

/// The cluster's memory.
const MEMORY_GIGABYTES: f64 = 8.0;
/// The non-volatile memory, of which all has its copy in the cluster's.
const WRITE_GIGABYTES: f64 = 2.0;
/// What is left for the read cache.
pub const CACHE_GIGABYTES: f64 = MEMORY_GIGABYTES - WRITE_GIGABYTES;
/// Seconds of the warm-up: some three million requests in the cache-sensitive configuration, in
/// which the cache fills several times.
pub const WARM_UP: u64 = 720;
const PAGES_A_GIGABYTE: f64 = (1 << 18) as f64;

/// With a read cache of so many of the paper's gigabytes.
pub fn machine(configuration: &Configuration, policy: &'static str, cache_gigabytes: f64) -> Machine {
    let pages = |gigabytes: f64| (gigabytes * SCALE * PAGES_A_GIGABYTE) as u64;
    Machine {
        policy,
        read_pages: pages(cache_gigabytes),
        write_pages: pages(WRITE_GIGABYTES),
        unit_pages: configuration.gigabytes.map(pages),
    }
}

/// So long at so many percent of the highest load, of which the first part does not count.
pub fn phase(configuration: &Configuration, load: u64, seconds: u64, settles: u64) -> Phase {
    Phase { seconds, per_second: configuration.highest as f64 * load as f64 / 100.0 * REQUESTS * SCALE, settles }
}

/// Seconds of Table I's phases, of which the first is its warm-up; a tenth of each, at least what
/// the specification's three minutes of thirty are, does not count.
fn phases(configuration: &Configuration, effort: Effort) -> Vec<Phase> {
    let (warm_up, measured) = if effort == Effort::Quick { (10, 5) } else { (WARM_UP, 60) };
    let phase = |load, seconds| phase(configuration, load, seconds, seconds / 10);
    std::iter::once(phase(LOADS[0], warm_up)).chain(LOADS.map(|load| phase(load, measured))).collect()
}

/// One run of all phases.
struct Cell {
    configuration: &'static Configuration,
    policy: usize,
    seed: u64,
}

/// The runs of one configuration and policy, without their warm-up.
struct Made<'a> {
    runs: Vec<&'a [Measured]>,
}

impl Made<'_> {
    /// The mean over all runs of what was measured at a load.
    fn mean(&self, load: usize, of: impl Fn(&Measured) -> f64) -> f64 {
        self.runs.iter().map(|run| of(&run[load])).sum::<f64>() / self.runs.len() as f64
    }

    /// The greatest distance of a run from the mean.
    fn noise(&self, load: usize, of: impl Fn(&Measured) -> f64) -> f64 {
        let mean = self.mean(load, &of);
        self.runs.iter().map(|run| (of(&run[load]) - mean).abs()).fold(0.0, f64::max)
    }
}

/// What is plotted and tabulated of each load: experiment, unit, and how it comes from what was
/// measured.
type Metric = (&'static str, &'static str, fn(&Measured) -> f64);

const METRICS: [Metric; 7] = [
    ("Table II: {}; read response", "ms", |it| it.response_ms(0)),
    ("Table II: {}; write response", "ms", |it| it.response_ms(1)),
    ("Figure 6: {}; overall response", "ms", Measured::overall_ms),
    ("Figure 6: {}; power", "1/s/ms", |it| it.per_second() / REQUESTS / SCALE / it.overall_ms()),
    ("Figure 6: {}; tracks staged", "1/s", Measured::tracks_per_second),
    ("Figure 7: {}; SEQ", "%", |it| it.sequential_percent),
    ("Figure 8: {}; ratio", "", |it| it.ratio),
];

/// Adds rows and plots.
///
/// # Errors
/// If the machine cannot be built.
pub fn report(effort: Effort, progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    let seeds = if effort == Effort::Quick { 1 } else { 5 };
    let mut cells = Vec::new();
    for configuration in &CONFIGURATIONS {
        for policy in 0..POLICIES.len() {
            cells.extend((1..=seeds).map(|seed| Cell { configuration, policy, seed }));
        }
    }
    let made = map(&cells, progress, |Cell { configuration, policy, seed }| {
        run(&machine(configuration, POLICIES[*policy].1, CACHE_GIGABYTES), &phases(configuration, effort), *seed)
    });
    let made: Vec<Vec<Measured>> = made.into_iter().collect::<Result<_, String>>()?;
    let mut compared = Vec::new();
    for configuration in &CONFIGURATIONS {
        let of = |policy: usize| -> Made<'_> {
            let its = cells
                .iter()
                .zip(&made)
                .filter(|(cell, _)| cell.configuration.name == configuration.name && cell.policy == policy);
            Made { runs: its.map(|(_, run)| &run[1..]).collect() }
        };
        let made: [Made<'_>; 3] = [of(0), of(1), of(2)];
        for (experiment, unit, metric) in METRICS {
            add_metric(report, configuration, &made, &experiment.replace("{}", configuration.name), unit, metric);
        }
        compared.push((configuration, made));
    }
    compare(report, &compared);
    Ok(())
}

fn scaled(configuration: &Configuration, load: usize) -> u64 {
    configuration.highest * LOADS[load] / 100
}

fn add_metric(
    report: &mut Report,
    configuration: &Configuration,
    made: &[Made<'_>; 3],
    experiment: &str,
    unit: &'static str,
    metric: fn(&Measured) -> f64,
) {
    let mut plot = Plot::new(experiment, "scaled requests a second", unit);
    for ((name, _), made) in POLICIES.iter().zip(made) {
        let (mut ours, mut published) = (Vec::new(), Vec::new());
        for load in (0..LOADS.len()).rev() {
            let x = scaled(configuration, load);
            report.row(experiment, format!("{name}; {x}"), made.mean(load, metric), unit);
            let row = report.rows.last();
            ours.extend(row.map(|row| (x as f64, row.ours)));
            published.extend(row.and_then(|row| row.published).map(|number| (x as f64, number)));
        }
        plot.add(*name, Shape::Line, ours, published);
    }
    report.plots.push(plot);
}

/// Where a rising curve reaches a level, in straight lines between its points and beyond the last.
fn reaches(curve: &[(f64, f64)], level: f64) -> Option<f64> {
    let pair = curve.windows(2).find(|pair| level < pair[1].1).or_else(|| curve.windows(2).last())?;
    Some(pair[0].0 + (pair[1].0 - pair[0].0) * (level - pair[0].1) / (pair[1].1 - pair[0].1))
}

/// What must hold: the text's own comparisons.
fn compare(report: &mut Report, made: &[(&Configuration, [Made<'_>; 3])]) {
    const LESS: &str = "At the highest load: response less under SARC";
    const SUSTAINED: &str = "Scaled requests a second at which reads take so long";
    const BETTER: &str = "SARC's overall response / the better of the two LRU variants";
    const NOISE: &str = "SARC's overall response: farthest of a run from the mean, in parts of it";
    let overall = Measured::overall_ms;
    for (configuration, [top, bottom, sarc]) in made {
        for (which, kind) in [(0, "read"), (1, "write")] {
            for (name, other) in [("LRU-Top", top), ("LRU-Bottom", bottom)] {
                let less = 1.0 - sarc.mean(0, |it| it.response_ms(which)) / other.mean(0, |it| it.response_ms(which));
                report.row(LESS, format!("{}; {kind}; than {name}", configuration.name), 100.0 * less, "%");
            }
        }
    }
    for (configuration, made) in made {
        for ((name, _), made) in POLICIES.iter().zip(made) {
            let curve = (0..LOADS.len())
                .rev()
                .map(|load| (scaled(configuration, load) as f64, made.mean(load, |it| it.response_ms(0))));
            if let Some(load) = reaches(&curve.collect::<Vec<_>>(), configuration.level_ms) {
                let cell = format!("{}; {} ms; {name}", configuration.name, configuration.level_ms);
                report.row(SUSTAINED, cell, load, "1/s");
            }
        }
    }
    for experiment in [BETTER, NOISE] {
        for (configuration, [top, bottom, sarc]) in made {
            for load in (0..LOADS.len()).rev() {
                let of = match experiment {
                    BETTER => {
                        top.mean(load, overall).min(bottom.mean(load, overall)).recip() * sarc.mean(load, overall)
                    }
                    _ => sarc.noise(load, overall) / sarc.mean(load, overall),
                };
                report.row(experiment, format!("{}; {}", configuration.name, scaled(configuration, load)), of, "");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_found_between_points_and_beyond_the_last() {
        let curve = [(10.0, 1.0), (20.0, 2.0), (30.0, 4.0)];
        assert_eq!([1.5, 3.0, 6.0].map(|level| reaches(&curve, level)), [Some(15.0), Some(25.0), Some(40.0)]);
    }
}
