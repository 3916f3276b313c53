//! The second tier as the pool uses it: a fetch is split into what lies there and what does not,
//! and what memory gives up may go there.
//!
//! What is to be written stays in its frame, pinned, until it is: nothing is copied. So many frames
//! may be held so ([`super::holding`]). If they are all held, what is given up next is not written:
//! no reader ever waits for the disk to take something.

use std::collections::hash_map;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use foresee_manager::{Block, Class, DeviceId, FetchId, Standing};

use super::fetch::Task;
use super::frame::{Pin, Uses};
use super::holding::Holding;
use super::memory::{Memory, key};
use super::workers::Workers;
use crate::tier::{Entry, Found, Key, LOOKED_AT_ONCE, ObjectKey, SlotFile, Tier};

/// Reads at once: a solid-state disk serves so many side by side.
pub const RECALLS_AT_ONCE: usize = 16;
/// Of them, what nobody waits for yet takes no more for a fetch: one that somebody waits for comes
/// in between.
const RECALLS_AHEAD_AT_ONCE: usize = RECALLS_AT_ONCE / 2;
/// Writes at once: reads, which somebody waits for, shall find the disk free.
pub const KEEPS_AT_ONCE: usize = 2;
/// What a write has at most: a disk is no quicker by longer ones, and reads would wait behind it.
const WRITE_BYTES: usize = 1 << 20;

/// A block that memory gives up.
pub struct Offered {
    /// Which.
    pub block: Block,
    held: Held,
    /// It was read again, or missed soon after it was given up.
    is_used_again: bool,
    /// It was read at all: not just brought ahead.
    is_read: bool,
}

/// What is asked of the disk for a fetch: in parts, side by side.
struct Whole {
    blocks: usize,
    /// Parts that are not done.
    left: usize,
    /// What the slowest of those took that are. Without their wait for a thread: that says nothing
    /// of the disk.
    longest: Duration,
    is_bad: bool,
}

/// Frames to be filled from the disk.
pub struct Recall {
    /// For which fetch.
    pub fetch: FetchId,
    /// Which of its blocks, and where they lie.
    pub found: Vec<Found>,
    /// Frames of theirs: free ones of this memory, given to this alone.
    pub frames: Vec<u32>,
    /// Whose frames they are.
    pub memory: Arc<Memory>,
    /// Where they lie.
    pub file: Arc<SlotFile>,
}

/// A frame that is held, and what it holds: pinned.
#[derive(Clone, Copy)]
struct Held {
    frame: u32,
    key: Key,
    /// How long it had been given up for when it came, if that was lately.
    waited: Option<u32>,
    /// It is to be written only because there is room.
    only_if_empty: bool,
}

/// Frames to be written, in a row.
pub struct Keep {
    /// Where the first of them goes.
    first: u32,
    held: Vec<Held>,
    /// Whose frames they are.
    memory: Arc<Memory>,
    /// Where they go.
    file: Arc<SlotFile>,
}

/// Entries to be looked at, of a file that another cache writes.
pub struct Look {
    /// The first of them.
    pub first: u32,
    /// Where they lie.
    pub file: Arc<SlotFile>,
}

/// What they say, and whether the file is this cache's to write by now.
pub type Looked = (Vec<Option<Entry>>, bool);

impl Look {
    /// Does it.
    pub fn run(&self) -> std::io::Result<Looked> {
        self.file.look(self.first, LOOKED_AT_ONCE)
    }
}

impl Recall {
    /// Does it. Returns whether each block is what it should be.
    pub fn run(&self) -> Vec<bool> {
        // SAFETY: the frames are this recall's until it is reported.
        let mut pieces = unsafe { self.memory.pieces(&self.frames) };
        let mut good = vec![false; self.found.len()];
        for run in runs(&self.found, |one, next| one.slot + 1 == next.slot) {
            let came = self.file.read(self.found[run.start].slot, &mut pieces[run.clone()]);
            good[run].fill(came.unwrap_or(false));
        }
        let is_whole =
            |(piece, found): (&IoSliceMut<'_>, &Found)| found.entry.checksum == found.entry.key.checksum(piece);
        for (good, it) in good.iter_mut().zip(pieces.iter().zip(&self.found)) {
            *good = *good && is_whole(it);
        }
        good
    }
}

impl Keep {
    /// Its frames.
    pub fn frames(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.held.iter().map(|it| it.frame)
    }

