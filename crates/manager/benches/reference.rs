//! What one reference costs, in time and in memory.
//!
//! Each row: a million blocks are read in, then several rounds of references, of the processor's
//! time: the median, the least (what a busy machine distorts least), and how many times what `lru`
//! took, the median of rounds made one after the other. `--json` prints one object a row; names of
//! policies have those measured alone. A cache's cost is that of the memory it touches:
//! `sequential` shows the instructions, `uniform` the misses. What is remembered of a block that
//! was given up, a ghost, is what the memory grows by in the first round in which each reference
//! gives one up.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use foresee_manager::*;

/// Counts what is allocated.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RESIDENT: u64 = 1_000_000;
const REFERENCES: usize = 1_000_000;
const ROUNDS: usize = 9;
const POLICIES: [&str; 13] = [
    "null",
    "lru",
    "tip1",
    "lru-sp",
    "lru-top",
    "lru-bottom",
    "sarc",
    "sarc-amp",
    "readahead",
    "tip2",
    "tip2-amp",
    "experts",
    "informed",
];

struct Random(u64);

impl Random {
    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// In 0..1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[derive(Clone, Copy)]
enum Pattern {
    Sequential,
    Zipf,
    Uniform,
    /// Never a block twice: each misses and gives one up.
    Fresh,
    /// In order, pass after pass, each read disclosed.
    Disclosed,
}

impl Pattern {
    fn name(self) -> &'static str {
        match self {
            Pattern::Sequential => "sequential",
            Pattern::Zipf => "zipf",
            Pattern::Uniform => "uniform",
            Pattern::Fresh => "miss and evict",
            Pattern::Disclosed => "disclosed",
        }
    }

    fn is_for(self, policy: &str) -> bool {
        match self {
            Pattern::Sequential => true,
            Pattern::Zipf | Pattern::Uniform | Pattern::Fresh => policy != "null",
            Pattern::Disclosed => policy.starts_with("tip2") || policy == "informed",
        }
    }

    fn blocks(self, round: usize, random: &mut Random) -> Vec<u64> {
        let spread = |rank: u64| rank.wrapping_mul(0x9e37_79b9_7f4a_7c15) % RESIDENT;
        let one = |at: usize| match self {
            Pattern::Sequential => at as u64 % RESIDENT,
            Pattern::Disclosed => (round * REFERENCES + at) as u64 % RESIDENT,
            // Rank r with a chance of about 1 / r: the popular ones lie apart.
            Pattern::Zipf => spread((RESIDENT as f64).powf(random.unit()) as u64),
            Pattern::Uniform => random.next() % RESIDENT,
            Pattern::Fresh => RESIDENT * 2 + (round * REFERENCES + at) as u64,
        };
        (0..REFERENCES).map(one).collect()
    }
}

fn read(manager: &mut Manager, index: u64, actions: &mut Vec<Action>) {
    let (reader, site, file, demand) = (ReaderId(1), Site(0), FileId((index >> 20) as u32), Demand::Observed);
    let first = index & 0xf_ffff;
    manager.handle(Time(0), Event::Reference { reader, site, file, first, count: 1, demand }, actions);
    actions.clear();
}

fn full(policy: &str) -> (Manager, f64) {
    let policy = policy.parse().expect("a policy");
    let config = Config::new(RESIDENT, policy);
    let before = ALLOCATED.load(Ordering::Relaxed);
    let mut manager = Manager::new(&config);
    let mut actions = Vec::with_capacity(16);
    (0..RESIDENT).for_each(|index| read(&mut manager, index, &mut actions));
    let bytes = ALLOCATED.load(Ordering::Relaxed) - before;
    (manager, bytes as f64 / RESIDENT as f64)
}

/// The reader says that it will read all that is here, in order, again and again.
fn disclose_passes(manager: &mut Manager) {
    let (reader, source, mut actions) = (ReaderId(1), Source::Library, Vec::new());
    for file in 0..RESIDENT.div_ceil(1 << 20) as u32 {
        let file = FileId(file);
        let known = Event::FileKnown { file, device: DeviceId(0), blocks: RESIDENT.min(1 << 20), place: 0 };
        manager.handle(Time(0), known, &mut actions);
        manager.handle(Time(0), Event::Hint { reader, source, file, want: Want::All }, &mut actions);
    }
    manager.handle(Time(0), Event::Repeat { reader, source, entries: u64::MAX, passes: u64::MAX }, &mut actions);
}

