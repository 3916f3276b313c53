//! Hints, and the fetches ahead that they lead to.

use super::*;
use crate::hint::{LOOKUPS_AHEAD_MAX, LOOKUPS_AHEAD_MAX_ONE_BY_ONE};
use crate::ids::DeviceId;

/// Neighbours fetched ahead one after the other, onward or backward: they go in one request.
struct Run {
    sequence: u16,
    last: Block,
    count: u64,
}

impl Run {
    fn after(before: Option<Run>, sequence: u16, last: Block) -> Self {
        let count = before.filter(|run| run.goes_on(sequence, last)).map_or(0, |run| run.count);
        Run { sequence, last, count: count + 1 }
    }

    fn goes_on(&self, sequence: u16, block: Block) -> bool {
        self.sequence == sequence && self.last.file == block.file && self.last.index.abs_diff(block.index) == 1
    }

    /// Whether this block goes in one request with it.
    fn joins(&self, sequence: u16, home: Home, block: Block, dispatch: &Dispatch) -> bool {
        self.goes_on(sequence, block) && dispatch.joins(home, block.max(self.last), self.count)
    }
}

impl Manager {
    /// Whether it was taken.
    pub(super) fn hint(&mut self, reader: ReaderId, source: Source, file: FileId, want: Want) -> bool {
        self.statistics.hints += 1;
        self.hints.disclose(reader, source, file, want, self.trust, self.files.of(file))
    }

    pub(super) fn named(&mut self, reader: ReaderId, file: FileId) {
        if self.hints.any_open() {
            let passed = self.hints.named(reader, file, Holdings { files: &self.files, table: &self.table });
            self.pass_over(passed);
        }
    }

    /// The cursor left these behind: their pages stay until they age out, but hold nothing of the
    /// window.
    pub(super) fn pass_over(&mut self, passed: Vec<Passed>) {
        for Passed { sequence, file, first, count, is_gap } in passed {
            for index in first..first + count {
                let Some(page) = self.table.find(Block { file, index }) else { continue };
                let frame = self.table.frame_mut(page);
                if frame.sequence == sequence && !frame.passed {
                    frame.passed = true;
                    self.hints.page_passed(sequence);
                    // If it is read after all, that says nothing of what was disclosed.
                    if is_gap {
                        self.withdraw_page(page);
                    }
                }
            }
        }
    }

    /// Nobody says any more that this unread page will be read.
    fn withdraw_page(&mut self, page: Page) {
        match self.table.frame(page).phase {
            Phase::Queued => self.withdraw(self.table.block(page)),
            Phase::InFlight => self.settle_unread(page, Unread::Withdrawn),
            Phase::Present => {
                self.settle_unread(page, Unread::Withdrawn);
                self.table.set_state(page, State::Cached);
            }
        }
    }

    pub(super) fn cancel(&mut self, reader: ReaderId, source: Option<Source>) {
        let ending = self.hints.of_reader(reader, source);
        if ending.is_empty() {
            return;
        }
        let mut pages: Vec<Page> = ending.iter().flat_map(|&id| self.table.pages_of_sequence(id)).collect();
        pages.sort_unstable();
        pages.into_iter().for_each(|page| self.withdraw_page(page));
        self.hints.clear(&ending);
    }

    /// Follows the disclosed sequences as far as policy, windows and queues allow, what is worth
    /// most first.
    pub(super) fn read_ahead(&mut self, out: &mut Vec<Action>) {
        let mut steps = std::mem::take(&mut self.steps);
        let one_by_one = self.dispatch.any_one_by_one();
        let lookups_max = if one_by_one { LOOKUPS_AHEAD_MAX_ONE_BY_ONE } else { LOOKUPS_AHEAD_MAX };
        let mut full = Vec::new();
        let mut run = None;
        for _ in 0..STEPS_MAX {
            if !self.may_fetch_ahead() {
                break;
            }
            steps.clear();
            self.hints.peek(lookups_max, &self.files, &mut steps);
            steps.retain(|(_, step)| step.home().is_none_or(|home| !full.contains(&home.device)));
            let Some((step, worth)) = self.best(&steps, run.as_ref()) else { break };
            match step {
                Step::Lookup { file, .. } => {
                    if self.files.of(file) == Known::Unknown {
                        self.files.set(file, Known::LookingUp);
                        self.statistics.lookups += 1;
                        out.push(Action::Order(Order::Lookup { file }));
                    }
                    self.hints.taken(step, false);
                }
                Step::Block { sequence, into, block, home, .. } if self.leaves_run(sequence, home, block, into) => {
                    self.hints.leave(step);
                }
                Step::Block { sequence, into, block, home, .. } => {
                    if !self.dispatch.has_room(home, block, into) && self.table.find(block).is_none() {
                        full.push(home.device);
                        continue;
                    }
                    let Some(unread) = self.fetch_ahead(sequence, block, home, worth.value) else {
                        // A neighbour goes first whatever it is worth: without it, another block may be worth a frame.
                        if run.take().is_some() {
                            continue;
                        }
                        break;
                    };
                    self.hints.taken(step, unread);
                    run = unread.then(|| Run::after(run, sequence, block));
                }
            }
        }
        self.steps = steps;
        if self.hints.any_more() && self.may_fetch_ahead() {
            out.extend(
                self.hints
                    .pull(lookups_max)
                    .into_iter()
                    .map(|(reader, source)| Action::Reply(Reply::Pull { reader, source })),
            );
        }
    }