    fn slots(&self) -> Range<u32> {
        self.first..self.first + self.held.len() as u32
    }

    /// Does it.
    pub fn run(&self) -> std::io::Result<Vec<Entry>> {
        // SAFETY: they are pinned until this is reported.
        let block = |it: &Held| (it.key, unsafe { self.memory.bytes(it.frame) });
        self.file.write(self.first, &self.held.iter().map(block).collect::<Vec<_>>())
    }
}

/// The runs of what follows its neighbour.
fn runs<T>(of: &[T], follows: impl Fn(&T, &T) -> bool) -> Vec<Range<usize>> {
    let mut begin = 0;
    let chunk = |chunk: &[T]| {
        let run = begin..begin + chunk.len();
        begin = run.end;
        run
    };
    of.chunk_by(follows).map(chunk).collect()
}

/// What is asked of the disk, cut into parts of as many requests each, no more parts than this.
fn parts(found: &[Found], at_once: usize) -> Vec<Vec<Found>> {
    let mut found = found.to_vec();
    // What lies side by side is one request, in whatever order it is wanted.
    found.sort_unstable_by_key(|it| it.slot);
    let runs = runs(&found, |one, next| one.slot + 1 == next.slot);
    let count = runs.len().min(at_once);
    // Where a part begins, of the runs; the end, for the one after the last.
    let begin = |part: usize| runs.get(part * runs.len() / count).map_or(found.len(), |run| run.start);
    (0..count).map(|part| found[begin(part)..begin(part + 1)].to_vec()).collect()
}

/// What of so many blocks is left beside these.
pub fn rest(of: Range<usize>, without: &[Found]) -> Vec<Range<usize>> {
    let begins = std::iter::once(of.start).chain(without.iter().map(|it| it.at + 1));
    let ends = without.iter().map(|it| it.at).chain([of.end]);
    begins.zip(ends).map(|(begin, end)| begin..end).filter(|run| !run.is_empty()).collect()
}

/// The tier, with its threads.
pub struct Second {
    /// What decides.
    pub tier: Tier,
    recalling: Arc<Workers>,
    keeping: Arc<Workers>,
    memory: Arc<Memory>,
    /// Of each fetch, what is being read.
    asked: HashMap<FetchId, Whole>,
    /// What is given up just now.
    offered: Vec<Offered>,
    /// What is to be written and has no slot yet: the longest there first.
    waiting: VecDeque<Held>,
    /// Writes that are not done.
    writing: usize,
    /// Frames that they write: they cannot give way, so that these are no more than are there for it.
    written: usize,
    /// Blocks of a write at most.
    write_max: usize,
    /// Frames held, what is offered included.
    pub holding: Holding,
    /// The blocks in them, by the short of their keys: none is held twice.
    held: HashSet<u64>,
    /// Of each frame, how long its block had been given up for when it came, if that was lately.
    waited: Box<[Option<u32>]>,
}

impl Second {
    /// The tier, beside this memory, of which some frames are there for what is written alone, with
    /// threads that read and threads that write.
    pub fn new(tier: Tier, memory: Arc<Memory>, recalling: Arc<Workers>, keeping: Arc<Workers>, spare: usize) -> Self {
        let waited = vec![None; memory.len()].into();
        let write_max = (WRITE_BYTES / memory.frame_bytes()).clamp(1, spare.div_ceil(KEEPS_AT_ONCE));
        let holding = Holding::new(memory.len(), spare);
        Second {
            tier,
            recalling,
            keeping,
            memory,
            asked: HashMap::new(),
            offered: Vec::new(),
            waiting: VecDeque::new(),
            writing: 0,
            written: 0,
            write_max,
            holding,
            held: HashSet::new(),
            waited,
        }
    }

