//! The simulated host: what must hold of time, and of the manager while all goes wrong.

use foresee_manager::{
    Advice, Config, DeviceId, Event, FileId, LevelOrder, ReaderId, Site, Source, Stripe, Time, Trust, ViewId, Want,
};
use foresee_sim::faults::Faults;
use foresee_sim::host::{
    Fault, HostFile, Processor, Readahead, Reader, ReaderReport, Report, Setup, Step, run, run_watched,
};
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Disclosure, Options, Think};
use proptest::prelude::*;

const LATENCY_NS: u64 = 1_000_000;

fn config(policy: &str, capacity: u64) -> Config {
    Config::new(capacity, policy.parse().unwrap())
}

fn options(disclose: Option<Disclosure>, device: &str) -> Options {
    Options { think: Think::None, disclose, device: device.parse().unwrap(), disks: 1, lookup_ns: 0 }
}

/// 64 blocks, none next to another, so that no two are fetched as one.
fn scattered() -> Trace {
    Trace::of_blocks((0..64).map(|at| at * 10), 4096)
}

fn lru_and_tip1(device: &str) -> (Report, Report) {
    let trace = scattered();
    let lru = run(&timed::setup(&trace, &options(None, device), config("lru", 100))).unwrap();
    let told = options(Some(Disclosure::TOLD), device);
    let tip1 = run(&timed::setup(&trace, &told, config("tip1:unread_share=1", 100))).unwrap();
    (lru, tip1)
}

#[test]
fn with_hints_and_servers_without_number_all_takes_one_latency() {
    let (lru, tip1) = lru_and_tip1("servers=0,latency_us=1000");
    assert_eq!(lru.elapsed_ns, 64 * LATENCY_NS);
    assert_eq!(tip1.elapsed_ns, LATENCY_NS);
    assert_eq!(tip1.statistics.ahead_of(true).settled(), 64);
}

#[test]
fn one_server_is_never_faster_than_one_after_the_other() {
    let (lru, tip1) = lru_and_tip1("servers=1,latency_us=1000");
    assert_eq!(lru.elapsed_ns, 64 * LATENCY_NS);
    assert_eq!(tip1.elapsed_ns, 64 * LATENCY_NS);
    assert_eq!(tip1.devices[0].requests, 64);
}

#[test]
fn bandwidth_bounds_what_servers_do_not() {
    // 64 blocks of 4 KiB at 1 MB/s.
    let (_, tip1) = lru_and_tip1("servers=0,latency_us=1000,mb_per_s=1");
    assert_eq!(tip1.elapsed_ns, LATENCY_NS + 64 * 4_096_000);
}

#[test]
fn thinking_hides_latency_that_was_disclosed() {
    let thinking =
        Options { think: Think::Fixed(LATENCY_NS), ..options(Some(Disclosure::TOLD), "servers=1,latency_us=1000") };
    let report = run(&timed::setup(&scattered(), &thinking, config("tip1:unread_share=1", 100))).unwrap();
    assert_eq!((report.elapsed_ns, report.stall_ns()), (64 * LATENCY_NS, 0));
    assert_eq!(report.readers[0].think_ns, 64 * LATENCY_NS);
}

#[test]
fn hints_of_files_that_are_not_there_are_dropped_and_reads_of_them_refused() {
    let hint = |file| Step::Hint { source: Source::Command, file: FileId(file), want: Want::All };
    let read = |file, count| Step::Read { file: FileId(file), first: 0, count, site: Site(0) };
    let mut setup = one_reader(vec![hint(7), hint(0), read(0, 0), read(0, 2)]);
    let report = run(&setup).unwrap();
    assert_eq!((report.readers[0].reads, report.statistics.lookups), (2, 2));
    setup.readers[0].steps.push(read(7, 1));
    assert_eq!(run(&setup), Err(Fault::NoFile { file: FileId(7) }));
    setup.devices.clear();
    assert_eq!(run(&setup), Err(Fault::NoDevice { device: DeviceId(0) }));
}

