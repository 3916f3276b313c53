//! Why a file is of no format that is read, as far as its beginning tells.

/// What other programs' compressed files begin with, and what decompresses them.
const COMPRESSED: [(&[u8], &str); 5] = [
    (b"\xfd7zXZ\0", "xz -d"),
    (b"BZh", "bunzip2"),
    (b"\x1f\x8b", "gunzip"),
    (b"\x28\xb5\x2f\xfd", "unzstd"),
    (b"PK\x03\x04", "unzip"),
];

/// Lines in which a call of strace's is looked for.
const LINES_MAX: usize = 16;

/// What a file is that begins so, once what foresee itself decompresses is undone, and what would make
/// it a trace.
pub(super) fn reason(head: &[u8]) -> Option<String> {
    if head.starts_with(b"foresee-log ") {
        return Some("is the log of a run, which tells no durations; 'foresee record' writes a trace".to_owned());
    }
    if let Some((_, by)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(format!(
            "is compressed in a way that is not read here (gzip and zstd are, once); use {by} before"
        ));
    }
    let text = String::from_utf8_lossy(head);
    let is_strace = text.lines().take(LINES_MAX).any(is_call);
    is_strace.then(|| "looks like strace's without times in seconds; trace with 'strace -f -y -ttt'".to_owned())
}

/// Whether a line is a call, as strace prints them, behind whatever numbers.
fn is_call(line: &str) -> bool {
    let line =
        line.trim_start_matches("[pid").trim_start_matches(|it: char| " ]:.".contains(it) || it.is_ascii_digit());
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|it| it.is_ascii_lowercase() || b"_0123456789".contains(&it));
    line.split_once('(').is_some_and(|(name, rest)| is_name(name) && rest.contains(") ") && rest.contains("= "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_a_trace_says_what_would_make_it_one() {
        for line in [
            "openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3",
            "[pid 12] 10:00:01.123 read(3</a>, \"x\", 1)  = 1",
            "77    10:00:01 close(3)            = 0",
        ] {
            assert!(reason(line.as_bytes()).unwrap().contains("-ttt"), "{line}");
        }
        assert!(reason(b"\xfd7zXZ\0\0").unwrap().contains("xz -d"));
        assert!(reason(b"foresee-log 3").unwrap().contains("foresee record"));
        for other in ["", "1,2,3\n", "f(x) is a function\n", "1.5 (a) = 3\n"] {
            assert_eq!(reason(other.as_bytes()), None, "{other}");
        }
    }
}
