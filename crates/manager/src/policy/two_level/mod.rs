//! Two-level replacement (002 section 2): whose page goes is decided here, which of that program's
//! pages in `control`.
//!
//! The pages of programs that say nothing of them may be another policy's (`silent`): which of them
//! goes is its to say, as a manager's of its own pages. It pays as one, too: whoever advises loses
//! nothing to what it gives up.
//!
//! Shared by `lru-sp`, `lru-s` and `alloc-lru`, which differ in what is remembered of an
//! overruling. The paper's two kernel modules are two files: BUF, the allocation, is this one; ACM,
//! which acts for the programs, is `control`. The five calls between them have the paper's names,
//! less their prefixes: `new_block`, `block_gone`, `block_accessed`, `replace_block`,
//! `placeholder_used`.
//!
//! # Worked example: `lru-sp`, three pages, oldest first
//! ```text
//! a p b      a and b are a program's that manages its pages, by MRU; p is another's
//!            it reads c: candidate a. Its manager gives up b instead: a and b change places, and b, which goes, leaves
//!            a placeholder, b -> a: under LRU, b would be where a is now
//! p a c      it reads b: candidate a, not p, the oldest. The program was wrong about b, so one of its own pages goes, and
//!            p stays, as under LRU. Its manager prefers c: c -> a
//! p a b
//! ```

mod control;
mod placeholders;

use super::held::Held;
use super::list::List;
use super::{
    Access, Advised, Candidate, Classes, Context, Judged, Lesson, Nature, Need, Partition, Patterns, Policy, Reports,
};
use crate::advice::{Advice, Answer};
use crate::event::Refusal;
use crate::ids::{Page, ReaderId};
use control::Control;
pub(super) use control::Revocation;
use placeholders::Placeholders;

/// What is remembered when a manager overrules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// The candidate and the page that goes in its place change places in the list: who knows
    /// better is not asked again at once for the page it kept.
    pub swaps: bool,
    /// What would be there under LRU is remembered: who knows worse pays for it.
    pub placeholders: bool,
}

/// The allocation: a list of all pages in LRU order but for the swaps, and the placeholders.
pub(super) struct TwoLevel {
    rules: Rules,
    pages: List,
    placeholders: Placeholders,
    control: Control,
    /// None: of who does not advise goes what is due, in LRU order, as in the paper. So does what is
    /// left of who advised, until somebody reads it.
    silent: Option<Held>,
}

impl TwoLevel {
    /// `silent` says which page of those who do not advise goes.
    pub fn new(rules: Rules, revocation: Revocation, silent: Option<Box<dyn Policy>>) -> Self {
        TwoLevel {
            rules,
            pages: List::default(),
            placeholders: Placeholders::default(),
            control: Control::new(revocation),
            silent: silent.map(Held::new),
        }
    }

    /// Memory as the policy of those who do not advise sees it: without what it does not hold.
    fn rest<'a>(&self, context: &Context<'a>) -> Context<'a> {
        let held = self.silent.as_ref().map_or(0, Held::len);
        let others = self.pages.len().saturating_sub(held);
        Context { capacity: context.capacity.saturating_sub(others).max(1), ..*context }
    }

    /// The page came, or was referenced, or has another manager now.
    fn place(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        let rest = self.rest(context);
        let Some(silent) = &mut self.silent else { return };
        match (silent.owns(page), self.control.holds(page)) {
            (true, false) => access.into_iter().for_each(|access| silent.policy.referenced(page, &rest, access)),
            (false, false) => silent.arrived(page, &rest, access),
            (_, true) => silent.left(page, &rest),
        }
    }

    /// The page a placeholder of the missing block names, else the oldest; and whether it is the
    /// former.
    fn due(&self, context: &Context<'_>, need: Need) -> Option<(Page, bool)> {
        let named = need.missing.and_then(|block| self.placeholders.of(block));
        if let Some(page) = named.filter(|&page| context.table.can_go(page)) {
            return Some((page, true));
        }
        self.pages.oldest_first().find(|&page| context.table.can_go(page)).map(|page| (page, false))
    }
}

