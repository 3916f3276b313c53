//! What is set: by variables of the environment, and by the program, which goes before them.

use std::str::FromStr;
use std::time::Duration;

use object_store::{BackoffConfig, RetryConfig};
use url::Url;

/// Pauses between attempts grow up to this: a store that is back is noticed within it.
const PAUSE_MAX: Duration = Duration::from_secs(4);
/// The first pause.
pub(crate) const PAUSE_MIN: Duration = Duration::from_millis(50);

/// Settings that are addresses, by the names that their keys have in the client, which takes them as
/// they are and panics at some that are none.
const ADDRESSES: [&str; 10] = [
    "aws_endpoint",
    "aws_endpoint_url_s3",
    "aws_endpoint_url_sts",
    "aws_metadata_endpoint",
    "aws_container_credentials_full_uri",
    "google_base_url",
    "azure_storage_endpoint",
    "azure_storage_authority_host",
    "azure_msi_endpoint",
    "azure_fabric_token_service_url",
];

/// Those that become a part of one.
const NAMES: [&str; 3] = ["aws_region", "aws_default_region", "azure_storage_account_name"];

/// And those that become a part of a request's head.
const KEYS: [&str; 4] = ["aws_access_key_id", "aws_session_token", "google_bearer_token", "azure_storage_token"];

/// What a program says of a store.
#[derive(Clone)]
pub(crate) struct Settings {
    pub options: Vec<(String, String)>,
    pub deadline: Duration,
    /// The same for what never answered before: what is set may be wrong.
    pub unmet_deadline: Duration,
}

/// Why no client can be made of what is set.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// One setting is wrong, and this says which.
    Setting(String),
    /// The client says why.
    Client(object_store::Error),
}

impl From<object_store::Error> for Unusable {
    fn from(why: object_store::Error) -> Self {
        Unusable::Client(why)
    }
}

impl Settings {
    /// No attempt begins so late that its pause would go beyond the deadline.
    pub fn retry(&self) -> RetryConfig {
        let max_backoff = PAUSE_MAX.min(self.deadline / 4);
        let backoff = BackoffConfig { init_backoff: PAUSE_MIN.min(max_backoff), max_backoff, ..Default::default() };
        RetryConfig { backoff, max_retries: usize::MAX, retry_timeout: self.deadline - max_backoff }
    }

    /// Whether plain HTTP is asked for by an endpoint that begins so.
    #[cfg(any(feature = "s3", feature = "azure"))]
    pub fn is_plain(endpoint: Option<String>) -> bool {
        endpoint.is_some_and(|it| it.starts_with("http://"))
    }

    /// Sets what these variables say, and then what the program says, each by its key. What is empty
    /// is not set.
    pub fn apply<B, K: FromStr<Err = object_store::Error> + AsRef<str>>(
        &self,
        builder: B,
        variables: impl Iterator<Item = (String, String)>,
        with: impl Fn(B, K, String) -> B,
    ) -> Result<B, Unusable> {
        let key = |name: &str| name.to_ascii_lowercase().parse::<K>();
        // Variables are others' as well.
        let variables = variables.filter_map(|(name, value)| Some((key(&name).ok()?, name, value))).map(Ok);
        let options = self.options.iter().map(|(name, value)| Ok((key(name)?, name.clone(), value.clone())));
        variables.chain(options).try_fold(builder, |builder, said: Result<_, object_store::Error>| {
            let (key, name, value) = said?;
            if value.is_empty() {
                return Ok(builder);
            }
            check(key.as_ref(), &name, &value).map_err(Unusable::Setting)?;
            Ok(with(builder, key, value))
        })
    }
}

/// Variables of the environment that begin so, and before them the one that is called otherwise.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub(crate) fn variables(prefix: &str, other: Option<&str>) -> impl Iterator<Item = (String, String)> {
    let all =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let other = other.and_then(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
    other.into_iter().chain(all.filter(move |(name, _)| name.starts_with(prefix)))
}

/// Complains if that cannot be the value of the key, by whatever name it was said.
pub(crate) fn check(key: &str, name: &str, value: &str) -> Result<(), String> {
    let not = |what: &str| Err(format!("{name} is {value:?}, which is not {what}"));
    match key {
        _ if ADDRESSES.contains(&key) && !is_address(value) => not("an address, as http://HOST:PORT or https://HOST"),
        _ if NAMES.contains(&key) && !is_name(value) => not("a name: those have no spaces, slashes and quotes"),
        // These are not for everybody to see.
        _ if KEYS.contains(&key) && value.contains(char::is_control) => Err(format!("{name} is not one line of text")),
        _ => Ok(()),
    }
}

