//! Mutations, and the inputs they make of kept ones.

use std::fmt;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::Corpus;

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [u64; 16] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    1 << 52,
    (1 << 62) - 1,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];
/// The same as text, and what stands where a number should.
const WORDS: [&str; 14] = [
    "0",
    "-1",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.0000000000000000000000000001",
];
/// No input grows beyond this.
const BYTES_MAX: usize = 1 << 16;

#[derive(Debug, Clone)]
enum Mutation {
    Flip(Index, u8),
    /// So many bytes of a number, in either order.
    Number(Index, u64, usize, bool),
    /// The digits at or after a place are another number.
    Digits(Index, &'static str),
    Truncate(Index),
    Remove(Index, usize),
    Repeat(Index, usize, usize),
    Insert(Index, Vec<u8>),
    /// A piece of another kept input.
    Splice(Index, Index, Index, usize),
    SwapLines(Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    let length = || prop_oneof![1..8_usize, 1..300_usize];
    prop_oneof![
        3 => (at(), 1..=255_u8).prop_map(|(at, with)| Mutation::Flip(at, with)),
        3 => (at(), prop::sample::select(&NUMBERS[..]), 0..4_u32, any::<bool>())
            .prop_map(|(at, number, width, big)| Mutation::Number(at, number, 1 << width, big)),
        4 => (at(), prop::sample::select(&WORDS[..])).prop_map(|(at, word)| Mutation::Digits(at, word)),
        1 => at().prop_map(Mutation::Truncate),
        2 => (at(), length()).prop_map(|(at, length)| Mutation::Remove(at, length)),
        1 => (at(), length(), 1..200_usize).prop_map(|(at, length, times)| Mutation::Repeat(at, length, times)),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        2 => (at(), at(), at(), length()).prop_map(|(at, input, from, length)| Mutation::Splice(at, input, from, length)),
        1 => (at(), at()).prop_map(|(one, other)| Mutation::SwapLines(one, other)),
    ]
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>, corpus: &Corpus) {
        if bytes.is_empty() {
            return;
        }
        let len = bytes.len();
        match self {
            Mutation::Flip(at, with) => bytes[at.index(len)] ^= with,
            &Mutation::Number(at, number, width, big) => {
                let number = if big { (number << (64 - 8 * width)).to_be_bytes() } else { number.to_le_bytes() };
                let at = at.index(len);
                bytes[at..].iter_mut().zip(&number[..width]).for_each(|(byte, &new)| *byte = new);
            }
            Mutation::Digits(at, word) => {
                let is_digit = |byte: &u8| byte.is_ascii_digit();
                let at = at.index(len);
                if let Some(first) = bytes[at..].iter().position(is_digit) {
                    let begin = at + first;
                    let digits = bytes[begin..].iter().take_while(|byte| is_digit(byte)).count();
                    bytes.splice(begin..begin + digits, word.bytes());
                }
            }
            Mutation::Truncate(at) => bytes.truncate(at.index(len)),
            Mutation::Remove(at, length) => {
                let at = at.index(len);
                bytes.drain(at..(at + length).min(len));
            }
            Mutation::Repeat(at, length, times) => {
                let at = at.index(len);
                let piece = bytes[at..(at + length).min(len)].repeat(*times);
                bytes.splice(at..at, piece);
            }
            Mutation::Insert(at, new) => {
                let at = at.index(len);
                bytes.splice(at..at, new.iter().copied());
            }
            Mutation::Splice(at, input, from, length) => {
                let other = &corpus.inputs[input.index(corpus.inputs.len())].1;
                if !other.is_empty() {
                    let from = from.index(other.len());
                    let at = at.index(len);
                    bytes.splice(at..at, other[from..(from + length).min(other.len())].iter().copied());
                }
            }
            Mutation::SwapLines(one, other) => {
                let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
                let count = lines.len();
                lines.swap(one.index(count), other.index(count));
                *bytes = lines.concat();
            }
        }
        bytes.truncate(BYTES_MAX);
    }
}

/// A kept input, mutated.
#[derive(Clone)]
pub struct Mutant {
    /// The kept input's name.
    pub of: String,
    /// What it became.
    pub bytes: Vec<u8>,
}

/// Such that it can be put into the corpus from a failing test's output.
impl fmt::Debug for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as b\"{}\"", self.of, self.bytes.escape_ascii())
    }
}

/// Kept inputs with up to six mutations each.
pub fn mutants(target: &str) -> impl Strategy<Value = Mutant> + use<> {
    let corpus = Corpus::of(target);
    (any::<Index>(), prop::collection::vec(mutation(), 1..7)).prop_map(move |(input, mutations)| {
        let (of, bytes) = &corpus.inputs[input.index(corpus.inputs.len())];
        let mut bytes = bytes.clone();
        mutations.iter().for_each(|mutation| mutation.apply(&mut bytes, &corpus));
        Mutant { of: of.clone(), bytes }
    })
}
