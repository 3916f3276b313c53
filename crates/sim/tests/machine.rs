//! Parts of a machine that can be added to the simulated host: arrays of disks, one processor, a
//! file system that reads ahead.

use foresee_manager::{Config, DeviceId, DeviceLimits, FileId, Site, Source, Stripe, Want};
use foresee_sim::host::{Fault, HostFile, Processor, Readahead, Reader, Setup, Step, run};
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Options, Think};

const MS: u64 = 1_000_000;

/// A reader of one file of so many blocks of 8 KB, on an array of these devices with units of 8
/// blocks.
fn array(disks: u16, device: &str, policy: &str, blocks: u64, steps: Vec<Step>) -> Setup {
    let stripe = Stripe { disks, unit_blocks: 8 };
    let device_limits = DeviceLimits { outstanding_max: 5, cluster_blocks_max: 8, ..DeviceLimits::default() };
    let config = Config { stripe, device: device_limits, ..Config::new(1536, policy.parse().unwrap()) };
    let device = device.parse().unwrap();
    let options = Options { think: Think::None, disclose: None, device, disks: 1, lookup_ns: 0 };
    let setup = timed::setup(&Trace::of_blocks([], 8192), &options, config);
    let files = vec![HostFile { device: DeviceId(0), blocks, place: 0 }];
    let readers = vec![Reader { id: foresee_manager::ReaderId(1), steps }];
    Setup { devices: vec![device; usize::from(disks)], files, readers, ..setup }
}

fn read(first: u64, count: u64) -> Step {
    Step::Read { file: FileId(0), first, count, site: Site(0) }
}

fn hint(first: u64, count: u64) -> Step {
    Step::Hint { source: Source::Library, file: FileId(0), want: Want::Range { first, count } }
}

/// Blocks of a file of 512 MB, none near the one before.
fn scattered() -> impl Iterator<Item = u64> {
    (0..200).map(|at| at * 7919 % 60_000)
}

#[test]
fn a_read_is_dealt_out_to_the_disks_of_its_array() {
    // Units 0 to 4 on disks 0, 1, 2, 0, 1: from the middle of unit 0 to the middle of unit 4, all at
    // once.
    let setup = array(3, "latency_us=1000", "lru", 40, vec![read(4, 32)]);
    let report = run(&setup).unwrap();
    let sent: Vec<_> = report.devices.iter().map(|device| (device.requests, device.bytes / 8192)).collect();
    assert_eq!(sent, [(2, 12), (2, 12), (1, 8)]);
    assert_eq!(report.elapsed_ns, 2 * MS);
}

#[test]
fn more_disks_are_quicker_only_for_who_discloses() {
    let steps = |told: bool| {
        let hints = scattered().filter(move |_| told).map(|block| hint(block, 1));
        hints.chain(scattered().map(|block| read(block, 1))).collect()
    };
    let ms = |disks, told| run(&array(disks, "hp2247", "tip1", 60_000, steps(told))).unwrap().elapsed_ns / MS;
    let (one, four, one_told, four_told) = (ms(1, false), ms(4, false), ms(1, true), ms(4, true));
    assert!((200 * 12..200 * 22).contains(&one), "{one} ms for 200 blocks");
    assert!(four * 10 > one * 6, "one after the other: {four} of {one} ms, and shorter seeks");
    assert!(one_told * 10 < one * 8, "sorted, one disk: {one_told} of {one} ms");
    assert!(four_told * 3 < one_told, "four disks: {four_told} of {one_told} ms");
}

#[test]
fn a_file_must_fit_its_disks() {
    // 2,054,864 sectors are 128,429 blocks.
    assert_eq!(run(&array(1, "hp2247", "lru", 128_429, vec![])).map(|report| report.elapsed_ns), Ok(0));
    let fault = run(&array(1, "hp2247", "lru", 128_430, vec![])).unwrap_err();
    assert_eq!(fault, Fault::NoRoom { file: FileId(0), device: DeviceId(0) });
    assert!(fault.to_string().contains("larger device"));
    assert!(run(&array(2, "hp2247", "lru", 2 * 128_424, vec![])).is_ok());
    assert!(run(&array(2, "hp2247", "lru", 2 * 128_430, vec![])).is_err());
    let mut short = array(2, "hp2247", "lru", 9, vec![]);
    short.devices.pop();
    assert_eq!(run(&short), Err(Fault::NoDevice { device: DeviceId(1) }));
}

