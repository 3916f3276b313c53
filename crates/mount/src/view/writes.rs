//! Files that are being written: who makes one, and when it is there.
//!
//! A descriptor may be closed several times before the last of its copies is (a shell closes what
//! it has copied to standard output, and so does each program that it starts). So a file is
//! finished by a close of the process that opened it, once something was written; a short one also by
//! one after which neither that process nor the one that closes has it open; or else by the last of
//! all, for which nobody waits. Who else opens a short file meanwhile shares what is written; a longer one
//! is busy until it is there. What is there is written in the same way: all of a short file is read first.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use foresee_run::process_stat::process_of;
use fuser::{FileAttr, FopenFlags};

use super::handles::Handles;
use super::kept::Kept;
use super::retries::again_while_it_changes;
use super::written::{Content, Held, KEPT_BYTES_MAX, Written, too_long};
use super::{Shown, attributes};
use crate::failure::Failure;
use crate::processes::is_killed;
use crate::tree::{Entry, Writing};

/// How long who opens a file waits for the one who is just closing it.
const CLOSING_MAX: Duration = Duration::from_secs(2);
const CLOSING_STEP: Duration = Duration::from_millis(5);
/// The kernel lets go of what was closed a moment later.
const RELEASE_STEPS: usize = 20;

/// A descriptor of a file that is being written.
pub struct Descriptor {
    pub(super) written: Arc<Written>,
    /// The process that opened it.
    opener: Option<u32>,
    /// Whether it can be written by.
    writes: bool,
    /// Who opened it has closed it, and has no copy, as far as is known.
    is_closed: AtomicBool,
    /// Who opened it was killed, and nobody has written by it since.
    is_killed: AtomicBool,
}

impl Descriptor {
    /// Whether the path leads to what is written by it, there or not.
    fn is_current(&self) -> bool {
        let is_open = self.writes && !self.is_closed.load(SeqCst);
        !self.written.is_finished() || is_open && self.written.may_be_shared()
    }
}

/// Whether who opens a file so can write.
fn may_write(flags: i32) -> bool {
    flags & libc::O_ACCMODE != libc::O_RDONLY
}

impl Handles<Descriptor> {
    /// The one of this path that is not there yet.
    fn unfinished(&self, path: &Path) -> Option<Arc<Written>> {
        self.written(path, |it| !it.written.is_finished())
    }

    /// The one that a path leads to.
    fn current(&self, path: &Path) -> Option<Arc<Written>> {
        self.written(path, Descriptor::is_current)
    }

    /// The one that who opens the path to write is to share.
    fn shared(&self, path: &Path) -> Option<Arc<Written>> {
        self.written(path, |it| !it.written.is_finished() || it.written.may_be_shared())
    }

    fn written(&self, path: &Path, is_it: impl Fn(&Descriptor) -> bool) -> Option<Arc<Written>> {
        let found = self.find(|it| it.written.path().as_deref() == Some(path) && is_it(it))?;
        Some(Arc::clone(&found.written))
    }

    /// Those of this path.
    fn of(&self, path: &Path) -> Vec<Arc<Written>> {
        let open = self.all(|it| it.written.path().as_deref() == Some(path));
        open.into_iter().map(|it| Arc::clone(&it.written)).collect()
    }
}

/// Which one of them it is, as long as it is there.
fn identity(written: &Arc<Written>) -> usize {
    Arc::as_ptr(written).addr()
}

/// Each once, though it has several descriptors, and in one order, in which all are held.
fn distinct(open: impl Iterator<Item = Arc<Written>>) -> Vec<Arc<Written>> {
    let mut open: Vec<_> = open.collect();
    open.sort_by_key(Arc::as_ptr);
    open.dedup_by(|one, other| Arc::ptr_eq(one, other));
    open
}

/// What is on its way to their names comes there first, and nothing else does as long as they are held.
fn hold(open: &[Arc<Written>]) -> Vec<Held<'_>> {
    open.iter().map(|it| it.hold()).collect()
}

impl Shown {
    fn writing(&self) -> Result<&dyn Writing, Failure> {
        self.tree.writing().ok_or_else(|| Failure::of(libc::EROFS))
    }

    fn begin(&self, written: Written, flags: i32, thread: u32) -> (u64, FopenFlags) {
        let (number, written) = (written.number, Arc::new(written));
        let writer = identity(&written);
        let opened = self.open_written(written, flags, thread);
        self.nodes().is_begun(number, writer);
        opened
    }

