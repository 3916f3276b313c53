//! What programs say they will read: each process for itself, until it withdraws that or ends.
//!
//! A process that speaks is a reader of the cache of its own, with a plan. Whose a read of a file
//! is that somebody spoke of: the process's own, if it did; else that of the process that began to
//! speak last of those who did (a parent speaks, and its children read).

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread;

use foresee::{Cache, File, Plan};
use foresee_run::pool::lock;
use foresee_run::process_stat::process_of;

use crate::failure::Failure;
use crate::processes::Process;

/// Processes that have spoken and not ended, at most: a thread waits for the end of each.
const PROCESSES_MAX: usize = 256;
/// It does nothing else.
const STACK_BYTES: usize = 64 << 10;
/// Files that one of them spoke of, held for its reads.
const FILES_MAX: usize = 1 << 16;
/// Hints of one of them that can be repeated.
const HINTS_MAX: usize = 1 << 20;

/// What is left to read.
#[derive(Default)]
struct Spoken {
    plan: Option<Plan>,
    /// How many ranges each hint came to, the last one last.
    hints: VecDeque<u32>,
}

/// A process that speaks.
struct Speaker {
    process: u32,
    reader: Cache,
    spoken: Mutex<Spoken>,
    /// As it reads them, by number.
    files: RwLock<HashMap<u64, File>>,
}

/// All of them, in the order in which they began.
pub struct Disclosed {
    cache: Cache,
    speakers: RwLock<Vec<Arc<Speaker>>>,
    /// Whether there are any.
    is_any: AtomicBool,
}

impl Speaker {
    fn hint(&self, number: u64, file: &File, ranges: &[Range<u64>]) -> Result<(), Failure> {
        let file = file.read_by(&self.reader)?;
        let mut spoken = lock(&self.spoken);
        let Spoken { plan, hints } = &mut *spoken;
        let plan = plan.get_or_insert_with(|| self.reader.plan());
        let within = ranges.iter().map(|range| range.start..range.end.min(file.len()));
        let within: Vec<_> = within.filter(|range| range.start < range.end).collect();
        within.iter().try_for_each(|range| plan.range(&file, range.clone()).map(drop))?;
        if hints.len() >= HINTS_MAX {
            hints.pop_front();
        }
        hints.push_back(within.len() as u32);
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        if files.len() >= FILES_MAX {
            files.clear();
        }
        files.insert(number, file);
        Ok(())
    }

    fn repeat(&self, hints: u64, passes: u64) {
        let mut spoken = lock(&self.spoken);
        let last = spoken.hints.iter().rev().take(usize::try_from(hints).unwrap_or(usize::MAX));
        let ranges = last.map(|&ranges| u64::from(ranges)).sum();
        let passes = if passes == 0 { u64::MAX } else { passes };
        spoken.plan.iter_mut().for_each(|plan| _ = plan.repeat(ranges, passes));
    }

    fn withdraw(&self) {
        let withdrawn = std::mem::take(&mut *lock(&self.spoken));
        let files = std::mem::take(&mut *self.files.write().unwrap_or_else(PoisonError::into_inner));
        drop((withdrawn, files));
    }

    fn file(&self, number: u64) -> Option<File> {
        self.files.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }
}

impl Disclosed {
    /// Nobody has spoken yet of what this cache has.
    pub fn new(cache: Cache) -> Arc<Self> {
        Arc::new(Disclosed { cache, speakers: RwLock::default(), is_any: AtomicBool::new(false) })
    }

    fn speakers(&self) -> RwLockReadGuard<'_, Vec<Arc<Speaker>>> {
        self.speakers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn speaker(&self, process: u32) -> Option<Arc<Speaker>> {
        self.speakers().iter().find(|it| it.process == process).cloned()
    }

