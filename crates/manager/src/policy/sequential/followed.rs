//! Runs that are read ahead beside another policy, which decides what stays: what `readahead` and
//! `informed` have in common.

use super::detect::{Detector, Rules};
use super::lists::Class;
use crate::ids::Page;
use crate::policy::estimators::Estimator;
use crate::policy::{Access, Context, Need, Runs, Stretch};

/// Runs, of which no list is kept.
pub struct Followed {
    detector: Detector,
    /// A read that is disclosed is part of its run, and leads to nothing: hints see to what comes
    /// after, if they leave nothing out.
    leaves_disclosed: bool,
}

impl Followed {
    /// By these rules; whether what is disclosed leads to no readahead.
    pub fn new(rules: Rules, leaves_disclosed: bool) -> Self {
        Followed { detector: Detector::beside_another(rules), leaves_disclosed }
    }

    /// Whether hints of this sequence see to what comes after a read.
    fn leaves(&self, sequence: u16, page: Page, context: &Context<'_>) -> bool {
        self.leaves_disclosed && context.is_flawless(sequence, context.device_of(page))
    }

    /// Whether hints see to what comes after this read.
    fn leaves_read(&self, page: Page, access: &Access, context: &Context<'_>) -> bool {
        access.hinted.is_some_and(|sequence| self.leaves(sequence, page, context))
    }

    /// Whether hints see to what comes after a page that is brought ahead.
    fn leaves_page(&self, page: Page, context: &Context<'_>) -> bool {
        context.uses(page).any(|next| self.leaves(next.sequence, page, context))
    }

    /// What is wanted and here already, or on its way, is of the stretch too.
    fn join(&mut self, wanted: Option<Stretch>, context: &Context<'_>) {
        let Some(wanted) = wanted else { return };
        for block in wanted.blocks() {
            if let Some(page) = context.table.find(block) {
                self.detector.join(page, block);
            }
        }
    }

    /// A read found the page here, or on its way.
    pub fn found(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if self.leaves_read(page, access, context) {
            return self.detector.read(page, context);
        }
        let wanted = self.detector.found(page, context);
        self.join(wanted, context);
    }

    /// Whether what was read here goes on a run, so that readahead would have brought it.
    pub fn is_of_run(&self, page: Page) -> bool {
        self.detector.is_of_run(page)
    }

    /// The page is given up.
    pub fn left(&mut self, page: Page, context: &Context<'_>) {
        self.detector.left(page, context.table.block(page), context);
    }

    /// Checks what must hold between events.
    pub fn check(&self) {
        self.detector.check();
    }
}

/// It owns nothing, and keeps what is about to be read from what is read later, and what is not
/// read yet from what may as well be fetched later. What the request that has a stretch wanted
/// reads of it itself is not about to be read: where the page read last goes first, nothing else
/// would ever go.
impl<D> Estimator<D> for Followed {
    fn defends(&self, page: Page, _: &D, context: &Context<'_>, need: Need) -> bool {
        self.detector.is_nearer(context.table.block(page), need.missing) && !self.detector.is_passed(page)
            || need.value.is_finite() && self.detector.is_awaited(page, context)
    }
}

impl Runs for Followed {
    fn taken(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        let block = context.table.block(page);
        match access {
            None if self.leaves_page(page, context) => self.detector.taken_disclosed(page, context),
            None => self.detector.taken_ahead(page, block, context),
            Some(access) if self.leaves_read(page, access, context) => {
                self.detector.taken_disclosed(page, context);
                self.detector.read(page, context);
            }
            Some(_) => {
                let wanted = self.detector.missed(page, block, context);
                self.join(wanted, context);
            }
        }
    }

    fn awaited(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if !self.leaves_read(page, access, context) {
            self.detector.late(page, context.table.block(page), context);
        }
        self.found(page, context, access);
    }

    fn lost(&mut self, page: Page, _: &Context<'_>) {
        self.detector.lost(page);
    }

    fn next_stretch(&mut self, context: &Context<'_>) -> Option<Stretch> {
        let begun = self.detector.request_ended(context);
        self.join(begun, context);
        self.detector.next_stretch()
    }

    fn is_sequential(&self, page: Page) -> bool {
        self.detector.class(page) == Class::Sequential
    }
}