    pub fn open_written(&self, written: Arc<Written>, flags: i32, thread: u32) -> (u64, FopenFlags) {
        let (handle, writes) = (self.handle(), may_write(flags));
        if writes {
            written.joined();
        }
        let (is_closed, is_killed) = (AtomicBool::new(false), AtomicBool::new(false));
        self.writes.add(handle, Descriptor { written, opener: process_of(thread), writes, is_closed, is_killed });
        // Past the page cache, as it changes under one number. Who only reads it does not finish it.
        let unheard = if writes { FopenFlags::empty() } else { FopenFlags::FOPEN_NOFLUSH };
        (handle, FopenFlags::FOPEN_DIRECT_IO | unheard)
    }

    /// Opens a file that somebody writes, if all of that is at hand.
    pub fn open_current(
        &self,
        number: u64,
        path: &Path,
        flags: i32,
        thread: u32,
    ) -> Result<Option<(u64, FopenFlags)>, Failure> {
        let Some(written) = self.being_shared(path, flags) else { return Ok(None) };
        if written.number != number {
            if may_write(flags) && self.waits_for_release(&written) {
                return Ok(None);
            }
            // The kernel looks the name up anew then.
            return Err(Failure::of(libc::ESTALE));
        }
        if flags & libc::O_TRUNC != 0 {
            written.resize(self.writing()?, 0, true)?;
            self.nodes().resize(number, 0);
        }
        let opened = self.open_written(written, flags, thread);
        // Who has just closed it last may have said that it is what is there.
        if may_write(flags) {
            self.nodes().make_stale(number);
        }
        Ok(Some(opened))
    }

    /// What who opens a path so shares, if all of it is at hand.
    pub fn being_shared(&self, path: &Path, flags: i32) -> Option<Arc<Written>> {
        let found = if may_write(flags) { self.writes.shared(path) } else { self.writes.current(path) };
        found.filter(|it| it.is_at_hand())
    }

    /// Waits a little for the kernel to let go of what was written and is closed. If it does not, somebody
    /// has a copy of the descriptor: what two write is not to be put by each alone.
    fn waits_for_release(&self, written: &Arc<Written>) -> bool {
        let of_it = || self.writes.all(|it| Arc::ptr_eq(&it.written, written));
        for _ in 0..RELEASE_STEPS {
            let open = of_it();
            if !written.has_writers() || open.is_empty() {
                return true;
            }
            if !written.is_finished() || open.iter().any(|it| it.writes && !it.is_closed.load(SeqCst)) {
                return false;
            }
            thread::sleep(CLOSING_STEP);
        }
        of_it().iter().for_each(|it| it.is_closed.store(false, SeqCst));
        false
    }

    /// The same of a number that was written just now, for who opens it to read.
    pub fn wait_for_release(&self, number: u64) {
        if let Some(open) = self.writes.find(|it| it.written.number == number && it.is_closed.load(SeqCst)) {
            let _ = self.waits_for_release(&open.written);
        }
    }

    /// Makes a file, to be written.
    pub fn create(
        &self,
        parent: u64,
        name: &OsStr,
        flags: i32,
        thread: u32,
    ) -> Result<(FileAttr, u64, FopenFlags), Failure> {
        let path: Arc<Path> = self.nodes().path(parent)?.join(name).into();
        let entry = self.writing()?.entry(&path)?;
        self.wait_for_writer(&path)?;
        let number = self.nodes().tell(&path, &entry);
        self.nodes().resize(number, 0);
        let written = Written::new(path, number, false, Arc::clone(&self.room));
        // Who would take what is there as it is, and knows of nothing, is not to replace what others have made
        // since. To ask for who wants it to be new would double what it takes to copy many files.
        let takes_what_is_there = flags & (libc::O_TRUNC | libc::O_EXCL) == 0;
        let written = if takes_what_is_there { written.of_nothing() } else { written };
        let (handle, flags) = self.begin(written, flags, thread);
        Ok((attributes(number, &entry), handle, flags))
    }

