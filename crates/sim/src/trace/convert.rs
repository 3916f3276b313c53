//! Rewrites a trace in another format.

use std::ops::Range;

use super::{Format, Reader, Requests, Target, create};
use crate::error::Error;

/// Writes those requests of a trace that are of these numbers as `output` in the format `to`; the
/// first is 0. Returns how many there are. What the new format has no column for is lost.
///
/// # Errors
/// If the one cannot be read or the other not written.
pub fn convert(
    mut reader: Requests,
    output: Target,
    to: &'static Format,
    block_bytes: u64,
    part: Range<u64>,
) -> Result<u64, Error> {
    let mut writer = create(output, to, block_bytes)?;
    let (mut number, mut requests) = (0, 0);
    while number < part.end
        && let Some(request) = reader.next()?
    {
        if part.contains(&number) {
            let name = reader.names().get(request.file as usize).map_or("", String::as_str);
            writer.push(&request, name)?;
            requests += 1;
        }
        number += 1;
    }
    writer.name_sites(reader.sites());
    writer.finish()?;
    Ok(requests)
}
