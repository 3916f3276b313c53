//! The formats of others: each is recognised, and read to the byte; what is broken is named with
//! its line. Samples are our own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use foresee_sim::load::{Taking, Trace};
use foresee_sim::trace::{Format, Input, REGISTRY, Reader, Request, Span, open};

/// time_ns, process, thread, file's name, offset, length, took_ns, write.
type Row = (u64, i32, i32, &'static str, u64, u64, u64, bool);

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn read(path: &Path, format: Option<&'static Format>) -> Result<(Vec<Request>, Vec<String>), String> {
    let mut reader = open(path, format, 4096).map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    while let Some(request) = reader.next().map_err(|error| error.to_string())? {
        requests.push(request);
    }
    Ok((requests, reader.names().to_vec()))
}

/// The sample is recognised as this format and as no other, and holds these requests.
fn holds(format: &str, sample: &[u8], rows: &[Row]) {
    let path = scratch(&format!("sample.of.{format}"));
    fs::write(&path, sample).unwrap();
    let mut input = Input::open(&path).unwrap();
    let head = input.head().unwrap();
    let takers: Vec<_> = REGISTRY.iter().filter(|it| (it.detect)(&head)).map(|it| it.name).collect();
    assert_eq!(takers, [format]);
    let (requests, names) = read(&path, None).unwrap();
    let found: Vec<_> = requests
        .iter()
        .map(|it| {
            let Span::Range { offset, length } = it.span else { panic!("{it:?}") };
            let name = names[it.file as usize].as_str();
            (it.time_ns, it.process, it.thread, name, offset, length, it.took_ns, it.write)
        })
        .collect();
    assert_eq!(found, rows, "{format}");
    // Packed, it is the same.
    let packed = scratch(&format!("packed.{format}.zst"));
    fs::write(&packed, zstd::encode_all(sample, 1).unwrap()).unwrap();
    assert_eq!(read(&packed, None).unwrap(), (requests, names));
}

/// Reading it as this format fails, with these words.
fn breaks(format: &str, sample: &[u8], words: &[&str]) {
    let path = scratch(&format!("broken.{format}"));
    fs::write(&path, sample).unwrap();
    let error = read(&path, Some(format.parse().unwrap())).unwrap_err();
    for word in words {
        assert!(error.contains(word), "{format}: '{word}' is not in: {error}");
    }
}

const S: u64 = 1_000_000_000;

#[test]
fn msr_cambridge() {
    let sample = "128166372003061629,hm,1,Read,383496192,32768,413\n128166372003061639,hm,0,Write,4096,512,1\n";
    let rows = [(0, 0, 0, "hm.1", 383_496_192, 32768, 41300, false), (1000, 0, 0, "hm.0", 4096, 512, 100, true)];
    holds("msr", sample.as_bytes(), &rows);
    let headed = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{sample}");
    holds("msr", headed.as_bytes(), &rows);
    breaks("msr", sample.replace("Write", "write").as_bytes(), &["line 2: 'write' is no Type"]);
    breaks("msr", b"1,hm,1,Read,0,1\n", &["line 1: has 6 columns, and not 7: Timestamp, Hostname"]);
    breaks("msr", sample.replace(",512,", ",-512,").as_bytes(), &["line 2: '-512' is no number for the column 'Size'"]);
}

#[test]
fn cloud_physics_text() {
    let sample = "1,100,28,6656,40\n1,100,00,0,0\n1,102,8a,512,41\n";
    let rows = [(0, 0, 0, "", 40 * 512, 6656, 0, false), (2 * S, 0, 0, "", 41 * 512, 512, 0, true)];
    holds("cloudphysics", sample.as_bytes(), &rows);
    breaks("cloudphysics", b"1,100,28,6656,40\n1,100,2x,6656,40\n", &["line 2: '2x' is no SCSI opcode"]);
    breaks("cloudphysics", b"3,100,28,6656,40\n", &["'3' is no version"]);
    breaks(
        "cloudphysics",
        b"1,100,28,6656,99999999999999999\n",
        &["'99999999999999999' in the column 'lbn' is beyond"],
    );
}

#[test]
fn vscsi_records_of_both_versions() {
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for (at, command, length, sector) in [(0_u64, 0x28_u16, 4096_u32, 16_u64), (1, 0x12, 0, 0), (2, 0x2a, 512, 7)] {
        let time = (1_000_000 + at).to_le_bytes();
        let [serial, segments] = [at as u32, 1_u32].map(u32::to_le_bytes);
        let (length, sector, command) = (length.to_le_bytes(), sector.to_le_bytes(), command.to_le_bytes());
        one.extend([&serial[..], &length, &segments, &command, &0x0103_u16.to_le_bytes(), &sector, &time].concat());
        let rest = [&serial[..], &length, &segments, &sector, &time, &50_u64.to_le_bytes()].concat();
        two.extend([&command[..], &0x0201_u16.to_le_bytes(), &rest].concat());
    }
    holds("vscsi", &one, &[(0, 0, 0, "", 8192, 4096, 0, false), (2000, 0, 0, "", 3584, 512, 0, true)]);
    holds("vscsi", &two, &[(0, 0, 0, "", 8192, 4096, 50_000, false), (2000, 0, 0, "", 3584, 512, 50_000, true)]);
    breaks("vscsi", &one[..70], &["byte 64: a record of 32 bytes begins here, and only 6 are left"]);
    breaks("vscsi", b"text\n", &["begins with no vscsi record"]);
}

#[test]
fn lcs_of_every_version() {
    let mark = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    for version in 1..=8_u64 {
        let mut file = vec![0; 8192];
        file[..8].copy_from_slice(&mark);
        file[8..16].copy_from_slice(&version.to_le_bytes());
        file[8184..].copy_from_slice(&mark);
        for (time, id, size, operation, tenant) in [(50_u32, 7_u64, 4096_u32, 12_u8, 3_u32), (52, u64::MAX, 512, 13, 4)]
        {
            file.extend(time.to_le_bytes());
            file.extend(id.to_le_bytes());
            file.extend(size.to_le_bytes());
            if version > 2 {
                file.extend([0; 4]);
            }
            if version > 1 {
                file.extend((u32::from(operation) | tenant << 8).to_le_bytes());
            }
            if version > 2 {
                file.extend([9; 4]);
            }
            file.extend([0xff; 8]);
            file.extend(vec![5; if version > 3 { 4 << (version - 4) } else { 0 }]);
        }
        let path = scratch("sample.lcs");
        fs::write(&path, &file).unwrap();
        let (requests, _) = read(&path, None).unwrap();
        let object = |number, bytes| Span::Object { number, bytes };
        let tenant = |tenant| if version == 1 { 0 } else { tenant };
        let found: Vec<_> = requests.iter().map(|it| (it.time_ns, it.process, it.span, it.write)).collect();
        let expected = [(0, tenant(3), object(7, 4096), false), (2 * S, tenant(4), object(u64::MAX, 512), version > 1)];
        assert_eq!(found, expected, "version {version}");
        breaks("lcs", &file[..file.len() - 1], &["begins here, and only"]);
        file[8] = 9;
        breaks("lcs", &file, &["version 9; 1 to 8 can be read"]);
    }
    breaks("lcs", &[0; 9000], &["begins with no header of an lcs file"]);
    breaks("lcs", &mark, &["only 8 are left"]);
}

#[test]
fn spc_and_umass() {
    let sample = "0,303567,3584,w,0.000000\n1,8,4096,R,0.026214,17,x\n";
    let rows = [(0, 0, 0, "0", 303_567 * 512, 3584, 0, true), (26_214_000, 0, 0, "1", 4096, 4096, 0, false)];
    holds("spc", sample.as_bytes(), &rows);
    breaks("spc", b"0,1,2,r,soon\n", &["line 1: 'soon' is no time in seconds for the column 'Timestamp'"]);
    breaks("spc", b"0,1,2,x,0.5\n", &["'x' is no Opcode"]);
}

#[test]
fn alibaba_and_tencent() {
    let sample = "64,R,126703661056,4096,1577808000000046\n1,W,8192,8192,1577808000000146\n";
    let rows = [(0, 0, 0, "64", 126_703_661_056, 4096, 0, false), (100_000, 0, 0, "1", 8192, 8192, 0, true)];
    holds("alibaba", sample.as_bytes(), &rows);
    holds("alibaba", format!("device_id,opcode,offset,length,timestamp\n{sample}").as_bytes(), &rows);
    breaks("alibaba", b"64,Q,0,0,0\n", &["'Q' is no opcode"]);
    let sample = "1538323200,12910952,128,0,1063\n1538323201,8,16,1,1283\n";
    let rows = [(0, 0, 0, "1063", 12_910_952 * 512, 65536, 0, false), (S, 0, 0, "1283", 4096, 8192, 0, true)];
    holds("tencent", sample.as_bytes(), &rows);
    breaks("tencent", b"1538323200,8,16,2,1283\n", &["'2' is no IOType"]);
}

#[test]
fn fiu_and_arc() {
    let sample = "89966104731 4892 syslogd 904265560 8 W 6 0 531e779b1a27\n89966105731 4893 two words 16 8 R 8 1 aa\n";
    let rows =
        [(0, 4892, 4892, "6:0", 904_265_560 * 512, 4096, 0, true), (1000, 4893, 4893, "8:1", 8192, 4096, 0, false)];
    holds("fiu", sample.as_bytes(), &rows);
    breaks("fiu", b"1 2 a 3 4 X 5 6 b\n", &["'X' is no op"]);
    breaks("fiu", b"1 2 a 3\n", &["has 4 columns, and not 9"]);
    holds(
        "arc",
        b"4711 2 0 0\n17 1 0 1\n",
        &[(0, 0, 0, "", 4711 * 4096, 8192, 0, false), (0, 0, 0, "", 17 * 4096, 4096, 0, false)],
    );
    breaks("arc", b"1 1 0 0\n1 1 0\n", &["line 2: has 3 columns, and not 4"]);
}

#[test]
fn fio_logs_of_both_versions() {
    let three = "fio version 3 iolog\n19 /a b add\n20 /a b open\n117 /a b read 49152 16384\n\
                 373 /a b write 0 4096\n380 /a b sync 0 0\n400 /a b close\n";
    holds(
        "fio",
        three.as_bytes(),
        &[(0, 0, 0, "/a b", 49152, 16384, 0, false), (256_000, 0, 0, "/a b", 0, 4096, 0, true)],
    );
    let two =
        "fio version 2 iolog\n/a add\n/a open\n/a read 0 4096\n/a wait 500 0\n/a trim 0 4096\n/a read 4096 4096\n";
    holds("fio", two.as_bytes(), &[(0, 0, 0, "/a", 0, 4096, 0, false), (500_000, 0, 0, "/a", 4096, 4096, 0, false)]);
    breaks(
        "fio",
        b"fio version 1 iolog\n",
        &["line 1: 'fio version 1 iolog' is not how an iolog of version 2 or 3 begins"],
    );
    breaks("fio", b"fio version 2 iolog\n/a dance 0 0\n", &["line 2:", "ends with no action"]);
    breaks("fio", b"fio version 3 iolog\n7 /a read x 0\n", &["'x' is no number for the column 'offset'"]);
}

#[test]
fn darshan_in_the_order_of_time() {
    let sample = "# darshan log version: 3.41\n# start_time: 1\n\n\
        # DXT, file_id: 1, file_name: /data/with: colon\n# DXT, rank: 0, hostname: node\n\
        # Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)\n\
        \x20X_MPIIO       0  write        0               0       262144      0.0029      0.0032\n\
        \x20X_POSIX       0   read        0               0       262144      0.0048      0.0051\n\
        \x20X_POSIX       0   read        1          262144          512      0.0010      0.0011  [  3] [  4]\n\n\
        # DXT, file_id: 2, file_name: /data/b\n\
        \x20X_POSIX       7  write        0            4096           10      0.0020      0.0021\n";
    holds(
        "darshan",
        sample.as_bytes(),
        &[
            (1_000_000, 0, 0, "/data/with: colon", 262_144, 512, 100_000, false),
            (2_000_000, 7, 7, "/data/b", 4096, 10, 100_000, true),
            (4_800_000, 0, 0, "/data/with: colon", 0, 262_144, 300_000, false),
        ],
    );
    breaks("darshan", b"# x\n X_POSIX 0 read 0 0 1 0.1 0.2\n", &["line 2: stands before the line that names its file"]);
    breaks("darshan", b"# DXT, file_id: 1, file_name: /a\nX_POSIX 0 seek 0 0 1 0.1 0.2\n", &["'seek' is no operation"]);
}

#[test]
fn blkparse_takes_one_event_of_each_request() {
    let sample = "  8,0    0        1     0.000000000  1234  Q   R 223490 + 8 [dd]
  8,0    0        2     0.000001000  1234  G   R 223490 + 8 [dd]
  8,0    1        3     0.000002000  1234  D   R 223490 + 8 [dd]
  8,0    0        4     0.003999000     0  C   R 223490 + 8 [0]
  8,0    0        5     0.004999000  1235  Q  WS 100 + 16 [(null)]
  8,0    0        6     0.005099000  1235  Q  FW [(null)]
  8,0    0        0     0.005100000     0  m   N cfq idle
  8,16   0        8     0.006999000  1235  Q  RA 200 + 16 [(null)]
  8,0    0        9     0.007499000  1235  Q   D 300 + 16 [(null)]
CPU0 (syn):
 Reads Queued:           2,       12KiB\t Writes Queued:           3,       16KiB
Events (syn): 9 entries
";
    holds(
        "blkparse",
        sample.as_bytes(),
        &[
            (0, 1234, 1234, "8,0", 223_490 * 512, 4096, 0, false),
            (4_999_000, 1235, 1235, "8,0", 51200, 8192, 0, true),
            (6_999_000, 1235, 1235, "8,16", 102_400, 8192, 0, false),
        ],
    );
    let issued: String = sample.lines().filter(|line| !line.contains(" Q ")).map(|line| format!("{line}\n")).collect();
    holds("blkparse", issued.as_bytes(), &[(1000, 1234, 1234, "8,0", 223_490 * 512, 4096, 0, false)]);
    breaks("blkparse", b"8,0 0 1 0.5 7 Q R x + 8 [a]\n", &["line 1: 'x' is no number for the column 'sector'"]);
    breaks(
        "blkparse",
        b"8,0 0 1 0.5 7 Q R 8 + 8 [a]\nnonsense\n",
        &["line 2: begins with 'nonsense', which is no device"],
    );
}

/// Forks share positions, threads share tables, dup shares both; calls are interrupted by others
/// and fail.
#[test]
fn strace_follows_descriptors() {
    let sample = r#"10 100.000000 openat(AT_FDCWD</root>, "f", O_RDONLY) = 3</d/f> <0.000010>
10 100.000100 read(3</d/f>, "abc, \")"..., 4096) = 4096 <0.000020>
10 100.000200 dup(3</d/f>)  = 5</d/f> <0.000001>
10 100.000300 read(5</d/f>,  <unfinished ...>
10 100.000350 <... read resumed>"x"..., 100) = 100 <0.000050>
10 100.000400 vfork( <unfinished ...>
11 100.000500 read(3</d/f>, "y"..., 10) = 10 <0.000001>
11 100.000600 close(3</d/f>) = 0 <0.000001>
10 100.000700 <... vfork resumed>)      = 11 <0.000300>
11 100.000800 +++ exited with 0 +++
10 100.000810 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=11} ---
10 100.000900 read(3</d/f>, "z"..., 4) = 4 <0.000001>
10 100.001000 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, child_tid=0x7f} => {parent_tid=[12]}, 88) = 12
12 100.001100 lseek(3</d/f>, 8192, SEEK_SET) = 8192
12 100.001200 openat(AT_FDCWD</root>, "/d/g", O_RDONLY) = 4</d/g>
10 100.001300 readv(3</d/f>, [{iov_base="a", iov_len=1}, {iov_base="b", iov_len=1}], 2) = 2
10 100.001400 pread64(4</d/g>, "q", 1, 12345) = 1
10 100.001500 read(4</d/g>, 0x7fff, 10) = -1 EINTR (Interrupted system call)
10 100.001600 read(4</d/g>, "", 10) = 0
10 100.001700 sendfile(1</dev/pts/0>, 4</d/g>, [50] => [60], 10) = 10
10 100.001800 write(6</d/out>, "w", 1) = 1
10 100.001900 read(7<pipe:[99]>, "p", 1) = 1
10 100.002000 exit_group(0) = ?
"#;
    let at = |us: u64, process: (i32, i32), name, offset, length, took_us: u64, write| {
        (us * 1000, process.0, process.1, name, offset, length, took_us * 1000, write)
    };
    let (main, child) = ((10, 10), (11, 11));
    holds(
        "strace",
        sample.as_bytes(),
        &[
            at(0, main, "/d/f", 0, 4096, 20, false),
            at(200, main, "/d/f", 4096, 100, 50, false),
            at(400, child, "/d/f", 4196, 10, 1, false),
            at(800, main, "/d/f", 4206, 4, 1, false),
            at(1200, main, "/d/f", 8192, 2, 0, false),
            at(1300, main, "/d/g", 12345, 1, 0, false),
            at(1600, main, "/d/g", 50, 10, 0, false),
            at(1700, main, "/d/out", 0, 1, 0, true),
        ],
    );
    // On a terminal, and before there is a second process.
    let bare =
        "100.0 read(3</a>, \"x\", 5) = 5\nstrace: Process 77 attached\n[pid    76] 100.1 read(3</a>, \"x\", 5) = 5\n";
    let (requests, _) = {
        fs::write(scratch("bare.strace"), bare).unwrap();
        read(&scratch("bare.strace"), None).unwrap()
    };
    let spans: Vec<_> = requests.iter().map(|it| it.span).collect();
    assert_eq!(spans, [Span::Range { offset: 0, length: 5 }, Span::Range { offset: 5, length: 5 }]);
    breaks("strace", b"10 100.0 read(3, \"x\", 5) = 5\n", &["line 1: descriptor '3' has no path; run strace with -y"]);
    breaks("strace", b"10 12:00:01 read(3</a>, \"x\", 5) = 5\n", &["line 1: does not begin with a thread and a time"]);
    breaks("strace", b"10 100.0 read(3</a>, \"x\", 5\n", &["line 1: the end of 'read(3</a>, ", "is missing"]);
}

