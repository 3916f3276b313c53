//! What a paper's experiments gave: numbers, plots, and what had to be assumed.

use crate::published::Published;
use foresee_chart::Plot;

/// One number, published and ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The experiment.
    pub experiment: String,
    /// Which of its numbers.
    pub cell: String,
    /// As published; None where the paper gives none.
    pub published: Option<f64>,
    /// As found here.
    pub ours: f64,
    /// The unit of both.
    pub unit: &'static str,
}

impl Row {
    /// How far ours is from what was published, in parts of it.
    pub fn difference(&self) -> Option<f64> {
        self.published.filter(|published| *published != 0.0).map(|published| self.ours / published - 1.0)
    }
}

/// What came of a paper's experiments.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The numbers, those of one experiment together.
    pub rows: Vec<Row>,
    /// The plots.
    pub plots: Vec<Plot>,
    /// What the paper does not say and had to be assumed, or was fitted, and to what: a sentence
    /// each.
    pub assumed: Vec<String>,
    published: Published,
}

impl Report {
    /// Without any numbers of ours yet.
    pub fn new(published: Published) -> Self {
        Report { published, ..Report::default() }
    }

    /// Adds a number of ours; what was published of that cell comes beside it.
    pub fn row(&mut self, experiment: impl Into<String>, cell: impl Into<String>, ours: f64, unit: &'static str) {
        let (experiment, cell) = (experiment.into(), cell.into());
        let published = self.published.value(&experiment, &cell, unit);
        self.rows.push(Row { experiment, cell, published, ours, unit });
    }

    /// Published cells of which there is no number of ours.
    pub fn unmet(&self) -> Vec<String> {
        let is_met = |(experiment, cell, unit): (&str, &str, &str)| {
            self.rows
                .iter()
                .any(|row| (row.experiment.as_str(), row.cell.as_str(), row.unit) == (experiment, cell, unit))
        };
        self.published
            .cells()
            .filter(|it| !is_met(*it))
            .map(|(it, cell, unit)| format!("{it}: {cell} ({unit})"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_meet_what_was_published() {
        let published = Published::parse("header\na,x,2,s,Table 1\na,y,3,s,Table 1\n").unwrap();
        let mut report = Report::new(published);
        report.row("a", "x", 3.0, "s");
        report.row("a", "z", 1.0, "s");
        assert_eq!(report.rows.iter().map(Row::difference).collect::<Vec<_>>(), [Some(0.5), None]);
        assert_eq!(report.unmet(), ["a: y (s)"]);
    }
}
