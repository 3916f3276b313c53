//! What came of the simulations, each beside the program as it is on the same storage.

use foresee_sim::host::Report;
use serde_json::{Value, json};

use super::settings::{Hints, Setting};
use super::storage::Storage;

/// A setting, and what came of it.
pub struct Row {
    /// The setting.
    pub setting: Setting,
    /// What came of it.
    pub report: Report,
}

impl Row {
    /// Requests to the device.
    pub fn requests(&self) -> u64 {
        self.report.devices[0].requests
    }

    /// Bytes from the device.
    pub fn bytes(&self) -> u64 {
        self.report.devices[0].bytes
    }
}

/// All of them.
pub struct Results {
    /// What the program may read from.
    pub storages: Vec<Storage>,
    /// The rows, storage by storage.
    pub rows: Vec<Row>,
}

impl Results {
    /// Those of one storage.
    pub fn on(&self, storage: usize) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.setting.storage == storage)
    }

    /// The program as it is.
    pub fn as_it_is(&self, storage: usize) -> &Row {
        let found = self.on(storage).find(|row| row.setting.is_as_it_is());
        found.unwrap_or_else(|| unreachable!("each storage has one"))
    }

    /// 'foresee run' with nothing more said.
    pub fn own(&self, storage: usize, hints: Hints) -> &Row {
        let found = self.on(storage).find(|row| row.setting.hints == hints && row.setting.is_own());
        found.unwrap_or_else(|| unreachable!("each storage has one of each kind of hints"))
    }

    /// Nanoseconds less than as it is.
    pub fn saved_ns(&self, row: &Row) -> i64 {
        self.as_it_is(row.setting.storage).report.elapsed_ns.cast_signed() - row.report.elapsed_ns.cast_signed()
    }

    /// Bytes less than as it is.
    pub fn saved_bytes(&self, row: &Row) -> i64 {
        self.as_it_is(row.setting.storage).bytes().cast_signed() - row.bytes().cast_signed()
    }

    /// The rows as objects.
    pub fn json(&self) -> Vec<Value> {
        let object = |row: &Row| {
            let Row { setting, report } = row;
            json!({
                "storage": self.storages[setting.storage].name,
                "device": self.storages[setting.storage].device.to_string(),
                "hints": setting.hints.word(),
                "policy": setting.policy.as_str(),
                "elapsed_s": report.elapsed_ns as f64 / 1e9,
                "stall_s": report.stall_ns() as f64 / 1e9,
                "device_requests": row.requests(),
                "device_bytes": row.bytes(),
                "saved_s": self.saved_ns(row) as f64 / 1e9,
                "saved_bytes": self.saved_bytes(row),
            })
        };
        self.rows.iter().map(object).collect()
    }
}
