//! What speaks for what a source disclosed of each device, and against it. What came true where programs keep their
//! libraries, on a quick disk, says little of what they read on a slow one.

use super::Hints;
use super::accuracy::Accuracy;
use super::holdings::{Holdings, LOOKED_AT_MAX};
use super::sequence::Sequence;
use super::window::WINDOW_GROWTH_FLAWLESS;
use crate::event::{Source, Want};
use crate::files::Known;
use crate::ids::{Block, DeviceId, ReaderId};
use crate::table::NO_SEQUENCE;

/// What is read in the order in which it was disclosed is read by so much where its readers are, or a little further.
const IN_PLACE: f64 = 0.75;
/// Where so much is of use, hardly anything is wrong of what is never passed over: it pays to fetch it where a fetch takes its
/// device as long as it saves, or nearly. In a sweep an arm brings each block in less time than a lone one.
const FLAWLESS_USEFUL: f64 = 0.75;

/// Of what is in no order so many times the part of all that came true, for each block of it, may be out: a tenth of them,
/// if a tenth was read, and all, if a quarter was.
const OUT_BY_PART: f64 = 8.0;

/// So many blocks are the beginning of a file: 256 KiB.
const BEGINNING_BLOCKS: u64 = 64;

/// What is known of one device.
#[derive(Debug)]
struct OfDevice {
    device: DeviceId,
    /// Blocks that were disclosed and read; and, where something was recorded, those that were read and not disclosed.
    disclosed: Accuracy,
    /// What was fetched and read, and what was fetched and given up before that.
    fetched: Accuracy,
    /// Blocks that came true, and that were looked at for fetching.
    came_true: u64,
    issued: u64,
    /// Of what is in no order: blocks that came true of what is disclosed now, and that may be out for how great a part of
    /// it they are.
    of_all: u64,
    by_part: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Evidence {
    of_devices: Vec<OfDevice>,
    /// Blocks that were read where a reader was, and far from there.
    in_place: Accuracy,
}

impl Evidence {
    fn find(&self, device: DeviceId) -> Option<&OfDevice> {
        self.of_devices.iter().find(|of| of.device == device)
    }

    fn entry(&mut self, device: DeviceId) -> &mut OfDevice {
        let at = self.of_devices.iter().position(|of| of.device == device).unwrap_or_else(|| {
            let (disclosed, fetched) = (Accuracy::default(), Accuracy::default());
            self.of_devices.push(OfDevice {
                device,
                disclosed,
                fetched,
                came_true: 0,
                issued: 0,
                of_all: 0,
                by_part: 0,
            });
            self.of_devices.len() - 1
        });
        &mut self.of_devices[at]
    }

    /// Blocks of a device that came true.
    pub fn came_true_of(&self, device: DeviceId) -> u64 {
        self.find(device).map_or(0, |of| of.disclosed.telling.0)
    }

    /// Blocks came true, far from where any reader was or not. What was given up long ago counts for less by that: where
    /// nothing is fetched any more, it is tried again.
    pub fn came_true(&mut self, device: DeviceId, blocks: u64, telling: u64, far: bool) {
        let of = self.entry(device);
        of.came_true += blocks;
        of.disclosed.came_true(telling, telling);
        of.fetched.fade(telling);
        match far {
            true => self.in_place.proved_wrong(telling, telling),
            false => self.in_place.came_true(telling, telling),
        }
    }

    /// Blocks came true of what is in no order, of which so much is still to come, from all devices. Who reads 1 % of a large
    /// set here and there shall not have the set brought; who has read much of it, each block once, will read the rest, as
    /// far as that is what he reads.
    fn leaves(&mut self, device: DeviceId, blocks: u64, left: u64) {
        let useful = self.usefulness(device);
        let of = self.entry(device);
        of.of_all += blocks;
        let part = of.of_all as f64 / (of.of_all + left) as f64;
        of.by_part = (OUT_BY_PART * part * of.of_all as f64 * useful) as u64;
    }

