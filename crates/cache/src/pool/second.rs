//! The second tier as the pool uses it: a fetch is split into what lies there and what does not,
//! and what memory gives up may go there.
//!
//! What is to be written stays in its frame, pinned, until it is: nothing is copied. There are some
//! frames more than the manager knows of, as many as may be held so. If they are all held, what is
//! given up next is not written: nobody ever waits for the disk to take something.

use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foresee_manager::{Block, Class, DeviceId, FetchId, Standing};

use super::fetch::Task;
use super::frame::{Pin, Uses};
use super::memory::{Memory, key};
use super::workers::Workers;
use crate::tier::{Entry, Found, Key, LOOKED_AT_ONCE, ObjectKey, SlotFile, Tier};

/// Frames that what is written may hold: enough that the disk is kept busy.
const HELD_MAX: usize = 64;
/// And of the memory no more than one in so many.
const HELD_PART: usize = 16;

/// So many frames may be held for the disk, where there are so many in all.
pub fn held_max(frames: usize) -> usize {
    (frames / HELD_PART).clamp(1, HELD_MAX)
}

/// A block that memory gives up.
pub struct Offered {
    /// Which.
    pub block: Block,
    frame: u32,
    key: Key,
    /// It was read again, or missed soon after it was given up.
    is_used_again: bool,
    /// It was read at all: not just brought ahead.
    is_read: bool,
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

/// A frame to be written.
pub struct Keep {
    /// Where to.
    pub slot: u32,
    /// The frame: pinned.
    pub frame: u32,
    /// What it holds.
    pub key: Key,
    /// Whose frame it is.
    pub memory: Arc<Memory>,
    /// Where it goes.
    pub file: Arc<SlotFile>,
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
    /// Does it. Returns whether each block is what it should be, and how long it took.
    pub fn run(&self) -> (Vec<bool>, Duration) {
        let begun = Instant::now();
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
        (good, begun.elapsed())
    }
}

impl Keep {
    /// Does it.
    pub fn run(&self) -> std::io::Result<Entry> {
        // SAFETY: it is pinned until this is reported.
        self.file.write(self.slot, self.key, unsafe { self.memory.bytes(self.frame) })
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
    /// What is given up just now.
    offered: Vec<Offered>,
    /// Frames held, what is offered included.
    held: usize,
    held_max: usize,
    /// Frames whose blocks had been given up lately when they came.
    returned: Box<[bool]>,
}

impl Second {
    /// The tier, beside this memory, with threads that read and threads that write.
    pub fn new(
        tier: Tier,
        memory: Arc<Memory>,
        recalling: Arc<Workers>,
        keeping: Arc<Workers>,
        held_max: usize,
    ) -> Self {
        let returned = vec![false; memory.len()].into();
        Second { tier, recalling, keeping, memory, offered: Vec::new(), held: 0, held_max, returned }
    }

    /// Frames that are held for the disk.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Has those blocks of a fetch brought that lie here. Returns them.
    pub fn recall(
        &mut self,
        fetch: FetchId,
        class: Class,
        (device, object): (DeviceId, ObjectKey),
        first: u64,
        frames: &[u32],
    ) -> Vec<Found> {
        let found = self.tier.recall(usize::from(device.0), object, first, frames.len());
        if found.len() < frames.len() {
            let look = self.tier.look();
            self.look(look);
        }
        if !found.is_empty() {
            let frames = found.iter().map(|it| frames[it.at]).collect();
            let (memory, file) = (Arc::clone(&self.memory), Arc::clone(&self.tier.file));
            self.recalling.add(Task::Recall(Recall { fetch, found: found.clone(), frames, memory, file }), class);
        }
        found
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
            self.returned[frame as usize] = self.tier.missed(Key { object, block });
        }
    }

    /// These frames were filled from the disk. Returns the blocks for which that went wrong.
    pub fn recalled(&mut self, Recall { found, frames, .. }: &Recall, good: &[bool], took: Duration) -> Vec<usize> {
        self.tier.recalled(found, good, took);
        frames.iter().for_each(|&frame| self.returned[frame as usize] = true);
        found.iter().zip(good).filter(|(_, good)| !**good).map(|(it, _)| it.at).collect()
    }

