//! `pcc` and `ubm` (004) against a reference model: one list of pages searched from end to end,
//! tables searched from end to end, depths counted one by one.

use foresee_manager::*;
use proptest::prelude::*;

const FILES: u32 = 3;
const BLOCKS: u64 = 14;

/// A read of one block.
#[derive(Debug, Clone, Copy)]
struct Read {
    reader: u32,
    site: u64,
    block: Block,
}

/// Runs, loops and scattered reads, by two readers from four sites.
fn reads() -> impl Strategy<Value = Vec<Read>> {
    let stretch = (0..2u32, 0..4u64, 0..FILES, 0..BLOCKS, 1..8u64, 1..4u64).prop_map(
        |(reader, site, file, first, count, passes)| {
            let block = move |at| Block { file: FileId(file), index: (first + at) % BLOCKS };
            let pass = (0..count).map(move |at| Read { reader, site, block: block(at) });
            (0..passes).flat_map(move |_| pass.clone()).collect::<Vec<_>>()
        },
    );
    proptest::collection::vec(stretch, 1..40).prop_map(|stretches| stretches.concat())
}

/// What could be wrong, for the test that the comparison would notice.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slip {
    None,
    LoopIsLru,
    ShortestLoopFirst,
    OthersSequentialFirst,
    NoGain,
    CountedFirst,
    OwnSampleCounts,
    JumpStaysLoop,
    NothingIsOverdue,
    NothingTurns,
    PeriodsAreExact,
    NewestInALoop,
    OnwardForEver,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Class {
    Sequential,
    /// Of this site or file.
    Looping(u64),
    Other,
}

/// A page here.
#[derive(Debug, Clone, Copy)]
struct Page {
    block: Block,
    class: Class,
    /// The site or file.
    group: u64,
    reader: u32,
    read: u64,
}

/// The two ways to classify.
enum Classes {
    Pcc {
        threshold: u64,
        sample: u64,
        halve_at: u64,
        irregular: f64,
        /// Site, Seq, Loop, period, spread, references since a sample.
        sites: Vec<(u64, u64, u64, u64, u64, u64)>,
        /// Block, site, when.
        samples: Vec<(Block, u64, u64)>,
    },
    Ubm {
        threshold: u64,
        /// File, blocks of the run in order, when it was begun, period, longest length read again.
        files: Vec<(FileId, Vec<u64>, u64, u64, usize)>,
    },
}

impl Classes {
    fn group(&self, read: Read) -> u64 {
        match self {
            Classes::Pcc { .. } => read.site,
            Classes::Ubm { .. } => u64::from(read.block.file.0),
        }
    }

    fn period(&self, group: u64) -> u64 {
        match self {
            Classes::Pcc { sites, .. } => sites.iter().find(|it| it.0 == group).map_or(0, |it| it.3),
            Classes::Ubm { files, .. } => files.iter().find(|it| u64::from(it.0.0) == group).map_or(0, |it| it.3),
        }
    }

