//! What answers with a part of an object leave out of their heads and say elsewhere in them: the client
//! wants it where it looks for it.

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

/// Says how long the part is, which answers in chunks do not, nor those that end with their connection;
/// and how long the whole is, where the answer leaves it open (RFC 9110 section 14.4).
pub(crate) fn measured(mut answer: HttpResponse, whole: Option<Whole>) -> HttpResponse {
    let is_part = answer.status().as_u16() == PART;
    let range = answer.headers().get(RANGE).filter(|_| is_part).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let Some(range) = range else { return answer };
    if !answer.headers().contains_key(LENGTH)
        && let Some(length) = length(&range)
    {
        answer.headers_mut().insert(LENGTH, length.into());
    }
    if let (Some(open), Some(Whole(whole))) = (range.strip_suffix('*'), whole)
        && let Ok(range) = format!("{open}{whole}").try_into()
    {
        answer.headers_mut().insert(RANGE, range);
    }
    answer
}

/// Of `bytes 0-4/5`.
fn length(range: &str) -> Option<u64> {
    let (first, last) = range.trim().strip_prefix("bytes ")?.split_once('/')?.0.split_once('-')?;
    last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_a_length() {
        assert_eq!((length("bytes 0-4/5"), length("bytes 3-3/*")), (Some(5), Some(1)));
        let top = format!("bytes 0-{}/5", u64::MAX);
        assert!(["bytes */5", "bytes 4-3/5", "lines 0-4/5", "", &top].into_iter().all(|it| length(it).is_none()));
    }
}
