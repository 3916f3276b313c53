//! How a record's fields become 64-bit words and back. Fields of 32 bits share a word in pairs.

/// The most words any record's fields take (`Opened`).
pub const FIELD_WORDS_MAX: usize = 8;

/// A field that can be put into words. Reading may fail: the words come from another process.
pub(crate) trait Field: Sized {
    /// It takes 64 bits; else 32.
    const WIDE: bool = false;
    fn put(self, out: &mut Packer);
    fn take(from: &mut Unpacker) -> Option<Self>;
}

/// Collects fields into words. Everything is inlined, so that the positions are constants.
pub(crate) struct Packer {
    words: [u64; FIELD_WORDS_MAX],
    halves: usize,
}

impl Packer {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Packer { words: [0; FIELD_WORDS_MAX], halves: 0 }
    }

    #[inline(always)]
    fn put_32(&mut self, value: u32) {
        self.words[self.halves / 2] |= u64::from(value) << (32 * (self.halves % 2));
        self.halves += 1;
    }

    #[inline(always)]
    fn put_64(&mut self, value: u64) {
        self.halves = self.halves.next_multiple_of(2);
        self.words[self.halves / 2] = value;
        self.halves += 2;
    }

    /// The words; those beyond the record's own are zero.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64; FIELD_WORDS_MAX] {
        &self.words
    }
}

/// Takes fields out of words, in the order they were put.
pub(crate) struct Unpacker<'a> {
    words: &'a [u64],
    halves: usize,
}

impl<'a> Unpacker<'a> {
    #[inline(always)]
    pub(crate) fn new(words: &'a [u64]) -> Self {
        Unpacker { words, halves: 0 }
    }

    #[inline(always)]
    fn take_32(&mut self) -> Option<u32> {
        let word = self.words.get(self.halves / 2)?;
        let value = (word >> (32 * (self.halves % 2))) as u32;
        self.halves += 1;
        Some(value)
    }

    #[inline(always)]
    fn take_64(&mut self) -> Option<u64> {
        self.halves = self.halves.next_multiple_of(2);
        let word = self.words.get(self.halves / 2)?;
        self.halves += 2;
        Some(*word)
    }
}

macro_rules! integer_field {
    ($type:ty, $put:ident, $take:ident, $as:ty) => {
        impl Field for $type {
            const WIDE: bool = size_of::<$type>() == 8;

            #[inline(always)]
            fn put(self, out: &mut Packer) {
                out.$put(self as $as);
            }

            #[inline(always)]
            fn take(from: &mut Unpacker) -> Option<Self> {
                Some(from.$take()? as $type)
            }
        }
    };
}

integer_field!(u32, put_32, take_32, u32);
integer_field!(i32, put_32, take_32, u32);
integer_field!(u64, put_64, take_64, u64);

impl Field for bool {
    #[inline(always)]
    fn put(self, out: &mut Packer) {
        out.put_32(u32::from(self));
    }

    #[inline(always)]
    fn take(from: &mut Unpacker) -> Option<Self> {
        match from.take_32()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}