    /// What was disclosed is no more; what came true of it says nothing of how much is read of what is disclosed next.
    pub fn clear(&mut self) {
        self.of_devices.iter_mut().for_each(|of| (of.of_all, of.by_part) = (0, 0));
    }

    /// How much of what was read lately was read where a reader was, from 0 to 1.
    pub fn in_place(&self) -> f64 {
        self.in_place.confidence()
    }

    /// Of what is in no order, blocks that may be out for how great a part of all was read.
    pub fn by_part(&self) -> u64 {
        self.of_devices.iter().map(|of| of.by_part).max().unwrap_or(0)
    }

    /// A block of a device was looked at for fetching.
    pub fn issued(&mut self, device: DeviceId) {
        self.entry(device).issued += 1;
    }

    /// Whether one more block of a device may be fetched, of what was to have so many at first. What came true elsewhere
    /// earned nothing here: a program whose libraries are read as ever may read other data.
    pub fn allows(&self, device: DeviceId, first: u64) -> bool {
        let (came_true, issued) = self.find(device).map_or((0, 0), |of| (of.came_true, of.issued));
        issued.saturating_sub(came_true) < first.saturating_add(WINDOW_GROWTH_FLAWLESS.saturating_mul(came_true))
    }

    /// How likely what is fetched of a device is to be of use, from 0 to 1.
    fn usefulness(&self, device: DeviceId) -> f64 {
        self.find(device).map_or(1.0, |of| of.disclosed.confidence().min(of.fetched.confidence()))
    }
}

impl Sequence {
    /// Whether it is read in the order in which it is disclosed, more or less.
    fn is_in_order(&self) -> bool {
        self.source.is_ordered() && self.window.evidence.in_place() >= IN_PLACE
    }

    /// How likely what is fetched of a device is to be of use, from 0 to 1, as far as that shows by more than what is
    /// passed over: what is fully trusted is, and so is what is read in order.
    pub fn usefulness(&self, device: DeviceId) -> f64 {
        match self.window.is_unbounded() || self.is_in_order() {
            true => 1.0,
            false => self.window.evidence.usefulness(device),
        }
    }

    /// Whether hardly anything that it disclosed of a device is wrong.
    pub fn is_flawless(&self, device: DeviceId) -> bool {
        self.window.is_flawless(device) && self.usefulness(device) >= FLAWLESS_USEFUL
    }

    /// Blocks came true at a position, far from where any reader was or not.
    pub(super) fn take_evidence(
        &mut self,
        position: u64,
        blocks: u64,
        telling: u64,
        far: bool,
        holdings: Holdings<'_>,
    ) {
        if let Some(entry) = self.entry(position).filter(|entry| entry.want != Want::Name)
            && let Known::Here { home, .. } = holdings.files.of(entry.file)
        {
            self.window.evidence.came_true(home.device, blocks, telling, far);
            if self.source == Source::Related {
                let left = self.distance.before_chunk(u64::MAX);
                self.window.evidence.leaves(home.device, blocks.max(1), left);
            }
        }
    }

    /// What was fetched of a device was read, or given up before.
    pub fn fetch_ended(&mut self, device: DeviceId, of_use: bool) {
        let fetched = &mut self.window.evidence.entry(device).fetched;
        if of_use { fetched.came_true(1, 1) } else { fetched.proved_wrong(1, 1) }
    }

