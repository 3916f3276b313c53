//! A profile as text, a line each, compressed with zstd and its checksum:
//!
//! ```text
//! foresee-profile 3
//! arg ARGUMENT            one line an argument; bytes outside printable ASCII, and %, as %XX
//! directory PATH
//! program PATH            the file that was executed, if that is known
//! runs COUNT              how many runs it is of, if it is more than one
//! truncated               only if steps were left out
//! unordered               only if its runs read the same in another order each
//! in-vain SECONDS         when reading ahead was found not to pay, since 1970, if it was
//! in-memory SECONDS       when all that programs read was found in memory, likewise
//! file SHARED REST        numbers files from 0: begins as the one before, for so many bytes of it
//! name FILE PROCESS       its name was looked up
//! read FILE PROCESS FIRST+COUNT      blocks of 4 KiB
//! map FILE PROCESS FIRST+COUNT       the same, through a mapping
//! ... RUNS                behind the last three, where it is not 1: which runs read it, a bit each, the last run's the lowest
//! learned EVENT           what the policy learned that serves the next run, as the event that says so
//! end
//! ```
//!
//! What stands before the first file is compressed by itself: what a run found of itself is kept
//! without a look at the rest ([`with_findings`]).

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use foresee_manager::{Event, Want};

use super::{Findings, Profile, RUNS_MAX, STEPS_MAX, Step};

const FIRST_LINE: &str = "foresee-profile 3";
/// The same with each path whole, and, first of all, without programs and runs.
const FIRST_LINES_BEFORE: [&str; 2] = ["foresee-profile 2", "foresee-profile 1"];
/// What a profile may be when uncompressed, and its paths when each is whole: a bound on what a
/// damaged or hostile file can make us allocate.
const TEXT_BYTES_MAX: usize = 256 << 20;
/// What of it is looked at to see whose it is. Longer words than that make no profile to go by
/// elsewhere.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Of zstd's. A run waits for this at its end: the third takes a sixth longer, 5.3 ms for 2.3 MB of
/// text, and gives two bytes less of a hundred.
const LEVEL: i32 = 1;

fn escape(text: &[u8], out: &mut Vec<u8>) {
    // Most are, and to look at all of it takes less than to look where to end.
    if text.iter().fold(true, |so_far, &byte| so_far & is_plain(byte)) {
        return out.extend_from_slice(text);
    }
    for &byte in text {
        match is_plain(byte) {
            true => out.push(byte),
            false => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
}

/// Whether this byte stands for itself.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'%'
}

/// Appends what was escaped so.
fn unescape(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut parts = text.split('%');
    out.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, plain) = part.split_at_checked(2)?;
        out.push(u8::from_str_radix(digits, 16).ok()?);
        out.extend_from_slice(plain.as_bytes());
    }
    Some(())
}

fn unescaped(text: &str) -> Option<OsString> {
    let mut bytes = Vec::with_capacity(text.len());
    unescape(text, &mut bytes)?;
    Some(OsString::from_vec(bytes))
}

/// The profile's file contents.
pub fn encode(profile: &Profile) -> io::Result<Vec<u8>> {
    let (head, rest) = (head(profile), rest(profile)?);
    if head.len() + rest.len() > TEXT_BYTES_MAX || profile.files.bytes() > TEXT_BYTES_MAX {
        return Err(io::Error::other("its text is longer than a profile's may be"));
    }
    Ok([compress(&head)?, compress(&rest)?].concat())
}

/// The contents of a profile's file with these findings of its runs; None if it has them already, or
/// `is_it` does not know the profile by what stands before its files, or they are no profile's.
pub fn with_findings(bytes: &[u8], findings: Findings, is_it: impl Fn(&Profile) -> bool) -> Option<Vec<u8>> {
    let (head_bytes, rest) = bytes.split_at_checked(zstd::zstd_safe::find_frame_compressed_size(bytes).ok()?)?;
    // Before, all was compressed together.
    let is_whole = rest.is_empty();
    let profile = read_lines(head_bytes, TEXT_BYTES_MAX, |_| false, !is_whole).ok()?;
    if profile.findings == findings || !is_it(&profile) {
        return None;
    }
    let profile = Profile { findings, ..profile };
    if is_whole {
        return encode(&profile).ok();
    }
    Some([&compress(&head(&profile)).ok()?, rest].concat())
}

