//! What foresee says: results on standard output, and everything else on standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

use foresee_run::inherited::is_output_closed;
pub use foresee_run::say::say;

/// Says how far something has come, in place of what was said so before. For terminals.
pub fn renew(line: impl Display) {
    let _ = write!(io::stderr(), "\rforesee: {line}\x1b[K");
}

/// Takes the line of [`renew`] away.
pub fn clear() {
    let _ = write!(io::stderr(), "\r\x1b[K");
}

/// Standard output, unless whoever started us has closed it.
pub fn output() -> io::Result<Stdout> {
    match is_output_closed() {
        true => Err(io::Error::other("standard output is closed")),
        false => Ok(io::stdout()),
    }
}

/// Prints what `write` writes. A reader who closed the pipe has had enough; anything else that
/// cannot be printed is an error.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
    let mut out = BufWriter::new(output().map_err(|error| error.to_string())?.lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}
