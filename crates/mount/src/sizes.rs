//! Sizes and times on the command line.

use std::path::PathBuf;
use std::time::Duration;

const UNITS: [(&str, u64); 4] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];

/// `64MiB`, `64M` or a plain number of bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let short = text.strip_suffix("iB").unwrap_or(text);
    let found = UNITS.iter().find_map(|(unit, bytes)| Some((short.strip_suffix(unit)?, *bytes)));
    let (number, unit) = found.unwrap_or((text, 1));
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.ok_or_else(|| format!("'{text}' is no number of bytes, as in 512MiB"))
}

/// `PATH:SIZE`.
pub fn disk(text: &str) -> Result<(PathBuf, u64), String> {
    let (path, size) =
        text.rsplit_once(':').ok_or_else(|| format!("'{text}' is not PATH:SIZE, as in /var/x:100GiB"))?;
    Ok((path.into(), bytes(size)?))
}

/// A number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text).parse().ok();
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| format!("'{text}' is no number of seconds"))
}

/// A number of seconds in which something can be answered.
pub fn deadline(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        Duration::ZERO => Err(format!("'{text}' leaves no time for an answer: say 1 at least")),
        deadline => Ok(deadline),
    }
}

/// Permissions as chmod takes them: `644`.
pub fn mode(text: &str) -> Result<u16, String> {
    let mode = u16::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("'{text}' is no mode, as in 644"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("17"), Ok(17));
        assert!(bytes("2GB").is_err() && bytes("").is_err() && bytes("99999999999T").is_err());
        assert_eq!(disk("/a:b:1K"), Ok(("/a:b".into(), 1024)));
        assert!(disk("/a").is_err());
        assert_eq!(seconds("1.5s"), Ok(Duration::from_millis(1500)));
        assert!(seconds("-1").is_err());
        assert_eq!(deadline("2"), Ok(Duration::from_secs(2)));
        assert!(deadline("0").is_err());
        assert_eq!(mode("755"), Ok(0o755));
        assert!(mode("1755").is_err() && mode("8").is_err());
    }
}
