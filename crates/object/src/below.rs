//! What lies below an address of a host. Its lists have paths, and of whole folders; addresses are percent-encoded,
//! may end with a slash, and may begin a name.

use foresee_store::Error;
use object_store::path::{DELIMITER, Path};
use percent_encoding::percent_decode_str;

/// What is asked for.
pub(crate) struct Below<'a> {
    /// The folder as its address has it, with its slash.
    address: &'a str,
    /// The folder that is listed.
    pub folder: Path,
    /// What names within it begin with, as the address has it.
    begin: &'a str,
}

impl<'a> Below<'a> {
    /// What begins as this address. `path` says which path an address means.
    pub fn of(address: &'a str, path: impl Fn(&str) -> Result<Path, Error>) -> Result<Self, Error> {
        let (folder, begin) = address.split_at(address.rfind(DELIMITER).map_or(0, |slash| slash + 1));
        Ok(Below { address: folder, folder: path(folder)?, begin })
    }

    /// The address of what is listed, if it is asked for. It begins as the folder's, so that who asked finds it there.
    pub fn address(&self, listed: &Path) -> Option<String> {
        let name = match self.folder.as_ref() {
            "" => listed.as_ref(),
            folder => listed.as_ref().strip_prefix(folder)?.strip_prefix(DELIMITER)?,
        };
        // Of what is decoded when it is opened no more is encoded than must be.
        let encoded = name.replace('%', "%25").replace('#', "%23").replace('?', "%3F");
        // It may end within a character, or within what stands for one, and need be no name.
        let begin: Vec<u8> = percent_decode_str(self.begin).collect();
        let is_asked_for = name.as_bytes().starts_with(&begin) || encoded.starts_with(self.begin);
        is_asked_for.then(|| format!("{}{encoded}", self.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_told_from_what_is_beside_it_and_keeps_the_address_that_was_asked_for() {
        let path = |address: &str| Path::from_url_path(address).map_err(|error| panic!("{error}"));
        for (address, folder, listed, expected) in [
            ("", "", "a/b", Some("a/b")),
            ("a/", "a", "a/b", Some("a/b")),
            ("a/", "a", "a", None),
            ("a/", "a", "a2/b", None),
            ("a", "", "a2/b", Some("a2/b")),
            ("a/b", "a", "a/c", None),
            ("a%20dir/", "a dir", "a dir/100% #?", Some("a%20dir/100%25 %23%3F")),
            ("a dir/", "a dir", "a dir/b", Some("a dir/b")),
            ("%C3%BC/%C3%A4", "\u{fc}", "\u{fc}/\u{e4}b", Some("%C3%BC/\u{e4}b")),
            ("%C3%BC/.", "\u{fc}", "\u{fc}/.a", Some("%C3%BC/.a")),
            ("%C3%BC/.", "\u{fc}", "\u{fc}/a", None),
            ("a/..", "a", "a/..b", Some("a/..b")),
            // It may be the beginning of an encoded character, or none.
            ("a%2", "", "a%20", Some("a%2520")),
            ("a%2", "", "a%b", Some("a%25b")),
            ("a%2", "", "ab", None),
            ("%C3", "", "\u{fc}", Some("\u{fc}")),
            ("%C3", "", "\u{20ac}", None),
        ] {
            let below = Below::of(address, path).unwrap();
            assert_eq!(below.folder.as_ref(), folder, "{address}");
            assert_eq!(below.address(&Path::parse(listed).unwrap()).as_deref(), expected, "{address}, {listed}");
        }
    }
}