    /// Has those blocks of a fetch brought that lie here. Returns them, and in how many parts they
    /// come.
    pub fn recall(
        &mut self,
        fetch: FetchId,
        class: Class,
        (device, object): (DeviceId, ObjectKey),
        first: u64,
        frames: &[u32],
    ) -> (Vec<Found>, usize) {
        let found = self.tier.recall(usize::from(device.0), object, first, frames.len());
        if found.len() < frames.len() {
            let look = self.tier.look();
            self.look(look);
        }
        let at_once = if class == Class::Demand { RECALLS_AT_ONCE } else { RECALLS_AHEAD_AT_ONCE };
        let parts = parts(&found, at_once);
        let count = parts.len();
        if count > 0 {
            let whole = Whole { blocks: found.len(), left: count, longest: Duration::ZERO, is_bad: false };
            self.asked.insert(fetch, whole);
        }
        for found in parts {
            let frames = found.iter().map(|it| frames[it.at]).collect();
            let (memory, file) = (Arc::clone(&self.memory), Arc::clone(&self.tier.file));
            self.recalling.add(Task::Recall(Recall { fetch, found, frames, memory, file }), class);
        }
        (found, count)
    }

    /// A reader waits for a fetch that was ordered ahead.
    pub fn hurry(&self, fetch: FetchId) {
        self.recalling.hurry(fetch);
    }

    fn look(&self, first: Option<u32>) {
        if let Some(first) = first {
            self.recalling.add(Task::Look(Look { first, file: Arc::clone(&self.tier.file) }), Class::Guessed);
        }
    }

    /// Some entries were looked at.
    pub fn looked(&mut self, first: u32, looked: std::io::Result<Looked>) {
        let next = self.tier.looked(first, looked);
        self.look(next);
    }

    /// These blocks of an object came from their store into these frames.
    pub fn came(&mut self, device: DeviceId, object: ObjectKey, first: u64, frames: &[u32], took: Duration) {
        self.tier.pace.store(usize::from(device.0)).took(frames.len(), took);
        for (block, &frame) in (first..).zip(frames) {
            self.waited[frame as usize] = self.tier.missed(Key { object, block });
        }
    }

    /// These frames were filled from the disk. Returns the blocks for which that went wrong.
    pub fn recalled(&mut self, recall: &Recall, good: &[bool], took: Duration) -> Vec<usize> {
        let Recall { fetch, found, frames, .. } = recall;
        for (&frame, waited) in frames.iter().zip(self.tier.recalled(found, good)) {
            self.waited[frame as usize] = waited;
            self.holding.spared(usize::from(waited.is_some()));
        }
        if let hash_map::Entry::Occupied(mut whole) = self.asked.entry(*fetch) {
            let it = whole.get_mut();
            it.left -= 1;
            it.longest = it.longest.max(took);
            it.is_bad |= good.contains(&false);
            if it.left == 0 {
                let Whole { blocks, longest, is_bad, .. } = whole.remove();
                self.tier.pace.disk.took(blocks, longest);
                self.tier.has_answered(!is_bad);
            }
        }
        found.iter().zip(good).filter(|(_, good)| !**good).map(|(it, _)| it.at).collect()
    }

    /// Memory is about to give a block up. It is held until it is known what is to become of it.
    pub fn offer(&mut self, block: Block, object: ObjectKey) {
        let Some(frame) = self.memory.frame_of(block) else { return };
        let Uses { any, again } = self.memory.frame(frame).uses();
        let key_there = Key { object, block: block.index };
        if self.tier.has(key_there) || self.held.contains(&key_there.short()) {
            return;
        }
        if self.tier.may_keep(self.waiting.len()) && self.holding.hold() {
            if self.memory.pin_frame(frame, key(block), Pin::Copy).is_ok() {
                let waited = self.waited[frame as usize];
                let is_used_again = any && (again || waited.is_some());
                let held = Held { frame, key: key_there, waited, only_if_empty: false };
                self.offered.push(Offered { block, held, is_used_again, is_read: any });
                self.held.insert(key_there.short());
                return;
            }
            self.holding.let_go(1);
        }
        self.tier.forgo(key_there);
    }

    /// What is held and not decided about.
    pub fn offered(&mut self) -> Vec<Offered> {
        std::mem::take(&mut self.offered)
    }