    /// Whether the rest of a disclosed run is left to the reader's own system.
    fn leaves_run(&mut self, sequence: u16, home: Home, block: Block, into: u64) -> bool {
        let source = self.hints.sequence(sequence).map_or(Source::Readahead, |sequence| sequence.source);
        let file_blocks = match self.files.of(block.file) {
            Known::Here { blocks, .. } => blocks,
            _ => 0,
        };
        self.dispatch.leaves_run(home, block, into, source, file_blocks)
    }

    /// The step that is worth most, and what it is worth.
    fn best(&mut self, steps: &[(u64, Step)], run: Option<&Run>) -> Option<(Step, Worth)> {
        let hinted = self.policy.hints()?;
        let context = context!(self);
        let mut best: Option<(Step, Worth)> = None;
        for &(order, step) in steps {
            let ahead = match step {
                // A name takes no page, and what it leads to is looked at when it is known.
                Step::Lookup { sequence, .. } => {
                    Ahead { sequence, order, device: DeviceId(0), references: 1, joins: false }
                }
                Step::Block { sequence, block, home, .. } => Ahead {
                    sequence,
                    order,
                    device: home.device,
                    references: self.hints.references_until(step),
                    joins: run.is_some_and(|run| run.joins(sequence, home, block, &self.dispatch)),
                },
            };
            let Some(worth) = hinted.worth(&ahead, &context) else { continue };
            if best.is_none_or(|(_, best)| worth.rank > best.rank) {
                best = Some((step, worth));
            }
        }
        best
    }

    /// The readahead of the file system or of the policy: no disclosure, so no sequence, no window,
    /// no accuracy.
    pub(super) fn own_readahead(&mut self, first: Block, count: u64) {
        let home = self.home_of(first.file);
        if !self.dispatch.reads_runs(home.device) {
            return;
        }
        for block in (first.index..first.index + count).map(|index| Block { index, ..first }) {
            if self.table.find(block).is_some() {
                continue;
            }
            if !self.dispatch.has_room(home, block, 0) || !self.take_frame_ahead(Need::of(block)) {
                return;
            }
            self.queue_ahead(home, block, NO_SEQUENCE, Source::Readahead);
        }
    }

    /// What the policy wants read ahead because of how its readers read.
    pub(super) fn read_stretches(&mut self) {
        let next = |it: &mut Self| it.policy.runs()?.next_stretch(&context!(it));
        while let Some(Stretch { first, count, misses }) = next(self) {
            self.statistics.sequential_misses += misses;
            self.own_readahead(first, count);
        }
    }

    /// Lets the governor of the device know how a reader fares by the clock.
    pub(super) fn govern(&mut self, first: Block, referenced: Referenced) {
        let home = self.home_of(first.file);
        let gave_up = self.dispatch.referenced(self.now, home, first, referenced);
        self.statistics.runs_given_up += u64::from(gave_up);
    }

    /// A frame was taken for this block: it waits for its device.
    fn queue_ahead(&mut self, home: Home, block: Block, sequence: u16, source: Source) {
        let page = self.table.insert(block, State::unread(source.class()), Phase::Queued);
        self.table.frame_mut(page).ahead = true;
        self.table.set_sequence(page, sequence);
        self.taken(page, None);
        self.statistics.ahead[source as usize].fetched += 1;
        self.dispatch.enqueue(home, block, source);
    }

    /// Takes a frame for a fetch ahead, but never the last one that demand could take (I4).
    pub(super) fn take_frame_ahead(&mut self, need: Need) -> bool {
        self.leaves_frame(1) && self.take_frame(false, need)
    }

    /// Whether so many more that are fetched ahead leave a frame that demand can take (I4).
    pub(super) fn leaves_frame(&self, more: u64) -> bool {
        let (queued, in_flight) = self.dispatch.load();
        queued + in_flight + self.table.count(State::Pinned) + more < self.capacity
    }

    /// Sees to one disclosed block of this value. Returns whether it is now out and unread; None if
    /// it must wait for a frame.
    fn fetch_ahead(&mut self, sequence: u16, block: Block, home: Home, value: f64) -> Option<bool> {
        let source = self.hints.sequence(sequence)?.source;
        let class = source.class();
        if let Some(page) = self.table.find(block) {
            let free_to_count = self.table.can_go(page) && !self.table.state(page).is_unread();
            let counted = free_to_count && self.disclosed(page) == Disclosed::Counted;
            if counted {
                self.table.set_state(page, State::unread(class));
                self.table.set_sequence(page, sequence);
            }
            return Some(counted);
        }
        if !self.take_frame_ahead(Need { value, ..Need::of(block) }) {
            return None;
        }
        self.queue_ahead(home, block, sequence, source);
        Some(true)
    }
}
