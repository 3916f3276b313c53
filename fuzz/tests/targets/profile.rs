//! Profiles: text, packed.

use std::fs;
use std::path::Path;

use foresee_fuzz::{Corpus, mutants};
use foresee_run::profile::Store;
use proptest::prelude::*;

use super::{bounded, config};

/// A step of some ten bytes takes 40, and a list of them twice that while it grows. What is packed
/// may be longer by its packing's best, which is some 1,000 of repeated lines.
const MEMORY: (u64, u64) = (1 << 20, 64 << 10);

fn read(folder: &str, bytes: &[u8]) -> bool {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let store = Store::at(folder.clone());
    if store.list().is_ok_and(|stored| stored.is_empty()) {
        // The store alone knows how its files are named.
        store.save(&foresee_run::profile::Profile::default()).expect("a profile");
    }
    let stored = store.list().expect("the store").remove(0);
    let file = folder.join(&stored.name);
    let path = fs::read_dir(&folder).expect("the store").map(|it| it.expect("an entry").path());
    let path = path.into_iter().find(|path| path.with_extension("") == file).expect("the profile's file");
    fs::write(path, bytes).expect("a scratch file");
    bounded(bytes, MEMORY, || stored.read()).is_ok()
}

fn pack(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 3).expect("packed")
}

#[test]
fn kept_profiles_are_read() {
    for (name, text) in Corpus::of("profile").inputs {
        assert_eq!(read("fuzz-kept", &pack(&text)), !name.starts_with("broken"), "{name}");
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn any_profile_is_read_or_refused(mutant in mutants("profile"), packs in prop::bool::weighted(0.9)) {
        let bytes = if packs { pack(&mutant.bytes) } else { mutant.bytes };
        read("fuzz-profiles", &bytes);
    }
}
