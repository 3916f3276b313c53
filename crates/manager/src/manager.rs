//! Residency, what is in flight, who waits, and the turn of events into actions.

mod advised;
mod ahead;
mod check;
mod completion;
mod frames;
mod reference;
mod requests;
mod told;

use std::collections::VecDeque;
use std::sync::Arc;

use requests::Turnover;

use crate::advice::Advice;
use crate::dispatch::{DeviceLimits, Dispatch, Flight, Referenced};
use crate::event::{self, Action, Class, Demand, Event, Order, Outcome, Refusal, Reply, Source, Want};
use crate::files::{Files, Known, Lookup};
use crate::future::Future;
use crate::hint::{Hints, Holdings, Moved, Passed, Standing, Step, Trust, Withdrawn};
use crate::ids::{Block, FetchId, FileId, Page, ReaderId, Time, ViewId, WaiterId};
use crate::layout::{Home, Stripe};
use crate::policy::{
    Access, Ahead, Candidate, Choice, Classes, Context, Disclosed, Ledger, Lesson, Nature, Need, Partition, Patterns,
    Policy, Stretch, Weighed, Worth,
};
use crate::statistics::{Counted, Outcomes, Statistics};
use crate::table::{FastMap, NO_SEQUENCE, Phase, State, Table};

/// Pages there may be, whatever the capacity says: as many as the index leads to. 6 TiB of 4 KiB
/// pages.
pub const PAGES_MAX: u64 = crate::index::PAGES_MAX;
/// Steps along the hints at one event. Each fetches a block, finds one here, or asks for a name;
/// four queues of the default length (see [`DeviceLimits`]), and still but a millisecond. What is
/// left is taken at the next event.
const STEPS_MAX: u64 = 1 << 14;

/// What the policy may look at. A macro, so that the policy itself can be borrowed beside it.
macro_rules! context {
    ($manager:expr) => {
        Context {
            table: &$manager.table,
            capacity: $manager.capacity,
            hints: &$manager.hints,
            files: &$manager.files,
            dispatch: &$manager.dispatch,
        }
    };
}
use context;

/// How a manager is set up.
#[derive(Debug, Clone)]
pub struct Config {
    /// Pages of one block each that may be resident or in flight (I2). At least 1 (I5).
    pub capacity: u64,
    /// The policy.
    pub policy: Choice,
    /// What each device is given.
    pub device: DeviceLimits,
    /// How files are spread over devices.
    pub stripe: Stripe,
    /// How far disclosures are believed at first.
    pub trust: Trust,
    /// Whether it says by what pages went ([`Manager::weighed`]), which takes time. It decides nothing.
    pub explains: bool,
}

impl Config {
    /// A manager of so many pages, under this policy; devices as they come, each on its own, and
    /// hints that are true.
    pub fn new(capacity: u64, policy: Choice) -> Self {
        let (device, stripe, trust) = (DeviceLimits::default(), Stripe::default(), Trust::Full);
        Config { capacity, policy, device, stripe, trust, explains: false }
    }
}

/// A reader's request that waits.
struct Pending {
    remaining: u64,
    outcome: Outcome,
}

/// Why an unread page is never read.
#[derive(Clone, Copy, PartialEq)]
enum Unread {
    /// It was given up: to bring it cost a fetch.
    Wasted,
    /// The same, because what it was brought for was withdrawn: whether fetches are of use that does not say.
    Withdrawn,
    /// It was never brought.
    Cancelled,
}

