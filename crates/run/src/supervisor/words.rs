//! What the command's words say: the files they name are disclosed in order, and trees as they are
//! walked.

use std::io;
use std::path::Path;

use foresee_manager::{Event, FileId, Source, Want};

use super::{RUN, Supervisor, WALK_AHEAD_MAX};
use crate::hints::{Found, Walk, Words};
use crate::host::{Listed, Purpose};

/// The words, as far as they are followed.
pub(super) struct CommandWords {
    walk: Walk,
    /// What is read of a file that is found.
    reads: Want,
    /// The program is not known: it may do anything with them.
    are_guesses: bool,
}

impl CommandWords {
    pub fn new(words: Words) -> Self {
        let are_guesses = !words.known && !words.paths.is_empty();
        CommandWords { walk: Walk::new(words.paths, words.walks, words.skip_hidden), reads: words.reads, are_guesses }
    }

    /// Whose the walk's findings are.
    pub fn source(&self) -> Source {
        if self.are_guesses { Source::Arguments } else { Source::Command }
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
            && let Some(found) = self.words.walk.next_found()
        {
            let (path, want) = match found {
                Found::Directory(path) => (path, Want::Name),
                Found::File(path) => (path, self.words.reads),
            };
            let Some(file) = self.names.of_path(&path) else { return };
            self.tell(Event::Hint { reader: RUN, source: self.words.source(), file, want });
        }
    }

    /// A program named this file, and told of it: a walk that stood still goes on from there.
    pub(super) fn find_walk(&mut self, file: FileId) {
        if !self.quiet.is_walk_behind() {
            return;
        }
        let source = self.words.source();
        if self.driver.manager().sources_of(file).any(|it| it == source) {
            self.quiet.walk_goes_on();
        } else if self.words.walk.skip_past(self.names.path(file)) {
            self.quiet.walk_goes_on();
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
