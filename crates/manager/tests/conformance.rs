//! What every policy must pass. Plain functions over the registry: a new policy needs no line here.

use crate::support::{self, BLOCKS, Driver, FILES, Op, choices, config, fetched, ops};
use foresee_manager::policy::Choice;
use foresee_manager::*;
use proptest::prelude::*;

/// Limits at their least, and such that queues fill now and then.
fn limits() -> [DeviceLimits; 3] {
    [
        DeviceLimits {
            outstanding_max: 1,
            cluster_blocks_max: 1,
            sort_blocks: 1,
            queued_blocks_max: 1,
            quick_run_blocks_max: 1,
        },
        DeviceLimits {
            outstanding_max: 2,
            cluster_blocks_max: 3,
            sort_blocks: 4,
            queued_blocks_max: 8,
            quick_run_blocks_max: 2,
        },
        DeviceLimits {
            outstanding_max: 0,
            cluster_blocks_max: 0,
            sort_blocks: 0,
            queued_blocks_max: 0,
            quick_run_blocks_max: 0,
        },
    ]
}

fn trusts() -> [Trust; 2] {
    [Trust::Full, Trust::Earned { initial_blocks: 4 }]
}

fn configs(policy: &Choice, capacities: &[u64]) -> Vec<Config> {
    let mut configs = Vec::new();
    for &capacity in capacities {
        for device in limits() {
            configs.extend(trusts().map(|trust| Config { device, trust, ..Config::new(capacity, policy.clone()) }));
        }
    }
    configs
}

fn with_files(config: &Config) -> Driver {
    let mut driver = Driver::new(config);
    driver.known(0, BLOCKS);
    driver
}

/// Any of these, for the tests of random events.
fn setting() -> impl Strategy<Value = (u64, DeviceLimits, Stripe, Trust)> {
    let capacity = proptest::sample::select(&[1, 2, 3, 5, 8, 16, 40][..]);
    let stripe = proptest::sample::select(&[(1, u64::MAX), (1, 3), (3, 2), (4, 8)][..])
        .prop_map(|(disks, unit_blocks)| Stripe { disks, unit_blocks });
    let limits: Vec<_> = limits().into_iter().chain([DeviceLimits::default()]).collect();
    (capacity, proptest::sample::select(limits), stripe, proptest::sample::select(trusts().to_vec()))
}

proptest! {
    #![proptest_config(config(150))]

    /// The driver checks I1 to I7 at each event; at the end everyone was woken (I5) and all
    /// outcomes add up (I9). Twice the same events lead twice to the same actions (I8), and so they
    /// do where it is asked all the time which page would go next, and is said why.
    #[test]
    fn any_events(ops in ops(120), (capacity, device, stripe, trust) in setting()) {
        for policy in choices() {
            let config = Config { device, stripe, trust, ..Config::new(capacity, policy.clone()) };
            let actions = |curious| {
                let config = Config { explains: curious, ..config.clone() };
                let mut driver = with_files(&config);
                driver.curious = curious;
                let actions = driver.run(&ops);
                driver.end();
                actions
            };
            prop_assert_eq!(actions(false), actions(true), "under {}", policy.as_str());
        }
    }

    /// I8: what an event leads to does not depend on whether the host took the earlier actions yet.
    #[test]
    fn actions_do_not_depend_on_the_buffer(
        ops in ops(80),
        (capacity, device, stripe, trust) in setting(),
    ) {
        for policy in choices() {
            let config = Config { device, stripe, trust, ..Config::new(capacity, policy) };
            let mut driver = with_files(&config);
            let (mut twin, mut all, mut expected) = (Manager::new(&config), Vec::new(), Vec::new());
            twin.handle(Time(1), Event::FileKnown { file: FileId(0), device: DeviceId(0), blocks: BLOCKS, place: 0 }, &mut all);
            for op in &ops {
                let Some(event) = driver.event(op) else { continue };
                expected.extend(driver.handle(event));
                twin.handle(Time(driver.now), event, &mut all);
            }
            prop_assert_eq!(&all, &expected);
        }
    }
}

