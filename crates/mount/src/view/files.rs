//! Files that are open: each one version, whatever becomes of its name.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use foresee::File;
use foresee_run::pool::lock;
use fuser::{FopenFlags, ReplyData};

use super::failed::Failures;
use super::handles::Handles;
use super::owed::Owed;
use super::retries::again_while_it_changes;
use super::{Shown, told};
use crate::failure::Failure;
use crate::tree::Entry;

/// A single file may be replaced as it is read. So many reads in a row, and none that was not of such a
/// file, have another cause.
const CHANGED_MANY: u32 = 16;
/// Errors that are told of at most.
const TOLD_MAX: usize = 1000;

/// One of them.
pub struct OpenFile {
    pub(super) file: File,
    pub(super) number: u64,
    /// Whether it is of the number's version, so that the kernel keeps what it reads by this.
    pub(super) is_cached: bool,
    path: Arc<Path>,
    /// What was told of it by this descriptor, but not all of that yet.
    pub(super) hinted: Mutex<Vec<Range<u64>>>,
    failures: Failures,
}

impl Handles<OpenFile> {
    /// Whether somebody reads by this number.
    pub fn are_reading(&self, number: u64) -> bool {
        self.find(|it| it.number == number).is_some()
    }
}

impl Shown {
    /// Opens a file to be read. Who comes again, as it was another meanwhile, gets what is there, past the
    /// kernel's page cache, which keeps what it has by number.
    pub fn open(&self, number: u64, thread: u32) -> Result<(u64, FopenFlags), Failure> {
        let path = self.nodes().path(number)?;
        let comes_again = self.retries.comes_again(thread, &path);
        let opened = self.open_version(number, Arc::clone(&path), thread);
        if !opened.as_ref().is_err_and(|failure| failure.errno == libc::ESTALE) {
            return opened;
        }
        if !comes_again {
            self.retries.told(thread, path);
            return opened;
        }
        self.give_number_up(number, &path)?;
        again_while_it_changes(|| self.open_as_it_is(number, &path, thread))
    }

    /// Of this number nobody is told any more, and who reads by it soon has read it. What is written of the
    /// path is waited for.
    pub fn give_number_up(&self, number: u64, path: &Path) -> Result<(), Failure> {
        self.nodes().make_stale(number);
        self.wait_for_readers(number);
        self.wait_for_writer(path)
    }

    /// Opens what a path leads to now, by whichever number.
    fn open_as_it_is(&self, number: u64, path: &Arc<Path>, thread: u32) -> Result<(u64, FopenFlags), Failure> {
        let shared = self.being_shared(path, libc::O_RDONLY);
        // Of what somebody writes no more is there than he has put.
        let entry = match self.being_written(path) {
            Some((_, entry)) if shared.is_some() => entry,
            _ => self.entry_now(path)?,
        };
        let opened = match shared {
            Some(written) => self.open_written(written, libc::O_RDONLY, thread),
            None => {
                let file = self.tree.open(&self.cache, path, &entry)?;
                let handle = self.add_file(number, Arc::clone(path), file, false);
                (handle, FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH)
            }
        };
        let mut nodes = self.nodes();
        // A mapping would bring pages of this under the eyes of who reads another version by this number.
        if self.files.find(|it| it.number == number && it.is_cached).is_some() {
            drop(nodes);
            if !self.files.close(opened.0) {
                self.writes.close(opened.0);
            }
            return Err(Failure::of(libc::ESTALE));
        }
        nodes.is_read(number);
        drop(nodes);
        self.tell_now(number, entry);
        Ok(opened)
    }

    /// What a path leads to, whatever was known of it.
    pub fn entry_now(&self, path: &Path) -> Result<Entry, Failure> {
        path.parent().into_iter().for_each(|parent| self.tree.forget(parent));
        self.tree.look_up(path)?.ok_or_else(|| Failure::of(libc::ENOENT))
    }

    /// By this number the kernel is told another length from now on.
    pub fn tell_now(&self, number: u64, entry: Entry) {
        self.nodes().is_now(number, entry);
        self.kernel.forget_attributes(number);
    }

    fn add_file(&self, number: u64, path: Arc<Path>, file: File, is_cached: bool) -> u64 {
        let (handle, hinted, failures) = (self.handle(), Mutex::default(), Failures::default());
        self.files.add(handle, OpenFile { file, number, is_cached, path, hinted, failures });
        handle
    }

