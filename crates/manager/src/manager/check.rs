//! The invariants, checked by looking at everything.

use super::*;

impl Manager {
    /// Checks the invariants that hold between events, by looking at everything. For tests.
    ///
    /// # Panics
    /// If one does not hold, naming it.
    pub fn check(&self) {
        let unmovable = self.table.pages().filter(|&page| !self.table.can_go(page)).count() as u64;
        self.table.check(self.capacity.max(unmovable));
        self.policy.check(&context!(self));
        let divided: u64 = self.partitions().iter().map(|part| part.pages).sum();
        assert!(divided <= self.table.used(), "I1: partitions of {divided} pages");
        let (queued, in_flight) = self.dispatch.load();
        let phase =
            |phase: Phase| self.table.pages().filter(|&page| self.table.frame(page).phase == phase).count() as u64;
        assert_eq!(queued, phase(Phase::Queued), "I3: the dispatch queue and the table disagree");
        assert_eq!(in_flight, phase(Phase::InFlight), "I3: fetches and pages in flight disagree");
        let frames = || self.table.pages().map(|page| (page, self.table.frame(page)));
        for (page, frame) in frames() {
            let read = self.waiting.contains_key(&page);
            assert!(!read || frame.phase == Phase::InFlight, "I3: somebody waits for a page that is not in flight");
            assert!(!read || frame.state == State::Demand, "I1: somebody waits for a page, and it is not demand");
            assert!(frame.state.is_unread() || frame.sequence == NO_SEQUENCE, "I9: a page was read and still counts");
        }
        let asked_for = self.waiting.values().flatten().chain(self.starved.iter().map(|(_, access)| access));
        let waited = asked_for.filter(|access| self.is_waited_for(access)).count() as u64;
        let pending: u64 = self.pending.values().map(|pending| pending.remaining).sum();
        assert_eq!(pending, waited, "I5: a request nobody will wake");
        let spoken: Vec<_> = frames().filter(|(_, frame)| frame.sequence != NO_SEQUENCE).collect();
        self.hints.check(&spoken.iter().map(|(_, frame)| (frame.sequence, frame.passed)).collect::<Vec<_>>());
        for (source, outcomes) in Source::ALL.iter().zip(&self.statistics.ahead) {
            let out = self.table.pages().filter(|&page| {
                let frame = self.table.frame(page);
                let of = self.hints.sequence(frame.sequence).map_or(Source::Readahead, |it| it.source);
                frame.ahead && of == *source
            });
            assert_eq!(
                outcomes.fetched,
                outcomes.settled() + out.count() as u64,
                "I9: outcomes of {source} do not add up"
            );
        }
    }
}
