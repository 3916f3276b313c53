//! What hits use: the frames' bytes, their states, and the way to them.

use std::io::{self, IoSliceMut};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use foresee_manager::Block;

use super::arena::Arena;
use super::frame::{Frame, LetGo, Pin, Taken};
use crate::table::Table;

/// Bytes that a frame takes beside its own: its state, its way in the table, and what the manager
/// keeps of a page, of those that went lately and of what is disclosed of it. By `informed`, the
/// default, that was 470 to 580 bytes, counted where they are allocated, while its vectors by page
/// doubled when they grew; they grow by an eighth now, which takes no more. `lru` took 110 and
/// `readahead:keep=arc` 220: under those a 40th of the memory or less is not used, in blocks of the
/// default size.
const BESIDE: usize = size_of::<Frame>() + Table::BYTES_EACH + 600;

/// While this part of the memory is given up, a block that is read several times is being read in
/// pieces.
const EPOCH_PART: u64 = 8;

/// The memory.
pub struct Memory {
    arena: Arena,
    frames: Box<[Frame]>,
    table: Table,
    epoch: Epoch,
}

/// Counts each [`EPOCH_PART`]th of the memory that was given up; on a line of its own, as all hits
/// look at the rest, which never changes.
#[repr(align(128))]
#[derive(Default)]
struct Epoch(AtomicU64);

/// A block's one number.
#[inline]
pub fn key(block: Block) -> u64 {
    (u64::from(block.file.0) << 40) | block.index
}

impl Memory {
    /// So many frames as fit with all that belongs to them into so many bytes.
    pub fn frames_in(bytes: usize, frame_bytes: usize) -> usize {
        bytes / Self::bytes_of(1, frame_bytes)
    }

    /// Bytes of so many frames, with all that belongs to them.
    pub fn bytes_of(frames: usize, frame_bytes: usize) -> usize {
        frames * (frame_bytes + BESIDE)
    }

    /// Memory of `frames` frames.
    pub fn new(frames: usize, frame_bytes: usize) -> io::Result<Self> {
        // First the most: where there is room for it, there is for the rest.
        let arena = Arena::new(frames, frame_bytes)?;
        let states = (0..frames).map(|_| Frame::default()).collect();
        Ok(Memory { arena, frames: states, table: Table::new(frames), epoch: Epoch::default() })
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Bytes of a frame.
    pub fn frame_bytes(&self) -> usize {
        self.arena.frame_bytes()
    }

    /// The block of a file that a byte lies in. Blocks are of a power of two of bytes.
    #[inline]
    pub fn block_of(&self, offset: u64) -> u64 {
        offset >> self.frame_bytes().trailing_zeros()
    }

    /// Pins the frame that holds a block, if one does, to be read from this byte on. `let_go` is told
    /// of a frame that was given up in that moment, and let go of again.
    #[inline]
    pub fn pin(&self, block: Block, pin: Pin, from: usize, mut let_go: impl FnMut(u32, LetGo)) -> Option<(u32, Taken)> {
        let key = key(block);
        for frame in self.table.candidates(key) {
            // While the pin waits for its line, the bytes come. Who looks at a view's may do so later.
            if pin == Pin::Copy {
                self.arena.prefetch(frame, from);
            }
            match self.pin_frame(frame, key, pin) {
                Ok(taken) => return Some((frame, taken)),
                Err(Some(gone)) => let_go(frame, gone),
                Err(None) => {}
            }
        }
        None
    }

    /// Pins this frame, if it holds the block of this key; see [`Frame::pin`].
    #[inline]
    pub fn pin_frame(&self, frame: u32, key: u64, pin: Pin) -> Result<Taken, Option<LetGo>> {
        self.frames[frame as usize].pin(key, pin, self.epoch.0.load(Relaxed))
    }

    /// So many blocks have been given up by now.
    pub fn gave_up(&self, blocks: u64) {
        let epoch = blocks * EPOCH_PART / self.len() as u64;
        if self.epoch.0.load(Relaxed) != epoch {
            self.epoch.0.store(epoch, Relaxed);
        }
    }

    /// The frame's state.
    #[inline]
    pub fn frame(&self, frame: u32) -> &Frame {
        &self.frames[frame as usize]
    }

    /// The bytes of a frame.
    ///
    /// # Safety
    /// The caller has the frame pinned during `'a`.
    #[inline]
    pub unsafe fn bytes<'a>(&self, frame: u32) -> &'a [u8] {
        // SAFETY: what is pinned is not written to, and was written to before it was present.
        unsafe { self.arena.bytes(frame) }
    }

    /// The bytes of some frames, to be filled.
    ///
    /// # Safety
    /// They are free ones, each is there once, and were given to the caller alone for `'a`.
    pub unsafe fn pieces<'a>(&self, frames: &[u32]) -> Vec<IoSliceMut<'a>> {
        // SAFETY: nobody looks into a frame that is not present.
        unsafe { self.arena.pieces(frames) }
    }

    /// The frame of a block that is present.
    pub fn frame_of(&self, block: Block) -> Option<u32> {
        let key = key(block);
        let holds = |&frame: &u32| self.frames[frame as usize].holds() == Some(key);
        self.table.candidates(key).find(holds)
    }

    /// A frame that was given out has been filled with this block. By the driver's side, as what
    /// follows.
    pub fn fill(&self, frame: u32, block: Block, unread: bool) {
        self.frames[frame as usize].fill(key(block), unread, self.epoch.0.load(Relaxed));
        self.table.insert(key(block), frame);
    }

    /// Gives up a block. Returns its frame, and whether views keep its bytes.
    pub fn give_up(&self, block: Block) -> Option<(u32, bool)> {
        let frame = self.frame_of(block)?;
        self.table.remove(key(block), frame);
        Some((frame, self.frames[frame as usize].doom()))
    }
}
