//! I10 beside readers that lie: what another reader discloses and does not read takes at most half
//! of the memory from who reads beside it. On a link, where nobody waits for the other's requests.

use foresee_manager::{Config, DeviceId, FileId, ReaderId, Site, Source, Trust, Want};
use foresee_sim::host::{self, HostFile, Reader, Setup, Step};
use foresee_sim::load::Trace;
use foresee_sim::timed::{self, Options, Think};
use proptest::prelude::*;

const READS: u64 = 2000;
const BLOCKS: u64 = 1 << 20;
const LATENCY_NS: u64 = 5_000_000;

/// What a reader reads: so many blocks that lie apart, in turn or by chance, or one after the
/// other.
#[derive(Debug, Clone, Copy)]
enum Reads {
    InTurn(u64),
    ByChance(u64),
    InOrder,
}

impl Reads {
    fn nth(self, at: u64) -> u64 {
        // As Steele, Lea and Flood mix (SplitMix64).
        let mut mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        match self {
            Reads::InTurn(blocks) => at % blocks * 10,
            Reads::ByChance(blocks) => (mixed >> 33) % blocks * 10,
            Reads::InOrder => at,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Case {
    honest: Reads,
    liar: Reads,
    /// Blocks the liar discloses before each of its reads, and of how many one is what it reads
    /// next.
    told: u64,
    one_in: u64,
    pages: u64,
    trust: Trust,
}

const THINK: Step = Step::Think { ns: 50_000 };

impl Case {
    fn setup(&self, policy: &str, lies: bool) -> Setup {
        let device = format!("servers=64,latency_us={},mb_per_s=1000", LATENCY_NS / 1000).parse().unwrap();
        let how = Options { think: Think::None, disclose: None, device, disks: 1, lookup_ns: 0 };
        let config = Config { trust: self.trust, ..Config::new(self.pages, policy.parse().unwrap()) };
        let mut setup = timed::setup(&Trace::of_blocks([], 4096), &how, config);
        setup.files = [0, BLOCKS].map(|place| HostFile { device: DeviceId(0), blocks: BLOCKS, place }).into();
        let read = |file, first| [THINK, Step::Read { file: FileId(file), first, count: 1, site: Site(file.into()) }];
        let honest = (0..READS).flat_map(|at| read(0, self.honest.nth(at))).collect();
        let hint =
            |first| Step::Hint { source: Source::Library, file: FileId(1), want: Want::Range { first, count: 1 } };
        let junk = |nth: u64| BLOCKS / 2 + nth * 17 % 400_000;
        let said = |at: u64| {
            let numbers = at * self.told..(at + 1) * self.told;
            numbers.map(move |nth| hint(if nth % self.one_in == 0 { self.liar.nth(at) } else { junk(nth) }))
        };
        let says = |at: u64| lies.then(|| said(at)).into_iter().flatten();
        let liar = (0..READS).flat_map(|at| says(at).chain(read(1, self.liar.nth(at)))).collect();
        setup.readers = vec![Reader { id: ReaderId(0), steps: honest }, Reader { id: ReaderId(1), steps: liar }];
        setup
    }

    /// How long the honest reader waits.
    fn waits(&self, policy: &str, lies: bool) -> u64 {
        host::run(&self.setup(policy, lies)).unwrap().readers[0].stall_ns
    }
}

fn reads() -> impl Strategy<Value = Reads> {
    prop_oneof![(1..300_u64).prop_map(Reads::InTurn), (1..300_u64).prop_map(Reads::ByChance), Just(Reads::InOrder)]
}

fn case() -> impl Strategy<Value = Case> {
    let trust = prop_oneof![Just(Trust::Full), Just(Trust::Earned { initial_blocks: 64 })];
    let case = (reads(), reads(), 1..6_u64, 2..6_u64, 50..300_u64, trust);
    case.prop_map(|(honest, liar, told, one_in, pages, trust)| Case { honest, liar, told, one_in, pages, trust })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// At most half of the memory goes to who lies, and one read in ten misses what was given up for a moment.
    #[test]
    fn who_reads_beside_a_liar_keeps_half_the_memory(case in case()) {
        let half = Case { pages: case.pages / 2, ..case };
        let enough = case.waits("informed", false).max(half.waits("lru", false));
        let waits = case.waits("informed", true);
        prop_assert!(waits <= enough + READS / 10 * LATENCY_NS, "{} of {}", waits, enough);
    }
}

/// Where there is room for all that both read over and over, what is brought in vain takes that
/// room.
#[test]
fn what_is_brought_in_vain_goes_first() {
    for trust in [Trust::Full, Trust::Earned { initial_blocks: 64 }] {
        let (honest, liar) = (Reads::InTurn(40), Reads::ByChance(34));
        let case = Case { honest, liar, told: 3, one_in: 4, pages: 266, trust };
        let (silent, lying) = (case.waits("informed", false), case.waits("informed", true));
        assert!(lying <= silent + 10 * LATENCY_NS, "{lying} of {silent}, {trust:?}");
    }
}