    fn open_version(&self, number: u64, path: Arc<Path>, thread: u32) -> Result<(u64, FopenFlags), Failure> {
        if let Some(opened) = self.open_current(number, &path, libc::O_RDONLY, thread)? {
            return Ok(opened);
        }
        self.wait_for_writer(&path)?;
        self.wait_for_release(number);
        let (path, entry) = {
            let nodes = self.nodes();
            if nodes.is_stale(number) {
                // The kernel looks the name up anew then.
                return Err(Failure::of(libc::ESTALE));
            }
            let (path, entry) = nodes.get(number)?;
            (path, entry.clone())
        };
        let opened = self.tree.open(&self.cache, &path, &entry);
        log::debug!("open {}: {}", path.display(), told(&opened));
        let file = opened.inspect_err(|failure| {
            self.noticed(number, &path, failure);
            if failure.remedy().is_some() {
                self.complain(failure);
            }
        })?;
        let handle = self.add_file(number, path, file, true);
        let mut nodes = self.nodes();
        if nodes.is_stale(number) {
            // Somebody has begun to write it meanwhile.
            self.files.close(handle);
            return Err(Failure::of(libc::ESTALE));
        }
        // A number's bytes are always the same.
        nodes.is_read(number);
        Ok((handle, FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH))
    }

    /// Answers a read.
    pub fn read(&self, thread: u32, handle: u64, offset: u64, size: usize, owed: Owed<ReplyData>) {
        let begun = Instant::now();
        let _allowed = self.answers.take(size);
        let Ok(open) = self.files.get(handle) else {
            // What is being written has no other handle.
            let read = self.writes.get(handle).and_then(|open| open.written.read(offset, size));
            owed.give(|reply| match read {
                Ok(bytes) => reply.data(&bytes),
                Err(failure) => reply.error(failure.number()),
            });
            return;
        };
        if owed.is_off() {
            return;
        }
        let mut bytes = vec![0; size];
        let disclosed = if open.is_cached { self.disclosed.file(thread, open.number) } else { None };
        let file = disclosed.as_ref().unwrap_or(&open.file);
        let asked = offset..offset.saturating_add(size as u64);
        let read = match open.failures.lately(&asked) {
            // Page by page the kernel asks once more for what failed as a whole.
            Some(failure) => match file.read_now(&mut bytes, offset) {
                count if count as u64 == asked.end.min(file.len()).saturating_sub(offset) => Ok(count),
                _ => Err(failure),
            },
            None => {
                let read = file.read_at(&mut bytes, offset).map_err(Failure::from);
                read.inspect_err(|failure| {
                    self.count_changed(failure);
                    open.failures.add(asked, failure, begun.elapsed());
                })
            }
        };
        let took = begun.elapsed();
        self.reads.add(read.as_ref().ok().copied(), took);
        log::debug!("read {}, {size} bytes from {offset} on: {} in {took:?}", open.path.display(), told(&read));
        match read {
            Ok(count) => {
                owed.give(|reply| reply.data(&bytes[..count]));
                if self.changed.load(Relaxed) > 0 {
                    self.changed.store(0, Relaxed);
                }
                if offset == 0 {
                    self.ahead.visited(&open.path, took);
                }
            }
            Err(failure) => {
                let failure = self.unread(open.number, &open.path, failure);
                owed.give(|reply| reply.error(failure.number()));
            }
        }
    }

    /// What a file could not be read for, for who reads it.
    pub fn unread(&self, number: u64, path: &Path, failure: Failure) -> Failure {
        self.noticed(number, path, &failure);
        // What is gone is not what was open, either.
        if matches!(failure.errno, libc::ENOENT | libc::ESTALE) {
            return Failure::of(libc::ESTALE);
        }
        self.complain(&failure);
        Failure::of(libc::EIO)
    }

    /// Tells whoever watches, once for what is the same, unless who asked is alone to blame: of what the mount
    /// has too little of, not for each file that it had too little for.
    pub fn complain(&self, failure: &Failure) {
        if matches!(failure.errno, libc::ENAMETOOLONG | libc::ENOTDIR | libc::ELOOP | libc::EILSEQ) {
            return;
        }
        let what = failure.remedy().map_or_else(|| failure.to_string(), str::to_owned);
        let mut told = lock(&self.told);
        if told.len() < TOLD_MAX && told.insert(what.clone()) {
            log::error!("{what}: who asked for it gets an error");
        }
    }

    /// Tells of it if all that is read is another version than was opened.
    fn count_changed(&self, failure: &Failure) {
        if failure.errno == libc::ESTALE && self.changed.fetch_add(1, Relaxed) + 1 == CHANGED_MANY {
            log::error!(
                "{CHANGED_MANY} reads in a row found another version than was opened: is each answer of the store of a \
                 version (ETag, length) of its own? The last of them: {}",
                failure.why
            );
        }
    }

    /// If a file is not what it was, its name is looked up anew by who opens it next.
    fn noticed(&self, number: u64, path: &Path, failure: &Failure) {
        if matches!(failure.errno, libc::ESTALE | libc::ENOENT) {
            lock(&self.nodes).make_stale(number);
            path.parent().into_iter().for_each(|parent| self.tree.forget(parent));
        }
    }
}
