//! What is seen of a process by looking: its working directory and words, what it has open and
//! mapped.

use std::path::Path;

use super::at_hand::Kind;
use super::open_files::Change;
use super::{Outside, memory};
use crate::host::blocks;
use crate::names::{Names, absolute};
use crate::process_stat::Transfers;
use crate::source::ring::{Seen, Touch, Touched};

/// Words of a command that are looked at for directories.
const WORDS_MAX: usize = 64;

impl Outside {
    /// Looks at one process. What may not be looked at is not known.
    pub(super) fn look_at(&mut self, process: u32, names: &mut Names) {
        if let Some(places) = &mut self.places
            && let Ok(directory) = std::fs::read_link(format!("/proc/{process}/cwd"))
        {
            places.want(&directory);
        }
        let Some(member) = self.members.all.get_mut(&process) else { return };
        let since = match Transfers::of(process) {
            Some(Transfers { given, .. }) => given.saturating_sub(std::mem::replace(&mut member.given, given)),
            // Nothing is known against what positions say.
            None => u64::MAX,
        };
        let is_new = std::mem::take(&mut member.is_new);
        let changes = member.files.look(process, since).unwrap_or_default();
        let mapped =
            if is_new || !changes.is_empty() { memory::new_mappings(process, &mut member.mapped) } else { Vec::new() };
        if is_new {
            self.want_words(process);
        }
        for change in changes {
            self.take_change(process, change, names);
        }
        for mapped in mapped {
            let Some(file) = self.open(process, &mapped.path, mapped.found, false, names) else { continue };
            self.push(process, Seen::Mapped { file, at: mapped.at(file) });
        }
    }

    /// The words of a command may name directories, and files in some.
    fn want_words(&mut self, process: u32) {
        let Some(places) = &mut self.places else { return };
        let Ok(directory) = std::fs::read_link(format!("/proc/{process}/cwd")) else { return };
        let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        for word in words.split(|&byte| byte == 0).skip(1).take(WORDS_MAX).filter(|word| !word.is_empty()) {
            let path = absolute(&directory, word);
            places.want(&path);
            if let Some(above) = path.parent().filter(|_| word.contains(&b'/')) {
                places.want(above);
            }
        }
    }

    fn take_change(&mut self, process: u32, change: Change, names: &mut Names) {
        match change {
            Change::Opened { path, found, .. } if found.kind == Kind::Directory => {
                if let Some(places) = &mut self.places {
                    places.want(&path);
                }
                if let Some(file) = names.of_path(&path) {
                    self.push(process, Seen::Named { file, ticks: None });
                }
            }
            Change::Opened { path, past_cache: true, .. } => {
                if let Some(file) = names.of_path(&path) {
                    self.push(process, Seen::PastCache { file, identity: None });
                }
            }
            Change::Opened { path, found, .. } => {
                let above = path.parent().unwrap_or(Path::new("/"));
                let is_told = self.places.as_mut().is_some_and(|places| {
                    places.want(above);
                    places.tell_of(above)
                });
                // Where it is not told which files are opened, those that are seen to be open are some of them.
                if let Some(file) = self.open(process, &path, found, true, names)
                    && !is_told
                    && !self.has_rested
                {
                    self.touch_beginning(process, file, found, Touch::SomeCalls);
                }
            }
            Change::WentOn { path, from, to } => {
                if let (Some(file), Some((first, count))) = (names.of_path(&path), blocks(from, to - from)) {
                    let waited = self.members.has_waited();
                    self.push(process, Seen::Touched(Touched { file, first, count, waited, by: Touch::Calls }));
                }
            }
        }
    }
}
