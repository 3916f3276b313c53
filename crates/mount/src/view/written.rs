//! A file that is being written: there as a whole when it is closed, or not at all.
//!
//! What is short is kept until then: it is written in any order, read and cut, and put in its own
//! place once more if it is written further after that. What is longer goes to the store as it is
//! written, or at the end where there is no room for one upload more, and is not written any more
//! once it is there. Its last bytes are held for a while, and what nobody has written yet is waited
//! for: programs that write by several threads have them come in no order.

use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use foresee::store::{Upload, Version};
use foresee_run::pool::lock;

use super::holes::Holes;
use super::kept::{Kept, Room};
use crate::allowance::Allowed;
use crate::failure::Failure;
use crate::processes::has_open;
use crate::tree::{Entry, Writing};

/// As much of a file is kept until it is closed.
pub(super) const KEPT_BYTES_MAX: u64 = 8 << 20;
/// What is passed over at the end of a longer file is zeros, no more of them at once.
const ZEROS_MAX: u64 = 1 << 30;
/// So much of a longer file is sent at once, as stores take it.
const PART_BYTES: usize = 8 << 20;
/// So much of its end is not sent, so that all from a part before it on can be written once more.
const UNSENT_BYTES_MAX: u64 = 2 * PART_BYTES as u64;
/// What nobody has written of a part keeps it from being sent, until there is more than this: it is zeros then.
const HELD_BYTES_MAX: u64 = 1 << 30;
/// More than one write adds, so that what was held becomes less, and no more: the write waits for them.
const PARTS_AT_ONCE: usize = 2;
/// What an upload takes: what is not sent, three parts that are on their way, and the one that is next.
const UPLOAD_BYTES: usize = UNSENT_BYTES_MAX as usize + 4 * PART_BYTES;

/// What is there.
pub struct Content {
    /// All of it.
    pub kept: Kept,
    /// What that may take.
    pub allowed: Allowed,
    /// The version that it is.
    pub version: Version,
}

/// One of them.
pub struct Written {
    /// The name that it will have; none once that was removed, or given to another.
    path: Mutex<Option<Arc<Path>>>,
    /// As the kernel calls it.
    pub(super) number: u64,
    /// Descriptors that can write it.
    writers: AtomicU32,
    /// Its length so far. As what follows, it changes with the state, and is asked for while that
    /// waits for the store.
    size: AtomicU64,
    /// Whether what was written so far is there.
    is_finished: AtomicBool,
    /// Whether there is a file in its place.
    replaces: AtomicBool,
    /// Whether it was there once, as a whole.
    was_there: AtomicBool,
    /// Whether somebody has closed it who was told that it will be there, though others still write it.
    is_owed: AtomicBool,
    /// Why it never will be there.
    failed: OnceLock<Failure>,
    room: Arc<Room>,
    state: Mutex<State>,
}

struct State {
    /// All of it, but for what was sent of one that is not there yet.
    kept: Kept,
    /// So many bytes were, from its beginning on.
    sent: u64,
    /// What nobody has written of what is kept.
    holes: Holes,
    upload: Option<Box<dyn Upload>>,
    /// What is kept and the upload may take.
    room: Allowed,
    /// What it was made of, if it is a change of what is there, or what was put last: of no other may it take
    /// the place. None within is nothing.
    base: Option<Option<Version>>,
}

impl State {
    fn new(kept: Kept, room: Allowed, base: Option<Option<Version>>) -> Self {
        State { kept, sent: 0, holes: Holes::default(), upload: None, room, base }
    }

    /// Whether the next part is to go, if it is so long and just written from here on.
    fn is_to_send(&self, offset: u64, size: u64) -> bool {
        let (end, whole) = (self.sent + PART_BYTES as u64, self.holes.first().unwrap_or(self.sent + self.kept.len()));
        end <= offset && size > self.sent + if end <= whole { UNSENT_BYTES_MAX } else { HELD_BYTES_MAX }
    }