    /// Opens a file that is there to be written. Who comes again, as it was another meanwhile, waits for who
    /// reads it by this number, and adds to what is there by whichever number.
    pub fn overwrite(&self, number: u64, flags: i32, thread: u32) -> Result<(u64, FopenFlags), Failure> {
        self.writing()?;
        let path = self.nodes().path(number)?;
        let comes_again = self.retries.comes_again(thread, &path);
        if comes_again {
            self.wait_for_readers(number);
        }
        let opened = self.overwrite_version(number, &path, flags, thread);
        if !opened.as_ref().is_err_and(|failure| failure.errno == libc::ESTALE) {
            return opened;
        }
        if !comes_again {
            self.retries.told(thread, path);
            return opened;
        }
        if flags & (libc::O_APPEND | libc::O_TRUNC) != libc::O_APPEND {
            return opened;
        }
        self.give_number_up(number, &path)?;
        again_while_it_changes(|| self.add_as_it_is(number, &path, flags, thread))
    }

    /// Those who read a version soon have read it.
    pub fn wait_for_readers(&self, number: u64) {
        let is_read = || self.files.are_reading(number);
        let steps = CLOSING_MAX.as_millis() / CLOSING_STEP.as_millis();
        (0..steps).take_while(|_| is_read()).for_each(|_| thread::sleep(CLOSING_STEP));
    }

    /// Opens what a path leads to now, to add to it: where that goes is not for the kernel to say, which knows
    /// another file by this number.
    fn add_as_it_is(
        &self,
        number: u64,
        path: &Arc<Path>,
        flags: i32,
        thread: u32,
    ) -> Result<(u64, FopenFlags), Failure> {
        let _turn = self.begins.take(path);
        if self.files.are_reading(number) {
            return Err(Failure::of(libc::ESTALE));
        }
        if let Some(written) = self.being_shared(path, flags) {
            return Ok(self.open_written(written, flags, thread));
        }
        let entry = self.entry_now(path)?;
        let content = self.content(number, path, &entry)?;
        self.tell_now(number, entry);
        Ok(self.begin(Written::of(Arc::clone(path), number, content, Arc::clone(&self.room)), flags, thread))
    }

    fn overwrite_version(
        &self,
        number: u64,
        path: &Arc<Path>,
        flags: i32,
        thread: u32,
    ) -> Result<(u64, FopenFlags), Failure> {
        if let Some(opened) = self.open_current(number, path, flags, thread)? {
            return Ok(opened);
        }
        self.wait_for_writer(path)?;
        let _turn = self.begins.take(path);
        // What somebody else has begun meanwhile is shared.
        if let Some(opened) = self.open_current(number, path, flags, thread)? {
            return Ok(opened);
        }
        let is_cut = flags & libc::O_TRUNC != 0;
        let entry = {
            let mut nodes = self.nodes();
            let (now, entry) = nodes.get(number).map(|(path, entry)| (path, entry.clone()))?;
            // Whoever reads it keeps what he opened: the kernel looks the name up anew then, and the writer has
            // a number of his own.
            let is_read = self.files.are_reading(number);
            let is_old = now != *path || !is_cut && nodes.is_stale(number);
            // From here on who opens it to read looks its name up anew, too.
            nodes.make_stale(number);
            if is_read || is_old {
                return Err(Failure::of(libc::ESTALE));
            }
            entry
        };
        let (path, room) = (Arc::clone(path), Arc::clone(&self.room));
        let written = match is_cut {
            true => {
                self.nodes().resize(number, 0);
                Written::new(path, number, true, room)
            }
            // Who neither adds to it nor reads it may cut it next.
            false if entry.size > KEPT_BYTES_MAX && flags & (libc::O_ACCMODE | libc::O_APPEND) == libc::O_WRONLY => {
                Written::of_long(path, number, &entry, room)
            }
            false => {
                let content = self.content(number, &path, &entry)?;
                Written::of(path, number, content, room)
            }
        };
        Ok(self.begin(written, flags, thread))
    }

    /// All of a short file.
    fn content(&self, number: u64, path: &Path, entry: &Entry) -> Result<Content, Failure> {
        if entry.size > KEPT_BYTES_MAX {
            return Err(too_long(Some(path))).inspect_err(|failure| self.complain(failure));
        }
        // Of what the cache has it could not be put in the place of another.
        let now = self.writing()?.version(path)?;
        if now.is_none() || entry.version.is_some() && now != entry.version {
            return Err(self.unread(number, path, Failure::of(libc::ESTALE)));
        }
        let (mut kept, mut allowed) = (Kept::default(), self.room.memory.nothing());
        kept.resize(entry.size, &mut allowed)?;
        let file = self.tree.open(&self.cache, path, entry);
        let read = file.and_then(|file| kept.fill(&file).map(|()| file.version().clone()));
        let version = read.map_err(|failure| self.unread(number, path, failure))?;
        Ok(Content { kept, allowed, version })
    }