/// Appends go to the file's end, as far as the trace tells where that is; splice moves positions.
#[test]
fn strace_follows_what_is_appended_and_spliced() {
    let sample = r#"10 0.000000 openat(AT_FDCWD</d>, "log", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3</d/log>
10 0.000100 write(3</d/log>, "a"..., 10) = 10
10 0.000100 openat(AT_FDCWD</d>, "log", O_WRONLY|O_APPEND) = 4</d/log>
10 0.000100 fstat(4</d/log>, {st_mode=S_IFREG|0644, st_size=500, ...}) = 0
10 0.000100 write(4</d/log>, "b"..., 6) = 6
10 0.000100 lseek(3</d/log>, 0, SEEK_SET) = 0
10 0.000100 write(3</d/log>, "c"..., 4) = 4
10 0.000100 fcntl(3</d/log>, F_SETFL, O_WRONLY) = 0
10 0.000100 pwrite64(3</d/log>, "d"..., 1, 7) = 1
10 0.000100 ftruncate(4</d/log>, 20) = 0
10 0.000100 write(4</d/log>, "e"..., 2) = 2
10 0.000100 lseek(3</d/log>, 0, SEEK_END) = 90
10 0.000100 write(4</d/log>, "f"..., 3) = 3
10 0.000100 newfstatat(AT_FDCWD</d>, "other", {st_mode=S_IFREG|0644, st_size=9, ...}, 0) = 0
10 0.000100 openat(AT_FDCWD</d>, "in", O_RDONLY) = 5</d/in>
10 0.000100 splice(5</d/in>, NULL, 7<pipe:[9]>, NULL, 50000, 0) = 50000
10 0.000100 read(5</d/in>, "x"..., 100) = 100
10 0.000100 splice(6<pipe:[9]>, NULL, 8</d/out>, [3] => [5], 2, SPLICE_F_MOVE) = 2
10 0.000100 splice(6<pipe:[9]>, NULL, 8</d/out>, NULL, 9, 0) = 9
10 0.000100 write(8</d/out>, "y"..., 1) = 1
10 0.000100 copy_file_range(5</d/in>, NULL, 8</d/out>, NULL, 30, 0) = 30
10 0.000100 write(8</d/out>, "z"..., 1) = 1
"#;
    let at = |line: u64, name, offset, length, write| (line * 100_000, 10, 10, name, offset, length, 0, write);
    let all = [
        at(1, "/d/log", 0, 10, true),
        at(4, "/d/log", 500, 6, true),
        at(6, "/d/log", 506, 4, true),
        at(8, "/d/log", 7, 1, true),
        at(10, "/d/log", 20, 2, true),
        at(12, "/d/log", 90, 3, true),
        at(15, "/d/in", 0, 50_000, false),
        at(16, "/d/in", 50_000, 100, false),
        at(17, "/d/out", 3, 2, true),
        at(18, "/d/out", 0, 9, true),
        at(19, "/d/out", 9, 1, true),
        at(20, "/d/in", 50_100, 30, false),
        at(21, "/d/out", 40, 1, true),
    ];
    // The first request is when the trace begins.
    let since_first = all.map(|it| (it.0 - 100_000, it.1, it.2, it.3, it.4, it.5, it.6, it.7));
    holds("strace", sample.as_bytes(), &since_first);
}

