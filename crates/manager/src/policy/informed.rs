//! `informed`: all that is known of what will be read, in one currency: time saved for each page
//! and reference.
//!
//! ```text
//! a use of it is disclosed:   the page is worth what not having it would cost, until then        (estimators/told.rs)
//! none is:                    what one page more saves, and another policy says which goes       (estimators/kept.rs)
//! runs that nobody disclosed: are read ahead, and stay until they are read                       (sequential/followed.rs)
//!                             also of requests at equal distances, onward or backward            (sequential/strided.rs)
//!
//! a page is needed:           the least valuable one goes, if it is worth less than what it is needed for
//! ```
//!
//! A page changes hands when it is read and when a hint speaks of it: while a use is disclosed it
//! is told of, and `keep` hears nothing of it; when the last disclosed use is over it comes to
//! `keep` by that read. What was brought for a use that has been passed over, and what only a
//! reader disclosed that is gone, goes first.

use super::estimators::desk::T_DRIVER;
use super::estimators::kept::Kept;
use super::estimators::prices::Prices;
use super::estimators::told::Told;
use super::estimators::{self, Arbitration, Estimator, Orphans};
use super::sequential::THRESHOLD;
use super::sequential::amp::{DEGREE_MAX, FIRST_DEGREE};
use super::sequential::detect::Rules;
use super::sequential::followed::Followed;
use super::{
    Access, Ahead, Candidate, Context, Disclosed, Domain, Hinted, Nature, Need, Parameter, Policy, Runs, SEQUENCES,
    Spec, Stretch, Worth,
};
use crate::ids::{Block, Page};

pub(super) static SPEC: Spec = Spec {
    name: "informed",
    summary: "hints just in time, runs ahead, and another policy for the rest: each page where it saves most time",
    source: "Cao et al., SIGMETRICS 1995; Kimbrel et al., OSDI 1996; in the currency of 000",
    unlike_a_part: Some(SEQUENCES),
    parameters: &[
        T_DRIVER,
        THRESHOLD,
        FIRST_DEGREE,
        DEGREE_MAX,
        Parameter {
            name: "keep",
            help: "the policy that decides what stays of what nobody disclosed; keep.NAME=VALUE sets a parameter of its own",
            domain: Domain::Policy { default: "reuse" },
        },
    ],
    build: |values| {
        Box::new(Informed {
            prices: Prices::new(values),
            kept: Kept::new(values.policy("keep")),
            told: Told::default(),
            runs: Followed::new(Rules::learned(values), true),
            orphans: Orphans::default(),
        })
    },
};

struct Informed {
    prices: Prices,
    kept: Kept,
    told: Told,
    runs: Followed,
    orphans: Orphans,
}

impl Informed {
    fn estimators(&self) -> [&dyn Estimator<Prices>; 3] {
        [&self.kept, &self.told, &self.runs]
    }

    fn is_owned(&self, page: Page) -> bool {
        self.kept.owns(page) || self.told.owns(page)
    }

    fn refer(&mut self, access: &Access, context: &Context<'_>) {
        self.prices.refer(access.hinted, context.capacity);
        access.hinted.into_iter().for_each(|sequence| self.told.overdue.read(sequence));
        self.kept.refer(context.capacity);
    }

    /// Whether what is disclosed would have been brought by runs as well.
    fn read(&mut self, page: Page, access: &Access) {
        access.hinted.into_iter().for_each(|it| self.prices.read(it, self.runs.is_of_run(page)));
    }

    /// What is disclosed of a page may be no longer what it was; this reference found or brought
    /// it.
    fn place(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        if Told::is_held(page, context) {
            self.kept.disown(page, &mut self.prices, context);
            match self.told.owns(page) {
                true => self.told.renew(page, &self.prices, context),
                false => self.told.own(page, &mut self.prices, context),
            }
        } else if self.kept.owns(page) {
            access.into_iter().for_each(|access| self.kept.held.policy.referenced(page, context, access));
        } else if access.is_none() && context.table.frame(page).passed {
            // Its reader went past it while it was on its way.
            self.orphans.push(page, 0.0);
        } else {
            self.told.disown(page, &mut self.prices, context);
            self.kept.held.arrived(page, context, access);
        }
    }
}

impl Policy for Informed {
    fn arrived(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        if let Some(access) = access {
            self.refer(access, context);
            self.kept.missed(page, context);
        }
        self.place(page, context, access);
    }

