//! What is written can be read back, in every format, packed or not; what is broken is an error
//! that says where.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use foresee_sim::load::Trace;
use foresee_sim::trace::recorded::{self, ROWS_PER_GROUP, RecordedWriter};
use foresee_sim::trace::{Format, REGISTRY, Reader, Request, Span, Target, Writer, convert, create, info, open};
use proptest::prelude::*;

/// All requests of a trace.
const ALL: std::ops::Range<u64> = 0..u64::MAX;
const BLOCK_BYTES: u64 = 4096;

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn format(name: &str) -> &'static Format {
    name.parse().unwrap()
}

fn all(mut reader: impl Reader) -> Result<(Vec<Request>, Vec<String>), String> {
    let mut requests = Vec::new();
    while let Some(request) = reader.next().map_err(|error| error.to_string())? {
        requests.push(request);
    }
    Ok((requests, reader.names().to_vec()))
}

fn read(path: &Path, format: Option<&'static Format>) -> Result<(Vec<Request>, Vec<String>), String> {
    all(open(path, format, BLOCK_BYTES).map_err(|error| error.to_string())?)
}

fn write(path: &Path, format: &'static Format, requests: &[Request], names: &[&str]) {
    let mut writer = create(Target::create(path).unwrap(), format, BLOCK_BYTES).unwrap();
    for request in requests {
        writer.push(request, names[request.file as usize]).unwrap();
    }
    writer.finish().unwrap();
}

fn object(number: u64) -> Request {
    Request { span: Span::Object { number, bytes: BLOCK_BYTES }, ..Request::default() }
}

fn ranges(rows: usize) -> Vec<Request> {
    (0..rows as u64)
        .map(|at| Request {
            time_ns: at * 1000,
            process: (at % 3) as i32,
            thread: -((at % 5) as i32),
            file: (at % 2) as u32,
            span: Span::Range { offset: at * 100, length: at % 9000 },
            site: u64::MAX - at % 4,
            took_ns: at % 7,
            write: false,
        })
        .collect()
}

#[test]
fn numbers_come_back_in_every_format_and_packing() {
    let requests: Vec<Request> = [7, 8, 7, u64::MAX, 1 << 40, 7].map(object).into();
    for name in ["numbers.trc", "numbers.trc.gz", "numbers.trc.zst"] {
        write(&scratch(name), format("blocks"), &requests, &[""]);
        assert_eq!(read(&scratch(name), None).unwrap(), (requests.clone(), vec![String::new()]), "{name}");
    }
    for name in ["numbers.oracleGeneral", "numbers.oracleGeneral.bin.zst"] {
        write(&scratch(name), format("oracleGeneral"), &requests, &[""]);
        assert_eq!(read(&scratch(name), None).unwrap().0, requests, "{name}");
    }
}

#[test]
fn an_oracle_record_is_what_libcachesim_writes() {
    let path = scratch("layout.oracleGeneral");
    let requests =
        [Request { time_ns: 3_000_000_000, ..object(0x0102_0304_0506_0708) }, object(9), object(0x0102_0304_0506_0708)];
    write(&path, format("oracleGeneral"), &requests, &[""]);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes[..24], [3, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0, 16, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[40..48], (-1_i64).to_le_bytes());
}

#[test]
fn recorded_rows_come_back_over_several_groups() {
    let (path, names) = (scratch("rows.parquet"), ["/data/a", "/data/ü b"]);
    let requests = ranges(ROWS_PER_GROUP * 2 + 17);
    write(&path, format("recorded"), &requests, &names);
    let (found, found_names) = read(&path, None).unwrap();
    assert_eq!(found_names, names);
    assert!(found == requests, "rows differ");
    let info = info(open(&path, None, BLOCK_BYTES).unwrap(), BLOCK_BYTES).unwrap();
    assert_eq!(
        (info.format, info.requests, info.files, info.processes, info.threads),
        ("recorded", requests.len() as u64, 2, 3, 15)
    );
    assert_eq!(info.bytes, requests.iter().map(|it| it.span.bytes()).sum::<u64>());
}