/// The bytes of files below a folder that a trace says were read.
fn read_below(trace: &Path, folder: &Path) -> Vec<(String, u64, u64)> {
    let (requests, names) = read(trace, None).unwrap();
    let spans = requests.iter().filter(|request| !request.write).filter_map(|request| {
        let Span::Range { offset, length } = request.span else { return None };
        let name = Path::new(&names[request.file as usize]).strip_prefix(folder).ok()?;
        Some((name.display().to_string(), offset, length))
    });
    spans.collect()
}

#[test]
fn strace_itself_is_read() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("strace, (it)self");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a"), vec![b'a'; 10_000]).unwrap();
    let out = scratch("itself.strace");
    // The shell opens, dd inherits: both read on from where the other stands.
    let script =
        "exec 3< a; dd bs=100 count=2 <&3 2>&-; (dd bs=50 count=1 <&3 2>&-); dd bs=10 skip=7 count=1 if=a 2>&-";
    let run = Command::new("strace")
        .args(["-f", "-y", "-ttt", "-T", "-o"])
        .arg(&out)
        .args(["sh", "-c", script])
        .current_dir(&folder)
        .output();
    match run {
        Ok(run) if run.status.success() => {
            let found = read_below(&out, &folder);
            let expected = [(0, 100), (100, 100), (200, 50), (70, 10)].map(|(at, bytes)| ("a".to_owned(), at, bytes));
            assert_eq!(found, expected);
        }
        _ => eprintln!("skipped: strace is not installed, or may not trace here"),
    }
}

