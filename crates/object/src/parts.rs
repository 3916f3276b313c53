//! What answers with a part of an object leave out of their heads and say elsewhere in them: the client
//! wants it where it looks for it. And it wants all that it asked for, where who sends less is free to.

use object_store::client::HttpResponse;

/// An answer with all there is.
const ALL: u16 = 200;
/// That there is nothing of what was asked for (section 15.5.17).
const BEYOND: u16 = 416;
/// An answer with a part (RFC 9110 section 15.3.7).
const PART: u16 = 206;
/// Which bytes it has, and of how many.
const RANGE: &str = "content-range";
const LENGTH: &str = "content-length";

/// How long the whole is, as who asks for a part of it knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole(pub u64);

/// Who is asked for a part of an object without bytes may send all of it, as the servers of Go do: the client takes
/// that for one who sends no parts of any.
pub(crate) fn of_nothing(mut answer: HttpResponse) -> HttpResponse {
    let is_empty = answer.headers().get(LENGTH).is_some_and(|it| it == "0");
    if is_empty
        && answer.status().as_u16() == ALL
        && let Ok(beyond) = BEYOND.try_into()
    {
        *answer.status_mut() = beyond;
    }
    answer
}

/// Which bytes of an object: from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    first: u64,
    last: u64,
}

impl Part {
    /// As who asks for it says it: `bytes=0-4`.
    pub fn of(range: &str) -> Option<Self> {
        Self::between(range.trim().strip_prefix("bytes=")?)
    }

    /// As an answer says it, and what it says of the whole: `bytes 0-4/5`.
    fn sent(range: &str) -> Option<(Self, &str)> {
        let (part, whole) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
        Some((Self::between(part)?, whole))
    }

    fn between(range: &str) -> Option<Self> {
        let (first, last) = range.split_once('-')?;
        let part = Part { first: first.parse().ok()?, last: last.parse().ok()? };
        part.length().map(|_| part)
    }

    fn length(self) -> Option<u64> {
        self.last.checked_sub(self.first)?.checked_add(1)
    }
}

/// Says how long the part is, which answers in chunks do not, nor those that end with their connection;
/// and how long the whole is, where the answer leaves it open (RFC 9110 section 14.4). A part that ends too early
/// passes for the one that was asked for, if it is as long as it says: who reads asks for the rest.
pub(crate) fn measured(mut answer: HttpResponse, asked: Part, whole: Option<Whole>) -> HttpResponse {
    let is_part = answer.status().as_u16() == PART;
    let range = answer.headers().get(RANGE).filter(|_| is_part).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let Some((sent, said)) = range.as_deref().and_then(Part::sent) else { return answer };
    let Some(length) = sent.length() else { return answer };
    let is_measured = answer.headers().get(LENGTH).is_some_and(|it| *it == length.to_string());
    answer.headers_mut().entry(LENGTH).or_insert(length.into());
    let whole = if said == "*" { whole.map(|it| it.0) } else { said.parse().ok() };
    let Some(whole) = whole else { return answer };
    let last = match is_measured && sent.first == asked.first && sent.last < asked.last {
        true => asked.last.min(whole.saturating_sub(1)),
        false => sent.last,
    };
    if let Ok(range) = format!("bytes {}-{last}/{whole}", sent.first).try_into() {
        answer.headers_mut().insert(RANGE, range);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_a_length() {
        let sent = |range: &str| Part::sent(range).map(|(part, whole)| (part.length().unwrap(), whole.to_owned()));
        assert_eq!(sent("bytes 0-4/5"), Some((5, "5".to_owned())));
        assert_eq!(sent("bytes 3-3/*"), Some((1, "*".to_owned())));
        assert_eq!(Part::of("bytes=3-4"), Some(Part { first: 3, last: 4 }));
        let top = format!("bytes 0-{}/5", u64::MAX);
        for no_part in ["bytes */5", "bytes 4-3/5", "lines 0-4/5", "", &top] {
            assert_eq!(sent(no_part), None, "{no_part}");
        }
        assert!(["bytes=-5", "bytes=5-", "bytes 0-4"].into_iter().all(|it| Part::of(it).is_none()));
    }
}