/// I5, I4: capacity 1, hints galore, and still each demand is fetched in the call that asks.
#[test]
fn one_page_suffices() {
    for policy in choices() {
        for config in configs(&policy, &[1]) {
            let mut driver = with_files(&config);
            for file in 0..FILES {
                driver.hint(1, file, Want::All);
            }
            for index in 0..BLOCKS {
                let actions = driver.serve(2, 0, index, 1);
                assert_eq!(fetched(&actions), [support::block(0, index)], "I5 under {}", policy.as_str());
                driver.arrive();
            }
            assert_eq!(driver.woken.len() as u64, BLOCKS);
            // A request larger than the memory goes through it page by page.
            driver.serve(2, 0, 0, BLOCKS);
            driver.arrive();
            assert_eq!(driver.woken.len() as u64, BLOCKS + 1);
            driver.end();
        }
    }
}

/// I2: a page goes if there is no other, however often it was used.
#[test]
fn the_only_page_goes() {
    for policy in choices() {
        for config in configs(&policy, &[8]) {
            let mut driver = with_files(&config);
            for _ in 0..3 {
                driver.read(1, 0, 7, 1);
            }
            driver.serve(2, 0, 0, 2);
            driver.handle(Event::Capacity { pages: 2 });
            assert!(!driver.manager.is_present(support::block(0, 7)), "under {}", policy.as_str());
        }
    }
}

/// I1: what a policy tells of its partitions holds every page, where all that is read was missed by
/// who reads it.
#[test]
fn partitions_hold_every_page() {
    for policy in choices() {
        let mut driver = with_files(&Config::new(8, policy.clone()));
        for step in 0..200 {
            let (file, index) = (step % 2, u64::from(step * step / 7) % BLOCKS);
            driver.read(1 + step % 3, u32::from(file == 1), index, 1);
            driver.arrive();
            let parts = driver.manager.partitions();
            let pages: u64 = parts.iter().map(|part| part.pages).sum();
            assert!(parts.is_empty() || pages == driver.manager.ledger().used, "{parts:?} under {}", policy.as_str());
        }
    }
}

/// I4: the device and its queue are full of fetches ahead, as far as the policy goes; demand is
/// sent all the same.
#[test]
fn demand_does_not_queue() {
    for policy in choices() {
        for config in configs(&policy, &[2, 3, 8]) {
            for index in [BLOCKS + 1, 2] {
                let mut driver = with_files(&config);
                driver.hint(1, 0, Want::All);
                let block = support::block(0, index);
                let waited = driver.flights.values().any(|flight| flight.blocks().any(|it| it == block));
                let actions = driver.serve(2, 0, index, 1);
                assert!(waited || fetched(&actions).contains(&block), "I4 under {}", policy.as_str());
                assert_eq!(driver.manager.statistics().starved, 0, "I4 under {}", policy.as_str());
                driver.end();
            }
        }
    }
}

/// I7: a failed fetch ahead is forgotten; who waits for it gets a fetch of its own, and its error
/// only.
#[test]
fn failures_reach_their_readers_only() {
    for policy in choices() {
        for config in configs(&policy, &[8]) {
            let mut driver = with_files(&config);
            driver.hint(1, 0, Want::Range { first: 0, count: 3 });
            let ahead: Vec<FetchId> = driver.flights.keys().copied().collect();
            driver.serve(2, 0, 1, 1);
            for fetch in ahead {
                driver.handle(Event::FetchFailed { fetch });
            }
            let demanded = driver.flights.values().filter(|flight| flight.class == Class::Demand);
            assert_eq!(demanded.flat_map(|it| it.blocks()).collect::<Vec<_>>(), [support::block(0, 1)], "I7");
            assert!(driver.woken.is_empty(), "I7: a failed fetch ahead is nobody's error");
            driver.drain();
            assert_eq!(driver.woken, [(WaiterId(1), Outcome::Ready)]);

            // Three blocks in one fetch, a second reader on the last: the fetch fails, then the first block
            // alone.
            driver.serve(1, 0, 6, 3);
            driver.serve(2, 0, 8, 1);
            let &fetch = driver.flights.iter().find(|(_, it)| it.count == 3).expect("one fetch of three").0;
            driver.handle(Event::FetchFailed { fetch });
            let alone = driver.flights.iter().find(|(_, it)| it.first.index == 6).map(|(&fetch, _)| fetch);
            driver.handle(Event::FetchFailed { fetch: alone.expect("block 6 is fetched again") });
            driver.drain();
            let outcomes: Vec<_> = driver.woken.iter().skip(1).copied().collect();
            assert!(outcomes.contains(&(WaiterId(2), Outcome::Failed)), "I7: {outcomes:?}");
            assert!(outcomes.contains(&(WaiterId(3), Outcome::Ready)), "I7: {outcomes:?}");
            driver.end();
        }
    }
}

