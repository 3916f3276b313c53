//! What passed since it was last asked for.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, MutexGuard};

#[derive(Default)]
pub struct Counters(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    connections: u64,
    asked: u64,
    answered: u64,
    requests: BTreeMap<String, u64>,
}

impl Counters {
    pub fn connected(&self) {
        self.lock().connections += 1;
    }

    /// Bytes that a client sent.
    pub fn asked(&self, bytes: usize) {
        self.lock().asked += bytes as u64;
    }

    /// Bytes that a server sent, whether or not the client waited for them.
    pub fn answered(&self, bytes: usize) {
        self.lock().answered += bytes as u64;
    }

    pub fn request(&self, method: &str) {
        *self.lock().requests.entry(method.to_owned()).or_default() += 1;
    }

    /// All of it as a line of JSON; it begins anew.
    pub fn take(&self) -> String {
        let counts = mem::take(&mut *self.lock());
        let requests: Vec<String> =
            counts.requests.iter().map(|(method, count)| format!("\"{method}\": {count}")).collect();
        format!(
            "{{\"connections\": {}, \"bytes_to_server\": {}, \"bytes_to_client\": {}, \"requests\": {{{}}}}}",
            counts.connections,
            counts.asked,
            counts.answered,
            requests.join(", ")
        )
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().expect("no thread panics with it")
    }
}
