//! A profile as text, a line each, compressed with zstd and its checksum:
//!
//! ```text
//! foresee-profile 2
//! arg ARGUMENT            one line an argument; bytes outside printable ASCII, and %, as %XX
//! directory PATH
//! program PATH            the file that was executed, if that is known
//! runs COUNT              how many runs it is of, if it is more than one
//! truncated               only if steps were left out
//! in-vain SECONDS         when reading ahead was found not to pay, since 1970, if it was
//! file PATH               numbers files from 0
//! name FILE PROCESS       its name was looked up
//! read FILE PROCESS FIRST+COUNT      blocks of 4 KiB
//! map FILE PROCESS FIRST+COUNT       the same, through a mapping
//! ... RUNS                behind the last three, where it is not 1: which runs read it, a bit each, the last run's the lowest
//! learned EVENT           what the policy learned of a call site, as the event that says so
//! ```

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use foresee_manager::{Event, Want};

use super::{Profile, RUNS_MAX, STEPS_MAX, Step};

const FIRST_LINE: &str = "foresee-profile 2";
/// The same without programs and runs.
const FIRST_LINE_BEFORE: &str = "foresee-profile 1";
/// What a profile may be when uncompressed: a bound on what a damaged or hostile file can make us
/// allocate.
const TEXT_BYTES_MAX: usize = 256 << 20;
/// What of it is looked at to see whose it is. Longer words than that make no profile to go by
/// elsewhere.
const HEAD_BYTES_MAX: usize = 64 << 10;

fn escape(text: &OsStr, out: &mut String) {
    for &byte in text.as_bytes() {
        match byte {
            b'%' | 0..=32 | 127.. => {
                let _ = write!(out, "%{byte:02X}");
            }
            _ => out.push(byte as char),
        }
    }
}

fn unescape(text: &str) -> Option<OsString> {
    if !text.contains('%') {
        return Some(text.into());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    Some(OsString::from_vec(bytes))
}

/// The profile's file contents.
pub fn encode(profile: &Profile) -> std::io::Result<Vec<u8>> {
    let mut text = format!("{FIRST_LINE}\n");
    let mut line = |word: &str, value: &OsStr| {
        text.push_str(word);
        text.push(' ');
        escape(value, &mut text);
        text.push('\n');
    };
    for argument in &profile.command {
        line("arg", argument);
    }
    line("directory", profile.directory.as_os_str());
    if !profile.program.as_os_str().is_empty() {
        line("program", profile.program.as_os_str());
    }
    for file in &profile.files {
        line("file", file.as_os_str());
    }
    if profile.runs > 1 {
        let _ = writeln!(text, "runs {}", profile.runs);
    }
    if profile.truncated {
        text.push_str("truncated\n");
    }
    if let Some(found) = profile.in_vain {
        let _ = writeln!(text, "in-vain {found}");
    }
    for step in &profile.steps {
        let Step { file, process, want, mapped, runs } = step;
        let word = if *mapped { "map" } else { "read" };
        let _ = match want {
            Want::Range { .. } => write!(text, "{word} {file} {process} {want}"),
            _ => write!(text, "name {file} {process}"),
        };
        if *runs != 1 {
            let _ = write!(text, " {runs}");
        }
        text.push('\n');
    }
    for event in &profile.learned {
        let _ = writeln!(text, "learned {event}");
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(std::io::Error::other("its text is longer than a profile's may be"));
    }
    let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
    encoder.include_checksum(true)?;
    // Memory for a text of this length, not of any.
    encoder.set_pledged_src_size(Some(text.len() as u64))?;
    std::io::Write::write_all(&mut encoder, text.as_bytes())?;
    encoder.finish()
}

/// Reads a profile's file contents; the error says what is wrong with them.
pub fn decode(bytes: &[u8]) -> Result<Profile, String> {
    read_lines(bytes, TEXT_BYTES_MAX, |_| false)
}

/// Reads whose profile it is, and no more.
pub fn decode_head(bytes: &[u8]) -> Result<Profile, String> {
    read_lines(bytes, HEAD_BYTES_MAX, |word| word == "file")
}

fn read_lines(bytes: &[u8], bytes_max: usize, is_last: impl Fn(&str) -> bool) -> Result<Profile, String> {
    let mut text = String::new();
    let decoder = zstd::Decoder::new(bytes).map_err(|error| error.to_string())?;
    std::io::Read::read_to_string(&mut std::io::Read::take(decoder, bytes_max as u64), &mut text)
        .map_err(|error| error.to_string())?;
    let mut lines = text.lines().enumerate();
    if !lines.next().is_some_and(|(_, line)| [FIRST_LINE, FIRST_LINE_BEFORE].contains(&line)) {
        return Err(format!("its first line is not '{FIRST_LINE}'"));
    }
    let mut profile = Profile { runs: 1, ..Profile::default() };
    for (number, line) in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if is_last(word) {
            break;
        }
        read_line(&mut profile, word, rest)
            .ok_or_else(|| format!("line {}: '{line}' is not understood", number + 1))?;
    }
    Ok(profile)
}

