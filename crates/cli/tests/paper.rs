//! The papers' experiments, as a user asks for them.

mod support;

use std::fs;

use serde_json::Value;
use support::{Ended, Place, end};

fn paper(place: &Place, words: &[&str]) -> Ended {
    end(place.foresee(&[&["paper"], words].concat()), b"")
}

#[test]
fn a_paper_is_printed_drawn_and_given_as_json() {
    let place = Place::new();
    let ended = paper(&place, &["001", "--quick"]).with(0);
    for word in ["X-Y slices", "published", "with TIP; 4 disks", "Assumed or fitted"] {
        assert!(ended.out().contains(word), "{word}: {ended:?}");
    }
    assert!(ended.err().contains("paper-001.html"), "{ended:?}");
    assert!(fs::read_to_string(place.path("paper-001.html")).unwrap().contains("<svg"));

    let ended = paper(&place, &["1", "--quick", "--json", "-", "--plot", "other.html"]).with(0);
    let rows: Value = serde_json::from_slice(&ended.stdout).unwrap();
    for row in rows.as_array().unwrap() {
        let keys: Vec<_> = row.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["experiment", "cell", "published", "ours", "unit"]);
        assert!(row["ours"].as_f64().unwrap() > 0.0, "{row}");
    }
    assert!(place.path("other.html").exists());
}

#[test]
fn papers_are_listed_and_unknown_ones_refused() {
    let place = Place::new();
    assert!(paper(&place, &[]).with(0).out().contains("001  Patterson, Gibson"));
    assert!(paper(&place, &["999"]).with(2).err().contains("there is no paper 999; there are:"));
    paper(&place, &["tip"]).with(2);
    let ended = paper(&place, &["001", "--quick", "--plot", "no/such/folder.html"]).with(2);
    assert!(ended.err().contains("--plot no/such/folder.html"), "{ended:?}");
}