#[test]
fn what_lies_at_call_sites_comes_back_and_is_converted() {
    let (one, other) = (scratch("sites.parquet"), scratch("sites-again.parquet"));
    let sites = [(7, "grep: fillbuf".to_owned()), (u64::MAX, "two\nlines".to_owned())];
    let mut writer = RecordedWriter::new(Target::create(&one).unwrap()).unwrap();
    writer.push(&ranges(1)[0], "a").unwrap();
    writer.name_sites(&sites);
    writer.finish().unwrap();
    let opened = |path: &Path| open(path, None, BLOCK_BYTES).unwrap();
    convert(opened(&one), Target::create(&other).unwrap(), format("recorded"), BLOCK_BYTES, ALL).unwrap();
    for path in [&one, &other] {
        assert_eq!(opened(path).sites(), [(7, "grep: fillbuf".to_owned()), (u64::MAX, "two lines".to_owned())]);
    }
}

#[test]
fn groups_can_be_flushed_at_any_time_and_may_be_missing() {
    let path = scratch("flushed.parquet");
    let mut writer = RecordedWriter::new(Target::create(&path).unwrap()).unwrap();
    writer.flush().unwrap();
    writer.finish().unwrap();
    assert_eq!(read(&path, None).unwrap().0, []);
    let mut writer = RecordedWriter::new(Target::create(&path).unwrap()).unwrap();
    let requests = ranges(10);
    for request in &requests {
        writer.push(request, ["a", "b"][request.file as usize]).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(read(&path, None).unwrap().0, requests);
    // What a recording that was killed leaves behind.
    let mut writer = RecordedWriter::new(Target::create(&path).unwrap()).unwrap();
    writer.push(&requests[0], "a").unwrap();
    writer.flush().unwrap();
    drop(writer);
    let error = read(&path, None).unwrap_err();
    assert!(error.contains("flushed.parquet") && error.contains("footer"), "{error}");
}

#[test]
fn converting_keeps_what_the_other_format_can_say() {
    let (text, parquet, back) = (scratch("convert.txt"), scratch("convert.parquet"), scratch("back.txt.gz"));
    fs::write(&text, "5\n6\n*\n\n5\n").unwrap();
    assert_eq!(
        convert(
            open(&text, None, BLOCK_BYTES).unwrap(),
            Target::create(&parquet).unwrap(),
            format("recorded"),
            BLOCK_BYTES,
            ALL
        ),
        Ok(3)
    );
    let spans: Vec<Span> = read(&parquet, None).unwrap().0.iter().map(|it| it.span).collect();
    assert_eq!(spans, [5, 6, 5].map(|at| Span::Range { offset: at * BLOCK_BYTES, length: BLOCK_BYTES }));
    let blocks_of = |part| {
        let back = Target::create(&back).unwrap();
        convert(open(&parquet, None, BLOCK_BYTES).unwrap(), back, format("blocks"), BLOCK_BYTES, part)
    };
    assert_eq!(blocks_of(ALL), Ok(3));
    assert_eq!(read(&back, None).unwrap().0, [5, 6, 5].map(object));
    assert_eq!(blocks_of(1..2), Ok(1));
    assert_eq!(read(&back, None).unwrap().0, [object(6)]);
    assert_eq!(blocks_of(3..u64::MAX), Ok(0));
}

#[test]
fn several_blocks_processes_and_files_are_loaded() {
    let (path, names) = (scratch("loaded.parquet"), ["a", "b"]);
    let range = |process, file, offset, length| Request {
        process,
        thread: process,
        file,
        span: Span::Range { offset, length },
        ..Request::default()
    };
    write(&path, format("recorded"), &[range(9, 0, 4095, 2), range(7, 1, 8192, 1), range(9, 0, 0, 0)], &names);
    let trace = Trace::load(&path, None, BLOCK_BYTES).unwrap();
    assert_eq!((trace.len(), trace.references, trace.distinct_blocks()), (2, 3, 3));
    let files: Vec<(&str, u64)> = trace.files.iter().map(|file| (file.name.as_str(), file.blocks)).collect();
    assert_eq!(files, [("a", 2), ("b", 3)]);
    let second = trace.entry(1);
    assert_eq!((trace.lanes[second.lane].process, trace.lanes[second.lane].reader.0), (7, 1));
    assert_eq!((second.first.file.0, second.first.index, second.count), (1, 2, 1));
}

#[test]
fn what_was_written_is_kept_and_is_a_request_like_any_other() {
    let (path, text) = (scratch("written.parquet"), scratch("written.txt"));
    let request = |block: u64, write| {
        let span = Span::Range { offset: block * BLOCK_BYTES, length: BLOCK_BYTES };
        Request { span, write, ..Request::default() }
    };
    let requests = [request(3, false), request(9, true), request(4, false)];
    write(&path, format("recorded"), &requests, &["a"]);
    assert_eq!(read(&path, None).unwrap().0, requests);
    let info = info(open(&path, None, BLOCK_BYTES).unwrap(), BLOCK_BYTES).unwrap();
    assert_eq!((info.requests, info.writes, info.references, info.bytes), (3, 1, 3, 3 * BLOCK_BYTES));
    assert_eq!(Trace::load(&path, None, BLOCK_BYTES).unwrap().references, 3);
    for name in ["blocks", "oracleGeneral"] {
        convert(
            open(&path, None, BLOCK_BYTES).unwrap(),
            Target::create(&text).unwrap(),
            format(name),
            BLOCK_BYTES,
            ALL,
        )
        .unwrap();
        assert_eq!(read(&text, Some(format(name))).unwrap().0.len(), 3, "{name}");
    }
}

#[test]
fn a_trace_in_memory_is_read_like_a_file() {
    let path = scratch("carried.parquet");
    let requests = ranges(20);
    write(&path, format("recorded"), &requests, &["a", "b"]);
    let bytes: &'static [u8] = fs::read(&path).unwrap().leak();
    let found = all(recorded::read("carried", bytes).unwrap()).unwrap();
    assert_eq!(found.0, requests);
    let cut = recorded::read("carried", &bytes[..bytes.len() - 9]).err().unwrap().to_string();
    assert!(cut.contains("carried"), "{cut}");
}

#[test]
fn a_page_that_claims_more_than_its_bytes_warrant_is_refused() {
    let path = scratch("claims.parquet");
    let refused = |bytes: &[u8], claim: &str| {
        fs::write(&path, bytes).unwrap();
        let error = read(&path, None).unwrap_err();
        assert!(error.contains("claims.parquet") && error.contains(claim), "{error}");
    };
    let bytes = foreign(recording());
    // The first page's header: 15, its type, 15, its bytes unpacked, 15, its bytes packed.
    assert_eq!((bytes[4], bytes[5], bytes[6]), (0x15, 0, 0x15));
    let digits = bytes[7..].iter().position(|&byte| byte == 0x15).unwrap();
    let claim = [0xfe, 0xff, 0xff, 0xff, 0x0f];
    let mut unpacked = bytes.clone();
    unpacked.splice(7..7 + digits, claim);
    // All else stays where it was.
    unpacked.drain(100..100 + claim.len() - digits);
    refused(&unpacked, "claims to unpack to 2147483647");
    // A dictionary of two paths or three numbers: 15, 4, 15, unpacked, 15, packed, 4c, 15, its values.
    let is_dictionary = |it: &[u8]| it[..3] == [0x15, 4, 0x15] && it[4] == 0x15 && it[6..8] == [0x4c, 0x15];
    let mut values = bytes.clone();
    let at = values.windows(9).position(is_dictionary).unwrap();
    values[at + 8] = 0x7e;
    refused(&values, "claims to have 63 values");
}

#[test]
fn a_broken_line_is_named() {
    let path = scratch("broken.trc");
    for (text, line, found) in [
        ("1\n2\nthree\n", 3, "'three' is no block number"),
        ("1\n*x\n", 2, "'*x'"),
        ("1\n-2\n", 2, "'-2'"),
        ("18446744073709551616\n", 1, "'18446744073709551616'"),
        ("1\n\u{fc}\n", 2, "'\\xc3\\xbc'"),
    ] {
        fs::write(&path, text).unwrap();
        let error = read(&path, Some(format("blocks"))).unwrap_err();
        assert!(error.contains(&format!("broken.trc, line {line}: ")) && error.contains(found), "{error}");
    }
}

#[test]
fn a_truncated_record_is_named() {
    let path = scratch("short.oracleGeneral");
    fs::write(&path, [0; 24 * 2 + 5]).unwrap();
    let error = read(&path, None).unwrap_err();
    assert!(error.contains("short.oracleGeneral, byte 48: ") && error.contains("only 5 are left"), "{error}");
}

#[test]
fn a_truncated_packing_is_named() {
    let requests: Vec<Request> = (0..5000).map(|at| object(at * at)).collect();
    for name in ["cut.trc.gz", "cut.trc.zst"] {
        let path = scratch(name);
        write(&path, format("blocks"), &requests, &[""]);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let error = read(&path, Some(format("blocks"))).unwrap_err();
        assert!(error.contains(name) && error.contains("line ") && error.contains("cut short"), "{error}");
    }
}

#[test]
fn an_unknown_format_is_named_with_those_there_are() {
    let path = scratch("unknown.dat");
    fs::write(&path, "time,offset\n1,2\n").unwrap();
    let error = open(&path, None, BLOCK_BYTES).err().unwrap().to_string();
    assert!(error.contains("unknown.dat: "), "{error}");
    for format in REGISTRY {
        assert!(error.contains(format.name), "{error}");
    }
    assert!("lirs".parse::<&Format>().unwrap_err().contains("oracleGeneral"));
    assert!(read(&scratch("absent"), None).unwrap_err().contains("absent: cannot be opened"));
    assert!(read(Path::new(env!("CARGO_TARGET_TMPDIR")), None).is_err(), "a folder is no trace");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_an_error_or_a_trace_but_never_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300), magic in 0..5_usize,
    ) {
        let magics: [&[u8]; 5] = [b"", b"PAR1", &[0x1f, 0x8b, 8, 0], &[0x28, 0xb5, 0x2f, 0xfd], b"12\n13\n"];
        let path = scratch("random.bytes");
        fs::write(&path, [magics[magic], &bytes].concat()).unwrap();
        let _ = read(&path, None);
        for &format in REGISTRY {
            let _ = read(&path, Some(format));
        }
    }

    #[test]
    fn a_damaged_recording_is_an_error_but_never_a_panic(
        cut in 0.0..1.0_f64, flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 0..4),
        foreign in any::<bool>(),
    ) {
        let path = scratch("damaged.parquet");
        let mut bytes = recording().clone();
        if foreign {
            bytes = self::foreign(&bytes);
        }
        for (at, value) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= value;
        }
        if flips.is_empty() {
            bytes.truncate((bytes.len() as f64 * cut) as usize);
        }
        fs::write(&path, &bytes).unwrap();
        let found = read(&path, Some(format("recorded")));
        // One flip alone: a second one may undo it, or hit the creator's name.
        let rows_hit = flips.len() == 1 && flips[0].0.index(bytes.len()) < bytes.len() / 2;
        prop_assert!(foreign || !(flips.is_empty() || rows_hit) || found.is_err());
    }
}