/// The manager: events in, actions out. See the crate's documentation.
pub struct Manager {
    capacity: u64,
    trust: Trust,
    explains: bool,
    /// Nothing that was disclosed is looked up or fetched.
    is_suspended: bool,
    policy: Box<dyn Policy>,
    /// What it is, and whether it has the facets that most have not; asked once.
    nature: Nature,
    follows_runs: bool,
    takes_advice: bool,
    future: Option<Arc<Future>>,
    table: Table,
    /// The page of the block that was read last.
    last_read: Page,
    files: Files,
    hints: Hints,
    dispatch: Dispatch,
    /// Who reads a page in flight: all that wait, and the first of those that only are watched.
    waiting: FastMap<Page, Vec<Access>>,
    pending: FastMap<u64, Pending>,
    /// Demand blocks that found no frame; served first when one comes free.
    starved: VecDeque<(Block, Access)>,
    /// Blocks that were asked for and are not, since what found no page was looked over last.
    abandoned: u64,
    /// Who holds views of each pinned block.
    views: FastMap<u64, Vec<ViewId>>,
    statistics: Statistics,
    /// Blocks on their way that nobody asked for when they were sent.
    read_over_now: u64,
    /// How many blocks come in of late.
    turnover: Turnover,
    /// What could be fetched ahead, for the time of one event; kept for its memory.
    steps: Vec<(u64, Step)>,
    /// The time of the event at hand.
    now: Time,
    /// What the event at hand gave up.
    dropped: Vec<Block>,
    /// What was decided by price in the event at hand, and in those before it of which the host has not
    /// taken the actions.
    weighed: Vec<Weighed>,
    /// What the last reference missed.
    missed: Vec<Block>,
    /// Who lost control by the event at hand.
    revoked: Vec<ReaderId>,
    /// Where the actions of the event at hand begin: earlier ones are not touched, whether the host
    /// took them or not (I8).
    begun: usize,
}

impl Manager {
    /// A manager without files, readers or pages.
    pub fn new(config: &Config) -> Self {
        let mut policy = config.policy.build();
        Manager {
            capacity: config.capacity.clamp(1, PAGES_MAX),
            trust: config.trust,
            explains: config.explains,
            is_suspended: false,
            nature: policy.nature(),
            follows_runs: policy.runs().is_some(),
            takes_advice: policy.takes_advice(),
            policy,
            future: None,
            table: Table::default(),
            last_read: 0,
            files: Files::default(),
            hints: Hints::default(),
            dispatch: Dispatch::new(config.device, config.stripe),
            waiting: FastMap::default(),
            pending: FastMap::default(),
            starved: VecDeque::new(),
            abandoned: 0,
            views: FastMap::default(),
            statistics: Statistics::default(),
            read_over_now: 0,
            turnover: Turnover::default(),
            steps: Vec::new(),
            now: Time(0),
            dropped: Vec::new(),
            weighed: Vec::new(),
            missed: Vec::new(),
            revoked: Vec::new(),
            begun: 0,
        }
    }

    /// A manager that knows which references are to come: its n-th one must be the n-th of
    /// `future`.
    pub fn foreseeing(config: &Config, future: Arc<Future>) -> Self {
        Manager { future: Some(future), ..Manager::new(config) }
    }