    fn refer(&mut self, now: u64, read: Read, slip: Slip) -> Class {
        match self {
            Classes::Pcc { threshold, sample, halve_at, irregular, sites, samples } => {
                let find = |sites: &mut Vec<(u64, u64, u64, u64, u64, u64)>, site: u64| {
                    sites.iter().position(|it| it.0 == site).unwrap_or_else(|| {
                        sites.push((site, 0, 0, 0, 0, 0));
                        sites.len() - 1
                    })
                };
                let own = find(sites, read.site);
                let class = |&(site, seq, looped, period, spread, _): &(u64, u64, u64, u64, u64, u64)| {
                    let regular = spread as f64 <= *irregular * period as f64;
                    if looped > seq {
                        if regular { Class::Looping(site) } else { Class::Other }
                    } else if seq >= *threshold && (regular || looped <= seq / 20 + 4 * *sample) {
                        Class::Sequential
                    } else {
                        Class::Other
                    }
                };
                let mut found = class(&sites[own]);
                let before = samples.iter().position(|it| it.0 == read.block).map(|at| samples.remove(at));
                if let Some((_, site, at)) = before {
                    let at_site = find(sites, site);
                    let (_, seq, looped, period, spread, _) = &mut sites[at_site];
                    let after = now - at;
                    *seq = seq.saturating_sub(*sample);
                    *looped += *sample;
                    (*period, *spread) = match *period {
                        0 => (after, after),
                        before => ((before + after).div_ceil(2), (7 * *spread + after.abs_diff(before)) / 8),
                    };
                }
                sites[own].5 += 1;
                if sites[own].5 % *sample == 0 {
                    samples.push((read.block, read.site, now));
                    if slip == Slip::OwnSampleCounts || before.is_none_or(|it| it.1 != read.site) {
                        sites[own].1 += *sample;
                    }
                }
                if sites[own].1 + sites[own].2 > *halve_at {
                    (sites[own].1, sites[own].2) = (sites[own].1 / 2, sites[own].2 / 2);
                }
                if slip == Slip::CountedFirst {
                    found = class(&sites[own]);
                }
                found
            }
            Classes::Ubm { threshold, files } => {
                let at = files.iter().position(|it| it.0 == read.block.file).unwrap_or_else(|| {
                    files.push((read.block.file, Vec::new(), now, 0, 0));
                    files.len() - 1
                });
                let (file, run, begun, period, looped) = &mut files[at];
                let index = read.block.index;
                let long = run.len().max(*looped) as u64 >= *threshold;
                if run.len() > 1 && run.first() == Some(&index) && long {
                    (*looped, *period, *begun) = (run.len().max(*looped), now - *begun, now);
                    *run = vec![index];
                } else if run.last().is_some_and(|last| last + 1 == index) {
                    run.push(index);
                } else if run.last() != Some(&index) {
                    (*run, *begun) = (vec![index], now);
                    if slip != Slip::JumpStaysLoop {
                        // Pages of the loop stay what they are, with its last period.
                        *looped = 0;
                    }
                }
                if *looped > 0 {
                    Class::Looping(u64::from(file.0))
                } else if run.len() as u64 >= *threshold {
                    Class::Sequential
                } else {
                    Class::Other
                }
            }
        }
    }
}

/// Hits by depth of the queue of other blocks.
struct Depths {
    queue: Vec<Block>,
    length: usize,
    segment: usize,
    hits: Vec<f64>,
    references: f64,
    counted: usize,
}

impl Depths {
    fn new(capacity: usize) -> Self {
        let (length, segment) = (2 * capacity, (capacity / 16).max(1));
        let hits = vec![0.0; length.div_ceil(segment)];
        Depths { queue: Vec::new(), length, segment, hits, references: 0.0, counted: 0 }
    }

    fn refer(&mut self, block: Block, other: bool) {
        if let Some(depth) = self.queue.iter().position(|&it| it == block) {
            self.queue.remove(depth);
            if other {
                self.hits[depth / self.segment] += 1.0;
            }
        }
        if other {
            self.queue.insert(0, block);
            self.queue.truncate(self.length);
        }
        self.references += 1.0;
        self.counted += 1;
        if self.counted.is_multiple_of(4 * self.length) {
            self.references /= 2.0;
            self.hits.iter_mut().for_each(|hits| *hits /= 2.0);
        }
    }

    /// The best mean from the segment of the last of so many pages on.
    fn gain(&self, pages: usize) -> f64 {
        let rest = &self.hits[(pages.saturating_sub(1) / self.segment).min(self.hits.len() - 1)..];
        let best = (1..=rest.len()).map(|to| rest[..to].iter().sum::<f64>() / to as f64).fold(0.0, f64::max);
        best * (1.0 / (self.references.max(1.0) * self.segment as f64))
    }
}

struct Model {
    capacity: usize,
    slip: Slip,
    /// Periods after which a looping page is overdue.
    overdue: u64,
    /// What was read in sequence turns with its group.
    follow: bool,
    /// Periods of the same power of two are one length.
    alike: bool,
    /// After a page of a loop goes the next of its file, if it was read lately.
    onward: bool,
    classes: Classes,
    pages: Vec<Page>,
    depths: Depths,
    now: u64,
    /// The block of a loop that went last.
    went: Option<Block>,
}