    /// Writes to a file that is not there yet, or at its end.
    pub fn write(&self, handle: u64, offset: u64, bytes: &[u8], appends: bool) -> Result<(), Failure> {
        let open = self.writes.get(handle)?;
        let written = &open.written;
        open.is_closed.store(false, SeqCst);
        open.is_killed.store(false, SeqCst);
        // The end that the kernel knows may not be the end by now.
        let offset = Some(offset).filter(|_| !appends);
        let size = written.write(self.writing()?, offset, bytes).inspect_err(|failure| self.complain(failure))?;
        self.nodes().resize(written.number, size);
        Ok(())
    }

    /// A copy of a descriptor was closed by this thread, or what was written is to be there by now.
    pub fn flush(&self, handle: u64, by: Option<u32>) -> Result<(), Failure> {
        let Ok(open) = self.writes.get(handle) else { return Ok(()) };
        let Descriptor { written, opener, is_closed, .. } = &*open;
        if let Some(thread) = by {
            let process = process_of(thread);
            let is_opener = opener.is_none() || process == *opener;
            is_closed.fetch_or(is_opener, SeqCst);
            if is_opener && is_killed(thread) {
                // Others may have a copy, and go on.
                open.is_killed.store(true, SeqCst);
                return Ok(());
            }
            // Of what is long nothing can be written once it is there.
            let writes = |it: &Descriptor| Arc::ptr_eq(&it.written, written) && it.writes && !it.is_closed.load(SeqCst);
            let is_to_grow = !written.is_short() && self.writes.find(writes).is_some();
            if is_opener && is_to_grow {
                // He is told that it will be there.
                written.owe();
            }
            let may_be_put = is_opener && written.may_be_put() && !is_to_grow;
            if !(may_be_put || written.is_left_by(*opener, process)) {
                return Ok(());
            }
        }
        self.finish(written).inspect_err(|failure| self.complain(failure))
    }

    fn finish(&self, written: &Written) -> Result<(), Failure> {
        let path = written.path().filter(|_| !written.is_finished());
        let finished = written.finish(self.writing()?);
        path.into_iter().for_each(|path| self.puts.add(path));
        finished
    }

    /// The last copy of a descriptor was closed, which was opened so. Nobody hears of an error any
    /// more, but who watches.
    pub fn release_written(&self, handle: u64, flags: i32) {
        let Ok(open) = self.writes.get(handle) else { return };
        let written = &open.written;
        let (is_last, path) = (written.left(may_write(flags)), written.path());
        if is_last && open.is_killed.load(SeqCst) && !written.is_finished() && !written.is_owed() {
            written.give_up(Failure::of(libc::EIO));
        }
        if is_last
            && !written.has_failed()
            && let Err(failure) = self.finish(written)
        {
            log::error!("{}: was not written: {failure}", path.as_deref().unwrap_or(Path::new("")).display());
        }
        // Who asks for its times, or begins to write it, finds it open or as it is then.
        let _turn = path.as_deref().map(|path| self.begins.take(path));
        let (path, version) = (written.path(), written.version());
        self.writes.close(handle);
        // Where nobody has it open any more its number is that of the version that is there, so that who looked
        // at it and opens it now has one file. Of what was there before, or was mapped meanwhile, the kernel may
        // have bytes.
        let number = written.number;
        let is_open = || self.writes.find(|it| it.written.number == number).is_some() || self.files.are_reading(number);
        if let (Some(path), Some(version)) = (path, version)
            && !is_open()
            && self.kernel.forget_bytes(number)
        {
            let mut nodes = self.nodes();
            // Nobody has begun to share it meanwhile, who would not wait for a turn.
            if !is_open() {
                nodes.is_written(number, &path, version, identity(written));
            }
        }
    }

