//! 004 on recordings of today's programs: the paper's findings as far as they hold, and what was
//! added to it.

use std::sync::OnceLock;

use foresee_papers::{Effort, REGISTRY, Report};

fn make() -> Report {
    let paper = REGISTRY.iter().find(|paper| paper.number == 4).unwrap();
    (paper.run)(Effort::Quick, &|_, _| {}).unwrap()
}

fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(make)
}

fn value(experiment: &str, cell: &str) -> f64 {
    let row = report().rows.iter().find(|row| row.experiment == experiment && row.cell == cell);
    row.unwrap_or_else(|| panic!("there is no {experiment}: {cell}")).ours
}

fn ratio(application: &str, percent: u64, policy: &str) -> f64 {
    value("Figure 11: hit ratio", &format!("{application}; {percent} %; {policy}"))
}

const SIZES: [u64; 3] = [10, 25, 50];

#[test]
fn call_sites_tell_more_than_files_where_files_are_small() {
    for application in ["glimpse", "gcc"] {
        let share = |policy| value("Figure 10: shares of references", &format!("{application}; looping; {policy}"));
        assert!(share("PCC") > share("UBM") + 5.0, "{application}: {} and {}", share("PCC"), share("UBM"));
        for percent in SIZES {
            let [pcc, ubm, opt] = ["PCC", "UBM", "OPT"].map(|policy| ratio(application, percent, policy));
            assert!(ubm < pcc && pcc <= opt, "{application}; {percent} %: {ubm} {pcc} {opt}");
        }
    }
}

/// A viewer shows one set of data after the other. Under MRU those of the first stay, which nobody
/// reads again.
#[test]
fn what_is_overdue_makes_room() {
    for percent in SIZES {
        let [ours, pcc] = ["ours", "PCC"].map(|policy| ratio("viewperf", percent, policy));
        assert!(ours > pcc + 10.0, "{percent} %: {ours} and {pcc}");
    }
}

/// The first passes of a loop are taken for sequences. What they brought turns with the site that
/// read it.
#[test]
fn a_loop_is_kept_from_its_first_pass() {
    for percent in SIZES {
        let [ours, pcc, opt] = ["ours", "PCC", "OPT"].map(|policy| ratio("glimpse", percent, policy));
        assert!(ours > pcc && opt - ours < 7.0, "{percent} %: {ours}, {pcc} and {opt}");
    }
}

#[test]
fn nothing_beats_the_future() {
    for application in ["glimpse", "gcc", "viewperf"] {
        for percent in SIZES {
            let opt = ratio(application, percent, "OPT");
            for policy in ["PCC", "UBM", "ARC", "LRU", "LIRS", "ours"] {
                assert!(ratio(application, percent, policy) <= opt + 1e-9, "{application}; {percent} %; {policy}");
            }
        }
    }
}

#[test]
fn the_same_numbers_come_every_time() {
    assert_eq!(report().rows, make().rows);
}
