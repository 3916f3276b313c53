//! Keys that are no paths: with nothing between two slashes, with parts that are `.` or `..`, or with
//! control characters. A service has them as any others, no file can be called so, and the client gives a
//! whole list up for one of them. So they are taken out of lists before it reads those; and what stands
//! for a folder, whose key ends with a slash, with them.
//!
//! And one that is a path: of Azure the client leaves out what is called as all were asked to begin, and that is
//! how a name is asked for by itself. It measures keys before it takes a slash off their end, so there this one
//! is given a slash.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use futures_util::stream;
use http_body::Frame;
use http_body_util::StreamBody;
use object_store::client::{HttpRequest, HttpResponse, HttpResponseBody};
use object_store::path::{DELIMITER, Path};
use quick_xml::escape::unescape;
use quick_xml::events::Event;
use quick_xml::reader::Reader;
use url::form_urlencoded;

/// How keys are asked for: of S3 and Google Cloud Storage, of Azure.
const LISTS: [&str; 2] = ["list-type=2", "comp=list"];
/// What a list consists of, and which part of that says the key.
const ENTRIES: [(&[u8], &[u8]); 2] = [(b"Contents", b"Key"), (b"Blob", b"Name")];
/// The same of folders, which end with a slash.
const FOLDERS: [(&[u8], &[u8]); 2] = [(b"CommonPrefixes", b"Prefix"), (b"BlobPrefix", b"Name")];
/// Azure's objects, of which the client leaves the one out that has the prefix as its key.
const MEASURED: &[u8] = b"Blob";
const LENGTH: &str = "content-length";
/// What Azure's lists begin with.
const BYTE_ORDER: &[u8] = "\u{feff}".as_bytes();

/// What the keys that are asked for begin with, if keys are.
pub(crate) fn prefix(request: &HttpRequest) -> Option<String> {
    let query = request.uri().query().filter(|query| query.split('&').any(|it| LISTS.contains(&it)))?;
    let prefix = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "prefix");
    Some(prefix.map_or_else(String::new, |(_, prefix)| prefix.into_owned()))
}

/// Makes a list of what begins so one that the client reads as it is meant. The first time that keys are left out
/// it says so, of this bucket.
pub(crate) fn readable(answer: HttpResponse, prefix: String, bucket: &str, is_said: &Arc<AtomicBool>) -> HttpResponse {
    let (mut head, body) = answer.into_parts();
    head.headers.remove(LENGTH);
    let (bucket, is_said) = (bucket.to_owned(), Arc::clone(is_said));
    let list = async move {
        let list = body.bytes().await?;
        // It counts in no place that the reader names.
        let list = if list.starts_with(BYTE_ORDER) { list.slice(BYTE_ORDER.len()..) } else { list };
        let Some(found) = Found::of(&list, &prefix) else { return Ok(Frame::data(list)) };
        if let Some(key) = found.example.filter(|_| !is_said.swap(true, Relaxed)) {
            log::warn!("{bucket}: no file can have the key {key:?} as its name; it and its like are not listed");
        }
        Ok(Frame::data(edited(&list, &found.edits).into()))
    };
    HttpResponse::from_parts(head, HttpResponseBody::new(StreamBody::new(stream::once(list))))
}

/// What is to be changed in a list.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Where, and what is to be there instead.
    edits: Vec<(Range<usize>, &'static str)>,
    /// A key that is left out and stands for no folder.
    example: Option<String>,
}

impl Found {
    /// None if there is nothing, or if it is no list.
    fn of(list: &[u8], prefix: &str) -> Option<Self> {
        let (mut reader, mut found) = (Reader::from_reader(list), Found::default());
        loop {
            let begin = reader.buffer_position() as usize;
            let start = match reader.read_event().ok()? {
                Event::Start(start) => start,
                Event::Eof => return Some(found).filter(|it| !it.edits.is_empty()),
                _ => continue,
            };
            let part = |of: &[(&[u8], &'static [u8])]| {
                of.iter().find(|(name, _)| *name == start.local_name().as_ref()).map(|(_, part)| *part)
            };
            let (is_folder, part) = match (part(&ENTRIES), part(&FOLDERS)) {
                (Some(part), _) => (false, part),
                (None, Some(part)) => (true, part),
                (None, None) => continue,
            };
            let is_measured = start.local_name().as_ref() == MEASURED;
            let (key, end) = key(&mut reader, part)?;
            let place = begin..reader.buffer_position() as usize;
            let folder = key.strip_suffix(DELIMITER);
            if !is_path(if is_folder { folder.unwrap_or(&key) } else { &key }) {
                found.edits.push((place, ""));
                if !folder.is_some_and(is_path) {
                    found.example.get_or_insert(key);
                }
            } else if is_measured && key == prefix {
                found.edits.push((end..end, DELIMITER));
            }
        }
    }
}

/// The key of an entry that has begun, and where it ends. None if it cannot be read, which the client says better.
fn key(reader: &mut Reader<&[u8]>, part: &[u8]) -> Option<(String, usize)> {
    let mut key = None;
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) if start.local_name().as_ref() == part => {
                let begin = reader.buffer_position() as usize;
                let text = reader.read_text(start.name()).ok()?.decode().ok()?;
                // What no XML may have is in no path either.
                let decoded = unescape(&text).map_or_else(|_| String::from('\0'), Cow::into_owned);
                key = Some((decoded, begin + text.len()));
            }
            Event::Start(start) => _ = reader.read_to_end(start.name()).ok()?,
            Event::End(_) => return key,
            Event::Eof => return None,
            _ => {}
        }
    }
}

