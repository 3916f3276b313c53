//! The write cache, and how it gets empty: what was written longest ago goes to disk, with all that
//! is dirty of its stripe.

use std::collections::{BTreeMap, HashMap};

use super::machine::{STRIPE_TRACKS, TRACK_PAGES, parity_disk, track_place};

/// Pages of a stripe.
pub const STRIPE_PAGES: u64 = STRIPE_TRACKS * TRACK_PAGES;
/// Of the cache, beyond which it is emptied, in parts of 100.
const DESTAGE_PERCENT: u64 = 50;

/// A stripe of an array, and which of its pages are dirty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dirty {
    /// The array.
    pub array: usize,
    /// The stripe, counted from the array's beginning.
    pub stripe: u64,
    /// A bit for each page.
    pub pages: u64,
}

impl Dirty {
    /// Whether all of the stripe is dirty.
    pub fn is_full(&self) -> bool {
        u64::from(self.pages.count_ones()) == STRIPE_PAGES
    }

    /// What the disks of its array have to read or write: disk, page there, pages. What lies
    /// between two dirty pages of a track goes along, and of the parity all that lies between.
    pub fn pieces(&self) -> Vec<(usize, u64, u64)> {
        let mut pieces = Vec::new();
        let mut hull: Option<(u64, u64)> = None;
        for within in 0..STRIPE_TRACKS {
            let dirty = self.pages >> (within * TRACK_PAGES) & ((1 << TRACK_PAGES) - 1);
            if dirty == 0 {
                continue;
            }
            let (first, end) = (u64::from(dirty.trailing_zeros()), u64::from(64 - dirty.leading_zeros()));
            hull = Some(hull.map_or((first, end), |it| (it.0.min(first), it.1.max(end))));
            let (disk, place) = track_place(self.stripe * STRIPE_TRACKS + within);
            pieces.push((disk, place + first, end - first));
        }
        let parity =
            hull.map(|(first, end)| (parity_disk(self.stripe), self.stripe * TRACK_PAGES + first, end - first));
        pieces.into_iter().chain(parity).collect()
    }
}

/// Non-volatile memory of so many pages.
pub struct WriteCache {
    pages_max: u64,
    used: u64,
    /// Dirty pages of each stripe, and when one of them was written last.
    stripes: HashMap<(usize, u64), (u64, u64)>,
    oldest_first: Vec<BTreeMap<u64, u64>>,
    writes: u64,
}

impl WriteCache {
    /// Empty, before so many arrays.
    pub fn new(pages_max: u64, arrays: usize) -> Self {
        let oldest_first = vec![BTreeMap::new(); arrays];
        WriteCache { pages_max, used: 0, stripes: HashMap::new(), oldest_first, writes: 0 }
    }

    /// Whether these pages of an array are all here.
    pub fn holds(&self, array: usize, mut pages: impl Iterator<Item = u64>) -> bool {
        pages.all(|page| {
            let key = (array, page / STRIPE_PAGES);
            self.stripes.get(&key).is_some_and(|(dirty, _)| dirty >> (page % STRIPE_PAGES) & 1 == 1)
        })
    }

    /// Whether so many pages more find room.
    pub fn has_room(&self, pages: u64) -> bool {
        self.used + pages <= self.pages_max
    }

    /// Takes pages in.
    pub fn write(&mut self, array: usize, pages: impl Iterator<Item = u64>) {
        for page in pages {
            let stripe = page / STRIPE_PAGES;
            self.writes += 1;
            let (dirty, at) = self.stripes.entry((array, stripe)).or_insert((0, self.writes));
            self.oldest_first[array].remove(at);
            self.oldest_first[array].insert(self.writes, stripe);
            *at = self.writes;
            let bit = 1 << (page % STRIPE_PAGES);
            self.used += u64::from(*dirty & bit == 0);
            *dirty |= bit;
        }
    }

    /// How many stripes may be on their way to disk at once, if `most` may be when all is full.
    pub fn urgency(&self, most: usize) -> usize {
        let beyond = (self.used * 100).saturating_sub(self.pages_max * DESTAGE_PERCENT);
        (beyond as f64 / (self.pages_max * (100 - DESTAGE_PERCENT)) as f64 * most as f64).ceil() as usize
    }

    /// What an array is to write next, if there is need. It is out of reach of further writes, and
    /// holds its room until `written`.
    pub fn destage(&mut self, array: usize) -> Option<Dirty> {
        if self.used * 100 <= self.pages_max * DESTAGE_PERCENT {
            return None;
        }
        let (_, stripe) = self.oldest_first[array].pop_first()?;
        let (pages, _) = self.stripes.remove(&(array, stripe))?;
        Some(Dirty { array, stripe, pages })
    }

    /// It is on disk.
    pub fn written(&mut self, dirty: Dirty) {
        self.used -= u64::from(dirty.pages.count_ones());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stripe_goes_with_all_its_pages() {
        let mut cache = WriteCache::new(8, 1);
        cache.write(0, [0, 1, STRIPE_PAGES, 2, 2].into_iter());
        assert!(cache.has_room(4) && !cache.has_room(5) && cache.holds(0, 0..3) && !cache.holds(0, 0..4));
        assert_eq!(cache.destage(0), None, "there is no need");
        cache.write(0, [3 * STRIPE_PAGES].into_iter());
        let dirty = cache.destage(0).unwrap();
        assert_eq!(dirty, Dirty { array: 0, stripe: 1, pages: 1 });
        assert_eq!(cache.destage(0), Some(Dirty { array: 0, stripe: 0, pages: 0b111 }));
        assert!(!cache.holds(0, 0..1) && !cache.has_room(4));
        cache.written(dirty);
        assert!(cache.has_room(4));
    }
}
