//! Estimators, and who arbitrates between them: which page goes where several know what pages are
//! worth, each of those it knows best (000 sections 4.1 and 5.1). `tip2` and its relatives and
//! `readahead` are made of them.
//!
//! ```text
//! weigh(need):   loop: e = the estimator that declares the least value; p = its least valuable page
//!                      if p is worth what is needed: nothing goes
//!                      if an estimator defends p, or e gives it back: who takes such pages owns p, once it was read;
//!                          if that is e, or p was not read, the others' turn comes where a page is needed whatever it costs;
//!                          else, and if nobody takes them, nothing goes
//!                      if nobody else has a say in p: p is the candidate
//!                      e owns p no more
//!                      if another estimator values p above all that is declared now: it owns p
//!                      else if another declares p when its turn comes: that decides
//!                      else: p is an orphan, and the candidate
//!
//! candidate:     the first orphan that can go, else what is declared least and not defended
//! ```
//!
//! To declare and to value changes nothing (`&self`), so that it can be asked at any time; pages
//! change owners in `weigh` alone, which is for a page that is needed. What estimators have in
//! common (prices, lists they share) is on their desk, `D`.
//!
//! ```text
//! desk       what requests cost, how often each estimator's pages are referenced, and the lists of what was not disclosed
//! queue      recency: the LRU queue and its ghosts
//! runs       runs, which are read ahead
//! hints      what is disclosed
//! orphans    pages that nobody owns
//!
//! prices     of `informed`, which has no lists of its own: what requests cost, and who makes how many of the references
//! told       what is disclosed, just in time
//! overdue    what was brought for a use that does not come
//! kept       what is not, by another policy
//! ```

pub mod desk;
pub mod hints;
pub mod kept;
mod orphans;
mod overdue;
pub mod prices;
pub mod queue;
pub mod runs;
pub mod told;

use super::{Ahead, Candidate, Context, Need, Worth};
use crate::ids::Page;
pub use orphans::Orphans;