    /// Decides, by what is known of the reads to come, whether it waits to be written. If it does
    /// not, its frame is to be let go of, and returned.
    pub fn judge(&mut self, Offered { held, is_used_again, is_read, .. }: Offered, standing: Standing) -> Option<u32> {
        let is_wanted = is_used_again || standing.is_to_come();
        if is_wanted || is_read && self.tier.has_free_room(self.waiting.len()) {
            self.waiting.push_back(Held { only_if_empty: !is_wanted, ..held });
            return None;
        }
        Some(self.forgo(held))
    }

    /// Somebody waits for a frame: what is offered and was not read again gives way, then what has
    /// waited longest to be written, then the rest. The frame of one of them, to be let go of.
    pub fn give_way(&mut self) -> Option<u32> {
        let held = match self.offered.iter().rposition(|it| !it.is_used_again) {
            Some(at) => self.offered.swap_remove(at).held,
            None => self.waiting.pop_front().or_else(|| Some(self.offered.pop()?.held))?,
        };
        Some(self.forgo(held))
    }

    /// It is not written. Its frame, to be let go of.
    fn forgo(&mut self, Held { frame, key, .. }: Held) -> u32 {
        self.tier.forgo(key);
        self.held.remove(&key.short());
        self.holding.let_go(1);
        frame
    }

    /// Has written what waits for that, as much as is done at once. The frames to let go of, of
    /// what has no place.
    pub fn begin_keeping(&mut self) -> Vec<u32> {
        let mut not_kept = Vec::new();
        while self.writing < KEEPS_AT_ONCE {
            let free = self.holding.spare() - self.written;
            let count = self.write_max.min(self.waiting.len()).min(free);
            if count == 0 {
                break;
            }
            let mut batch: Vec<Held> = self.waiting.drain(..count).collect();
            // So that what lies side by side in an object does so here, and is read as one.
            batch.sort_unstable_by_key(|it| (it.key.object.0, it.key.block));
            let mut kept = Vec::new();
            for held in batch {
                match self.tier.keep(held.waited, held.only_if_empty) {
                    Some(slot) => kept.push((slot, held)),
                    None => not_kept.push(self.forgo(held)),
                }
            }
            for run in kept.chunk_by(|one, next| one.0 + 1 == next.0) {
                let (memory, file) = (Arc::clone(&self.memory), Arc::clone(&self.tier.file));
                let (first, held) = (run[0].0, run.iter().map(|it| it.1).collect());
                self.keeping.add(Task::Keep(Keep { first, held, memory, file }), Class::Hinted);
                self.writing += 1;
                self.written += run.len();
            }
        }
        not_kept
    }

    /// Frames were written, as many as there are entries, or none.
    pub fn kept(&mut self, keep: &Keep, written: std::io::Result<Vec<Entry>>) {
        self.writing -= 1;
        self.written -= keep.held.len();
        for held in &keep.held {
            self.held.remove(&held.key.short());
        }
        self.holding.let_go(keep.held.len());
        self.tier.kept(keep.slots(), written);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;
    use std::thread;
    use std::time::Instant;

    use foresee_driver::Host;
    use foresee_manager::{Config, FileId, Order, ReaderId};
    use foresee_store::{Error, Listed, Memory as Bytes, Object, Store};

    use super::super::turns::tests as turns;
    use super::super::{Opened, Pool, StoreId, Who, spare};
    use super::*;
    use crate::tier::Layout;

    const BLOCK: usize = 4096;
    const BLOCKS: u64 = 100;

    /// Objects whose versions may be kept on a disk.
    struct Lasting(Bytes);

    impl Store for Lasting {
        fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
            self.0.open(name)
        }

        fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
            self.0.list(prefix)
        }
    }

    /// A pool with some frames and a disk of some slots, over an object of some blocks.
    struct Tried {
        pool: Arc<Pool>,
        file: FileId,
        disk: Arc<SlotFile>,
        path: std::path::PathBuf,
    }

    impl Drop for Tried {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }

    impl Tried {
        fn new(name: &str, frames: usize, slots: u64) -> Self {
            Self::by("lru", name, frames, slots)
        }

