//! What the command's words say: the files they name are disclosed in order, and trees as they are
//! walked.

use std::io;
use std::path::Path;

use foresee_manager::{Event, FileId, Source, Want};

use super::{RUN, Supervisor, WALK_AHEAD_MAX};
use crate::hints::{Found, Walk, Words};
use crate::host::{Listed, Purpose};

/// Where as much is disclosed as a walk may find, so many names in a row of which nothing is say
/// that it is not ahead of the program but behind: what it found will not be named any more. Threads
/// that walk in several places name some of it.
const UNMET_MAX: u32 = 64;

/// The words, as far as they are followed.
pub(super) struct CommandWords {
    walk: Walk,
    /// Names in a row that nobody disclosed, while all is disclosed that may be.
    unmet: u32,
    /// What is read of a file that is found.
    reads: Option<Want>,
    /// The program is not known: it may do anything with them.
    are_guesses: bool,
}

impl CommandWords {
    pub fn new(words: Words) -> Self {
        let are_guesses = !words.known && !words.paths.is_empty();
        CommandWords {
            walk: Walk::new(words.paths, words.walks, words.skip_hidden),
            unmet: 0,
            reads: words.reads,
            are_guesses,
        }
    }

    /// Whose the walk's findings are.
    pub fn source(&self) -> Source {
        if self.are_guesses { Source::Arguments } else { Source::Command }
    }

    /// A program named something that is disclosed, or not: whether the walk proves to be behind.
    fn is_overtaken(&mut self, is_full: bool, is_disclosed: bool) -> bool {
        self.unmet = if is_full && !is_disclosed { self.unmet + 1 } else { 0 };
        let is_overtaken = self.unmet >= UNMET_MAX;
        if is_overtaken {
            self.unmet = 0;
        }
        is_overtaken
    }

    /// A directory was listed.
    pub fn listed(&mut self, path: &Path, entries: io::Result<Vec<Listed>>) {
        self.walk.listed(path, entries);
    }
}

impl Supervisor<'_> {
    pub(super) fn follow_walk(&mut self) {
        // A program that does not follow must not have us list the world.
        if self.driver.manager().open_hints() >= WALK_AHEAD_MAX
            || self.quiet.stops_walk()
            || self.suspension.is_suspended()
        {
            return;
        }
        while let Some(directory) = self.words.walk.next_listing() {
            self.driver.host.list(Purpose::Walk, directory);
        }
        while self.driver.manager().open_hints() < WALK_AHEAD_MAX
            && !self.quiet.stops_walk()
            && let Some(found) = self.words.walk.next_found()
        {
            let (path, want) = match found {
                Found::Directory(path) => (path, Want::Name),
                Found::File(path) => match self.words.reads {
                    Some(want) => (path, want),
                    None => continue,
                },
            };
            let Some(file) = self.names.of_path(&path) else { return };
            self.quiet.found();
            self.tell(Event::Hint { reader: RUN, source: self.words.source(), file, want });
        }
    }

    /// A program named this file, and told of it: a walk that stood still goes on from there.
    pub(super) fn find_walk(&mut self, file: FileId) {
        let source = self.words.source();
        let manager = self.driver.manager();
        let is_full = manager.open_hints() >= WALK_AHEAD_MAX;
        if !is_full && !self.quiet.is_walk_behind() {
            return;
        }
        let is_met = manager.sources_of(file).any(|it| it == source);
        // What a profile disclosed fills it as well, and is where the program is.
        let is_disclosed = manager.sources_of(file).next().is_some();
        if self.words.is_overtaken(is_full, is_disclosed) {
            self.quiet.walk_falls_behind();
        }
        if !self.quiet.is_walk_behind() {
            return;
        }
        let brought = self.driver.host.brought() + self.driver.host.names_brought();
        if is_met {
            self.quiet.walk_goes_on(brought);
        } else if self.words.walk.skip_past(self.names.path(file)) {
            self.quiet.walk_goes_on(brought);
            // What was told and lies before that was read meanwhile, and would count as not come true.
            self.tell(Event::Cancel { reader: RUN, source });
        }
    }

    /// A program that speaks for itself knows better than we do from the words it was given, if we
    /// do not know it.
    pub(super) fn forget_words(&mut self) {
        if std::mem::take(&mut self.words.are_guesses) {
            self.words.walk = Walk::new(Vec::new(), false, false);
            self.tell(Event::Cancel { reader: RUN, source: Source::Arguments });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_that_has_found_all_it_may_and_is_never_met_is_behind() {
        let words = Words { paths: Vec::new(), walks: true, known: true, skip_hidden: false, reads: Some(Want::All) };
        let mut words = CommandWords::new(words);
        let mut overtaken = |is_full, is_met, times| (0..times).filter(|_| words.is_overtaken(is_full, is_met)).count();
        assert_eq!(overtaken(false, false, 1000), 0, "it goes on");
        assert_eq!(overtaken(true, false, UNMET_MAX - 1), 0);
        assert_eq!(overtaken(true, true, 1), 0, "one of several threads is where it is");
        assert_eq!(overtaken(true, false, 2 * UNMET_MAX), 2, "not at each name from then on");
    }
}