fn read_line(profile: &mut Profile, word: &str, rest: &str) -> Option<()> {
    match word {
        "arg" => profile.command.push(unescape(rest)?),
        "directory" => profile.directory = unescape(rest)?.into(),
        "program" => profile.program = unescape(rest)?.into(),
        "runs" => profile.runs = rest.parse().ok().filter(|runs| (1..=RUNS_MAX).contains(runs))?,
        "file" => profile.files.push(unescape(rest)?.into()),
        "truncated" => profile.truncated = true,
        "in-vain" => profile.in_vain = Some(rest.parse().ok()?),
        "learned" => {
            let event = rest.parse().ok().filter(|event| matches!(event, Event::SiteLearned { .. }))?;
            profile.learned.push(event);
        }
        "name" | "read" | "map" => {
            let mut fields = rest.split(' ');
            let file = fields.next()?.parse().ok().filter(|&file: &u32| (file as usize) < profile.files.len())?;
            let process = fields.next()?.parse().ok()?;
            let want = if word == "name" { Want::Name } else { fields.next()?.parse().ok()? };
            let runs = fields.next().map_or(Some(1), |runs| runs.parse().ok())?;
            if profile.steps.len() >= STEPS_MAX || fields.next().is_some() {
                return None;
            }
            profile.steps.push(Step { file, process, want, mapped: word == "map", runs });
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use foresee_manager::Site;

    fn sample() -> Profile {
        let range = Want::Range { first: 3, count: 2 };
        Profile {
            command: vec!["grep".into(), OsString::from_vec(vec![b'a', b' ', b'\n', 0xff, b'%'])],
            directory: "/some dir".into(),
            files: vec!["/a\nb".into(), "/c".into()],
            steps: vec![
                Step { file: 0, process: 1, want: Want::Name, mapped: false, runs: 1 },
                Step { file: 1, process: 2, want: range, mapped: false, runs: 6 },
                Step { file: 1, process: 2, want: range, mapped: true, runs: 3 },
            ],
            program: "/usr/bin/grep".into(),
            runs: 3,
            truncated: true,
            learned: vec![Event::SiteLearned { site: Site(7), sequential: 1, looping: 900, period: 450, spread: 3 }],
            in_vain: Some(1_700_000_000),
        }
    }

    #[test]
    fn a_profile_reads_back_as_it_was() {
        assert_eq!(decode(&encode(&sample()).unwrap()).unwrap(), sample());
    }

    #[test]
    fn damage_anywhere_is_an_error_or_harmless_never_a_panic() {
        let whole = encode(&sample()).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            if let Ok(profile) = decode(&damaged) {
                assert_eq!(profile, sample(), "byte {at} changed the contents unnoticed");
            }
            assert!(decode(&whole[..at]).is_err(), "cut at byte {at}");
        }
    }
}
