//! Each application alone, under LRU-SP with its advice and under the original kernel's LRU, by the
//! size of the cache (section 5.2). The paper's figure is not in its text, and neither are its
//! appendix's numbers; it gives the ranges.

use super::machine::{CACHES, Cache, System, run};
use super::points;
use super::work::Application;
use crate::{Progress, Report, map};
use foresee_chart::{Plot, Shape};

/// What an application gains less than this by is no gain: all of its data fit, or a disk's turn.
const GAINS_PERCENT: f64 = 1.0;

/// By how many percent the second is less than the first.
pub fn less(before: f64, after: f64) -> f64 {
    100.0 * (1.0 - after / before)
}

/// Adds rows and plots.
///
/// # Errors
/// If an application does not fit the machine.
pub fn report(progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    const IOS: &str = "Single applications: block I/Os";
    const ELAPSED: &str = "Single applications: elapsed";
    let mut cells = Vec::new();
    for (application, _) in Application::ALL {
        cells.extend(CACHES.map(|cache| (application, cache)));
    }
    let made = map(&cells, progress, |&(application, cache)| {
        let program = application.program()?;
        let lru = run(System::Lru, cache, &[&program.oblivious()], 0)?;
        let smart = run(System::LruSp, cache, &[&program], 0)?;
        Ok([lru, smart])
    });
    let made: Vec<_> = made.into_iter().collect::<Result<_, String>>()?;
    let cell = |application: Application, cache: Cache| format!("{}; {}", application.name(), cache.name);
    let named = || cells.iter().map(|&(application, cache)| cell(application, cache)).zip(&made);
    for (cell, [lru, smart]) in named() {
        report.row(IOS, format!("{cell}; LRU"), lru.ios() as f64, "blocks");
        report.row(IOS, format!("{cell}; LRU-SP"), smart.ios() as f64, "blocks");
    }
    for (cell, [lru, smart]) in named() {
        report.row(ELAPSED, format!("{cell}; LRU"), lru.elapsed_s(), "s");
        report.row(ELAPSED, format!("{cell}; LRU-SP"), smart.elapsed_s(), "s");
    }
    let ios = made.iter().map(|[lru, smart]| less(lru.ios() as f64, smart.ios() as f64)).collect::<Vec<_>>();
    let elapsed = made.iter().map(|[lru, smart]| less(lru.elapsed_s(), smart.elapsed_s())).collect::<Vec<_>>();
    for (name, all) in [(IOS, &ios), (ELAPSED, &elapsed)] {
        let experiment = format!("{name} less");
        for (&(application, cache), &percent) in cells.iter().zip(all) {
            report.row(&experiment, cell(application, cache), percent, "%");
        }
        // Where all data fit, nothing can be gained: the paper says so of cs1.
        let gains = || all.iter().zip(&ios).filter(|(_, ios)| **ios >= GAINS_PERCENT).map(|(percent, _)| *percent);
        report.row(&experiment, "least", gains().fold(f64::INFINITY, f64::min), "%");
        report.row(&experiment, "most; over", gains().fold(f64::NEG_INFINITY, f64::max), "%");
        let mut plot = Plot::new(&experiment, "", "% less than under LRU");
        plot.categories = Application::ALL.map(|(_, name)| name.to_owned()).into();
        for cache in CACHES {
            let (ours, _) = points(report, &experiment, Application::ALL.map(|(it, _)| cell(it, cache)));
            plot.add(cache.name, Shape::Bars, ours, Vec::new());
        }
        report.plots.push(plot);
    }
    Ok(())
}
