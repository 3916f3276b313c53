//! What an error of a service means to who asked, and what helps.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use foresee_store::Error;
use url::Url;

use crate::answer::{Answer, element};
use crate::refused::NOT_TRUSTED;
use crate::service::Service;
use crate::settings::Unusable;
use crate::trust;

/// Characters that are told of what was asked for, and of what a server says.
const SAID_MAX: usize = 1000;

/// What S3 calls it that credentials are not taken any more.
const SPENT: [&str; 4] = ["ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId"];

/// What is said where plain HTTP is answered to who speaks TLS.
const NO_TLS: &str = "InvalidContentType";

/// What S3's codes have in them if it is not an object that is not there, but who asks
/// (`XAdminUserNotFound`). Of an object each server says so in its own words.
const WHO_ASKS: [&str; 4] = ["user", "account", "access", "credential"];

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

/// What an error says of what was asked for, but for how long it was tried and how often, and what it says then.
fn halves<'a>(text: &'a str, answer: &str) -> (&'a str, &'a str) {
    let before = text.strip_suffix(answer).unwrap_or(text);
    let tried = || {
        // An address has no spaces, and stands last.
        let asked = before.rfind("Error performing ")?;
        let begin = asked + before[asked..].find(" in ")?;
        let end = begin + before[begin..].find(" - ")?;
        Some((&text[..begin], &text[end..])).filter(|_| before[begin + 4..].starts_with(|it: char| it.is_ascii_digit()))
    };
    tried().unwrap_or((&text[..before.len()], &text[before.len()..]))
}

/// The server that was asked, as an error says it.
fn server(text: &str) -> Option<String> {
    let asked = text.split_once("Error performing ")?.1.split(' ').nth(1)?;
    Some(Url::parse(asked).ok()?.origin().ascii_serialization())
}

/// What an error says, but for how long it was tried and how often: of two that are the same otherwise one is told.
fn said(why: &object_store::Error, answer: &Answer) -> String {
    let text = why.to_string();
    let (asked, answered) = halves(&text, answer.text());
    format!("{} {}", brief(asked), brief(answered)).trim().to_owned()
}

