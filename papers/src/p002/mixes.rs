//! Several applications at once, each with its advice (section 5.3): LRU-SP against the original
//! kernel's LRU, and ALLOC-LRU against LRU-SP (section 6.1). The paper's figures are not in its
//! text: it says what they show.

use super::machine::{CACHES, Cache, Outcome, System, run};
use super::points;
use super::work::{Application, Program};
use crate::{Effort, Progress, Report, map};
use foresee_chart::{Plot, Shape};

use Application::{Cs1, Cs2, Cs3, Din, Gli, Ldk, Pjn, Sort};

/// The nine mixes, in the order of the paper.
const MIXES: [&[Application]; 9] = [
    &[Cs2, Gli],
    &[Cs3, Ldk],
    &[Gli, Sort],
    &[Din, Sort],
    &[Sort, Ldk],
    &[Pjn, Ldk],
    &[Din, Cs2, Ldk],
    &[Cs1, Gli, Ldk],
    &[Din, Cs3, Gli, Ldk],
];
/// Those that were run under ALLOC-LRU as well.
const ALLOC_LRU: [usize; 5] = [0, 1, 6, 7, 8];

/// What is compared.
type Part = (&'static str, fn(&Outcome) -> f64);
const PARTS: [Part; 2] = [("block I/Os", |outcome| outcome.ios() as f64), ("elapsed", Outcome::elapsed_s)];

fn name(mix: &[Application]) -> String {
    mix.iter().map(|application| application.name()).collect::<Vec<_>>().join("+")
}

fn caches(effort: Effort) -> &'static [Cache] {
    match effort {
        Effort::Quick => &CACHES[..1],
        Effort::Full => &CACHES,
    }
}

/// Adds rows and plots.
///
/// # Errors
/// If a mix does not fit the machine.
pub fn report(effort: Effort, progress: &Progress<'_>, report: &mut Report) -> Result<(), String> {
    let mut cells = Vec::new();
    for (mix, number) in MIXES.iter().zip(0_usize..) {
        for &cache in caches(effort) {
            cells.extend([System::Lru, System::LruSp].map(|system| (*mix, cache, system)));
            cells.extend(ALLOC_LRU.contains(&number).then_some((*mix, cache, System::AllocLru)));
        }
    }
    let made = map(&cells, progress, |&(mix, cache, system)| {
        let programs = mix.iter().map(|application| application.program()).collect::<Result<Vec<Program>, String>>()?;
        let advised = |program: Program| if system == System::Lru { program.oblivious() } else { program };
        let programs: Vec<Program> = programs.into_iter().map(advised).collect();
        run(system, cache, &programs.iter().collect::<Vec<_>>(), 0)
    });
    let made: Vec<_> = made.into_iter().collect::<Result<_, String>>()?;
    let of = |mix: &[Application], cache: Cache, system: System| {
        let is_it = |cell: &&(&[Application], Cache, System)| **cell == (mix, cache, system);
        cells.iter().position(|cell| is_it(&cell)).map(|at| &made[at])
    };
    let named = |(mix, cache, system): (&[Application], Cache, System)| {
        format!("{}; {}; {}", name(mix), cache.name, system.name())
    };
    for (&cell, outcome) in cells.iter().zip(&made) {
        report.row("Mixes: block I/Os", named(cell), outcome.ios() as f64, "blocks");
    }
    for (&cell, outcome) in cells.iter().zip(&made) {
        report.row("Mixes: elapsed", named(cell), outcome.elapsed_s(), "s");
    }
    // What is divided by what: the numerator, the denominator.
    for (after, before) in
        [(System::LruSp, System::Lru), (System::AllocLru, System::LruSp), (System::AllocLru, System::Lru)]
    {
        for (what, part) in PARTS {
            let experiment = format!("Mixes: {what} under {} / under {}", after.name(), before.name());
            let mut mixes = Vec::new();
            for mix in MIXES {
                for &cache in caches(effort) {
                    let (Some(after), Some(before)) = (of(mix, cache, after), of(mix, cache, before)) else { continue };
                    let ratio = part(after) / part(before);
                    report.row(&experiment, format!("{}; {}", name(mix), cache.name), ratio, "x");
                    mixes.push(name(mix));
                }
            }
            mixes.dedup();
            let mut plot = Plot::new(&experiment, "", format!("{what}, {} = 1", before.name()));
            for cache in caches(effort) {
                let cells = mixes.iter().map(|mix| format!("{mix}; {}", cache.name));
                let (ours, _) = points(report, &experiment, cells);
                plot.add(cache.name, Shape::Bars, ours, Vec::new());
            }
            plot.categories = mixes;
            report.plots.push(plot);
        }
    }
    worse_off(report, |mix, cache| Some([of(mix, cache, System::AllocLru)?, of(mix, cache, System::Lru)?]), effort);
    let most = report
        .rows
        .iter()
        .filter(|row| row.experiment == "Mixes: elapsed under LRU-SP / under LRU")
        .map(|row| 100.0 * (1.0 - row.ours))
        .fold(f64::NEG_INFINITY, f64::max);
    report.row("Mixes: elapsed less", "most", most, "%");
    Ok(())
}

/// Applications that would have done better without advice, as the paper found some under
/// ALLOC-LRU.
fn worse_off<'a>(report: &mut Report, of: impl Fn(&[Application], Cache) -> Option<[&'a Outcome; 2]>, effort: Effort) {
    const EXPERIMENT: &str = "Mixes: applications worse off under ALLOC-LRU than under LRU";
    let (mut all, mut ios, mut elapsed) = (0_u32, 0_u32, 0_u32);
    for mix in MIXES {
        for [after, before] in caches(effort).iter().filter_map(|&cache| of(mix, cache)) {
            for (after, before) in after.0.iter().zip(&before.0) {
                all += 1;
                ios += u32::from(after.ios > before.ios);
                elapsed += u32::from(after.elapsed_s > before.elapsed_s);
            }
        }
    }
    report.row(EXPERIMENT, "all of them", f64::from(all), "applications");
    report.row(EXPERIMENT, "by block I/Os", f64::from(ios), "applications");
    report.row(EXPERIMENT, "by elapsed time", f64::from(elapsed), "applications");
}