/// Knows what pages are worth, of those it owns or of all.
pub trait Estimator<D> {
    /// A page is needed: brings up to date what `least` goes by.
    fn refresh(&mut self, _desk: &mut D, _context: &Context<'_>) {}

    /// Its least valuable page, and what that is worth.
    fn least(&self, _desk: &D, _context: &Context<'_>, _need: Need) -> Option<Candidate> {
        None
    }

    /// Whether it can tell of any page what that is worth, and not only of the one that it
    /// declares.
    fn knows_each(&self) -> bool {
        false
    }

    /// What a page is worth, if it can tell.
    fn worth(&self, _page: Page, _desk: &D, _context: &Context<'_>) -> Option<f64> {
        None
    }

    /// Whether a page must not go for this need, whoever declares it.
    fn defends(&self, _page: Page, _desk: &D, _context: &Context<'_>, _need: Need) -> bool {
        false
    }

    /// Whether a page that it declared is to be another's.
    fn gives_back(&self, _page: Page, _desk: &D, _context: &Context<'_>) -> bool {
        false
    }

    /// Whether pages that are defended, or given back, are its from then on, whoever declared them.
    fn takes_defended(&self) -> bool {
        false
    }

    /// Whether it owns a page.
    fn owns(&self, _page: Page) -> bool {
        false
    }

    /// It owns a page from now on that it values.
    fn own(&mut self, _page: Page, _desk: &mut D, _context: &Context<'_>) {}

    /// It owns a page no longer.
    fn disown(&mut self, _page: Page, _desk: &mut D, _context: &Context<'_>) {}

    /// What fetching this block ahead is worth now; None if it is too early, or it cannot tell.
    fn ahead(&self, _ahead: &Ahead, _desk: &D, _context: &Context<'_>) -> Option<Worth> {
        None
    }
}

/// One that is there or not.
impl<D, E: Estimator<D>> Estimator<D> for Option<E> {
    fn refresh(&mut self, desk: &mut D, context: &Context<'_>) {
        self.iter_mut().for_each(|it| it.refresh(desk, context));
    }

    fn least(&self, desk: &D, context: &Context<'_>, need: Need) -> Option<Candidate> {
        self.as_ref()?.least(desk, context, need)
    }

    fn knows_each(&self) -> bool {
        self.as_ref().is_some_and(E::knows_each)
    }

    fn worth(&self, page: Page, desk: &D, context: &Context<'_>) -> Option<f64> {
        self.as_ref()?.worth(page, desk, context)
    }

    fn defends(&self, page: Page, desk: &D, context: &Context<'_>, need: Need) -> bool {
        self.as_ref().is_some_and(|it| it.defends(page, desk, context, need))
    }

    fn owns(&self, page: Page) -> bool {
        self.as_ref().is_some_and(|it| it.owns(page))
    }

    fn own(&mut self, page: Page, desk: &mut D, context: &Context<'_>) {
        self.iter_mut().for_each(|it| it.own(page, desk, context));
    }

    fn disown(&mut self, page: Page, desk: &mut D, context: &Context<'_>) {
        self.iter_mut().for_each(|it| it.disown(page, desk, context));
    }

    fn ahead(&self, ahead: &Ahead, desk: &D, context: &Context<'_>) -> Option<Worth> {
        self.as_ref()?.ahead(ahead, desk, context)
    }
}

/// What is declared least, and by which estimator; ties: by the first. Some may be left out.
fn least<D>(
    estimators: &[&dyn Estimator<D>],
    desk: &D,
    context: &Context<'_>,
    need: Need,
    is_left_out: impl Fn(usize, Page) -> bool,
) -> Option<(usize, Candidate)> {
    let declared = estimators.iter().enumerate().filter_map(|(at, it)| Some((at, it.least(desk, context, need)?)));
    let declared = declared.filter(|&(at, it)| !is_left_out(at, it.page));
    declared.reduce(|least, other| if other.1.worth < least.1.worth { other } else { least })
}

/// What is declared least, if no estimator defends it; where one takes what is defended, and a page
/// is needed whatever it costs, the least of the others.
pub fn candidate<D>(
    estimators: &[&dyn Estimator<D>],
    desk: &D,
    context: &Context<'_>,
    need: Need,
) -> Option<Candidate> {
    let is_defended = |page| estimators.iter().any(|it| it.defends(page, desk, context, need));
    let others_turn_comes = need.value.is_infinite() && estimators.iter().any(|it| it.takes_defended());
    let (_, least) = least(estimators, desk, context, need, |_, page| others_turn_comes && is_defended(page))?;
    (!is_defended(least.page)).then_some(least)
}

/// What fetching a block ahead is worth to whom it is worth most.
pub fn ahead<D>(estimators: &[&dyn Estimator<D>], ahead: &Ahead, desk: &D, context: &Context<'_>) -> Option<Worth> {
    let known = estimators.iter().filter_map(|it| it.ahead(ahead, desk, context));
    known.reduce(|best, other| if other.rank > best.rank { other } else { best })
}

/// Estimators at their desk.
pub struct Arbitration<'a, 'b, D, const N: usize> {
    /// In the order in which they are asked.
    pub estimators: [&'a mut dyn Estimator<D>; N],
    /// Pages that none of them owns.
    pub orphans: &'a mut Orphans,
    /// What they have in common.
    pub desk: &'a mut D,
    /// What they may look at.
    pub context: &'a Context<'b>,
}

impl<D, const N: usize> Arbitration<'_, '_, D, N> {
    fn can_go(&self, page: Page) -> bool {
        self.context.table.can_go(page)
    }

    /// Whether another estimator than this one owns a page and has its turn to declare it.
    fn has_a_turn_elsewhere(&self, page: Page, at: usize) -> bool {
        let others = self.estimators.iter().enumerate().filter(|&(other, _)| other != at);
        others.into_iter().any(|(_, it)| !it.knows_each() && it.owns(page))
    }

    /// What is declared least; some estimators may be left out.
    fn least(&self, need: Need, left_out: &[bool; N]) -> Option<(usize, Candidate)> {
        let is_left_out = |at: usize, _| left_out[at];
        least(&self.estimators.each_ref().map(|it| &**it), self.desk, self.context, need, is_left_out)
    }

    /// To whom a page is worth most, and how much.
    fn best(&self, page: Page) -> Option<(usize, f64)> {
        let valued = self.estimators.iter().enumerate();
        let valued = valued.filter_map(|(at, it)| Some((at, it.worth(page, self.desk, self.context)?)));
        valued.reduce(|best, other| if other.1 > best.1 { other } else { best })
    }

    /// Lets pages change owners until what is declared least is the page to go for this need.
    pub fn weigh(mut self, need: Need) {
        if !self.orphans.is_empty() {
            let estimators = &self.estimators;
            let is_owned = |page| estimators.iter().any(|it| it.owns(page));
            let can_go = |page| self.context.table.can_go(page);
            self.orphans.clear(is_owned, can_go);
            if self.orphans.first(is_owned, can_go).is_some() {
                return;
            }
        }
        for it in &mut self.estimators {
            it.refresh(self.desk, self.context);
        }
        let taker = self.estimators.iter().position(|it| it.takes_defended());
        let mut left_out = [false; N];
        while let Some((at, Candidate { page, worth, .. })) =
            self.least(need, &left_out).filter(|(_, it)| it.worth < need.value)
        {
            if self.estimators[at].gives_back(page, self.desk, self.context)
                || self.estimators.iter().any(|it| it.defends(page, self.desk, self.context, need))
            {
                let was_read = !self.context.table.state(page).is_unread();
                match taker {
                    Some(taker) if taker != at && was_read => {
                        self.estimators[at].disown(page, self.desk, self.context);
                        self.estimators[taker].own(page, self.desk, self.context);
                    }
                    Some(_) if need.value.is_infinite() => left_out[at] = true,
                    _ => return,
                }
                continue;
            }
            let best = self.best(page);
            let has_a_turn = self.has_a_turn_elsewhere(page, at);
            if best.is_none() && !has_a_turn && self.can_go(page) {
                return;
            }
            self.estimators[at].disown(page, self.desk, self.context);
            // Never less than what was least before: what proves worth nothing is found in its
            // turn.
            let declared =
                |it: &Self| it.least(need, &left_out).map_or(f64::INFINITY, |(_, other)| other.worth.max(worth));
            if let Some((other, saved)) = best
                && (saved >= need.value || saved > declared(&self))
            {
                self.estimators[other].own(page, self.desk, self.context);
            } else if !has_a_turn {
                self.orphans.push(page, worth);
                if self.can_go(page) {
                    self.estimators.iter_mut().for_each(|it| it.disown(page, self.desk, self.context));
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{DeviceLimits, Dispatch};
    use crate::files::Files;
    use crate::hint;
    use crate::ids::{Block, FileId};
    use crate::layout::Stripe;
    use crate::table::{Phase, State, Table};

    /// Owns pages at these values, the least first; what it knows of pages beside is what they are
    /// worth to it.
    #[derive(Default)]
    struct Toy {
        owned: Vec<(Page, f64)>,
        known: Vec<(Page, f64)>,
        defended: Option<Page>,
        given_back: Option<Page>,
        takes: bool,
    }

    impl Estimator<()> for Toy {
        fn least(&self, (): &(), _: &Context<'_>, _: Need) -> Option<Candidate> {
            self.owned.first().map(|&(page, worth)| Candidate::priced(page, worth))
        }

        fn knows_each(&self) -> bool {
            !self.known.is_empty()
        }

        fn worth(&self, page: Page, (): &(), _: &Context<'_>) -> Option<f64> {
            self.known.iter().find(|it| it.0 == page).map(|it| it.1)
        }

        fn defends(&self, page: Page, (): &(), _: &Context<'_>, _: Need) -> bool {
            self.defended == Some(page)
        }

        fn gives_back(&self, page: Page, (): &(), _: &Context<'_>) -> bool {
            self.given_back == Some(page)
        }

        fn takes_defended(&self) -> bool {
            self.takes
        }

        fn owns(&self, page: Page) -> bool {
            self.owned.iter().any(|it| it.0 == page)
        }

        fn own(&mut self, page: Page, (): &mut (), context: &Context<'_>) {
            let worth = self.worth(page, &(), context).unwrap_or(0.0);
            let at = self.owned.partition_point(|it| it.1 <= worth);
            self.owned.insert(at, (page, worth));
        }

        fn disown(&mut self, page: Page, (): &mut (), _: &Context<'_>) {
            self.owned.retain(|it| it.0 != page);
        }
    }

    /// What goes for a need of this value, and what the first estimator owns then.
    fn goes(mut one: Toy, mut other: Toy, value: f64) -> (Option<Page>, Vec<Page>) {
        let mut table = Table::default();
        for index in 0..6 {
            table.insert(Block { file: FileId(0), index }, State::Cached, Phase::Present);
        }
        let (hints, files) = (hint::Hints::default(), Files::default());
        let dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
        let context = Context { table: &table, capacity: 6, hints: &hints, files: &files, dispatch: &dispatch };
        let (mut orphans, need) = (Orphans::default(), Need { value, ..Need::LESS });
        let estimators: [&mut dyn Estimator<()>; 2] = [&mut one, &mut other];
        Arbitration { estimators, orphans: &mut orphans, desk: &mut (), context: &context }.weigh(need);
        let orphan = orphans.first(|page| one.owns(page) || other.owns(page), |_| true);
        let declared = candidate(&[&one, &other], &(), &context, need).filter(|it| it.worth < value);
        (orphan.or(declared).map(|it| it.page), one.owned.iter().map(|it| it.0).collect())
    }

    fn toy(owned: &[(Page, f64)]) -> Toy {
        Toy { owned: owned.to_vec(), ..Toy::default() }
    }

    #[test]
    fn the_least_declared_goes_if_it_is_worth_less_than_the_need() {
        assert_eq!(goes(toy(&[(1, 3.0)]), toy(&[(2, 2.0)]), 5.0), (Some(2), vec![1]));
        assert_eq!(goes(toy(&[(1, 2.0)]), toy(&[(2, 2.0)]), 5.0).0, Some(1), "ties: the first");
        assert_eq!(goes(toy(&[(1, 3.0)]), toy(&[(2, 2.0)]), 2.0).0, None);
    }

    #[test]
    fn who_values_a_page_above_all_that_is_declared_owns_it() {
        let knows = |worth| Toy { known: vec![(1, worth)], ..toy(&[(2, 4.0)]) };
        assert_eq!(goes(toy(&[(1, 1.0), (3, 2.0)]), knows(3.0), 9.0), (Some(3), vec![3]));
        // Not above what is declared next: it goes.
        assert_eq!(goes(toy(&[(1, 1.0), (3, 2.0)]), knows(1.5), 9.0), (Some(1), vec![3]));
        // It has the page already, and lets it go with the queue's.
        let both = Toy { known: vec![(1, 1.5)], ..toy(&[(1, 1.5)]) };
        assert_eq!(goes(toy(&[(1, 1.0), (3, 2.0)]), both, 9.0), (Some(1), vec![3]));
    }

    #[test]
    fn a_page_that_another_declares_in_its_turn_waits_for_it() {
        let knows = Toy { known: vec![(1, 0.5)], ..toy(&[(1, 0.5), (2, 4.0)]) };
        assert_eq!(goes(toy(&[(3, 1.0), (1, 2.0)]), knows, 9.0), (Some(3), vec![3, 1]));
    }

    #[test]
    fn what_is_defended_stays_whoever_declares_it() {
        let defends = Toy { defended: Some(1), ..toy(&[(2, 4.0)]) };
        assert_eq!(goes(toy(&[(1, 1.0)]), defends, 9.0), (None, vec![1]));
    }

    #[test]
    fn what_is_defended_or_given_back_is_the_takers() {
        // The other's page is defended; the taker declares it, and its turn is over.
        // Nothing goes unless a page is needed whatever it costs.
        for (value, gone) in [(9.0, None), (f64::INFINITY, Some(3))] {
            let takes = Toy { takes: true, ..toy(&[(2, 4.0)]) };
            let defends = Toy { defended: Some(1), ..toy(&[(1, 1.0), (3, 5.0)]) };
            assert_eq!(goes(takes, defends, value), (gone, vec![1, 2]));
            let takes = Toy { takes: true, ..toy(&[(1, 1.0)]) };
            let defends = Toy { defended: Some(1), ..toy(&[(3, 5.0)]) };
            assert_eq!(goes(takes, defends, value), (gone, vec![1]));
        }
        let takes = Toy { takes: true, ..toy(&[(2, 4.0)]) };
        let gives = Toy { given_back: Some(1), ..toy(&[(1, 1.0), (3, 5.0)]) };
        assert_eq!(goes(takes, gives, 9.0), (Some(1), vec![1, 2]), "nobody defends it, and the taker lets it go");
    }
}
