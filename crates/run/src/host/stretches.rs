//! Stretches of blocks that do not overlap, each with what is known of it, found by their blocks.

use std::collections::BTreeMap;
use std::ops::Range;

/// The first block of each, and the one after its last. None is empty, and those that meet differ
/// in what is known of them.
#[derive(Debug, Clone)]
pub struct Stretches<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for Stretches<T> {
    fn default() -> Self {
        Stretches(BTreeMap::new())
    }
}

impl<T: Copy + PartialEq> Stretches<T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, T)> {
        self.0.iter().map(|(&first, &(end, known))| (first..end, known))
    }

    /// What of them is among these blocks.
    pub fn within(&self, blocks: &Range<u64>) -> impl Iterator<Item = (Range<u64>, T)> + use<'_, T> {
        let Range { start, end } = *blocks;
        // An empty range has no blocks, wherever it lies.
        let before = self.0.range(..start).next_back().filter(|_| start < end);
        before
            .into_iter()
            .chain(self.0.range(start..end.max(start)))
            .map(move |(&first, &(its_end, known))| (first.max(start)..its_end.min(end), known))
            .filter(|(blocks, _)| !blocks.is_empty())
    }

    pub fn overlaps(&self, blocks: &Range<u64>) -> bool {
        self.within(blocks).next().is_some()
    }

    /// These blocks are no part of them any more.
    pub fn cut(&mut self, blocks: &Range<u64>) {
        while let Some((within, known)) = { self.within(blocks).next() } {
            let Some((&first, &(end, _))) = self.0.range(..=within.start).next_back() else { return };
            self.0.remove(&first);
            if first < within.start {
                self.0.insert(first, (within.start, known));
            }
            if within.end < end {
                self.0.insert(within.end, (end, known));
            }
        }
    }

    /// This is known of these blocks from now on.
    pub fn put(&mut self, blocks: Range<u64>, known: T) {
        if blocks.is_empty() {
            return;
        }
        self.cut(&blocks);
        let Range { mut start, mut end } = blocks;
        if let Some((&first, &(its_end, its))) = self.0.range(..start).next_back()
            && its_end == start
            && its == known
        {
            start = first;
        }
        if let Some(&(its_end, its)) = self.0.get(&end)
            && its == known
        {
            self.0.remove(&end);
            end = its_end;
        }
        self.0.insert(start, (end, known));
    }

    /// Takes out what meets these blocks without a gap, directly or by others.
    pub fn take_meeting(&mut self, blocks: &Range<u64>) -> Vec<(Range<u64>, T)> {
        let mut taken = Vec::new();
        let Range { mut start, mut end } = *blocks;
        while let Some((&first, &(its_end, known))) = self.0.range(..=end).next_back()
            && its_end >= start
        {
            // What begins at the end goes on beyond it: all that follows is found first.
            end = end.max(its_end);
            start = start.min(first);
            self.0.remove(&first);
            taken.push((first..its_end, known));
        }
        taken
    }

    /// Takes out those of which so is known.
    pub fn take_if(&mut self, is_so: impl Fn(T) -> bool) -> Vec<(Range<u64>, T)> {
        let taken: Vec<(Range<u64>, T)> = self.iter().filter(|&(_, known)| is_so(known)).collect();
        taken.iter().for_each(|(blocks, _)| {
            self.0.remove(&blocks.start);
        });
        taken
    }

    /// Their blocks, those that meet as one.
    pub fn merged(&self) -> Vec<Range<u64>> {
        let mut merged: Vec<Range<u64>> = Vec::new();
        for (blocks, _) in self.iter() {
            match merged.last_mut() {
                Some(last) if last.end == blocks.start => last.end = blocks.end,
                _ => merged.push(blocks),
            }
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As an array of blocks would have it, over random steps.
    #[test]
    fn as_an_array_has_it() {
        const BLOCKS: usize = 24;
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let (mut stretches, mut array) = (Stretches::default(), [None; BLOCKS]);
        for _ in 0..20_000 {
            let first = next(BLOCKS as u64);
            let blocks = first..first + next(BLOCKS as u64 - first + 1).min(6);
            let (from, to) = (blocks.start as usize, blocks.end as usize);
            match next(5) {
                0 | 1 => {
                    let known = next(3);
                    stretches.put(blocks, known);
                    array[from..to].fill(Some(known));
                }
                2 => {
                    stretches.cut(&blocks);
                    array[from..to].fill(None);
                }
                3 => {
                    let within = stretches.within(&blocks).flat_map(|(it, known)| it.map(move |block| (block, known)));
                    let expected = blocks.clone().filter_map(|block| Some((block, array[block as usize]?)));
                    assert!(within.eq(expected));
                    assert_eq!(stretches.overlaps(&blocks), array[from..to].iter().any(Option::is_some));
                }
                _ => {
                    let before = (0..from).rev().take_while(|&it| array[it].is_some()).last().unwrap_or(from);
                    let after = (to..BLOCKS).take_while(|&it| array[it].is_some()).last().map_or(to, |it| it + 1);
                    let taken = stretches.take_meeting(&blocks);
                    let mut taken: Vec<u64> = taken.into_iter().flat_map(|(it, _)| it).collect();
                    taken.sort_unstable();
                    let expected = (before..after).filter(|&it| array[it].is_some()).map(|it| it as u64);
                    assert!(expected.eq(taken));
                    array[before..after].fill(None);
                }
            }
            let all = stretches.iter().flat_map(|(it, known)| it.map(move |block| (block, known)));
            assert!(all.eq((0..).zip(array).filter_map(|(block, known)| Some((block, known?)))));
            let merged = stretches.merged();
            assert!(merged.is_sorted_by(|one, other| one.end < other.start));
        }
    }
}