/// The time this thread had a processor, in nanoseconds; a busy machine's other work is not in it.
fn processor_ns() -> u64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("/proc/thread-self/schedstat");
    schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds on a processor")
}

/// What a reference takes, in nanoseconds, round by round.
struct Contender {
    policy: String,
    manager: Manager,
    bytes: f64,
    rounds: Vec<f64>,
    /// By how much its memory grew in the first round, bytes a reference.
    grown: f64,
}

impl Contender {
    fn new(policy: &str, pattern: Pattern) -> Self {
        let (mut manager, bytes) = full(policy);
        if matches!(pattern, Pattern::Disclosed) {
            disclose_passes(&mut manager);
        }
        // What keeps nothing has no bytes a block.
        let bytes = if manager.ledger().used > 0 { bytes } else { 0.0 };
        Contender { policy: policy.to_owned(), manager, bytes, rounds: Vec::new(), grown: 0.0 }
    }

    fn make_round(&mut self, blocks: &[u64]) {
        let mut actions = Vec::with_capacity(16);
        let before = ALLOCATED.load(Ordering::Relaxed);
        let begun = processor_ns();
        for &index in black_box(blocks) {
            read(&mut self.manager, index, &mut actions);
        }
        self.rounds.push((processor_ns() - begun) as f64 / REFERENCES as f64);
        if self.rounds.len() == 1 {
            self.grown = (ALLOCATED.load(Ordering::Relaxed) as f64 - before as f64) / REFERENCES as f64;
        }
    }
}

/// Of none: not a number.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let (flags, policies): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let json = flags.iter().any(|flag| flag == "--json");
    let named = |policy: &str| policies.is_empty() || policy == "lru" || policies.iter().any(|it| it == policy);
    if !json {
        let (least, times) = ("least", "times lru's");
        println!(
            "{:<10} {:<16} {:>12} {least:>8} {times:>12} {:>21} {:>12}",
            "policy", "pattern", "ns/reference", "bytes/resident block", "bytes/ghost"
        );
    }
    for pattern in [Pattern::Sequential, Pattern::Zipf, Pattern::Uniform, Pattern::Fresh, Pattern::Disclosed] {
        let policies = POLICIES.iter().filter(|policy| named(policy) && pattern.is_for(policy));
        let mut contenders: Vec<_> = policies.map(|policy| Contender::new(policy, pattern)).collect();
        let mut random = Random(0x5eed);
        for round in 0..ROUNDS {
            let blocks = pattern.blocks(round, &mut random);
            contenders.iter_mut().for_each(|it| it.make_round(&blocks));
        }
        let lru = contenders.iter().find(|it| it.policy == "lru").map(|it| it.rounds.clone()).unwrap_or_default();
        for Contender { policy, bytes, rounds, grown, .. } in contenders {
            let times = median(rounds.iter().zip(&lru).map(|(own, lru)| own / lru).collect());
            let (ns, least) = (median(rounds.clone()), rounds.iter().copied().fold(f64::INFINITY, f64::min));
            // Where nothing is given up there are no ghosts.
            let ghost = matches!(pattern, Pattern::Fresh).then_some(grown);
            let pattern = pattern.name();
            if json {
                let ghost = ghost.map_or(String::new(), |ghost| format!(",\"ghost_bytes\":{ghost:.1}"));
                let times = format!("\"ns\":{ns:.1},\"ns_least\":{least:.1}");
                println!("{{\"policy\":\"{policy}\",\"pattern\":\"{pattern}\",{times},\"bytes\":{bytes:.1}{ghost}}}");
            } else {
                let ghost = ghost.map_or(String::new(), |ghost| format!("{ghost:.1}"));
                println!("{policy:<10} {pattern:<16} {ns:>12.1} {least:>8.1} {times:>12.2} {bytes:>21.1} {ghost:>12}");
            }
        }
    }
}
