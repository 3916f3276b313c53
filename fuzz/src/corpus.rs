//! Kept inputs.

use std::fs;
use std::path::{Path, PathBuf};

/// The inputs of one target, by name.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// Name and contents.
    pub inputs: Vec<(String, Vec<u8>)>,
}

impl Corpus {
    /// What is in this folder of `corpus`.
    ///
    /// # Panics
    /// If it cannot be read, or is empty.
    pub fn of(target: &str) -> Corpus {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let inputs: Vec<_> = paths.iter().map(|path| (name(path), fs::read(path).expect("a kept input"))).collect();
        assert!(!inputs.is_empty(), "{} is empty", folder.display());
        Corpus { inputs }
    }
}
