//! Residency, what is in flight, who waits, and the turn of events into actions.

use std::collections::VecDeque;

use crate::dispatch::{DeviceLimits, Dispatch, Flight};
use crate::event::{self, Action, Class, Demand, Event, Outcome, Source, Want};
use crate::hint::{Hints, Known, Passed, Step, Trust};
use crate::ids::{Block, DeviceId, FetchId, FileId, ReaderId, Time, WaiterId};
use crate::policy::{Access, Choice, Disclosed, Ledger, Policy};
use crate::statistics::{Outcomes, Statistics};
use crate::table::{FastMap, NO_SEQUENCE, Page, Phase, State, Table};

/// Pages there may be, whatever the capacity says: page numbers and the slots of the index have 32 bits. 8 TiB of 4 KiB
/// pages.
pub const PAGES_MAX: u64 = 1 << 31;
/// Steps along the hints at one event. Each fetches a block, finds one here, or asks for a name; four queues of the default
/// length (see [`DeviceLimits`]), and still but a millisecond. What is left is taken at the next event.
const STEPS_MAX: u64 = 1 << 14;

/// How a manager is set up.
#[derive(Debug, Clone)]
pub struct Config {
    /// Pages of one block each that may be resident or in flight (I2). At least 1 (I5).
    pub capacity: u64,
    /// The policy.
    pub policy: Choice,
    /// What each device is given.
    pub device: DeviceLimits,
    /// How far disclosures are believed at first.
    pub trust: Trust,
}

/// A reader's request that waits.
struct Pending {
    remaining: u64,
    outcome: Outcome,
}

/// Whether an unread page that is never read cost a fetch.
#[derive(Clone, Copy, PartialEq)]
enum Unread {
    Wasted,
    Cancelled,
}

/// The manager: events in, actions out. See the crate's documentation.
pub struct Manager {
    capacity: u64,
    trust: Trust,
    policy: Box<dyn Policy>,
    table: Table,
    files: Vec<Known>,
    hints: Hints,
    dispatch: Dispatch,
    /// Who reads a page in flight: all that wait, and the first of those that only are watched.
    waiting: FastMap<Page, Vec<Access>>,
    pending: FastMap<u64, Pending>,
    /// Demand blocks that found no frame; served first when one comes free.
    starved: VecDeque<(Block, Access)>,
    pins: FastMap<u64, u32>,
    statistics: Statistics,
    /// The time of the event at hand.
    now: Time,
    /// Where the actions of the event at hand begin: earlier ones are not touched, whether the host took them or not (I8).
    begun: usize,
}

impl Manager {
    /// A manager without files, readers or pages.
    pub fn new(config: &Config) -> Self {
        Manager {
            capacity: config.capacity.clamp(1, PAGES_MAX),
            trust: config.trust,
            policy: config.policy.build(),
            table: Table::default(),
            files: Vec::new(),
            hints: Hints::default(),
            dispatch: Dispatch::new(config.device),
            waiting: FastMap::default(),
            pending: FastMap::default(),
            starved: VecDeque::new(),
            pins: FastMap::default(),
            statistics: Statistics::default(),
            now: Time(0),
            begun: 0,
        }
    }