/// I6: what was in flight when its file changed never counts as present, and its reader gets the
/// new bytes.
#[test]
fn changed_files_are_fetched_again() {
    for policy in choices() {
        for config in configs(&policy, &[8]) {
            // The first file is known beforehand, the second never.
            for file in [0, 1] {
                let mut driver = with_files(&config);
                driver.read(1, file, 5, 1);
                driver.serve(1, file, 2, 1);
                let old = *driver.flights.keys().next().expect("a demand fetch");
                driver.handle(Event::FileChanged { file: FileId(file), blocks: 3 });
                assert!(!driver.manager.is_present(support::block(file, 5)), "I6");
                let actions = driver.handle(Event::FetchDone { fetch: old });
                assert_eq!(fetched(&actions), [support::block(file, 2)], "I6: it is read again");
                assert!(driver.woken.is_empty());
                // It changes once more while it is read again, and that read fails: the error is the old version's.
                let (&old, _) = driver.flights.first_key_value().expect("the second demand fetch");
                driver.handle(Event::FileChanged { file: FileId(file), blocks: 4 });
                driver.handle(Event::FetchFailed { fetch: old });
                driver.drain();
                assert_eq!(driver.woken, [(WaiterId(1), Outcome::Ready)]);
                driver.end();
            }
        }
    }
}

/// I2: pinned pages outlive a shrinking memory, and go when their views do.
#[test]
fn pins_hold_until_released() {
    for policy in choices() {
        for config in configs(&policy, &[4]) {
            let mut driver = with_files(&config);
            driver.read(1, 0, 0, 4);
            driver.arrive();
            let pins: Vec<Op> = (0..4).map(|index| Op::Pin { file: FileId(0), index }).collect();
            driver.run(&pins);
            let pinned = driver.views.len() as u64;
            driver.handle(Event::Capacity { pages: 1 });
            assert_eq!(driver.manager.ledger().used, pinned);
            driver.run(&[const { Op::Release { pick: 0 } }; 4]);
            assert!(driver.manager.ledger().used <= 1, "I2: the pages stay when the views are gone");
            driver.end();
        }
    }
}

/// The views of a block whose file changed are nobody's any more: a view of the new bytes is the
/// only one. When the old ones are given back, the new one still holds its page.
#[test]
fn views_of_old_bytes_do_not_count() {
    for policy in choices().into_iter().filter(|policy| policy.build().nature().keeps) {
        let mut driver = with_files(&configs(&policy, &[8])[0]);
        let (file, index) = (FileId(0), 3);
        let state = |driver: &Driver| driver.manager.state_of(support::block(0, index));
        for _ in 0..2 {
            driver.read(1, 0, index, 1);
            driver.run(&[Op::Pin { file, index }]);
            driver.handle(Event::FileChanged { file, blocks: BLOCKS });
            assert_eq!(state(&driver), None, "I6");
        }
        driver.read(1, 0, index, 1);
        driver.run(&[Op::Pin { file, index }]);
        let [old, other_old, new] = [0, 1, 2].map(|at| driver.views[at].view);
        driver.handle(Event::Released { view: old, file, index });
        assert_eq!(state(&driver), Some(State::Pinned), "under {}", policy.as_str());
        driver.handle(Event::Released { view: new, file, index });
        assert_ne!(state(&driver), Some(State::Pinned));
        driver.handle(Event::Released { view: other_old, file, index });
    }
}