fn one_reader(steps: Vec<Step>) -> Setup {
    let mut setup = timed::setup(&scattered(), &options(None, "latency_us=10"), config("tip1", 8));
    setup.files = vec![HostFile { device: DeviceId(0), blocks: 40, place: 0 }];
    setup.readers = vec![Reader { id: ReaderId(1), steps }];
    setup
}

/// What is written is in memory without a fetch, and at the device behind its program's back; what
/// is removed is in memory no more.
#[test]
fn programs_write_and_remove() {
    let file = FileId(0);
    let read = Step::Read { file, first: 3, count: 1, site: Site(0) };
    let mut setup = one_reader(vec![Step::Write { file, index: 3 }, read]);
    let report = run(&setup).unwrap();
    assert_eq!((report.readers[0].writes, report.devices[0].requests), (1, 1));
    assert_eq!((report.statistics.demand_fetches, report.elapsed_ns), (0, 0));
    setup.readers[0].steps.extend([Step::Remove { file }, read]);
    let report = run(&setup).unwrap();
    assert_eq!((report.devices[0].requests, report.statistics.demand_fetches), (2, 1));
}

/// Two blocks of three in a cycle stay where the program says so.
#[test]
fn programs_advise() {
    let read = |first| Step::Read { file: FileId(0), first, count: 1, site: Site(0) };
    let cycle = (0..30).map(|at| read(at % 3));
    let advice = Advice::SetPolicy { priority: 0, order: LevelOrder::Mru };
    let mut setup = one_reader(cycle.clone().collect());
    setup.config = config("lru-sp", 2);
    assert_eq!(run(&setup).unwrap().statistics.misses, 30);
    setup.readers[0].steps = [Step::Advise { advice }].into_iter().chain(cycle).collect();
    assert!(run(&setup).unwrap().statistics.misses <= 3 + 9 * 2);
}

fn step() -> impl Strategy<Value = Step> {
    let file = || (0..3_u32).prop_map(FileId);
    let source = || prop::sample::select(Source::ALL);
    let want = prop_oneof![
        Just(Want::Name),
        Just(Want::All),
        (0..50_u64, 1..20_u64).prop_map(|(first, count)| Want::Range { first, count }),
    ];
    prop_oneof![
        1 => (0..50_000_u64).prop_map(|ns| Step::Think { ns }),
        6 => (file(), 0..40_u64, 0..6_u64, 0..3_u64).prop_map(|(file, first, count, site)| {
            Step::Read { file, first, count: count.min(40 - first), site: Site(site) }
        }),
        3 => (source(), (0..4_u32).prop_map(FileId), want).prop_map(|(source, file, want)| Step::Hint { source, file, want }),
        1 => source().prop_map(|source| Step::Cancel { source }),
        1 => (file(), 0..40_u64).prop_map(|(file, index)| Step::Write { file, index }),
        1 => file().prop_map(|file| Step::Remove { file }),
        1 => (-1..2_i32, prop::sample::select(LevelOrder::ALL))
            .prop_map(|(priority, order)| Step::Advise { advice: Advice::SetPolicy { priority, order } }),
    ]
}

/// What happens besides. A view that is taken is given back, or its page could never go and a
/// reader might starve.
fn besides() -> impl Strategy<Value = Vec<(Time, Event)>> {
    let file = || (0..3_u32).prop_map(FileId);
    let events = prop_oneof![
        (1..20_u64).prop_map(|pages| vec![Event::Capacity { pages }]),
        file().prop_map(|file| vec![Event::FileChanged { file, blocks: 40 }]),
        (file(), 0..40_u64, 1..9_u64).prop_map(|(file, first, count)| vec![Event::Gone { file, first, count }]),
        (file(), 0..40_u64).prop_map(|(file, index)| {
            let view = ViewId(index);
            vec![Event::Pinned { view, file, index }, Event::Released { view, file, index }]
        }),
    ];
    let timed = (events, 0..300_000_u64, 0..100_000_u64);
    timed.prop_map(|(events, at, later)| {
        events.into_iter().enumerate().map(|(nth, event)| (Time(at + later * nth as u64), event)).collect()
    })
}

