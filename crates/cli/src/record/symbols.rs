//! What an object's functions are called, by its symbol table: that of all its functions, or of
//! those that others may call.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A 64-bit object of this machine's order of bytes.
const MAGIC: &[u8] = if cfg!(target_endian = "little") { b"\x7fELF\x02\x01" } else { b"\x7fELF\x02\x02" };
/// Kinds of sections: all symbols, and those that the dynamic linker looks for.
const ALL_SYMBOLS: u32 = 2;
const DYNAMIC_SYMBOLS: u32 = 11;
/// The kind of a symbol that is a function's.
const FUNCTION: u8 = 2;

const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;

/// The functions of an object.
#[derive(Default)]
pub struct Symbols {
    symbols: Vec<u8>,
    names: Vec<u8>,
}

impl Symbols {
    /// None if it cannot be read, is no such object, or has no symbols.
    pub fn of(object: &Path) -> Option<Self> {
        // To open what is none may wait for somebody.
        let file =
            std::fs::metadata(object).ok().filter(std::fs::Metadata::is_file).and_then(|_| File::open(object).ok())?;
        let length = file.metadata().ok()?.len();
        let read = |offset: u64, bytes: u64| {
            let within = offset.checked_add(bytes).is_some_and(|end| end <= length);
            let mut buffer = vec![0; usize::try_from(bytes).ok().filter(|_| within)?];
            file.read_exact_at(&mut buffer, offset).ok().map(|()| buffer)
        };
        let header = read(0, SECTION_BYTES as u64).filter(|header| header.starts_with(MAGIC))?;
        let sections = read(u64_at(&header, 40)?, u64::from(u16_at(&header, 60)?) * SECTION_BYTES as u64)?;
        let sections = || sections.chunks_exact(SECTION_BYTES);
        let section = |section: &[u8]| read(u64_at(section, 24)?, u64_at(section, 32)?);
        let of_kind = |kind: u32| sections().find(|it| u32_at(it, 4) == Some(kind));
        let symbols = of_kind(ALL_SYMBOLS).or_else(|| of_kind(DYNAMIC_SYMBOLS))?;
        let names = sections().nth(u32_at(symbols, 40)? as usize)?;
        Some(Symbols { symbols: section(symbols)?, names: section(names)? })
    }

    /// The function that this place is in.
    pub fn function(&self, offset: u64) -> Option<&str> {
        let holds = |symbol: &&[u8]| {
            let within = || Some(offset.checked_sub(u64_at(symbol, 8)?)? < u64_at(symbol, 16)?);
            symbol[4] & 15 == FUNCTION && within() == Some(true)
        };
        let symbol = self.symbols.chunks_exact(SYMBOL_BYTES).find(holds)?;
        let name = self.names.get(u32_at(symbol, 0)? as usize..)?;
        std::str::from_utf8(name.split(|&byte| byte == 0).next()?).ok().filter(|name| !name.is_empty())
    }
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_ne_bytes)
}
