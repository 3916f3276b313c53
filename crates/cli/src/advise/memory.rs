//! The memory there is for what a program reads.

use foresee_run::host;
use foresee_sim::load::Trace;
pub use foresee_sim::size::Size;

use crate::text;

/// How much, and who says so.
pub struct Memory {
    size: Size,
    is_given: bool,
}

/// `512MiB`, a plain number of bytes, or `10%` of what a trace reads.
pub fn size(text: &str) -> Result<Size, String> {
    match text.parse() {
        Ok(Size::Blocks(bytes)) => Ok(Size::Bytes(bytes)),
        Ok(size) => Ok(size),
        Err(_) => {
            Err(format!("'{text}' is no size of memory: bytes as in 512MiB, or a share of what is read as in 10%"))
        }
    }
}

impl Memory {
    /// What was given, or what a run started now would have.
    pub fn find(given: Option<Size>) -> Result<Self, String> {
        let available = || host::Memory::find().cache_bytes(0).map(Size::Bytes);
        let size =
            given.or_else(available).ok_or("this system does not say what memory it has; say it: --memory 1GiB")?;
        Ok(Memory { size, is_given: given.is_some() })
    }

    /// In blocks of this trace.
    pub fn blocks(&self, trace: &Trace) -> u64 {
        self.size.blocks(trace)
    }

    /// The same in bytes.
    pub fn bytes(&self, trace: &Trace) -> u64 {
        self.blocks(trace).saturating_mul(trace.block_bytes)
    }

    /// A line that says what was assumed, and what follows.
    pub fn note(&self, trace: &Trace) -> String {
        let from = if self.is_given { "as given" } else { "what is available here now (else --memory)" };
        let reads = text::bytes(trace.distinct_blocks().saturating_mul(trace.block_bytes));
        let follows = match self.blocks(trace) >= trace.distinct_blocks() {
            true => format!("All {reads} that it reads fit in: nothing is given up, whatever the policy"),
            false => format!("It reads {reads}, so that it matters what is kept"),
        };
        format!("Memory: {}, {from}. {follows}.", text::bytes(self.bytes(trace)))
    }
}