    fn referenced(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.refer(access, context);
        self.told.patience.hit(access);
        self.told.overdue.ended(page);
        self.runs.found(page, context, access);
        self.read(page, access);
        self.place(page, context, Some(access));
    }

    fn left(&mut self, page: Page, context: &Context<'_>) {
        self.runs.left(page, context);
        // What was brought in vain is no page of its: it would be missed by nobody, and say that its own
        // are worth little.
        if self.kept.owns(page) && !Told::is_held(page, context) {
            self.kept.gave_up(page, context);
        }
        self.kept.disown(page, &mut self.prices, context);
        self.told.disown(page, &mut self.prices, context);
        self.told.patience.gone(page, context);
        self.told.overdue.ended(page);
        self.orphans.remove(page);
    }

    fn weigh(&mut self, context: &Context<'_>, need: Need) {
        self.kept.held.policy.weigh(context, need);
        let Informed { prices, kept, told, runs, orphans } = self;
        // Then there are no others to whom a page could go.
        if told.is_idle(context) && orphans.is_empty() {
            return;
        }
        Arbitration { estimators: [kept, told, runs], orphans, desk: prices, context }.weigh(need);
    }

    fn candidate(&self, context: &Context<'_>, need: Need) -> Option<Candidate> {
        let orphan = self.orphans.first(|page| self.is_owned(page), |page| context.table.can_go(page));
        let declared = || estimators::candidate(&self.estimators(), &self.prices, context, need);
        orphan.or_else(declared).filter(|it| context.table.can_go(it.page))
    }

    fn evicting(&mut self, page: Page, context: &Context<'_>, need: Need) {
        if self.kept.owns(page) {
            self.kept.held.policy.evicting(page, context, need);
        }
    }

    fn nature(&self) -> Nature {
        Nature { refetches: true, runs_go_over_gaps: true, ..self.kept.held.policy.nature() }
    }

    fn base(&self) -> Option<&dyn Policy> {
        Some(&*self.kept.held.policy)
    }

    fn base_mut(&mut self) -> Option<&mut dyn Policy> {
        Some(&mut *self.kept.held.policy)
    }

    fn runs(&mut self) -> Option<&mut dyn Runs> {
        Some(self)
    }

    fn hints(&mut self) -> Option<&mut dyn Hinted> {
        Some(self)
    }

    fn check(&self, context: &Context<'_>) {
        self.kept.held.check(context);
        self.told.check();
        self.runs.check();
    }
}

impl Runs for Informed {
    fn taken(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.told.patience.taken(page, context, access);
        self.runs.taken(page, context, access);
        access.into_iter().for_each(|access| self.read(page, access));
    }

    fn awaited(&mut self, page: Page, context: &Context<'_>, access: &Access) {
        self.told.patience.awaited(page, context, access);
        self.runs.awaited(page, context, access);
        self.read(page, access);
    }

    fn lost(&mut self, page: Page, context: &Context<'_>) {
        self.told.patience.lost(page, context);
        self.runs.lost(page, context);
    }

    fn next_stretch(&mut self, context: &Context<'_>) -> Option<Stretch> {
        self.runs.next_stretch(context)
    }

    fn is_sequential(&self, page: Page) -> bool {
        self.runs.is_sequential(page)
    }
}

impl Hinted for Informed {
    fn may_fetch_ahead(&self, _: &Context<'_>) -> bool {
        true
    }

    fn worth(&self, ahead: &Ahead, context: &Context<'_>) -> Option<Worth> {
        estimators::ahead(&self.estimators(), ahead, &self.prices, context)
    }

    fn worth_along(&self, block: Block, references: f64, context: &Context<'_>) -> Option<f64> {
        self.told.worth_along(block, references, &self.prices, context)
    }

    fn overdue_for(&self, page: Page, context: &Context<'_>) -> Option<u16> {
        self.told.overdue_for(page, context)
    }

    fn disclosed(&mut self, page: Page, context: &Context<'_>) -> Disclosed {
        if Told::is_held(page, context) {
            self.place(page, context, None);
        }
        Disclosed::Ignored
    }

    fn sequence_ended(&mut self, sequence: u16) {
        self.told.sequence_ended(sequence);
        self.prices.forget(sequence);
    }
}