    /// The one that this thread's process is, from now on if it has not spoken before.
    fn begin(self: &Arc<Self>, thread: u32) -> Result<Arc<Speaker>, Failure> {
        // Of a process that cannot be seen from here the end could not be, either.
        let process = process_of(thread).ok_or_else(|| Failure::of(libc::ESRCH))?;
        if let Some(speaker) = self.speaker(process) {
            return Ok(speaker);
        }
        let ends = Process::of(process)?;
        let mut speakers = self.speakers.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(speaker) = speakers.iter().find(|it| it.process == process) {
            return Ok(Arc::clone(speaker));
        }
        if speakers.len() >= PROCESSES_MAX {
            return Err(Failure::of(libc::EUSERS));
        }
        self.await_end(process, ends)?;
        let (spoken, files) = (Mutex::default(), RwLock::default());
        let speaker = Arc::new(Speaker { process, reader: self.cache.reader(), spoken, files });
        speakers.push(Arc::clone(&speaker));
        self.is_any.store(true, Relaxed);
        Ok(speaker)
    }

    /// What it said goes with it.
    fn await_end(self: &Arc<Self>, process: u32, ends: Process) -> io::Result<()> {
        let all = Arc::downgrade(self);
        let wait = move || {
            ends.wait();
            all.upgrade().into_iter().for_each(|all: Arc<Self>| all.end(process));
        };
        thread::Builder::new().name("foresee".into()).stack_size(STACK_BYTES).spawn(wait).map(drop)
    }

    fn end(&self, process: u32) {
        let mut speakers = self.speakers.write().unwrap_or_else(PoisonError::into_inner);
        let ended = speakers.iter().position(|it| it.process == process).map(|at| speakers.remove(at));
        self.is_any.store(!speakers.is_empty(), Relaxed);
        drop(speakers);
        drop(ended);
    }

    /// This thread's process will read these ranges of the file of this number, in this order,
    /// after all that it said before.
    pub fn hint(self: &Arc<Self>, thread: u32, number: u64, file: &File, ranges: &[Range<u64>]) -> Result<(), Failure> {
        self.begin(thread)?.hint(number, file, ranges)
    }

    /// It will read what its last hints came to so many times in all; 0 times are without end.
    pub fn repeat(&self, thread: u32, hints: u64, passes: u64) {
        let speaker = process_of(thread).and_then(|process| self.speaker(process));
        speaker.into_iter().for_each(|speaker| speaker.repeat(hints, passes));
    }

    /// It will not read what it has not read of that.
    pub fn withdraw(&self, thread: u32) {
        let speaker = process_of(thread).and_then(|process| self.speaker(process));
        speaker.into_iter().for_each(|speaker| speaker.withdraw());
    }

    /// The file of this number, if anybody spoke of it, as the one whose read by this thread that
    /// is.
    pub fn file(&self, thread: u32, number: u64) -> Option<File> {
        if !self.is_any.load(Relaxed) {
            return None;
        }
        let speakers = self.speakers();
        let mut found: Vec<_> = speakers.iter().filter_map(|it| Some((it.process, it.file(number)?))).collect();
        let is_own = |process: Option<u32>| found.iter().position(|(of, _)| Some(*of) == process);
        let own = if found.len() > 1 { is_own(process_of(thread)) } else { None };
        own.map(|at| found.swap_remove(at)).or_else(|| found.pop()).map(|(_, file)| file)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Child, Command};

    use foresee::store::{Memory, Store};

    use super::*;

    /// A process that does nothing.
    struct Idle(Child);

    impl Idle {
        fn new() -> Self {
            Idle(Command::new("sleep").arg("1000").spawn().unwrap())
        }
    }

    impl Drop for Idle {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    /// A cache that logs to this file, and a file of it.
    fn opened(log: &std::path::Path) -> (Cache, File) {
        let store = Memory::default();
        store.put("a", vec![7; 1 << 20]);
        let store: Arc<dyn Store> = Arc::new(store);
        let cache = Cache::builder().memory(4 << 20).store("memory", store).log(log).open().unwrap();
        let file = cache.open("memory://a").unwrap();
        (cache, file)
    }

