//! Files of advice.

use foresee_fuzz::{Corpus, mutants};
use foresee_manager::AdviceFile;
use proptest::prelude::*;

use super::{bounded, config};

/// What a line may take: a pattern, and room to grow.
const MEMORY: (u64, u64) = (64 << 10, 64);

fn read(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(advice) = bounded(bytes, MEMORY, || AdviceFile::parse(text)) else { return false };
    for name in ["", "/", "index.db", "/a/merge/part", "/a/b/c/d/e/f/g/h/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"]
    {
        let _ = (advice.priority(name), advice.is_read_once(name));
    }
    true
}

#[test]
fn kept_advice_is_read() {
    for (name, bytes) in Corpus::of("advice").inputs {
        assert_eq!(read(&bytes), !name.starts_with("broken"), "{name}");
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn any_advice_is_read_or_refused(mutant in mutants("advice")) {
        read(&mutant.bytes);
    }
}
