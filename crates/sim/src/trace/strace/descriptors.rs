//! Where the descriptors of a traced program stand.
//!
//! A process made by fork has a table of its own, whose descriptors share their positions with its
//! parent's; a thread has its process's table. A descriptor that leads to another path than before
//! was closed and opened unseen: it stands at 0.

use std::collections::HashMap;

use super::call::Descriptor;

/// Each fork copies a table: few lines could fill any memory.
const INHERITED_MAX: usize = 1 << 20;

#[derive(Clone)]
struct Open {
    path: String,
    /// An index into `positions`, which dup and fork share.
    position: usize,
}

struct Thread {
    process: i32,
    /// An index into `tables`.
    table: usize,
}

/// The threads and their descriptors.
#[derive(Default)]
pub(super) struct Descriptors {
    threads: HashMap<i32, Thread>,
    tables: Vec<HashMap<i32, Open>>,
    positions: Vec<u64>,
    /// Descriptors that processes had from their parents, of those that have not ended.
    inherited: usize,
}

impl Descriptors {
    pub(super) fn knows(&self, thread: i32) -> bool {
        self.threads.contains_key(&thread)
    }

    /// A thread nobody is seen to make. strace names no thread before the first fork: what it
    /// called 0 until then is this one.
    pub(super) fn first(&mut self, thread: i32) {
        let table = self.threads.remove(&0).map_or(self.tables.len(), |nameless| nameless.table);
        if table == self.tables.len() {
            self.tables.push(HashMap::new());
        }
        self.threads.insert(thread, Thread { process: thread, table });
    }

    /// A thread made by another with this call.
    pub(super) fn inherit(&mut self, parent: i32, child: i32, call: &str) -> Result<(), String> {
        let Thread { process, table } = self.threads[&parent];
        let process = if call.contains("CLONE_THREAD") { process } else { child };
        let table = if call.contains("CLONE_FILES") {
            table
        } else {
            self.inherited += self.tables[table].len();
            if self.inherited > INHERITED_MAX {
                return Err(format!(
                    "{INHERITED_MAX} descriptors are open in all processes that have not ended; cut the trace"
                ));
            }
            self.tables.push(self.tables[table].clone());
            self.tables.len() - 1
        };
        self.threads.insert(child, Thread { process, table });
        Ok(())
    }

    /// A thread has ended, and with the last of its process the process's table.
    pub(super) fn ended(&mut self, thread: i32) {
        let Some(Thread { table, .. }) = self.threads.remove(&thread) else { return };
        if self.threads.values().all(|other| other.table != table) {
            let gone = std::mem::take(&mut self.tables[table]);
            self.inherited = self.inherited.saturating_sub(gone.len());
        }
    }

    pub(super) fn process(&self, thread: i32) -> i32 {
        self.threads[&thread].process
    }

    /// The descriptor was opened: it stands at 0.
    pub(super) fn opened(&mut self, thread: i32, descriptor: &Descriptor) {
        self.positions.push(0);
        self.put(thread, descriptor, self.positions.len() - 1);
    }

    /// `to` stands where `from` does, from now on.
    pub(super) fn duplicated(&mut self, thread: i32, from: &Descriptor, to: &Descriptor) {
        let position = self.find(thread, from);
        self.put(thread, to, position);
    }

    /// Where the descriptor stands.
    pub(super) fn position(&mut self, thread: i32, descriptor: &Descriptor) -> &mut u64 {
        let position = self.find(thread, descriptor);
        &mut self.positions[position]
    }

    fn put(&mut self, thread: i32, descriptor: &Descriptor, position: usize) {
        let table = self.threads[&thread].table;
        self.tables[table].insert(descriptor.number, Open { path: descriptor.path.clone(), position });
    }

    fn find(&mut self, thread: i32, descriptor: &Descriptor) -> usize {
        let open = self.tables[self.threads[&thread].table].get(&descriptor.number);
        match open.filter(|open| open.path == descriptor.path) {
            Some(open) => open.position,
            None => {
                self.opened(thread, descriptor);
                self.positions.len() - 1
            }
        }
    }
}
