//! 003 on simulated machines: the paper's findings.

use std::sync::LazyLock;

use foresee_papers::{Effort, REGISTRY, Report};

/// Made once for the tests that only look at it.
static REPORT: LazyLock<Report> = LazyLock::new(report);

fn report() -> Report {
    let paper = REGISTRY.iter().find(|paper| paper.number == 3).unwrap();
    (paper.run)(Effort::Quick, &|_, _| {}).unwrap()
}

fn ours(report: &Report, experiment: &str, cell: &str) -> f64 {
    let row = report.rows.iter().find(|row| row.experiment == experiment && row.cell == cell);
    row.unwrap_or_else(|| panic!("there is no {experiment}: {cell}")).ours
}

#[test]
fn figure_1_has_its_floor_its_bump_and_its_remedy() {
    let report = &*REPORT;
    const SYNCHRONOUS: &str = "Figure 1: misses of 3000 blocks; synchronous readahead";
    const BOTH: &str = "Figure 1: misses of 3000 blocks; synchronous and asynchronous readahead";
    for (degree, blocks) in [(6, 7.0), (12, 13.0), (24, 25.0), (48, 49.0)] {
        let floor = ours(report, SYNCHRONOUS, &format!("degree {degree}; floor"));
        // Three misses until the run is known; a miss brings its own block and as many as the degree says.
        assert!((floor - 3.0 - 3000.0 / blocks).abs() <= 1.0, "degree {degree}: {floor}");
    }
    let farthest = ours(report, SYNCHRONOUS, "degree 48; farthest from a hyperbola before it");
    assert!(farthest < 15.0, "{farthest} %");
    for name in ["with the anomaly", "without"] {
        assert_eq!(ours(report, BOTH, &format!("{name}; floor")), 4.0);
    }
    let bump = |name: &str| ours(report, BOTH, &format!("{name}; most that a little more memory adds"));
    assert!(
        bump("with the anomaly") > 100.0 && bump("without") < 30.0,
        "{} {}",
        bump("with the anomaly"),
        bump("without")
    );
}

/// 003's rule and cost and benefit with an estimator of runs give the memory to the same pages;
/// where they do not, 003's finds later what it has to go by.
#[test]
fn sarc_is_the_arbitrator_with_two_estimators() {
    let more = |workload: &str| -> Vec<(&str, f64)> {
        let rows = REPORT.rows.iter().filter(|row| row.experiment.starts_with(workload) && row.unit == "%");
        rows.filter_map(|row| Some((row.cell.strip_suffix("; more under tip2-sarc")?, row.ours))).collect()
    };
    let spc1 = more("SPC-1: misses");
    assert!(spc1.len() >= 2 && spc1.iter().all(|(_, more)| more.abs() <= 2.0), "{spc1:?}");
    let figure_1 = more("Figure 1's stream");
    assert!(figure_1.len() >= 8 && figure_1.iter().all(|(_, more)| *more <= 0.0), "{figure_1:?}");
    let streams = more("Many streams: misses");
    assert!(streams.len() >= 16 && streams.iter().all(|(_, more)| *more <= 2.0), "{streams:?}");
}

#[test]
fn every_published_number_has_one_of_ours_beside_it() {
    let report = &*REPORT;
    assert_eq!(report.unmet(), Vec::<String>::new());
    assert!(!report.plots.is_empty() && !report.assumed.is_empty());
}

#[test]
fn the_same_numbers_come_every_time() {
    assert_eq!(report().rows, REPORT.rows);
}