        fn by(policy: &str, name: &str, frames: usize, slots: u64) -> Self {
            let path = std::env::temp_dir().join(format!("foresee-{name}-{}", std::process::id()));
            let layout = Layout::new(slots * (BLOCK as u64 + 40) + 8192, BLOCK as u64);
            let tier = Tier::open(&path, layout, frames).unwrap();
            let disk = Arc::clone(&tier.file);
            let bytes = Bytes::default();
            bytes.put("a", (0..BLOCKS).flat_map(|block| [block as u8; BLOCK]).collect::<Vec<u8>>());
            bytes.put("b", vec![1; BLOCK]);
            let stores: Vec<(String, Arc<dyn Store>)> = vec![("test".to_owned(), Arc::new(Lasting(bytes)))];
            let config = Config::new((frames - spare(frames)) as u64, policy.parse().unwrap());
            let pool = Pool::new(Memory::new(frames, BLOCK).unwrap(), &config, stores, Some(tier), None).unwrap();
            let opened = Opened::open(pool.store(StoreId(0)), "a").unwrap();
            let file = pool.opened(StoreId(0), "a", &opened).unwrap();
            Tried { pool, file, disk, path }
        }

        /// Reads some blocks at once, and looks at what came.
        fn read(&self, first: u64, blocks: usize) {
            let (who, mut buffer) = (Who { reader: ReaderId(0), disclosed: false }, vec![0; blocks * BLOCK]);
            self.pool.read(who, self.file, first * BLOCK as u64, &mut buffer).unwrap();
            for (block, bytes) in (first..).zip(buffer.chunks(BLOCK)) {
                assert!(bytes == [block as u8; BLOCK], "block {block}");
            }
        }

        /// Reads each block in turn.
        fn read_all(&self) {
            (0..BLOCKS).for_each(|block| self.read(block, 1));
        }

        fn statistics(&self) -> crate::DiskStatistics {
            self.pool.session().host().second().unwrap().tier.statistics()
        }

        /// A bit of a block is another where it lies on the disk.
        fn spoil(&self, block: u8) {
            let bytes = fs::read(&self.path).unwrap();
            let page = bytes.chunks(BLOCK).position(|page| page == [block; BLOCK]).unwrap();
            let file = fs::OpenOptions::new().write(true).open(&self.path).unwrap();
            file.write_all_at(&[block ^ 1], (page * BLOCK) as u64).unwrap();
        }

