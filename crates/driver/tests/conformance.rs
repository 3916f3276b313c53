//! The suite of all hosts notices what they do wrong: a small host passes it, and fails it with
//! each of these slips.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use foresee_driver::conformance::{self, Stand};
use foresee_driver::{Driver, Host, Tap};
use foresee_manager::{Block, Config, DeviceId, Event, FetchId, FileId, Order, Time};

/// What a host does wrong.
mod slip {
    pub const NONE: u8 = 0;
    pub const TIME_GOES_BACK: u8 = 1;
    pub const DEVICE_IS_TOLD_LATE: u8 = 2;
    pub const MISSING_FILE_IS_KNOWN: u8 = 3;
    pub const SAYS_DONE_TWICE: u8 = 4;
    pub const FAILURE_IS_DONE: u8 = 5;
    pub const NOTHING_IS_READ: u8 = 6;
    pub const NOTHING_IS_GIVEN_UP: u8 = 7;
    pub const HALF_IS_READ: u8 = 8;
    pub const ANOTHER_IS_READ: u8 = 9;
    pub const BEFORE_IS_READ: u8 = 10;
    /// The last one.
    pub const BEFORE_STAYS: u8 = 11;
}

/// Files in memory, which are read when it is stepped.
struct Small<const SLIP: u8> {
    files: Vec<u64>,
    spoiled: bool,
    time: u64,
    news: Option<Event>,
    orders: VecDeque<Order>,
    /// Those of which the bytes are another file's, and whose.
    like: BTreeMap<FileId, FileId>,
    here: BTreeMap<Block, u8>,
}

impl<const SLIP: u8> Host for Small<SLIP> {
    fn now(&self) -> Time {
        Time(if SLIP == slip::TIME_GOES_BACK { 1000 - self.time } else { self.time })
    }

    fn news(&mut self) -> Option<Event> {
        let is_late = SLIP == slip::DEVICE_IS_TOLD_LATE && self.time < 3;
        if is_late { None } else { self.news.take() }
    }

    fn carry_out(&mut self, order: Order) {
        self.orders.push_back(order);
    }
}

impl<const SLIP: u8> Small<SLIP> {
    fn known(&self, file: FileId) -> Event {
        match self.files.get(file.0 as usize) {
            Some(&blocks) => Event::FileKnown { file, device: DeviceId(0), blocks, place: 0 },
            None if SLIP == slip::MISSING_FILE_IS_KNOWN => {
                Event::FileKnown { file, device: DeviceId(0), blocks: 0, place: 0 }
            }
            None => Event::FileMissing { file },
        }
    }

    fn fetched(&mut self, fetch: FetchId, file: FileId, first: u64, count: u64) -> Event {
        if self.spoiled && SLIP != slip::FAILURE_IS_DONE {
            return Event::FetchFailed { fetch };
        }
        let count = match SLIP {
            slip::NOTHING_IS_READ => 0,
            slip::HALF_IS_READ => count.div_ceil(2),
            _ => count,
        };
        for index in first..first + count {
            let like = self.like.get(&file).filter(|_| SLIP != slip::BEFORE_IS_READ).copied().unwrap_or(file);
            let read = if SLIP == slip::ANOTHER_IS_READ { index + 1 } else { index };
            let byte = conformance::byte_of(Block { file: like, index: read });
            self.here.entry(Block { file, index }).or_insert(byte);
        }
        Event::FetchDone { fetch }
    }
}

struct Trial<const SLIP: u8>(Driver<'static, Small<SLIP>>);

impl<const SLIP: u8> Stand for Trial<SLIP> {
    type Host = Small<SLIP>;
    const PATIENCE: Duration = Duration::from_millis(200);

    fn new(files: &[Option<u64>], spoiled: bool, config: &Config, tap: Box<Tap<'static>>) -> Self {
        let files = files.iter().map_while(|&blocks| blocks).collect();
        let news = Some(Event::ReadaheadWindow { device: DeviceId(0), blocks: 32 });
        let host = Small {
            files,
            spoiled,
            time: 0,
            news,
            orders: VecDeque::new(),
            like: BTreeMap::new(),
            here: BTreeMap::new(),
        };
        Trial(Driver::new(config, host, Some(tap)))
    }

    fn driver(&mut self) -> &mut Driver<'static, Small<SLIP>> {
        &mut self.0
    }

    fn opened(&mut self, file: FileId) -> Event {
        self.0.host.known(file)
    }

    fn replace(&mut self, file: FileId, like: FileId) -> FileId {
        self.0.host.like.insert(file, like);
        let blocks = self.0.host.files[file.0 as usize];
        if SLIP != slip::BEFORE_STAYS {
            self.0.tell(Event::FileChanged { file, blocks }, |_, _| {});
        }
        file
    }

    fn step(&mut self) {
        let host = &mut self.0.host;
        host.time += 1;
        let event = match host.orders.pop_front() {
            Some(Order::Lookup { file }) => host.known(file),
            Some(Order::Fetch { fetch, file, first, count, .. }) => host.fetched(fetch, file, first, count),
            Some(Order::PassOver { .. }) => return,
            Some(Order::Drop { file, first, count }) => {
                if SLIP != slip::NOTHING_IS_GIVEN_UP {
                    host.here.retain(|it, _| it.file != file || !(first..first + count).contains(&it.index));
                }
                return;
            }
            None => return,
        };
        self.0.tell(event, |_, _| {});
        if SLIP == slip::SAYS_DONE_TWICE && matches!(event, Event::FetchDone { .. }) {
            self.0.tell(event, |_, _| {});
        }
    }

    fn is_here(&self, block: Block) -> Option<bool> {
        Some(self.0.host.here.contains_key(&block))
    }

    fn bytes_here(&self, block: Block) -> Option<Vec<u8>> {
        Some(vec![*self.0.host.here.get(&block)?])
    }
}

#[test]
fn a_host_that_does_as_it_should_passes() {
    conformance::check::<Trial<{ slip::NONE }>>();
}

#[test]
fn every_slip_is_noticed() {
    let notices = |check: fn()| catch_unwind(AssertUnwindSafe(check)).is_err();
    let checks: [fn(); slip::BEFORE_STAYS as usize] = [
        conformance::check::<Trial<{ slip::TIME_GOES_BACK }>>,
        conformance::check::<Trial<{ slip::DEVICE_IS_TOLD_LATE }>>,
        conformance::check::<Trial<{ slip::MISSING_FILE_IS_KNOWN }>>,
        conformance::check::<Trial<{ slip::SAYS_DONE_TWICE }>>,
        conformance::check::<Trial<{ slip::FAILURE_IS_DONE }>>,
        conformance::check::<Trial<{ slip::NOTHING_IS_READ }>>,
        conformance::check::<Trial<{ slip::NOTHING_IS_GIVEN_UP }>>,
        conformance::check::<Trial<{ slip::HALF_IS_READ }>>,
        conformance::check::<Trial<{ slip::ANOTHER_IS_READ }>>,
        conformance::check::<Trial<{ slip::BEFORE_IS_READ }>>,
        conformance::check::<Trial<{ slip::BEFORE_STAYS }>>,
    ];
    for (number, check) in (1..).zip(checks) {
        assert!(notices(check), "slip {number} is not noticed");
    }
}
