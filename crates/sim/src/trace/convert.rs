//! Rewrites a trace in another format.

use super::{Format, Reader, Requests, Target, create};
use crate::error::Error;

/// Writes a trace as `output` in the format `to`. Returns the number of requests. What the new
/// format has no column for is lost.
///
/// # Errors
/// If the one cannot be read or the other not written.
pub fn convert(mut reader: Requests, output: Target, to: &'static Format, block_bytes: u64) -> Result<u64, Error> {
    let mut writer = create(output, to, block_bytes)?;
    let mut requests = 0;
    while let Some(request) = reader.next()? {
        let name = reader.names().get(request.file as usize).map_or("", String::as_str);
        writer.push(&request, name)?;
        requests += 1;
    }
    writer.name_sites(reader.sites());
    writer.finish()?;
    Ok(requests)
}
