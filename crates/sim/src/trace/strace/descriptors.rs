//! Where the descriptors of a traced program stand.
//!
//! A process made by fork has a table of its own, whose descriptors share their positions with its
//! parent's; a thread has its process's table. A descriptor that leads to another path than before
//! was closed and opened unseen: it stands at 0.
//!
//! What was opened to append is written where the file ends, wherever the descriptor stands. A trace
//! says how long a file is only where a program asked; else it ends behind all that was read and
//! written of it so far.

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

/// What dup and fork share.
#[derive(Default)]
struct Position {
    at: u64,
    appends: bool,
}

struct Thread {
    process: i32,
    /// An index into `tables`.
    table: usize,
}

/// Bytes that were read or written.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    /// Where, if the call says so.
    pub(super) place: Option<u64>,
    pub(super) length: u64,
    pub(super) write: bool,
}

/// The threads and their descriptors.
#[derive(Default)]
pub(super) struct Descriptors {
    threads: HashMap<i32, Thread>,
    tables: Vec<HashMap<i32, Open>>,
    positions: Vec<Position>,
    /// Where files end, by their paths, as far as is known.
    ends: HashMap<String, u64>,
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
    pub(super) fn opened(&mut self, thread: i32, descriptor: &Descriptor, appends: bool) {
        self.positions.push(Position { at: 0, appends });
        self.put(thread, descriptor, self.positions.len() - 1);
    }

    /// `to` stands where `from` does, from now on.
    pub(super) fn duplicated(&mut self, thread: i32, from: &Descriptor, to: &Descriptor) {
        let position = self.find(thread, from);
        self.put(thread, to, position);
    }

    /// Where the descriptor stands.
    pub(super) fn seek(&mut self, thread: i32, descriptor: &Descriptor, to: u64) {
        self.position(thread, descriptor).at = to;
    }

    /// Whether what is written through the descriptor goes to the file's end.
    pub(super) fn set_appends(&mut self, thread: i32, descriptor: &Descriptor, appends: bool) {
        self.position(thread, descriptor).appends = appends;
    }

    /// The file is so long now.
    pub(super) fn set_end(&mut self, path: &str, end: u64) {
        match self.ends.get_mut(path) {
            Some(known) => *known = end,
            None => _ = self.ends.insert(path.to_owned(), end),
        }
    }

    /// Where a transfer of so many bytes lies that names this place, or goes on where the descriptor
    /// stands; moves it on.
    pub(super) fn pass(&mut self, thread: i32, descriptor: &Descriptor, transfer: Transfer) -> u64 {
        let Transfer { place, length, write } = transfer;
        let known = self.ends.get(&descriptor.path).copied().unwrap_or(0);
        let position = self.position(thread, descriptor);
        let from = match place {
            _ if write && position.appends => known,
            Some(place) => place,
            None => position.at,
        };
        let end = from.saturating_add(length);
        if place.is_none() {
            position.at = end;
        }
        if end > known {
            self.set_end(&descriptor.path, end);
        }
        from
    }

    fn position(&mut self, thread: i32, descriptor: &Descriptor) -> &mut Position {
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
                self.opened(thread, descriptor, false);
                self.positions.len() - 1
            }
        }
    }
}