    /// Takes it to be so long, no less than it was, and sends what is too far from its end by then, and not
    /// about to be written.
    fn extend(&mut self, to: &dyn Writing, path: &Path, offset: u64, size: u64) -> Result<(), Failure> {
        if self.upload.is_none() && self.is_to_send(offset, size) && self.room.grow(UPLOAD_BYTES) {
            self.upload = Some(to.create(path)?);
        }
        if let Some(mut upload) = self.upload.take() {
            for _ in 0..PARTS_AT_ONCE {
                if self.is_to_send(offset, size) {
                    self.kept.resize(self.kept.len().max(PART_BYTES as u64), &mut self.room)?;
                    self.kept.send_first(PART_BYTES, &mut *upload, |error| failure(path, error))?;
                    self.sent += PART_BYTES as u64;
                }
            }
            self.upload = Some(upload);
        }
        match size - self.sent <= UNSENT_BYTES_MAX {
            true if self.upload.is_some() => self.kept.move_to_memory()?,
            true => {}
            // The upload's room is for no more, and others need the rest.
            false => self.kept.move_to_file()?,
        }
        self.kept.resize(size - self.sent, &mut self.room)
    }

    fn put(&mut self, to: &dyn Writing, path: &Path, room: &Room) -> Result<(), Failure> {
        let _in_turn = matches!(self.kept, Kept::File(..)).then(|| lock(&room.of_files));
        if let Some(base) = &self.base
            && to.version(path)? != *base
        {
            let why = format!("{}: others changed it since it was opened: it was not written", path.display());
            return Err(Failure { errno: libc::ESTALE, why });
        }
        let mut upload = match self.upload.take() {
            Some(upload) => upload,
            None => to.create(path)?,
        };
        self.kept.send(&mut *upload, |error| failure(path, error))?;
        self.base = match upload.finish().map_err(|error| failure(path, error))? {
            // Who may write and not read is not told.
            None if self.base.is_none() => to.version(path).ok(),
            None => Some(to.version(path)?),
            version => Some(version),
        };
        Ok(())
    }

    /// What is not needed any more is given back.
    fn let_go(&mut self, room: &Room) {
        (self.kept, self.sent, self.holes) = (Kept::default(), 0, Holes::default());
        (self.upload, self.room) = (None, room.memory.nothing());
    }
}

/// One that is put nowhere meanwhile.
pub struct Held<'w> {
    written: &'w Written,
    state: MutexGuard<'w, State>,
}

impl Held<'_> {
    /// Makes it be there, if it is not yet.
    pub fn finish(&mut self, to: &dyn Writing) -> Result<(), Failure> {
        let Held { written, state } = self;
        written.check()?;
        let Some(path) = written.path().filter(|_| !written.is_finished()) else { return Ok(()) };
        let put = state.put(to, &path, &written.room);
        // An answer that was lost may have been that it is there.
        to.finished(&path);
        put.map_err(|failure| written.fail(state, failure))?;
        written.is_finished.store(true, SeqCst);
        written.replaces.store(true, SeqCst);
        written.was_there.store(true, SeqCst);
        if !written.is_kept(state) {
            state.let_go(&written.room);
        }
        Ok(())
    }

    /// The name that it will have.
    pub fn path(&self) -> Option<Arc<Path>> {
        self.written.path()
    }

    /// Whether some of it was sent, or is on its way, to the name that it had when that began.
    pub fn is_being_sent(&self) -> bool {
        self.state.upload.is_some()
    }

    /// It has another name now, and is this version there, if that is known.
    pub fn rename(mut self, path: &Path, version: Option<Version>) {
        self.state.base = self.state.base.take().and(version.map(Some));
        *lock(&self.written.path) = Some(path.into());
    }

    /// Its name is another's now: nobody will find what is written.
    pub fn lose_name(mut self) {
        *lock(&self.written.path) = None;
        self.state.upload = None;
    }
}

fn failure(path: &Path, error: foresee::store::Error) -> Failure {
    foresee::Error::Store { name: path.to_string_lossy().into(), error }.into()
}

/// Why what is long is not changed.
pub fn too_long(path: Option<&Path>) -> Failure {
    let path = path.unwrap_or(Path::new("a file without a name")).display();
    let why = format!("{path}: longer than 8 MiB: it is written from nothing on, and no more where it was sent");
    Failure { errno: libc::EOPNOTSUPP, why }
}

impl Written {
    /// One that has no bytes yet, in the place of another or of none.
    pub fn new(path: Arc<Path>, number: u64, replaces: bool, room: Arc<Room>) -> Self {
        let (writers, size, is_finished) = (AtomicU32::new(0), AtomicU64::new(0), AtomicBool::new(false));
        let (kept, path) = (Kept::default(), Mutex::new(Some(path)));
        let state = Mutex::new(State::new(kept, room.memory.nothing(), None));
        let (replaces, was_there, failed) = (AtomicBool::new(replaces), AtomicBool::new(false), OnceLock::new());
        let is_owed = AtomicBool::new(false);
        Written { path, number, writers, size, is_finished, replaces, was_there, is_owed, failed, room, state }
    }

