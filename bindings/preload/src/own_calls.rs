//! Whether the program makes its system calls itself, past libc: one of Go's, which may have a
//! dynamic linker all the same, for what it looks up (hosts, users) or for its parts in C.
//!
//! What its C parts call goes through libc. To tell of that, and of nothing else, would have all of
//! it taken for told; so of such a program nothing is told but what it says through the hint library,
//! and it is seen from outside. Where nobody looks from there (a trace is written, or runs are joined), its
//! C parts tell as any program does.

use core::ffi::{c_int, c_void};
use core::slice;

/// Go's linker leaves its build's name in a note of this name, however it links. The NULs behind it are
/// part of the name: by Go two, by others one.
const NAME: &[u8] = b"Go";
/// Bytes of a name, bytes of what is noted, kind.
const HEADER_BYTES: usize = 12;

/// Asks of the program, before it begins.
pub(crate) fn are_made() -> bool {
    let mut found = false;
    // SAFETY: `look` gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

/// Looks at the first object, which is the program.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the linker describes an object, and passes on what `are_made` gave it.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<bool>()) };
    if info.dlpi_phdr.is_null() {
        return 1;
    }
    // SAFETY: so many there are.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let notes = headers.iter().filter(|it| it.p_type == libc::PT_NOTE && is_loaded(it, headers));
    *found = notes.into_iter().any(|it| {
        let place = info.dlpi_addr.wrapping_add(it.p_vaddr) as usize;
        // SAFETY: the linker has mapped it to be read, and nothing has run that could have changed that.
        let notes = unsafe { slice::from_raw_parts(core::ptr::with_exposed_provenance(place), it.p_filesz as usize) };
        has(notes, it.p_align, NAME)
    });
    // Of no other object.
    1
}

/// Whether a part of the file is in memory, and may be read there: what lies elsewhere in it is not.
fn is_loaded(part: &libc::Elf64_Phdr, headers: &[libc::Elf64_Phdr]) -> bool {
    let end = |it: &libc::Elf64_Phdr| it.p_vaddr.checked_add(it.p_filesz);
    headers.iter().any(|it| {
        it.p_type == libc::PT_LOAD
            && it.p_flags & libc::PF_R != 0
            && it.p_vaddr <= part.p_vaddr
            && end(part).is_some_and(|ends| Some(ends) <= end(it))
    })
}

/// Whether there is a note of this name among these, which are aligned so.
fn has(mut notes: &[u8], alignment: u64, name: &[u8]) -> bool {
    let alignment = if alignment == 8 { 8 } else { 4 };
    let number = |notes: &[u8], at: usize| {
        notes.get(at..)?.first_chunk().and_then(|bytes| usize::try_from(u32::from_ne_bytes(*bytes)).ok())
    };
    while let (Some(name_bytes), Some(noted_bytes)) = (number(notes, 0), number(notes, 4)) {
        let name_end = HEADER_BYTES + name_bytes;
        let it = notes.get(HEADER_BYTES..name_end).and_then(|it| it.split(|&byte| byte == 0).next());
        if it == Some(name) {
            return true;
        }
        let next = (name_end.next_multiple_of(alignment) + noted_bytes).next_multiple_of(alignment);
        let Some(rest) = notes.get(next..) else { break };
        notes = rest;
    }
    false
}