impl Model {
    fn new(name: &str, classes: Classes, capacity: usize, slip: Slip) -> Self {
        let overdue = if name.contains("overdue=1e9") { 1 << 40 } else { 3 };
        let has = |parameter: &str| name.starts_with("pcc") && !name.contains(&format!("{parameter}=0"));
        let (follow, alike, onward) = (has("follow"), has("alike"), has("onward"));
        let (pages, depths) = (Vec::new(), Depths::new(capacity));
        Model { capacity, slip, overdue, follow, alike, onward, classes, pages, depths, now: 0, went: None }
    }

    /// What the read gives up.
    fn read(&mut self, read: Read) -> Option<Block> {
        let before = self.pages.iter().position(|page| page.block == read.block);
        let full = self.pages.len() == self.capacity;
        let gone = (before.is_none() && full).then(|| {
            let victim = self.victim(read.reader);
            self.pages.remove(victim).block
        });
        if let Some(before) = before {
            self.pages.remove(before);
        }
        self.now += 1;
        let class = self.classes.refer(self.now, read, self.slip);
        self.depths.refer(read.block, class == Class::Other);
        let group = self.classes.group(read);
        if matches!(class, Class::Looping(_)) && self.follow && self.slip != Slip::NothingTurns {
            let turned = |page: &&mut Page| page.class == Class::Sequential && page.group == group;
            self.pages.iter_mut().filter(turned).for_each(|page| page.class = class);
        }
        self.pages.push(Page { block: read.block, class, group, reader: read.reader, read: self.now });
        gone
    }

    fn length(&self, group: u64) -> u64 {
        let period = self.classes.period(group);
        if self.alike && self.slip != Slip::PeriodsAreExact { u64::from(period.max(1).ilog2()) } else { period }
    }

    /// The page of a loop that goes onward from the one that went last.
    fn next(&self, longest: u64) -> Option<usize> {
        let Block { file, index } = self.went?;
        let next = Block { file, index: index + 1 };
        let mut pages = self.pages.iter().enumerate().filter(|(_, page)| matches!(page.class, Class::Looping(_)));
        let (at, page) = pages.find(|(_, page)| page.block == next)?;
        let loops = self.pages.iter().filter(|page| matches!(page.class, Class::Looping(_))).count() as u64;
        let is_long_ago = 8 * (self.now - page.read) > loops && self.slip != Slip::OnwardForEver;
        let goes = self.onward && self.slip != Slip::NewestInALoop;
        (goes && self.length(page.group) == longest && !is_long_ago).then_some(at)
    }

    fn victim(&mut self, reader: u32) -> usize {
        // The page that ranks highest among those that have a rank.
        let best = |rank: &dyn Fn(&Page) -> Option<(u64, u64)>| {
            let ranks = self.pages.iter().enumerate().filter_map(|(at, page)| Some((rank(page)?, at)));
            ranks.max().map(|(_, at)| at)
        };
        let own = |page: &Page| u64::from((page.reader == reader) != (self.slip == Slip::OthersSequentialFirst));
        let sequential = |page: &Page| (page.class == Class::Sequential).then(|| (own(page), page.read));
        let looping = |page: &Page| match page.class {
            Class::Looping(group) => {
                let (length, read) = (self.length(group), page.read);
                Some(match self.slip {
                    Slip::LoopIsLru => (length, u64::MAX - read),
                    Slip::ShortestLoopFirst => (u64::MAX - length, read),
                    _ => (length, read),
                })
            }
            _ => None,
        };
        let other = |page: &Page| (page.class == Class::Other).then_some((u64::MAX - page.read, 0));
        let loops = self.pages.iter().filter(|page| matches!(page.class, Class::Looping(_)));
        let longest = loops.max_by_key(|page| (self.length(page.group), page.read));
        let others = self.pages.iter().filter(|page| page.class == Class::Other).count();
        let worth = longest.map_or(f64::INFINITY, |page| 1.0 / self.classes.period(page.group) as f64);
        let other_first = self.slip == Slip::NoGain || self.depths.gain(others) < worth;
        // The first that was overdue goes before all of them.
        let overdue = |page: &Page| match page.class {
            Class::Looping(group) => {
                let deadline = page.read + self.overdue * self.classes.period(group);
                (deadline < self.now && self.slip != Slip::NothingIsOverdue)
                    .then_some((u64::MAX - deadline, u64::MAX - group))
            }
            _ => None,
        };
        let overdue = best(&overdue);
        let next = longest.and_then(|page| self.next(self.length(page.group)));
        let (looping, other) = (next.or(best(&looping)), best(&other));
        let others = if other_first { other.or(looping) } else { looping.or(other) };
        let first = best(&sequential).or(overdue);
        if let Some(at) = others.filter(|_| first.is_none())
            && let Class::Looping(_) = self.pages[at].class
        {
            self.went = Some(self.pages[at].block);
        }
        first.or(others).expect("a page")
    }
}

