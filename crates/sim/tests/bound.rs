//! No policy is quicker than the bound says, and where nothing stands in its way the bound is
//! reached.

use foresee_manager::policy::Registry;
use foresee_manager::{Config, DeviceId, FileId, ReaderId, Site, Source, Want};
use foresee_sim::host::{self, HostFile, Reader, Setup, Step, least_elapsed_ns};
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Options, Think};
use proptest::prelude::*;

/// Two files, the second one beyond what one request spans.
const BLOCKS: u64 = 2000;

/// What a thread does: it thinks for so many microseconds, and reads so many blocks from there on.
type Does = (u64, u32, u64, u64);

fn setup(threads: &[Vec<Does>], pages: u64, policy: &str, device: (&str, u16), told: Option<Source>) -> Setup {
    let (device, disks) = device;
    let options = Options { think: Think::None, disclose: None, device: device.parse().unwrap(), disks, lookup_ns: 0 };
    let mut setup = timed::setup(&Trace::of_blocks([], 4096), &options, Config::new(pages, policy.parse().unwrap()));
    setup.files = [0, 5000].map(|place| HostFile { device: DeviceId(0), blocks: BLOCKS, place }).into();
    let reads = |&(think_us, file, first, count): &Does| {
        let (file, first) = (FileId(file), first % (BLOCKS - count));
        [Step::Think { ns: think_us * 1000 }, Step::Read { file, first, count, site: Site(0) }]
    };
    let reader = |(does, number): (&Vec<Does>, u32)| {
        let steps: Vec<Step> = does.iter().flat_map(reads).collect();
        let hint = |step: &Step| match *step {
            Step::Read { file, first, count, .. } => {
                told.map(|source| Step::Hint { source, file, want: Want::Range { first, count } })
            }
            _ => None,
        };
        let hints: Vec<Step> = steps.iter().filter_map(hint).collect();
        Reader { id: ReaderId(number), steps: [hints, steps].concat() }
    };
    setup.readers = threads.iter().zip(0..).map(reader).collect();
    setup
}

fn thread() -> impl Strategy<Value = Vec<Does>> {
    let think = prop_oneof![3 => Just(0), 1 => 0..3000_u64];
    let first = prop_oneof![0..12_u64, (0..6_u64).prop_map(|at| at * 300)];
    proptest::collection::vec((think, 0..2_u32, first, prop_oneof![4 => Just(1), 1 => 1..5_u64]), 1..40)
}

