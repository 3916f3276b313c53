//! Mappings as a source: which pages of the files that programs have mapped they have touched.
//!
//! A page that a program touched is in its page table from then on, and whoever may trace it may
//! look there (`/proc/PID/pagemap`). The preload library tells which files are mapped where; their
//! page tables are looked at now and then, and what is new there was touched since. The order of
//! what was touched between two looks is not known: it is taken to be that of the file. What is
//! touched and unmapped between two looks is not seen.
//!
//! A look at all of a mapping takes up to 6 us a MiB. Between two of those it is only looked
//! whether the program has gone on from where it was last, as it does that reads in order. Each
//! kind takes at most 2 % of a processor.
//!
//! The kernel maps up to 16 neighbours of a touched page with it, if they are in memory
//! (fault-around): they count as touched.

mod scan;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::looks::{LATE, Looks};
use super::ring::{Seen, Touch, Touched};
use super::{Mapping, Sighting, Source};
use crate::host::BLOCK_BYTES;
use crate::names::Names;
use crate::process_stat::{is_in_fault, major_faults};
use crate::programs::ProgramId;
use scan::Pagemap;

/// Smaller ones are brought whole by a request or two.
pub const BYTES_MIN: u64 = 256 << 10;
/// Larger ones are not looked at: a look would take longer than what it sees is good for.
const BYTES_MAX: u64 = 64 << 30;
/// Mappings looked at, of all processes together.
const MAPPINGS_MAX: usize = 256;
/// Pages looked at in one question, where it is looked how far a program has gone on.
const NEAR_PAGES: u64 = 512;
/// Processes that are asked at each look whether they wait.
const WAITERS_MAX: usize = 16;
/// How often it is asked whether a mapping is still there: of a process with hundreds of them that
/// takes as long as ten looks.
const ASKED_EVERY: Duration = Duration::from_millis(100);

struct Watched {
    process: u32,
    ordinal: u32,
    program: ProgramId,
    mapping: Mapping,
    pagemap: Pagemap,
    /// The pages that were there at the last look, by number in the mapping, in order.
    present: Vec<Range<u64>>,
    /// Behind the last of what was touched last.
    at: u64,
    faults: u64,
    /// When it was found to be there last.
    found: Option<Duration>,
}

/// The mappings that are looked at.
pub struct Mappings {
    begun: Instant,
    watched: Vec<Watched>,
    seen: VecDeque<Sighting>,
    /// When it was looked last whether programs wait for pages.
    looked: Instant,
    /// Looks at where programs go on from, and at all of the mappings.
    near: Looks,
    whole: Looks,
}

impl Mappings {
    /// None yet. Times are since `begun`.
    pub fn new(begun: Instant) -> Self {
        let (near, whole) = (Looks::new(), Looks::new());
        Mappings { begun, watched: Vec::new(), seen: VecDeque::new(), looked: Instant::now(), near, whole }
    }

    /// A program mapped a file. Returns whether what it touches of it will be seen.
    pub fn watch(&mut self, sighting: &Sighting, mapping: Mapping) -> bool {
        let &Sighting { process, ordinal, program, .. } = sighting;
        // A program may claim any numbers.
        let Some(end) = mapping.addr.checked_add(mapping.len) else { return false };
        // What was there before is there no longer.
        self.watched.retain(|it| {
            it.process != process || end <= it.mapping.addr || it.mapping.addr + it.mapping.len <= mapping.addr
        });
        if !(BYTES_MIN..=BYTES_MAX).contains(&mapping.len) || self.watched.len() >= MAPPINGS_MAX {
            return false;
        }
        let (Ok(pagemap), Some(faults)) = (Pagemap::open(process), major_faults(process)) else { return false };
        self.watched.push(Watched {
            process,
            ordinal,
            program,
            mapping,
            pagemap,
            present: Vec::new(),
            at: 0,
            faults,
            found: None,
        });
        self.near.hurry();
        self.whole.hurry();
        true
    }

    /// How long nothing needs to be looked at; None if there is nothing to look at.
    pub fn due_in(&self) -> Option<Duration> {
        (!self.watched.is_empty()).then(|| self.near.due_in().min(self.whole.due_in()))
    }

    /// Of what is not touched it would not be noticed that it is there no longer: one in turn is
    /// asked about.
    fn check_one(&mut self, names: &Names) {
        if !self.watched.is_empty() {
            self.watched.rotate_left(1);
            self.watched.pop_if(|it| it.is_there(names) != Some(true));
        }
    }

