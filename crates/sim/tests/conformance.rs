//! The simulated machine is a host as all are.

use foresee_driver::conformance::{self, Stand};
use foresee_driver::{Driver, Tap};
use foresee_manager::{Block, Config, DeviceId, Event, FileId};
use foresee_sim::faults::Faults;
use foresee_sim::host::{HostFile, Machine, Readahead, Setup, Turn};

struct Simulated(Driver<'static, Machine<'static>>);

impl Stand for Simulated {
    type Host = Machine<'static>;

    fn new(files: &[Option<u64>], spoiled: bool, config: &Config, tap: Box<Tap<'static>>) -> Self {
        let there = files.iter().map_while(|&blocks| Some(HostFile { device: DeviceId(0), blocks: blocks?, place: 0 }));
        let setup = Setup {
            config: config.clone(),
            block_bytes: 4096,
            devices: vec!["servers=2,latency_us=100".parse().unwrap()],
            files: there.collect(),
            lookup_ns: 1000,
            processor: None,
            readahead: Readahead::None,
            readers: Vec::new(),
            faults: Faults { fail_share: f64::from(u8::from(spoiled)), ..Faults::NONE },
            besides: Vec::new(),
        };
        // The machine refers to its setup for as long as the test runs.
        let setup: &'static Setup = Box::leak(Box::new(setup));
        Simulated(Driver::new(config, Machine::new(setup), Some(tap)))
    }

    fn driver(&mut self) -> &mut Driver<'static, Machine<'static>> {
        &mut self.0
    }

    fn opened(&mut self, file: FileId) -> Event {
        self.0.host.resolved(file)
    }

    fn replace(&mut self, file: FileId, _: FileId) -> FileId {
        let Event::FileKnown { blocks, .. } = self.0.host.resolved(file) else { panic!("{file:?} is not there") };
        self.0.tell(Event::FileChanged { file, blocks }, |_, _| {});
        file
    }

    fn step(&mut self) {
        if let Some(Turn::Event(event)) = self.0.host.turn() {
            self.0.tell(event, |_, _| {});
        }
    }

    /// There are no bytes.
    fn is_here(&self, _: Block) -> Option<bool> {
        None
    }
}

#[test]
fn the_machine_carries_out_what_it_is_asked_for() {
    conformance::check::<Simulated>();
}
