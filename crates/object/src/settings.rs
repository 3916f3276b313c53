//! What is set: by variables of the environment, and by the program, which goes before them.

use std::collections::BTreeMap;
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
const ADDRESSES: [&str; 4] = ["aws_endpoint", "aws_endpoint_url_s3", "google_base_url", "azure_storage_endpoint"];

/// Those of whoever gives out credentials, who is asked where none of these keys is set.
const OF_CREDENTIALS: [&str; 6] = [
    "aws_endpoint_url_sts",
    "aws_metadata_endpoint",
    "aws_container_credentials_full_uri",
    AUTHORITY,
    "azure_msi_endpoint",
    "azure_fabric_token_service_url",
];
const CREDENTIALS: [&str; 4] =
    ["aws_access_key_id", "azure_storage_account_key", "azure_storage_sas_key", "azure_storage_token"];

/// Azure's own programs take it without a scheme, too.
const AUTHORITY: &str = "azure_storage_authority_host";

/// What a URL says of each object.
const BUCKETS: [&str; 3] = ["aws_bucket", "google_bucket", "azure_container_name"];

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
        endpoint.is_some_and(|it| begins(&it, "http://"))
    }

    /// Sets what these variables say, unless the program says otherwise, each by its key. What is empty is
    /// not set.
    pub fn apply<B, K: FromStr<Err = object_store::Error> + AsRef<str>>(
        &self,
        builder: B,
        variables: impl Iterator<Item = (String, String)>,
        with: impl Fn(B, K, String) -> B,
    ) -> Result<B, Unusable> {
        let key = |name: &str| name.to_ascii_lowercase().parse::<K>();
        let mut set = BTreeMap::new();
        // Variables are others' as well.
        for (key, name, value) in variables.filter_map(|(name, value)| Some((key(&name).ok()?, name, value))) {
            if !value.is_empty() && !BUCKETS.contains(&key.as_ref()) {
                set.insert(key.as_ref().to_owned(), (key, name, value));
            }
        }
        for (name, value) in &self.options {
            let key = key(name)?;
            match value.as_str() {
                "" => drop(set.remove(key.as_ref())),
                _ if BUCKETS.contains(&key.as_ref()) => {
                    return Err(Unusable::Setting(format!("{name} is what URLs say: leave it out")));
                }
                _ => drop(set.insert(key.as_ref().to_owned(), (key, name.clone(), value.clone()))),
            }
        }
        let has_credentials = CREDENTIALS.iter().any(|&it| set.contains_key(it));
        set.into_iter().try_fold(builder, |builder, (known, (key, name, value))| {
            let is_used = !has_credentials || !OF_CREDENTIALS.contains(&known.as_str());
            let value = if known == AUTHORITY && !value.contains("://") { format!("https://{value}") } else { value };
            if is_used {
                check(&known, &name, &value).map_err(Unusable::Setting)?;
            }
            Ok(with(builder, key, value))
        })
    }
}

/// Variables of the environment of these names, and those that begin so where one ends with `_`; the
/// later go before the others.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub(crate) fn variables(names: &'static [&'static str]) -> impl Iterator<Item = (String, String)> {
    let of = |wanted: &'static str| {
        let is_it = move |name: &str| if wanted.ends_with('_') { name.starts_with(wanted) } else { name == wanted };
        let all = std::env::vars_os();
        let text = all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        text.filter(move |(name, _)| is_it(name))
    };
    names.iter().copied().flat_map(of)
}

/// Whether a text begins so, in small letters or capital ones.
fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|it| it.eq_ignore_ascii_case(with))
}

/// Complains if that cannot be the value of the key, by whatever name it was said.
pub(crate) fn check(key: &str, name: &str, value: &str) -> Result<(), String> {
    let not = |what: &str| Err(format!("{name} is {value:?}, which is not {what}"));
    let is_to_be_address = ADDRESSES.contains(&key) || OF_CREDENTIALS.contains(&key);
    match key {
        _ if is_to_be_address && !is_address(value) => not("an address, as http://HOST:PORT or https://HOST"),
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
    ["http://", "https://"].iter().any(|scheme| begins(text, scheme))
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
    !text.contains('@') && Url::parse(&format!("http://{text}")).is_ok_and(|it| is_address(it.as_str()))
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
        assert_eq!(endpoint(&[("AWS_ENDPOINT", here)], &[("endpoint", "")]), Ok(None));
        assert_eq!(endpoint(&[("AWS_ENDPOINT", "h:x")], &[("endpoint", there)]), Ok(Some(there.to_owned())));
        let with_keys = [("AWS_ACCESS_KEY_ID", "me"), ("AWS_ENDPOINT_URL_STS", "sts"), ("AWS_BUCKET", "b")];
        assert_eq!(endpoint(&with_keys, &[]), Ok(None), "nobody is asked for others");
        assert!(endpoint(&[], &[("bucket", "b")]).unwrap_err().contains("bucket is what URLs say"));
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
        assert!(["h", "h:80", "127.0.0.1", "[::1]:8080", "bücher.example"].into_iter().all(is_host));
        assert!(!["h h", "h:x", "[::1", "{", "h\"", "me:mine@h", ""].into_iter().any(is_host));
        assert!(["b", "b.c-d_e", "$root"].into_iter().all(is_name) && !["b c", "b\"", "ü"].into_iter().any(is_name));
    }

    /// A key that the client calls otherwise would not be looked at.
    #[cfg(all(feature = "s3", feature = "gcs", feature = "azure"))]
    #[test]
    fn the_client_knows_what_is_an_address() {
        use object_store::{aws::AmazonS3ConfigKey, azure::AzureConfigKey, gcp::GoogleConfigKey};
        for name in
            ADDRESSES.into_iter().chain(OF_CREDENTIALS).chain(CREDENTIALS).chain(BUCKETS).chain(NAMES).chain(KEYS)
        {
            let known = match name.split_once('_') {
                Some(("aws", _)) => name.parse::<AmazonS3ConfigKey>().map(|it| it.as_ref().to_owned()),
                Some(("azure", _)) => name.parse::<AzureConfigKey>().map(|it| it.as_ref().to_owned()),
                _ => name.parse::<GoogleConfigKey>().map(|it| it.as_ref().to_owned()),
            };
            assert_eq!(known.unwrap(), name);
        }
    }
}