/// What a URL has (RFC 3986, section 2). The client's parser mends others, and who reads it after that
/// does not.
fn is_of_urls(it: u8) -> bool {
    it.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&it)
}

/// Whether it is an address of a server.
fn is_address(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme))
        && text.bytes().all(is_of_urls)
        && Url::parse(text).is_ok_and(|it| it.has_host())
}

/// Whether it can be a part of an address by itself.
pub(crate) fn is_name(text: &str) -> bool {
    text.bytes().all(|it| is_of_urls(it) && !b"/?#[]%".contains(&it))
}

/// Whether it can be a host, and its port.
#[cfg(feature = "http")]
pub(crate) fn is_host(text: &str) -> bool {
    Url::parse(&format!("http://{text}")).is_ok_and(|it| is_address(it.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "s3")]
    #[test]
    fn what_is_empty_is_not_set_and_addresses_are_addresses() {
        use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};
        let endpoint = |variables: &[(&str, &str)], options: &[(&str, &str)]| {
            let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
            let (deadline, unmet_deadline) = (Duration::MAX, Duration::MAX);
            let settings = Settings { options: options.iter().map(owned).collect(), deadline, unmet_deadline };
            let (builder, with) = (AmazonS3Builder::new(), AmazonS3Builder::with_config);
            let builder = settings.apply(builder, variables.iter().map(owned), with);
            builder.map(|it| it.get_config_value(&Key::Endpoint)).map_err(|why| format!("{why:?}"))
        };
        let (here, there) = ("http://127.0.0.1:7170", "https://[::1]/a");
        assert_eq!(endpoint(&[("AWS_ENDPOINT_URL", "")], &[]), Ok(None));
        assert_eq!(endpoint(&[("AWS_OF_OTHERS", "x"), ("AWS_ENDPOINT_URL", here)], &[]), Ok(Some(here.to_owned())));
        assert_eq!(endpoint(&[("AWS_ENDPOINT", here)], &[("Endpoint", there)]), Ok(Some(there.to_owned())));
        assert_eq!(endpoint(&[("AWS_ENDPOINT", here)], &[("endpoint", "")]), Ok(Some(here.to_owned())));
        for wrong in ["127.0.0.1:7170", "'http://h'", "http:h", "ftp://h", "http://", "http://h:x", "http://h h"] {
            let why = endpoint(&[("AWS_ENDPOINT_URL", wrong)], &[]).unwrap_err();
            assert!(why.contains("AWS_ENDPOINT_URL") && why.contains(wrong), "{why}");
            let why = endpoint(&[], &[("endpoint_url_sts", wrong)]).unwrap_err();
            assert!(why.contains("endpoint_url_sts") && why.contains(wrong), "{why}");
        }
        for (name, wrong, is_shown) in [("AWS_REGION", "a there", true), ("AWS_SESSION_TOKEN", "a\nthere", false)] {
            let why = endpoint(&[(name, wrong)], &[]).unwrap_err();
            assert!(why.contains(name) && why.contains("there") == is_shown, "{why}");
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn hosts_are_told_from_what_is_none() {
        assert!(["h", "h:80", "127.0.0.1", "[::1]:8080", "bücher.example", "me:mine@h"].into_iter().all(is_host));
        assert!(!["h h", "h:x", "[::1", "{", "h\"", ""].into_iter().any(is_host));
        assert!(["b", "b.c-d_e", "$root"].into_iter().all(is_name) && !["b c", "b\"", "ü"].into_iter().any(is_name));
    }

    /// A key that the client calls otherwise would not be looked at.
    #[cfg(all(feature = "s3", feature = "gcs", feature = "azure"))]
    #[test]
    fn the_client_knows_what_is_an_address() {
        use object_store::{aws::AmazonS3ConfigKey, azure::AzureConfigKey, gcp::GoogleConfigKey};
        for name in ADDRESSES.into_iter().chain(NAMES).chain(KEYS) {
            let known = match name.split_once('_') {
                Some(("aws", _)) => name.parse::<AmazonS3ConfigKey>().map(|it| it.as_ref().to_owned()),
                Some(("azure", _)) => name.parse::<AzureConfigKey>().map(|it| it.as_ref().to_owned()),
                _ => name.parse::<GoogleConfigKey>().map(|it| it.as_ref().to_owned()),
            };
            assert_eq!(known.unwrap(), name);
        }
    }
}