    fn look(&mut self, names: &Names, is_whole: bool) {
        let looks = if is_whole { &mut self.whole } else { &mut self.near };
        looks.begin();
        let (time, seen) = (self.begun.elapsed(), self.seen.len());
        if is_whole {
            self.check_one(names);
        }
        let sightings = &mut self.seen;
        self.watched.retain_mut(|it| it.look(names, time, is_whole, sightings).is_some());
        let is_busy = sightings.len() > seen;
        self.look_who_waits(time);
        let looks = if is_whole { &mut self.whole } else { &mut self.near };
        looks.end(is_busy);
        if is_busy {
            self.near.hurry();
        }
    }

    /// Who waits for a page now is taken to have waited since the last look: nothing tells how long
    /// a fault takes, and of many looks as many find a program waiting as is its share of the
    /// time.
    fn look_who_waits(&mut self, time: Duration) {
        let waited = std::mem::replace(&mut self.looked, Instant::now()).elapsed().min(LATE);
        let mut processes: Vec<u32> = self.watched.iter().map(|it| it.process).collect();
        processes.sort_unstable();
        processes.dedup();
        for process in processes.into_iter().take(WAITERS_MAX).filter(|&process| is_in_fault(process)) {
            let Some(&Watched { ordinal, program, .. }) = self.watched.iter().find(|it| it.process == process) else {
                continue;
            };
            let seen = Seen::Stalled { took: waited };
            self.seen.push_back(Sighting { process, ordinal, program, thread: process, time, seen });
        }
    }
}

impl Watched {
    /// Whether it is still what it was; None if that cannot be told any more.
    fn is_there(&self, names: &Names) -> Option<bool> {
        let Mapping { addr, offset, file, .. } = self.mapping;
        Some(scan::mapped_at(self.process, addr)? == (names.identity(file)?.1, offset))
    }

    /// The pages from where it was last on, as far as they are there without a large gap.
    fn gone_on(&mut self) -> io::Result<Vec<Range<u64>>> {
        let (mut at, pages) = (self.at, self.mapping.len.div_ceil(BLOCK_BYTES));
        let mut found = Vec::new();
        while at < pages {
            let end = pages.min(at + NEAR_PAGES);
            let addresses = self.mapping.addr + at * BLOCK_BYTES..self.mapping.addr + end * BLOCK_BYTES;
            let near = self.pagemap.present(addresses)?;
            if near.is_empty() {
                break;
            }
            found.extend(near.into_iter().map(|pages| at + pages.start..at + pages.end));
            at = end;
        }
        Ok(found)
    }

    /// Tells what was touched since the last look; None if there is nothing to look at any more.
    fn look(
        &mut self,
        names: &Names,
        time: Duration,
        is_whole: bool,
        sightings: &mut VecDeque<Sighting>,
    ) -> Option<()> {
        let Mapping { addr, len, offset, file } = self.mapping;
        let present = if is_whole { self.pagemap.present(addr..addr + len) } else { self.gone_on() }.ok()?;
        let touched = without(&present, &self.present);
        self.present = if is_whole { present } else { union(&self.present, &touched) };
        let Some(last) = touched.last() else { return Some(()) };
        self.at = last.end;
        // It may have been unmapped, and something else be there.
        if self.found.is_none_or(|found| time - found > ASKED_EVERY) {
            self.found = self.is_there(names)?.then_some(time);
            self.found?;
        }
        let faults = major_faults(self.process)?;
        let mut waited = faults > std::mem::replace(&mut self.faults, faults);
        let first_block = offset / BLOCK_BYTES;
        sightings.extend(touched.into_iter().map(|pages| {
            let (first, count) = (first_block + pages.start, pages.end - pages.start);
            let (waited, by) = (std::mem::take(&mut waited), Touch::Mapping);
            let seen = Seen::Touched(Touched { file, first, count, waited, by });
            let &mut Watched { process, ordinal, program, .. } = self;
            Sighting { process, ordinal, program, thread: process, time, seen }
        }));
        Some(())
    }
}

