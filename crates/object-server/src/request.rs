//! What a client asks.

use std::io::BufRead;
use std::ops::Range;

/// A request.
pub struct Request {
    pub line: String,
    pub method: String,
    pub is_head: bool,
    pub path: String,
    pub query: String,
    pub range: Option<String>,
    pub if_match: Option<String>,
    pub if_unmodified_since: Option<String>,
    pub copy_source: Option<String>,
    pub authorization: Option<String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn read(lines: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        if lines.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut request = Request {
            line: format!("{method} {target}"),
            is_head: method == "HEAD",
            method,
            path: unescaped(path),
            query: unescaped(query),
            range: None,
            if_match: None,
            if_unmodified_since: None,
            copy_source: None,
            authorization: None,
            body: Vec::new(),
        };
        let mut length = 0;
        loop {
            let mut header = String::new();
            lines.read_line(&mut header).ok()?;
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            let value = Some(value.to_owned());
            match name.to_ascii_lowercase().as_str() {
                "range" => request.range = value,
                "if-match" => request.if_match = value,
                "if-unmodified-since" => request.if_unmodified_since = value,
                "x-amz-copy-source" => request.copy_source = value.map(|it| unescaped(&it)),
                "authorization" => request.authorization = value,
                "content-length" => length = value?.parse().ok()?,
                _ => {}
            }
        }
        request.body = vec![0; length];
        lines.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    /// Whether it is more than a question.
    pub fn changes_something(&self) -> bool {
        !matches!(&*self.method, "GET" | "HEAD")
    }

    /// What is wanted of so many bytes: empty if there is none of it.
    pub fn bytes(&self, size: usize) -> Option<Range<usize>> {
        let (first, last) = self.range.as_ref()?.strip_prefix("bytes=")?.split_once('-')?;
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(first.min(size)..(last + 1).min(size))
    }
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}
