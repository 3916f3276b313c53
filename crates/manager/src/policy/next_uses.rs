//! Pages by their next disclosed use, and which of them is used last: the page that Belady's rule gives up, as far as the future
//! is disclosed. What nobody disclosed a use of goes before all others, the oldest first.
//!
//! Of several sequences' uses that one counts which comes first, in references of its own reader: what readers make in the same
//! time is not known. A page stands where it was put; when its turn to go comes, it is looked at again.

use super::list::List;
use super::{Candidate, Context};
use crate::estimate::agenda::Agenda;
use crate::hint::Use;
use crate::ids::Page;

/// See above.
#[derive(Default)]
pub(super) struct NextUses {
    /// The use that each page stands at; None for those without one, and for those that are not here.
    at: Vec<Option<Use>>,
    /// The pages of each sequence.
    agendas: Vec<Agenda>,
    unused: List,
    /// Found to be used last when that was looked for.
    found: Option<Page>,
}

impl NextUses {
    /// A page came.
    pub fn push(&mut self, page: Page, context: &Context<'_>) {
        if page as usize >= self.at.len() {
            self.at.resize(page as usize + 1, None);
        }
        self.place(page, context);
    }

    /// A page goes.
    pub fn left(&mut self, page: Page) {
        self.found = self.found.filter(|&found| found != page);
        self.remove(page);
    }

    fn remove(&mut self, page: Page) {
        match self.at[page as usize].take() {
            Some(next) => self.agendas[usize::from(next.sequence)].forget(),
            None => self.unused.remove(page),
        }
    }

    /// What is disclosed of a page is no longer what it was: it was referenced, or a hint speaks of it.
    pub fn renew(&mut self, page: Page, context: &Context<'_>) {
        self.remove(page);
        self.place(page, context);
    }

    /// A sequence is no more.
    pub fn forget(&mut self, sequence: u16) {
        let Some(agenda) = self.agendas.get_mut(usize::from(sequence)) else { return };
        let at = &self.at;
        for page in agenda.drain(|when, page| at[page as usize] == Some(Use { sequence, when })) {
            // Who was put there twice is drained twice.
            if self.at[page as usize].take().is_some() {
                self.unused.push_newest(page);
            }
        }
    }

    /// Finds the page among those that can go which is used last.
    pub fn weigh(&mut self, context: &Context<'_>) {
        // Views keep some pages; they are put back.
        let mut kept = Vec::new();
        self.found = loop {
            let Some(page) = self.last(context) else { break None };
            if context.table.can_go(page) {
                break Some(page);
            }
            self.remove(page);
            kept.push(page);
        };
        kept.into_iter().for_each(|page| self.place(page, context));
    }

    /// The page that was found, and what it is worth: the less, the more references there are until it is used.
    pub fn candidate(&self, context: &Context<'_>) -> Option<Candidate> {
        let page = self.found.filter(|&page| context.table.can_go(page))?;
        let until = soonest(page, context).and_then(|next| context.references_until(next));
        Some(Candidate { page, worth: until.map_or(f64::NEG_INFINITY, |until| -(until as f64)) })
    }

    /// The page used last.
    fn last(&mut self, context: &Context<'_>) -> Option<Page> {
        loop {
            let page = self.declared_last(context)?;
            // It may have been disclosed since, passed over, or be used sooner by another reader.
            let next = soonest(page, context);
            if next == self.at[page as usize] {
                return Some(page);
            }
            self.renew(page, context);
        }
    }

    /// The same by where pages stand.
    fn declared_last(&mut self, context: &Context<'_>) -> Option<Page> {
        if let Some(page) = self.unused.oldest_first().next() {
            return Some(page);
        }
        let mut last: Option<(Page, f64)> = None;
        for sequence in 0..self.agendas.len() as u16 {
            let at = &self.at;
            let holds = |when: u64, page: Page| at[page as usize] == Some(Use { sequence, when });
            let agenda = &mut self.agendas[usize::from(sequence)];
            agenda.clear_ends(holds);
            let Some((soonest, passed_over)) = agenda.soonest(holds) else { continue };
            if context.references_until(Use { sequence, when: soonest }).is_none() {
                return Some(passed_over);
            }
            let Some((when, page)) = agenda.latest(holds) else { continue };
            let until = context.references_until(Use { sequence, when }).map_or(f64::INFINITY, |until| until as f64);
            if last.is_none_or(|(_, most)| until > most) {
                last = Some((page, until));
            }
        }
        last.map(|(page, _)| page)
    }

    fn place(&mut self, page: Page, context: &Context<'_>) {
        let next = soonest(page, context);
        self.at[page as usize] = next;
        let Some(next) = next else { return self.unused.push_newest(page) };
        let sequence = usize::from(next.sequence);
        if sequence >= self.agendas.len() {
            self.agendas.resize_with(sequence + 1, Agenda::default);
        }
        let at = &self.at;
        let holds = |when: u64, page: Page| at[page as usize] == Some(Use { sequence: next.sequence, when });
        self.agendas[sequence].push(next.when, page, holds);
    }
}

/// The disclosed use of a page that comes first.
fn soonest(page: Page, context: &Context<'_>) -> Option<Use> {
    let until = |next: Use| Some((context.references_until(next)?, next));
    context.uses(page).filter_map(until).min_by_key(|&(references, _)| references).map(|(_, next)| next)
}
