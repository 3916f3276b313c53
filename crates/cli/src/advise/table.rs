//! Every setting on one storage, a line each.

use std::fmt::Write;
use std::time::Duration;

use super::results::{Results, Row};
use crate::text::{bytes, count, time};

/// The table of a storage.
pub fn table(results: &Results, storage: usize) -> String {
    let names = || results.on(storage).map(|row| row.setting.policy.as_str());
    let width = names().map(str::len).max().unwrap_or(0).max("lru, as it is".len()) + 2;
    let mut text = format!(
        "{:<width$}  {:>9}  {:>20}  {:>8}  {:>11}  {:>10}\n",
        "", "elapsed", "saved", "requests", "from device", "saved"
    );
    let (mut hints, mut same) = (None, Vec::new());
    for row in results.on(storage) {
        // Writing to a string does not fail.
        if hints != Some(row.setting.hints) {
            let _ = writeln!(text, "{}", row.setting.hints.heading());
            hints = Some(row.setting.hints);
        }
        let name = row.setting.policy.as_str();
        let (saved_ns, saved_bytes) = (results.saved_ns(row), results.saved_bytes(row));
        if !row.setting.is_as_it_is() && !row.setting.is_own() && saved_ns == 0 && saved_bytes == 0 {
            same.push(name);
            continue;
        }
        let _ = writeln!(text, "{}", line(row, results.as_it_is(storage), width, saved_ns, saved_bytes).trim_end());
    }
    if !same.is_empty() {
        let _ = writeln!(text, "the same as lru: {}", same.join(", "));
    }
    text
}

fn line(row: &Row, as_it_is: &Row, width: usize, saved_ns: i64, saved_bytes: i64) -> String {
    let elapsed = as_it_is.report.elapsed_ns.max(1) as f64;
    // Rounded before it is shown: -0.04 is 0.
    let percent = (1000.0 * saved_ns as f64 / elapsed).round() / 10.0 + 0.0;
    let (name, saved, saved_bytes) = match row.setting.is_as_it_is() {
        true => ("lru, as it is", String::new(), String::new()),
        false => {
            let saved = signed(saved_ns, |ns| time(Duration::from_nanos(ns)));
            (row.setting.policy.as_str(), format!("{saved} ({percent:.1} %)"), signed(saved_bytes, bytes))
        }
    };
    format!(
        "  {name:<width$}{:>9}  {saved:>20}  {:>8}  {:>11}  {saved_bytes:>10}",
        time(Duration::from_nanos(row.report.elapsed_ns)),
        count(row.requests()),
        bytes(row.bytes()),
    )
}

fn signed(number: i64, show: impl Fn(u64) -> String) -> String {
    format!("{}{}", if number < 0 { "-" } else { "" }, show(number.unsigned_abs()))
}