/// All that stands before the first file.
fn head(profile: &Profile) -> Vec<u8> {
    let mut text = format!("{FIRST_LINE}\n").into_bytes();
    let mut line = |word: &str, value: &OsStr| {
        text.extend_from_slice(word.as_bytes());
        text.push(b' ');
        escape(value.as_bytes(), &mut text);
        text.push(b'\n');
    };
    for argument in &profile.command {
        line("arg", argument);
    }
    line("directory", profile.directory.as_os_str());
    if !profile.program.as_os_str().is_empty() {
        line("program", profile.program.as_os_str());
    }
    if profile.runs > 1 {
        text.extend_from_slice(format!("runs {}\n", profile.runs).as_bytes());
    }
    if profile.truncated {
        text.extend_from_slice(b"truncated\n");
    }
    if profile.is_unordered {
        text.extend_from_slice(b"unordered\n");
    }
    let Findings { in_vain, in_memory } = profile.findings;
    for (word, found) in [("in-vain", in_vain), ("in-memory", in_memory)] {
        if let Some(found) = found {
            text.extend_from_slice(format!("{word} {found}\n").as_bytes());
        }
    }
    text
}

fn rest(profile: &Profile) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for (shared, file) in profile.files.sharing() {
        write!(text, "file {shared} ")?;
        escape(&file.as_os_str().as_bytes()[shared..], &mut text);
        text.push(b'\n');
    }
    for step in &profile.steps {
        let Step { file, process, want, mapped, runs } = step;
        let word = if *mapped { "map" } else { "read" };
        match want {
            Want::Range { .. } => write!(text, "{word} {file} {process} {want}")?,
            _ => write!(text, "name {file} {process}")?,
        }
        if *runs != 1 {
            write!(text, " {runs}")?;
        }
        text.push(b'\n');
    }
    for event in &profile.learned {
        writeln!(text, "learned {event}")?;
    }
    text.extend_from_slice(b"end\n");
    Ok(text)
}

fn compress(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(text)
}

/// Reads a profile's file contents; the error says what is wrong with them.
pub fn decode(bytes: &[u8]) -> Result<Profile, String> {
    read_lines(bytes, TEXT_BYTES_MAX, |_| false, false)
}

/// Reads whose profile it is, and no more.
pub fn decode_head(bytes: &[u8]) -> Result<Profile, String> {
    read_lines(bytes, HEAD_BYTES_MAX, |word| word == "file", false)
}

/// `is_cut`: there is more, behind these bytes.
fn read_lines(bytes: &[u8], bytes_max: usize, is_last: impl Fn(&str) -> bool, is_cut: bool) -> Result<Profile, String> {
    let mut text = String::new();
    let decoder = zstd::Decoder::new(bytes).map_err(|error| error.to_string())?;
    decoder.take(bytes_max as u64).read_to_string(&mut text).map_err(|error| error.to_string())?;
    let mut lines = text.lines().enumerate();
    let first = lines.next().map_or("", |(_, line)| line);
    if first != FIRST_LINE && !FIRST_LINES_BEFORE.contains(&first) {
        return Err(format!("its first line is not '{FIRST_LINE}'"));
    }
    let mut profile = Profile { runs: 1, ..Profile::default() };
    for (number, line) in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "end" || is_last(word) {
            return Ok(profile);
        }
        read_line(&mut profile, first == FIRST_LINE, word, rest)
            .ok_or_else(|| format!("line {}: '{line}' is not understood", number + 1))?;
    }
    // Before, all was compressed together, and what is cut off cannot be uncompressed.
    if first == FIRST_LINE && !is_cut { Err("its end is missing".to_owned()) } else { Ok(profile) }
}

