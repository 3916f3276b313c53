//! The highest load again, with other scales of a request: near saturation a little more load makes
//! responses much longer, and how many requests a scaled one is, the paper does not say.

use super::machine::{Phase, run};
use super::spc1::{CACHE_GIGABYTES, CONFIGURATIONS, Configuration, POLICIES, WARM_UP, machine, phase};
use crate::{Effort, Progress, Report, map};
use foresee_chart::{Plot, Shape};

/// Requests that a scaled one is, in parts of what Table II is made with.
const SCALES: [f64; 4] = [0.8, 0.9, 1.0, 1.1];
const SEEDS: u64 = 2;

/// Adds rows and a plot for each configuration.
///
/// # Errors
/// If the machine cannot be built.
pub fn report(effort: Effort, progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    let (scales, seeds, settles, seconds) = match effort {
        Effort::Quick => (&SCALES[..1], 1, 5, 5),
        Effort::Full => (&SCALES[..], SEEDS, WARM_UP, 60),
    };
    let mut cells = Vec::new();
    for configuration in &CONFIGURATIONS {
        for &scale in scales {
            for policy in 0..POLICIES.len() {
                cells.extend((1..=seeds).map(|seed| (configuration, scale, policy, seed)));
            }
        }
    }
    let made = map(&cells, progress, |&(configuration, scale, policy, seed)| -> Result<f64, String> {
        let highest = phase(configuration, 100, settles + seconds, settles);
        let phases = [Phase { per_second: highest.per_second * scale, ..highest }];
        let made = run(&machine(configuration, POLICIES[policy].1, CACHE_GIGABYTES), &phases, seed)?;
        Ok(made.iter().map(|it| it.response_ms(0)).sum())
    });
    let made: Vec<f64> = made.into_iter().collect::<Result<_, _>>()?;
    let means: Vec<f64> =
        made.chunks(seeds as usize).map(|runs| runs.iter().sum::<f64>() / runs.len() as f64).collect();
    for (configuration, means) in CONFIGURATIONS.iter().zip(means.chunks(scales.len() * POLICIES.len())) {
        add(report, configuration, scales, means);
    }
    Ok(())
}

/// The responses at each scale, and how much less they are under SARC.
fn add(report: &mut Report, configuration: &Configuration, scales: &[f64], means: &[f64]) {
    let experiment = format!("Other scales of a request: {}; read response at the highest load", configuration.name);
    let mut lines = vec![Vec::new(); POLICIES.len()];
    for (scale, responses) in scales.iter().zip(means.chunks(POLICIES.len())) {
        for (((name, _), line), &response) in POLICIES.iter().zip(&mut lines).zip(responses) {
            report.row(&experiment, format!("{scale} of ours; {name}"), response, "ms");
            line.push((*scale, response));
        }
        for ((name, _), response) in POLICIES.iter().zip(responses).take(POLICIES.len() - 1) {
            let less = 100.0 * (1.0 - responses[POLICIES.len() - 1] / response);
            report.row(&experiment, format!("{scale} of ours; less under SARC than {name}"), less, "%");
        }
    }
    let mut plot = Plot::new(&experiment, "scale of a request, in parts of ours", "ms");
    for ((name, _), line) in POLICIES.iter().zip(lines) {
        plot.add(*name, Shape::Line, line, Vec::new());
    }
    report.plots.push(plot);
}
