//! Damaged traces that the Parquet reader panics on: an error like any other.
//!
//! The optimised build ends at a panic and cannot catch it, but it can still say what was being
//! read, and exit as for any broken input.

use std::panic;
use std::path::Path;

use crate::output::abandon;
use crate::say::say;

/// Reads `path` by `read`; a panic meanwhile is reported as damage to it.
pub fn reading<T>(path: &Path, read: impl FnOnce() -> T) -> T {
    let path = path.to_owned();
    panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let why = text.unwrap_or("no reason given");
        abandon();
        say(format_args!("{}: is damaged ({why}); record or copy it again", path.display()));
        std::process::exit(2);
    }));
    let result = read();
    drop(panic::take_hook());
    result
}
