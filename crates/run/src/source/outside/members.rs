//! The processes of the run that do not tell of themselves.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;

use super::open_files::OpenFiles;
use crate::process_stat::{Transfers, has_library, numbered, parent};
use crate::programs::ProgramId;
use crate::source::ring::{Processes, is_dead, is_elsewhere};

/// Processes that are looked at; what comes beyond is not seen.
const MEMBERS_MAX: usize = 1024;
/// Processes of the run gone through in one look: of a larger one a part is found. Of these, new
/// ones that are taken up.
const VISITED_MAX: usize = 1024;
const NEW_MAX: usize = 64;
/// Processes asked about by their numbers between two looks: of a program that begins more, it is
/// not known what those do.
const ASKED_MAX: usize = 256;
/// Processes asked whether they waited.
const WAITERS_MAX: usize = 8;
/// Generations between a process and its forebear in the run, where one is asked about by its
/// number alone.
const GENERATIONS_MAX: usize = 32;

/// One of them.
pub(super) struct Member {
    pub ordinal: u32,
    pub program: ProgramId,
    pub files: OpenFiles,
    /// Whether its memory and words have been looked at.
    pub is_new: bool,
    /// What of its memory is files that were told of: where each begins, and its inode.
    pub mapped: HashSet<(u64, u64)>,
    /// What it was given by reads, when it was looked at last.
    pub given: u64,
}

/// All of them.
#[derive(Default)]
pub(super) struct Members {
    /// What the run started.
    root: Option<u32>,
    pub all: HashMap<u32, Member>,
    /// Others that were asked about since they were last looked for, and whether they are of the
    /// run.
    asked: HashMap<u32, bool>,
    /// The last one that was looked at.
    turn: u32,
    /// When they were asked about last: what the kernel read from devices for all of them.
    read: u64,
}

impl Members {
    /// What descends from this process is the run's.
    pub fn follow(&mut self, root: u32) {
        self.root = Some(root);
    }

    /// Looks for them. Returns whether there are any, or will be soon.
    pub fn look(&mut self, processes: &mut Processes) -> bool {
        self.asked.clear();
        // Who reads untold and executes another program is taken up anew.
        let is_another = |it: u32| processes.reads_untold(it) && processes.went_unseen(it);
        self.all.retain(|&it, _| !is_dead(it) && !processes.is_seen(it) && !is_another(it));
        let mut next: Vec<u32> = self.all.keys().copied().chain(self.root).collect();
        let (mut met, mut is_awaited, mut room) = (HashSet::new(), false, NEW_MAX);
        while let Some(process) = next.pop() {
            if met.len() >= VISITED_MAX || !met.insert(process) || is_dead(process) {
                continue;
            }
            next.extend(children(process));
            if room > 0 && !self.all.contains_key(&process) && !processes.is_seen(process) {
                room -= 1;
                let mut is_untold = || {
                    processes.reads_untold(process)
                        || parent(process).is_some_and(|it| processes.reads_untold_as(process, it))
                };
                match has_library(process) && !is_untold() {
                    // It has announced that it will execute another program, or is about to tell of itself.
                    true => is_awaited = true,
                    false => self.add(process, processes),
                }
            }
        }
        is_awaited || !self.all.is_empty()
    }

    /// The root executes this, which does not tell of itself. It may be gone by now.
    pub fn find_root(&mut self, name: &[u8], processes: &mut Processes) {
        if let Some(root) = self.root {
            self.add_as(root, name, processes);
        }
    }

    fn add(&mut self, process: u32, processes: &mut Processes) {
        let name = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
        self.add_as(process, name.trim_ascii_end(), processes);
    }

