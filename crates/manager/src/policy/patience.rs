//! Whether a stall is ahead: whether, of all that is missing on a device, anything would come too
//! late if the next fetch did not begin now (Kimbrel et al. 1996). Fetches are asked for in the
//! order of their reads; each reader has an order and a pace of its own.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::context::News;
use super::{Access, Context, Runs, Stretch};
use crate::estimate::pace::Pace;
use crate::event::Demand;
use crate::ids::{DeviceId, Page, ReaderId};

/// So many references are looked ahead at least.
const AHEAD_MIN: u64 = 16_384;

/// What was found with times that differ by less than this part is not looked for again, and a stall
/// that was found is taken to be ahead as long as it would be if a fetch took longer by that: the
/// estimators' margin for times that vary.
const LIKE_PART: f64 = 0.1;

/// What it takes until the i-th block that is missing has come: `first_ns`, and `each_ns` for each
/// `at_once` of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrivals {
    pub first_ns: f64,
    pub each_ns: f64,
    pub at_once: f64,
}

impl Arrivals {
    /// So many references are left until the reader comes to the block, and it has come.
    fn left(self, references: u64, blocks: u64, between_ns: f64) -> f64 {
        references as f64 - (self.first_ns + (blocks as f64 / self.at_once).ceil() * self.each_ns) / between_ns
    }

    /// How many fetches are asked for before it is looked again, where the last of so many missing
    /// blocks is late with so much left: as many as bring it in time, or a tenth of those up to it,
    /// whichever is more. If a fetch took longer by a ninth, the stall would still be ahead then.
    fn held(self, left: f64, blocks: u64, between_ns: f64) -> u64 {
        let caught_up = (1.0 - left) * between_ns / self.each_ns;
        let part = (blocks as f64 / self.at_once).ceil() * LIKE_PART;
        ((caught_up.max(part).floor() * self.at_once) as u64).min(blocks)
    }

    /// Whether these are nearly the same times.
    fn is_like(self, other: Arrivals) -> bool {
        is_like(self.first_ns, other.first_ns) && is_like(self.each_ns, other.each_ns)
    }

    /// References that go by from one block to the next.
    fn each(self, between_ns: f64) -> f64 {
        self.each_ns / self.at_once / between_ns
    }
}

/// Whether two times differ by less than what is allowed for in any case.
fn is_like(one: f64, other: f64) -> bool {
    (one - other).abs() <= LIKE_PART * other
}

/// What tells whether a stall is ahead.
#[derive(Default)]
pub(super) struct Patience {
    /// Those who read what each sequence disclosed.
    readers: Vec<Reader>,
}

/// Who reads what a sequence disclosed.
#[derive(Default)]
struct Reader {
    /// Without waiting, and with the waits for what it read and did not disclose.
    pace: Pace,
    progress: Pace,
    /// Who read last of it.
    by: Option<ReaderId>,
    /// What was found on each device. To look again at each page that goes and each block that is
    /// fetched takes longer than all else, where thousands are missing.
    found: Mutex<BTreeMap<DeviceId, Found>>,
}

#[derive(Clone, Copy)]
enum Found {
    /// No stall is ahead until so many blocks have gone by, unless there is news of what is disclosed,
    /// or times are others.
    Safe { until: u64, news: News, missing: u64, arrivals: Arrivals, between_ns: f64 },
    /// A stall is taken to be ahead until so many blocks more are fetched, or so many have gone by, or
    /// times are others.
    Late { fetches: u64, until: u64, arrivals: Arrivals, between_ns: f64 },
}

impl Reader {
    fn found(&mut self) -> &mut BTreeMap<DeviceId, Found> {
        self.found.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more block is missing, which is read in so many references, when so many have gone by.
    fn is_missing(&mut self, device: DeviceId, references: u64, gone_by: u64) {
        if let Some(Found::Safe { until, missing, arrivals, between_ns, .. }) = self.found().get_mut(&device) {
            *missing += 1;
            let own = arrivals.left(references, *missing, *between_ns).max(0.0) as u64;
            let others = until.saturating_sub(arrivals.each(*between_ns).ceil() as u64);
            *until = others.min(gone_by.saturating_add(own));
        }
    }
}

impl Patience {
    fn reader(&mut self, sequence: u16) -> &mut Reader {
        let at = usize::from(sequence);
        if at >= self.readers.len() {
            self.readers.resize_with(at + 1, Reader::default);
        }
        &mut self.readers[at]
    }

