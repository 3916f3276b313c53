//! What `informed` must reach, on recordings of real programs that the project ships: a few cells
//! of the told table that `bench/policies` makes of all of them.

use std::path::Path;

use foresee_manager::Config;
use foresee_sim::cells::map;
use foresee_sim::device::Choice;
use foresee_sim::host;
use foresee_sim::load::Trace;
use foresee_sim::timed::{Disclosure, Options, Think, setup};

const DEVICES: [(&str, u16); 4] = [
    ("servers=64,latency_us=5000,mb_per_s=1000", 1),
    ("servers=0,latency_us=20000,mb_per_s=100", 1),
    ("disk10k", 1),
    ("disk10k", 4),
];

/// One trace on one device, in a part of the memory that holds all of it.
struct Cell<'a> {
    name: &'a str,
    trace: &'a Trace,
    device: Choice,
    disks: u16,
    percent: u64,
}

impl Cell<'_> {
    /// Seconds, by this policy, with so much known beforehand.
    fn takes(&self, policy: &str, disclose: Option<Disclosure>) -> f64 {
        let Cell { trace, device, disks, percent, .. } = *self;
        let options = Options { think: Think::Fixed(50_000), disclose, device, disks, lookup_ns: 0 };
        let config = Config::new(trace.distinct_blocks() * percent / 100, policy.parse().unwrap());
        host::run(&setup(trace, &options, config)).unwrap().elapsed_ns as f64 / 1e9
    }

    fn named(&self) -> String {
        let device = self.device.to_string();
        let kind = device.trim_start_matches("constant:").split([':', ',']).next().unwrap_or_default();
        format!("{}, {} x {kind}, {} %", self.name, self.disks, self.percent)
    }
}

/// The cells that do not hold to it.
fn fall_short(percents: &[u64], holds: impl Fn(&Cell<'_>) -> bool + Sync) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/src/p002/traces");
    let load = |name| (name, Trace::load(&folder.join(format!("{name}.parquet")), None, 4096).unwrap());
    let traces = ["cs3", "pjn", "sort"].map(load);
    let mut cells = Vec::new();
    for (name, trace) in &traces {
        for (device, disks) in DEVICES {
            let device = device.parse().unwrap();
            cells.extend(percents.iter().map(|&percent| Cell { name, trace, device, disks, percent }));
        }
    }
    let short = map(&cells, &|_, _| {}, |cell| (!holds(cell)).then(|| cell.named()));
    short.into_iter().flatten().collect()
}

/// The cells that take longer, by 7 and 9 %, are known: on arms a page is held for what a request of
/// its own would cost, though it would have joined another.
#[test]
fn told_all_it_is_as_quick_as_the_fields_told_policies() {
    let short = fall_short(&[20, 50], |cell| {
        let told = |policy| cell.takes(policy, Some(Disclosure::TOLD));
        told("informed") <= 1.05 * told("aggressive").min(told("forestall"))
    });
    assert_eq!(short, ["pjn, 1 x disk10k, 20 %", "pjn, 1 x disk10k, 50 %"]);
}

/// On arms alone to know more may cost: runs found as they are read come in longer requests than
/// what is told.
#[test]
fn to_know_more_never_costs() {
    let short = fall_short(&[20], |cell| {
        let known = [None, Some(Disclosure::recorded(0, 64)), Some(Disclosure::TOLD)];
        let [nothing, recorded, told] = known.map(|disclose| cell.takes("informed", disclose));
        recorded <= 1.02 * nothing && told <= 1.02 * recorded
    });
    assert_eq!(short, ["pjn, 1 x disk10k, 20 %", "sort, 1 x disk10k, 20 %", "sort, 4 x disk10k, 20 %"]);
}

/// Of what is told a fifth is replaced by other blocks: where requests overlap, the rest is still
/// worth more than nothing; on an arm it is not.
#[test]
fn what_is_partly_wrong_is_worth_something_where_requests_overlap() {
    let short = fall_short(&[20, 90], |cell| {
        let known = [None, Some(Disclosure::recorded(20, 64))];
        let [nothing, wrong] = known.map(|disclose| cell.takes("informed", disclose));
        cell.device.to_string().contains("disk") || wrong <= nothing
    });
    assert!(short.is_empty(), "{short:?}");
}

/// Told all of these blocks, in so many pages, on this device, without thought.
fn told(blocks: impl Iterator<Item = u64>, policy: &str, pages: u64, device: &str) -> host::Report {
    let trace = Trace::of_blocks(blocks, 4096);
    let (disclose, device) = (Some(Disclosure::TOLD), device.parse().unwrap());
    let options = Options { think: Think::None, disclose, device, disks: 1, lookup_ns: 0 };
    host::run(&setup(&trace, &options, Config::new(pages, policy.parse().unwrap()))).unwrap()
}

/// Each as long as all memory. Sent a block at a time, a device of one server took 17 times as long
/// as `aggressive`, which fetches as far ahead as it may.
#[test]
fn two_files_read_in_turn_come_in_long_requests() {
    let turns = || (0..6000).map(|at| at % 2 * 1_000_000 + at / 2 % 600);
    let takes = |policy| told(turns(), policy, 600, "servers=1,latency_us=5000,mb_per_s=0").elapsed_ns;
    let (informed, aggressive) = (takes("informed"), takes("aggressive"));
    assert!(informed < 4 * aggressive, "{informed} for {aggressive}");
}

/// On a link that its bytes fill, a long request takes long for its bytes alone. With them in the
/// wait, all of this memory was no more than what is under way, and what is used last was given up
/// for it: as many blocks as `aggressive` fetches.
#[test]
fn what_a_long_request_brings_is_no_wait() {
    let mut chance = 1_u64;
    let blocks: Vec<u64> = (0..1000)
        .chain(std::iter::repeat_with(move || {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % 500 * 3
        }))
        .take(7000)
        .collect();
    let bytes =
        |policy| told(blocks.iter().copied(), policy, 150, "servers=0,latency_us=5000,mb_per_s=8").devices[0].bytes;
    let (informed, aggressive) = (bytes("informed"), bytes("aggressive"));
    assert!(informed * 4 < aggressive * 3, "{informed} for {aggressive}");
}

#[test]
fn what_is_read_backward_goes_in_few_requests() {
    let report = told((0..5000).rev(), "informed", 2500, "servers=64,latency_us=5000,mb_per_s=1000");
    assert!(report.devices[0].requests < 5000 / 8, "{}", report.devices[0].requests);
}