/// A text as one line, with the code and the message alone of an answer that is in it: the rest of that names
/// the object once more, and numbers of the request. Of pages for browsers and of long names it is the beginning.
fn brief(text: &str) -> String {
    let part = |name: &str| element(text, name).map_or_else(String::new, |it| format!(": {it}"));
    let begin = ["\u{feff}", "<?xml", "<Error"].iter().filter_map(|it| text.find(it)).min();
    let short = match (begin, element(text, "Code")) {
        // Azure says what is wrong with a signature apart.
        (Some(begin), Some(code)) => {
            format!("{}{code}{}{}", &text[..begin], part("Message"), part("AuthenticationErrorDetail"))
        }
        _ => text.to_owned(),
    };
    let line = short.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// What an error says, and what is at the bottom of it, if it leaves that out.
fn with_root(why: &object_store::Error, answer: &Answer) -> String {
    let (text, root) = (said(why, answer), brief(answer.text()));
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
        let (url, answer) = (self.url(), Answer::of(why));
        let server =
            server(&why.to_string()).filter(|it| *it != url).map_or_else(String::new, |it| format!(" at {it}"));
        let remedy = match answer.text().contains(NO_TLS) {
            true => "it does not speak TLS there: where it speaks plain HTTP, its address begins with http://",
            false => "look at its name, and at the endpoint that is set",
        };
        error(io::ErrorKind::NotConnected, format!("{url} does not answer{server}: {}: {remedy}", answer.text()))
    }

    /// It was silent just now, and this came of it.
    pub fn unasked(&self, why: &Error) -> Error {
        let kind = if let Error::Io(why) = why { why.kind() } else { io::ErrorKind::Other };
        error(kind, format!("{} was not asked, as it did not answer a moment ago: {why}", self.url()))
    }

    /// A page of its list says that the next page is this one.
    pub fn endless(&self) -> Error {
        let text = format!("{} lists in circles: the next page of its list is to be the same once more", self.url());
        error(io::ErrorKind::InvalidData, text)
    }

    /// It is named alone.
    pub fn no_object(&self) -> Error {
        let text = format!("{} is a bucket and no object: what is in it is listed (list, folder)", self.url());
        error(io::ErrorKind::InvalidInput, text)
    }

    /// Of an object nothing is said by which a change could be told.
    pub fn no_version(&self) -> Error {
        let said = "its server says neither its ETag nor when it was changed last: a change could not be told";
        error(io::ErrorKind::InvalidInput, format!("{said}{}", self.or_folder()))
    }

    /// What a host may show as a page.
    fn or_folder(&self) -> &'static str {
        if self.service.is_host() { "; or it is a folder, which can be listed alone (list, folder)" } else { "" }
    }

    /// Nobody says who asks.
    pub fn no_credentials(&self, why: &str) -> Error {
        let text = format!("no credentials for {}: set {} ({why})", self.url(), self.service.credentials());
        error(io::ErrorKind::PermissionDenied, text)
    }

    /// What is written must be signed though nothing else is to be, and nobody can.
    pub fn unsigned(&self, why: &str) -> Error {
        let text = format!(
            "no right to write {}: what is written must be signed, though GOOGLE_SKIP_SIGNATURE is set: set \
             GOOGLE_APPLICATION_CREDENTIALS as well ({why})",
            self.url()
        );
        error(io::ErrorKind::PermissionDenied, text)
    }

    /// The code in an answer. A host's pages have none.
    fn code<'a>(&self, answer: &'a Answer) -> Option<&'a str> {
        answer.code().filter(|_| !self.service.is_host())
    }

    /// Whether the service takes the credentials no more, or does not know them: others may be set by now. It
    /// says so by this status or that.
    pub fn are_spent(&self, why: &object_store::Error) -> bool {
        self.service.is_s3() && Answer::of(why).code().is_some_and(|code| SPENT.contains(&code))
    }

    /// What the error means. Services say it in codes within what they answer with.
    pub fn explain(&self, why: &object_store::Error) -> Error {
        let answer = Answer::of(why);
        let (text, status) = (said(why, &answer), answer.status());
        let is = |codes: &[&str]| self.code(&answer).is_some_and(|code| codes.contains(&code));
        let url = self.url();
        if is(&["NoSuchBucket", "ContainerNotFound"]) {
            let text = format!("there is no bucket {url}: look at its name, and at the endpoint that is set");
            return error(io::ErrorKind::InvalidInput, text);
        }
        if is(&["AuthorizationHeaderMalformed", "PermanentRedirect"])
            || answer.begins_with("Received redirect without ")
        {
            let text = format!("{url} is in another region than the one set: set AWS_REGION to its own ({text})");
            return error(io::ErrorKind::InvalidInput, text);
        }
        // Nothing is asked for beyond the end of the version that is open: this one is shorter.
        if status == Some(416) || is(&["InvalidRange"]) {
            return Error::Changed;
        }
        if ["Range request not supported", "Received non-partial response"].iter().any(|it| answer.begins_with(it)) {
            let text = format!(
                "{url} sends this as a whole alone: only servers that send parts of files (ranges) are read{}",
                self.or_folder()
            );
            return error(io::ErrorKind::Unsupported, text);
        }
        if answer.begins_with("Requested ") {
            let text = format!(
                "{url} sends other parts of files than it is asked for: only servers that send those are read ({text})"
            );
            return error(io::ErrorKind::Unsupported, text);
        }
        let root = answer.text();
        if root.contains(NOT_TRUSTED) {
            let text = format!("{url} is not trusted: {root}{}", trust::remedy(root));
            return error(io::ErrorKind::InvalidData, text);
        }
        if is(&["RequestTimeTooSkewed"]) {
            let text = format!("{url} takes no requests of this machine, whose clock is wrong ({text})");
            return error(io::ErrorKind::PermissionDenied, text);
        }
        if self.are_spent(why) {
            let text = format!(
                "{url} does not take the credentials that are set any more, or does not know them: renew them, and open it \
                 again ({text})"
            );
            return error(io::ErrorKind::PermissionDenied, text);
        }
        let refused = || {
            let (remedy, payer) = (self.service.credentials(), self.service.payer());
            let text = match self.service.is_host() {
                true => format!(
                    "{url} does not let this be read or written; a name and a password are sent to no server ({text})"
                ),
                false => format!(
                    "no right to read or write {url} with the credentials that are set; set {remedy}{payer} ({text})"
                ),
            };
            error(io::ErrorKind::PermissionDenied, text)
        };
        let is_of_who_asks = || {
            let code = answer.code().filter(|_| self.service.is_s3()).unwrap_or_default().to_ascii_lowercase();
            WHO_ASKS.iter().any(|it| code.contains(it))
        };
        match why {
            object_store::Error::NotFound { .. } if !is_of_who_asks() => Error::NotFound,
            object_store::Error::Precondition { .. } => Error::Changed,
            // What is read and not allowed is not found: this was a list.
            _ if self.service.is_host() && status == Some(405) => {
                let text = format!("{url} lists nothing: only servers that speak WebDAV do (they answer PROPFIND)");
                error(io::ErrorKind::Unsupported, text)
            }
            // Of lists, the status stands in the text alone.
            _ if status == Some(410) => Error::NotFound,
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => refused(),
            _ if matches!(status, Some(401 | 403)) => refused(),
            _ => error(io::ErrorKind::Other, format!("{url}: {}", with_root(why, &answer))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    const ASKED: &str = "Error performing GET http://h/b/ExpiredToken in 2ms - ";
    const REFUSED: &str = "Server returned non-2xx status code: ";

    /// An error as the client has it: what was asked for, and below that what was answered.
    #[derive(Debug)]
    struct Asked(String, Answered);

    #[derive(Debug)]
    struct Answered(String);

    impl fmt::Display for Asked {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}{}", self.0, self.1)
        }
    }

    impl fmt::Display for Answered {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl std::error::Error for Asked {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.1)
        }
    }

    impl std::error::Error for Answered {}

    fn source(asked: &str, answered: &str) -> Box<Asked> {
        Box::new(Asked(asked.to_owned(), Answered(answered.to_owned())))
    }

    fn error_of(asked: &str, answered: &str) -> object_store::Error {
        object_store::Error::Generic { store: "S3", source: source(asked, answered) }
    }

    fn told(error: &object_store::Error) -> String {
        said(error, &Answer::of(error))
    }

    #[cfg(feature = "s3")]
    #[test]
    fn credentials_that_are_spent_are_told_by_the_code_that_is_answered() {
        let place = Place { service: Service::S3, bucket: "b".to_owned() };
        for status in ["400 Bad Request", "403 Forbidden"] {
            let answer = format!("{REFUSED}{status}: <Error><Code>ExpiredToken</Code></Error>");
            let error = error_of(ASKED, &answer);
            let text = place.explain(&error).to_string();
            assert!(place.are_spent(&error) && text.contains("renew them"), "{text}");
        }
    }

    #[cfg(all(feature = "s3", feature = "http"))]
    #[test]
    fn what_is_not_found_may_be_called_as_anything() {
        for name in
            ["InvalidToken", "NoSuchBucket", "error: Requested ", "Received non-partial response", "InvalidRange"]
        {
            let body = format!(
                "<Error><Code>NoSuchKey</Code><Key>docs/{name}.md</Key><Resource>/b/docs/{name}.md</Resource></Error>"
            );
            let page =
                format!("<html><pre>Cannot GET /{name}: 410 Gone, 403 Forbidden<Code>{name}</Code></pre></html>");
            for (service, body) in [(Service::S3, &body), (Service::Http("http"), &page)] {
                let place = Place { service, bucket: "b".to_owned() };
                let (path, source) =
                    (format!("docs/{name}.md"), source(ASKED, &format!("{REFUSED}404 Not Found: {body}")));
                let error = object_store::Error::NotFound { path, source };
                assert!(!place.are_spent(&error), "{error}");
                assert!(matches!(place.explain(&error), Error::NotFound), "{}", place.explain(&error));
            }
        }
    }

    #[cfg(feature = "s3")]
    #[test]
    fn who_is_not_found_but_an_object_is_told() {
        let place = Place { service: Service::S3, bucket: "b".to_owned() };
        for (body, expected) in [
            ("", "there is no such object"),
            ("<Error><Code>NoSuchVersion</Code></Error>", "there is no such object"),
            ("<Error><Code>ObjectNotFound</Code></Error>", "there is no such object"),
            ("<Error><Code>KeyNotFound</Code></Error>", "there is no such object"),
            ("<Error><Code>NoSuchAccount</Code><Message>No.</Message></Error>", "NoSuchAccount: No."),
            ("<Error><Code>XAdminUserNotFound</Code><Message>No.</Message></Error>", "XAdminUserNotFound: No."),
        ] {
            let source = source(ASKED, &format!("{REFUSED}404 Not Found: {body}"));
            let why = place.explain(&object_store::Error::NotFound { path: "a".to_owned(), source }).to_string();
            assert!(why.ends_with(expected), "{why}");
        }
    }

    #[test]
    fn no_more_of_a_page_is_told_than_its_beginning() {
        let told = brief(&"\u{fc} ".repeat(1_000_000));
        assert!(told.len() < 4 * SAID_MAX && told.ends_with("..."), "{}", told.len());
    }

    #[test]
    fn a_long_key_leaves_room_for_what_was_answered() {
        let asked = format!("Error performing PUT http://h/b/{} in 2ms - ", "k".repeat(3 * SAID_MAX));
        let body = "<Error><Code>AuthenticationFailed</Code><Message>No.</Message><AuthenticationErrorDetail>The \
                    MAC is wrong</AuthenticationErrorDetail></Error>";
        let told = told(&error_of(&asked, &format!("{REFUSED}403 Forbidden: {body}")));
        assert!(
            told.ends_with(
                "kkk... - Server returned non-2xx status code: 403 Forbidden: AuthenticationFailed: No.: \
                                The MAC is wrong"
            ),
            "{told}"
        );
    }

    #[cfg(all(feature = "s3", feature = "http"))]
    #[test]
    fn answers_that_are_other_parts_than_asked_for_are_refused_in_words() {
        for service in [Service::S3, Service::Http("http")] {
            let place = Place { service, bucket: "b".to_owned() };
            for (text, expected) in [
                ("Received non-partial response when range requested", "sends this as a whole alone"),
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
        let tried = "Error performing GET http://h/b/k in 2.958524806s, after 9 retries, max_retries: \
                     18446744073709551615, retry_timeout: 2.25s  - ";
        let xml = "\u{feff}<?xml version=\"1.0\"?>\n<Error>\n  <Code>KeyTooLongError</Code>\n  <Message>It is\ntoo \
                   long</Message><Key>k</Key></Error>";
        for (asked, answer, expected) in [
            (
                tried,
                format!("{REFUSED}500: in 3 parts - of it"),
                format!("http://h/b/k - {REFUSED}500: in 3 parts - of it"),
            ),
            ("", "whatever in 5s - it is".to_owned(), "error: whatever in 5s - it is".to_owned()),
            (
                ASKED,
                format!("{REFUSED}400: {xml}"),
                format!("/ExpiredToken - {REFUSED}400: KeyTooLongError: It is too long"),
            ),
            ("", "<html>\n<p>please</p>\n</html>\n".to_owned(), "<html> <p>please</p> </html>".to_owned()),
        ] {
            let told = told(&error_of(asked, &answer));
            assert!(told.ends_with(&expected), "{told}");
        }
    }
}
