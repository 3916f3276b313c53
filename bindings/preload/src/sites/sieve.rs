//! Passes over what is no address of code, sixteen words of the stack at a time: what is kept lies
//! within 64 KiB of where code lies.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{
    __m128i, __m256i, _mm_castps_si128, _mm_castsi128_ps, _mm_cmpgt_epi32, _mm_movemask_epi8, _mm_or_si128,
    _mm_packs_epi32, _mm_set1_epi32, _mm_shuffle_ps, _mm_srli_epi64, _mm_sub_epi32, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_movemask_epi8, _mm256_or_si256, _mm256_packs_epi32,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_shuffle_ps, _mm256_srli_epi64,
    _mm256_sub_epi32,
};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::objects::Span;

pub(super) const WORD_BYTES: usize = size_of::<usize>();
/// Blocks are aligned to their size, so that none is in two pages.
pub(super) const BLOCK_BYTES: usize = 16 * WORD_BYTES;

/// What is said of a word, in the lowest bits: all of them or none.
pub(super) const WORD_BITS: u32 = 0b11;

/// Of an address 32 bits are looked at, from this one on. Those above are 0: few programs ask for
/// more address space than that.
const GRAIN_BITS: i32 = 16;

/// Where code lies at all, by grains: the first of a span, and how many, in one word, so that they
/// belong together.
static SPANS: [AtomicU64; 2] = [const { AtomicU64::new(Grains::NONE) }; 2];

pub(super) fn set(spans: [Span; 2]) {
    for (at, span) in SPANS.iter().zip(spans) {
        at.store(Grains::pack(span), Relaxed);
    }
}

/// Whether there are vectors of 32 bytes (AVX2): what libc found, for to ask the processor takes a
/// trap in virtual machines.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_wide() -> bool {
    /// The bits of one `cpuid` leaf, in the order of the registers: the processor's, and those that
    /// may be used.
    #[repr(C)]
    struct Leaf {
        stated: [u32; 4],
        usable: [u32; 4],
    }
    const LEAF_7: u32 = 1;
    const AVX2: u32 = 1 << 5;
    // SAFETY: the name ends with a NUL.
    let leaf = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__x86_get_cpuid_feature_leaf".as_ptr()) };
    if leaf.is_null() {
        return false;
    }
    // SAFETY: libc's function of this type (2.33), whose result is a constant.
    let leaf = unsafe { core::mem::transmute::<*mut libc::c_void, extern "C" fn(u32) -> &'static Leaf>(leaf)(LEAF_7) };
    let [_, ebx, ..] = leaf.usable;
    ebx & AVX2 != 0
}

/// A span's grains. Numbers are moved by half of all there are, for vectors are compared as signed
/// numbers.
#[derive(Clone, Copy)]
struct Grains {
    first: i32,
    count: i32,
}

impl Grains {
    const MOVED: u32 = 1 << 31;
    const NONE: u64 = (Self::MOVED as u64) << 32;

    fn pack(span: Span) -> u64 {
        let first = (span.begin >> GRAIN_BITS) as u32;
        let end = (span.begin + span.bytes).div_ceil(1 << GRAIN_BITS) as u32;
        let count = if span.bytes == 0 { 0 } else { end.wrapping_sub(first) };
        u64::from(first.wrapping_add(Self::MOVED)) | u64::from(count.wrapping_add(Self::MOVED)) << 32
    }
}

#[derive(Clone, Copy)]
pub(super) struct Sieve([Grains; 2]);

impl Sieve {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let [program, libraries] = &SPANS;
        Sieve(
            [program.load(Relaxed), libraries.load(Relaxed)]
                .map(|it| Grains { first: it as i32, count: (it >> 32) as i32 }),
        )
    }

    /// Which words of a block may be addresses of code: two bits ([`WORD_BITS`]) a word, from the
    /// lowest on.
    ///
    /// # Safety
    /// The block can be read. Where `WIDE`, so is the processor ([`is_wide`]).
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) unsafe fn keeps<const WIDE: bool>(self, block: usize) -> u32 {
        // SAFETY: by the caller's promise.
        if WIDE { unsafe { self.keeps_wide(block) } } else { unsafe { self.keeps_narrow(block) } }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn keeps_narrow(self, block: usize) -> u32 {
        let block = core::ptr::with_exposed_provenance::<__m128i>(block);
        // SAFETY: by the caller's promise; blocks are aligned, and all processors have SSE2.
        unsafe {
            let two = |at: usize| _mm_castsi128_ps(_mm_srli_epi64::<GRAIN_BITS>(block.add(at).read_volatile()));
            let four = |at: usize| {
                let grains = _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(two(at), two(at + 1)));
                let [program, libraries] = self.0.map(|span| {
                    let nth = _mm_sub_epi32(grains, _mm_set1_epi32(span.first));
                    _mm_cmpgt_epi32(_mm_set1_epi32(span.count), nth)
                });
                _mm_or_si128(program, libraries)
            };
            let eight = |at: usize| _mm_movemask_epi8(_mm_packs_epi32(four(at), four(at + 2))) as u32;
            eight(0) | eight(4) << 16
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn keeps_wide(self, block: usize) -> u32 {
        let block = core::ptr::with_exposed_provenance::<__m256i>(block);
        // SAFETY: by the caller's promise; blocks are aligned.
        let [a, b, c, d] = unsafe {
            [
                block.read_volatile(),
                block.add(1).read_volatile(),
                block.add(2).read_volatile(),
                block.add(3).read_volatile(),
            ]
        };
        // In each half of the vectors: words 0, 1, 4, 5, 8, 9, 12, 13, and between them the others.
        let kept = _mm256_packs_epi32(self.keeps_of_eight(a, b), self.keeps_of_eight(c, d));
        let kept = _mm256_permutevar8x32_epi32(kept, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_movemask_epi8(kept) as u32
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    fn keeps_of_eight(self, low: __m256i, high: __m256i) -> __m256i {
        let low = _mm256_castsi256_ps(_mm256_srli_epi64::<GRAIN_BITS>(low));
        let high = _mm256_castsi256_ps(_mm256_srli_epi64::<GRAIN_BITS>(high));
        let grains = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
        let [program, libraries] = self.0;
        let in_program = _mm256_sub_epi32(grains, _mm256_set1_epi32(program.first));
        let in_libraries = _mm256_sub_epi32(grains, _mm256_set1_epi32(libraries.first));
        _mm256_or_si256(
            _mm256_cmpgt_epi32(_mm256_set1_epi32(program.count), in_program),
            _mm256_cmpgt_epi32(_mm256_set1_epi32(libraries.count), in_libraries),
        )
    }

    /// Which words of a block may be addresses of code: two bits ([`WORD_BITS`]) a word, from the
    /// lowest on.
    ///
    /// # Safety
    /// The block can be read.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) unsafe fn keeps<const WIDE: bool>(self, block: usize) -> u32 {
        (0..BLOCK_BYTES / WORD_BYTES).fold(0, |kept, at| {
            let word = core::ptr::with_exposed_provenance::<usize>(block + at * WORD_BYTES);
            // SAFETY: by the caller's promise.
            let grain = (unsafe { word.read_volatile() } >> GRAIN_BITS) as i32;
            let is_kept = self.0.iter().any(|span| grain.wrapping_sub(span.first) < span.count);
            kept | u32::from(is_kept) * WORD_BITS << (2 * at)
        })
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn is_wide() -> bool {
    false
}