    /// A read has to wait. If nobody disclosed it, its reader does not think meanwhile either, but
    /// gets on no faster for that.
    fn stalled(&mut self, access: &Access) {
        if let Some(sequence) = access.hinted {
            let reader = self.reader(sequence);
            reader.by = Some(access.reader);
            [&mut reader.pace, &mut reader.progress].into_iter().for_each(|pace| pace.stalled(access.now));
        } else {
            let of_it = self.readers.iter_mut().filter(|reader| reader.by == Some(access.reader));
            of_it.for_each(|reader| reader.pace.stalled(access.now));
        }
    }

    /// A disclosed read found its block.
    pub fn hit(&mut self, access: &Access) {
        if let Some(sequence) = access.hinted {
            let reader = self.reader(sequence);
            reader.by = Some(access.reader);
            let (over, waited) = match access.demand {
                Demand::Timed { over, waited } => (over, waited),
                _ => (access.now, false),
            };
            [&mut reader.pace, &mut reader.progress].into_iter().for_each(|pace| pace.hit(over, waited));
        }
    }

    /// A sequence is no more.
    pub fn forget(&mut self, sequence: u16) {
        *self.reader(sequence) = Reader::default();
    }

    /// A page goes, or what it waited for does not come: one more block may be missing.
    pub fn gone(&mut self, page: Page, context: &Context<'_>) {
        for next in context.uses(page) {
            if let Some(references) = context.references_until(next) {
                let device = context.device_of(page);
                let gone_by = context.gone_by(next.sequence);
                self.reader(next.sequence).is_missing(device, references, gone_by);
            }
        }
    }

    /// A block is asked for: one less is missing.
    fn asked_for(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        let (device, read) = (context.device_of(page), access.and_then(|access| access.hinted));
        for sequence in context.uses(page).map(|next| next.sequence).chain(read) {
            if let Some(Found::Late { fetches, .. }) = self.reader(sequence).found().get_mut(&device) {
                *fetches = fetches.saturating_sub(1);
            }
        }
    }

    /// Nanoseconds from one read of what a sequence disclosed to the next, without waiting; None if
    /// that was not seen yet.
    pub fn between_ns(&self, sequence: u16) -> Option<f64> {
        self.readers.get(usize::from(sequence))?.pace.between_ns()
    }

    /// The same with the waits for what was read in between and not disclosed: no fetch in time
    /// spares those.
    pub fn progress_ns(&self, sequence: u16) -> Option<f64> {
        self.readers.get(usize::from(sequence))?.progress.between_ns()
    }

    /// Whether a stall is ahead on a device for who reads a sequence, so many nanoseconds from read
    /// to read. Where times are not known yet, one is.
    pub fn is_stall_ahead(
        &self,
        sequence: u16,
        device: DeviceId,
        between_ns: Option<f64>,
        arrivals: Option<Arrivals>,
        context: &Context<'_>,
    ) -> bool {
        let (Some(between), Some(arrivals)) = (between_ns, arrivals) else { return true };
        let reader = &self.readers[usize::from(sequence)];
        let (news, gone_by) = (context.news(sequence), context.gone_by(sequence));
        // So many references are looked ahead.
        let within = context.ledger().capacity.max(AHEAD_MIN);
        let mut found = reader.found.lock().unwrap_or_else(PoisonError::into_inner);
        match found.get(&device) {
            Some(&Found::Safe { until, news: before, arrivals: then, between_ns, .. })
                if gone_by < until
                    && then.is_like(arrivals)
                    && is_like(between_ns, between)
                    && context.is_no_news(sequence, before, within) =>
            {
                return false;
            }
            Some(&Found::Late { fetches, until, arrivals: then, between_ns })
                if fetches > 0 && gone_by < until && then.is_like(arrivals) && is_like(between_ns, between) =>
            {
                return true;
            }
            _ => {}
        }
        // So many references from now on, the next fetch may begin in time.
        let (mut spare, mut number) = (u64::MAX, 0);
        for behind in [true, false] {
            let before = number;
            for references in context.missing(sequence, device, within, behind) {
                number += 1;
                let left = arrivals.left(references, number, between);
                // At the next reference it would be too late.
                if left < 1.0 {
                    let fetches = arrivals.held(left, number, between);
                    let until = gone_by.saturating_add(references);
                    found.insert(device, Found::Late { fetches, until, arrivals, between_ns: between });
                    return true;
                }
                spare = spare.min(left as u64);
                // Were all missing from here on, more would be left: what lies beyond is looked at later.
                if arrivals.each_ns <= between * arrivals.at_once
                    && arrivals.left(references, before + references + 1, between) > spare as f64
                {
                    break;
                }
            }
        }
        // What lies further on was not looked at.
        let until = gone_by.saturating_add(spare.min(within));
        let missing = number;
        found.insert(device, Found::Safe { until, news, missing, arrivals, between_ns: between });
        false
    }
}

/// It hears of each read that waits, of those too that wait for one block together. What will not
/// come is missing again.
impl Runs for Patience {
    fn taken(&mut self, page: Page, context: &Context<'_>, access: Option<&Access>) {
        self.asked_for(page, context, access);
        access.into_iter().for_each(|access| self.stalled(access));
    }

