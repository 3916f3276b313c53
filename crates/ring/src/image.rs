//! What a file is that is to be executed, by its first bytes: whether the dynamic linker would load
//! this library into it.

use core::ffi::CStr;

/// As many bytes of the file as should be looked at: its header, its program headers, a script's
/// first line.
pub const IMAGE_BYTES: usize = 1024;

/// The attribute of a file that says what rights it gives whoever executes it (capabilities(7)).
pub const RIGHTS: &CStr = c"security.capability";
/// As many bytes as it may have.
pub const RIGHTS_BYTES: usize = 24;

/// Whether a file of whose [`RIGHTS`] these are the bytes gives its program rights of its own, in which the
/// dynamic linker loads nothing. To root's programs it gives none.
pub fn gives_rights(attribute: &[u8]) -> bool {
    const EFFECTIVE: u32 = 1;
    // Names the user namespace that it counts in: one that counts here is handed out as the version before.
    const OF_ANOTHER_NAMESPACE: u8 = 3;
    if attribute.get(3) == Some(&OF_ANOTHER_NAMESPACE) {
        return false;
    }
    let words = attribute.chunks_exact(4).filter_map(|it| it.first_chunk()).map(|it| u32::from_le_bytes(*it));
    words.enumerate().any(|(at, word)| match at {
        0 => word & EFFECTIVE != 0,
        // What is permitted, in two halves; beside each stands what may be inherited.
        1 | 3 => word != 0,
        _ => false,
    })
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image<'a> {
    /// A script, executed by this program.
    Script(&'a [u8]),
    /// A program of this machine's kind, which a dynamic linker loads libraries into.
    Dynamic,
    /// One without a dynamic linker.
    Static,
    /// One for another machine, or another size of words.
    Foreign,
    /// None of these.
    Unknown,
}

/// `e_machine` of this machine's programs.
const MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else {
    0
};

impl<'a> Image<'a> {
    /// What a file that begins so is. Of a longer file these are its first [`IMAGE_BYTES`].
    pub fn of(head: &'a [u8]) -> Self {
        if let Some(line) = head.strip_prefix(b"#!") {
            let interpreter = line.split(|byte| *byte == b'\n').next().and_then(first_word);
            return interpreter.map_or(Image::Unknown, Image::Script);
        }
        if !head.starts_with(b"\x7fELF") {
            return Image::Unknown;
        }
        const CLASS_64: u8 = 2;
        let is_ours = head.get(4) == Some(&CLASS_64) && (MACHINE == 0 || half(head, 18) == Some(MACHINE));
        match is_ours.then(|| is_dynamic(head)) {
            None => Image::Foreign,
            Some(Some(false)) => Image::Static,
            Some(_) => Image::Dynamic,
        }
    }
}

fn first_word(line: &[u8]) -> Option<&[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t')).find(|word| !word.is_empty())
}

fn half(head: &[u8], at: usize) -> Option<u16> {
    head.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

/// Whether one of its program headers names a dynamic linker; nothing if that cannot be seen.
fn is_dynamic(head: &[u8]) -> Option<bool> {
    const PT_INTERP: u32 = 3;
    let headers = usize::try_from(u64::from_ne_bytes(*head.get(32..)?.first_chunk()?)).ok()?;
    let (bytes, count) = (usize::from(half(head, 54)?), usize::from(half(head, 56)?));
    for header in 0..count {
        let kind = head.get(headers.checked_add(header * bytes)?..)?.first_chunk()?;
        if u32::from_ne_bytes(*kind) == PT_INTERP {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_that_a_program_begins_with_are_its_own() {
        let bytes = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
        for (attribute, is_given) in [
            (&[0x0200_0001, 4, 0, 0, 0][..], true),
            (&[0x0200_0000, 4, 0, 0, 0], true),
            (&[0x0300_0001, 4, 0, 0, 0, 1000], false),
            (&[0x0200_0001, 0, 4, 0, 0], true),
            (&[0x0200_0000, 0, 4, 0, 4], false),
            (&[0x0100_0000, 4, 0], true),
            (&[], false),
        ] {
            assert_eq!(gives_rights(&bytes(attribute)), is_given, "{attribute:x?}");
        }
    }
}
