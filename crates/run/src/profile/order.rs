//! Whether runs read what they share in the same order.

/// So many steps that both read say whether they went the same way.
const JUDGED_MIN: u64 = 128;
/// Places from which a run may go on: its processes and threads take turns, in each run as it happens.
const HEADS: usize = 8;
/// It goes on from one if it skips no more steps than these, which the other run took between. In any order one of 3,000 lies
/// behind one of the heads by chance once in 12 times.
const SKIPPED_MAX: usize = 32;

/// Of one run, or several, beside what was read before: of when each thing was read first. What is read again and again, as
/// headers by a compiler, comes in the order of what needs it.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Steps that read what none had before them; of each, its place among them, and whether this run has read it.
    firsts: usize,
    steps: Vec<(usize, bool)>,
    /// Where this run was lately, the last place first.
    heads: Vec<usize>,
    /// Steps of all runs that both read, and those that came where their run was.
    shared: u64,
    in_place: u64,
}

impl Order {
    pub fn begin_run(&mut self) {
        self.heads.clear();
        self.steps.iter_mut().for_each(|(_, is_met)| *is_met = false);
    }

    /// A step of this number reads what none did before.
    pub fn add(&mut self, step: usize) {
        if step >= self.steps.len() {
            self.steps.resize(step + 1, (self.firsts, true));
            self.firsts += 1;
        }
    }

    /// This run reads what the step of this number did.
    pub fn read(&mut self, step: usize) {
        let Some((at, is_met)) = self.steps.get_mut(step) else { return };
        if std::mem::replace(is_met, true) {
            return;
        }
        let at = *at;
        let goes_on = |head: &usize| (*head + 1..=*head + 1 + SKIPPED_MAX).contains(&at);
        self.shared += 1;
        match self.heads.iter().position(goes_on) {
            Some(head) => {
                self.in_place += 1;
                self.heads.remove(head);
            }
            None => self.heads.truncate(HEADS - 1),
        }
        self.heads.insert(0, at);
    }

    /// Whether they went another way.
    pub fn is_left(&self) -> bool {
        self.shared >= JUDGED_MIN && (self.in_place as f64) < super::IN_PLACE_MIN * self.shared as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that read what one before them did, of which every third step was new.
    fn left_by<'a>(runs: impl IntoIterator<Item = &'a [usize]>) -> bool {
        let mut order = Order::default();
        order.begin_run();
        (0..3_001).for_each(|at| order.add(3 * at));
        for run in runs {
            order.begin_run();
            run.iter().for_each(|&at| order.read(3 * at));
        }
        order.is_left()
    }

    /// The golden section of a round, from each to the next, comes near no place lately left.
    fn shuffled(steps: usize) -> Vec<usize> {
        (0..steps).map(|at| at * 1_857 % steps).collect()
    }

    #[test]
    fn the_same_way_is_in_order_and_any_other_is_not() {
        let same: Vec<_> = (0..3_001).collect();
        assert!(!left_by([&same[..]]) && left_by([&shuffled(3_001)[..]]));
        assert!(!left_by([&same[..], &same[..]]) && left_by([&shuffled(3_001)[..], &shuffled(3_001)[..]]));
    }

    #[test]
    fn of_few_it_does_not_show() {
        assert!(!left_by([&shuffled(3_001)[..100]]));
    }

    #[test]
    fn who_leaves_some_out_or_reads_them_twice_goes_the_same_way() {
        let some: Vec<_> = (0..3_000).step_by(20).flat_map(|at| [at, at]).collect();
        assert!(!left_by([&some[..]]));
    }

    #[test]
    fn what_is_read_again_says_nothing() {
        let headers = shuffled(3_001);
        let build: Vec<_> = (0..3_001).flat_map(|at| [at, headers[at].min(at), headers[3_000 - at].min(at)]).collect();
        assert!(!left_by([&build[..]]));
    }

    #[test]
    fn readers_that_take_turns_go_the_same_way() {
        let turns: Vec<_> = (0..400).flat_map(|at| (0..6).map(move |reader| reader * 400 + at)).collect();
        assert!(!left_by([&turns[..]]));
    }
}