impl Source for Mappings {
    fn next(&mut self, names: &mut Names, room: &mut usize) -> Option<Sighting> {
        if self.seen.is_empty() && !self.watched.is_empty() {
            if self.whole.due_in().is_zero() {
                self.look(names, true);
            } else if self.near.due_in().is_zero() {
                self.look(names, false);
            }
        }
        if *room == 0 {
            return None;
        }
        let sighting = self.seen.pop_front()?;
        *room -= 1;
        Some(sighting)
    }
}

/// All that is in these ranges or in the others; both are in order, and nothing is in both.
fn union(ranges: &[Range<u64>], others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut all = [ranges, others].concat();
    all.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(all.len());
    for range in all {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// What of these ranges is in none of the others; both are in order.
fn without(ranges: &[Range<u64>], others: &[Range<u64>]) -> Vec<Range<u64>> {
    let (mut left, mut others) = (Vec::new(), others.iter().peekable());
    for range in ranges {
        let mut start = range.start;
        while let Some(other) = others.next_if(|other| other.end <= start) {
            debug_assert!(other.start < other.end);
        }
        while let Some(other) = others.peek().filter(|other| other.start < range.end) {
            if start < other.start {
                left.push(start..other.start);
            }
            start = start.max(other.end);
            if other.end > range.end {
                break;
            }
            others.next();
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn what_is_new_is_told() {
        let without = |ranges: &[(u64, u64)], others: &[(u64, u64)]| {
            let all = |pairs: &[(u64, u64)]| pairs.iter().map(|&(start, end)| start..end).collect::<Vec<_>>();
            without(&all(ranges), &all(others)).into_iter().map(|it| (it.start, it.end)).collect::<Vec<_>>()
        };
        assert_eq!(without(&[(0, 16)], &[]), [(0, 16)]);
        assert_eq!(without(&[(0, 32)], &[(0, 16)]), [(16, 32)]);
        assert_eq!(without(&[(0, 32), (40, 44)], &[(4, 8), (16, 41)]), [(0, 4), (8, 16), (41, 44)]);
        assert_eq!(without(&[(4, 8)], &[(0, 16)]), []);
        assert_eq!(without(&[(8, 12), (14, 16)], &[(0, 2), (10, 15)]), [(8, 10), (15, 16)]);
    }

    proptest::proptest! {
        #[test]
        fn what_is_new_is_what_was_not_there(now: Vec<bool>, before: Vec<bool>) {
            let ranges = |pages: &[bool]| {
                let mut ranges: Vec<Range<u64>> = Vec::new();
                for page in (0..pages.len()).filter(|&page| pages[page]).map(|page| page as u64) {
                    match ranges.last_mut() {
                        Some(last) if last.end == page => last.end += 1,
                        _ => ranges.push(page..page + 1),
                    }
                }
                ranges
            };
            let was = |page: usize| before.get(page).copied().unwrap_or(false);
            let new: Vec<bool> = now.iter().enumerate().map(|(page, &is)| is && !was(page)).collect();
            let told: Vec<u64> = without(&ranges(&now), &ranges(&before)).into_iter().flatten().collect();
            let expected: Vec<u64> = ranges(&new).into_iter().flatten().collect();
            proptest::prop_assert_eq!(told, expected);
            let both: Vec<bool> = (0..now.len()).map(|page| now[page] || was(page)).collect();
            let was: Vec<bool> = (0..now.len()).map(was).collect();
            proptest::prop_assert_eq!(union(&ranges(&was), &without(&ranges(&now), &ranges(&was))), ranges(&both));
        }
    }

    /// A file of so many pages, mapped here.
    fn mapped(name: &str, pages: usize) -> (std::path::PathBuf, *const u8) {
        let path = std::env::temp_dir().join(format!("foresee-mapped-{name}-{}", std::process::id()));
        // Page by page: what is written at once may be one folio, and is mapped at once then.
        let mut written = File::create(&path).unwrap();
        (0..pages).for_each(|_| written.write_all(&[1; 4096]).unwrap());
        let file = File::open(&path).unwrap();
        let (read, shared, fd) = (libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), pages * 4096, read, shared, fd, 0) };
        assert_ne!(memory, libc::MAP_FAILED);
        // SAFETY: mapped with this length. Neighbours are not mapped with what is touched.
        unsafe { libc::madvise(memory, pages * 4096, libc::MADV_RANDOM) };
        (path, memory.cast())
    }

    #[test]
    fn what_is_unmapped_untouched_is_forgotten() {
        const PAGES: usize = 64;
        let (path, memory) = mapped("untouched", PAGES);
        let (mut names, metadata) = (Names::default(), fs::metadata(&path).unwrap());
        let file = names.of_path(&path).unwrap();
        names.identify(file, (metadata.dev(), metadata.ino()));
        let (process, seen) = (std::process::id(), Seen::Named { file, ticks: None });
        let sighting =
            Sighting { process, ordinal: 1, program: ProgramId::default(), thread: 1, time: Duration::ZERO, seen };
        let mut mappings = Mappings::new(Instant::now());
        if !mappings.watch(&sighting, Mapping { addr: memory as u64, len: (PAGES * 4096) as u64, offset: 0, file }) {
            println!("skipped: page tables cannot be looked at here");
            return;
        }
        mappings.look(&names, true);
        assert_eq!(mappings.watched.len(), 1, "it is there");
        // SAFETY: the mapping is not used.
        unsafe { libc::munmap(memory.cast_mut().cast(), PAGES * 4096) };
        mappings.look(&names, true);
        assert!(mappings.watched.is_empty(), "it is there no longer");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn whatever_a_program_claims_is_taken() {
        let (mut names, process) = (Names::default(), std::process::id());
        let file = names.of_path(std::path::Path::new("/claimed")).unwrap();
        names.identify(file, (1, 1));
        let mut mappings = Mappings::new(Instant::now());
        let numbers = [0, 1, 4095, 4096, BYTES_MIN, BYTES_MAX, 1 << 47, u64::MAX - 4095, u64::MAX];
        for claim in 0..numbers.len().pow(3) {
            let number = |digit: u32| numbers[claim / numbers.len().pow(digit) % numbers.len()];
            let (seen, program, time) = (Seen::Named { file, ticks: None }, ProgramId::default(), Duration::ZERO);
            let sighting = Sighting { process, ordinal: 1, program, thread: 1, time, seen };
            mappings.watch(&sighting, Mapping { addr: number(0), len: number(1), offset: number(2), file });
            mappings.look(&names, true);
            mappings.look(&names, false);
        }
        assert!(mappings.seen.is_empty(), "nothing of that is this file");
    }

    #[test]
    fn what_is_touched_is_seen_until_it_is_unmapped() {
        const PAGES: usize = 256;
        let (path, memory) = mapped("seen", PAGES);
        let (mut names, metadata) = (Names::default(), fs::metadata(&path).unwrap());
        let file = names.of_path(&path).unwrap();
        names.identify(file, (metadata.dev(), metadata.ino()));
        let process = std::process::id();
        let seen = Seen::Named { file, ticks: None };
        let sighting =
            Sighting { process, ordinal: 1, program: ProgramId::default(), thread: 1, time: Duration::ZERO, seen };
        let mut mappings = Mappings::new(Instant::now());
        let mapping = Mapping { addr: memory as u64, len: (PAGES * 4096) as u64, offset: 0, file };
        if !mappings.watch(&sighting, mapping) {
            println!("skipped: page tables cannot be looked at here");
            return;
        }
        let mut look = |is_whole: bool| -> Vec<u64> {
            mappings.look(&names, is_whole);
            let touched = |it: Sighting| match it.seen {
                Seen::Touched(Touched { file: of, first, count, .. }) if of == file => first..first + count,
                other => panic!("{other:?}"),
            };
            mappings.seen.drain(..).flat_map(touched).collect()
        };
        assert!(look(true).is_empty(), "nothing was touched");
        // SAFETY: within the mapping.
        unsafe { memory.add(100 * 4096).read_volatile() };
        let touched = look(true);
        assert!(touched.contains(&100) && touched.len() <= 16, "{touched:?}");
        assert!(look(false).is_empty() && look(true).is_empty(), "nothing more was touched");
        for page in 116..126 {
            // SAFETY: within the mapping.
            unsafe { memory.add(page * 4096).read_volatile() };
        }
        let touched = look(false);
        assert!((116..126).all(|page| touched.contains(&page)), "{touched:?}");
        assert!(look(true).is_empty(), "nothing more was touched");
        // SAFETY: the mapping is not used any more.
        unsafe { libc::munmap(memory.cast_mut().cast(), PAGES * 4096) };
        assert!(look(true).is_empty(), "it is there no longer");
        fs::remove_file(path).unwrap();
    }
}
