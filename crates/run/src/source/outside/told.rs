//! What the kernel tells of the directories that are watched.

use std::ffi::OsStr;

use super::Outside;
use super::at_hand::{self, Kind};
use super::notices::Notice;
use crate::host::Descriptor;
use crate::names::Names;
use crate::source::ring::{Processes, Seen, Touch};

/// Notices taken before something else is done: the rest waits in the kernel's queue, which has a
/// limit.
const NOTICES_AT_ONCE: usize = 1024;

impl Outside {
    /// Takes some of it in.
    pub(super) fn take_notices(&mut self, processes: &mut Processes, names: &mut Names) {
        let Some(places) = &mut self.places else { return };
        let mut notices = std::mem::take(&mut self.notices);
        places.follow();
        while notices.len() < NOTICES_AT_ONCE && places.take(&mut notices) {}
        self.waits.take_together(notices.len());
        for notice in notices.drain(..) {
            match notice {
                Some(notice) => self.take_notice(&notice, processes, names),
                None => self.lost += 1,
            }
        }
        self.notices = notices;
    }

    fn take_notice(&mut self, notice: &Notice, processes: &mut Processes, names: &mut Names) {
        let Some(places) = &mut self.places else { return };
        let process = match notice.process {
            // Our own: what we look up and read ahead.
            own if own == std::process::id() => return,
            // Whose it was is not told; one of those that are looked at is as good as another.
            0 if !places.tell_processes() => self.members.last(),
            process => Some(process).filter(|&process| self.members.has(process, processes)),
        };
        let Some(process) = process else { return };
        let place = places.path(&notice.directory);
        if *notice.name == *OsStr::new(".") {
            match place.or_else(|| places.enter(&notice.directory)) {
                Some(path) if notice.is_opened => {
                    if let Some(file) = names.of_path(&path) {
                        self.push(process, Seen::Named { file, ticks: None });
                    }
                }
                Some(_) => {}
                // Who has it open is seen to, if it still has.
                None => self.looks.hurry(),
            }
            return;
        }
        let Some(path) = place.map(|place| place.join(&*notice.name)) else { return };
        let Ok(found) = at_hand::find(&path) else {
            if let Some(file) = names.of_path(&path) {
                self.push(process, Seen::Named { file, ticks: None });
            }
            return;
        };
        if !matches!(found.kind, Kind::Regular(_)) {
            return;
        }
        let Some(file) = names.of_path(&path) else { return };
        // Who tells of itself has told of this.
        let tells = |opened: Descriptor| processes.is_seen(opened.pid);
        if notice.process == 0 && processes.descriptor(file).is_some_and(tells) {
            return;
        }
        if notice.is_opened {
            self.open(process, &path, found, true, names);
            self.waits.was_opened(file);
        }
        if notice.is_read {
            self.touch_beginning(process, file, found, Touch::Calls);
        }
    }
}
