//! The pool is a host as all are.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use foresee_driver::conformance::{self, Stand};
use foresee_driver::{Driver, Tap};
use foresee_manager::{Block, Config, DeviceId, Event, FileId};
use foresee_store::{Faults, Faulty, Memory as Bytes, Store};

use super::devices::{Devices, StoreId};
use super::fetch::Done;
use super::host::PoolHost;
use super::memory::Memory;
use super::objects::Objects;
use super::opened::Opened;
use super::workers::Workers;

const FRAME_BYTES: usize = 4096;

struct Pooled {
    driver: Driver<'static, PoolHost>,
    store: Arc<dyn Store>,
    memory: Arc<Memory>,
    done: Receiver<Done>,
}

impl Stand for Pooled {
    type Host = PoolHost;

    fn new(files: &[Option<u64>], spoiled: bool, config: &Config, tap: Box<Tap<'static>>) -> Self {
        let bytes = Bytes::default();
        for (number, blocks) in files.iter().enumerate() {
            if let Some(blocks) = blocks {
                bytes.put(&number.to_string(), vec![number as u8; *blocks as usize * FRAME_BYTES]);
            }
        }
        let faults = Faults { failed: if spoiled { 1000 } else { 0 }, late_us_max: 300, ..Faults::default() };
        let store: Arc<dyn Store> = Arc::new(Faulty::new(bytes, 1, faults));
        let memory = Arc::new(Memory::new(config.capacity as usize, FRAME_BYTES).unwrap());
        let (report, done) = channel();
        let report = move |done| _ = report.send(done);
        let make = move |threads_max| Workers::new(threads_max, report.clone());
        let stores = vec![("test".to_owned(), Arc::clone(&store))];
        let generating = make(1);
        let devices = Devices::new(stores, config.device.cluster_blocks_max, Box::new(make));
        let mut objects = Objects::new(devices, FRAME_BYTES as u64);
        for number in 0..files.len() {
            assert_eq!(objects.named(StoreId(0), &number.to_string()).unwrap(), FileId(number as u32));
        }
        let host = PoolHost::new(Arc::clone(&memory), config.capacity as usize, objects, generating, None);
        Pooled { driver: Driver::new(config, host, Some(tap)), store, memory, done }
    }

    fn driver(&mut self) -> &mut Driver<'static, PoolHost> {
        &mut self.driver
    }

    fn opened(&mut self, file: FileId) -> Event {
        let name = file.to_string();
        let opened = Opened::open(&*self.store, &name).unwrap();
        let blocks = opened.size / FRAME_BYTES as u64;
        // Who looked it up first has said so already; then it is said again.
        self.driver.host.objects.opened(StoreId(0), &name, &opened).unwrap();
        Event::FileKnown { file, device: DeviceId(0), blocks, place: 0 }
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
}

#[test]
fn the_pool_is_a_host() {
    conformance::check::<Pooled>();
}
