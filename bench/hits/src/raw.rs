//! All that was measured, as JSON.

use std::fs;
use std::path::Path;

/// What the table is made for unless said.
const MIB: usize = 256;

/// Rows, of each the cases, of each the rounds.
#[derive(Default)]
pub struct Raw(Vec<String>);

impl Raw {
    /// What the rounds of one case came to.
    pub fn add(&mut self, row: &str, (threads, zipf): (u64, bool), rounds: impl Iterator<Item = f64>) {
        let rounds: Vec<String> = rounds.map(|it| format!("{it:.4}")).collect();
        let order = if zipf { "zipf" } else { "uniform" };
        let rounds = rounds.join(", ");
        self.0.push(format!(
            "  {{\"row\": \"{row}\", \"threads\": {threads}, \"order\": \"{order}\", \"rounds\": [{rounds}]}}"
        ));
    }

    /// Writes it beside the other benchmarks' results.
    pub fn write(&self, mib: usize) {
        let name = if mib == MIB { "hits.json".to_owned() } else { format!("hits-{mib}.json") };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results").join(name);
        let text = format!("{{\n \"mib\": {mib},\n \"ns\": [\n{}\n ]\n}}\n", self.0.join(",\n"));
        fs::write(path, text).expect("the results are written");
    }
}
