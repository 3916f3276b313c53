//! Return addresses, exactly: each frame's own unwind table says where the next one lies (x86-64;
//! by `framehop`, which neither allocates nor waits while it does so).
//!
//! Tables are those of the objects that are there when the program begins. In an object loaded
//! later the chain goes on by frame pointers, or ends. The stack is read with the same care as by a
//! scan.
//!
//! An unwinder remembers rules for the addresses it has met, in a cache that one call uses at a
//! time: there are several, and a call that finds them all taken does without a signature. One
//! whose thread never comes back (a signal handler that jumps away) stays taken.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, MustNotAllocateDuringUnwind, Unwinder as _};

use super::{Signature, objects, stack};

type Unwinder = UnwinderX86_64<&'static [u8], MustNotAllocateDuringUnwind>;
type Cache = CacheX86_64<MustNotAllocateDuringUnwind>;

/// Calls that unwind at once. 40 KB each, where signatures are exact.
const CACHES: usize = 16;
/// Frames of a chain at most.
const FRAMES_MAX: usize = 64;

/// Written once before anybody is told, then only read.
struct Shared(UnsafeCell<MaybeUninit<Unwinder>>);

// SAFETY: read by `callers` only, which is called once `begin` has written it.
unsafe impl Sync for Shared {}

static UNWINDER: Shared = Shared(UnsafeCell::new(MaybeUninit::uninit()));

struct Slot {
    taken: AtomicBool,
    cache: UnsafeCell<MaybeUninit<Cache>>,
}

// SAFETY: used by who took it.
unsafe impl Sync for Slot {}

static SLOTS: [Slot; CACHES] =
    [const { Slot { taken: AtomicBool::new(false), cache: UnsafeCell::new(MaybeUninit::uninit()) } }; CACHES];

/// Reads the objects' tables; there is one thread.
pub(super) fn begin() -> bool {
    let mut unwinder = Unwinder::new();
    // SAFETY: `add` gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut unwinder).cast()) };
    // SAFETY: nobody looks yet.
    unsafe { (*UNWINDER.0.get()).write(unwinder) };
    for slot in &SLOTS {
        // SAFETY: likewise.
        unsafe { (*slot.cache.get()).write(Cache::new_in()) };
    }
    true
}

unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, unwinder: *mut c_void) -> c_int {
    // SAFETY: the linker passes on what `begin` gave it, and describes an object.
    let (info, unwinder) = unsafe { (&*info, &mut *unwinder.cast::<Unwinder>()) };
    // SAFETY: the linker's description of it.
    let segments = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let stated = |it: &libc::Elf64_Phdr| it.p_vaddr..it.p_vaddr + it.p_memsz;
    let loaded = || segments.iter().filter(|it| it.p_type == libc::PT_LOAD);
    let text = loaded().find(|it| it.p_flags & libc::PF_X != 0).map(stated);
    let bytes = |range: &Range<u64>| {
        let begin = core::ptr::with_exposed_provenance::<u8>((info.dlpi_addr + range.start) as usize);
        // SAFETY: in a segment of an object that stays.
        unsafe { core::slice::from_raw_parts(begin, (range.end - range.start) as usize) }
    };
    let header = segments.iter().find(|it| it.p_type == libc::PT_GNU_EH_FRAME).map(stated);
    let (Some(text), Some(header)) = (text, header) else { return 0 };
    // The header says where the table is that it is the index of, relative to itself.
    let Some(&[1, 0x1b, _, _, a, b, c, d]) = bytes(&header).first_chunk::<8>() else { return 0 };
    let table = (header.start + 4).wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d])));
    let Some(segment) = loaded().map(stated).find(|segment| segment.contains(&table)) else { return 0 };
    let table = table..segment.end;
    let end = loaded().map(|it| stated(it).end).max().unwrap_or(0);
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: Some(text),
        eh_frame_hdr: Some(bytes(&header)),
        eh_frame_hdr_svma: Some(header),
        eh_frame: Some(bytes(&table)),
        eh_frame_svma: Some(table),
        ..Default::default()
    };
    let addresses = info.dlpi_addr..info.dlpi_addr + end;
    unwinder.add_module(Module::new(Default::default(), addresses, info.dlpi_addr, sections));
    0
}

/// Adds the callers of whoever called us from outside.
#[inline(never)]
pub(super) fn callers(signature: &mut Signature) {
    let free = |slot: &&Slot| slot.taken.compare_exchange(false, true, Acquire, Acquire).is_ok();
    let Some(slot) = SLOTS.iter().find(free) else { return };
    // SAFETY: written by `begin`; the cache is ours.
    let (unwinder, cache) = unsafe { ((*UNWINDER.0.get()).assume_init_ref(), (*slot.cache.get()).assume_init_mut()) };
    walk(unwinder, cache, signature);
    slot.taken.store(false, Release);
}

fn walk(unwinder: &Unwinder, cache: &mut Cache, signature: &mut Signature) {
    let (mut address, stack_pointer, frame_pointer): (u64, u64, u64);
    // SAFETY: reads registers.
    unsafe {
        core::arch::asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) address, out(reg) stack_pointer,
            out(reg) frame_pointer, options(nomem, nostack, preserves_flags));
    }
    let known = stack_pointer as usize & !7..stack::known_end(stack_pointer as usize);
    let mut last_page = 0;
    let mut read = |address: u64| {
        let address = address as usize;
        if !address.is_multiple_of(8) {
            return Err(());
        }
        if !known.contains(&address) && address / stack::PAGE != last_page {
            if !stack::is_readable(address) {
                return Err(());
            }
            last_page = address / stack::PAGE;
        }
        // SAFETY: it can be read; on the stack nobody else writes.
        Ok(unsafe { core::ptr::with_exposed_provenance::<u64>(address).read_volatile() })
    };
    let mut registers = UnwindRegsX86_64::new(address, stack_pointer, frame_pointer);
    let mut at = FrameAddress::from_instruction_pointer(address);
    for _ in 0..FRAMES_MAX {
        match unwinder.unwind_frame(at, &mut registers, cache, &mut read) {
            Ok(Some(next)) => address = next,
            _ => return,
        }
        match FrameAddress::from_return_address(address) {
            Some(next) => at = next,
            None => return,
        }
        if let Some(place) = objects::place(address as usize) {
            signature.add(place);
        }
    }
}
