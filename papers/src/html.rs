//! The plots of a paper as one HTML file that needs no other.

use foresee_chart::Page;

use crate::{Paper, Report};

/// The page.
pub fn page(paper: &Paper, report: &Report) -> Page {
    let mut page = Page::new(format!("Paper {:03}", paper.number));
    page.text(paper.title);
    page.text("Published numbers are pale and dashed, ours are solid.");
    report.plots.iter().for_each(|plot| page.plot(plot.clone()));
    page.heading("Assumed or fitted");
    page.list(report.assumed.clone());
    page
}

#[cfg(test)]
mod tests {
    use foresee_chart::{Plot, Shape};

    use super::*;

    #[test]
    fn a_page_holds_plots_and_assumptions() {
        let paper = Paper { number: 7, title: "On <tags> & other things", run: |_, _| Err(String::new()) };
        let mut report = Report::default();
        report.assumed.push("a < b".into());
        let mut plot = Plot::new("Lines", "x", "y");
        plot.add("a", Shape::Line, vec![(1.0, 1.0), (4.0, 2.0)], vec![(1.0, 1.5), (4.0, 2.5)]);
        report.plots = vec![plot];
        let html = page(&paper, &report).html();
        assert_eq!((html.matches("<svg").count(), html.matches("<circle").count()), (1, 4));
        assert!(html.contains("On &lt;tags&gt; &amp; other things") && html.contains("<li>a &lt; b</li>"));
    }
}
