//! What reading a trace may take: the machine must survive a file that says much in few bytes, or
//! that does not end.

/// The longest request unless somebody says otherwise. Linux reads and writes at most 2 GiB at
/// once; a mapping that was recorded as one read may be longer.
const REQUEST_BYTES: u64 = 4 << 30;

/// What reading a trace may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one request.
    pub request_bytes: u64,
    /// Bytes of memory of the whole process.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// Requests as programs make them, and any memory.
    fn default() -> Self {
        Limits { request_bytes: REQUEST_BYTES, memory_bytes: u64::MAX }
    }
}

impl Limits {
    /// Whether a request may be so long.
    pub(super) fn check_request(self, bytes: u64) -> Result<(), String> {
        if bytes <= self.request_bytes {
            return Ok(());
        }
        Err(format!(
            "a request of {bytes} bytes; no program makes one of more than {}. Mend it, or allow it (--max-request {})",
            self.request_bytes,
            allowing(bytes),
        ))
    }

    /// Whether the process has more memory by now than it may.
    pub(super) fn check_memory(self) -> Result<(), String> {
        if self.memory_bytes == u64::MAX || resident_bytes().is_none_or(|bytes| bytes <= self.memory_bytes) {
            return Ok(());
        }
        let limit = self.memory_bytes >> 20;
        Err(format!(
            "up to here it takes more than {limit} MiB, a third of the memory that was free; cut it, or take a sample"
        ))
    }
}

/// A round size of a request that lets one of so many bytes pass, as users write it.
fn allowing(bytes: u64) -> String {
    match bytes.max(1 << 20).checked_next_power_of_two() {
        Some(bytes) => format!("{}M", bytes >> 20),
        None => u64::MAX.to_string(),
    }
}

/// The process's memory, as Linux tells it.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    // Pages are of 4 KiB at least.
    text.split(' ').nth(1)?.parse::<u64>().ok().map(|pages| pages << 12)
}

/// Counts what is taken, to look at the memory now and then.
#[derive(Debug, Default)]
pub(super) struct Looks {
    since: u64,
}

impl Looks {
    /// Whether it is time to look: every so much that is taken.
    pub(super) fn are_due(&mut self, taken: u64, every: u64) -> bool {
        self.since = self.since.saturating_add(taken);
        let due = self.since >= every;
        if due {
            self.since = 0;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;

    #[test]
    fn what_is_said_to_allow_a_request_does() {
        for bytes in [1, 4096, 1 << 20, (1 << 20) + 1, 5 << 30, u64::MAX / 2, u64::MAX] {
            let said = Limits { request_bytes: 0, ..Limits::default() }.check_request(bytes).unwrap_err();
            let value = said.split("--max-request ").nth(1).unwrap().trim_end_matches(')');
            let Ok(Size::Bytes(request_bytes) | Size::Blocks(request_bytes)) = value.parse() else { panic!("{said}") };
            assert_eq!(Limits { request_bytes, ..Limits::default() }.check_request(bytes), Ok(()), "{said}");
        }
    }
}