    fn awaited(&mut self, _: Page, _: &Context<'_>, access: &Access) {
        self.stalled(access);
    }

    fn lost(&mut self, page: Page, context: &Context<'_>) {
        self.gone(page, context);
    }

    fn next_stretch(&mut self, _: &Context<'_>) -> Option<Stretch> {
        None
    }

    fn is_sequential(&self, _: Page) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::{DeviceLimits, Dispatch};
    use crate::event::{Class, Source, Want};
    use crate::files::{Files, Known};
    use crate::hint::{Hints, Holdings, Step, Trust, Use};
    use crate::ids::{Block, FileId, Site, Time};
    use crate::layout::{Home, Stripe};
    use crate::table::{Phase, State, Table};

    const READER: ReaderId = ReaderId(0);
    const SEQUENCE: u16 = 0;
    const DEVICE: DeviceId = DeviceId(0);
    const BLOCKS: u64 = 4096;
    const PAGES: u64 = 64;

    /// What was disclosed of one file, and is read at two places.
    struct World {
        table: Table,
        hints: Hints,
        files: Files,
        dispatch: Dispatch,
        patience: Patience,
        source: Source,
        order: Vec<u64>,
        /// How far it is read, at each of the places.
        read: Vec<usize>,
    }

    macro_rules! context {
        ($world:expr) => {
            Context {
                table: &$world.table,
                capacity: PAGES,
                hints: &$world.hints,
                files: &$world.files,
                dispatch: &$world.dispatch,
            }
        };
    }

    fn block(index: u64) -> Block {
        Block { file: FileId(0), index }
    }

    impl World {
        /// 200 blocks were disclosed, so many at a time.
        fn new(source: Source, entry: u64, places: usize) -> Self {
            let mut files = Files::default();
            files.set(FileId(0), Known::Here { home: Home { device: DEVICE, place: 0 }, blocks: BLOCKS });
            let mut world = World {
                table: Table::default(),
                hints: Hints::default(),
                files,
                dispatch: Dispatch::new(DeviceLimits::default(), Stripe::default()),
                patience: Patience { readers: vec![Reader::default()] },
                source,
                order: Vec::new(),
                read: vec![0; places],
            };
            (0..200 / entry).for_each(|at| world.disclose(at * entry, entry));
            world
        }

        fn disclose(&mut self, first: u64, count: u64) {
            let (want, known) = (Want::Range { first, count }, self.files.of(FileId(0)));
            self.hints.disclose(READER, self.source, FileId(0), want, Trust::Full, known);
            self.order.extend(first..first + count);
        }

        fn bring(&mut self, block: Block, access: Option<&Access>) {
            let state = if access.is_some() { State::Cached } else { State::unread(Class::Hinted) };
            let page = self.table.insert(block, state, Phase::Present);
            self.patience.taken(page, &context!(self), access);
        }

        /// The next disclosed read at this place.
        fn read(&mut self, place: usize) {
            let Some(&index) = self.order.get(self.read[place]) else { return };
            self.read[place] += 1;
            let holdings = Holdings { files: &self.files, table: &self.table };
            let hinted = self.hints.read(READER, block(index), 1, holdings).hinted(index);
            let (site, demand) = (Site(0), Demand::Observed);
            let access = Access { now: Time(0), reader: READER, site, demand, hinted, first: false, next: None };
            match self.table.find(block(index)) {
                Some(_) => self.patience.hit(&access),
                None => self.bring(block(index), Some(&access)),
            }
        }