    /// Takes one event in and appends what is to be done to `out`. Whatever numbers an event holds,
    /// it is taken as far as it lies within the limits; the rest is counted as refused. A
    /// waiting reader whose request does not is told so. Returns what it came to.
    #[inline]
    pub fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Action>) -> Counted {
        let before = self.statistics.counted();
        self.begun = out.len();
        // Who never takes actions out, and asks for nothing, is to gather nothing.
        if out.is_empty() || !self.explains {
            self.weighed.clear();
        }
        drop(self.hints.take_cleared());
        self.now = now;
        match event {
            // By far the most events are these. They are taken apart at once: to copy them costs more than to find a
            // page.
            Event::Reference { reader, site, file, first, count, demand }
                if event::reads_within(file, first, count) =>
            {
                let mut access = Access { now, reader, site, demand, hinted: None, first: false, next: None };
                self.reference(&mut access, Block { file, index: first }, count, out);
            }
            _ => self.statistics.refused += u64::from(!self.turn(now, event, out)),
        }
        self.follow_up(out);
        self.statistics.counted().since(before)
    }

    /// What every event may lead to.
    fn follow_up(&mut self, out: &mut Vec<Action>) {
        if !self.starved.is_empty() {
            self.feed_starved(out);
        }
        if self.follows_runs {
            self.read_stretches();
        }
        if self.hints.any_open() || self.hints.any_more() {
            self.read_ahead(out);
        }
        if !self.dispatch.is_idle() {
            self.send_waiting(out);
        }
        if !self.dropped.is_empty() {
            self.ask_for_drops(out);
        }
        out.extend(self.revoked.drain(..).map(|reader| Action::Reply(Reply::Revoked { reader })));
    }

    /// Whether all of the event was taken.
    fn turn(&mut self, now: Time, event: Event, out: &mut Vec<Action>) -> bool {
        let Some(within) = event.within_limits() else {
            if let Event::Reference { count, demand: Demand::Served(waiter), .. } = event {
                let outcome = if count == 0 { Outcome::Ready } else { Outcome::Failed };
                out.push(Action::Reply(Reply::Wake { waiter, outcome }));
            } else if let Some((reader, _)) = Advice::of(event) {
                out.push(Action::Reply(Reply::Refused { reader, why: Refusal::Range }));
            }
            return false;
        };
        let mut taken = within == event;
        match within {
            Event::Reference { reader, site, file, first, count, demand } => {
                let mut access = Access { now, reader, site, demand, hinted: None, first: false, next: None };
                self.reference(&mut access, Block { file, index: first }, count, out);
            }
            Event::FetchDone { fetch } => self.fetch_done(fetch, out),
            Event::FetchFailed { fetch } => self.fetch_failed(fetch, out),
            Event::Hint { reader, source, file, want } => taken &= self.hint(reader, source, file, want),
            Event::Repeat { reader, source, entries, passes } => {
                taken &= self.hints.repeat(reader, source, entries, passes, &self.files);
            }
            Event::More { reader, source } => self.hints.has_more(reader, source, self.trust),
            Event::NoMore { reader, source } => self.hints.has_no_more(reader, source),
            Event::Confidence { reader, source, percent } => {
                self.hints.declare(reader, source, self.trust, percent.min(100) as f64 / 100.0);
            }
            Event::Abandoned { waiter } => self.abandoned(waiter),
            Event::ReadAhead { file, first, count } => self.own_readahead(Block { file, index: first }, count),
            Event::Named { reader, file } => self.named(reader, file),
            Event::FileKnown { file, device, blocks, place } => {
                // Who opened the file does not know where it lies; who looked it up did.
                let place = if place == 0 { self.home_of(file).place } else { place };
                self.resolved(file, Known::Here { home: Home { device, place }, blocks });
            }
            Event::Caution { device, blocks } => self.dispatch.caution(device, blocks),
            Event::DeviceLimits { device, requests, blocks, shaped } => {
                self.dispatch.limit(device, requests, blocks, shaped);
            }
            Event::ReadaheadWindow { device, blocks } => self.dispatch.set_window(device, blocks),
            Event::Suspend { suspended } => self.is_suspended = suspended,
            Event::FileMissing { file } => self.resolved(file, Known::Missing),
            Event::FileChanged { file, blocks } => self.file_changed(file, blocks),
            Event::FileForgotten { file } => taken &= self.forget(file),
            Event::Cancel { reader, source } => self.cancel(reader, Some(source)),
            Event::ReaderExited { reader } => {
                self.cancel(reader, None);
                for sequence in self.hints.of_reader(reader, None) {
                    self.policy.hints().into_iter().for_each(|hinted| hinted.sequence_ended(sequence));
                }
                self.hints.forget(reader);
                self.policy.advice().into_iter().for_each(|advised| advised.reader_exited(reader));
            }
            Event::Gone { file, first, count } => self.gone(Block { file, index: first }, count),
            Event::Pinned { view, file, index } => self.pinned(view, Block { file, index }),
            Event::Released { view, file, index } => self.released(view, Block { file, index }),
            Event::Capacity { pages } => self.set_capacity(pages),
            Event::SiteLearned { site, sequential, looping, period, spread } => {
                self.teach(Lesson::Site { site, sequential, looping, period, spread });
            }
            Event::ReuseLearned { interval, age, used, open } => {
                self.teach(Lesson::Reuse { interval, age, used, open });
            }
            Event::ManageCaching { .. }
            | Event::GiveUpControl { .. }
            | Event::SetPriority { .. }
            | Event::GetPriority { .. }
            | Event::SetPolicy { .. }
            | Event::GetPolicy { .. }
            | Event::SetTemporaryPriority { .. } => taken &= self.advised(within, out),
        }
        taken
    }

    /// What was withdrawn by the last event. Unless it is taken, the next event waits until it is
    /// freed.
    pub fn withdrawn(&mut self) -> Withdrawn {
        self.hints.take_cleared()
    }

    /// What was counted so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Whether the policy takes advice; then the reader of a reference is the program whose page it
    /// becomes.
    pub fn takes_advice(&self) -> bool {
        self.takes_advice
    }

    /// Whether the policy goes by where in a program reads come from; then what is read again
    /// matters as much as what is missed.
    pub fn uses_sites(&self) -> bool {
        self.nature.uses_sites
    }

    /// The memory as it stands.
    pub fn ledger(&self) -> Ledger {
        Ledger::of(self.capacity, &self.table)
    }

    /// Pages whose bytes are here. While much is on its way memory seems smaller by that: room is taken
    /// for it already, and programs that disclose grow meanwhile.
    pub fn pages_here(&self) -> u64 {
        let (queued, in_flight) = self.dispatch.load();
        self.table.used().saturating_sub(queued + in_flight)
    }

    /// What the policy knows of sequential and of random reads, if it tells them apart.
    pub fn classes(&self) -> Option<Classes> {
        self.policy.reports()?.classes(&context!(self))
    }

    /// A block's page, whatever block the host names.
    fn page_of(&self, block: Block) -> Option<Page> {
        block.is_in_range().then(|| self.table.find(block)).flatten()
    }

    /// Whether a block is here, all of it.
    pub fn is_present(&self, block: Block) -> bool {
        self.page_of(block).is_some_and(|page| self.table.frame(page).phase == Phase::Present)
    }

    /// What was brought as this block was, for the same disclosures, and is not read yet; what came
    /// first first. None if it was not brought for any.
    pub fn brought_with(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        let sequence = self.page_of(block).map(|page| self.table.frame(page).sequence);
        let pages = sequence.into_iter().flat_map(|sequence| self.table.pages_of_sequence(sequence));
        pages.filter(|&page| self.table.frame(page).phase == Phase::Present).map(|page| self.table.block(page))
    }

    /// Whether somebody has read a block since it came here: what was only brought ahead has not
    /// been.
    pub fn was_read(&self, block: Block) -> bool {
        self.page_of(block).is_some_and(|page| self.table.frame(page).read)
    }

    /// The state of a block's page, if it has one.
    pub fn state_of(&self, block: Block) -> Option<State> {
        self.page_of(block).map(|page| self.table.state(page))
    }

    /// The policy's partitions; none where it does not divide its pages.
    pub fn partitions(&self) -> Vec<Partition> {
        self.policy.reports().map_or(Vec::new(), |it| it.partitions())
    }

    /// Which of the policy's partitions a block is in, if it is here.
    pub fn partition_of(&self, block: Block) -> Option<usize> {
        self.policy.reports()?.partition_of(self.page_of(block)?)
    }

    /// How the policy classified references, if it does.
    pub fn patterns(&self) -> Option<Patterns> {
        self.policy.reports()?.patterns()
    }

    /// What the policy learned, as the events that tell the next run's manager.
    pub fn learned(&self) -> Vec<Event> {
        let event = |lesson| match lesson {
            Lesson::Site { site, sequential, looping, period, spread } => {
                Event::SiteLearned { site, sequential, looping, period, spread }
            }
            Lesson::Reuse { interval, age, used, open } => Event::ReuseLearned { interval, age, used, open },
        };
        self.policy.reports().map_or(Vec::new(), |it| it.lessons()).into_iter().map(event).collect()
    }

    fn teach(&mut self, lesson: Lesson) {
        self.policy.learning().into_iter().for_each(|learns| learns.taught(lesson));
    }

    /// Disclosures that were neither read nor passed over yet.
    pub fn open_hints(&self) -> usize {
        self.hints.len()
    }

    /// How far a file's name was looked up.
    pub fn lookup_of(&self, file: FileId) -> Lookup {
        match self.files.of(file) {
            Known::Unknown => Lookup::Unasked,
            Known::LookingUp => Lookup::UnderWay,
            Known::Missing | Known::Here { .. } => Lookup::Done,
        }
    }

    /// So many blocks a file has, as far as that is known; 0 if it is not.
    pub fn blocks_of(&self, file: FileId) -> u64 {
        match self.files.of(file) {
            Known::Here { blocks, .. } => blocks,
            _ => 0,
        }
    }

    /// Who disclosed anything of this file, as long as its reader is there.
    pub fn sources_of(&self, file: FileId) -> impl Iterator<Item = Source> + '_ {
        self.hints.sources_of(file)
    }

    /// The block that would go now if this one were missed. To ask changes nothing.
    pub fn candidate(&self, missing: Block) -> Option<Block> {
        let candidate = self.policy.candidate(&context!(self), Need::of(missing))?;
        Some(self.table.block(candidate.page))
    }

    /// What was decided by price in the last event, in that order. Of one that explains also in those
    /// before of which the actions were not taken out yet, and what was decided by a policy that puts no
    /// price on pages, and can tell by what.
    pub fn weighed(&self) -> &[Weighed] {
        &self.weighed
    }

    /// What the last reference missed, in its order. A read of several blocks may push one out
    /// before it comes to it: how that one stood before the event does not tell.
    pub fn missed(&self) -> &[Block] {
        &self.missed
    }

    /// Why a block that is not here has not been brought.
    pub fn standing(&self, block: Block) -> Standing {
        self.hints.standing(block, self.files.of(block.file))
    }

    /// Blocks disclosed through this source that were read, and that were passed over: (consumed,
    /// skipped), all readers'.
    pub fn accuracy(&self, source: Source) -> (u64, u64) {
        self.hints.accuracy(source)
    }

    /// How much of what this source disclosed and was read lately, some 1,000 blocks, was read where one of its readers
    /// was, or a little further, and not in another order: from 0 to 1; of several readers, of the one who reads least so.
    pub fn in_place(&self, source: Source) -> f64 {
        self.hints.in_place(source)
    }

    fn home_of(&self, file: FileId) -> Home {
        match self.files.of(file) {
            Known::Here { home, .. } => home,
            _ => Home::default(),
        }
    }

    fn resolved(&mut self, file: FileId, known: Known) {
        self.files.set(file, known);
        if let Known::Here { home, .. } = known {
            self.dispatch.named(home.device);
        }
        self.hints.resolved(file, known);
    }

    /// Whether a file's number may be given to another: nothing of it is here, on its way, waited
    /// for, looked up or disclosed. What programs advise on it is the host's to know.
    pub fn is_forgettable(&self, file: FileId) -> bool {
        self.table.count_of(file) == 0
            && self.files.of(file) != Known::LookingUp
            && !self.hints.discloses(file)
            && !self.dispatch.is_under_way(file)
            && !self.starved.iter().any(|(block, _)| block.file == file)
    }

    /// What policies know of blocks that are not here goes by their numbers: a few ghosts speak of
    /// another file then, which makes a choice worse, and no byte wrong.
    fn forget(&mut self, file: FileId) -> bool {
        let forgets = self.is_forgettable(file);
        if forgets {
            self.files.set(file, Known::Unknown);
            self.hints.forget_file(file);
            self.table.ends_at(file, 0);
        }
        forgets
    }

    fn file_changed(&mut self, file: FileId, blocks: u64) {
        if let Known::Here { home, .. } = self.files.of(file) {
            self.files.set(file, Known::Here { home, blocks });
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
                        self.views.remove(&block.key());
                        self.table.set_state(page, State::Cached);
                    }
                    self.give_up(page);
                }
            }
        }
        self.table.ends_at(file, end);
    }
}
