//! `foresee paper`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use foresee_papers::{Effort, Paper, REGISTRY, Report, Row, html};
use serde_json::{Value, json};

use crate::output::Output;
use crate::progress::Progress;
use crate::report::write_json;
use crate::say::{print, say};

/// Options of `foresee paper`.
#[derive(Args)]
pub struct Options {
    /// The paper's number: 001 [default: list the papers]
    number: Option<u16>,

    /// Make only a part of its experiments, in less than a minute
    #[arg(long)]
    quick: bool,

    /// Write the numbers to this file as a list of objects (- for standard output)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// Where the plots go [default: paper-NUMBER.html]
    #[arg(long, value_name = "FILE.html")]
    plot: Option<PathBuf>,
}

/// Makes a paper's experiments; returns the exit status.
pub fn main(options: Options) -> Result<u8, String> {
    let Some(number) = options.number else {
        print(list)?;
        return Ok(0);
    };
    let paper = REGISTRY.iter().find(|paper| paper.number == number).ok_or_else(|| {
        let numbers: Vec<_> = REGISTRY.iter().map(|paper| format!("{:03}", paper.number)).collect();
        format!("there is no paper {number:03}; there are: {}", numbers.join(", "))
    })?;
    let json = Output::check_any("--json", options.json.as_deref(), &[])?;
    let plot = options.plot.unwrap_or_else(|| format!("paper-{number:03}.html").into());
    let plot = Output::check("--plot", &plot, &[])?;
    let effort = if options.quick { Effort::Quick } else { Effort::Full };
    let progress = Progress::new();
    let report = (paper.run)(effort, &|done, total| progress.show(done, total));
    progress.clear();
    let report = report?;
    plot.write(html::page(paper, &report).html().as_bytes())?;
    say(format_args!("plots: {}", plot.path().display()));
    match &json {
        Some(output) => write_json(output, &json!(report.rows.iter().map(row).collect::<Vec<_>>()))?,
        None => print(|out| table(paper, &report, out))?,
    }
    Ok(0)
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    for paper in REGISTRY {
        writeln!(out, "{:03}  {}", paper.number, paper.title)?;
    }
    Ok(())
}

fn row(row: &Row) -> Value {
    let Row { experiment, cell, published, ours, unit } = row;
    json!({ "experiment": experiment, "cell": cell, "published": published, "ours": ours, "unit": unit })
}

fn table(paper: &Paper, report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:03}  {}", paper.number, paper.title)?;
    let width = report.rows.iter().map(|row| row.cell.chars().count()).max().unwrap_or(0);
    let mut experiment = "";
    for row in &report.rows {
        if row.experiment != experiment {
            experiment = &row.experiment;
            writeln!(out, "\n{experiment}")?;
            writeln!(out, "  {:<width$}  {:>10}  {:>10}     difference", "", "published", "ours")?;
        }
        let Row { cell, ours, unit, .. } = row;
        let published = row.published.map_or_else(|| "-".to_owned(), number);
        let difference = row.difference().map_or_else(String::new, |it| format!("{:+.0} %", 100.0 * it));
        let line = format!("  {cell:<width$}  {published:>10}  {:>10} {unit:<2}  {difference:>10}", number(*ours));
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out, "\nAssumed or fitted")?;
    for sentence in &report.assumed {
        writeln!(out, "- {sentence}")?;
    }
    Ok(())
}

/// Three digits that matter, or all before the point.
fn number(number: f64) -> String {
    let decimals = match number.abs() {
        it if it >= 100.0 => 0,
        it if it >= 10.0 => 1,
        it if it >= 0.1 || it == 0.0 => 2,
        _ => 3,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        assert_eq!(
            [0.0, 0.0123, 0.5, 3.456, 45.67, 1234.5].map(number),
            ["0.00", "0.012", "0.50", "3.46", "45.7", "1234"]
        );
    }
}