    /// It is put only where nothing is.
    #[must_use]
    pub fn of_nothing(self) -> Self {
        lock(&self.state).base = Some(None);
        self
    }

    /// One that is as what it replaces, so far.
    pub fn of(path: Arc<Path>, number: u64, content: Content, room: Arc<Room>) -> Self {
        let Content { kept, allowed, version } = content;
        let (size, is_finished, was_there) = (AtomicU64::new(kept.len()), AtomicBool::new(true), AtomicBool::new(true));
        let state = Mutex::new(State::new(kept, allowed, Some(Some(version))));
        Written { size, is_finished, was_there, state, ..Written::new(path, number, true, room) }
    }

    /// One that is there, so long that it is not kept: nothing is written to it unless it is cut to none first,
    /// as some editors do.
    pub fn of_long(path: Arc<Path>, number: u64, entry: &Entry, room: Arc<Room>) -> Self {
        let (size, is_finished, was_there) = (AtomicU64::new(entry.size), AtomicBool::new(true), AtomicBool::new(true));
        let new = Written::new(path, number, true, room);
        lock(&new.state).base = entry.version.clone().map(Some);
        Written { size, is_finished, was_there, ..new }
    }

    /// One more descriptor can write it.
    pub fn joined(&self) {
        self.writers.fetch_add(1, SeqCst);
    }

    /// One descriptor less, which could write or not. Returns whether there is none left that can.
    pub fn left(&self, could_write: bool) -> bool {
        let one = u32::from(could_write);
        self.writers.fetch_sub(one, SeqCst) == one
    }

    /// Whether a descriptor can write it.
    pub fn has_writers(&self) -> bool {
        self.writers.load(SeqCst) > 0
    }

    /// The name that it will have.
    pub fn path(&self) -> Option<Arc<Path>> {
        lock(&self.path).clone()
    }