#[test]
fn one_processor_adds_up_as_equation_1_of_000_says() {
    // Two blocks from the device, then one of them from the cache: T_miss = T_hit + T_driver + T_disk.
    let steps = vec![Step::Think { ns: 5 * MS }, read(0, 1), read(1, 1), read(0, 1)];
    let processor = Some(Processor { hit_ns: 243_000, driver_ns: 580_000, driver_block_ns: 0 });
    let setup = Setup { processor, ..array(1, "latency_us=15000", "lru", 10, steps) };
    let report = run(&setup).unwrap();
    let spent = report.processor.unwrap();
    assert_eq!((spent.think_ns, spent.hit_ns, spent.driver_ns), (5 * MS, 3 * 243_000, 2 * 580_000));
    assert_eq!((spent.idle_ns, report.stall_ns()), (30 * MS, 2 * (15 * MS + 580_000)));
    assert_eq!(report.elapsed_ns, spent.think_ns + spent.hit_ns + spent.driver_ns + spent.idle_ns);
}

#[test]
fn a_cluster_costs_the_processor_one_request() {
    let driver_ns = |steps| {
        let processor = Some(Processor { hit_ns: 0, driver_ns: MS, driver_block_ns: 0 });
        let setup = Setup { processor, ..array(1, "latency_us=100", "tip1", 64, steps) };
        run(&setup).unwrap().processor.unwrap().driver_ns
    };
    assert_eq!(driver_ns(vec![hint(0, 16), Step::Think { ns: 50 * MS }, read(0, 16)]), 2 * MS);
    assert_eq!(driver_ns((0..16).map(|block| read(block, 1)).collect()), 16 * MS);
}

#[test]
fn a_cluster_may_cost_more_for_each_further_block() {
    let processor = Some(Processor { hit_ns: 0, driver_ns: MS, driver_block_ns: MS / 4 });
    let setup = Setup { processor, ..array(1, "latency_us=100", "lru", 64, vec![read(0, 8), read(8, 1)]) };
    assert_eq!(run(&setup).unwrap().processor.unwrap().driver_ns, 2 * MS + 7 * MS / 4);
}

#[test]
fn readers_share_the_processor_and_devices_are_asked_meanwhile() {
    let thinks = vec![Step::Think { ns: 10 * MS }];
    let mut setup = array(1, "latency_us=2000", "lru", 10, thinks.clone());
    setup.processor = Some(Processor { hit_ns: 0, driver_ns: MS, driver_block_ns: 0 });
    setup.readers.push(Reader { id: foresee_manager::ReaderId(2), steps: thinks });
    setup.readers.push(Reader { id: foresee_manager::ReaderId(3), steps: vec![read(0, 1)] });
    let report = run(&setup).unwrap();
    // The third reader's request interrupts the first's thinking. When it has its block, at 3 ms, the
    // first has had 2 ms of the processor and the others nothing: the second goes on, as it came
    // before, then the third.
    assert_eq!(report.readers.iter().map(|it| it.finished.0 / MS).collect::<Vec<_>>(), [21, 13, 13]);
    assert_eq!(report.readers.iter().map(|it| it.queued_ns / MS).collect::<Vec<_>>(), [11, 3, 10]);
    assert_eq!((report.readers[2].stall_ns, report.processor.unwrap().idle_ns), (3 * MS, 0));
}

#[test]
fn the_file_system_reads_ahead_by_itself() {
    let steps: Vec<Step> = (0..64).flat_map(|block| [Step::Think { ns: 3 * MS }, read(block, 1)]).collect();
    let stall_ms = |readahead| {
        let setup = Setup { readahead, ..array(1, "latency_us=5000", "tip1", 64, steps.clone()) };
        run(&setup).unwrap().stall_ns() / MS
    };
    let (none, one_block, osf1) = (stall_ms(Readahead::None), stall_ms(Readahead::OneBlock), stall_ms(Readahead::Osf1));
    assert_eq!(none, 64 * 5);
    // Blocks 0 and 1 are waited for. Then, of one block: what thinking does not hide, each time. Of
    // clusters: the same for the second half of the first, and for the second; the others are far
    // enough ahead.
    assert_eq!((one_block, osf1), (2 * 5 + 62 * 2, 2 * 5 + 2 * 2));
}