        /// The next block that is missing is fetched.
        fn fetch(&mut self) {
            loop {
                let mut found = Vec::new();
                self.hints.peek(1, &self.files, &mut found);
                let Some(&(_, step @ Step::Block { block, .. })) = found.first() else { return };
                let is_missing = self.table.find(block).is_none();
                if is_missing {
                    self.bring(block, None);
                }
                self.hints.taken(step, is_missing);
                if is_missing {
                    return;
                }
            }
        }

        /// A page goes.
        fn give_up(&mut self, nth: u64) {
            let pages: Vec<Page> = self.table.pages().collect();
            let Some(&page) = pages.get(nth as usize % pages.len().max(1)) else { return };
            self.patience.gone(page, &context!(self));
            let block = self.table.remove(page);
            self.hints.forgo(block, self.files.of(block.file), None);
        }

        fn is_stall_ahead(&self, patience: &Patience, arrivals: Arrivals) -> bool {
            patience.is_stall_ahead(SEQUENCE, DEVICE, Some(1.0), Some(arrivals), &context!(self))
        }
    }

    impl World {
        /// Some of what can happen.
        fn go_on(&mut self, (what, index, count): (u8, u64, u64)) {
            match what {
                0 => self.disclose(index, count),
                1..4 => self.give_up(index),
                4 => {
                    let places = self.read.len();
                    self.read[index as usize % places] += count as usize / 8;
                }
                5..12 => (0..count).for_each(|_| self.fetch()),
                _ => (0..count.div_ceil(4)).for_each(|_| self.read(usize::from(what) % self.read.len())),
            }
        }

        /// The reads of some blocks that are to come, and how many references until then.
        fn to_come(&self) -> Vec<(Use, u64)> {
            let uses = |index| self.hints.uses(block(index), &self.files);
            let some = (0..BLOCKS).step_by(7).flat_map(uses);
            some.filter_map(|it| Some((it, self.hints.until(it)?))).collect()
        }

        fn gone_by(&self) -> u64 {
            context!(self).gone_by(SEQUENCE)
        }
    }

    fn ops() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
        proptest::collection::vec((0..20u8, 0..BLOCKS - 40, 1..40u64), 1..300)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Whoever remembers what was found finds what is found anew, or a stall that would be ahead if a
        /// fetch took longer by a ninth, whatever one reader reads and passes over, and whatever is fetched
        /// in order, given up and disclosed meanwhile, and when times change. Of several who read together
        /// it is near that: the hindmost passes over what was missing for the others.
        #[test]
        fn what_was_found_holds_until_it_is_looked_for_again(
            ops in ops(),
            first_ns in 0.0..50.0f64,
            each_ns in prop_oneof![0.1..2.0f64, 2.0..100.0f64],
            at_once in 1..4u8,
            entry in 1..40u64,
            (change, times) in (0..300usize, 0.1..10.0f64),
        ) {
            let mut arrivals = Arrivals { first_ns, each_ns, at_once: f64::from(at_once) };
            let mut world = World::new(Source::Library, entry, 1);
            for (number, op) in ops.into_iter().enumerate() {
                world.go_on(op);
                // By more than is allowed for.
                if number == change && !(0.8..1.3).contains(&times) {
                    arrivals.each_ns *= times;
                }
                if world.hints.sequence(SEQUENCE).is_some_and(|it| it.is_of_several()) {
                    break;
                }
                let anew = |arrivals| {
                    world.is_stall_ahead(&Patience { readers: vec![Reader::default()] }, arrivals)
                };
                let remembered = world.is_stall_ahead(&world.patience, arrivals);
                prop_assert!(remembered || !anew(arrivals), "a stall is slept through");
                let longer = Arrivals { each_ns: arrivals.each_ns / (1.0 - LIKE_PART) + 1e-6, ..arrivals };
                prop_assert!(anew(longer) || !remembered, "no stall is ahead any more");
            }
        }

        /// What is disclosed comes nearer by no more than goes by, of several who read together too.
        #[test]
        fn nothing_comes_nearer_by_more_than_goes_by(
            ops in ops(),
            source in prop_oneof![Just(Source::Library), Just(Source::Profile)],
            entry in 1..40u64,
        ) {
            let mut world = World::new(source, entry, 2);
            for op in ops {
                let (before, gone_by) = (world.to_come(), world.gone_by());
                world.go_on(op);
                let went = world.gone_by() - gone_by;
                for (read, until) in before {
                    let now = world.hints.until(read);
                    prop_assert!(now.is_none_or(|now| now + went >= until), "{now:?} after {until}, {went} went by");
                }
            }
        }
    }
}