/// A policy by its name, and its model.
fn pair(choice: usize, capacity: usize, slip: Slip) -> (Manager, Model) {
    let pcc = |threshold, sample, halve_at, irregular| {
        let (sites, samples) = (Vec::new(), Vec::new());
        Classes::Pcc { threshold, sample, halve_at, irregular, sites, samples }
    };
    let ubm = |threshold| Classes::Ubm { threshold, files: Vec::new() };
    let (name, classes) = match choice {
        0 => (
            "pcc:threshold=3,sample=1,by_hash=0,halve_at=0,irregular=1e9,follow=0,alike=0,onward=0,overdue=1e9",
            pcc(3, 1, u64::MAX, 1e9),
        ),
        1 => ("pcc:threshold=4,sample=3,by_hash=0,halve_at=0,irregular=1e9,alike=0", pcc(4, 3, u64::MAX, 1e9)),
        2 => ("pcc:threshold=3,sample=1,halve_at=24,irregular=0.5", pcc(3, 1, 24, 0.5)),
        3 => ("ubm:overdue=1e9", ubm(3)),
        _ => ("ubm:threshold=1", ubm(1)),
    };
    let config = Config::new(capacity as u64, name.parse().expect("a policy"));
    (Manager::new(&config), Model::new(name, classes, capacity, slip))
}

