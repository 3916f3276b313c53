//! What came of the mount so far: for `foresee top`, and as metrics.

mod metrics;
mod served;
mod socket;

use std::fmt::Write as _;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use foresee::{Cache, Outcomes};

pub use metrics::Metrics;
pub use served::Where;
pub use socket::SocketFile;

/// What readers of files asked for.
#[derive(Default)]
pub struct Reads {
    count: AtomicU64,
    bytes: AtomicU64,
    failed: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Reads {
    /// One that came to so many bytes, or to an error, and took so long.
    pub fn add(&self, bytes: Option<usize>, took: Duration) {
        self.count.fetch_add(1, Relaxed);
        self.failed.fetch_add(u64::from(bytes.is_none()), Relaxed);
        self.bytes.fetch_add(bytes.unwrap_or(0) as u64, Relaxed);
        self.nanoseconds.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    fn took(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Relaxed))
    }
}

/// The mount as `foresee top` shows it: a run, whose command it is.
pub struct State {
    /// The command's words.
    pub words: Vec<String>,
    /// When it began.
    pub begun: Instant,
}

impl State {
    /// As it is now, in JSON (docs/json.md).
    pub fn text(&self, reads: &Reads, cache: &Cache) -> String {
        let statistics = cache.statistics();
        let words: Vec<_> = self.words.iter().map(|word| quoted(word)).collect();
        let (count, bytes) = (reads.count.load(Relaxed), reads.bytes.load(Relaxed));
        let (elapsed, stall) = (self.begun.elapsed().as_secs_f64(), reads.took().as_secs_f64());
        let (told, guessed) = (outcomes(statistics.planned), outcomes(statistics.guessed));
        format!(
            "{{\"command\": [{}], \"process\": {}, \"status\": null, \"elapsed_s\": {elapsed}, \"reads\": {count}, \
             \"bytes\": {bytes}, \"stall_s\": {stall}, \"prefetched\": {{\"told\": {told}, \"guessed\": {guessed}}}}}",
            words.join(", "),
            std::process::id()
        )
    }
}

fn outcomes(Outcomes { fetched, timely, late, wasted, cancelled }: Outcomes) -> String {
    format!(
        "{{\"fetched\": {fetched}, \"timely\": {timely}, \"late\": {late}, \"wasted\": {wasted}, \"cancelled\": {cancelled}}}"
    )
}

/// A string as JSON has it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => _ = write!(quoted, "\\u{:04x}", u32::from(letter)),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quoted("a\"b\\c\nd\u{e9}"), "\"a\\\"b\\\\c\\u000ad\u{e9}\"");
    }
}
