//! Section 5.3.1: what the sampling period and the threshold do to PCC's hit ratio, at a quarter of
//! each application's data.

use super::{Application, PCC, Ran, hit_ratio};
use crate::Report;
use foresee_chart::{Plot, Shape};

const EXPERIMENT: &str = "Section 5.3.1: hit ratio moved at most";
const PERIODS: [u64; 5] = [1, 5, 20, 100, 500];
const THRESHOLDS: [u64; 4] = [5, 25, 100, 400];
const PERCENT: u64 = 25;

/// Hit ratios by period, and by threshold.
pub(super) struct Settings {
    periods: Vec<f64>,
    thresholds: Vec<f64>,
}

pub(super) fn measure(application: &Application) -> Result<Settings, String> {
    let ratios = |parameter: &str, values: &[u64]| -> Result<Vec<f64>, String> {
        let policies: Vec<String> = values.iter().map(|value| format!("{PCC},{parameter}={value}")).collect();
        Ok(application.run(&policies, &[PERCENT])?.iter().map(hit_ratio).collect())
    };
    Ok(Settings { periods: ratios("sample", &PERIODS)?, thresholds: ratios("threshold", &THRESHOLDS)? })
}

pub(super) fn report(all: &Ran<Settings>, report: &mut Report) {
    let mut plot = Plot::new("Figure 9: the sampling period", "sampling period (references)", "hit ratio (%)");
    let (mut by_period, mut by_threshold) = (0.0_f64, 0.0_f64);
    for (name, settings) in all {
        let by_20 = settings.periods[0] - settings.periods[2];
        let spread = |ratios: &[f64]| {
            let (least, most) =
                ratios.iter().fold((f64::MAX, f64::MIN), |(least, most), &it| (least.min(it), most.max(it)));
            most - least
        };
        let moved = spread(&settings.thresholds);
        report.row(EXPERIMENT, format!("{name}; period 20 below 1"), by_20, "points");
        report.row(EXPERIMENT, format!("{name}; threshold 5 to 400"), moved, "points");
        (by_period, by_threshold) = (by_period.max(by_20), by_threshold.max(moved));
        let points = PERIODS.iter().zip(&settings.periods).map(|(&period, &ratio)| (period as f64, ratio));
        plot.add(*name, Shape::Line, points.collect(), Vec::new());
    }
    report.row(EXPERIMENT, "period 20 below 1", by_period, "points");
    report.row(EXPERIMENT, "threshold 5 to 400", by_threshold, "points");
    report.plots.push(plot);
}