/// Where the two first give up different blocks, if they do.
fn difference(choice: usize, capacity: usize, reads: &[Read], slip: Slip) -> Option<String> {
    let (mut manager, mut model) = pair(choice, capacity, slip);
    let mut out = Vec::new();
    for (at, &read) in reads.iter().enumerate() {
        let Read { reader, site, block } = read;
        let (reader, site, demand) = (ReaderId(reader), Site(site), Demand::Observed);
        let event = Event::Reference { reader, site, file: block.file, first: block.index, count: 1, demand };
        manager.handle(Time(0), event, &mut out);
        manager.check();
        let gone = out.drain(..).find_map(|action| match action {
            Action::Order(Order::Drop { file, first, .. }) => Some(Block { file, index: first }),
            _ => None,
        });
        let expected = model.read(read);
        if gone != expected {
            return Some(format!("read {at}, {read:?}: {gone:?} instead of {expected:?}"));
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn as_the_model(reads in reads(), choice in 0..5usize, capacity in 1..24usize) {
        prop_assert_eq!(difference(choice, capacity, &reads, Slip::None), None);
    }
}

/// A model with any of these slips differs from the policies somewhere.
#[test]
fn the_comparison_would_notice() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let cases: Vec<Vec<Read>> = (0..60).map(|_| reads().new_tree(&mut runner).expect("reads").current()).collect();
    let notices = |slip| cases.iter().any(|reads| (0..5).any(|choice| difference(choice, 8, reads, slip).is_some()));
    assert!(!notices(Slip::None));
    for slip in [
        Slip::LoopIsLru,
        Slip::ShortestLoopFirst,
        Slip::OthersSequentialFirst,
        Slip::NoGain,
        Slip::CountedFirst,
        Slip::OwnSampleCounts,
        Slip::JumpStaysLoop,
        Slip::NothingIsOverdue,
        Slip::NothingTurns,
        Slip::PeriodsAreExact,
        Slip::NewestInALoop,
        Slip::OnwardForEver,
    ] {
        assert!(notices(slip), "{slip:?} goes unnoticed");
    }
}

/// The policy of other pages is any: what has no pattern is held as that policy holds it.
#[test]
fn other_pages_are_left_to_another_policy() {
    let misses = |policy: &str, capacity: u64| {
        let mut manager = Manager::new(&Config::new(capacity, policy.parse().expect("a policy")));
        let mut state = 7_u64;
        for _ in 0..4000 {
            // Skewed, and from too many sites for any to be learned.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let first = (state >> 40) % 40 * ((state >> 20) % 40) / 40;
            let (reader, site, demand) = (ReaderId(1), Site(state >> 30), Demand::Observed);
            let event = Event::Reference { reader, site, file: FileId(0), first, count: 1, demand };
            manager.handle(Time(0), event, &mut Vec::new());
        }
        manager.statistics().misses
    };
    for other in ["lru", "arc"] {
        for capacity in [4, 12] {
            assert_eq!(misses(&format!("pcc:other={other}"), capacity), misses(other, capacity), "{other}");
        }
    }
    let error = "pcc:other=best".parse::<policy::Choice>().unwrap_err();
    assert!(error.contains("'best' is no value of pcc's other") && error.contains("lru"), "{error}");
}

/// What one run learned of call sites, the next knows from its first reference on (004 section
/// 4.3): a loop loses nothing to its first passes.
#[test]
fn a_second_run_starts_classified() {
    let run = |learned: &[Event]| {
        let mut manager = Manager::new(&Config::new(60, "pcc".parse().expect("a policy")));
        let mut out = Vec::new();
        for &event in learned {
            manager.handle(Time(0), event, &mut out);
        }
        for first in (0..4).flat_map(|_| 0..200) {
            let (reader, site, demand) = (ReaderId(1), Site(9), Demand::Observed);
            manager.handle(
                Time(0),
                Event::Reference { reader, site, file: FileId(0), first, count: 1, demand },
                &mut out,
            );
        }
        (manager.statistics().misses, manager.learned())
    };
    let (first, learned) = run(&[]);
    assert_eq!(learned.len(), 1);
    let (second, _) = run(&learned);
    // Of 200 blocks 60 are kept from the first pass on.
    assert!(second < first && second <= 800 - 3 * 55, "{second} misses after {first}");
}

/// The last block a file can have is followed by none: what goes after it is another file's newest.
#[test]
fn a_loop_ends_with_its_file() {
    let mut manager = Manager::new(&Config::new(40, "pcc:threshold=3,sample=1".parse().expect("a policy")));
    let mut read = |file, first| {
        let (reader, site, file, demand) = (ReaderId(1), Site(1), FileId(file), Demand::Observed);
        let mut out = Vec::new();
        manager.handle(Time(0), Event::Reference { reader, site, file, first, count: 1, demand }, &mut out);
        out.into_iter().find_map(|action| match action {
            Action::Order(Order::Drop { first, .. }) => Some(first),
            _ => None,
        })
    };
    let last = Block::INDEX_LIMIT - 1;
    for first in (0..4).flat_map(|_| last - 59..=last) {
        read(1, first);
    }
    let gone: Vec<u64> = (0..6).filter_map(|first| read(2, first)).collect();
    assert_eq!(gone[2..5], [last - 1, last, 3], "{gone:?}");
}

/// A loop larger than the memory is over; a reader of a hot set is left, and waits 5 ms for each
/// block that is not here. By the references it makes meanwhile the loop would hold its pages long;
/// by the clock it is over at once.
#[test]
fn a_loop_that_stands_still_gives_way() {
    const BLOCKS: u64 = 560;
    let misses = |passes: u64, has_clock: bool| {
        let mut manager = Manager::new(&Config::new(400, "pcc".parse().expect("a policy")));
        let (mut time, mut state) = (0, 7_u64);
        let mut read = |site, file, first| {
            let before = manager.statistics().misses;
            let (reader, site, demand) = (ReaderId(1), Site(site), Demand::Observed);
            let event = Event::Reference { reader, site, file: FileId(file), first, count: 1, demand };
            manager.handle(Time(time), event, &mut Vec::new());
            let missed = manager.statistics().misses - before;
            time += u64::from(has_clock) * if site == Site(1) { 1_000 } else { 1_000 + missed * 5_000_000 };
            missed
        };
        for at in 0..passes * BLOCKS {
            read(1, 1, at % BLOCKS);
        }
        let hot = (0..1200).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            read(2, 2, (state >> 40) % 100)
        });
        hot.sum::<u64>()
    };
    let (alone, after, by_references) = (misses(0, true), misses(6, true), misses(6, false));
    assert!(after < 2 * alone && by_references > 3 * after, "{alone}, {after}, {by_references} misses");
}