fn setups() -> impl Strategy<Value = Setup> {
    let faults = (any::<u64>(), 0.0..0.5_f64, 0.0..0.5_f64, 0.0..0.5_f64).prop_map(
        |(seed, fail_share, delay_share, swap_share)| Faults {
            seed,
            fail_share,
            delay_share,
            delay_ns_max: 100_000,
            swap_share,
        },
    );
    let readers = prop::collection::vec((0..2_u32, prop::collection::vec(step(), 0..40)), 1..4);
    let policy = prop::sample::select(vec!["null", "lru", "tip1", "tip1:unread_share=1"]);
    let trust = prop_oneof![Just(Trust::Full), (0..8_u64).prop_map(|initial_blocks| Trust::Earned { initial_blocks })];
    let device = prop::sample::select(vec![
        "servers=1,latency_us=10",
        "servers=3,latency_us=10,mb_per_s=400",
        "servers=0",
        "hp2247",
        "rz56:order=sstf",
    ]);
    let processor = prop::option::of((0..20_000_u64, 0..20_000_u64))
        .prop_map(|costs| costs.map(|(hit_ns, driver_ns)| Processor { hit_ns, driver_ns, driver_block_ns: 1000 }));
    let readahead = prop::sample::select(Readahead::ALL.map(|(_, readahead)| readahead).to_vec());
    let stripe = prop::sample::select(vec![Stripe::default(), Stripe { disks: 2, unit_blocks: 3 }]);
    let machine = (device, processor, readahead, stripe);
    (faults, readers, policy, trust, machine, 1..20_u64, prop::collection::vec(besides(), 0..6)).prop_map(
        |(faults, readers, policy, trust, (device, processor, readahead, stripe), capacity, besides)| {
            let mut setup = one_reader(Vec::new());
            setup.config = Config { trust, ..config(policy, capacity) };
            setup.config.device.outstanding_max = 2;
            setup.config.stripe = stripe;
            setup.devices = vec![device.parse().unwrap(); 3];
            setup.processor = processor;
            setup.readahead = readahead;
            let file = |(device, place)| HostFile { device: DeviceId(device), blocks: 40, place };
            setup.files = [(0, 0), (1, 7), (0, 40)].map(file).into();
            setup.lookup_ns = 5000;
            setup.readers = readers.into_iter().map(|(id, steps)| Reader { id: ReaderId(id), steps }).collect();
            Setup { faults, besides: besides.concat(), ..setup }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_goes_wrong_every_reader_is_woken_and_the_invariants_hold(setup in setups()) {
        let report = run_watched(&setup, &mut |_, _, _, manager| manager.check());
        let report = report.map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        for (reader, found) in setup.readers.iter().zip(&report.readers) {
            let reads = reader.steps.iter().filter(|step| matches!(step, Step::Read { .. })).count();
            prop_assert_eq!(found.reads, reads as u64);
            prop_assert_eq!(found.stall_ns + found.think_ns + found.hit_ns + found.queued_ns, found.finished.0);
        }
        if let Some(spent) = report.processor {
            let sum = |part: fn(&ReaderReport) -> u64| report.readers.iter().map(part).sum::<u64>();
            prop_assert_eq!((spent.think_ns, spent.hit_ns), (sum(|it| it.think_ns), sum(|it| it.hit_ns)));
            prop_assert_eq!(spent.think_ns + spent.hit_ns + spent.driver_ns + spent.idle_ns, report.elapsed_ns);
        }
        prop_assert_eq!(run(&setup), Ok(report));
    }
}