        /// Waits until all is written that waits for it.
        fn settle(&self) {
            while self.pool.session().host().second().unwrap().holding.held() > 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn a_disk_that_is_slower_than_the_store_is_asked_each_64th_time() {
        const PROBE: u64 = 64;
        const LEARNED: u64 = 32;
        let tried = Tried::new("slow-disk", 16, 200);
        while tried.statistics().blocks_used < BLOCKS as usize - 16 {
            tried.read_all();
            thread::sleep(Duration::from_millis(1));
        }
        *tried.disk.staged.late.lock().unwrap() = Duration::from_millis(20);
        let before = tried.statistics().bytes_read;
        (0..20).for_each(|_| tried.read_all());
        let asked = (tried.statistics().bytes_read - before) / BLOCK as u64;
        assert!(asked > 0, "it may be quicker again");
        assert!(asked <= LEARNED + 20 * BLOCKS / PROBE, "{asked} of {} misses", 20 * BLOCKS);
    }

    #[test]
    fn what_is_given_up_at_once_is_written_at_once() {
        let tried = Tried::new("together", 64, 200);
        // Of 64 frames four are there for what is written, so that two writes of two are begun.
        for first in (0..BLOCKS).step_by(4) {
            tried.read(first, 4);
            tried.settle();
        }
        let writes = tried.disk.staged.writes.lock().unwrap().clone();
        assert_eq!(writes.iter().sum::<usize>(), 40, "{writes:?}");
        assert!(writes.iter().all(|&blocks| blocks == 2), "{writes:?}");
        tried.read(0, 4);
        assert_eq!(tried.statistics().bytes_read, 4 * BLOCK as u64);
    }

    #[test]
    fn what_a_disk_takes_of_a_write_is_kept() {
        let tried = Tried::new("short", 64, 200);
        *tried.disk.staged.takes.lock().unwrap() = Some(1);
        for first in (0..BLOCKS).step_by(4) {
            tried.read(first, 4);
            tried.settle();
        }
        let statistics = tried.statistics();
        let asked: usize = tried.disk.staged.writes.lock().unwrap().iter().sum();
        let taken = statistics.bytes_written / BLOCK as u64;
        assert!(taken > 0 && statistics.blocks_used as u64 == taken, "{statistics:?}");
        assert_eq!(taken + statistics.failed_writes, asked as u64, "{statistics:?}");
        let free = 200 - taken as usize;
        let has_free = |beyond| tried.pool.session().host().second().unwrap().tier.has_free_room(beyond);
        assert!(has_free(free - 1) && !has_free(free), "what was not written is not paid for");
        tried.read_all();
        assert_eq!(tried.statistics().damaged, 0);
    }

    /// Reads all, in requests of so many blocks, while the disk takes nothing. How many frames may be
    /// held before and after that.
    fn read_over_a_disk_that_stalls(tried: &Tried, blocks: usize) -> (usize, usize) {
        let holding = |of: fn(&Holding) -> usize| of(&tried.pool.session().host().second().unwrap().holding);
        let before = holding(Holding::may);
        let disk = &tried.disk.staged;
        *disk.stalls.lock().unwrap() = true;
        (0..BLOCKS).step_by(blocks).for_each(|first| tried.read(first, blocks));
        let after = holding(Holding::may);
        assert!(*disk.stalls.lock().unwrap(), "it was waited for");
        assert!(holding(Holding::held) > 0, "something was to be written");
        disk.go_on();
        tried.settle();
        (before, after)
    }

    #[test]
    fn what_is_to_be_written_gives_way_to_who_misses() {
        for frames in [16, 48, 64] {
            let tried = Tried::new(&format!("gives-way-{frames}"), frames, 200);
            let (before, after) = read_over_a_disk_that_stalls(&tried, 4);
            assert_eq!((before, after), (frames / 4, frames / 4), "nothing was read ahead");
        }
    }

    #[test]
    fn what_is_read_ahead_is_held_up_until_it_is_waited_for_and_then_less() {
        for frames in [48, 64] {
            let tried = Tried::by("readahead:keep=lru", &format!("held-up-{frames}"), frames, 200);
            let (before, after) = read_over_a_disk_that_stalls(&tried, 1);
            assert_eq!(before, frames / 4);
            assert!((spare(frames)..before).contains(&after), "{after} for {before}");
        }
    }

    #[test]
    fn what_nobody_comes_for_is_not_held_up_for_ever() {
        let frameless = |tried: &Tried| tried.pool.session().host().frameless();
        // Whether it is held up when its reader stops is a matter of chance.
        for attempt in 0..50 {
            let tried = Tried::by("readahead:keep=lru", &format!("nobody-comes-{attempt}"), 64, 200);
            *tried.disk.staged.stalls.lock().unwrap() = true;
            let held_up = (0..BLOCKS / 2).find(|&block| {
                tried.read(block, 1);
                frameless(&tried) > 0
            });
            if held_up.is_some() {
                thread::sleep(Duration::from_millis(150));
                tried.read(BLOCKS - 1, 1);
                assert_eq!(frameless(&tried), 0);
                assert!(*tried.disk.staged.stalls.lock().unwrap());
            }
            tried.disk.staged.go_on();
            tried.settle();
            if held_up.is_some() {
                return;
            }
        }
        panic!("what is read ahead always finds frames");
    }

    #[test]
    fn where_a_view_keeps_a_frame_too_a_request_of_several_blocks_is_one_fetch() {
        let tried = Tried::new("viewed", 64, 200);
        let opened = Opened::open(tried.pool.store(StoreId(0)), "b").unwrap();
        let file = tried.pool.opened(StoreId(0), "b", &opened).unwrap();
        let who = Who { reader: ReaderId(0), disclosed: false };
        let view = tried.pool.view(who, Block { file, index: 0 }, 0).unwrap().unwrap();
        // As if it had been given up in the moment in which it was viewed.
        tried.pool.session().host().carry_out(Order::Drop { file, first: 0, count: 1 });
        read_over_a_disk_that_stalls(&tried, 20);
        assert_eq!(tried.pool.session().host().failed_unasked(), 0);
        tried.pool.unview(view);
    }

    /// On whose disk the first eight blocks lie far from each other.
    fn scattered(policy: &str, name: &str) -> Tried {
        let tried = Tried::by(policy, name, 16, 200);
        for block in (0..BLOCKS).map(|at| at * 29 % BLOCKS) {
            tried.read(block, 1);
            tried.settle();
        }
        tried
    }

    #[test]
    fn what_is_asked_of_the_disk_and_lies_scattered_is_read_side_by_side() {
        const AT_ONCE: usize = 8;
        let tried = scattered("lru", "scattered");
        assert_eq!(tried.statistics().bytes_read, 0);
        tried.disk.staged.reads().wanted = AT_ONCE;
        tried.read(0, AT_ONCE);
        assert_eq!(tried.statistics().bytes_read, (AT_ONCE * BLOCK) as u64);
        assert_eq!(tried.disk.staged.reads().most, AT_ONCE);
    }

    #[test]
    fn what_is_recalled_ahead_and_waited_for_has_its_turn_among_what_is_waited_for() {
        let tried = scattered("informed", "hurried");
        let is_here = |index| tried.pool.session().manager().is_present(Block { file: tried.file, index });
        let kept = fs::read(&tried.path).unwrap();
        let is_kept = |index: u64| kept.chunks(BLOCK).any(|page| page == [index as u8; BLOCK]);
        let index = (1..BLOCKS).find(|&index| !is_here(index) && is_kept(index)).unwrap();
        let block = Block { file: tried.file, index };
        let recalling = Arc::clone(&tried.pool.session().host().second().unwrap().recalling);
        let before = turns::keep_busy(&recalling, RECALLS_AT_ONCE);
        turns::disclose(&tried.pool, block);
        let read = tried.statistics().bytes_read;
        let wait = turns::wait_for(&tried.pool, 0, block);
        let after = turns::keep_busy(&recalling, 2 * RECALLS_AT_ONCE);
        drop(before);
        let (begun, mut arrived) = (Instant::now(), Vec::new());
        while arrived.is_empty() && begun.elapsed() < Duration::from_secs(60) {
            wait.take(&mut arrived);
            thread::sleep(Duration::from_millis(1));
        }
        drop(after);
        assert_eq!((arrived.len(), tried.statistics().bytes_read - read), (1, BLOCK as u64));
    }

    #[test]
    fn one_part_that_is_bad_is_a_failure_however_the_others_went() {
        let tried = scattered("lru", "one-bad");
        tried.spoil(3);
        tried.read(0, 8);
        let after = tried.statistics();
        assert_eq!((after.damaged, after.bytes_read), (1, 7 * BLOCK as u64));
        tried.read(40, 1);
        assert_eq!(tried.statistics().bytes_read, after.bytes_read, "it is left alone for some time");
        tried.read(50, 1);
        tried.read(60, 1);
        assert_eq!(tried.statistics().bytes_read, after.bytes_read + BLOCK as u64);
    }

    /// Blocks that lie in these slots.
    fn found(slots: &[u32]) -> Vec<Found> {
        let entry = Entry { key: Key { object: ObjectKey([0; 16]), block: 0 }, checksum: 0 };
        slots.iter().enumerate().map(|(at, &slot)| Found { at, slot, entry }).collect()
    }

    #[test]
    fn parts_are_of_as_many_requests_and_each_of_what_lies_in_a_row() {
        let slots = |found: &[Found], at_once| -> Vec<Vec<u32>> {
            parts(found, at_once).iter().map(|part| part.iter().map(|it| it.slot).collect()).collect()
        };
        assert_eq!(slots(&[], 4), Vec::<Vec<u32>>::new());
        let interleaved = found(&[10, 20, 11, 21, 12, 30]);
        assert_eq!(slots(&interleaved, 16), [vec![10, 11, 12], vec![20, 21], vec![30]]);
        assert_eq!(slots(&interleaved, 2), [vec![10, 11, 12], vec![20, 21, 30]]);
        let far: Vec<u32> = (0..17).map(|at| 2 * at).collect();
        let lengths: Vec<usize> = parts(&found(&far), 16).iter().map(Vec::len).collect();
        assert_eq!((lengths.len(), lengths.iter().sum(), lengths.iter().max()), (16, 17, Some(&2)));
    }
}