    /// Blocks were read of which nobody disclosed a read. As far as they wait for their device, and reads of it were
    /// recorded that are still to come, those may not come either: of a file of which some are, all blocks say so; of one
    /// that was not recorded its beginning, for runs are read ahead in any case; of one that was read nothing does.
    fn read_undisclosed(&mut self, first: Block, count: u64, holdings: Holdings<'_>) {
        let known = holdings.files.of(first.file);
        let Known::Here { home, .. } = known else { return };
        if !matches!(self.source, Source::Profile | Source::Related) || !self.is_followed() {
            return;
        }
        let (is_recorded, looked_at) = match self.files.get(&first.file) {
            Some(0) => return,
            Some(_) => (true, LOOKED_AT_MAX),
            None => (false, BEGINNING_BLOCKS.saturating_sub(first.index)),
        };
        let waits = |&block: &Block| {
            let found = holdings.table.find(block).map(|page| holdings.table.frame(page));
            found.is_none_or(|frame| frame.state.is_unread() && frame.sequence == NO_SEQUENCE)
        };
        let is_undisclosed =
            |block: &Block| !is_recorded || self.find(*block, |entry| entry.holds(block.index, known)).is_none();
        let blocks = (first.index..first.index + count.min(looked_at)).map(|index| Block { index, ..first });
        let wrong = blocks.filter(waits).filter(is_undisclosed).count() as u64;
        self.window.evidence.entry(home.device).disclosed.proved_wrong(wrong, wrong);
    }
}

impl Hints {
    /// A reader read blocks of which it consumed nothing.
    pub(super) fn read_undisclosed(&mut self, reader: ReaderId, first: Block, count: u64, holdings: Holdings<'_>) {
        let Hints { by_reader, sequences, .. } = self;
        for &id in by_reader.get(&reader.0).map_or(&[][..], Vec::as_slice) {
            sequences[usize::from(id)].iter_mut().for_each(|it| it.read_undisclosed(first, count, holdings));
        }
    }

