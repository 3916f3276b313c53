//! Whose reads are recorded: some processes with all that descends from them, or everybody but
//! ourselves.

use std::collections::{HashMap, HashSet};

use super::connector::Change;
use crate::process_stat::{self, numbered};

/// The threads whose reads are recorded.
pub struct Family {
    /// Each one's process. Of everybody, those that were met and live.
    process_of: HashMap<u32, u32>,
    /// How many threads of each process there are.
    threads_of: HashMap<u32, u32>,
    everybody: bool,
    /// Our own process, which reads for nobody.
    own: u32,
}

impl Family {
    /// Everybody.
    pub fn everybody() -> Self {
        Family { process_of: HashMap::new(), threads_of: HashMap::new(), everybody: true, own: std::process::id() }
    }

    /// These processes, and all their descendants there are. What a [`super::connector::Connector`]
    /// tells that began to listen before must be taken in next, so that none is left out that
    /// begins or ends meanwhile.
    pub fn of(ancestors: &[u32]) -> Self {
        let mut family = Family { everybody: false, ..Family::everybody() };
        family.gather(ancestors);
        family
    }

    fn gather(&mut self, ancestors: &[u32]) {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for process in numbered("/proc") {
            children.entry(process_stat::parent(process).unwrap_or(0)).or_default().push(process);
        }
        let (mut met, mut next) = (HashSet::from([self.own]), ancestors.to_vec());
        while let Some(process) = next.pop() {
            if met.insert(process) {
                next.extend(children.remove(&process).unwrap_or_default());
                // Of one that has ended but was not waited for, no end will be told.
                let tasks = format!("/proc/{process}/task");
                numbered(&tasks).filter(|&thread| !has_ended(thread)).for_each(|thread| self.add(thread, process));
            }
        }
    }

    fn add(&mut self, thread: u32, process: u32) {
        if self.process_of.insert(thread, process).is_none() {
            *self.threads_of.entry(process).or_default() += 1;
        }
    }

    fn remove(&mut self, thread: u32) {
        if let Some(process) = self.process_of.remove(&thread)
            && let Some(threads) = self.threads_of.get_mut(&process)
        {
            *threads -= 1;
            if *threads == 0 {
                self.threads_of.remove(&process);
            }
        }
    }

    /// Keeps step with what became of a thread.
    pub fn take(&mut self, change: Change) {
        match change {
            Change::Began { process, .. } if process == self.own => {}
            // The parent of a further thread is its process's parent, which may be nobody of ours.
            Change::Began { thread, process, parent } => {
                let known_by = if thread == process { parent } else { process };
                if self.everybody || self.threads_of.contains_key(&known_by) {
                    self.add(thread, process);
                }
            }
            Change::Executed(process) if self.threads_of.contains_key(&process) => {
                self.process_of.retain(|_, its| *its != process);
                self.threads_of.remove(&process);
                self.add(process, process);
            }
            Change::Executed(_) => {}
            Change::Ended(thread) => self.remove(thread),
            Change::Missed => {
                let ancestors: Vec<u32> = self.threads_of.keys().copied().collect();
                self.process_of.clear();
                self.threads_of.clear();
                if !self.everybody {
                    self.gather(&ancestors);
                }
            }
        }
    }

    /// The process of a thread that waits for us, if it is one of the family.
    pub fn process_of(&mut self, thread: u32) -> Option<u32> {
        if let Some(&process) = self.process_of.get(&thread) {
            return Some(process);
        }
        if !self.everybody {
            return None;
        }
        let process = process_stat::process_of(thread).filter(|&process| process != self.own)?;
        self.add(thread, process);
        Some(process)
    }

    /// Whether nobody is left.
    pub fn is_gone(&self) -> bool {
        !self.everybody && self.process_of.is_empty()
    }

    /// The processes there are.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        self.threads_of.keys().copied()
    }
}

/// Whether a thread has ended, be it that nobody has waited for it yet.
fn has_ended(thread: u32) -> bool {
    matches!(process_stat::state(thread), None | Some(b'Z' | b'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(process: u32) -> Family {
        let mut family = Family { everybody: false, ..Family::everybody() };
        family.add(process, process);
        family
    }

    fn began(thread: u32, process: u32, parent: u32) -> Change {
        Change::Began { thread, process, parent }
    }

    #[test]
    fn children_belong_to_it_and_strangers_do_not() {
        let mut family = with(10);
        family.take(began(11, 11, 10));
        family.take(began(12, 12, 11));
        family.take(began(20, 20, 1));
        // A child that outlives its parent stays.
        family.take(Change::Ended(11));
        assert_eq!((family.process_of(12), family.process_of(11), family.process_of(20)), (Some(12), None, None));
        family.take(Change::Ended(10));
        assert!(!family.is_gone());
        family.take(Change::Ended(12));
        assert!(family.is_gone());
    }

    #[test]
    fn threads_belong_to_their_process_whose_first_may_end_before_them() {
        let mut family = with(10);
        family.take(began(15, 10, 1));
        family.take(Change::Ended(10));
        assert_eq!(family.process_of(15), Some(10));
        family.take(began(16, 16, 10));
        assert_eq!(family.process_of(16), Some(16));
    }

    #[test]
    fn one_thread_is_left_of_a_process_that_executes() {
        let mut family = with(10);
        family.take(began(15, 10, 1));
        // Thread 15 executes: the first thread ends, and 15 goes on under its number. No end of 15 is ever
        // told.
        family.take(Change::Ended(10));
        family.take(Change::Executed(10));
        assert_eq!((family.process_of(10), family.process_of(15)), (Some(10), None));
        family.take(Change::Ended(10));
        assert!(family.is_gone());
    }

    #[test]
    fn everybody_is_but_ourselves() {
        let mut family = Family::everybody();
        assert_eq!(family.process_of(std::process::id()), None);
        assert_eq!(family.process_of(1), Some(1));
        assert_eq!(family.process_of(u32::MAX), None);
        assert!(!family.is_gone());
    }
}
