//! 002 on the simulated host: the paper's findings, and how near its numbers ours are.

use foresee_papers::{Effort, REGISTRY, Report, Row};

fn report(effort: Effort) -> Report {
    let paper = REGISTRY.iter().find(|paper| paper.number == 2).unwrap();
    (paper.run)(effort, &|_, _| {}).unwrap()
}

fn row<'a>(report: &'a Report, experiment: &str, cell: &str) -> &'a Row {
    let row = report.rows.iter().find(|row| row.experiment == experiment && row.cell == cell);
    row.unwrap_or_else(|| panic!("there is no {experiment}: {cell}"))
}

fn rows<'a>(report: &'a Report, experiment: &'a str) -> impl Iterator<Item = &'a Row> {
    report.rows.iter().filter(move |row| row.experiment == experiment)
}

const READN: &str = "ReadN beside Read300: block I/Os";
const SIZES: [&str; 4] = ["Read390", "Read400", "Read490", "Read500"];

#[test]
fn placeholders_protect_readn() {
    let report = report(Effort::Quick);
    let mut inside = 0;
    for size in SIZES {
        let of = |setting: &str| row(&report, READN, &format!("{setting}; {size}"));
        for setting in ["oblivious", "protected"] {
            let difference = of(setting).difference().unwrap();
            assert!(difference.abs() <= 0.07, "{setting}; {size}: {:+.1} %", 100.0 * difference);
        }
        let unprotected = of("unprotected");
        let [least, most, steady] = ["least of 20", "most of 20", "steady"]
            .map(|which| row(&report, READN, &format!("unprotected; {size}; {which}")).ours);
        inside += u32::from((least..=most).contains(&unprotected.published.unwrap()));
        assert!(of("protected").ours <= steady && of("protected").ours <= unprotected.ours, "{size}");
    }
    assert!(inside >= 2, "{inside} of the unprotected cells are within what twenty interleavings give");
    let mean = |size: &str| row(&report, READN, &format!("unprotected; {size}")).ours;
    assert!(mean("Read500") > mean("Read490") && mean("Read490") > mean("Read400").max(mean("Read390")));
}

#[test]
fn a_foolish_neighbour_costs_what_it_cost_there() {
    let report = report(Effort::Quick);
    for application in ["din", "cs2", "gli", "ldk"] {
        let growth = row(&report, "Beside Read300: block I/Os", &format!("{application}; growth"));
        let (ours, published) = (growth.ours, growth.published.unwrap());
        assert!((ours - published).abs() <= 5.0, "{application}: {ours} points for {published}");
        // Beside ldk it costs nothing, which the report says.
        assert!(ours > 0.0 || application == "ldk", "{application}: {ours} points");
        // Today's ld does more than the paper's, which the report says.
        let near = if application == "ldk" { 0.40..0.65 } else { -0.21..0.15 };
        for neighbour in ["oblivious", "foolish"] {
            for experiment in ["Beside Read300: block I/Os", "Beside Read300: elapsed"] {
                let difference = row(&report, experiment, &format!("{application}; {neighbour}")).difference().unwrap();
                assert!(near.contains(&difference), "{experiment}: {application}: {:+.0} %", 100.0 * difference);
            }
        }
    }
}

/// Where all data fit, nothing can be saved: 9 MB or less of cscope's and dinero's.
const FITS: [(&str, &[&str]); 3] =
    [("cs1", &["12 MB", "16 MB"]), ("cs3", &["12 MB", "16 MB"]), ("din", &["8 MB", "12 MB", "16 MB"])];
/// Where less is saved than the least of the paper: an index of 5 MB stays in a large cache by
/// itself, and today's ld comes back to what it was done with.
const SHORT: [(&str, &[&str]); 2] = [("pjn", &["12 MB", "16 MB"]), ("ldk", &["12 MB", "16 MB"])];

#[test]
fn single_applications_save_what_the_text_says() {
    let report = report(Effort::Quick);
    let is_in = |list: &[(&str, &[&str])], cell: &str| {
        list.iter().any(|(name, caches)| caches.iter().any(|cache| cell == format!("{name}; {cache}")))
    };
    for (what, least, most) in [("block I/Os", 9.0, 82.0), ("elapsed", 6.0, 47.0)] {
        let experiment = format!("Single applications: {what} less");
        let cells: Vec<&Row> = rows(&report, &experiment).filter(|row| row.cell.contains(" MB")).collect();
        assert_eq!(cells.len(), 8 * 4);
        for cell in cells {
            if is_in(&FITS, &cell.cell) {
                assert_eq!(cell.ours, 0.0, "{experiment}: {}", cell.cell);
            } else if is_in(&SHORT, &cell.cell) {
                assert!((1.0..=most).contains(&cell.ours), "{experiment}: {}: {}", cell.cell, cell.ours);
            } else {
                assert!((least..=most).contains(&cell.ours), "{experiment}: {}: {}", cell.cell, cell.ours);
            }
        }
        let best = row(&report, &experiment, "most; over");
        assert!(best.ours >= best.published.unwrap(), "{experiment}: at best {}", best.ours);
    }
    for cell in ["pjn; 12 MB", "pjn; 16 MB", "ldk; 12 MB", "ldk; 16 MB"] {
        let short = row(&report, "Single applications: block I/Os less", cell).ours;
        assert!(short < 9.0, "{cell} saves {short} %: it is short no longer");
    }
}

#[test]
fn mixes_gain_and_alloc_lru_takes_it_away() {
    let report = report(Effort::Full);
    assert_eq!(report.unmet(), Vec::<String>::new());
    assert!(!report.plots.is_empty() && !report.assumed.is_empty());
    for row in rows(&report, "Mixes: block I/Os under LRU-SP / under LRU") {
        assert!(row.ours <= 1.0, "{}: {}", row.cell, row.ours);
    }
    let worse: Vec<bool> =
        rows(&report, "Mixes: block I/Os under ALLOC-LRU / under LRU-SP").map(|row| row.ours > 1.0).collect();
    assert_eq!(worse.len(), 5 * 4);
    assert!(worse.iter().filter(|it| **it).count() > 15, "{worse:?}");
    let slower = rows(&report, "Mixes: elapsed under ALLOC-LRU / under LRU").filter(|row| row.ours > 1.0).count();
    assert!(slower > 0, "no mix is slower under ALLOC-LRU than under LRU");
    let worse_off = "Mixes: applications worse off under ALLOC-LRU than under LRU";
    assert!(row(&report, worse_off, "by block I/Os").ours > 0.0);
}

#[test]
fn the_same_numbers_come_every_time() {
    assert_eq!(report(Effort::Quick).rows, report(Effort::Quick).rows);
}
