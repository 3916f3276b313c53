//! What an error of a service means to who asked, and what helps.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use foresee_store::Error;

use crate::refused::NOT_TRUSTED;
use crate::service::Service;
use crate::settings::Unusable;
use crate::trust;

/// Characters of what a server says that are told.
const SAID_MAX: usize = 1000;

/// What is asked.
pub(crate) struct Place {
    pub service: Service,
    pub bucket: String,
}

fn error(kind: io::ErrorKind, text: String) -> Error {
    Error::Io(Arc::new(io::Error::new(kind, text)))
}

/// Nothing came in time.
pub(crate) fn timed_out(deadline: Duration) -> Error {
    error(io::ErrorKind::TimedOut, format!("no answer within the deadline of {deadline:?}"))
}

/// What is at the bottom of an error: it has no more to say than that in most cases.
fn root(mut why: &(dyn std::error::Error + 'static)) -> String {
    while let Some(below) = why.source() {
        why = below;
    }
    why.to_string()
}

/// Where an error says for how long it was tried and how often: behind what was asked for, before what was
/// answered.
fn tried(text: &str) -> Option<Range<usize>> {
    let asked = text.find("Error performing ")?;
    let begin = asked + text[asked..].find(" in ")?;
    let end = begin + text[begin..].find(" - ")?;
    text[begin + 4..end].starts_with(|it: char| it.is_ascii_digit()).then_some(begin..end)
}

/// What an error says, but for how long it was tried and how often: of two that are the same otherwise
/// one is told.
fn said(why: &object_store::Error) -> String {
    let text = why.to_string();
    brief(&tried(&text).map_or_else(|| text.clone(), |it| text[..it.start].to_owned() + &text[it.end..]))
}

/// A text as one line, with the code and the message alone of an answer that is in it: the rest of that names
/// the object once more, and numbers of the request. Of pages for browsers it is the beginning.
fn brief(text: &str) -> String {
    let part = |name: &str| Some(text.split_once(&format!("<{name}>"))?.1.split_once("</")?.0);
    let begin = ["\u{feff}", "<?xml", "<Error"].iter().filter_map(|it| text.find(it)).min();
    let short = match (begin, part("Code")) {
        (Some(begin), Some(code)) => {
            let message = part("Message").map_or_else(String::new, |it| format!(": {it}"));
            format!("{}{code}{message}", &text[..begin])
        }
        _ => text.to_owned(),
    };
    let line = short.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// What was answered, of what an error says: the name of what was asked for may be any text.
fn answered(text: &str) -> &str {
    tried(text).map_or(text, |it| &text[it.end..])
}

/// Whether the service takes the credentials no more, or does not know them: others may be set by now. It
/// says so by this status or that.
pub(crate) fn are_spent(why: &object_store::Error) -> bool {
    let text = why.to_string();
    let codes = ["ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId"];
    codes.iter().any(|code| answered(&text).contains(code))
}

/// What an error says, and what is at the bottom of it, if it leaves that out.
fn with_root(why: &object_store::Error) -> String {
    let (text, root) = (said(why), brief(&root(why)));
    if text.contains(&root) { text } else { format!("{text} ({root})") }
}

impl Place {
    fn url(&self) -> String {
        format!("{}://{}", self.service.scheme(), self.bucket)
    }

    /// Settings that no client can be made of.
    pub fn unusable(&self, why: &Unusable) -> Error {
        let why = match why {
            Unusable::Setting(why) => why.clone(),
            Unusable::Client(why) => {
                format!("{why}: look at what is set; it takes {}", self.service.credentials())
            }
        };
        error(io::ErrorKind::InvalidInput, format!("{}: {why}", self.url()))
    }

    /// It has never answered, and does not.
    pub fn away(&self, why: &object_store::Error) -> Error {
        let text =
            format!("{} does not answer: {}: look at its name, and at the endpoint that is set", self.url(), root(why));
        error(io::ErrorKind::NotConnected, text)
    }

    /// A page of its list says that the next page is this one.
    pub fn endless(&self) -> Error {
        let text = format!("{} lists in circles: the next page of its list is to be the same once more", self.url());
        error(io::ErrorKind::InvalidData, text)
    }

    /// Nobody says who asks.
    pub fn no_credentials(&self, why: &str) -> Error {
        let text = format!("no credentials for {}: set {} ({why})", self.url(), self.service.credentials());
        error(io::ErrorKind::PermissionDenied, text)
    }

    /// What the error means. Services say it in codes within the text that they answer with.
    pub fn explain(&self, why: &object_store::Error) -> Error {
        let (text, all) = (said(why), why.to_string());
        let says = |codes: &[&str]| codes.iter().any(|code| answered(&all).contains(code));
        let url = self.url();
        if says(&["NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist"]) {
            let text = format!("there is no bucket {url}: look at its name, and at the endpoint that is set");
            return error(io::ErrorKind::InvalidInput, text);
        }
        if says(&["AuthorizationHeaderMalformed", "PermanentRedirect", "incorrectly configured region"]) {
            let text = format!("{url} is in another region than the one set: set AWS_REGION to its own ({text})");
            return error(io::ErrorKind::InvalidInput, text);
        }
        // Nothing is asked for beyond the end of the version that is open: this one is shorter.
        if says(&["416 Range Not Satisfiable", "InvalidRange"]) {
            return Error::Changed;
        }
        if says(&["Range request not supported", "Received non-partial response"]) {
            let text =
                format!("{url} sends files as a whole alone: only servers that send parts of them (ranges) are read");
            return error(io::ErrorKind::Unsupported, text);
        }
        if says(&["error: Requested "]) {
            let text = format!(
                "{url} sends other parts of files than it is asked for: only servers that send those are read ({text})"
            );
            return error(io::ErrorKind::Unsupported, text);
        }
        let root = root(why);
        if root.contains(NOT_TRUSTED) {
            let remedy = if root.contains("UnknownIssuer") { trust::remedy() } else { String::new() };
            let text = format!("{url} is not trusted: {root}{remedy}");
            return error(io::ErrorKind::InvalidData, text);
        }
        if says(&["RequestTimeTooSkewed"]) {
            let text = format!("{url} takes no requests of this machine, whose clock is wrong ({text})");
            return error(io::ErrorKind::PermissionDenied, text);
        }
        if are_spent(why) {
            let text = format!(
                "{url} does not take the credentials that are set any more, or does not know them: renew them, and open it \
                 again ({text})"
            );
            return error(io::ErrorKind::PermissionDenied, text);
        }
        let refused = || {
            let (remedy, payer) = (self.service.credentials(), self.service.payer());
            let text = format!(
                "no right to read or write {url} with the credentials that are set; set {remedy}{payer} ({text})"
            );
            error(io::ErrorKind::PermissionDenied, text)
        };
        match why {
            object_store::Error::NotFound { .. } => Error::NotFound,
            object_store::Error::Precondition { .. } => Error::Changed,
            // What is read and not allowed is not found: this was a list.
            #[cfg(feature = "http")]
            _ if matches!(self.service, Service::Http(_)) && says(&["405 Method Not Allowed"]) => {
                let text = format!("{url} lists nothing: only servers that speak WebDAV do (they answer PROPFIND)");
                error(io::ErrorKind::Unsupported, text)
            }
            // Of lists, the status stands in the text alone.
            _ if says(&["410 Gone"]) => Error::NotFound,
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => refused(),
            _ if says(&["403 Forbidden", "401 Unauthorized"]) => refused(),
            _ => error(io::ErrorKind::Other, format!("{url}: {}", with_root(why))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "s3")]
    #[test]
    fn credentials_that_are_spent_are_told_by_what_is_answered() {
        let place = Place { service: Service::S3, bucket: "b".to_owned() };
        let said = |text: &str| {
            let error = object_store::Error::Generic { store: "S3", source: text.into() };
            (are_spent(&error), place.explain(&error).to_string())
        };
        for status in ["400 Bad Request", "403 Forbidden"] {
            let (are_spent, text) = said(&format!(
                "Error performing GET http://h/b/k in 2ms - Server returned non-2xx status code: {status}: \
                 <Error><Code>ExpiredToken</Code></Error>"
            ));
            assert!(are_spent && text.contains("renew them"), "{text}");
        }
        let key = "Error performing GET http://h/b/ExpiredToken in 2ms - Server returned non-2xx status code: 404 Not Found: ";
        assert!(!said(key).0, "{key}");
    }

    #[test]
    fn no_more_of_a_page_is_told_than_its_beginning() {
        let told = brief(&"\u{fc} ".repeat(1_000_000));
        assert!(told.len() < 4 * SAID_MAX && told.ends_with("..."), "{}", told.len());
    }

    #[cfg(all(feature = "s3", feature = "http"))]
    #[test]
    fn answers_that_are_other_parts_than_asked_for_are_refused_in_words() {
        for service in [Service::S3, Service::Http("http")] {
            let place = Place { service, bucket: "b".to_owned() };
            for (text, expected) in [
                ("Received non-partial response when range requested", "sends files as a whole alone"),
                ("Requested 0..32768, got 0..5000", "sends other parts of files than it is asked for"),
            ] {
                let why = object_store::Error::Generic { store: "S3", source: text.into() };
                let why = place.explain(&why).to_string();
                assert!(why.contains(expected), "{why}");
            }
        }
    }

    #[test]
    fn how_often_it_was_tried_is_not_told() {
        let text = "Error performing GET http://h/b/k in 2.958524806s, after 9 retries, max_retries: 18446744073709551615, \
                    retry_timeout: 2.25s  - Server returned non-2xx status code: 500: in 3 parts - of it";
        let other = "whatever in 5s - it is";
        let xml = "Error performing PUT http://h/b/k in 2ms - Server returned non-2xx status code: 400 Bad Request: \
                   \u{feff}<?xml version=\"1.0\"?>\n<Error>\n  <Code>KeyTooLongError</Code>\n  <Message>It is\ntoo \
                   long</Message><Key>k</Key></Error>";
        for (text, expected) in [
            (text, "Error performing GET http://h/b/k - Server returned non-2xx status code: 500: in 3 parts - of it"),
            (other, other),
            (
                xml,
                "http://h/b/k - Server returned non-2xx status code: 400 Bad Request: KeyTooLongError: It is too long",
            ),
            ("<html>\n<p>please</p>\n</html>\n", "<html> <p>please</p> </html>"),
        ] {
            let error = object_store::Error::Generic { store: "S3", source: text.into() };
            assert!(said(&error).ends_with(expected), "{}", said(&error));
        }
    }
}
