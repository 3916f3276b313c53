//! The page-cache host is a host as all are: on files of a real file system, by io_uring and by
//! threads.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use foresee_driver::conformance::{self, Stand};
use foresee_driver::{Driver, Host, Tap};
use foresee_manager::{
    Block, Class, Config, DeviceId, DeviceLimits, Event, FetchId, FileId, Order, ReaderId, Source, Want,
};
use foresee_run::host::{BLOCK_BYTES, Descriptor, Files, PageCache, Report, drop_pages, resident_runs};
use foresee_run::names::{Identity, Names};

/// Files that no program has open.
struct Unopened<'a>(&'a Names);

impl Files for Unopened<'_> {
    fn path(&self, file: FileId) -> &Path {
        self.0.path(file)
    }

    fn identity(&self, file: FileId) -> Option<Identity> {
        self.0.identity(file)
    }

    fn descriptor(&self, _: FileId) -> Option<Descriptor> {
        None
    }
}

/// Tests run beside each other.
static NEXT: AtomicU32 = AtomicU32::new(0);

struct Real<const URING: bool> {
    driver: Driver<'static, PageCache>,
    names: Names,
    directory: PathBuf,
    spoiled: bool,
}

impl<const URING: bool> Drop for Real<URING> {
    fn drop(&mut self) {
        // What is left behind is in a directory that is cleared with the build.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A file of so many blocks, none of them in memory.
fn write_cold(path: &Path, byte: u8, blocks: u64) {
    fs::write(path, vec![byte; (blocks * BLOCK_BYTES) as usize]).unwrap();
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    drop_pages(&file, 0, 0);
}

impl<const URING: bool> Stand for Real<URING> {
    type Host = PageCache;

    fn new(files: &[Option<u64>], spoiled: bool, config: &Config, tap: Box<Tap<'static>>) -> Self {
        let directory =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("conformance-{}", NEXT.fetch_add(1, Relaxed)));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        let mut names = Names::default();
        for (number, blocks) in files.iter().enumerate() {
            let path = directory.join(number.to_string());
            names.of_path(&path).unwrap();
            if let Some(blocks) = blocks {
                write_cold(&path, number as u8, *blocks);
            }
        }
        let driver = Driver::new(config, PageCache::new(URING, None).unwrap(), Some(tap));
        Real { driver, names, directory, spoiled }
    }

    fn driver(&mut self) -> &mut Driver<'static, PageCache> {
        &mut self.driver
    }

    fn opened(&mut self, file: FileId) -> Event {
        let path = self.names.path(file).to_owned();
        let device = self.driver.host.device(fs::metadata(&self.directory).unwrap().dev(), &path);
        let metadata = fs::metadata(&path);
        if let Ok(metadata) = &metadata {
            self.names.identify(file, (metadata.dev(), metadata.ino()));
        }
        // A spoiled one was there when it was looked up.
        let blocks = metadata.map_or(1, |metadata| metadata.len().div_ceil(BLOCK_BYTES));
        Event::FileKnown { file, device, blocks, place: 0 }
    }

    fn replace(&mut self, file: FileId, like: FileId) -> FileId {
        let path = self.names.path(file).to_owned();
        let blocks = fs::metadata(&path).unwrap().len() / BLOCK_BYTES;
        let new = self.directory.join("new");
        write_cold(&new, like.0 as u8, blocks);
        fs::rename(&new, &path).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert!(self.names.identify(file, (metadata.dev(), metadata.ino())));
        self.driver.tell(Event::FileChanged { file, blocks }, |_, _| {});
        self.driver.host.forget(file);
        file
    }

    fn step(&mut self) {
        self.driver.host.submit(&Unopened(&self.names)).unwrap();
        self.driver.host.wait(&[], Duration::from_millis(2));
        let mut reports = Vec::new();
        self.driver.host.collect(&mut self.names, &mut reports);
        for report in reports {
            let Report::Event(event) = report else { continue };
            if let (true, Event::FileKnown { file, .. }) = (self.spoiled, event) {
                let _ = fs::remove_file(self.names.path(file));
            }
            self.driver.tell(event, |_, _| {});
        }
    }

    fn is_here(&self, Block { file, index }: Block) -> Option<bool> {
        let file = File::open(self.names.path(file)).ok()?;
        let runs = resident_runs(&file, index * BLOCK_BYTES, BLOCK_BYTES).ok()?;
        Some(!runs.is_empty())
    }
}

#[test]
fn by_io_uring() {
    conformance::check::<Real<true>>();
}

#[test]
fn by_threads() {
    conformance::check::<Real<false>>();
}

/// How often the file was opened and closed since this was called.
fn watched(path: &Path) -> impl FnMut() -> (usize, usize) + use<> {
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: no pointers; the result is checked.
    let watch = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
    assert!(watch >= 0);
    // SAFETY: the descriptor is new and ours.
    let mut events = unsafe { File::from_raw_fd(watch) };
    // SAFETY: a C string.
    assert!(unsafe { libc::inotify_add_watch(watch, name.as_ptr(), libc::IN_OPEN | libc::IN_CLOSE_NOWRITE) } >= 0);
    let mut counts = (0, 0);
    move || {
        let mut buffer = [0; 4096];
        while let Ok(bytes) = events.read(&mut buffer) {
            // Of a file that is watched itself events have no names: each is four words, and the second is what
            // happened.
            for event in buffer[..bytes].chunks_exact(16) {
                let what = u32::from_ne_bytes(event[4..8].try_into().unwrap());
                counts.0 += usize::from(what & libc::IN_OPEN != 0);
                counts.1 += usize::from(what & libc::IN_CLOSE_NOWRITE != 0);
            }
        }
        counts
    }
}