fn is_path(key: &str) -> bool {
    // What the client takes for one without the slashes around it would be another object's.
    Path::parse(key).is_ok_and(|path| path.as_ref() == key && !key.is_empty())
}

/// The list with these changes, which are in order.
fn edited(list: &[u8], edits: &[(Range<usize>, &str)]) -> Vec<u8> {
    let (mut result, mut from) = (Vec::with_capacity(list.len()), 0);
    for (part, instead) in edits {
        result.extend_from_slice(&list[from..part.start]);
        result.extend_from_slice(instead.as_bytes());
        from = part.end;
    }
    result.extend_from_slice(&list[from..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a list, and what is said of it.
    fn left(list: &str) -> Option<(String, Option<String>)> {
        let found = Found::of(list.as_bytes(), "a&b")?;
        Some((String::from_utf8(edited(list.as_bytes(), &found.edits)).unwrap(), found.example))
    }

    #[test]
    fn keys_that_are_no_paths_are_left_out() {
        let of_key = |key: &str| format!("<Contents><Owner><ID>a//b</ID></Owner><Key>{key}</Key></Contents>");
        let list = |keys: &[&str]| {
            let keys: String = keys.iter().map(|key| of_key(key)).collect();
            format!("<?xml version=\"1.0\"?><List xmlns=\"http://a//b\"><Prefix>a//</Prefix>{keys}</List>")
        };
        let good = ["a", "a/b", "a.b/..c", "a&amp;b", "&#228; %2F", "-"];
        assert_eq!(left(&list(&good)), None);
        for bad in ["a//b", "/a", "a/./b", "../a", "a/..", "a&#1;b", "a&#0;b", "a\u{7f}", "/", "a//"] {
            let keys = [&good[..3], &[bad], &good[3..]].concat();
            assert_eq!(left(&list(&keys)).map(|it| it.0), Some(list(&good)), "{bad}");
        }
        assert_eq!(left(&list(&["a/", "a&amp;//b", "c//d"])), Some((list(&[]), Some("a&//b".to_owned()))));
        assert_eq!(left(&list(&["a/"])), Some((list(&[]), None)), "it stands for a folder");
    }

    #[test]
    fn so_are_folders_and_azures() {
        let list = |keys: &str| format!("<Enumeration><Blobs>{keys}</Blobs></Enumeration>");
        let name =
            |of: &str, name: &str| format!("<{of}><Properties><Name>/</Name></Properties><Name>{name}</Name></{of}>");
        let good = name("Blob", "a") + &name("BlobPrefix", "b/");
        assert_eq!(left(&list(&good)), None);
        let mixed = name("BlobPrefix", "b//") + &good + &name("Blob", "..");
        assert_eq!(left(&list(&mixed)), Some((list(&good), Some("b//".to_owned()))));
        let folders = "<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>";
        let bad = "<CommonPrefixes><Prefix>a/../</Prefix></CommonPrefixes>";
        assert_eq!(left(&list(&format!("{bad}{folders}"))).map(|it| it.0), Some(list(folders)));
    }

    #[test]
    fn azures_object_that_has_the_prefix_as_its_key_is_given_a_slash() {
        let list =
            |names: &[&str]| names.iter().map(|it| format!("<Blob><Name>{it}</Name></Blob>")).collect::<String>();
        let edited = left(&list(&["a&amp;b", "a&amp;b-", "a//"]));
        assert_eq!(edited, Some((list(&["a&amp;b/", "a&amp;b-"]), Some("a//".to_owned()))));
        assert_eq!(left("<Contents><Key>a&amp;b</Key></Contents><BlobPrefix><Name>a&amp;b/</Name></BlobPrefix>"), None);
    }

    #[test]
    fn what_is_no_list_stays() {
        for no_list in ["", "text", "<Contents><Key>a//b", "<Contents></Contents>"] {
            assert_eq!(left(no_list), None, "{no_list}");
        }
    }
}