    /// Whether what was written and is there has been replaced by others since, as far as is known of its name.
    pub fn is_another_by_now(&self, path: &Path) -> bool {
        let Some(written) = self.writes.current(path).filter(|it| it.is_finished()) else { return false };
        let Some(version) = written.version() else { return false };
        let Some(found) = self.tree.look_up(path).ok().flatten() else { return false };
        let is_another = found.version.as_ref().is_some_and(|now| *now != version);
        let mut nodes = self.nodes();
        // Nor was it written again since.
        if !is_another && written.is_finished() && written.version() == Some(version) {
            nodes.is_dated(written.number, Some(&found));
        }
        is_another
    }

    /// What was written has the times that the store has of it, once it is there: these stay, and who looked at
    /// it takes it for another's change if they are others later.
    pub fn date(&self, number: u64) -> Result<(), Failure> {
        let is_under_way = || self.writes.find(|it| it.written.number == number && !it.written.is_finished()).is_some();
        // Its turn may be a long one's, which is just put.
        if is_under_way() {
            return Ok(());
        }
        let path = self.nodes().path(number)?;
        let _turn = self.begins.take(&path);
        if is_under_way() {
            return Ok(());
        }
        let (version, size) = self.nodes().get(number).map(|(_, entry)| (entry.version.clone(), entry.size))?;
        let written = self.writes.find(|it| it.written.number == number);
        let version = written.map_or(version, |it| it.written.version());
        let found = self.looked_up(&path)?;
        // Who may write and not read is not told the version of what was sent in parts.
        let is_it = |it: &Entry| it.size == size && (version.is_none() || it.version == version);
        self.nodes().is_dated(number, found.filter(is_it).as_ref());
        Ok(())
    }

    /// A file that is being written, as it is by now, and its number: with another the kernel would
    /// take it for another file.
    pub fn being_written(&self, path: &Path) -> Option<(u64, Entry)> {
        let written = self.writes.current(path)?;
        let entry = self.tree.writing()?.entry(path).ok()?;
        // When it was written last is known since then.
        let known = self.nodes().get(written.number).map(|(_, known)| (known.modified, known.changed));
        let (modified, changed) = known.unwrap_or((entry.modified, entry.changed));
        Some((written.number, Entry { size: written.size(), modified, changed, ..entry }))
    }

    /// Those in a directory.
    pub fn being_written_in(&self, directory: &Path) -> HashMap<OsString, (u64, Entry)> {
        let is_in = |path: &Arc<Path>| path.parent() == Some(directory);
        let paths = self.writes.all(|_| true).into_iter().filter_map(|it| it.written.path()).filter(is_in);
        paths.filter_map(|path| Some((path.file_name()?.to_owned(), self.being_written(&path)?))).collect()
    }

    /// Whether somebody may write on a file, be it that all of it is there by now: what its name leads
    /// to may be another version at any time.
    pub fn may_be_written(&self, path: &Path) -> bool {
        self.writes.find(|it| it.written.has_writers() && it.written.path().as_deref() == Some(path)).is_some()
    }

    /// The names of such files in a directory.
    pub fn may_be_written_in(&self, directory: &Path) -> HashSet<OsString> {
        let open = self.writes.all(|it| it.written.has_writers());
        let paths = open.into_iter().filter_map(|it| it.written.path()).filter(|it| it.parent() == Some(directory));
        paths.filter_map(|path| Some(path.file_name()?.to_owned())).collect()
    }

    /// Waits for who is about to finish a file.
    pub fn wait_for_writer(&self, path: &Path) -> Result<(), Failure> {
        for _ in 0..CLOSING_MAX.as_millis() / CLOSING_STEP.as_millis() {
            if self.writes.unfinished(path).is_none() {
                return Ok(());
            }
            thread::sleep(CLOSING_STEP);
        }
        Err(Failure::of(libc::EBUSY))
    }

    /// Takes a file's size to be this, if it may be, for this thread.
    pub fn truncate(&self, number: u64, handle: Option<u64>, size: u64, thread: u32) -> Result<(), Failure> {
        self.writing()?;
        let (path, now) = self.nodes().get(number).map(|(path, entry)| (path, entry.size))?;
        let open = handle.and_then(|handle| self.writes.get(handle).ok()).map(|it| Arc::clone(&it.written));
        let by_writer = open.is_some();
        match open.or_else(|| self.writes.shared(&path)) {
            Some(written) => {
                written.resize(self.writing()?, size, by_writer)?;
                self.nodes().resize(written.number, size);
                // Who has it open may never write it again.
                if handle.is_none() && written.is_short() { self.finish(&written) } else { Ok(()) }
            }
            None if now == size => Ok(()),
            None => self.cut(number, size, thread),
        }
    }

