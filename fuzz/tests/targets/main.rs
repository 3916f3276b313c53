//! The targets: one for each kind of input that strangers may hand to foresee.

mod advice;
mod log;
mod profile;
mod ring;
mod traces;

use std::path::PathBuf;

use foresee_fuzz::{Counting, peak_bytes};
use proptest::prelude::ProptestConfig;

#[global_allocator]
static MEMORY: Counting = Counting;

/// As many cases as are asked for, or else so many. A failing one prints its input, to be kept in
/// the corpus.
fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    let cases = if asked { default.cases } else { cases };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

/// A path for a file of this test's own: tests run side by side, each in its thread.
fn scratch(name: &str) -> PathBuf {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("").replace("::", "-");
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{name}"))
}

/// Takes much memory while a panic goes by.
struct Loud;

impl Drop for Loud {
    fn drop(&mut self) {
        std::hint::black_box(vec![1_u8; 64 << 20]);
    }
}

#[test]
fn what_a_panic_says_of_itself_is_not_counted() {
    let work = |panics: bool| {
        std::panic::catch_unwind(|| {
            let _loud = Loud;
            if panics {
                std::panic::resume_unwind(Box::new(()));
            }
        })
    };
    assert!(peak_bytes(|| work(false)).1 >= 64 << 20);
    assert!(peak_bytes(|| work(true)).1 < 1 << 20);
}

/// Does this work with an input; it may hold `fixed` bytes, and `each` more for each byte of the
/// input.
fn bounded<T>(input: &[u8], (fixed, each): (u64, u64), work: impl FnOnce() -> T) -> T {
    let (done, held) = peak_bytes(work);
    let most = fixed + each * input.len() as u64;
    assert!(held <= most, "{held} bytes were held at once for an input of {}; {most} are warranted", input.len());
    done
}
