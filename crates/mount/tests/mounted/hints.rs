//! What programs say through the hint library reaches the mount that the file is on.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use foresee_object_server::Server;

use crate::bytes::bytes;
use crate::place::{Mounted, can_mount, server};
use crate::process::{end, have, wait_until};

/// Says what it will read, and reads it once it is told to.
const PROGRAM: &str = "
import foresee, os, sys, zlib
segments = [(at * 200_000, 50_000) for at in (7, 3, 19, 12, 1, 16)]
foresee.hint_segments('big', segments)
foresee.hint_file('small')
print(foresee.is_active(), flush=True)
sys.stdin.readline()
file, total = os.open('big', os.O_RDONLY), 0
for offset, length in segments:
    total = zlib.crc32(os.pread(file, length, offset), total)
print(zlib.crc32(open('small', 'rb').read(), total))
";

/// So many bytes were asked for of an object.
fn brought(server: &Server, name: &str) -> u64 {
    let lines = server.asked();
    let ranges = lines.iter().filter_map(|line| line.strip_prefix(&format!("GET /b/{name} "))?.split_once('='));
    let bytes = ranges.map(|(_, range)| {
        let (first, last) = range.split_once('-').unwrap();
        last.parse::<u64>().unwrap() + 1 - first.parse::<u64>().unwrap()
    });
    bytes.sum()
}

/// The hint library, for Python to find.
fn library(folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/c/foresee.c");
    let mut command = Command::new("gcc");
    command.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(folder.join("libforesee.so"));
    end(
        {
            command.arg(source).arg("-ldl");
            command
        },
        b"",
    )
    .with(0);
}

#[test]
fn what_a_program_says_it_will_read_is_brought_before_it_does_and_nothing_else() {
    if !can_mount() || !have("gcc") || !have("python3") {
        return;
    }
    let server = server();
    let (big, small) = (bytes("big", 1, 4_000_000), bytes("small", 1, 30_000));
    server.put("/b/big", big.clone());
    server.put("/b/small", small.clone());
    let mounted = Mounted::bucket(&server, &[]);
    library(&mounted.place.path("from"));
    let mut command = Command::new("python3");
    command.args(["-c", PROGRAM]).current_dir(&mounted.at).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bindings/python"));
    command.env("LD_LIBRARY_PATH", mounted.place.path("from"));
    let mut program = command.spawn().unwrap();
    let mut said = BufReader::new(program.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "True\n");
    // Of each range the blocks of 16 KiB that it touches.
    let blocks = |at: u64| (at + 50_000).div_ceil(16_384) - at / 16_384;
    let told: u64 = [7, 3, 19, 12, 1, 16].iter().map(|at| blocks(at * 200_000) * 16_384).sum();
    wait_until("all is brought that was told", || {
        (brought(&server, "big"), brought(&server, "small")) == (told, 30_000)
    });
    program.stdin.take().unwrap().write_all(b"\n").unwrap();
    line.clear();
    said.read_to_string(&mut line).unwrap();
    assert!(program.wait().unwrap().success());
    let mut total = crc(0, &[]);
    for at in [7, 3, 19, 12, 1, 16] {
        total = crc(total, &big[at * 200_000..at * 200_000 + 50_000]);
    }
    assert_eq!(line, format!("{}\n", crc(total, &small)));
    assert_eq!((brought(&server, "big"), brought(&server, "small")), (told, 30_000));
}

/// As zlib's.
fn crc(before: u32, bytes: &[u8]) -> u32 {
    let add = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1)))
    };
    !bytes.iter().fold(!before, add)
}