    /// Takes one event in and appends what is to be done to `out`. Whatever numbers an event holds, it is taken as far as
    /// it lies within the limits; the rest is counted as refused. A waiting reader whose request does not is told so.
    pub fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Action>) {
        self.begun = out.len();
        self.now = now;
        match event {
            // By far the most events are these. They are taken apart at once: to copy them costs more than to find a page.
            Event::Reference { reader, site, file, first, count, demand }
                if event::reads_within(file, first, count) =>
            {
                let access = Access { now, reader, site, demand };
                self.reference(&access, Block { file, index: first }, count, out);
            }
            _ => self.turn(now, event, out),
        }
        if !self.starved.is_empty() {
            self.feed_starved(out);
        }
        if self.hints.any_open() {
            self.read_ahead(out);
        }
        if !self.dispatch.is_idle() {
            self.send_waiting(out);
        }
    }

    fn turn(&mut self, now: Time, event: Event, out: &mut Vec<Action>) {
        let within = event.within_limits();
        if within != Some(event) {
            self.statistics.refused += 1;
        }
        let Some(within) = within else {
            if let Event::Reference { count, demand: Demand::Served(waiter), .. } = event {
                let outcome = if count == 0 { Outcome::Ready } else { Outcome::Failed };
                out.push(Action::Wake { waiter, outcome });
            }
            return;
        };
        match within {
            Event::Reference { reader, site, file, first, count, demand } => {
                let access = Access { now, reader, site, demand };
                self.reference(&access, Block { file, index: first }, count, out);
            }
            Event::FetchDone { fetch } => self.fetch_done(fetch, out),
            Event::FetchFailed { fetch } => self.fetch_failed(fetch, out),
            Event::Hint { reader, source, file, want } => self.hint(reader, source, file, want),
            Event::Named { reader, file } => self.named(reader, file),
            Event::FileKnown { file, device, blocks } => self.resolved(file, Known::Here { device, blocks }),
            Event::FileMissing { file } => self.resolved(file, Known::Missing),
            Event::FileChanged { file, blocks } => self.file_changed(file, blocks, out),
            Event::Cancel { reader, source } => self.cancel(reader, Some(source)),
            Event::ReaderExited { reader } => {
                self.cancel(reader, None);
                self.hints.forget(reader);
            }
            Event::Gone { file, first, count } => self.gone(Block { file, index: first }, count),
            Event::Pinned { file, index } => self.pinned(Block { file, index }),
            Event::Released { file, index } => self.released(Block { file, index }, out),
            Event::Capacity { pages } => self.set_capacity(pages, out),
        }
    }

    /// What was counted so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The memory as it stands.
    pub fn ledger(&self) -> Ledger {
        Ledger {
            capacity: self.capacity,
            used: self.table.used(),
            unread: self.table.count(State::Hinted) + self.table.count(State::Guessed),
        }
    }

    /// Whether a block is here, all of it.
    pub fn is_present(&self, block: Block) -> bool {
        self.table.find(block).is_some_and(|page| self.table.frame(page).phase == Phase::Present)
    }

    /// The state of a block's page, if it has one.
    pub fn state_of(&self, block: Block) -> Option<State> {
        self.table.find(block).map(|page| self.table.state(page))
    }

    /// Disclosures that were neither read nor passed over yet.
    pub fn open_hints(&self) -> usize {
        self.hints.len()
    }

    /// Blocks disclosed through this source that were read, and that were passed over: (consumed, skipped), all readers'.
    pub fn accuracy(&self, source: Source) -> (u64, u64) {
        self.hints.accuracy(source)
    }

    fn known(&self, file: FileId) -> Known {
        self.files.get(file.0 as usize).copied().unwrap_or(Known::Unknown)
    }

    fn set_known(&mut self, file: FileId, known: Known) {
        let at = file.0 as usize;
        if at >= self.files.len() {
            self.files.resize(at + 1, Known::Unknown);
        }
        self.files[at] = known;
    }

    fn device_of(&self, file: FileId) -> DeviceId {
        match self.known(file) {
            Known::Here { device, .. } => device,
            _ => DeviceId(0),
        }
    }

    // ---- references

    fn reference(&mut self, access: &Access, first: Block, count: u64, out: &mut Vec<Action>) {
        if self.hints.any_open() {
            let files = &self.files;
            let known = |file: FileId| files.get(file.0 as usize).copied().unwrap_or(Known::Unknown);
            let passed = self.hints.read(access.reader, first, count, known);
            self.pass_over(passed);
        }
        self.statistics.references += count;
        match access.demand {
            Demand::Observed => {
                for index in first.index..first.index + count {
                    self.observe(access, Block { index, ..first }, out);
                }
                if count > 1 && out.len() > self.begun {
                    self.keep_what_came_back(out);
                }
            }
            Demand::Served(waiter) => self.serve(access, waiter, first, count, out),
        }
    }

    /// A read of several blocks may push out one that it comes to later, and bring it back. The program has done all that
    /// by now, and the host would drop what is here: such drops are taken back.
    fn keep_what_came_back(&mut self, out: &mut Vec<Action>) {
        for action in out.split_off(self.begun) {
            let Action::Drop { file, first, count } = action else { continue };
            for block in (first..first + count).map(|index| Block { file, index }) {
                if self.table.find(block).is_none() {
                    self.push_drop(block, out);
                }
            }
        }
    }

    /// A hit on a page that is here.
    fn hit(&mut self, access: &Access, page: Page) {
        self.statistics.hits += 1;
        if self.table.state(page).is_unread() {
            self.settle_read(page, |outcomes| outcomes.timely += 1);
            self.table.set_state(page, State::Cached);
        }
        self.policy.referenced(page, &self.table, access);
    }

    /// An unread page met its reader.
    fn settle_read(&mut self, page: Page, outcome: impl FnOnce(&mut Outcomes)) {
        let frame = *self.table.frame(page);
        if frame.ahead {
            outcome(self.outcomes_of(frame.sequence));
        }
        if frame.sequence != NO_SEQUENCE {
            self.hints.page_read(frame.sequence, frame.passed);
        }
        self.clear_hint(page);
    }

    /// An unread page will not meet its reader.
    fn settle_unread(&mut self, page: Page, how: Unread) {
        let frame = *self.table.frame(page);
        if frame.ahead {
            let outcomes = self.outcomes_of(frame.sequence);
            match how {
                Unread::Wasted => outcomes.wasted += 1,
                Unread::Cancelled => outcomes.cancelled += 1,
            }
        }
        if frame.sequence != NO_SEQUENCE {
            self.hints.page_gone(frame.sequence, frame.passed, how == Unread::Wasted);
        }
        self.clear_hint(page);
    }

    fn clear_hint(&mut self, page: Page) {
        let frame = self.table.frame_mut(page);
        frame.ahead = false;
        frame.passed = false;
        frame.sequence = NO_SEQUENCE;
    }

    fn outcomes_of(&mut self, sequence: u16) -> &mut Outcomes {
        let source = self.hints.sequence(sequence).map_or(Source::Command, |sequence| sequence.source);
        &mut self.statistics.ahead[source as usize]
    }

    /// A block the program reads by itself.
    fn observe(&mut self, access: &Access, block: Block, out: &mut Vec<Action>) {
        let Some(page) = self.table.find(block) else {
            self.statistics.misses += 1;
            if self.policy.keeps() && self.take_frame(false, out) {
                let page = self.table.insert(block, State::Cached, Phase::Present);
                self.policy.arrived(page, &self.table, Some(access));
            }
            return;
        };
        match self.table.frame(page).phase {
            Phase::Present => self.hit(access, page),
            Phase::Queued => {
                // The reader was faster than our queue: its own read brings the block.
                self.statistics.misses += 1;
                self.dispatch.withdraw(block);
                self.settle_read(page, |outcomes| outcomes.cancelled += 1);
                self.table.frame_mut(page).phase = Phase::Present;
                self.table.set_state(page, State::Cached);
                self.policy.arrived(page, &self.table, Some(access));
            }
            Phase::InFlight => {
                self.late_hit(page);
                let readers = self.waiting.entry(page).or_default();
                if readers.is_empty() {
                    readers.push(*access);
                }
            }
        }
    }

    /// A reader came while the block was in flight (I3: it waits for that fetch).
    fn late_hit(&mut self, page: Page) {
        self.statistics.late_hits += 1;
        if self.table.state(page).is_unread() {
            self.settle_read(page, |outcomes| outcomes.late += 1);
            self.table.set_state(page, State::Demand);
        }
    }

    /// Blocks the manager is to have fetched for a waiting reader. Neighbours to be fetched go in one request.
    fn serve(&mut self, access: &Access, waiter: WaiterId, first: Block, count: u64, out: &mut Vec<Action>) {
        let before = self.pending.insert(waiter.0, Pending { remaining: count, outcome: Outcome::Ready });
        debug_assert!(before.is_none(), "a waiter waits once: {waiter}");
        let mut run: Option<(Block, u64)> = None;
        for index in first.index..first.index + count {
            let block = Block { index, ..first };
            if !self.serve_block(access, waiter, block, out) {
                continue;
            }
            run = match run {
                Some((start, len)) if start.index + len == index => Some((start, len + 1)),
                other => {
                    self.send_demand(other, out);
                    Some((block, 1))
                }
            };
        }
        self.send_demand(run, out);
    }

    /// Sees to one block of a request. Returns whether the request is to fetch it.
    fn serve_block(&mut self, access: &Access, waiter: WaiterId, block: Block, out: &mut Vec<Action>) -> bool {
        let Some(page) = self.table.find(block) else {
            self.statistics.misses += 1;
            if self.take_frame(true, out) {
                self.await_demand(block, access);
                return true;
            }
            self.statistics.starved += 1;
            self.starved.push_back((block, *access));
            return false;
        };
        match self.table.frame(page).phase {
            Phase::Present => {
                self.hit(access, page);
                self.delivered(waiter, Outcome::Ready, out);
                false
            }
            Phase::Queued => {
                // No device was asked yet: it becomes a demand fetch (000 section 4.8).
                self.statistics.misses += 1;
                self.dispatch.withdraw(block);
                self.settle_read(page, |outcomes| outcomes.cancelled += 1);
                self.table.frame_mut(page).phase = Phase::InFlight;
                self.table.set_state(page, State::Demand);
                self.waiting.entry(page).or_default().push(*access);
                true
            }
            Phase::InFlight => {
                self.late_hit(page);
                self.waiting.entry(page).or_default().push(*access);
                false
            }
        }
    }

    fn await_demand(&mut self, block: Block, access: &Access) {
        let page = self.table.insert(block, State::Demand, Phase::InFlight);
        self.waiting.entry(page).or_default().push(*access);
    }

    fn send_demand(&mut self, run: Option<(Block, u64)>, out: &mut Vec<Action>) {
        if let Some((first, count)) = run {
            self.statistics.demand_fetches += 1;
            self.dispatch.demand(self.now, self.device_of(first.file), first, count, out);
        }
    }

    /// One block of a waiting request is settled.
    fn delivered(&mut self, waiter: WaiterId, outcome: Outcome, out: &mut Vec<Action>) {
        let Some(pending) = self.pending.get_mut(&waiter.0) else { return };
        pending.remaining -= 1;
        if outcome == Outcome::Failed {
            pending.outcome = Outcome::Failed;
        }
        if pending.remaining == 0 {
            out.push(Action::Wake { waiter, outcome: pending.outcome });
            self.pending.remove(&waiter.0);
        }
    }

    /// A block is settled for all who read it.
    fn deliver(&mut self, readers: &[Access], outcome: Outcome, out: &mut Vec<Action>) {
        for access in readers {
            if let Demand::Served(waiter) = access.demand {
                self.delivered(waiter, outcome, out);
            }
        }
    }

    fn feed_starved(&mut self, out: &mut Vec<Action>) {
        while let Some(&(block, access)) = self.starved.front() {
            match self.table.find(block) {
                Some(page) if self.table.frame(page).phase == Phase::Present => {
                    self.deliver(&[access], Outcome::Ready, out);
                }
                Some(page) => {
                    debug_assert!(self.table.state(page) == State::Demand, "I4: fetched ahead while demand starves");
                    self.waiting.entry(page).or_default().push(access);
                }
                None if self.take_frame(true, out) => {
                    self.await_demand(block, &access);
                    self.send_demand(Some((block, 1)), out);
                }
                None => return,
            }
            self.starved.pop_front();
        }
    }

    // ---- frames

    /// Makes sure there is a frame to take. A demand may take one from a fetch ahead that waits in our queue (I5).
    fn take_frame(&mut self, demand: bool, out: &mut Vec<Action>) -> bool {
        if self.table.used() < self.capacity {
            return true;
        }
        if let Some(page) = self.policy.victim(&self.table) {
            self.statistics.evictions += 1;
            self.give_up(page, out);
        } else if demand && let Some(block) = self.dispatch.last_waiting() {
            self.withdraw(block);
        }
        self.table.used() < self.capacity
    }

    /// Gives up a page that is here.
    fn give_up(&mut self, page: Page, out: &mut Vec<Action>) {
        debug_assert!(self.table.can_go(page), "I2: only pages that are here and free of views go");
        self.settle_unread(page, Unread::Wasted);
        self.policy.left(page, &self.table);
        let block = self.table.remove(page);
        self.push_drop(block, out);
    }

    fn push_drop(&self, block: Block, out: &mut Vec<Action>) {
        match out[self.begun..].last_mut() {
            Some(Action::Drop { file, first, count }) if *file == block.file && *first + *count == block.index => {
                *count += 1;
            }
            _ => out.push(Action::Drop { file: block.file, first: block.index, count: 1 }),
        }
    }

    /// Blocks are not here after all. Nothing is dropped: there is nothing to drop.
    fn gone(&mut self, first: Block, count: u64) {
        for index in first.index..first.index + count {
            if let Some(page) = self.table.find(Block { index, ..first }).filter(|&page| self.table.can_go(page)) {
                self.statistics.gone += 1;
                self.settle_unread(page, Unread::Wasted);
                self.policy.left(page, &self.table);
                self.table.remove(page);
            }
        }
    }

    /// Takes back a fetch ahead no device was asked for yet.
    fn withdraw(&mut self, block: Block) {
        self.dispatch.withdraw(block);
        if let Some(page) = self.table.find(block) {
            self.settle_unread(page, Unread::Cancelled);
            self.table.remove(page);
        }
    }

    fn set_capacity(&mut self, pages: u64, out: &mut Vec<Action>) {
        self.capacity = pages.clamp(1, PAGES_MAX);
        self.shrink(out);
    }

    /// Gives up pages while there are more than may be; what is in flight goes when it arrives.
    fn shrink(&mut self, out: &mut Vec<Action>) {
        while self.table.used() > self.capacity {
            if let Some(block) = self.dispatch.last_waiting() {
                self.withdraw(block);
            } else if let Some(page) = self.policy.victim(&self.table) {
                self.statistics.evictions += 1;
                self.give_up(page, out);
            } else {
                return;
            }
        }
    }

    fn pinned(&mut self, block: Block) {
        if let Some(page) = self.table.find(block).filter(|_| self.is_present(block)) {
            if self.table.state(page).is_unread() {
                self.settle_read(page, |outcomes| outcomes.timely += 1);
            }
            self.table.set_state(page, State::Pinned);
            *self.pins.entry(block.key()).or_default() += 1;
        }
    }

    fn released(&mut self, block: Block, out: &mut Vec<Action>) {
        let Some(views) = self.pins.get_mut(&block.key()) else { return };
        *views -= 1;
        if *views == 0 {
            self.pins.remove(&block.key());
            if let Some(page) = self.table.find(block) {
                self.table.set_state(page, State::Cached);
            }
            self.shrink(out);
        }
    }

    // ---- completions

    fn fetch_done(&mut self, fetch: FetchId, out: &mut Vec<Action>) {
        let Some(Flight { first, count, .. }) = self.dispatch.finished(self.now, fetch) else { return };
        for index in first.index..first.index + count {
            let block = Block { index, ..first };
            let Some(page) = self.table.find(block) else { continue };
            if self.table.frame(page).stale {
                self.refetch_or_forget(page, out);
            } else {
                self.arrived(page, out);
            }
        }
        self.shrink(out);
    }

    fn arrived(&mut self, page: Page, out: &mut Vec<Action>) {
        let frame = self.table.frame_mut(page);
        debug_assert!(frame.phase == Phase::InFlight, "I3: a block arrived that was not in flight");
        frame.phase = Phase::Present;
        let wanted = frame.state.is_unread() && frame.sequence != NO_SEQUENCE;
        if !wanted {
            self.table.set_state(page, State::Cached);
        }
        // The first reference that asked for it, if one did, is the one that brought it.
        let readers = self.waiting.remove(&page).unwrap_or_default();
        self.policy.arrived(page, &self.table, readers.first());
        self.deliver(&readers, Outcome::Ready, out);
        if !wanted && !self.policy.keeps() {
            self.give_up(page, out);
        }
    }

    fn fetch_failed(&mut self, fetch: FetchId, out: &mut Vec<Action>) {
        let Some(Flight { first, count, class, .. }) = self.dispatch.finished(self.now, fetch) else { return };
        self.statistics.failed_fetches += 1;
        for index in first.index..first.index + count {
            let Some(page) = self.table.find(Block { index, ..first }) else { continue };
            if class == Class::Demand && count == 1 && !self.table.frame(page).stale {
                // I7: exactly the readers of this block see the error.
                let readers = self.waiting.remove(&page).unwrap_or_default();
                self.table.remove(page);
                self.deliver(&readers, Outcome::Failed, out);
            } else {
                self.refetch_or_forget(page, out);
            }
        }
        self.shrink(out);
    }

    /// A fetch brought nothing that may be kept: who waits for it gets a demand fetch of its own (I7), else it is
    /// forgotten.
    fn refetch_or_forget(&mut self, page: Page, out: &mut Vec<Action>) {
        let waits = |access: &Access| access.demand != Demand::Observed;
        if self.waiting.get(&page).is_some_and(|readers| readers.iter().any(waits)) {
            self.table.frame_mut(page).stale = false;
            self.send_demand(Some((self.table.block(page), 1)), out);
        } else {
            self.waiting.remove(&page);
            self.settle_unread(page, Unread::Cancelled);
            self.table.remove(page);
        }
    }

    // ---- files

    fn resolved(&mut self, file: FileId, known: Known) {
        self.set_known(file, known);
        self.hints.resolved(file);
    }

    fn file_changed(&mut self, file: FileId, blocks: u64, out: &mut Vec<Action>) {
        if let Known::Here { device, .. } = self.known(file) {
            self.set_known(file, Known::Here { device, blocks });
        }
        let mut end = 0;
        for page in self.table.pages_of(file) {
            self.statistics.invalidated += 1;
            let block = self.table.block(page);
            match self.table.frame(page).phase {
                Phase::Queued => self.withdraw(block),
                Phase::InFlight => {
                    self.table.frame_mut(page).stale = true;
                    end = end.max(block.index + 1);
                }
                Phase::Present => {
                    // A view keeps the old bytes until it is released; nobody else is handed them (I6).
                    if self.table.state(page) == State::Pinned {
                        self.pins.remove(&block.key());
                        self.table.set_state(page, State::Cached);
                    }
                    self.give_up(page, out);
                }
            }
        }
        self.table.ends_at(file, end);
    }

    // ---- hints

    fn hint(&mut self, reader: ReaderId, source: Source, file: FileId, want: Want) {
        self.statistics.hints += 1;
        if !self.hints.disclose(reader, source, file, want, self.trust) {
            self.statistics.refused += 1;
        }
    }

    fn named(&mut self, reader: ReaderId, file: FileId) {
        if self.hints.any_open() {
            let files = &self.files;
            let known = |file: FileId| files.get(file.0 as usize).copied().unwrap_or(Known::Unknown);
            let passed = self.hints.named(reader, file, known);
            self.pass_over(passed);
        }
    }

    /// The cursor left these behind: their pages stay until they age out, but hold nothing of the window.
    fn pass_over(&mut self, passed: Vec<Passed>) {
        for Passed { sequence, file, first, count } in passed {
            for index in first..first + count {
                let Some(page) = self.table.find(Block { file, index }) else { continue };
                let frame = self.table.frame_mut(page);
                if frame.sequence == sequence && !frame.passed {
                    frame.passed = true;
                    self.hints.page_passed(sequence);
                }
            }
        }
    }

    fn cancel(&mut self, reader: ReaderId, source: Option<Source>) {
        let ending = self.hints.of_reader(reader, source);
        if ending.is_empty() {
            return;
        }
        if self.hints.pages_of(&ending) > 0 {
            let speaks = |&page: &Page| ending.contains(&self.table.frame(page).sequence);
            let pages: Vec<Page> = self.table.pages().filter(speaks).collect();
            for page in pages {
                match self.table.frame(page).phase {
                    Phase::Queued => self.withdraw(self.table.block(page)),
                    Phase::InFlight => self.settle_unread(page, Unread::Wasted),
                    Phase::Present => {
                        self.settle_unread(page, Unread::Wasted);
                        self.table.set_state(page, State::Cached);
                    }
                }
            }
        }
        self.hints.clear(&ending);
    }

    /// Follows the disclosed sequences as far as policy, window and queues allow.
    fn read_ahead(&mut self, out: &mut Vec<Action>) {
        for _ in 0..STEPS_MAX {
            if !self.policy.may_fetch_ahead(self.ledger()) {
                return;
            }
            let files = &self.files;
            let known = |file: FileId| files.get(file.0 as usize).copied().unwrap_or(Known::Unknown);
            let Some(step) = self.hints.peek(known) else { return };
            match step {
                Step::Lookup { file, .. } => {
                    if self.known(file) == Known::Unknown {
                        self.set_known(file, Known::LookingUp);
                        self.statistics.lookups += 1;
                        out.push(Action::Lookup { file });
                    }
                    self.hints.taken(step, false);
                }
                Step::Block { into, device, .. } if self.dispatch.leaves_run(device, into) => self.hints.leave(step),
                Step::Block { sequence, block, device, .. } => match self.fetch_ahead(sequence, block, device, out) {
                    Some(unread) => self.hints.taken(step, unread),
                    None => return,
                },
            }
        }
    }

    /// Takes a frame for a fetch ahead, but never the last one that demand could take (I4).
    fn take_frame_ahead(&mut self, out: &mut Vec<Action>) -> bool {
        let (queued, in_flight) = self.dispatch.load();
        queued + in_flight + self.table.count(State::Pinned) + 1 < self.capacity && self.take_frame(false, out)
    }

    /// Sees to one disclosed block. Returns whether it is now out and unread; None if it must wait for
    /// a frame or a place in the queue.
    fn fetch_ahead(&mut self, sequence: u16, block: Block, device: DeviceId, out: &mut Vec<Action>) -> Option<bool> {
        let source = self.hints.sequence(sequence)?.source;
        let class = source.class();
        if let Some(page) = self.table.find(block) {
            let free_to_count = self.table.can_go(page) && !self.table.state(page).is_unread();
            let counted = free_to_count && self.policy.disclosed(page, &self.table) == Disclosed::Counted;
            if counted {
                self.table.set_state(page, State::unread(class));
                self.table.frame_mut(page).sequence = sequence;
            }
            return Some(counted);
        }
        if !self.dispatch.has_room(device) || !self.take_frame_ahead(out) {
            return None;
        }
        let page = self.table.insert(block, State::unread(class), Phase::Queued);
        let frame = self.table.frame_mut(page);
        frame.ahead = true;
        frame.sequence = sequence;
        self.statistics.ahead[source as usize].fetched += 1;
        self.dispatch.enqueue(device, block, class);
        Some(true)
    }

    /// Sends what waits to the devices that may take it.
    fn send_waiting(&mut self, out: &mut Vec<Action>) {
        for device in self.dispatch.devices() {
            let (table, statistics) = (&mut self.table, &mut self.statistics);
            self.dispatch.pump(self.now, device, out, |first, count| {
                statistics.ahead_fetches += 1;
                for index in first.index..first.index + count {
                    if let Some(page) = table.find(Block { index, ..first }) {
                        table.frame_mut(page).phase = Phase::InFlight;
                    }
                }
            });
        }
    }

    /// Checks the invariants that hold between events, by looking at everything. For tests.
    ///
    /// # Panics
    /// If one does not hold, naming it.
    pub fn check(&self) {
        let unmovable = self.table.pages().filter(|&page| !self.table.can_go(page)).count() as u64;
        self.table.check(self.capacity.max(unmovable));
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
        let waited = self.waiting.values().flatten().filter(|access| access.demand != Demand::Observed).count();
        let pending: u64 = self.pending.values().map(|pending| pending.remaining).sum();
        assert_eq!(pending, (waited + self.starved.len()) as u64, "I5: a request nobody will wake");
        let spoken: Vec<_> = frames().filter(|(_, frame)| frame.sequence != NO_SEQUENCE).collect();
        self.hints.check(&spoken.iter().map(|(_, frame)| (frame.sequence, frame.passed)).collect::<Vec<_>>());
        for (source, outcomes) in Source::ALL.iter().zip(&self.statistics.ahead) {
            let out = self.table.pages().filter(|&page| {
                let frame = self.table.frame(page);
                frame.ahead && self.hints.sequence(frame.sequence).is_some_and(|it| it.source == *source)
            });
            assert_eq!(
                outcomes.fetched,
                outcomes.settled() + out.count() as u64,
                "I9: outcomes of {source} do not add up"
            );
        }
    }
}
