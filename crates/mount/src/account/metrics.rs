//! The same in Prometheus' text format.

use std::fmt::Write as _;
use std::sync::atomic::Ordering::Relaxed;

use foresee::{Cache, Outcomes};

use super::Reads;

/// A text of metrics, as far as it is written.
#[derive(Default)]
pub struct Metrics(String);

impl Metrics {
    /// All of a mount's.
    pub fn of(reads: &Reads, cache: &Cache) -> String {
        let it = cache.statistics();
        let mut metrics = Metrics::default();
        let count = |of: u64| of as f64;
        for (name, help, value) in [
            ("reads_total", "Reads of files that the kernel asked for.", count(reads.count.load(Relaxed))),
            ("read_errors_total", "Those that came to an error.", count(reads.failed.load(Relaxed))),
            ("read_bytes_total", "Bytes that they came to.", count(reads.bytes.load(Relaxed))),
            ("read_seconds_total", "How long they took together.", reads.took().as_secs_f64()),
            ("cache_hits_total", "Reads of blocks that were in memory.", count(it.hits)),
            ("cache_late_hits_total", "Reads of blocks that were on their way.", count(it.late_hits)),
            ("cache_misses_total", "Reads of blocks that were neither.", count(it.misses)),
            ("store_requests_failed_total", "Requests to stores that failed.", count(it.failed_requests)),
            ("store_bytes_total", "Bytes of blocks that came from stores.", count(it.bytes_read)),
            ("disk_read_bytes_total", "Bytes of blocks that came from the disk.", count(it.disk.bytes_read)),
            ("disk_written_bytes_total", "Bytes of blocks that went to it.", count(it.disk.bytes_written)),
            ("disk_damaged_total", "Blocks of it that were not as written.", count(it.disk.damaged)),
        ] {
            metrics.head(name, "counter", help).value(name, "", value);
        }
        let name = "store_requests_total";
        metrics.head(name, "counter", "Requests that a reader waited for, and those ahead of readers.");
        metrics.value(name, "{for=\"demand\"}", count(it.demand_requests));
        metrics.value(name, "{for=\"ahead\"}", count(it.ahead_requests));
        let name = "ahead_blocks_total";
        metrics.head(name, "counter", "Blocks read ahead, by why, and what became of them.");
        for (why, Outcomes { timely, late, wasted, cancelled, .. }) in [("told", it.planned), ("guessed", it.guessed)] {
            for (became, blocks) in [("timely", timely), ("late", late), ("wasted", wasted), ("cancelled", cancelled)] {
                metrics.value(name, &format!("{{why=\"{why}\",became=\"{became}\"}}"), count(blocks));
            }
        }
        for (name, help, blocks) in [
            ("memory_bytes", "Memory for blocks.", it.blocks),
            ("memory_used_bytes", "Memory that blocks take now.", it.blocks_used),
            ("disk_bytes", "Disk for blocks.", it.disk.blocks),
            ("disk_used_bytes", "Disk that blocks take now.", it.disk.blocks_used),
        ] {
            metrics.head(name, "gauge", help).value(name, "", (blocks * it.block_bytes) as f64);
        }
        metrics.0
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) -> &mut Self {
        // A string takes all that is written to it.
        let _ = write!(self.0, "# HELP foresee_{name} {help}\n# TYPE foresee_{name} {kind}\n");
        self
    }

    fn value(&mut self, name: &str, labels: &str, value: f64) {
        let _ = writeln!(self.0, "foresee_{name}{labels} {value}");
    }
}
