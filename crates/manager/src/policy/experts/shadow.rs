//! A shadow: what a policy would hold in a memory of its own, keys only. It hears each reference,
//! and brings and gives up as a manager does whose device takes no time.

use crate::ids::Block;
use crate::policy::{Access, Context, Need, Policy};
use crate::table::{Phase, State, Table};

/// A policy and the pages it would hold.
pub struct Shadow {
    policy: Box<dyn Policy>,
    table: Table,
    capacity: u64,
}

impl Shadow {
    /// Without pages.
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Shadow { policy, table: Table::default(), capacity: 1 }
    }

    /// The policy, for what it has learned.
    pub fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    /// The same, to be taught.
    pub fn policy_mut(&mut self) -> &mut dyn Policy {
        &mut *self.policy
    }

    /// The memory is of so many pages from now on.
    pub fn resize(&mut self, capacity: u64, context: &Context<'_>) {
        if capacity != self.capacity {
            self.capacity = capacity;
            self.shrink(capacity, context, Need::LESS);
        }
    }

    /// One reference; whether it would have been a hit.
    pub fn refer(&mut self, block: Block, context: &Context<'_>, access: &Access) -> bool {
        // Nothing is brought ahead here.
        let access = Access { first: false, ..*access };
        let found = self.table.find(block);
        if found.is_none() {
            self.shrink(self.capacity - 1, context, Need::by(block, &access));
        }
        let page = found.unwrap_or_else(|| self.table.insert(block, State::Cached, Phase::Present));
        let own = Context { table: &self.table, capacity: self.capacity, ..*context };
        match found {
            Some(_) => self.policy.referenced(page, &own, &access),
            None => self.policy.arrived(page, &own, Some(&access)),
        }
        found.is_some()
    }

    fn shrink(&mut self, pages: u64, context: &Context<'_>, need: Need) {
        while self.table.used() > pages {
            let own = Context { table: &self.table, capacity: self.capacity, ..*context };
            self.policy.weigh(&own, need);
            let Some(candidate) = self.policy.candidate(&own, need) else { return };
            self.policy.evicting(candidate.page, &own, need);
            self.policy.left(candidate.page, &own);
            self.table.remove(candidate.page);
        }
    }

    /// For tests.
    pub fn check(&self, context: &Context<'_>) {
        self.table.check(self.capacity);
        self.policy.check(&Context { table: &self.table, capacity: self.capacity, ..*context });
    }
}

#[cfg(test)]
mod tests {
    use super::super::EXPERTS;
    use super::*;
    use crate::dispatch::{DeviceLimits, Dispatch};
    use crate::event::{Demand, Event};
    use crate::files::Files;
    use crate::hint::Hints;
    use crate::ids::{FileId, ReaderId, Site, Time};
    use crate::layout::Stripe;
    use crate::manager::{Config, Manager};
    use crate::policy::Choice;

    /// A loop, and blocks read at random, most of them of a few.
    fn references() -> impl Iterator<Item = u64> {
        let mut random = 88_172_645_463_325_252_u64;
        (0..20_000).map(move |at| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if at % 3 == 0 { 1000 + at / 3 % 120 } else { (random % 300) * (random >> 32) % 300 }
        })
    }

    /// What it would hold is what its policy does hold.
    #[test]
    fn misses_as_under_a_manager() {
        let (hints, files) = (Hints::default(), Files::default());
        let dispatch = Dispatch::new(DeviceLimits::default(), Stripe::default());
        let empty = Table::default();
        let context = Context { table: &empty, capacity: 1, hints: &hints, files: &files, dispatch: &dispatch };
        for name in EXPERTS {
            let choice: Choice = name.parse().expect("a policy");
            let mut shadow = Shadow::new(choice.build());
            let mut manager = Manager::new(&Config::new(100, choice));
            shadow.resize(100, &context);
            let (now, reader, site, file, demand) = (Time(0), ReaderId(1), Site(7), FileId(0), Demand::Observed);
            let mut hits = 0;
            for first in references() {
                manager.handle(now, Event::Reference { reader, site, file, first, count: 1, demand }, &mut Vec::new());
                let access = Access { now, reader, site, demand, hinted: None, first: false, next: None };
                hits += u64::from(shadow.refer(Block { file, index: first }, &context, &access));
                assert_eq!(hits, manager.statistics().hits, "{name}");
            }
            shadow.check(&context);
        }
    }
}