/// A daemon hears of each close, and may ask a server then.
#[test]
fn a_file_is_open_for_as_long_as_one_fetch_follows_another() {
    let device = DeviceLimits { outstanding_max: 1, cluster_blocks_max: 1, ..DeviceLimits::default() };
    let config = Config { device, ..Config::new(64, "tip1:unread_share=1".parse().unwrap()) };
    let mut real = Real::<true>::new(&[Some(32)], false, &config, Box::new(|_, _, _, _| {}));
    let mut counts = watched(real.names.path(FileId(0)));
    let (reader, source, file) = (ReaderId(1), Source::Library, FileId(0));
    real.driver.tell(Event::Hint { reader, source, file, want: Want::All }, |_, _| {});
    let begun = Instant::now();
    let is_here = |real: &Real<true>| real.driver.manager().is_present(Block { file, index: 31 });
    while !(is_here(&real) && counts().0 == counts().1) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", counts());
        real.step();
    }
    assert_eq!(real.driver.manager().statistics().ahead_fetches, 32);
    assert_eq!(counts(), (1, 1), "opened and closed");
}

/// The kernel passes over what is not on disk yet, and over what is mapped, which a test can tell
/// when to end.
#[test]
fn what_stayed_goes_as_soon_as_it_can() {
    let config = Config::new(64, "lru".parse().unwrap());
    let mut real = Real::<true>::new(&[Some(1)], false, &config, Box::new(|_, _, _, _| {}));
    let file = FileId(0);
    let event = real.opened(file);
    real.driver.tell(event, |_, _| {});
    let opened = File::open(real.names.path(file)).unwrap();
    let (length, protection, flags) = (BLOCK_BYTES as usize, libc::PROT_READ, libc::MAP_SHARED | libc::MAP_POPULATE);
    // SAFETY: a new mapping at an address of the kernel's choice; it is not dereferenced.
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, opened.as_raw_fd(), 0) };
    assert_ne!(mapped, libc::MAP_FAILED);
    real.driver.host.carry_out(Order::Drop { file, first: 0, count: 1 });
    let is_here = |real: &Real<true>| real.is_here(Block { file, index: 0 }).unwrap();
    for _ in 0..5 {
        real.step();
    }
    assert!(is_here(&real), "the kernel leaves what is mapped");
    // SAFETY: the mapping is ours, and nothing refers to it.
    unsafe { libc::munmap(mapped, length) };
    let begun = Instant::now();
    while is_here(&real) {
        assert!(begun.elapsed() < Duration::from_secs(30));
        real.step();
    }
}

/// What there is no room for is not in the kernel's memory either.
#[test]
fn what_a_fetch_passes_over_is_not_brought() {
    fn check<const URING: bool>() {
        let config = Config::new(64, "lru".parse().unwrap());
        let mut real = Real::<URING>::new(&[Some(64)], false, &config, Box::new(|_, _, _, _| {}));
        let file = FileId(0);
        let event = real.opened(file);
        real.driver.tell(event, |_, _| {});
        // Two of them are brought by the first fetch, and stay.
        let (class, device) = (Class::Hinted, DeviceId(0));
        let passed_over = [[].as_slice(), &[(2, 3), (9, 1), (20, 30)], &[(8, 2)]];
        let fetched = [(9, 1), (0, 64), (0, 12)];
        for (number, (passed_over, (first, count))) in passed_over.into_iter().zip(fetched).enumerate() {
            for &(first, count) in passed_over {
                real.driver.host.carry_out(Order::PassOver { file, first, count });
            }
            let fetch = FetchId(number as u64);
            real.driver.host.carry_out(Order::Fetch { fetch, device, file, first, count, class });
            let begun = Instant::now();
            let mut reports = Vec::new();
            while reports.is_empty() {
                assert!(begun.elapsed() < Duration::from_secs(30));
                real.driver.host.submit(&Unopened(&real.names)).unwrap();
                real.driver.host.wait(&[], Duration::from_millis(2));
                real.driver.host.collect(&mut real.names, &mut reports);
            }
            let [Report::Event(Event::FetchDone { fetch: done })] = reports[..] else { panic!("{reports:?}") };
            assert_eq!(done, fetch);
        }
        // What goes just then is not kept by that.
        real.driver.host.carry_out(Order::Drop { file, first: 8, count: 1 });
        real.driver.host.carry_out(Order::PassOver { file, first: 8, count: 2 });
        real.driver.host.carry_out(Order::Fetch { fetch: FetchId(9), device, file, first: 0, count: 12, class });
        let begun = Instant::now();
        while real.is_here(Block { file, index: 8 }).unwrap() {
            assert!(begun.elapsed() < Duration::from_secs(30));
            real.step();
        }
        let here: Vec<u64> = (0..64).filter(|&index| real.is_here(Block { file, index }).unwrap()).collect();
        assert_eq!(here, [0..8, 9..20, 50..64].into_iter().flatten().collect::<Vec<_>>());
    }
    check::<true>();
    check::<false>();
}
