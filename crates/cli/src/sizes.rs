//! Sizes in bytes on the command line.

use foresee_sim::size::Size;

/// `64MiB`, `64M` or a plain number of bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(Size::Bytes(bytes) | Size::Blocks(bytes)) => Ok(bytes),
        _ => Err(format!("'{text}' is no number of bytes, as in 512MiB")),
    }
}
