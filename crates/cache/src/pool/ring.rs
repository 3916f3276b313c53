//! One thread that has the system read what is to be read ahead, many requests at once (io_uring), in
//! place of many threads that wait for one each: nobody is woken for each of them, and what comes
//! while it speaks with the manager is told at once.
//!
//! ```text
//! add --fetches--> begin what there is --> tell what came --> wait --> take what came, and again
//! ```
//!
//! What came is told after the next reads have begun, so that the device has something to do
//! meanwhile. What the system does not read whole, and what lies in no file that it can read so,
//! threads read.

use std::collections::VecDeque;
use std::io;
use std::iter;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use foresee_manager::{Class, FetchId};

use super::bell::Bell;
use super::fetch::{Done, Fetch};
use super::flights::Flights;
use super::turns::Turns;
use super::workers::STACK_BYTES;

#[derive(Default)]
struct Queue {
    fetches: Turns<Fetch>,
    /// What of them the thread has taken and neither read nor referred, and how urgent it is by now.
    in_hand: Vec<(FetchId, Class)>,
    /// The thread waits, or is about to: it is to be called.
    sleeps: bool,
    closing: bool,
}

impl Queue {
    /// Whose turn it is, which the thread has in hand from now on.
    fn take(&mut self) -> Option<Fetch> {
        let (fetch, class) = self.fetches.pop()?;
        self.in_hand.push((fetch.fetch, class));
        Some(fetch)
    }

    /// A part of this fetch is out of its hands; how urgent it is.
    fn let_go(&mut self, fetch: FetchId) -> Class {
        let at = self.in_hand.iter().position(|it| it.0 == fetch);
        at.map_or(Class::Demand, |at| self.in_hand.swap_remove(at).1)
    }
}

/// What the thread is given, and calls.
pub struct Ring {
    queue: Mutex<Queue>,
    bell: Arc<Bell>,
}

