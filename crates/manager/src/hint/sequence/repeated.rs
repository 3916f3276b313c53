//! What is read in passes: each is disclosed when the cursor has come to the one before it.

use std::collections::VecDeque;

use super::super::repeat::{Later, Repeat};
use super::Sequence;
use crate::files::Files;

impl Sequence {
    /// The last `entries` disclosures are read `passes` times in all.
    pub fn repeat(&mut self, entries: u64, passes: u64, orders: &mut u64, files: &Files) {
        if let Some(repeat) = &mut self.repeat {
            repeat.later.push_back(Later::Repeat(entries, passes));
            return;
        }
        let count = usize::try_from(entries).unwrap_or(usize::MAX);
        let last = self.entries.iter().enumerate().rev().filter(|(_, entry)| entry.gap.is_none()).take(count);
        let begins = last.clone().last().map_or(self.entries.len(), |(at, _)| at);
        let mut pass: Vec<_> = last.map(|(_, entry)| (entry.file, entry.want)).collect();
        pass.reverse();
        if !pass.is_empty() && passes > 1 {
            let last_begins = self.base + begins as u64;
            self.repeat = Some(Repeat { pass, left: passes - 1, last_begins, later: VecDeque::new() });
            self.refill(orders, files);
        }
    }

    /// Discloses the next pass when the cursor has come to the last one, and what comes after the
    /// passes when they are through.
    pub fn refill(&mut self, orders: &mut u64, files: &Files) {
        while let Some(repeat) = &mut self.repeat {
            if repeat.left == 0 {
                let later = std::mem::take(&mut repeat.later);
                self.repeat = None;
                for item in later {
                    match item {
                        Later::Hint(file, want) => self.disclose(file, want, orders, files.of(file)),
                        Later::Repeat(entries, passes) => self.repeat(entries, passes, orders, files),
                    }
                }
            } else if self.base >= repeat.last_begins {
                repeat.left -= 1;
                repeat.last_begins = self.base + self.entries.len() as u64;
                for (file, want) in repeat.pass.clone() {
                    self.push(file, want, orders, files.of(file));
                }
            } else {
                return;
            }
        }
    }
}
