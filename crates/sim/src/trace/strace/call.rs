//! One system call as strace prints it: name, arguments, result, duration.
//!
//! ```text
//! pread64(4</data/f>, "\6\0"..., 784, 64)      = 784 <0.000005>
//! openat(AT_FDCWD</root>, "f", O_RDONLY)       = 3</data/f>
//! sendfile(1</dev/pts/0>, 3</data/f>, [0] => [4096], 65536) = 4096
//! ```

use std::iter::Peekable;
use std::str::Bytes;

use super::super::text::seconds;

/// A call that went well.
pub(super) struct Call<'a> {
    /// All of it.
    pub(super) text: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: Vec<&'a str>,
    pub(super) result: i64,
    /// 0 where it is not told.
    pub(super) took_ns: u64,
    result_text: &'a str,
}

/// A descriptor and the path it leads to.
#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) number: i32,
    pub(super) path: String,
}

impl<'a> Call<'a> {
    /// None if the call failed, or did not return.
    pub(super) fn parse(text: &'a str) -> Result<Option<Call<'a>>, String> {
        let shown = || text.chars().take(60).collect::<String>().escape_debug().to_string();
        let (name, rest) = text.split_once('(').ok_or_else(|| format!("'{}' is no system call", shown()))?;
        let cut = |what: &str| format!("{what} of '{}' is missing; the line may be cut short", shown());
        let (arguments, rest) = arguments(rest).ok_or_else(|| cut("the end"))?;
        let result_text = rest.trim_start().strip_prefix('=').ok_or_else(|| cut("the result"))?.trim();
        let (result_text, took_ns) = match result_text.strip_suffix('>').and_then(|it| it.rsplit_once(" <")) {
            Some((result, took)) => (result, seconds(took, "-T")?),
            None => (result_text, 0),
        };
        let digits = result_text.find(|it: char| !it.is_ascii_digit()).unwrap_or(result_text.len());
        let Ok(result) = result_text[..digits].parse() else { return Ok(None) };
        Ok(Some(Call { text, name, arguments, result, took_ns, result_text }))
    }

    fn argument(&self, at: usize) -> Result<&'a str, String> {
        let missing = || format!("{} has {} arguments; one more was looked for", self.name, self.arguments.len());
        self.arguments.get(at).copied().ok_or_else(missing)
    }

    pub(super) fn number(&self, at: usize) -> Result<i64, String> {
        let text = self.argument(at)?;
        text.parse().map_err(|_| format!("'{}' is no number for {}", text.escape_debug(), self.name))
    }

    /// Whether this argument holds this word, as flags do.
    pub(super) fn has(&self, at: usize, word: &str) -> bool {
        let is_part = |it: char| !(it.is_ascii_alphanumeric() || it == '_');
        self.arguments.get(at).is_some_and(|it| it.split(is_part).any(|part| part == word))
    }

    /// What a structure that this call filled says of a file's size.
    pub(super) fn size(&self) -> Option<u64> {
        let (_, rest) = self.text.split_once("st_size=")?;
        rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
    }

    /// A number behind a pointer, as `[0] => [4096]`; None for NULL.
    pub(super) fn pointed(&self, at: usize) -> Result<Option<i64>, String> {
        let text = self.argument(at)?;
        if text == "NULL" {
            return Ok(None);
        }
        let number =
            text.strip_prefix('[').and_then(|it| it.split_once(']')).and_then(|(number, _)| number.parse().ok());
        number.map(Some).ok_or_else(|| format!("'{}' is no offset for {}", text.escape_debug(), self.name))
    }

    pub(super) fn descriptor(&self, at: usize) -> Result<Descriptor, String> {
        Descriptor::parse(self.argument(at)?)
    }

    pub(super) fn result_descriptor(&self) -> Result<Descriptor, String> {
        Descriptor::parse(self.result_text)
    }
}

impl Descriptor {
    fn parse(text: &str) -> Result<Descriptor, String> {
        let parts = text.split_once('<').and_then(|(number, rest)| Some((number, rest.rsplit_once('>')?.0)));
        let (number, path) = parts.ok_or_else(|| format!("descriptor '{text}' has no path; run strace with -y"))?;
        let number = number.parse().map_err(|_| format!("'{}' is no descriptor", text.escape_debug()))?;
        // -yy tells what a device is as well: /dev/null<char 1:3>.
        let path = path.split_once('<').map_or(path, |(path, _)| path);
        Ok(Descriptor { number, path: unescaped(path) })
    }
}