    /// What is on its way to its name comes there first, and nothing else does as long as this is held.
    pub fn hold(&self) -> Held<'_> {
        Held { written: self, state: lock(&self.state) }
    }

    /// Its length so far.
    pub fn size(&self) -> u64 {
        self.size.load(SeqCst)
    }

    /// Whether what was written so far is there.
    pub fn is_finished(&self) -> bool {
        self.is_finished.load(SeqCst)
    }

    /// Whether it never will be.
    pub fn has_failed(&self) -> bool {
        self.failed.get().is_some()
    }

    fn check(&self) -> Result<(), Failure> {
        self.failed.get().map_or(Ok(()), |why| Err(why.clone()))
    }

    /// It will not be there, and its name leads to what is.
    fn fail(&self, state: &mut State, why: Failure) -> Failure {
        state.upload = None;
        *lock(&self.path) = None;
        self.failed.get_or_init(|| why).clone()
    }

    /// It is not changed as who writes it wants it to be: unless it is there, or has no place to go to, it
    /// is not to take the place of what is whole.
    fn refuse(&self, state: &mut State, why: Failure) -> Failure {
        if self.is_finished() || self.path().is_none() { why } else { self.fail(state, why) }
    }

    /// Whether others may write it as well, though it is there.
    pub fn may_be_shared(&self) -> bool {
        self.has_writers() && self.is_short() && !self.has_failed()
    }

    /// Whether all of it is kept, unless it failed.
    pub fn is_short(&self) -> bool {
        self.size() <= KEPT_BYTES_MAX
    }

    /// Somebody closes it who is told that it will be there.
    pub fn owe(&self) {
        self.is_owed.store(true, SeqCst);
    }

    /// Whether somebody was told so.
    pub fn is_owed(&self) -> bool {
        self.is_owed.load(SeqCst)
    }

    /// Whether it may be put by a close of who opened it: what is there is not to go for what nobody has
    /// written yet, as where a shell closes what it has a copy of.
    pub fn may_be_put(&self) -> bool {
        self.size() > 0 || self.was_there.load(SeqCst)
    }

    /// Whether a close leaves it open in neither of these processes, as far as that is known, and it may be
    /// put in its place by that. A long one is written no more once it is there, and others may have it
    /// open; and what was there is not to go for what nobody has written yet.
    pub fn is_left_by(&self, opener: Option<u32>, closer: Option<u32>) -> bool {
        let (Some(opener), Some(closer)) = (opener, closer) else { return false };
        let has_it = |process| has_open(process, self.number);
        let is_written = self.size() > 0 || !self.replaces.load(SeqCst);
        is_written
            && self.is_short()
            && !self.is_finished()
            && !has_it(opener)
            && (opener == closer || !has_it(closer))
            && self.is_at_hand()
    }

    /// Whether others can share what was written so far.
    pub fn is_at_hand(&self) -> bool {
        self.is_kept(&lock(&self.state)) && !self.has_failed()
    }

    fn is_kept(&self, state: &State) -> bool {
        state.kept.len() == self.size() && self.is_short()
    }

    /// Takes what is kept to be so long. Returns whether it may be.
    fn resize_kept(&self, state: &mut State, size: u64) -> Result<bool, Failure> {
        let may = self.is_kept(state) && size <= KEPT_BYTES_MAX;
        if may {
            let State { kept, room, .. } = state;
            kept.resize(size, room).map_err(|failure| self.fail(state, failure))?;
            self.changed(state, size);
        }
        Ok(may)
    }

    fn changed(&self, state: &mut State, size: u64) {
        state.holes.fill(&(size..u64::MAX));
        state.holes.pass(self.size().min(size)..size);
        state.holes.fill(&(0..state.sent));
        self.size.store(size, SeqCst);
        self.is_finished.store(false, SeqCst);
    }

    /// Writes from here on, or at the end. Returns how long it is by then.
    pub fn write(&self, to: &dyn Writing, offset: Option<u64>, bytes: &[u8]) -> Result<u64, Failure> {
        let mut state = lock(&self.state);
        self.check()?;
        let offset = offset.unwrap_or(self.size());
        let size = self.size().max(offset + bytes.len() as u64);
        let is_kept = self.resize_kept(&mut state, size)?;
        // It would be put without these bytes.
        if is_kept || self.extend(&mut state, to, offset, size).map_err(|why| self.refuse(&mut state, why))? {
            let at = offset - state.sent;
            state.kept.write_at(bytes, at).map_err(|failure| self.fail(&mut state, failure))?;
            state.holes.fill(&(offset..offset + bytes.len() as u64));
        }
        Ok(size)
    }

    /// Takes what is long, or becomes it, to be so long, if it can be written from here on. Returns whether
    /// that is kept: what has no name goes nowhere.
    fn extend(&self, state: &mut State, to: &dyn Writing, offset: u64, size: u64) -> Result<bool, Failure> {
        if offset > self.size() + ZEROS_MAX {
            return Err(Failure::of(libc::EOPNOTSUPP));
        }
        let path = self.path();
        if offset < state.sent || size < self.size() || (self.is_finished() && !self.is_kept(state)) {
            return Err(too_long(path.as_deref()));
        }
        match &path {
            Some(path) => state.extend(to, path, offset, size).map_err(|failure| self.fail(state, failure))?,
            None => state.let_go(&self.room),
        }
        self.changed(state, size);
        Ok(path.is_some())
    }

    /// What was written, from here on.
    pub fn read(&self, offset: u64, size: usize) -> Result<Vec<u8>, Failure> {
        let state = lock(&self.state);
        if !self.is_kept(&state) {
            return Err(Failure::of(libc::EOPNOTSUPP));
        }
        state.kept.read_at(offset, size)
    }

    /// Takes it to be so long, if it may be, for who writes it or for somebody else: of these one who is
    /// refused has not touched what the other writes.
    pub fn resize(&self, to: &dyn Writing, size: u64, by_writer: bool) -> Result<(), Failure> {
        let mut state = lock(&self.state);
        self.check()?;
        if size == self.size() || self.resize_kept(&mut state, size)? {
            return Ok(());
        }
        if size > 0 {
            let is_cut = by_writer && size < self.size();
            let extended = self.extend(&mut state, to, size, size).map(drop);
            // It would be put with what was to be cut off.
            return extended.map_err(|why| if is_cut { self.refuse(&mut state, why) } else { why });
        }
        // Of what was long, and is begun anew, nothing is needed.
        state.let_go(&self.room);
        self.changed(&mut state, 0);
        Ok(())
    }

    /// Makes it be there, if it is not yet.
    pub fn finish(&self, to: &dyn Writing) -> Result<(), Failure> {
        self.hold().finish(to)
    }

    /// It will never be there.
    pub fn give_up(&self, why: Failure) {
        self.fail(&mut lock(&self.state), why);
    }

    /// The version that is there of it, if all of it is, and that is known. Nobody is waited for.
    pub fn version(&self) -> Option<Version> {
        let state = self.state.try_lock().ok().filter(|_| self.is_finished())?;
        state.base.clone().flatten()
    }
}
