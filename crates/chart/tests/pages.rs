//! Every shape is drawn, in a page and in a picture.

use foresee_chart::{Page, Plot, Scale, Shape};

fn page(plots: Vec<Plot>) -> Page {
    let mut page = Page::new("A <page>");
    plots.into_iter().for_each(|plot| page.plot(plot));
    page
}

fn shapes() -> Vec<Plot> {
    let mut bars = Plot::new("Bars", "x", "y");
    bars.categories = vec!["first".into(), "second".into()];
    bars.add("a", Shape::Bars, vec![(0.0, 1.0), (1.0, 2.0)], vec![(0.0, 3.0)]);
    let mut lines = Plot::new("Lines", "x", "y");
    lines.add("a", Shape::Line, vec![(1.0, 1.0), (4.0, 2.0)], vec![(1.0, 1.5), (4.0, 2.5)]);
    lines.add("b", Shape::Points, vec![(2.5, 1.0)], vec![]);
    let mut areas = Plot::new("Areas", "x", "y");
    areas.add("low", Shape::Area, vec![(0.0, 1.0), (1.0, 3.0)], vec![]);
    areas.add("high", Shape::Area, vec![(0.0, 2.0), (1.0, 1.0)], vec![]);
    let mut cells = Plot::new("Cells", "x", "y");
    cells.add("", Shape::Cells { width: 1.0, height: 1.0 }, vec![(0.5, 0.5), (1.5, 0.5), (3.5, 0.5)], vec![]);
    let mut log = Plot::new("Log", "x", "y");
    log.x_scale = Scale::Log;
    log.add("a", Shape::Line, vec![(10.0, 1.0), (1000.0, 2.0)], vec![]);
    vec![bars, lines, areas, cells, log]
}

#[test]
fn every_shape_is_drawn() {
    let [bars, lines, areas, cells, log] = &shapes()[..] else { panic!() };
    let html = |plot: &Plot| page(vec![plot.clone()]).html();
    // Three bars, two of one colour and one paler; the legend has one mark for both.
    let bars = html(bars);
    assert_eq!(bars.matches("fill-opacity=\"0.40\"").count(), 1);
    assert!(bars.contains(">first<") && bars.contains(">second<"));
    let lines = html(lines);
    assert_eq!((lines.matches("<circle").count(), lines.matches("stroke-dasharray").count()), (5, 1));
    assert!(lines.contains("<title>a: 4, 2</title>"));
    // The upper area stands on the lower one, both are four tall at the end.
    assert_eq!(html(areas).matches("<polygon").count(), 2);
    assert!(html(areas).contains(">4<") && !html(areas).contains(">5<"));
    // Two neighbours are one rectangle; nothing is named.
    let cells = html(cells);
    assert_eq!(cells.matches('M').count(), 2, "{cells}");
    assert!(html(log).contains(">100<"));
    assert!(html(log).contains("A &lt;page&gt;"));
}

#[test]
fn a_plot_of_little_or_nothing_is_drawn_too() {
    let mut one = Plot::new("One", "x", "y");
    one.add("a", Shape::Line, vec![(3.0, 0.0)], vec![]);
    let mut nothing = Plot::new("Nothing", "x", "y");
    nothing.add("a", Shape::Area, vec![], vec![]);
    let page = page(vec![Plot::new("None", "x", "y"), one, nothing]);
    assert_eq!(page.html().matches("<svg").count(), 3);
    assert!(!page.html().contains("NaN"));
}

#[test]
fn a_picture_is_painted_or_says_what_is_missing() {
    match page(shapes()).png() {
        Ok(png) => {
            assert!(png.starts_with(b"\x89PNG") && png.len() > 20_000, "{} bytes", png.len());
        }
        Err(error) => {
            assert!(error.contains("install DejaVu Sans"), "{error}");
            eprintln!("skipped: {error}");
        }
    }
}
