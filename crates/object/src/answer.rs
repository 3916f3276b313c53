//! What was answered, of what an error says. The rest of it names what was asked for, and so does the body of an
//! answer: that name may be any text, also one that means something elsewhere.

use std::error::Error;

/// What is in front of a status, and of a body that came with a good one.
const REFUSED: [&str; 2] = ["Server returned non-2xx status code: ", "Server returned error response: "];

/// What is at the bottom of an error: an answer, or else a sentence of the client's own or of the system.
pub(crate) struct Answer(String);

impl Answer {
    pub fn of(mut why: &(dyn Error + 'static)) -> Self {
        while let Some(below) = why.source() {
            why = below;
        }
        Answer(why.to_string())
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.0
    }

    fn is_of_server(&self) -> bool {
        REFUSED.iter().any(|it| self.0.starts_with(it))
    }

    /// The status that refused a request, if one did.
    pub fn status(&self) -> Option<u16> {
        self.0.strip_prefix(REFUSED[0])?.get(..3)?.parse().ok()
    }

    /// What the server calls what is wrong, if it does, and what it says of it. All clouds say it in XML.
    pub fn code(&self) -> Option<&str> {
        element(&self.0, "Code").filter(|_| self.is_of_server())
    }

    /// Whether it begins so, as sentences of the client do.
    pub fn begins_with(&self, sentence: &str) -> bool {
        self.0.starts_with(sentence)
    }
}

/// The text of an element of XML, the first that is called so.
pub(crate) fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    Some(text.split_once(&format!("<{name}>"))?.1.split_once("</")?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_and_a_code_are_what_a_server_says() {
        let answer = |text: &str| {
            let answer = Answer(text.to_owned());
            (answer.status(), answer.code().map(str::to_owned))
        };
        let body = "<Error><Code> NoSuchKey</Code><Key>&lt;Code&gt;status code: 400</Key></Error>";
        let code = Some("NoSuchKey".to_owned());
        assert_eq!(answer(&format!("{}404 Not Found: {body}", REFUSED[0])), (Some(404), code.clone()));
        assert_eq!(answer(&format!("{}{body}", REFUSED[1])), (None, code));
        assert_eq!(answer(&format!("{}404 Not Found: ", REFUSED[0])), (Some(404), None));
        assert_eq!(answer(body), (None, None));
    }
}
