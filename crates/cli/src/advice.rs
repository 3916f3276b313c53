//! Files of advice, as options name them.

use std::path::PathBuf;

use foresee_manager::AdviceFile;

/// One that was read.
#[derive(Debug, Clone)]
pub struct Advised {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
    /// The same, understood.
    pub advice: AdviceFile,
}

/// Reads one.
pub fn read(file: &str) -> Result<Advised, String> {
    let bad = |error: &dyn std::fmt::Display| format!("{file}: {error}");
    let text = std::fs::read_to_string(file).map_err(|error| bad(&error))?;
    let advice = AdviceFile::parse(&text).map_err(|error| bad(&error))?;
    Ok(Advised { path: file.into(), text, advice })
}
