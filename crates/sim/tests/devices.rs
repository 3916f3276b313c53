//! What every device keeps to, whatever it is asked: each request is done once, within bounded
//! time, and one disk moves one request's data at a time.

use foresee_manager::Time;
use foresee_sim::device::{Choice, Device, DeviceReport, Request, disk};
use proptest::prelude::*;

const BLOCK_BYTES: u64 = 8192;
/// The worst a single request of 16 blocks can meet: its seek, a full turn at each track, the
/// electronics.
const SERVICE_NS_MAX: u64 = 400_000_000;

/// One request: the time since the one before, its first block, blocks, whether it writes.
type Asked = (u64, u64, u64, bool);

/// When each request came and was done, in the order in which they were done.
fn run(device: &mut dyn Device, asked: &[Asked]) -> Vec<(Request, Time, Time)> {
    let mut arrivals = Vec::new();
    let (mut now, mut requests) = (0, asked.iter().zip(0..));
    let mut coming = None;
    let mut done = Vec::new();
    loop {
        if coming.is_none()
            && let Some((&(gap, block, blocks, write), ticket)) = requests.next()
        {
            now += gap;
            let place = block * BLOCK_BYTES % (device.bytes() - 16 * BLOCK_BYTES);
            coming = Some(Request { ticket, place, bytes: blocks * BLOCK_BYTES, write });
        }
        match (coming, device.next_event()) {
            (None, None) => return done,
            (Some(request), event) if event.is_none_or(|event| event > Time(now)) => {
                device.submit(Time(now), request);
                arrivals.push((request, Time(now)));
                coming = None;
            }
            (_, Some(event)) => {
                let ticket = device.advance(event).expect("something is done when the device says so");
                let (request, arrived) = arrivals[ticket as usize];
                done.push((request, arrived, event));
            }
            (Some(_), None) => unreachable!("the arm above takes it"),
        }
    }
}

/// The suite. `bus_bytes_per_s` is what one-at-a-time devices send at most; None: requests go side
/// by side.
fn conforms(text: &str, bus_bytes_per_s: Option<u64>, asked: &[Asked]) -> DeviceReport {
    let choice: Choice = text.parse().unwrap();
    assert_eq!(choice.to_string().parse(), Ok(choice), "{text}");
    let (mut device, mut again) = (choice.build(), choice.build());
    let done = run(&mut *device, asked);
    assert_eq!(done, run(&mut *again, asked), "{text}: the same requests, the same times");
    let mut tickets: Vec<u64> = done.iter().map(|(request, ..)| request.ticket).collect();
    tickets.sort_unstable();
    assert_eq!(tickets, (0..asked.len() as u64).collect::<Vec<_>>(), "{text}: each is done once");
    let mut before = Time(0);
    for &(request, arrived, ended) in &done {
        let free = arrived.max(before);
        assert!(ended >= arrived && ended >= before && ended.0 <= free.0 + SERVICE_NS_MAX, "{text}: {request:?}");
        if let Some(per_s) = bus_bytes_per_s {
            let moving_ns = request.bytes * 1_000_000_000 / per_s;
            assert!(ended.0 >= free.0 + moving_ns, "{text}: {request:?} from {free} to {ended}");
        }
        before = ended;
    }
    let report = device.report();
    let bytes = asked.iter().map(|(_, _, blocks, _)| blocks * BLOCK_BYTES).sum();
    assert_eq!((report.requests, report.bytes), (asked.len() as u64, bytes));
    if bus_bytes_per_s.is_some() {
        assert!(report.busy_ns <= before.0);
    }
    report
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_device_conforms(
        asked in prop::collection::vec((0..40_000_000_u64, prop_oneof![0..40_u64, 0..1_000_000_u64], 1..=16_u64, any::<bool>()), 0..60)
    ) {
        for spec in disk::REGISTRY {
            for order in ["fifo", "sstf", "scan"] {
                conforms(&format!("{}:order={order}", spec.name), Some(spec.bus_bytes_per_s), &asked);
            }
        }
        conforms("hp2247:bus_kb_per_s=1000", Some(1_000_000), &asked);
        conforms("servers=1,latency_us=500,mb_per_s=10", Some(10_000_000), &asked);
        conforms("constant:servers=4,latency_us=500", None, &asked);
    }
}

/// Sixteen blocks at a time, one request after the other without a pause, from the beginning of the
/// disk.
fn sequential_mb_per_s(text: &str) -> f64 {
    let asked: Vec<Asked> = (0..200).map(|at| (u64::from(at == 0), at * 16, 16, false)).collect();
    let report = conforms(text, None, &asked);
    report.bytes as f64 * 1000.0 / report.busy_ns as f64
}

#[test]
fn a_drive_that_reads_ahead_streams_near_its_platter() {
    // 96 and 57 sectors a turn of 11.1 ms are 4.4 and 2.6 MB/s, less what head switches and the last
    // sectors of tracks take.
    let (hp, rz26) = (sequential_mb_per_s("hp2247"), sequential_mb_per_s("rz26"));
    assert!((3.0..4.4).contains(&hp) && (1.2..2.6).contains(&rz26), "{hp} {rz26}");
    assert!(sequential_mb_per_s("hp2247:bus_kb_per_s=2000") < 2.0);
}

#[test]
fn sorting_shortens_seeks() {
    let scattered: Vec<Asked> = (0..100).map(|at| (1, at * 7919 % 100_000, 1, false)).collect();
    let moved = |order| conforms(&format!("hp2247:order={order}"), None, &scattered).mean_seek_cylinders();
    let (fifo, sstf, scan) = (moved("fifo"), moved("sstf"), moved("scan"));
    assert!(fifo > 150.0 && sstf < 20.0 && scan < 20.0, "{fifo} {sstf} {scan}");
}

#[test]
fn a_broken_description_names_the_remedy() {
    for (text, remedy) in [
        ("hp9999", "or one of: hp2247, rz26"),
        ("rz26:order=best", "one of fifo, sstf, scan"),
        ("rz26:bus_kb_per_s=0", "bus_kb_per_s=10000"),
        ("rz26:turned_percent=100", "turned_percent=50"),
        ("rz26:fast", "order=ORDER"),
        ("constant:fast", "servers=4"),
        ("speed=9", "servers=4"),
    ] {
        let error = text.parse::<Choice>().unwrap_err();
        assert!(error.contains(remedy), "{text}: {error}");
    }
}