fn read_line(profile: &mut Profile, shares: bool, word: &str, rest: &str) -> Option<()> {
    match word {
        "arg" => profile.command.push(unescaped(rest)?),
        "directory" => profile.directory = unescaped(rest)?.into(),
        "program" => profile.program = unescaped(rest)?.into(),
        "runs" => profile.runs = rest.parse().ok().filter(|runs| (1..=RUNS_MAX).contains(runs))?,
        "file" => {
            let (shared, rest) = if shares { rest.split_once(' ')? } else { ("0", rest) };
            let room = TEXT_BYTES_MAX.saturating_sub(profile.files.bytes());
            let shared = shared.parse().ok().filter(|&shared| shared <= room)?;
            profile.files.push_sharing(shared, |bytes| unescape(rest, bytes))?;
        }
        "truncated" => profile.truncated = true,
        "unordered" => profile.is_unordered = true,
        "in-vain" => profile.findings.in_vain = Some(rest.parse().ok()?),
        "in-memory" => profile.findings.in_memory = Some(rest.parse().ok()?),
        "learned" => {
            let is_lesson = |event: &Event| matches!(event, Event::SiteLearned { .. } | Event::ReuseLearned { .. });
            let event = rest.parse().ok().filter(is_lesson)?;
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
            files: ["/a\nb", "/c"].iter().collect(),
            steps: vec![
                Step { file: 0, process: 1, want: Want::Name, mapped: false, runs: 1 },
                Step { file: 1, process: 2, want: range, mapped: false, runs: 6 },
                Step { file: 1, process: 2, want: range, mapped: true, runs: 3 },
            ],
            program: "/usr/bin/grep".into(),
            runs: 3,
            truncated: true,
            is_unordered: true,
            learned: vec![
                Event::SiteLearned { site: Site(7), sequential: 1, looping: 900, period: 450, spread: 3 },
                Event::ReuseLearned { interval: 64, age: 80, used: 3, open: 5 },
            ],
            findings: Findings { in_vain: Some(1_700_000_000), in_memory: Some(1_700_000_001) },
        }
    }

    #[test]
    fn a_profile_reads_back_as_it_was() {
        assert_eq!(decode(&encode(&sample()).unwrap()).unwrap(), sample());
    }

    /// As version 2 wrote it.
    fn before() -> Vec<u8> {
        let text = "foresee-profile 2\narg a%20b\ndirectory /d\nfile /a%0Ab\nfile /c\nruns 2\n\
                    in-vain 7\nread 1 2 3+2 3\nname 0 1\n";
        compress(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_was_written_before_is_still_read() {
        let profile = decode(&before()).unwrap();
        let files: Vec<_> = profile.files.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!((&profile.command[..], files, profile.runs), (&["a b".into()][..], vec!["/a\nb", "/c"], 2));
        assert_eq!(profile.steps.len(), 2);
        assert_eq!(decode(&encode(&profile).unwrap()).unwrap(), profile);
    }

    #[test]
    fn what_runs_found_is_set_and_the_rest_is_as_it_was() {
        // More words than are looked at elsewhere.
        let command = (0..10_000).map(|number| format!("a word, {number}").into()).collect();
        let wordy = Profile { command, ..sample() };
        for bytes in [encode(&sample()).unwrap(), before(), encode(&wordy).unwrap()] {
            let profile = decode(&bytes).unwrap();
            let is_it = |it: &Profile| (&it.command, &it.directory) == (&profile.command, &profile.directory);
            for findings in [Findings { in_vain: None, in_memory: Some(1_800_000_000) }, Findings::default()] {
                let set = with_findings(&bytes, findings, is_it).unwrap();
                assert_eq!(decode(&set).unwrap(), Profile { findings, ..profile.clone() });
                assert_eq!(with_findings(&set, findings, is_it), None, "it is so already");
                assert_eq!(with_findings(&set, profile.findings, |_| false), None, "it is another's");
            }
        }
        assert_eq!(with_findings(b"nonsense", Findings::default(), |_| true), None);
    }

    #[test]
    fn paths_that_grow_out_of_little_text_are_refused() {
        let (long, more) = ("a".repeat(10 << 20), "file 10485761 b\n".repeat(30));
        let text = format!("{FIRST_LINE}\ndirectory /d\nfile 0 /{long}\n{more}end\n");
        let error = decode(&compress(text.as_bytes()).unwrap()).unwrap_err();
        assert_eq!(error, "line 28: 'file 10485761 b' is not understood");
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
