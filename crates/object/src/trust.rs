//! Whose certificates are trusted: the system's or those of a file in their place, and others beside them.

use std::ffi::OsStr;
use std::{env, fs};

#[cfg(feature = "s3")]
use object_store::Certificate;

use crate::answer::Answer;
#[cfg(feature = "s3")]
use crate::settings::Unusable;

/// What the client reads CAs from in place of the system's, and goes on without them where it cannot.
const FILE: &str = "SSL_CERT_FILE";

/// What helps where a certificate is not trusted for this reason, if it is known.
pub(crate) fn remedy(why: &str) -> String {
    if why.contains("CaUsedAsEndEntity") {
        return ": the server shows the certificate of a CA as its own; it needs one with basicConstraints=CA:FALSE"
            .to_owned();
    }
    if !why.contains("UnknownIssuer") {
        return String::new();
    }
    match env::var_os(FILE).filter(|it| !it.is_empty()) {
        Some(path) => remedy_with(&path),
        None => format!(": if its CA is to be trusted, set {FILE} to a file of it and of all others that are"),
    }
}

fn remedy_with(path: &OsStr) -> String {
    match fs::read(path) {
        Ok(_) => format!(": if its CA is to be trusted, add it to {path:?}, the file that {FILE} names"),
        Err(why) => format!(": {FILE} is {path:?}, which cannot be read ({why})"),
    }
}

/// What Amazon's own programs read CAs from.
const BUNDLE: &str = "AWS_CA_BUNDLE";

/// Why there is no client that trusts those as well.
pub(crate) fn unusable(why: &object_store::Error) -> object_store::Error {
    let root = Answer::of(why);
    let said = format!("{BUNDLE} names a file with a certificate that cannot be used: take it out ({})", root.text());
    object_store::Error::Generic { store: "HTTP client", source: said.into() }
}

/// The certificates that Amazon's own programs trust, as far as they are told to.
#[cfg(feature = "s3")]
pub(crate) fn bundle() -> Result<Vec<Certificate>, Unusable> {
    match env::var_os(BUNDLE) {
        Some(path) if !path.is_empty() => read(&path).map_err(Unusable::Setting),
        _ => Ok(Vec::new()),
    }
}

#[cfg(feature = "s3")]
fn read(path: &OsStr) -> Result<Vec<Certificate>, String> {
    let wrong = |why: &str| format!("{BUNDLE} is {path:?}, which is no file of certificates: {why}");
    let text = fs::read(path).map_err(|why| wrong(&why.to_string()))?;
    let found = Certificate::from_pem_bundle(&text).map_err(|why| wrong(&why.to_string()))?;
    if found.is_empty() { Err(wrong("there are none in it")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_remedy() {
        assert!(remedy("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))").contains("CA:FALSE"));
        assert!(remedy("invalid peer certificate: UnknownIssuer").contains(FILE));
        assert_eq!(remedy("invalid peer certificate: Expired"), "");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_said_to_be_so() {
        let remedy = |path: &str| remedy_with(OsStr::new(path));
        assert!(
            remedy("no/such/file").contains("SSL_CERT_FILE is \"no/such/file\", which cannot be read (No such file")
        );
        assert!(remedy("src/trust.rs").contains("add it to \"src/trust.rs\""));
    }

    #[cfg(feature = "s3")]
    #[test]
    fn a_file_that_has_no_certificates_is_named() {
        for (path, why) in [("no/such/file", "No such file"), ("src/trust.rs", "none in it"), ("src", "directory")] {
            let error = read(OsStr::new(path)).unwrap_err();
            assert!(error.contains(&format!("AWS_CA_BUNDLE is {path:?}")) && error.contains(why), "{error}");
        }
    }
}
