//! What foresee says for itself goes to standard error; that nobody can take it there is no reason to fail.

use std::io::Write;

/// Says one line.
pub fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "foresee: {line}");
}
