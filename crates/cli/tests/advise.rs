//! What to do about a trace: the table, and the one setting.

mod support;

use serde_json::Value;
use support::{Ended, Place, end};

fn advise(place: &Place, words: &[&str]) -> Ended {
    end(place.foresee(&[&["advise"], words].concat()), b"")
}

/// A database's reads: places in no order, each a few times, so that no readahead helps.
fn scattered(place: &Place) {
    let numbers = (0..6000_u64).map(|at| at.wrapping_mul(2_654_435_761) >> 7).map(|it| (it % 2000 * 3).to_string());
    place.write("scattered.trc", numbers.collect::<Vec<_>>().join("\n"));
}

#[test]
fn hints_are_recommended_where_they_save() {
    let place = Place::new();
    scattered(&place);
    let rows = advise(&place, &["scattered.trc", "-c", "10%,50%", "--json"]).with(0);
    let rows: Vec<Value> = serde_json::from_slice(&rows.stdout).unwrap();
    let best: Vec<&Value> = rows.iter().filter(|row| row["recommended"] == true).collect();
    let [best] = best[..] else { panic!("{best:?}") };
    assert_eq!((&best["hints"], &best["cache_blocks"]), (&"recorded".into(), &rows[0]["cache_blocks"]), "{best}");
    assert!(best["saved_s"].as_f64().unwrap() > best["elapsed_s"].as_f64().unwrap(), "{best}");
    for row in &rows {
        let same_size = |it: &&Value| it["cache_blocks"] == row["cache_blocks"];
        let as_it_is = rows.iter().find(same_size).unwrap();
        let seconds = |row: &Value, key: &str| row[key].as_f64().unwrap();
        assert_eq!((&as_it_is["policy"], &as_it_is["hints"]), (&"lru".into(), &"none".into()));
        let saved = seconds(as_it_is, "elapsed_s") - seconds(row, "elapsed_s");
        assert!((saved - seconds(row, "saved_s")).abs() < 1e-6, "{row}");
        assert!(row["policy"] != "opt" && row["device_bytes"].is_u64() && row["saved_bytes"].is_i64(), "{row}");
    }
    let text = advise(&place, &["scattered.trc", "-c", "10%", "-p", "arc"]).with(0).out();
    for words in ["lru, as it is", "an earlier run recorded", "all told by the program", "Recommended: 'foresee run"] {
        assert!(text.contains(words), "no '{words}' in {text}");
    }
}

#[test]
fn nothing_is_recommended_where_nothing_is_to_be_had() {
    let place = Place::new();
    place.write("once.trc", "7\n7\n7\n7\n7\n7\n7\n7\n");
    let ended =
        advise(&place, &["once.trc", "-c", "10", "-p", "arc", "--device", "latency_us=10", "--think", "1s"]).with(0);
    assert!(ended.out().contains("Recommended: leave it as it is"), "{ended:?}");
    for (words, named) in [
        (&["missing.trc"][..], "missing.trc"),
        (&["once.trc", "--device", "drum"], "drum"),
        (&["once.trc", "-p", "best"], "best"),
    ] {
        assert!(advise(&place, words).with(2).err().contains(named), "{words:?}");
    }
}