#[test]
fn a_recording_behind_another_is_not_passed_over() {
    let path = scratch("two.parquet");
    write(&path, format("recorded"), &ranges(7), &["c", "d"]);
    let other = fs::read(&path).unwrap();
    for (one, another) in [(recording(), recording()), (recording(), &other), (&other, recording())] {
        fs::write(&path, [&one[..], another].concat()).unwrap();
        let error = read(&path, None).unwrap_err().to_string();
        assert!(error.contains("more than one recording"), "{error}");
    }
}

/// A recording's bytes; more than half of them are rows.
fn recording() -> &'static Vec<u8> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let path = scratch("whole.parquet");
        write(&path, format("recorded"), &ranges(2000), &["a", "b"]);
        fs::read(&path).unwrap()
    })
}

/// As if another tool had written it: it has no checksum that counts, and its damage may go
/// unnoticed.
fn foreign(recording: &[u8]) -> Vec<u8> {
    let mut bytes = recording.to_vec();
    let creator = bytes.windows(8).rposition(|window| window == b"foresee ").unwrap();
    bytes[creator..creator + 7].copy_from_slice(b"another");
    bytes
}

#[test]
fn what_is_packed_otherwise_or_no_utf_8_is_said_to_be() {
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    for (name, bytes, part) in [
        ("packed.csv.xz", b"\xfd7zXZ\0\0".to_vec(), "xz -dc FILE"),
        ("packed.csv.bz2", b"BZh91AY&SY".to_vec(), "bzip2 -dc FILE"),
        ("wide.csv", utf_16("\u{feff}1,hm,0,Read,0,4096,10\n"), "iconv -f UTF-16"),
    ] {
        let path = scratch(name);
        fs::write(&path, bytes).unwrap();
        let error = read(&path, None).unwrap_err();
        assert!(error.contains(name) && error.contains(part), "{error}");
    }
    // A trace of numbers may begin as UTF-16 does.
    let path = scratch("begins.oracleGeneral");
    let requests = [Request { time_ns: 0xfeff_u64 * 1_000_000_000, ..object(7) }];
    write(&path, format("oracleGeneral"), &requests, &[""]);
    assert!(fs::read(&path).unwrap().starts_with(b"\xff\xfe") && read(&path, None).unwrap().0.len() == 1);
}