    /// What was fetched for a sequence was read, or given up before.
    pub fn fetch_ended(&mut self, id: u16, device: DeviceId, of_use: bool) {
        if let Some(sequence) = self.sequence_mut(id) {
            sequence.fetch_ended(device, of_use);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Class;
    use crate::files::Files;
    use crate::hint::{Step, Trust};
    use crate::ids::FileId;
    use crate::layout::Home;
    use crate::table::{Phase, State, Table};

    const QUICK: DeviceId = DeviceId(0);
    const SLOW: DeviceId = DeviceId(1);
    const BLOCKS: u64 = 2000;

    /// Every second block of two files was recorded, one on each device.
    struct World {
        sequence: Sequence,
        files: Files,
        table: Table,
    }

    impl World {
        fn new(source: Source, trust: Trust) -> Self {
            let (mut files, mut sequence, mut orders) = (Files::default(), Sequence::new(source, trust), 0);
            for device in [QUICK, SLOW] {
                let (file, home) = (FileId(u32::from(device.0)), Home { device, place: 0 });
                files.set(file, Known::Here { home, blocks: BLOCKS });
                sequence.files.insert(file, 0);
                for first in (0..BLOCKS).step_by(2) {
                    sequence.disclose(file, Want::Range { first, count: 1 }, &mut orders, files.of(file));
                }
            }
            World { sequence, files, table: Table::default() }
        }

        fn read(&mut self, device: DeviceId, blocks: impl IntoIterator<Item = u64>) {
            let World { sequence, files, table } = self;
            let holdings = Holdings { files, table };
            for index in blocks {
                let block = Block { file: FileId(u32::from(device.0)), index };
                if sequence.read(0, block, 1, holdings, &mut Vec::new()) == 0 {
                    sequence.read_undisclosed(block, 1, holdings);
                }
            }
        }
    }

    fn recorded() -> impl Iterator<Item = u64> + Clone {
        (0..BLOCKS).step_by(2)
    }

    #[test]
    fn what_came_true_on_one_device_says_nothing_of_another() {
        let mut world = World::new(Source::Related, Trust::Earned { initial_blocks: 64 });
        world.read(QUICK, recorded());
        assert_eq!([QUICK, SLOW].map(|device| world.sequence.is_flawless(device)), [true, false]);
        world.read(SLOW, recorded().take(200));
        assert!(world.sequence.is_flawless(SLOW));
    }

    #[test]
    fn what_came_true_on_one_device_earns_nothing_on_another() {
        let mut world = World::new(Source::Related, Trust::Earned { initial_blocks: 64 });
        world.read(QUICK, recorded());
        let issue = |world: &mut World| {
            let block = Block { file: FileId(1), index: 0 };
            let home = Home { device: SLOW, place: 0 };
            world.sequence.taken(Step::Block { sequence: 0, position: 1000, block, into: 0, home }, true);
        };
        for _ in 0..64 {
            assert!(world.sequence.window.has_room(SLOW));
            issue(&mut world);
        }
        assert!(!world.sequence.window.has_room(SLOW));
        world.read(SLOW, recorded().take(2));
        (0..34).for_each(|_| issue(&mut world));
        assert_eq!([QUICK, SLOW].map(|device| world.sequence.window.has_room(device)), [true, false]);
    }

    #[test]
    fn who_reads_other_blocks_of_the_same_files_will_not_read_what_was_recorded() {
        let mut world = World::new(Source::Related, Trust::Earned { initial_blocks: 64 });
        world.read(SLOW, recorded().take(200));
        let other = (1..BLOCKS).step_by(2);
        world.read(SLOW, other.clone().take(50));
        assert!(world.sequence.is_flawless(SLOW), "a few");
        world.read(SLOW, other.take(200));
        assert!(!world.sequence.is_flawless(SLOW));
        assert!(world.sequence.usefulness(SLOW) < 0.6, "{}", world.sequence.usefulness(SLOW));
        assert_eq!(world.sequence.usefulness(QUICK), 1.0);
    }

    /// What is read in order is judged by what it passes over. Of the rest what was given up speaks against it, until
    /// so much more came true that it is tried again.
    #[test]
    fn what_is_given_up_unread_speaks_against_what_is_in_no_order() {
        let give_up = |world: &mut World| (0..200).for_each(|_| world.sequence.fetch_ended(SLOW, false));
        for (source, reversed, useful) in
            [(Source::Profile, false, true), (Source::Profile, true, false), (Source::Related, false, false)]
        {
            let mut world = World::new(source, Trust::Earned { initial_blocks: 64 });
            match reversed {
                false => world.read(SLOW, recorded().take(400)),
                true => world.read(SLOW, (0..28).rev().map(|at| at * 70)),
            }
            give_up(&mut world);
            assert_eq!(world.sequence.usefulness(SLOW) > 0.9, useful, "{source:?} {reversed}");
        }
        let mut world = World::new(Source::Related, Trust::Earned { initial_blocks: 64 });
        give_up(&mut world);
        world.read(SLOW, recorded().take(500));
        let tried = world.sequence.usefulness(SLOW);
        world.read(SLOW, recorded().skip(500));
        assert!(tried < 0.2 && world.sequence.usefulness(SLOW) > tried, "{tried}");
    }

    #[test]
    fn what_is_fully_trusted_is_of_use() {
        let mut world = World::new(Source::Related, Trust::Full);
        world.read(SLOW, (1..BLOCKS).step_by(2));
        (0..200).for_each(|_| world.sequence.fetch_ended(SLOW, false));
        assert_eq!(world.sequence.usefulness(SLOW), 1.0);
    }

    /// What was brought for it and passed over is read late, and was recorded.
    #[test]
    fn what_is_here_for_it_was_recorded() {
        let mut world = World::new(Source::Related, Trust::Earned { initial_blocks: 64 });
        for index in (1..BLOCKS).step_by(2) {
            let block = Block { file: FileId(u32::from(SLOW.0)), index };
            let page = world.table.insert(block, State::unread(Class::Guessed), Phase::Present);
            world.table.set_sequence(page, 0);
        }
        world.read(SLOW, (1..BLOCKS).step_by(2));
        assert_eq!(world.sequence.usefulness(SLOW), 1.0);
    }
}