impl Policy for TwoLevel {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        let block = context.table.block(page);
        // It is here, whatever went for it: who was wrong about it owes nothing more.
        self.placeholders.here(block);
        self.control.new_block(page, block.file, access.map(|access| access.reader));
        self.place(page, context, access);
        self.pages.push_newest(page);
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.placeholders.leave(page);
        self.pages.renew(page);
        self.control.block_accessed(page, context.table.block(page).file, access.reader);
        self.place(page, context, Some(access));
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        let rest = self.rest(context);
        self.placeholders.leave(page);
        self.pages.remove(page);
        self.control.block_gone(page);
        self.silent.iter_mut().for_each(|silent| silent.left(page, &rest));
    }

    fn weigh(&mut self, context: &Context<'_>, need: Need) {
        let rest = self.rest(context);
        self.silent.iter_mut().for_each(|silent| silent.policy.weigh(&rest, need));
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        let (due, named) = self.due(context, need)?;
        let its = self.silent.as_ref().filter(|silent| silent.owns(due));
        let chosen = match its {
            Some(silent) => silent.policy.candidate(&self.rest(context), need).map_or(due, |it| it.page),
            None => self.control.replace_block(due, named, |page| context.table.can_go(page)),
        };
        Some(Candidate::unpriced(chosen))
    }

    fn evicting(&mut self, chosen: Page, context: &Context<'_>, need: Need) {
        let Some((due, named)) = self.due(context, need) else { return };
        let rest = self.rest(context);
        if let Some(silent) = self.silent.as_mut().filter(|silent| silent.owns(chosen)) {
            silent.policy.evicting(chosen, &rest, need);
        }
        if named {
            self.placeholders.leave(due);
            self.control.placeholder_used(due);
        }
        if chosen != due {
            self.control.overruled(due);
            if self.rules.swaps {
                self.pages.swap(due, chosen);
            }
            if self.rules.placeholders {
                self.placeholders.overruled(due, chosen, context.table.block(chosen));
            }
        }
    }

    /// Not that of those who say nothing: what is kept of others is not for them to say.
    fn nature(&self) -> Nature {
        let uses_sites = self.base().is_some_and(|base| base.nature().uses_sites);
        Nature { uses_sites, ..Nature::ORDINARY }
    }

    fn base(&self) -> Option<&dyn Policy> {
        self.silent.as_ref().map(|silent| &*silent.policy)
    }

    fn base_mut(&mut self) -> Option<&mut dyn Policy> {
        self.silent.as_mut().map(|silent| &mut *silent.policy as &mut dyn Policy)
    }

    fn advice(&mut self) -> Option<&mut dyn Advised> {
        Some(self)
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }

    fn check(&self, context: &Context<'_>) {
        let pages: Vec<Page> = self.pages.oldest_first().collect();
        assert_eq!(pages.len() as u64, self.pages.len(), "I11: the list and its length disagree");
        self.placeholders.check(&pages, context.table);
        self.control.check(&pages, context.table);
        if let Some(silent) = &self.silent {
            let its = pages.iter().copied().filter(|&page| silent.owns(page));
            assert_eq!(its.clone().count() as u64, silent.len(), "I11: pages of who says nothing, and their number");
            its.for_each(|page| assert!(!self.control.holds(page), "I11: page {page} is managed by two"));
            silent.policy.check(&self.rest(context));
        }
    }
}

impl Advised for TwoLevel {
    fn advised(&mut self, reader: ReaderId, advice: Advice, context: &Context<'_>) -> Result<Answer, Refusal> {
        let before = self.control.managers();
        let answer = self.control.advised(reader, advice, context.table);
        if self.silent.is_some() && self.control.managers() > before {
            let its: Vec<Page> = self.pages.oldest_first().filter(|&page| self.control.holds(page)).collect();
            its.into_iter().for_each(|page| self.place(page, context, None));
        }
        answer
    }

    fn revoked(&mut self) -> Option<ReaderId> {
        self.control.revoked()
    }

    fn reader_exited(&mut self, reader: ReaderId) {
        self.control.reader_exited(reader);
    }
}

impl Reports for TwoLevel {
    fn partitions(&self) -> Vec<Partition> {
        let mut parts = self.control.managed();
        parts.extend(self.base().and_then(Policy::reports).map(Reports::partitions).unwrap_or_default());
        let told_apart: u64 = parts.iter().map(|part| part.pages).sum();
        parts.push(Partition::new("not advised", self.pages.len().saturating_sub(told_apart)));
        parts
    }

    fn partition_of(&self, page: Page) -> Option<usize> {
        let silent = self.silent.as_ref().filter(|silent| silent.owns(page))?;
        Some(self.control.managers() + silent.policy.reports()?.partition_of(page)?)
    }

    fn judged(&self, page: Page, context: &Context<'_>) -> Option<Judged> {
        let silent = self.silent.as_ref().filter(|silent| silent.owns(page))?;
        silent.policy.reports()?.judged(page, &self.rest(context))
    }

    fn classes(&self, context: &Context<'_>) -> Option<Classes> {
        self.base()?.reports()?.classes(context)
    }

    fn patterns(&self) -> Option<Patterns> {
        self.base()?.reports()?.patterns()
    }

    fn lessons(&self) -> Vec<Lesson> {
        self.base().and_then(Policy::reports).map(Reports::lessons).unwrap_or_default()
    }
}