#[test]
fn fio_itself_is_read() {
    let (folder, log) = (scratch("fio-itself"), scratch("itself.fio"));
    fs::create_dir_all(&folder).unwrap();
    let _ = fs::remove_file(&log);
    let run = Command::new("fio")
        .args(["--name=t", "--size=256k", "--bs=64k", "--rw=read", "--ioengine=psync", "--directory=."])
        .arg(format!("--write_iolog={}", log.display()))
        .current_dir(&folder)
        .output();
    match run {
        Ok(run) if run.status.success() => {
            let (requests, names) = read(&log, None).unwrap();
            assert_eq!(names.len(), 1);
            let spans: Vec<_> = requests.iter().map(|it| it.span).collect();
            assert_eq!(spans, [0, 1, 2, 3].map(|at| Span::Range { offset: at << 16, length: 1 << 16 }));
        }
        _ => eprintln!("skipped: fio is not installed"),
    }
}

#[test]
fn a_real_virtual_disk_is_what_it_is_said_to_be() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/cloudPhysicsIO.full.csv.zst");
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return;
    }
    let trace = Trace::load(&path, None, 512).unwrap();
    assert_eq!(trace.len(), 113_872);
    assert_eq!(trace.entry(trace.len() - 1).time_ns, (5_641_098 - 5_633_898) * S);
}

#[test]
fn writes_can_be_left_out_and_requests_be_whole() {
    let path = scratch("taken.spc");
    fs::write(&path, "0,0,16384,r,0.1\n0,8,4096,w,0.2\n0,0,512,r,0.3\n0,0,0,r,0.4\n").unwrap();
    let all = Taking::from(4096);
    let references = |taking| {
        let trace = Trace::load(&path, None, taking).unwrap();
        (trace.len(), trace.references, trace.distinct_blocks())
    };
    assert_eq!(references(all), (3, 6, 4));
    assert_eq!(references(Taking { reads_only: true, ..all }), (2, 5, 4));
    assert_eq!(references(Taking { whole_requests: true, ..all }), (3, 3, 2));
}
