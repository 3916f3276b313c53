//! What foresee says of itself: on standard error, beside what programs say there.

use std::fmt::Display;
use std::io::{self, Write};

/// Says one line. That nobody can take it is no reason to fail.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "foresee: {line}");
}
