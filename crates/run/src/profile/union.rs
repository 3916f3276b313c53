//! What several runs read: each block once, with the runs that read it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use foresee_manager::Want;

use super::order::Order;
use super::{Paths, Profile, Step};
use crate::paths::PathTable;

/// What is known of one file.
#[derive(Default)]
struct File {
    /// Its first step, whatever that says: who reads a file looks its name up.
    named: Option<usize>,
    /// Blocks up to each key's value that a step holds; no two overlap. Apart by whether they were
    /// mapped.
    held: [BTreeMap<u64, (u64, usize)>; 2],
}

/// Steps of several runs, in the order in which they were added.
#[derive(Default)]
pub(super) struct Union {
    files: PathTable,
    /// By number.
    known: Vec<File>,
    steps: Vec<Step>,
    /// Steps of the first run of which an earlier one held the first block: a run may read what it
    /// had to give up.
    again: Vec<(usize, usize)>,
    /// Of what several runs read.
    order: Order,
}

impl Union {
    /// What one run read, as it is.
    pub fn of(run: &Profile) -> Self {
        let mut union = Union::default();
        let numbers: Vec<u32> = run.files.iter().map(|path| union.number(path)).collect();
        for step in &run.steps {
            let at = union.steps.len();
            union.steps.push(Step { file: numbers[step.file as usize], runs: 1, ..*step });
            let file = &mut union.known[numbers[step.file as usize] as usize];
            file.named.get_or_insert(at);
            if let Want::Range { first, count } = step.want {
                let held = &mut file.held[usize::from(step.mapped)];
                for (blocks, holder) in parts(held, first, count) {
                    match holder {
                        None => drop(held.insert(blocks.start, (blocks.end, at))),
                        Some(before) if blocks.start == first => union.again.push((at, before)),
                        Some(_) => {}
                    }
                }
            }
        }
        union
    }

    /// Adds what a run read, in its order, where that is not known yet. `runs` says as which runs a
    /// step's are counted, `names` what each of its files is called here. A step counts as read by a
    /// run that read half of it.
    pub fn add(&mut self, profile: &Profile, runs: impl Fn(u8) -> u8, names: impl Fn(&Path, &mut dyn FnMut(&Path))) {
        let (mut numbers, mut begins) = (Vec::new(), vec![0]);
        for path in profile.files.iter() {
            names(path, &mut |path| numbers.push(self.number(path)));
            begins.push(numbers.len());
        }
        let mut shared = Vec::new();
        self.order.begin_run(self.steps.len());
        for step in &profile.steps {
            let file = step.file as usize;
            for &file in &numbers[begins[file]..begins[file + 1]] {
                self.add_step(Step { file, runs: runs(step.runs), ..*step }, &mut shared);
            }
        }
        for (at, (blocks, runs)) in shared.into_iter().enumerate() {
            let count = match self.steps[at].want {
                Want::Range { count, .. } => count,
                _ => 1,
            };
            if 2 * blocks >= count {
                self.steps[at].runs |= runs;
            }
        }
    }

    fn number(&mut self, path: &Path) -> u32 {
        let number = self.files.number(path);
        self.known.resize_with(self.files.paths().len(), File::default);
        number
    }

    /// `shared`: by step, how many of its blocks the other run read as well, and as which runs.
    fn add_step(&mut self, step: Step, shared: &mut Vec<(u64, u8)>) {
        let file = &mut self.known[step.file as usize];
        let mut share = |at: usize, blocks: u64| {
            if at >= shared.len() {
                shared.resize(at + 1, (0, 0));
            }
            let (so_far, runs) = shared[at];
            shared[at] = (so_far + blocks, runs | step.runs);
        };
        let Want::Range { first, count } = step.want else {
            match file.named {
                Some(at) if self.steps[at].want == step.want => share(at, 1),
                Some(_) => {}
                None => {
                    file.named = Some(self.steps.len());
                    self.steps.push(step);
                }
            }
            return;
        };
        let held = &mut file.held[usize::from(step.mapped)];
        for (blocks, holder) in parts(held, first, count) {
            match holder {
                Some(at) => {
                    share(at, blocks.end - blocks.start);
                    self.order.read(at);
                }
                None => {
                    held.insert(blocks.start, (blocks.end, self.steps.len()));
                    file.named.get_or_insert(self.steps.len());
                    let want = Want::Range { first: blocks.start, count: blocks.end - blocks.start };
                    self.steps.push(Step { want, ..step });
                }
            }
        }
    }

    /// The files, the steps, and whether each run read what others did in another order, if they share enough to say.
    pub fn into_steps(mut self) -> (Paths, Vec<Step>, Option<bool>) {
        for (at, before) in self.again {
            self.steps[at].runs |= self.steps[before].runs;
        }
        (self.files.into_paths(), self.steps, self.order.into_verdict())
    }
}