/// Numbers no sane host sends neither panic, nor take for ever, nor fill the memory.
/// The last block there may be is one as others are, here and remembered.
#[test]
fn the_last_block_is_no_other() {
    let (reader, site) = (ReaderId(1), Site(0));
    for policy in ["informed", "reuse:ghosts=0", "2q", "s3fifo"] {
        let mut manager = Manager::new(&Config::new(2, policy.parse().unwrap()));
        let mut out = Vec::new();
        let last = (FileId(FileId::LIMIT - 1), Block::INDEX_LIMIT - 1);
        let others = |from| (from..from + 20).map(|index| (FileId(0), index));
        for (file, first) in [last].into_iter().chain(others(0)).chain([last]).chain(others(40)).chain([last]) {
            let event = Event::Reference { reader, site, file, first, count: 1, demand: Demand::Observed };
            manager.handle(Time(0), event, &mut out);
        }
        manager.check();
        assert!(manager.is_present(Block { file: last.0, index: last.1 }), "{policy}");
    }
}

#[test]
fn hostile_numbers() {
    let (reader, source, site) = (ReaderId(u32::MAX), Source::Advice, Site(u64::MAX));
    let numbers = [0, 1, u64::from(u32::MAX), Block::INDEX_LIMIT - 1, Block::INDEX_LIMIT, u64::MAX - 1, u64::MAX];
    for policy in choices() {
        let is_by_default = policy.as_str() == policy.spec().name;
        let config = &configs(&policy, &[8])[2];
        let mut manager = Manager::new(config);
        let mut out = Vec::new();
        for file in [FileId(0), FileId(FileId::LIMIT), FileId(u32::MAX)] {
            for a in numbers {
                for b in numbers {
                    let range = Want::Range { first: a, count: b };
                    let waiter = Demand::Served(WaiterId(7));
                    for event in [
                        Event::FileKnown { file, device: DeviceId(0), blocks: a, place: 0 },
                        Event::Hint { reader, source, file, want: range },
                        Event::Hint { reader, source, file, want: Want::All },
                        Event::Reference { reader, site, file, first: a, count: b, demand: Demand::Observed },
                        Event::FetchDone { fetch: FetchId(a) },
                        Event::FetchFailed { fetch: FetchId(b) },
                        Event::Named { reader, file },
                        Event::Pinned { view: ViewId(a), file, index: a },
                        Event::Released { view: ViewId(a), file, index: b },
                        Event::FileChanged { file, blocks: b },
                        Event::FileForgotten { file },
                        Event::FileMissing { file },
                        Event::SetPriority { reader, file, priority: i32::MIN },
                        Event::SetTemporaryPriority { reader, file, first: a, count: b, priority: i32::MAX },
                    ] {
                        // A read is cut to half a million blocks, which takes a second in a debug build: once a
                        // policy is enough.
                        let long = matches!(event, Event::Reference { .. }) && b > 1 && a < Block::INDEX_LIMIT - 1;
                        if !long || (is_by_default && a == 1 && b == u64::MAX && file == FileId(0)) {
                            manager.handle(Time(a), event, &mut out);
                        }
                    }
                    out.clear();
                    let block = Block { file, index: a };
                    let is_here = manager.is_present(block) || manager.state_of(block).is_some();
                    assert!(!is_here || (file == FileId(0) && a < Block::INDEX_LIMIT), "no such block: {block:?}");
                    assert!(a < Block::INDEX_LIMIT || manager.partition_of(block).is_none());
                    // A waiter is woken at once if its request is out of range; the others are let go again.
                    if b == 0 || file.0 >= FileId::LIMIT || a.checked_add(b).is_none_or(|end| end > Block::INDEX_LIMIT)
                    {
                        let event = Event::Reference { reader, site, file, first: a, count: b, demand: waiter };
                        manager.handle(Time(a), event, &mut out);
                        let outcome = if b == 0 { Outcome::Ready } else { Outcome::Failed };
                        assert_eq!(out, [Action::Reply(Reply::Wake { waiter: WaiterId(7), outcome })], "{event}");
                        out.clear();
                    }
                }
            }
        }
        for pages in numbers {
            manager.handle(Time(0), Event::Capacity { pages }, &mut out);
        }
        manager.handle(Time(0), Event::ReaderExited { reader }, &mut out);
        manager.check();
        assert!(manager.statistics().refused > 0);
    }
}

/// The ops that answer something do nothing where nothing is open.
#[test]
fn nothing_to_answer() {
    for policy in choices() {
        let mut driver = with_files(&configs(&policy, &[8])[0]);
        let answers = [Op::Answer { pick: 3, fails: true }, Op::Resolve { pick: 9 }, Op::Release { pick: usize::MAX }];
        assert!(driver.run(&answers).is_empty());
    }
}