/// Parts the arguments, and gives what follows the closing bracket. Commas and brackets in strings,
/// paths and structures are theirs.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let bytes = text.as_bytes();
    let (mut found, mut from, mut depth, mut at) = (Vec::new(), 0, 0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at + 1)?,
            b'<' if at > 0 && (bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b'D') => at = end_of_path(bytes, at)?,
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                if !(found.is_empty() && text[from..at].trim().is_empty()) {
                    found.push(text[from..at].trim());
                }
                return Some((found, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the string that begins here ends.
fn end_of_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Where the path of a descriptor ends. strace escapes `<` and `>` in it; that of a socket holds
/// `->`. A shift, `1<<3`, is none.
fn end_of_path(bytes: &[u8], from: usize) -> Option<usize> {
    if bytes.get(from + 1) == Some(&b'<') {
        return Some(from + 1);
    }
    let follows = |at: usize| bytes.get(at + 1).is_none_or(|byte| b",)]} (>".contains(byte));
    (from..bytes.len()).find(|&at| bytes[at] == b'>' && follows(at))
}

/// A path without C's escapes.
fn unescaped(path: &str) -> String {
    if !path.contains('\\') {
        return path.to_owned();
    }
    let mut bytes = Vec::new();
    let mut rest = path.bytes().peekable();
    while let Some(byte) = rest.next() {
        let escaped = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match escaped {
            None => byte,
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'v') => 0x0b,
            Some(b'f') => 0x0c,
            Some(digit @ b'0'..=b'7') => code(digit - b'0', 8, &mut rest),
            // With -x.
            Some(b'x') => code(0, 16, &mut rest),
            Some(itself) => itself,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A byte that is written as a number in this base: so far it is this, and at most two digits follow.
fn code(first: u8, base: u32, rest: &mut Peekable<Bytes<'_>>) -> u8 {
    let digit = |byte: u8| char::from(byte).to_digit(base);
    let next = || rest.next_if(|&it| digit(it).is_some()).and_then(digit);
    std::iter::from_fn(next).take(2).fold(first, |code, digit| code.wrapping_mul(base as u8).wrapping_add(digit as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_parted_where_they_end() {
        for (text, parted) in [
            (r#"3</etc/a, b>, "x, \")"..., 4096) = 1"#, vec!["3</etc/a, b>", r#""x, \")"..."#, "4096"]),
            (
                "4<TCP:[1.2.3.4:5->6.7.8.9:10]>, [{iov_base=NULL, iov_len=3}], 1) = 3",
                vec!["4<TCP:[1.2.3.4:5->6.7.8.9:10]>", "[{iov_base=NULL, iov_len=3}]", "1"],
            ),
            ("1</dev/null<char 1:3>>, 1<<3, [0] => [9]) = 1", vec!["1</dev/null<char 1:3>>", "1<<3", "[0] => [9]"]),
            (") = 5", vec![]),
        ] {
            assert_eq!(arguments(text).unwrap().0, parted, "{text}");
        }
        assert!(arguments(r#"3</a>, "x"#).is_none());
    }

    #[test]
    fn descriptors_and_results() {
        let call = Call::parse(r#"openat(AT_FDCWD</>, "a", 0) = 3</a\74\303\274 b> <0.000123>"#).unwrap().unwrap();
        let descriptor = call.result_descriptor().unwrap();
        assert_eq!((descriptor.number, descriptor.path.as_str(), call.took_ns), (3, "/a<ü b", 123_000));
        let hexadecimal = Descriptor::parse(r"3<\x2f\x61\xc3\xbc1>").unwrap();
        assert_eq!(hexadecimal.path, "/aü1");
        assert!(Call::parse("read(3</a>, 0x7ff, 9)   = -1 EIO (Input/output error)").unwrap().is_none());
        assert!(Call::parse("exit_group(0)           = ?").unwrap().is_none());
        assert!(Descriptor::parse("3").unwrap_err().contains("with -y") && Descriptor::parse("x<y>").is_err());
    }
}