/// These blocks, cut where one step ends to hold them and another begins, or none does.
fn parts(held: &BTreeMap<u64, (u64, usize)>, first: u64, count: u64) -> Vec<(Range<u64>, Option<usize>)> {
    let (mut from, end) = (first, first.saturating_add(count));
    let mut parts = Vec::new();
    while from < end {
        let holder = held.range(..=from).next_back().filter(|(_, it)| it.0 > from).map(|(_, &it)| it);
        let until = match holder {
            Some((until, _)) => until.min(end),
            None => held.range(from..end).next().map_or(end, |(&next, _)| next),
        };
        parts.push((from..until, holder.map(|(_, at)| at)));
        from = until;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(steps: &[(&str, u64, u64)]) -> Profile {
        let mut profile = Profile { runs: 1, ..Profile::default() };
        for &(path, first, count) in steps {
            let want = if count == 0 { Want::Name } else { Want::Range { first, count } };
            let known = profile.files.iter().position(|it| it == Path::new(path));
            let file = known.unwrap_or_else(|| {
                profile.files.push(Path::new(path));
                profile.files.len() - 1
            });
            profile.steps.push(Step { file: file as u32, process: 1, want, mapped: false, runs: 1 });
        }
        profile
    }

    fn said(profile: &Profile) -> Vec<(String, String, u8)> {
        let path = |step: &Step| profile.files[step.file].display().to_string();
        profile.steps.iter().map(|step| (path(step), step.want.to_string(), step.runs)).collect()
    }

    fn all<'a>(steps: &[(&'a str, &'a str, u8)]) -> Vec<(String, String, u8)> {
        steps.iter().map(|&(path, want, runs)| (path.to_owned(), want.to_owned(), runs)).collect()
    }

    #[test]
    fn what_both_runs_read_is_known_to_be_read_by_both() {
        let (first, second) =
            (profile(&[("a", 0, 8), ("b", 0, 0), ("c", 5, 1)]), profile(&[("c", 7, 1), ("a", 0, 8), ("b", 0, 0)]));
        let both = second.after(&first);
        assert_eq!(said(&both), all(&[("c", "7+1", 1), ("a", "0+8", 3), ("b", "name", 3)]));
        assert_eq!(both.runs, 2);
        assert_eq!(both.steps.iter().map(|step| both.is_common(step)).collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn what_was_read_twice_is_not_forgotten_at_once() {
        let run = profile(&[("a", 0, 1), ("b", 0, 1)]);
        let without = profile(&[("a", 0, 1)]);
        let two = run.clone().after(&run);
        let mut later = without.clone().after(&two);
        assert_eq!(said(&later), all(&[("a", "0+1", 7), ("b", "0+1", 6)]));
        for _ in 0..7 {
            later = without.clone().after(&later);
        }
        assert_eq!(said(&later), all(&[("a", "0+1", 255)]));
    }

    #[test]
    fn half_of_a_step_is_enough_and_the_rest_is_its_own() {
        let union = profile(&[("a", 0, 4)]).after(&profile(&[("a", 2, 4)]));
        assert_eq!(said(&union), all(&[("a", "0+4", 3)]), "what lies beyond was read by one run, and not by the last");
        let union = profile(&[("a", 0, 4)]).after(&profile(&[("a", 3, 4)]));
        assert_eq!(said(&union), all(&[("a", "0+4", 1)]));
    }

    #[test]
    fn what_a_run_reads_again_is_there_again() {
        let run = profile(&[("a", 0, 4), ("b", 0, 4), ("a", 0, 4)]);
        let union = run.clone().after(&run);
        assert_eq!(said(&union), all(&[("a", "0+4", 3), ("b", "0+4", 3), ("a", "0+4", 3)]));
        assert!(union.says_the_same_as(&run));
    }

    #[test]
    fn runs_that_read_the_same_in_other_orders_are_known_by_that() {
        let run = |order: &mut dyn FnMut(u64) -> u64| {
            profile(&(0..1_201).map(|at| ("a", 2 * order(at), 1)).collect::<Vec<_>>())
        };
        let (same, other) = (run(&mut |at| at), run(&mut |at| at * 743 % 1_201));
        assert!(!same.clone().after(&same).is_unordered);
        let unordered = other.clone().after(&same);
        assert!(unordered.is_unordered);
        assert!(!other.after(&unordered).is_unordered, "it goes as the last run did");
    }

    proptest::proptest! {
        #[test]
        fn the_last_run_is_there_as_it_was_and_what_is_added_once(
            last in proptest::collection::vec((0..3usize, 0..40u64, 0..9u64), 0..30),
            before in proptest::collection::vec((0..3usize, 0..40u64, 0..9u64), 0..30),
        ) {
            let of = |steps: &[(usize, u64, u64)]| {
                let named = steps.iter().map(|&(file, first, count)| (["a", "b", "c"][file], first, count));
                profile(&named.collect::<Vec<_>>())
            };
            let (last, before) = (of(&last), of(&before));
            let union = last.clone().after(&before.clone().after(&before));
            let blocks = |runs: &dyn Fn(u8) -> bool| {
                let mut blocks = Vec::new();
                for step in union.steps.iter().filter(|step| runs(step.runs)) {
                    if let Want::Range { first, count } = step.want {
                        blocks.extend((first..first + count).map(|index| (union.files[step.file].to_owned(), index)));
                    }
                }
                blocks
            };
            proptest::prop_assert!(union.says_the_same_as(&last));
            let mut added = blocks(&|runs| runs & 1 == 0);
            let of_last = blocks(&|runs| runs & 1 != 0);
            let count = added.len();
            added.sort();
            added.dedup();
            proptest::prop_assert_eq!(added.len(), count);
            proptest::prop_assert!(added.iter().all(|block| !of_last.contains(block)));
        }
    }
}
