//! What foresee says: results on standard output, and everything else on standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, Write};

pub use foresee_run::say::say;

/// Says how far something has come, in place of what was said so before. For terminals.
pub fn renew(line: impl Display) {
    let _ = write!(io::stderr(), "\rforesee: {line}\x1b[K");
}

/// Takes the line of [`renew`] away.
pub fn clear() {
    let _ = write!(io::stderr(), "\r\x1b[K");
}

/// Prints what `write` writes. A reader who closed the pipe has had enough; anything else that
/// cannot be printed is an error.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}
