//! 001 on the simulated host: the paper's findings, and how near its numbers ours are.

use foresee_papers::{Effort, REGISTRY, Report};

fn report(effort: Effort) -> Report {
    let paper = REGISTRY.iter().find(|paper| paper.number == 1).unwrap();
    (paper.run)(effort, &|_, _| {}).unwrap()
}

fn value(report: &Report, experiment: &str, cell: &str) -> f64 {
    let row = report.rows.iter().find(|row| row.experiment == experiment && row.cell == cell);
    row.unwrap_or_else(|| panic!("there is no {experiment}: {cell}")).ours
}

fn disks(number: u32) -> String {
    if number == 1 { "1 disk".to_owned() } else { format!("{number} disks") }
}

#[test]
fn the_findings_show() {
    let report = report(Effort::Quick);
    let of =
        |experiment: &str, row: &str, number: u32| value(&report, experiment, &format!("{row}; {}", disks(number)));
    let mut experiments: Vec<&str> = report.rows.iter().map(|row| row.experiment.as_str()).collect();
    experiments.retain(|name| !name.starts_with("CPU"));
    experiments.dedup();
    assert_eq!(experiments.len(), 7);
    for name in experiments {
        for number in 2..=4 {
            let flat = of(name, "no TIP", number) / of(name, "no TIP", 1);
            assert!((0.85..1.15).contains(&flat), "{name}: more disks alone make it {flat} of what it was");
            assert!(of(name, "speed-up", number) > 1.1, "{name}: no gain with {}", disks(number));
        }
        assert!(of(name, "speed-up", 1) > 0.99, "{name}: TIP costs something on one disk");
    }
    for number in [2, 3] {
        assert!(of("X-Y slices", "speed-up", number) > f64::from(number), "X-Y is superlinear on {number} disks");
    }
    assert!(
        of("Y-Z slices", "with TIP", 4) > 0.98 * of("Y-Z slices", "with TIP", 2),
        "two disks saturate the processor"
    );
    let utilisation = |row: &str| value(&report, "CPU of the search of bboard and mail; 2 disks", row);
    assert!(utilisation("no TIP; utilisation") < 55.0 && utilisation("with TIP; utilisation") > 90.0);
}

#[test]
fn every_published_number_is_met_and_every_speed_up_is_within_15_percent() {
    let report = report(Effort::Full);
    assert_eq!(report.unmet(), Vec::<String>::new());
    assert_eq!(report.rows.iter().filter(|row| row.published.is_none()).count(), 0);
    for row in report.rows.iter().filter(|row| row.unit == "x") {
        let difference = row.difference().unwrap();
        assert!(difference.abs() <= 0.15, "{}: {}: {:+.0} %", row.experiment, row.cell, 100.0 * difference);
    }
    assert!(!report.plots.is_empty() && !report.assumed.is_empty());
}

#[test]
fn the_same_numbers_come_every_time() {
    assert_eq!(report(Effort::Quick).rows, report(Effort::Quick).rows);
}