    /// What the log says once this many readers have ended: it is whole when the last thread of the
    /// cache has let go of it, which may be one that tells what it fetched.
    fn whole(log: &std::path::Path, readers: usize) -> String {
        let begun = std::time::Instant::now();
        loop {
            let text = fs::read_to_string(log).unwrap();
            if text.matches(" reader-exited ").count() >= readers || begun.elapsed().as_secs() > 20 {
                return text;
            }
            thread::yield_now();
        }
    }

    fn log(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("foresee-disclosed-{name}-{}", std::process::id()))
    }

    #[test]
    fn what_a_process_says_is_its_own_and_ends_with_it() {
        let path = log("own");
        let (cache, file) = opened(&path);
        let disclosed = Disclosed::new(cache);
        let (one, other) = (Idle::new(), Idle::new());
        let of = |idle: &Idle, number| disclosed.file(idle.0.id(), number).is_some();
        disclosed.hint(one.0.id(), 5, &file, &[0..65_536, (1 << 20)..(1 << 21), 9..9]).unwrap();
        disclosed.hint(other.0.id(), 6, &file, &[0..u64::MAX, 9..9]).unwrap();
        disclosed.hint(other.0.id(), 5, &file, &[]).unwrap();
        disclosed.repeat(one.0.id(), 1, 3);
        disclosed.repeat(other.0.id(), 2, 0);
        let me = std::process::id();
        assert!(of(&one, 5) && of(&other, 5) && of(&one, 6) && !of(&one, 7) && disclosed.file(me, 5).is_some());
        disclosed.withdraw(other.0.id());
        assert!(of(&one, 5) && !of(&one, 6));
        drop(one);
        while disclosed.speakers().len() > 1 {
            thread::yield_now();
        }
        assert!(!of(&other, 5) && disclosed.is_any.load(Relaxed));
        drop(other);
        // Also by the thread that saw the end: the log is whole once the cache is gone.
        while disclosed.is_any.load(Relaxed) || Arc::strong_count(&disclosed) > 1 {
            thread::yield_now();
        }
        drop((file, disclosed));
        let text = whole(&path, 3);
        let lines = |word: &str| text.lines().filter(|it| it.contains(word)).count();
        assert_eq!((lines(" hint "), lines(" cancel "), lines(" reader-exited ")), (2, 2, 3), "{text}");
        let repeats: Vec<_> = text.lines().filter_map(|it| it.split_once("entries=")).map(|it| it.1).collect();
        assert_eq!(repeats, ["1 passes=3".to_owned(), format!("1 passes={}", u64::MAX)], "{text}");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn of_several_who_spoke_of_a_file_each_reads_as_itself() {
        let path = log("several");
        let (cache, file) = opened(&path);
        let disclosed = Disclosed::new(cache);
        let (one, other) = (Idle::new(), Idle::new());
        for idle in [&one, &other] {
            disclosed.hint(idle.0.id(), 5, &file, &[0..16_384, 9..9]).unwrap();
        }
        let mut bytes = [0; 4096];
        for process in [one.0.id(), other.0.id(), std::process::id()] {
            disclosed.file(process, 5).unwrap().read_at(&mut bytes, 0).unwrap();
        }
        drop((one, other, file));
        // The log is whole once the thread that saw their ends has let go of the cache, too.
        while disclosed.is_any.load(Relaxed) || Arc::strong_count(&disclosed) > 1 {
            thread::yield_now();
        }
        drop(disclosed);
        let text = whole(&path, 2);
        let readers: Vec<_> = text.lines().filter_map(|it| it.split_once(" reference reader=")).collect();
        let readers: Vec<_> = readers.iter().map(|it| &it.1[..1]).collect();
        assert_eq!(readers, ["1", "2", "2"], "{text}");
        fs::remove_file(path).unwrap();
    }
}