    /// Memory is about to give a block up. It is held until it is known what is to become of it.
    pub fn offer(&mut self, block: Block, object: ObjectKey) {
        let Some(frame) = self.memory.frame_of(block) else { return };
        let Uses { any, again } = self.memory.frame(frame).uses();
        let key_there = Key { object, block: block.index };
        if self.tier.has(key_there) {
            return;
        }
        if self.held < self.held_max && self.memory.pin_frame(frame, key(block), Pin::Copy).is_ok() {
            let is_used_again = any && (again || self.returned[frame as usize]);
            self.offered.push(Offered { block, frame, key: key_there, is_used_again, is_read: any });
            self.held += 1;
        } else {
            self.tier.forgo(key_there);
        }
    }

    /// What is held and not decided about.
    pub fn offered(&mut self) -> Vec<Offered> {
        std::mem::take(&mut self.offered)
    }

    /// Decides, by what is known of the reads to come. The frame to let go of, if it is not kept.
    pub fn judge(
        &mut self,
        Offered { frame, key, is_used_again, is_read, .. }: Offered,
        standing: Standing,
    ) -> Option<u32> {
        let is_worth_it = is_used_again || is_read && self.tier.has_free_room() || standing.is_to_come();
        let slot = is_worth_it.then(|| self.tier.keep()).flatten();
        let Some(slot) = slot else {
            self.tier.forgo(key);
            self.held -= 1;
            return Some(frame);
        };
        let (memory, file) = (Arc::clone(&self.memory), Arc::clone(&self.tier.file));
        self.keeping.add(Task::Keep(Keep { slot, frame, key, memory, file }), Class::Hinted);
        None
    }

    /// A frame was written, or not.
    pub fn kept(&mut self, slot: u32, written: std::io::Result<Entry>) {
        self.held -= 1;
        self.tier.kept(slot, written);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;

    use foresee_manager::{Config, FileId, ReaderId};
    use foresee_store::{Error, Listed, Memory as Bytes, Object, Store};

    use super::super::{Opened, Pool, StoreId, Who};
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

    /// Reads each block in turn, and looks at what came.
    fn read_all(pool: &Pool, file: FileId) {
        let (who, mut buffer) = (Who { reader: ReaderId(0), disclosed: false }, [0; BLOCK]);
        for block in 0..BLOCKS {
            pool.read(who, file, block * BLOCK as u64, &mut buffer).unwrap();
            assert!(buffer == [block as u8; BLOCK], "block {block}");
        }
    }

    #[test]
    fn a_disk_that_is_slower_than_the_store_is_asked_each_64th_time() {
        const PROBE: u64 = 64;
        const LEARNED: u64 = 32;
        let path = std::env::temp_dir().join(format!("foresee-slow-disk-{}", std::process::id()));
        let layout = Layout::new(200 * (BLOCK as u64 + 40) + 8192, BLOCK as u64);
        let (memory, frames) = (Memory::new(16, BLOCK).unwrap(), 16);
        let tier = Tier::open(&path, layout, frames).unwrap();
        let disk = Arc::clone(&tier.file);
        let bytes = Bytes::default();
        bytes.put("a", (0..BLOCKS).flat_map(|block| [block as u8; BLOCK]).collect::<Vec<u8>>());
        let stores: Vec<(String, Arc<dyn Store>)> = vec![("test".to_owned(), Arc::new(Lasting(bytes)))];
        let config = Config::new((frames - held_max(frames)) as u64, "lru".parse().unwrap());
        let pool = Pool::new(memory, &config, stores, Some(tier), None).unwrap();
        let opened = Opened::open(pool.store(StoreId(0)), "a").unwrap();
        let file = pool.opened(StoreId(0), "a", &opened).unwrap();
        let disk_of = |pool: &Pool| pool.session().host().second().unwrap().tier.statistics();
        while disk_of(&pool).blocks_used < BLOCKS as usize - 16 {
            read_all(&pool, file);
            thread::sleep(Duration::from_millis(1));
        }
        *disk.late.lock().unwrap() = Duration::from_millis(20);
        let before = disk_of(&pool).bytes_read;
        (0..20).for_each(|_| read_all(&pool, file));
        let asked = (disk_of(&pool).bytes_read - before) / BLOCK as u64;
        fs::remove_file(&path).unwrap();
        assert!(asked > 0, "it may be quicker again");
        assert!(asked <= LEARNED + 20 * BLOCKS / PROBE, "{asked} of {} misses", 20 * BLOCKS);
    }
}
