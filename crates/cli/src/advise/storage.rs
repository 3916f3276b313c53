//! What a program may read from: unless the user says which, one of each kind.

use foresee_sim::device::Choice;
use foresee_sim::load::Trace;

/// A kind of storage.
pub struct Storage {
    /// In a sentence, after "on".
    pub name: String,
    /// At the head of a line.
    pub label: String,
    /// Its model.
    pub device: Choice,
}

/// Name, label and model of each kind.
const KINDS: [(&str, &str, &str); 3] = [
    ("network storage", "network storage, 5 ms", "servers=64,latency_us=5000,mb_per_s=1000"),
    ("a hard disk", "hard disk, 10,000 rpm", "disk10k"),
    ("a local SSD", "local SSD, 0.1 ms", "servers=32,latency_us=100,mb_per_s=2000"),
];

/// One of each kind, the slowest to answer first.
pub fn kinds() -> Result<Vec<Storage>, String> {
    let kinds = KINDS.into_iter().map(|(name, label, device)| {
        Ok(Storage { name: name.to_owned(), label: label.to_owned(), device: device.parse()? })
    });
    kinds.collect()
}

impl Storage {
    /// What the user chose.
    pub fn given(device: Choice) -> Self {
        let name = device.to_string();
        Storage { label: name.clone(), name, device }
    }

    /// Whether there is room for the trace's files, which lie one after the other.
    pub fn holds(&self, trace: &Trace) -> bool {
        let blocks: u64 = trace.files.iter().map(|file| file.blocks).sum();
        blocks.saturating_mul(trace.block_bytes) <= self.device.build().bytes()
    }
}