    /// Of whom nothing may be looked at, or who sees other files under the same names, is none of
    /// them.
    fn add_as(&mut self, process: u32, name: &[u8], processes: &mut Processes) {
        let looked = fs::read_dir(format!("/proc/{process}/fd"));
        let is_hidden = looked.is_err_and(|error| error.kind() != io::ErrorKind::NotFound);
        if is_hidden || self.all.len() >= MEMBERS_MAX || is_elsewhere(process) == Some(true) {
            return;
        }
        let Some((ordinal, program)) = processes.found(process, name) else { return };
        let (files, mapped) = (OpenFiles::default(), HashSet::new());
        let member = Member { ordinal, program, files, is_new: true, mapped, given: 0 };
        self.all.insert(process, member);
    }

    /// Whether this process, which did something a moment ago and may be gone, is of the run and
    /// does not tell of itself.
    pub fn has(&mut self, process: u32, processes: &mut Processes) -> bool {
        if self.all.contains_key(&process) {
            return true;
        }
        if processes.is_seen(process) {
            return false;
        }
        if let Some(&known) = self.asked.get(&process) {
            return known;
        }
        if self.asked.len() >= ASKED_MAX {
            return false;
        }
        // Of those that are gone so soon, what began after the run and did something where that does is
        // taken to be of it.
        let is_younger = || self.root.is_some_and(|root| process > root);
        let is_of_run = processes.went_unseen(process)
            || processes.reads_untold(process)
            || self.is_descendant(process, processes).unwrap_or_else(is_younger);
        self.asked.insert(process, is_of_run);
        is_of_run
    }

    /// None if it is gone.
    fn is_descendant(&self, process: u32, processes: &Processes) -> Option<bool> {
        let is_known = |it: u32| Some(it) == self.root || self.all.contains_key(&it) || processes.is_seen(it);
        let first = parent(process)?;
        Some(std::iter::successors(Some(first), |&it| parent(it)).take(GENERATIONS_MAX).any(is_known))
    }

    /// So many of them, the next ones in turn.
    pub fn next(&mut self, count: usize) -> Vec<u32> {
        let mut turn: Vec<u32> = self.all.keys().copied().collect();
        // Those after the last one come first, and then the others.
        turn.sort_unstable_by_key(|&process| (process <= self.turn, process));
        turn.truncate(count);
        self.turn = turn.last().copied().unwrap_or_default();
        turn
    }

    /// The one that began last.
    pub fn last(&self) -> Option<u32> {
        self.all.iter().max_by_key(|(_, member)| member.ordinal).map(|(&process, _)| process)
    }

    /// Whether the run read from a device since this was asked last: what the root's children that
    /// have ended read is the root's.
    pub fn has_waited(&mut self) -> bool {
        // Each takes some 10 us: of many, what those read that are over.
        let all = self.all.keys().copied().filter(|&it| Some(it) != self.root).take(WAITERS_MAX).chain(self.root);
        let read = all.filter_map(Transfers::of).map(|it| it.from_devices).sum();
        read > std::mem::replace(&mut self.read, read)
    }
}

/// A process's children, as the kernel lists them by the thread that began them.
fn children(process: u32) -> Vec<u32> {
    let threads = format!("/proc/{process}/task");
    let lists = numbered::<u32>(&threads).filter_map(|it| fs::read_to_string(format!("{threads}/{it}/children")).ok());
    lists.flat_map(|list| list.split_ascii_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn who_descends_from_the_run_is_found() {
        let mut child = Command::new("sh").args(["-c", "sleep 60; true"]).spawn().unwrap();
        let (mut members, mut processes) = (Members::default(), Processes::default());
        assert!(!members.look(&mut processes), "there is no run");
        members.follow(child.id());
        let is_found = |members: &mut Members, processes: &mut Processes| {
            members.look(processes);
            members.all.len() == 2
        };
        while !is_found(&mut members, &mut processes) {
            std::thread::yield_now();
        }
        assert!(members.has(child.id(), &mut processes) && !members.has(1, &mut processes));
        let sleeper = members.last().filter(|&it| it != child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(members.look(&mut processes), "the other one is there");
        // SAFETY: no pointers; it is a child's child, and cannot have ended.
        unsafe { libc::kill(sleeper as i32, libc::SIGKILL) };
    }
}
