//! Pages by their next disclosed use, and which of them is used last: the page that Belady's rule
//! gives up, as far as the future is disclosed. What nobody disclosed a use of goes before all
//! others, the oldest first.
//!
//! What a page is worth for a use is its policy's to say (`value`): the less, the later it is, of
//! one reader's uses (what several read together has the foremost's and what he left out, and the
//! latest is looked at of both as one); None for one that has passed. Of several readers' uses of a page that one
//! counts for which it is worth most. A page stands where it was put; when its turn to go comes, it
//! is looked at again.

use super::list::List;
use super::{Candidate, Context, by_page};
use crate::estimate::agenda::Agenda;
use crate::hint::Use;
use crate::ids::Page;

/// What a page is worth for a use; None if that has passed.
pub(super) trait Value: Fn(Page, Use) -> Option<f64> {}

impl<T: Fn(Page, Use) -> Option<f64>> Value for T {}

/// Where a page stands.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Place {
    /// It is not here.
    #[default]
    Gone,
    /// Nobody disclosed a use of it that is to come.
    Unused,
    At(Use),
}

/// See above.
#[derive(Default)]
pub(super) struct NextUses {
    at: Vec<Place>,
    /// The pages of each sequence.
    agendas: Vec<Agenda>,
    unused: List,
    /// How many pages there are.
    len: u64,
    /// Found to be used last when that was looked for.
    found: Option<Page>,
}

impl NextUses {
    /// A page came.
    pub fn push(&mut self, page: Page, value: &impl Value, context: &Context<'_>) {
        by_page::reach(&mut self.at, page, Place::Gone);
        self.len += 1;
        self.place(page, value, context);
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it has a page.
    pub fn holds(&self, page: Page) -> bool {
        self.at.get(page as usize).is_some_and(|&at| at != Place::Gone)
    }

    /// For tests.
    pub fn check(&self) {
        let held = self.at.iter().filter(|&&at| at != Place::Gone).count() as u64;
        assert_eq!(held, self.len, "I1: pages by their next use");
        assert!(self.found.is_none_or(|page| self.holds(page)), "I1: what was found is here");
    }

    /// A page goes.
    pub fn left(&mut self, page: Page) {
        self.found = self.found.filter(|&found| found != page);
        self.len -= 1;
        self.remove(page);
    }

    fn remove(&mut self, page: Page) {
        match std::mem::take(&mut self.at[page as usize]) {
            Place::At(next) => self.agendas[usize::from(next.sequence)].forget(),
            Place::Unused => self.unused.remove(page),
            Place::Gone => {}
        }
    }

    /// What is disclosed of a page is no longer what it was: it was referenced, or a hint speaks of
    /// it.
    pub fn renew(&mut self, page: Page, value: &impl Value, context: &Context<'_>) {
        self.remove(page);
        self.place(page, value, context);
    }

    /// A sequence is no more.
    pub fn forget(&mut self, sequence: u16) {
        let Some(agenda) = self.agendas.get_mut(usize::from(sequence)) else { return };
        let at = &self.at;
        for page in agenda.drain(|when, page| at[page as usize] == Place::At(Use { sequence, when })) {
            // Who was put there twice is drained twice.
            if std::mem::replace(&mut self.at[page as usize], Place::Unused) != Place::Unused {
                self.unused.push_newest(page);
            }
        }
    }

    /// Finds the page among those that can go which is used last.
    pub fn weigh(&mut self, value: &impl Value, context: &Context<'_>) {
        // Views keep some pages; they are put back.
        let mut kept = Vec::new();
        self.found = loop {
            let Some(page) = self.last(value, context) else { break None };
            if context.table.can_go(page) {
                break Some(page);
            }
            self.remove(page);
            kept.push(page);
        };
        kept.into_iter().for_each(|page| self.place(page, value, context));
    }

    /// The page that was found, and what it is worth: less than all others where nobody disclosed a
    /// use of it.
    pub fn candidate(&self, value: &impl Value, context: &Context<'_>) -> Option<Candidate> {
        let page = self.found.filter(|&page| context.table.can_go(page))?;
        let worth = most_valued(page, value, context).map_or(f64::NEG_INFINITY, |(_, worth)| worth);
        Some(Candidate::priced(page, worth))
    }

    /// The page used last.
    fn last(&mut self, value: &impl Value, context: &Context<'_>) -> Option<Page> {
        loop {
            let page = self.declared_last(value)?;
            // It may have been disclosed since, passed over, or be used sooner by another reader.
            let next = most_valued(page, value, context).map_or(Place::Unused, |(next, _)| Place::At(next));
            if next == self.at[page as usize] {
                return Some(page);
            }
            self.renew(page, value, context);
        }
    }

    /// The same by where pages stand.
    fn declared_last(&mut self, value: &impl Value) -> Option<Page> {
        if let Some(page) = self.unused.oldest_first().next() {
            return Some(page);
        }
        let mut last: Option<(Page, f64)> = None;
        for sequence in 0..self.agendas.len() as u16 {
            let at = &self.at;
            let holds = |when: u64, page: Page| at[page as usize] == Place::At(Use { sequence, when });
            let agenda = &mut self.agendas[usize::from(sequence)];
            agenda.clear_ends(holds);
            let Some((soonest, passed_over)) = agenda.soonest(holds) else { continue };
            if value(passed_over, Use { sequence, when: soonest }).is_none() {
                return Some(passed_over);
            }
            let Some((when, page)) = agenda.latest(holds) else { continue };
            let worth = value(page, Use { sequence, when }).unwrap_or(f64::NEG_INFINITY);
            if last.is_none_or(|(_, least)| worth < least) {
                last = Some((page, worth));
            }
        }
        last.map(|(page, _)| page)
    }

    fn place(&mut self, page: Page, value: &impl Value, context: &Context<'_>) {
        let Some((next, _)) = most_valued(page, value, context) else {
            self.at[page as usize] = Place::Unused;
            return self.unused.push_newest(page);
        };
        self.at[page as usize] = Place::At(next);
        let sequence = usize::from(next.sequence);
        if sequence >= self.agendas.len() {
            self.agendas.resize_with(sequence + 1, Agenda::default);
        }
        let at = &self.at;
        let holds = |when: u64, page: Page| at[page as usize] == Place::At(Use { sequence: next.sequence, when });
        self.agendas[sequence].push(next.when, page, holds);
    }
}

/// The disclosed use for which a page is worth most, and how much.
fn most_valued(page: Page, value: &impl Value, context: &Context<'_>) -> Option<(Use, f64)> {
    let valued = context.uses(page).filter_map(|next| Some((next, value(page, next)?)));
    valued.reduce(|best, other| if other.1 > best.1 { other } else { best })
}
