//! The pool is a host as all are: over a store that threads read, and over files that the system reads
//! by itself, where it can.

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use foresee_driver::conformance::{self, Stand};
use foresee_driver::{Driver, Tap};
use foresee_manager::{Block, Config, DeviceId, Event, FileId};
use foresee_store::{Faults, Faulty, Local, Memory as Bytes, Store};

use super::devices::{Devices, StoreId};
use super::fetch::Done;
use super::host::PoolHost;
use super::memory::Memory;
use super::objects::Objects;
use super::opened::Opened;
use super::workers::Workers;

const FRAME_BYTES: usize = 4096;

struct Pooled<const IN_FILES: bool> {
    driver: Driver<'static, PoolHost>,
    store: Arc<dyn Store>,
    bytes: Bytes,
    files: Option<Files>,
    memory: Arc<Memory>,
    done: Receiver<Done>,
}

/// A folder, as long as it is needed.
struct Files(PathBuf);

impl Files {
    fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("foresee-pool-{}-{}", std::process::id(), MADE.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Files(folder)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn name(files: Option<&Files>, number: impl Display) -> String {
    files.map_or(number.to_string(), |files| format!("{}/{number}", files.0.display()))
}

/// As many blocks as this file has them.
fn content(file: FileId, blocks: u64) -> Vec<u8> {
    (0..blocks).flat_map(|index| [conformance::byte_of(Block { file, index }); FRAME_BYTES]).collect()
}

fn put(files: Option<&Files>, bytes: &Bytes, number: impl Display, content: Vec<u8>) {
    let name = name(files, number);
    match files {
        Some(_) => fs::write(name, content).unwrap(),
        None => bytes.put(&name, content),
    }
}

impl<const IN_FILES: bool> Stand for Pooled<IN_FILES> {
    type Host = PoolHost;

    fn new(files: &[Option<u64>], spoiled: bool, config: &Config, tap: Box<Tap<'static>>) -> Self {
        let (folder, bytes) = (IN_FILES.then(Files::new), Bytes::default());
        for (number, blocks) in files.iter().enumerate() {
            if let Some(blocks) = blocks {
                put(folder.as_ref(), &bytes, number, content(FileId(number as u32), *blocks));
            }
        }
        let faults = Faults { failed: if spoiled { 1000 } else { 0 }, late_us_max: 300, ..Faults::default() };
        let store: Arc<dyn Store> = match IN_FILES {
            true => Arc::new(Faulty::new(Local::direct(), 1, faults)),
            false => Arc::new(Faulty::new(bytes.clone(), 1, faults)),
        };
        let memory = Arc::new(Memory::new(config.capacity as usize, FRAME_BYTES).unwrap());
        let (report, done) = channel();
        let report = move |done: &mut dyn Iterator<Item = Done>| done.for_each(|it| _ = report.send(it));
        let make = move |threads_max| Workers::new(threads_max, report.clone());
        let stores = vec![("test".to_owned(), Arc::clone(&store))];
        let generating = make(1);
        let devices = Devices::new(stores, config.device.cluster_blocks_max, Box::new(make));
        let mut objects = Objects::new(devices, FRAME_BYTES as u64);
        for number in 0..files.len() {
            assert_eq!(objects.named(StoreId(0), &name(folder.as_ref(), number)).unwrap(), FileId(number as u32));
        }
        let host = PoolHost::new(Arc::clone(&memory), config.capacity as usize, objects, generating, None);
        Pooled { driver: Driver::new(config, host, Some(tap)), store, bytes, files: folder, memory, done }
    }

    fn driver(&mut self) -> &mut Driver<'static, PoolHost> {
        &mut self.driver
    }

    fn opened(&mut self, file: FileId) -> Event {
        let name = name(self.files.as_ref(), file);
        let opened = Opened::open(&*self.store, &name).unwrap();
        let blocks = opened.size / FRAME_BYTES as u64;
        // Who looked it up first has said so already; then it is said again.
        self.driver.host.objects.opened(StoreId(0), &name, &opened).unwrap();
        Event::FileKnown { file, device: DeviceId(0), blocks, place: 0 }
    }

    fn replace(&mut self, file: FileId, like: FileId) -> FileId {
        let name = name(self.files.as_ref(), file);
        let blocks = Opened::open(&*self.store, &name).unwrap().size / FRAME_BYTES as u64;
        put(self.files.as_ref(), &self.bytes, file, content(like, blocks));
        let opened = Opened::open(&*self.store, &name).unwrap();
        let objects = &mut self.driver.host.objects;
        let closed = objects.closed(file);
        let (now, events) = objects.opened(StoreId(0), &name, &opened).unwrap();
        for event in closed.into_iter().chain(events) {
            self.driver.tell(event, PoolHost::hear);
        }
        now
    }

    fn step(&mut self) {
        self.driver.host.tick();
        self.driver.host.hand_over_demanded();
        if let Ok(done) = self.done.recv_timeout(Duration::from_millis(2))
            && let Some(event) = self.driver.host.done(done)
        {
            self.driver.tell(event, PoolHost::hear);
        }
    }

    fn is_here(&self, block: Block) -> Option<bool> {
        Some(self.memory.frame_of(block).is_some())
    }

    fn bytes_here(&self, block: Block) -> Option<Vec<u8>> {
        // SAFETY: nobody else gives frames up, or fills them, while this looks at one that is here.
        Some(unsafe { self.memory.bytes(self.memory.frame_of(block)?) }.to_vec())
    }
}

#[test]
fn the_pool_is_a_host() {
    conformance::check::<Pooled<false>>();
}

#[test]
fn the_pool_over_files_is_a_host() {
    conformance::check::<Pooled<true>>();
}
