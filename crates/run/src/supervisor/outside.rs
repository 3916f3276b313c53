//! Programs that do not tell of themselves, and files that are read past the page cache.

use std::path::Path;

use foresee_manager::{Event, FileId};

use super::{RUN, Supervisor};
use crate::names::Identity;
use crate::source::outside::queue_of;

/// Directories of a recorded run that are watched for such programs from the beginning.
const EXPECTED_MAX: usize = 1024;

impl Supervisor<'_> {
    /// What descends from this process is the run's. `is_unseen`: it executes this, and does not
    /// tell of itself.
    pub fn follow(&mut self, root: u32, unseen_as: Option<&[u8]>) {
        self.outside.follow(root);
        if let Some(name) = unseen_as {
            self.outside.find_root(name, &mut self.ring.processes);
            self.wake_outside();
        }
    }

    /// A program will be executed that does not tell of itself.
    pub(super) fn wake_outside(&mut self) {
        if self.outside.is_awake() {
            return self.outside.wake();
        }
        self.outside.wake();
        let files = self.recorded.profile().into_iter().flat_map(|profile| profile.files.iter());
        let mut directories: Vec<&Path> = files.filter_map(Path::parent).collect();
        directories.dedup();
        for directory in directories.into_iter().take(EXPECTED_MAX) {
            self.outside.expect(directory);
        }
    }

    /// Looks at those that open files and tell of no reads: they may read by io_uring or Linux AIO.
    pub(super) fn find_queues(&mut self) {
        // While it is quiet, that one tells of no read says nothing of queues.
        if self.quiet.is_quiet() {
            return;
        }
        for process in self.ring.processes.silent() {
            if let Some(why) = queue_of(process) {
                self.ring.processes.found_untold(process, why);
                self.wake_outside();
            }
        }
    }

    /// A file is disclosed: who reads it will look into its directory.
    pub(super) fn expect_outside(&mut self, file: FileId) {
        if self.outside.is_awake()
            && let Some(directory) = self.names.path(file).parent()
        {
            self.outside.expect(directory);
        }
    }

    /// A file was opened to be read past the page cache: nothing of it is to be brought.
    pub(super) fn pass_by(&mut self, file: FileId, identity: Option<Identity>, ordinal: u32) {
        if identity.is_some_and(|identity| self.names.identify(file, identity)) {
            self.driver.host.forget(file);
        }
        self.recorder.named(file, ordinal);
        self.tell(Event::Named { reader: RUN, file });
        // To the manager it is empty, until it is opened otherwise.
        self.sizes.insert(file, 0);
        self.tell(Event::FileChanged { file, blocks: 0 });
    }
}