impl Ring {
    /// Starts the thread, for so many reads at once: `report` is told what came, `refer` gets what
    /// is to be read by others, as urgently as it was added or is waited for by now. While it is
    /// called, nothing can be added.
    ///
    /// # Errors
    /// If the kernel has no io_uring, or forbids it; if there can be no thread.
    pub fn start(
        reads_max: usize,
        report: impl Fn(&mut dyn Iterator<Item = Done>) + Send + 'static,
        refer: impl Fn(Fetch, Class) + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let ring = Arc::new(Ring { queue: Mutex::default(), bell: Arc::new(Bell::new()?) });
        let own = Arc::clone(&ring);
        let (sender, receiver) = sync_channel(1);
        let work = move || match Flights::new(reads_max, Arc::clone(&own.bell)) {
            Ok(flights) => {
                let _ = sender.send(Ok(()));
                own.work(flights, &report, &refer);
            }
            Err(error) => _ = sender.send(Err(error)),
        };
        thread::Builder::new().name("foresee".into()).stack_size(STACK_BYTES).spawn(work)?;
        receiver.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(ring)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the thread waits for.
    fn change(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = self.lock();
        change(&mut queue);
        let sleeps = mem::take(&mut queue.sleeps);
        drop(queue);
        if sleeps {
            self.bell.ring();
        }
    }

    /// Adds a fetch.
    pub fn add(&self, fetch: Fetch, class: Class) {
        self.change(|queue| queue.fetches.push(fetch, class));
    }

    /// A reader waits for it.
    pub fn hurry(&self, fetch: FetchId) {
        let mut queue = self.lock();
        queue.fetches.hurry(|it| it.fetch == fetch);
        // It may be referred yet.
        queue.in_hand.iter_mut().filter(|it| it.0 == fetch).for_each(|it| it.1 = Class::Demand);
    }

    /// Forgets what was not begun, and ends the thread once what was is over.
    pub fn close(&self) {
        let mut forgotten = Turns::default();
        self.change(|queue| {
            queue.closing = true;
            mem::swap(&mut queue.fetches, &mut forgotten);
        });
    }

    fn work(
        &self,
        mut flights: Flights,
        report: &dyn Fn(&mut dyn Iterator<Item = Done>),
        refer: &dyn Fn(Fetch, Class),
    ) {
        let (mut next, mut done, mut refused) = (Vec::new(), VecDeque::new(), Vec::new());
        loop {
            let mut queue = self.lock();
            // What came since, and is not told yet.
            for came in &done {
                if let Done::Fetched(fetch, ..) = came {
                    queue.let_go(*fetch);
                }
            }
            if queue.closing && flights.is_empty() && done.is_empty() {
                return;
            }
            next.extend((0..flights.room()).map_while(|_| queue.take()));
            queue.sleeps = done.is_empty();
            drop(queue);
            refused.extend(next.drain(..).filter_map(|fetch| flights.prepare(fetch)));
            // What is referred leaves its room to what is still queued, for which nobody calls any more.
            let has_room = !refused.is_empty();
            if has_room {
                // Under the lock: who hurries one of them finds it here, or where it is referred to.
                let mut queue = self.lock();
                for fetch in refused.drain(..) {
                    let class = queue.let_go(fetch.fetch);
                    refer(fetch, class);
                }
            }
            if done.is_empty() && !has_room {
                flights.wait();
                flights.take_done(&mut done, &mut refused);
            } else {
                flights.submit();
                // As a worker, it outlives what panics in what it calls, and tells the rest.
                while let Some(first) = done.pop_front() {
                    let mut told = iter::once(first).chain(iter::from_fn(|| done.pop_front()));
                    let _ = catch_unwind(AssertUnwindSafe(|| report(&mut told)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::io::{IoSliceMut, Write, pipe};
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;
    use std::sync::Weak;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use foresee_store::{Error, Memory as Bytes, Object, Version};

    use super::super::memory::Memory;
    use super::super::objects::Origin;
    use super::*;

    const FRAME_BYTES: usize = 4096;
    const SIZE: u64 = 5 * FRAME_BYTES as u64 - 7;
    const AWAITED: Duration = Duration::from_secs(60);

    /// An object of some file, if of any, which nobody else reads.
    struct InFile(Option<File>, Version);

    impl Object for InFile {
        fn size(&self) -> u64 {
            SIZE
        }

        fn version(&self) -> &Version {
            &self.1
        }

        fn file(&self) -> Option<&File> {
            self.0.as_ref()
        }

        fn read(&self, _: u64, _: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
            unreachable!("the system reads it")
        }
    }

    fn in_file(file: File) -> Arc<dyn Object> {
        let version = Version::from(&file.metadata().unwrap());
        Arc::new(InFile(Some(file), version))
    }

    /// A file of so many pages, of which the system has the bytes.
    fn written(name: &str, pages: usize) -> (PathBuf, Arc<dyn Object>) {
        let path = std::env::temp_dir().join(format!("foresee-ring-{name}-{}", std::process::id()));
        fs::write(&path, vec![7; pages * FRAME_BYTES]).unwrap();
        let object = in_file(File::open(&path).unwrap());
        (path, object)
    }

    fn fetch(id: u64, object: Option<Arc<dyn Object>>, offset: u64, frames: Vec<u32>, memory: &Arc<Memory>) -> Fetch {
        let version = object.as_ref().map_or(Version::Tag("none".into()), |it| it.version().clone());
        let origin = Origin { store: Arc::new(Bytes::default()), name: "a".into(), object, version, size: SIZE };
        let (fetch, part, memory) = (FetchId(id), 0..frames.len(), Arc::clone(memory));
        Fetch { fetch, part, origin: Ok(origin), offset, frames, memory }
    }

    type Came = (u64, Result<(), Error>);
    type Referred = (u64, Class);

    /// Whether what others hold as well is gone within some time.
    fn goes<T>(weak: &Weak<T>, most: usize, within: Duration) -> bool {
        let begun = Instant::now();
        while weak.strong_count() > most && begun.elapsed() < within {
            sleep(Duration::from_millis(1));
        }
        weak.strong_count() <= most
    }

    /// A ring, with what it says came and what it refers; None where there can be none.
    fn started(reads_max: usize) -> Option<(Arc<Ring>, Receiver<Came>, Receiver<Referred>)> {
        let ((report, reported), (refer, referred)) = (channel(), channel());
        let report = move |done: &mut dyn Iterator<Item = Done>| {
            done.for_each(|done| match done {
                Done::Fetched(fetch, _, result, _) => _ = report.send((fetch.0, result)),
                _ => unreachable!("it fetches"),
            });
        };
        let ring = Ring::start(reads_max, report, move |fetch, class| _ = refer.send((fetch.fetch.0, class)));
        match ring {
            Ok(ring) => Some((ring, reported, referred)),
            Err(error) => {
                println!("skipped: no io_uring here: {error}");
                None
            }
        }
    }

    #[test]
    fn what_the_system_does_not_read_whole_is_referred() {
        let Some((ring, reported, referred)) = started(2) else { return };
        let path = std::env::temp_dir().join(format!("foresee-ring-{}", std::process::id()));
        let bytes: Vec<u8> = (0..SIZE).map(|at| (at / 11) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let memory = Arc::new(Memory::new(16, FRAME_BYTES).unwrap());
        let readable = in_file(File::open(&path).unwrap());
        let unreadable = in_file(OpenOptions::new().write(true).open(&path).unwrap());
        let cut = in_file(File::open(&path).unwrap());
        let page = FRAME_BYTES as u64;
        let fetch = |id, object: Option<&Arc<dyn Object>>, offset, frames| {
            fetch(id, object.map(Arc::clone), offset, frames, &memory)
        };
        ring.add(fetch(0, Some(&readable), page, vec![3, 1]), Class::Hinted);
        ring.add(fetch(1, Some(&readable), 3 * page, vec![0, 2, 5]), Class::Hinted);
        ring.add(fetch(2, Some(&unreadable), 0, vec![6]), Class::Hinted);
        ring.add(fetch(3, None, 0, vec![7]), Class::Hinted);
        ring.add(Fetch { origin: Err(Error::Changed), ..fetch(4, None, 0, vec![8]) }, Class::Hinted);
        // What it holds is not what it was when it was opened.
        let mut other = fetch(5, Some(&readable), 0, vec![9]);
        other.origin.as_mut().unwrap().version = Version::Stamp([0; 5]);
        ring.add(other, Class::Hinted);
        let mut left: Vec<_> = (0..3).map_while(|_| referred.recv_timeout(AWAITED).ok()).collect();
        left.sort_unstable();
        let mut came: Vec<_> = (0..3).map_while(|_| reported.recv_timeout(AWAITED).ok()).collect();
        came.sort_unstable_by_key(|(fetch, _)| *fetch);
        left.extend(referred.try_iter());
        assert!(matches!(came[..], [(0, Ok(())), (1, Ok(())), (5, Err(Error::Changed))]), "{came:?}, {left:?}");
        assert_eq!(left, [2, 3, 4].map(|id| (id, Class::Hinted)));
        for (frame, index) in [(3, 1), (1, 2), (0, 3), (2, 4)] {
            // SAFETY: what was told to have come is written to no more.
            let found = unsafe { memory.bytes(frame) };
            let expected = &bytes[index * FRAME_BYTES..bytes.len().min((index + 1) * FRAME_BYTES)];
            assert_eq!(&found[..expected.len()], expected, "page {index}");
        }
        // A file that ends before what is wanted of it.
        OpenOptions::new().write(true).open(&path).unwrap().set_len(page).unwrap();
        ring.add(fetch(6, Some(&cut), 0, vec![10, 11]), Class::Hinted);
        assert_eq!(referred.recv_timeout(AWAITED), Ok((6, Class::Hinted)));
        fs::remove_file(&path).unwrap();
        ring.close();
    }

    #[test]
    fn what_is_referred_takes_no_room() {
        let Some((ring, reported, referred)) = started(1) else { return };
        let (path, readable) = written("room", 1);
        let memory = Arc::new(Memory::new(2, FRAME_BYTES).unwrap());
        // As one that is read past the page cache no more, since a read of it could not be.
        let in_none: Arc<dyn Object> = Arc::new(InFile(None, Version::Tag("a".into())));
        for id in 0..3 {
            ring.add(fetch(id, Some(Arc::clone(&in_none)), 0, vec![0], &memory), Class::Hinted);
            assert_eq!(referred.recv_timeout(AWAITED), Ok((id, Class::Hinted)), "there is no room");
        }
        ring.add(fetch(3, Some(readable), 0, vec![1], &memory), Class::Hinted);
        let came = reported.recv_timeout(AWAITED);
        fs::remove_file(path).unwrap();
        assert!(matches!(came, Ok((3, Ok(())))), "{came:?}");
        let weak = Arc::downgrade(&ring);
        ring.close();
        drop(ring);
        assert!(goes(&weak, 0, AWAITED), "its thread does not end");
    }

    /// An object in no file, which says that it was asked for one and answers when it is let.
    struct Asked(Mutex<(Sender<()>, Receiver<()>)>);

    impl Asked {
        fn object() -> (Arc<dyn Object>, Receiver<()>, Sender<()>) {
            let ((says, said), (go, goes)) = (channel(), channel());
            (Arc::new(Asked(Mutex::new((says, goes)))), said, go)
        }
    }

    impl Object for Asked {
        fn size(&self) -> u64 {
            SIZE
        }

        fn version(&self) -> &Version {
            const { &Version::Stamp([0; 5]) }
        }

        fn file(&self) -> Option<&File> {
            let it = self.0.lock().unwrap();
            let _ = it.0.send(());
            let _ = it.1.recv_timeout(AWAITED);
            None
        }

        fn read(&self, _: u64, _: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
            unreachable!("it is referred")
        }
    }

    #[test]
    fn what_is_queued_behind_what_is_referred_comes_as_well_and_is_as_urgent_as_it_was() {
        let Some((ring, _reported, referred)) = started(1) else { return };
        let memory = Arc::new(Memory::new(1, FRAME_BYTES).unwrap());
        let (first, asked, go) = Asked::object();
        ring.add(fetch(0, Some(first), 0, vec![0], &memory), Class::Hinted);
        // All others are queued by the time that the first is referred.
        asked.recv_timeout(AWAITED).unwrap();
        for (id, class) in [(1, Class::Guessed), (2, Class::Hinted), (3, Class::Demand)] {
            ring.add(fetch(id, None, 0, vec![0], &memory), class);
        }
        go.send(()).unwrap();
        let all: Vec<_> = (0..4).map_while(|_| referred.recv_timeout(AWAITED).ok()).collect();
        ring.close();
        assert_eq!(all, [(0, Class::Hinted), (3, Class::Demand), (2, Class::Hinted), (1, Class::Guessed)]);
    }

    #[test]
    fn what_is_hurried_while_the_thread_has_it_is_referred_as_urgent() {
        let Some((ring, _reported, referred)) = started(1) else { return };
        let memory = Arc::new(Memory::new(2, FRAME_BYTES).unwrap());
        let (in_none, asked, go) = Asked::object();
        ring.add(fetch(0, Some(in_none), 0, vec![0], &memory), Class::Hinted);
        asked.recv_timeout(AWAITED).unwrap();
        ring.hurry(FetchId(0));
        go.send(()).unwrap();
        let in_hand = referred.recv_timeout(AWAITED);
        // The system is at it, and does not read it whole.
        let (reader, writer) = pipe().unwrap();
        let ends = in_file(File::from(OwnedFd::from(reader)));
        ring.add(fetch(1, Some(ends), 0, vec![1], &memory), Class::Guessed);
        ring.hurry(FetchId(1));
        drop(writer);
        let begun = referred.recv_timeout(AWAITED);
        let left = ring.lock().in_hand.len();
        ring.close();
        assert_eq!((in_hand, begun, left), (Ok((0, Class::Demand)), Ok((1, Class::Demand)), 0));
    }

    #[test]
    fn what_is_waited_for_by_now_comes_before_what_is_not() {
        let Some((ring, reported, _referred)) = started(1) else { return };
        let (path, readable) = written("hurried", 4);
        let memory = Arc::new(Memory::new(5, FRAME_BYTES).unwrap());
        let (reader, mut writer) = pipe().unwrap();
        let held_up = in_file(File::from(OwnedFd::from(reader)));
        ring.add(fetch(0, Some(held_up), 0, vec![0], &memory), Class::Hinted);
        // Whether it is begun by now or not, it is first.
        let add = |id, class| ring.add(fetch(id, Some(Arc::clone(&readable)), 0, vec![id as u32], &memory), class);
        (1..4).for_each(|id| add(id, Class::Hinted));
        ring.hurry(FetchId(0));
        ring.hurry(FetchId(3));
        add(4, Class::Demand);
        writer.write_all(&[1; FRAME_BYTES]).unwrap();
        let came: Vec<_> = (0..5).map_while(|_| reported.recv_timeout(AWAITED).ok()).map(|(fetch, _)| fetch).collect();
        ring.close();
        fs::remove_file(path).unwrap();
        assert_eq!(came, [0, 3, 4, 1, 2]);
    }

    /// An object whose end is a program's own affair.
    struct PanicsAsItGoes(InFile);

    impl Object for PanicsAsItGoes {
        fn size(&self) -> u64 {
            self.0.size()
        }

        fn version(&self) -> &Version {
            self.0.version()
        }

        fn file(&self) -> Option<&File> {
            self.0.file()
        }

        fn read(&self, _: u64, _: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
            unreachable!("the system reads it")
        }
    }

    impl Drop for PanicsAsItGoes {
        fn drop(&mut self) {
            panic!("as this test has it");
        }
    }

    #[test]
    fn what_panics_as_it_goes_is_told_and_holds_up_nothing() {
        let Some((ring, reported, _referred)) = started(2) else { return };
        let (path, readable) = written("goes", 1);
        let memory = Arc::new(Memory::new(2, FRAME_BYTES).unwrap());
        let own = InFile(Some(File::open(&path).unwrap()), readable.version().clone());
        ring.add(fetch(0, Some(Arc::new(PanicsAsItGoes(own))), 0, vec![0], &memory), Class::Hinted);
        let first = reported.recv_timeout(AWAITED);
        ring.add(fetch(1, Some(readable), 0, vec![1], &memory), Class::Hinted);
        let second = reported.recv_timeout(AWAITED);
        ring.close();
        fs::remove_file(path).unwrap();
        assert!(matches!((&first, &second), (Ok((0, Ok(()))), Ok((1, Ok(()))))), "{first:?}, {second:?}");
    }

    #[test]
    fn what_panics_as_it_is_told_keeps_nothing_else_from_it() {
        const READS: usize = 8;
        let (path, readable) = written("told", READS);
        let memory = Arc::new(Memory::new(READS, FRAME_BYTES).unwrap());
        let ((sender, told), (go, goes)) = (channel(), channel());
        let report = move |done: &mut dyn Iterator<Item = Done>| {
            for done in done {
                let Done::Fetched(FetchId(id), ..) = done else { unreachable!("it fetches") };
                sender.send(id).unwrap();
                // What is added meanwhile comes at once, and is told together.
                if id == 0 {
                    goes.recv().unwrap();
                }
                assert!(id % 3 > 0, "as this test has it");
            }
        };
        let Ok(ring) = Ring::start(READS, report, |_, _| ()) else { return println!("skipped: no io_uring here") };
        let add = |id: usize| {
            let (offset, frames) = ((id * FRAME_BYTES) as u64, vec![id as u32]);
            ring.add(fetch(id as u64, Some(Arc::clone(&readable)), offset, frames, &memory), Class::Hinted);
        };
        add(0);
        let first = told.recv_timeout(AWAITED);
        (1..READS).for_each(add);
        go.send(()).unwrap();
        let mut all: Vec<_> =
            first.into_iter().chain((1..READS).map_while(|_| told.recv_timeout(AWAITED).ok())).collect();
        all.sort_unstable();
        ring.close();
        fs::remove_file(path).unwrap();
        assert_eq!(all, (0..READS as u64).collect::<Vec<_>>());
    }

    #[test]
    fn memory_is_kept_until_the_system_has_done_with_it() {
        let Some((ring, reported, _referred)) = started(1) else { return };
        let memory = Arc::new(Memory::new(2, FRAME_BYTES).unwrap());
        let (reader, mut writer) = pipe().unwrap();
        let object = in_file(File::from(OwnedFd::from(reader)));
        ring.add(fetch(0, Some(Arc::clone(&object)), 0, vec![0], &memory), Class::Hinted);
        // There is no room for it, and it is forgotten.
        ring.add(fetch(1, Some(object), 0, vec![1], &memory), Class::Hinted);
        let weak = Arc::downgrade(&memory);
        // Once it reads the first.
        sleep(Duration::from_millis(50));
        ring.close();
        drop((ring, memory));
        assert!(goes(&weak, 1, AWAITED), "what was not begun is kept");
        assert!(!goes(&weak, 0, Duration::from_millis(50)), "the system reads into memory that is gone");
        writer.write_all(&[1; FRAME_BYTES]).unwrap();
        assert!(goes(&weak, 0, AWAITED), "it does not end");
        assert!(reported.recv_timeout(AWAITED).is_ok_and(|(fetch, _)| fetch == 0), "it was not told of");
    }
}
