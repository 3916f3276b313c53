//! Mappings as a source: which pages of the files that programs have mapped they have touched.
//!
//! A page that a program touched is in its page table from then on, and whoever may trace it may look there (`/proc/PID/pagemap`).
//! The preload library tells which files are mapped where; their page tables are looked at now and then, and what is new there was
//! touched since. The order of what was touched between two looks is not known: it is taken to be that of the file. What is
//! touched and unmapped between two looks is not seen.
//!
//! A look takes some 100 us for a mapping of 256 MiB, and all looks together at most 2 % of a processor.
//!
//! The kernel maps up to 16 neighbours of a touched page with it, if they are in memory (fault-around): they count as touched.

mod scan;

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::ring::Seen;
use super::{Mapping, Sighting, Source};
use crate::host::BLOCK_BYTES;
use crate::names::Names;
use crate::process_stat::major_faults;
use crate::programs::ProgramId;
use scan::Pagemap;

/// Smaller ones are brought whole by a request or two.
const BYTES_MIN: u64 = 256 << 10;
/// Larger ones are not looked at: a look would take longer than what it sees is good for.
const BYTES_MAX: u64 = 64 << 30;
/// Mappings looked at, of all processes together.
const MAPPINGS_MAX: usize = 256;
/// A look waits for at least so many times what the one before took: 2 % of a processor.
const SHARE: u32 = 50;
/// How soon it is looked again where something was touched, and where nothing was for long.
const SOON: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_millis(64);

struct Watched {
    process: u32,
    ordinal: u32,
    program: ProgramId,
    mapping: Mapping,
    pagemap: Pagemap,
    /// The pages that were there at the last look, by number in the mapping, in order.
    present: Vec<Range<u64>>,
    faults: u64,
}

/// The mappings that are looked at.
pub struct Mappings {
    begun: Instant,
    watched: Vec<Watched>,
    seen: VecDeque<Sighting>,
    /// When to look next, and how long that is after the last time.
    due: Instant,
    pause: Duration,
}

impl Mappings {
    /// None yet. Times are since `begun`.
    pub fn new(begun: Instant) -> Self {
        Mappings { begun, watched: Vec::new(), seen: VecDeque::new(), due: begun, pause: SOON }
    }

    /// A program mapped a file. Returns whether what it touches of it will be seen.
    pub fn watch(&mut self, sighting: &Sighting, mapping: Mapping) -> bool {
        let &Sighting { process, ordinal, program, .. } = sighting;
        let end = mapping.addr.saturating_add(mapping.len);
        // What was there before is there no longer.
        self.watched.retain(|it| {
            it.process != process || end <= it.mapping.addr || it.mapping.addr + it.mapping.len <= mapping.addr
        });
        if !(BYTES_MIN..=BYTES_MAX).contains(&mapping.len) || self.watched.len() >= MAPPINGS_MAX {
            return false;
        }
        let (Ok(pagemap), Some(faults)) = (Pagemap::open(process), major_faults(process)) else { return false };
        self.watched.push(Watched { process, ordinal, program, mapping, pagemap, present: Vec::new(), faults });
        (self.pause, self.due) = (SOON, Instant::now());
        true
    }

    /// How long nothing needs to be looked at; None if there is nothing to look at.
    pub fn due_in(&self) -> Option<Duration> {
        (!self.watched.is_empty()).then(|| self.due.saturating_duration_since(Instant::now()))
    }

    fn look(&mut self, names: &Names) {
        let began = Instant::now();
        let (time, seen) = (self.begun.elapsed(), self.seen.len());
        let sightings = &mut self.seen;
        self.watched.retain_mut(|it| it.look(names, time, sightings).is_some());
        let is_busy = sightings.len() > seen;
        self.pause = if is_busy { SOON } else { (self.pause * 2).min(LATE) };
        self.due = Instant::now() + self.pause.max(began.elapsed() * SHARE);
    }
}

impl Watched {
    /// Tells what was touched since the last look; None if there is nothing to look at any more.
    fn look(&mut self, names: &Names, time: Duration, sightings: &mut VecDeque<Sighting>) -> Option<()> {
        let Mapping { addr, len, offset, file } = self.mapping;
        let present = self.pagemap.present(addr..addr + len).ok()?;
        let touched = without(&present, &self.present);
        self.present = present;
        if touched.is_empty() {
            return Some(());
        }
        // It may have been unmapped, and something else be there.
        let is_there = scan::mapped_at(self.process, addr)? == (names.identity(file)?.1, offset);
        if !is_there {
            return None;
        }
        let faults = major_faults(self.process)?;
        let mut waited = faults > std::mem::replace(&mut self.faults, faults);
        let first_block = offset / BLOCK_BYTES;
        sightings.extend(touched.into_iter().map(|pages| {
            let (first, count) = (first_block + pages.start, pages.end - pages.start);
            let seen = Seen::Touched { file, first, count, waited: std::mem::take(&mut waited) };
            let &mut Watched { process, ordinal, program, .. } = self;
            Sighting { process, ordinal, program, thread: process, time, seen }
        }));
        Some(())
    }
}

impl Source for Mappings {
    fn next(&mut self, names: &mut Names, room: &mut usize) -> Option<Sighting> {
        if self.seen.is_empty() && !self.watched.is_empty() && Instant::now() >= self.due {
            self.look(names);
        }
        if *room == 0 {
            return None;
        }
        let sighting = self.seen.pop_front()?;
        *room -= 1;
        Some(sighting)
    }
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
        }
    }

    /// A file of so many pages, mapped here.
    fn mapped(name: &str, pages: usize) -> (std::path::PathBuf, *const u8) {
        let path = std::env::temp_dir().join(format!("foresee-mapped-{name}-{}", std::process::id()));
        fs::write(&path, vec![1; pages * 4096]).unwrap();
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
    fn what_is_touched_is_seen_until_it_is_unmapped() {
        const PAGES: usize = 256;
        let (path, memory) = mapped("seen", PAGES);
        let (mut names, metadata) = (Names::default(), fs::metadata(&path).unwrap());
        let file = names.of_path(&path).unwrap();
        names.identify(file, (metadata.dev(), metadata.ino()));
        let process = std::process::id();
        let seen = Seen::Named { file };
        let sighting =
            Sighting { process, ordinal: 1, program: ProgramId::default(), thread: 1, time: Duration::ZERO, seen };
        let mut mappings = Mappings::new(Instant::now());
        let mapping = Mapping { addr: memory as u64, len: (PAGES * 4096) as u64, offset: 0, file };
        if !mappings.watch(&sighting, mapping) {
            println!("skipped: page tables cannot be looked at here");
            return;
        }
        let mut look = || -> Vec<u64> {
            mappings.look(&names);
            let touched = |it: Sighting| match it.seen {
                Seen::Touched { file: of, first, count, .. } if of == file => first..first + count,
                other => panic!("{other:?}"),
            };
            mappings.seen.drain(..).flat_map(touched).collect()
        };
        assert!(look().is_empty(), "nothing was touched");
        // SAFETY: within the mapping.
        unsafe { memory.add(100 * 4096).read_volatile() };
        let touched = look();
        assert!(touched.contains(&100) && touched.len() <= 16, "{touched:?}");
        assert!(look().is_empty(), "nothing more was touched");
        // SAFETY: within the mapping.
        unsafe { memory.add(200 * 4096).read_volatile() };
        // SAFETY: the mapping is not used any more.
        unsafe { libc::munmap(memory.cast_mut().cast(), PAGES * 4096) };
        assert!(look().is_empty(), "it is there no longer");
        fs::remove_file(path).unwrap();
    }
}
