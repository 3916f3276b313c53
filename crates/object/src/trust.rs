//! Whose certificates are trusted beside the system's.

#[cfg(feature = "s3")]
use std::fs;

#[cfg(feature = "s3")]
use object_store::Certificate;

#[cfg(feature = "s3")]
use crate::settings::Unusable;

/// What Amazon's own programs read CAs from.
#[cfg(feature = "s3")]
const BUNDLE: &str = "AWS_CA_BUNDLE";

/// The certificates that Amazon's own programs trust, as far as they are told to.
#[cfg(feature = "s3")]
pub(crate) fn bundle() -> Result<Vec<Certificate>, Unusable> {
    match std::env::var(BUNDLE) {
        Ok(path) if !path.is_empty() => read(&path).map_err(Unusable::Setting),
        _ => Ok(Vec::new()),
    }
}

#[cfg(feature = "s3")]
fn read(path: &str) -> Result<Vec<Certificate>, String> {
    let wrong = |why: &str| format!("{BUNDLE} is {path:?}, which is no file of certificates: {why}");
    let text = fs::read(path).map_err(|why| wrong(&why.to_string()))?;
    let found = Certificate::from_pem_bundle(&text).map_err(|why| wrong(&why.to_string()))?;
    if found.is_empty() { Err(wrong("there are none in it")) } else { Ok(found) }
}

#[cfg(all(test, feature = "s3"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_has_no_certificates_is_named() {
        for (path, why) in [("no/such/file", "No such file"), ("src/trust.rs", "none in it"), ("src", "directory")] {
            let error = read(path).unwrap_err();
            assert!(error.contains(&format!("AWS_CA_BUNDLE is {path:?}")) && error.contains(why), "{error}");
        }
    }
}
