//! Whether runs read what they share in the same order.

/// So many steps that both read say whether they went the same way.
const JUDGED_MIN: usize = 128;
/// In any order what is read is a third of all from where it was in another run, in the mean; so far at least it is where
/// runs have no order in common. Readers that take turns, in each run as it happens, are far nearer.
const PART_MIN: f64 = 1.0 / 6.0;

/// Of one run, or several, beside what was read before: of when each thing was read first. What is read again and again, as
/// headers by a compiler, comes in the order of what needs it.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Of each step, whether it is still to be read by this run.
    is_open: Vec<bool>,
    /// Steps that this run read, of those before it, in its order.
    steps: Vec<usize>,
    /// How far they were from where they are in the others, and how far they would be in no order, of all runs.
    apart: f64,
    apart_min: f64,
}

impl Order {
    /// A run begins: what any has read by now is compared with what it reads.
    pub fn begin_run(&mut self, steps: usize) {
        self.end_run();
        self.is_open.clear();
        self.is_open.resize(steps, true);
    }

    /// This run reads what the step of this number did.
    pub fn read(&mut self, step: usize) {
        if let Some(is_open) = self.is_open.get_mut(step)
            && std::mem::replace(is_open, false)
        {
            self.steps.push(step);
        }
    }

    fn end_run(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        if steps.len() < JUDGED_MIN {
            return;
        }
        let mut sorted: Vec<_> = steps.iter().copied().zip(0_usize..).collect();
        sorted.sort_unstable();
        let apart = |(here, &(_, there)): (usize, &(usize, usize))| here.abs_diff(there) as f64;
        self.apart += sorted.iter().enumerate().map(apart).sum::<f64>();
        self.apart_min += PART_MIN * (steps.len() as f64).powi(2);
    }

    /// Whether they went another way; None if they share too little to say.
    pub fn into_verdict(mut self) -> Option<bool> {
        self.end_run();
        (self.apart_min > 0.0).then_some(self.apart > self.apart_min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: usize = 3_001;

    fn is_another<'a>(runs: impl IntoIterator<Item = &'a [usize]>) -> Option<bool> {
        let mut order = Order::default();
        for run in runs {
            order.begin_run(STEPS);
            run.iter().for_each(|&at| order.read(at));
        }
        order.into_verdict()
    }

    /// Any order of so many steps, a prime number, or of the first of them.
    fn shuffled(steps: usize) -> Vec<usize> {
        (0..STEPS).map(|at| at * 1_857 % STEPS).filter(|&at| at < steps).collect()
    }

    #[test]
    fn the_same_way_is_in_order_and_any_other_is_not() {
        let same: Vec<_> = (0..STEPS).collect();
        assert_eq!(is_another([&same[..], &same[..]]), Some(false));
        for steps in [130, 400, STEPS] {
            assert_eq!(is_another([&shuffled(steps)[..]]), Some(true), "{steps}");
        }
    }

    #[test]
    fn files_in_any_order_of_which_each_is_read_in_its_own_are_in_none() {
        let files: Vec<_> = shuffled(1_000).into_iter().flat_map(|file| 3 * file..3 * file + 3).collect();
        assert_eq!(is_another([&files[..]]), Some(true));
    }

    #[test]
    fn of_few_it_does_not_show() {
        assert_eq!(is_another([&shuffled(STEPS)[..100], &shuffled(STEPS)[..100]]), None);
    }

    #[test]
    fn who_leaves_some_out_or_reads_them_twice_goes_the_same_way() {
        let some: Vec<_> = (0..STEPS).step_by(20).flat_map(|at| [at, at / 40 * 20, at]).collect();
        assert_eq!(is_another([&some[..]]), Some(false));
    }

    /// Which of 64 is ahead is another one in each run.
    #[test]
    fn readers_that_take_turns_go_the_same_way() {
        let turns: Vec<_> =
            (0..46).flat_map(|at| shuffled(64).into_iter().map(move |reader| at * 64 + reader)).collect();
        assert_eq!(is_another([&turns[..]]), Some(false));
    }
}
