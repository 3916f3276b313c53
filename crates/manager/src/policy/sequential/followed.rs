//! Runs that are read ahead beside another policy, which decides what stays: what `readahead` and
//! `informed` have in common.

use super::detect::{Detector, Rules};
use crate::ids::Page;
use crate::policy::estimators::Estimator;
use crate::policy::{Access, Context, Need, Runs, Stretch};

/// Runs, of which no list is kept.
pub struct Followed {
    detector: Detector,
    /// A read that is disclosed is part of its run, and leads to nothing: hints see to what comes
    /// after.
    leaves_disclosed: bool,
}

impl Followed {
    /// By these rules; whether what is disclosed leads to no readahead.
    pub fn new(rules: Rules, leaves_disclosed: bool) -> Self {
        Followed { detector: Detector::new(rules), leaves_disclosed }
    }

    /// What is wanted and here already, or on its way, is of the stretch too.
    fn join(&mut self, wanted: Option<Stretch>, context: &Context<'_>) {
        for block in wanted.iter().flat_map(Stretch::blocks) {
            if let Some(page) = context.table.find(block) {
                self.detector.join(page, block);
            }
        }
    }

    /// A read found the page here, or on its way.
    pub fn found(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if self.leaves_disclosed && access.hinted.is_some() {
            return self.detector.read(page, context);
        }
        let wanted = self.detector.found(page, context);
        self.join(wanted, context);
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

/// It owns nothing, and keeps what is about to be read from what is read later.
impl<D> Estimator<D> for Followed {
    fn defends(&self, page: Page, context: &Context<'_>, need: Need) -> bool {
        self.detector.is_nearer(context.table.block(page), need.missing)
    }
}

impl Runs for Followed {
    fn taken(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        let block = context.table.block(page);
        match access {
            None if self.leaves_disclosed && context.uses(page).next().is_some() => self.detector.taken_disclosed(page),
            None => self.detector.taken_ahead(page, block),
            Some(Access { hinted: Some(_), .. }) if self.leaves_disclosed => {
                self.detector.taken_disclosed(page);
                self.detector.read(page, context);
            }
            Some(_) => {
                let wanted = self.detector.missed(page, block, context);
                self.join(wanted, context);
            }
        }
    }

    fn awaited(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        if !self.leaves_disclosed || access.hinted.is_none() {
            self.detector.late(page, context.table.block(page), context);
        }
        self.found(page, context, access);
    }

    fn lost(&mut self, page: Page, _: &Context<'_>) {
        self.detector.lost(page);
    }

    fn next_stretch(&mut self) -> Option<Stretch> {
        self.detector.next_stretch()
    }
}