    /// The same where nobody has it open to write.
    fn cut(&self, number: u64, size: u64, thread: u32) -> Result<(), Failure> {
        let flags = libc::O_WRONLY | if size == 0 { libc::O_TRUNC } else { 0 };
        let (handle, _) = self.overwrite(number, flags, thread)?;
        let resized = self.writes.get(handle).and_then(|open| open.written.resize(self.writing()?, size, true));
        let done = resized.and_then(|()| {
            self.nodes().resize(number, size);
            self.flush(handle, None)
        });
        self.release_written(handle, flags);
        done
    }

    /// What is written below a directory.
    pub fn written_below(&self, directory: &Path) -> Vec<Arc<Written>> {
        let is_below = |it: &Descriptor| it.written.path().is_some_and(|path| path.starts_with(directory));
        distinct(self.writes.all(is_below).into_iter().map(|it| Arc::clone(&it.written)))
    }

    /// What is written of these names.
    fn of<const N: usize>(&self, paths: [&Path; N]) -> Vec<Arc<Written>> {
        distinct(paths.into_iter().flat_map(|path| self.writes.of(path)))
    }

    /// Removes a file.
    pub fn remove(&self, parent: u64, name: &OsStr) -> Result<(), Failure> {
        let path = self.nodes().path(parent)?.join(name);
        let _turn = self.begins.take(&path);
        let open = self.of([&path]);
        let held = hold(&open);
        match self.writing()?.remove(&path) {
            // What was just made was never there.
            Err(failure) if failure.errno == libc::ENOENT && !held.is_empty() => {}
            removed => removed?,
        }
        held.into_iter().for_each(Held::lose_name);
        self.nodes().removed(&path);
        Ok(())
    }

    /// Gives a file or a directory another name.
    pub fn rename(&self, from: (u64, &OsStr), to: (u64, &OsStr), keep: bool) -> Result<(), Failure> {
        let path = |(parent, name): (u64, &OsStr)| Ok::<_, Failure>(self.nodes().path(parent)?.join(name));
        self.move_path(path(from)?.into(), path(to)?.into(), keep)
    }

    /// The same by their paths.
    pub fn move_path(&self, from: Arc<Path>, to: Arc<Path>, keep: bool) -> Result<(), Failure> {
        if from == to {
            return Ok(());
        }
        let _turn = self.begins.take_all(&[&from, &to]);
        // What is written meanwhile goes where the name has gone.
        let open = self.of([&from, &to]);
        let mut held = hold(&open);
        let writing = self.writing()?;
        for it in held.iter_mut().filter(|it| it.path().as_deref() == Some(&from)) {
            it.finish(writing).inspect_err(|failure| self.complain(failure))?;
        }
        let entry = self.tree.look_up(&from)?.ok_or_else(|| Failure::of(libc::ENOENT))?;
        if keep && self.tree.look_up(&to)?.is_some() {
            return Err(Failure::of(libc::EEXIST));
        }
        if entry.kind == fuser::FileType::Directory {
            return self.move_directory(&from, &to, entry, writing);
        }
        let renamed = writing.rename(&from, &to);
        [&from, &to].into_iter().for_each(|path| self.puts.add(Arc::clone(path)));
        renamed?;
        // So that its number stays, where it has the same version there.
        let moved = self.tree.look_up(&to).ok().flatten();
        self.nodes().moved(&from, &to, moved.as_ref());
        for it in held {
            match it.path().as_deref() == Some(&from) {
                true => it.rename(&to, moved.as_ref().and_then(|it| it.version.clone())),
                false => it.lose_name(),
            }
        }
        Ok(())
    }

    /// Makes a directory.
    pub fn make_directory(&self, parent: u64, name: &OsStr) -> Result<FileAttr, Failure> {
        let path = self.nodes().path(parent)?.join(name);
        let entry = self.writing()?.make_directory(&path)?;
        Ok(self.tell(&path, &entry))
    }

    /// Removes a directory.
    pub fn remove_directory(&self, parent: u64, name: &OsStr) -> Result<(), Failure> {
        let path = self.nodes().path(parent)?.join(name);
        if !self.being_written_in(&path).is_empty() {
            return Err(Failure::of(libc::ENOTEMPTY));
        }
        self.writing()?.remove_directory(&path)
    }
}