fn device() -> impl Strategy<Value = String> {
    let constant = (0..4_u32, 0..3000_u32, prop_oneof![Just(0), 1..50_u32]);
    prop_oneof![
        3 => constant.prop_map(|(servers, us, mb)| format!("servers={servers},latency_us={us},mb_per_s={mb}")),
        1 => prop_oneof![Just("hp2247"), Just("rz26:order=sstf"), Just("ibm0661"), Just("disk10k")].prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_policy_beats_it(
        threads in proptest::collection::vec(thread(), 1..4),
        pages in prop_oneof![1..12_u64, 12..200_u64],
        policy in 0..Registry::default().specs().len(),
        device in device(),
        disks in prop_oneof![2 => Just(1), 1 => 2..5_u16],
        told in prop_oneof![Just(None), Just(Some(Source::Library)), Just(Some(Source::Profile))],
    ) {
        let name = Registry::default().specs()[policy].name;
        prop_assume!(name != "opt");
        let setup = setup(&threads, pages, name, (&device, disks), told);
        let (took, least) = (host::run(&setup).unwrap().elapsed_ns, least_elapsed_ns(&setup));
        prop_assert!(least <= took, "{} on {} x {}: {} ns, and at least {}", name, disks, device, took, least);
    }
}

/// It is told all, and reads with these thoughts; what it takes, and the least there is.
fn told(does: &[Does], pages: u64, policy: &str, device: &str) -> (u64, u64) {
    told_of_several(does, pages, policy, (device, 1))
}

/// The same on so many of these devices.
fn told_of_several(does: &[Does], pages: u64, policy: &str, device: (&str, u16)) -> (u64, u64) {
    let setup = setup(&[does.to_vec()], pages, policy, device, Some(Source::Library));
    (host::run(&setup).unwrap().elapsed_ns, least_elapsed_ns(&setup))
}

/// Blocks 300 apart, so that each takes a request of its own.
fn scattered(blocks: impl IntoIterator<Item = u64>, think_us: u64) -> Vec<Does> {
    blocks.into_iter().map(|block| (think_us, 0, block * 300, 1)).collect()
}

#[test]
fn where_nothing_stands_in_the_way_it_is_reached() {
    let ms = 1_000_000;
    // The latency of the first block, and nothing else.
    assert_eq!(told(&scattered(0..6, 0), 100, "aggressive", "servers=0,latency_us=1000"), (ms, ms));
    // One server: a latency each.
    assert_eq!(told(&scattered(0..6, 0), 100, "aggressive", "latency_us=1000"), (6 * ms, 6 * ms));
    // Two servers, three turns.
    assert_eq!(told(&scattered(0..6, 0), 100, "aggressive", "servers=2,latency_us=1000"), (3 * ms, 3 * ms));
    // Thought alone: all is here in time.
    assert_eq!(told(&scattered(0..6, 1000), 100, "aggressive", "servers=0,latency_us=1000"), (6 * ms, 6 * ms));
    // The first block comes in the middle of the thought before it is read, and the rest of the
    // thinking comes after it: 0.667 + ...
    let late = told(&scattered(0..5, 667), 100, "aggressive", "servers=0,latency_us=1000");
    assert_eq!(late, (ms + 4 * 667_000, ms + 4 * 667_000));
    // The link: 4,096 bytes at 1 MB/s, each block.
    let link =
        told(&(0..20).map(|at| (0, 0, at, 1)).collect::<Vec<_>>(), 100, "tip1:unread_share=1", "servers=0,mb_per_s=1");
    assert_eq!(link, (20 * 4_096_000, 20 * 4_096_000));
}

/// A memory of two pages, three blocks in a cycle: one in two reads needs a fetch, and the link
/// sends one after the other.
#[test]
fn what_must_be_fetched_again_counts() {
    let cycle = scattered((0..12).map(|at| at % 3), 0);
    let (took, least) = told(&cycle, 2, "aggressive", "servers=0,mb_per_s=1");
    assert_eq!(least, 7 * 4_096_000);
    assert!(took >= least, "{took}");
    assert_eq!(told(&cycle, 3, "aggressive", "servers=0,mb_per_s=1").1, 3 * 4_096_000);
}

/// Four links, sixteen blocks of 4,096 bytes at 1 MB/s on each: at once, and the first device
/// alone.
#[test]
fn several_devices_share_what_must_be_fetched() {
    let block_ns = 4_096_000;
    let in_order = |blocks: u64| (0..blocks).map(|at| (0, 0, at, 1)).collect::<Vec<_>>();
    let four = ("servers=0,mb_per_s=1", 4);
    assert_eq!(told_of_several(&in_order(64), 100, "aggressive", four), (16 * block_ns, 16 * block_ns));
    assert_eq!(told_of_several(&in_order(16), 100, "aggressive", four), (16 * block_ns, 16 * block_ns));
    // One server each, and no request beyond a unit of 16 blocks: two turns.
    let (took, least) = told_of_several(&in_order(128), 200, "tip1:unread_share=1", ("latency_us=1000", 4));
    assert_eq!(least, 2_000_000);
    assert!(took >= least, "{took}");
}

/// Two devices, a block of each in turn in a memory of one page: either device alone would fetch
/// its block once.
#[test]
fn what_several_devices_must_fetch_again_counts() {
    let in_turn: Vec<Does> = (0..8).map(|at| (0, 0, at % 2 * 16, 1)).collect();
    let (took, least) = told_of_several(&in_turn, 1, "aggressive", ("servers=0,mb_per_s=1", 2));
    assert_eq!(least, 4 * 4_096_000);
    assert!(took >= least, "{took}");
}
