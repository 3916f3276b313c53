//! What the device was asked for and how it kept to its model.

use crate::model::Nanos;

/// Counted since the start or the last `reset`.
#[derive(Default)]
pub struct Stats {
    since: Nanos,
    reads: u64,
    read_bytes: u64,
    failed: u64,
    writes: u64,
    write_bytes: u64,
    depth: u64,
    depth_max: u64,
    /// The sum over time of the number of reads waiting.
    depth_nanos: u128,
    busy: Nanos,
    changed: Nanos,
    delayed: u64,
    late: Nanos,
    late_max: Nanos,
}

impl Stats {
    /// A read came in.
    pub fn arrived(&mut self, now: Nanos) {
        self.pass(now);
        self.depth += 1;
        self.depth_max = self.depth_max.max(self.depth);
    }

    /// A read of `bytes` is about to be answered.
    pub fn answered(&mut self, now: Nanos, bytes: u64) {
        self.pass(now);
        self.depth -= 1;
        self.reads += 1;
        self.read_bytes += bytes;
    }

    /// A read is about to be answered with an error.
    pub fn failed(&mut self, now: Nanos) {
        self.answered(now, 0);
        self.failed += 1;
    }

    /// A delayed answer leaves this long after the model said it should.
    pub fn late(&mut self, by: Nanos) {
        self.delayed += 1;
        self.late += by;
        self.late_max = self.late_max.max(by);
    }

    /// A write was done.
    pub fn wrote(&mut self, bytes: u64) {
        self.writes += 1;
        self.write_bytes += bytes;
    }

    /// Counts from here; reads still waiting stay in the depth.
    pub fn reset(&mut self, now: Nanos) {
        *self = Stats { since: now, changed: now, depth: self.depth, depth_max: self.depth, ..Stats::default() };
    }

    /// One `key value` line each.
    pub fn text(&mut self, now: Nanos) -> String {
        self.pass(now);
        let depth_mean = self.depth_nanos as f64 / self.busy.max(1) as f64;
        let read_mean = self.depth_nanos as f64 / 1e3 / self.reads.max(1) as f64;
        let late_mean = self.late as f64 / 1e3 / self.delayed.max(1) as f64;
        format!(
            "elapsed_us {}\nbusy_us {}\nreads {}\nread_bytes {}\nfailed {}\nwrites {}\nwrite_bytes {}\n\
             depth {}\ndepth_max {}\ndepth_mean {depth_mean:.2}\nread_mean_us {read_mean:.1}\n\
             delayed {}\nlate_mean_us {late_mean:.1}\nlate_max_us {}\n",
            now.saturating_sub(self.since) / 1_000,
            self.busy / 1_000,
            self.reads,
            self.read_bytes,
            self.failed,
            self.writes,
            self.write_bytes,
            self.depth,
            self.depth_max,
            self.delayed,
            self.late_max / 1_000,
        )
    }

    fn pass(&mut self, now: Nanos) {
        // Several threads report, so a time may be a little older than the last.
        let time = now.saturating_sub(self.changed);
        self.depth_nanos += u128::from(time) * u128::from(self.depth);
        if self.depth > 0 {
            self.busy += time;
        }
        self.changed = self.changed.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_weighted_by_time_while_busy() {
        let mut stats = Stats::default();
        stats.arrived(1_000_000);
        stats.arrived(2_000_000);
        stats.answered(3_000_000, 4096);
        stats.answered(4_000_000, 4096);
        let text = stats.text(10_000_000);
        for line in ["busy_us 3000", "elapsed_us 10000", "depth 0", "depth_max 2", "depth_mean 1.33", "reads 2"] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
        assert!(text.contains("read_mean_us 2000.0"));
        stats.arrived(10_000_000);
        stats.failed(10_000_000);
        let text = stats.text(10_000_000);
        assert!(text.contains("reads 3\nread_bytes 8192\nfailed 1\n"), "{text}");
        stats.reset(10_000_000);
        assert!(stats.text(11_000_000).contains("reads 0\n"));
    }
}
