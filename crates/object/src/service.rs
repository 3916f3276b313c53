//! What differs from service to service: how a bucket is connected to.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use object_store::list::PaginatedListStore;
use object_store::{BackoffConfig, RetryConfig};

/// Pauses between attempts grow up to this: a store that is back is noticed within it.
const PAUSE_MAX: Duration = Duration::from_secs(4);
/// The first pause.
pub(crate) const PAUSE_MIN: Duration = Duration::from_millis(50);

/// Who serves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Service {
    #[cfg(feature = "s3")]
    S3,
    #[cfg(feature = "gcs")]
    Gcs,
    #[cfg(feature = "azure")]
    Azure,
    /// By this scheme.
    #[cfg(feature = "http")]
    Http(&'static str),
}

/// What a program says of it.
#[derive(Clone)]
pub(crate) struct Settings {
    pub options: Vec<(String, String)>,
    pub deadline: Duration,
    /// The same for what never answered before: what is set may be wrong.
    pub unmet_deadline: Duration,
}

/// A bucket as the service's client has it.
pub(crate) struct Client {
    pub objects: Arc<dyn object_store::ObjectStore>,
    /// Lists by what names begin with, not by folders only.
    pub pages: Option<Arc<dyn PaginatedListStore>>,
}

/// Comes to an end when who asks can say who it is.
pub(crate) type Credentials = BoxFuture<'static, object_store::Result<()>>;

impl Settings {
    /// No attempt begins so late that its pause would go beyond the deadline.
    fn retry(&self) -> RetryConfig {
        let max_backoff = PAUSE_MAX.min(self.deadline / 4);
        let backoff = BackoffConfig { init_backoff: PAUSE_MIN.min(max_backoff), max_backoff, ..Default::default() };
        RetryConfig { backoff, max_retries: usize::MAX, retry_timeout: self.deadline - max_backoff }
    }

    /// Whether plain HTTP is asked for by an endpoint that begins so.
    #[cfg(any(feature = "s3", feature = "azure"))]
    fn is_plain(endpoint: Option<String>) -> bool {
        endpoint.is_some_and(|it| it.starts_with("http://"))
    }

    /// Sets what was said, each by its key.
    fn apply<B, K: FromStr<Err = object_store::Error>>(
        &self,
        builder: B,
        with: impl Fn(B, K, &str) -> B,
    ) -> object_store::Result<B> {
        self.options
            .iter()
            .try_fold(builder, |builder, (key, value)| Ok(with(builder, key.to_ascii_lowercase().parse()?, value)))
    }
}

/// Asks for credentials, unless nothing is to be signed.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn credentials<C: Send + Sync + 'static>(
    provider: &Arc<dyn object_store::CredentialProvider<Credential = C>>,
    unsigned: Option<String>,
) -> Credentials {
    let provider = Arc::clone(provider);
    let is_unsigned = unsigned.is_some_and(|it| it == "true");
    Box::pin(async move {
        match is_unsigned {
            true => Ok(()),
            false => provider.get_credential().await.map(drop),
        }
    })
}

impl Service {
    /// What its addresses begin with.
    pub fn scheme(self) -> &'static str {
        match self {
            #[cfg(feature = "s3")]
            Service::S3 => "s3",
            #[cfg(feature = "gcs")]
            Service::Gcs => "gs",
            #[cfg(feature = "azure")]
            Service::Azure => "az",
            #[cfg(feature = "http")]
            Service::Http(scheme) => scheme,
        }
    }

    /// Where credentials for it may stand.
    pub fn credentials(self) -> &'static str {
        match self {
            #[cfg(feature = "s3")]
            Service::S3 => {
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or AWS_SKIP_SIGNATURE=true for what is public"
            }
            #[cfg(feature = "gcs")]
            Service::Gcs => "GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for what is public",
            #[cfg(feature = "azure")]
            Service::Azure => {
                "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_SKIP_SIGNATURE=true for what is public"
            }
            #[cfg(feature = "http")]
            Service::Http(_) => "none: a server that asks for a name and a password is not served",
        }
    }

    /// Sets a client up; nothing is asked yet.
    pub fn client(self, bucket: &str, settings: &Settings) -> object_store::Result<(Client, Credentials)> {
        match self {
            #[cfg(feature = "s3")]
            Service::S3 => {
                use object_store::ClientConfigKey::AllowHttp;
                use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(settings.retry());
                let builder = settings.apply(builder, |it, key: Key, value| it.with_config(key, value))?;
                let mut builder = crate::profile::apply(builder)?;
                let endpoint = builder.get_config_value(&Key::S3Endpoint);
                if Settings::is_plain(endpoint.or_else(|| builder.get_config_value(&Key::Endpoint))) {
                    builder = builder.with_config(Key::Client(AllowHttp), "true");
                }
                // One by one: not everybody who speaks as S3 does removes several by one request.
                builder = builder.with_config(Key::DisableBulkDelete, "true");
                let unsigned = builder.get_config_value(&Key::SkipSignature);
                let client = Arc::new(builder.build()?);
                let credentials = credentials(client.credentials(), unsigned);
                Ok((Client { objects: Arc::clone(&client) as _, pages: Some(client) }, credentials))
            }
            #[cfg(feature = "gcs")]
            Service::Gcs => {
                use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey as Key};
                let builder =
                    GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(settings.retry());
                let builder = settings.apply(builder, |it, key: Key, value| it.with_config(key, value))?;
                let unsigned = builder.get_config_value(&Key::SkipSignature);
                let client = Arc::new(builder.build()?);
                let credentials = credentials(client.credentials(), unsigned);
                Ok((Client { objects: Arc::clone(&client) as _, pages: Some(client) }, credentials))
            }
            #[cfg(feature = "azure")]
            Service::Azure => {
                use object_store::ClientConfigKey::AllowHttp;
                use object_store::azure::{AzureConfigKey as Key, MicrosoftAzureBuilder};
                let builder =
                    MicrosoftAzureBuilder::from_env().with_container_name(bucket).with_retry(settings.retry());
                let mut builder = settings.apply(builder, |it, key: Key, value| it.with_config(key, value))?;
                if Settings::is_plain(builder.get_config_value(&Key::Endpoint)) {
                    builder = builder.with_config(Key::Client(AllowHttp), "true");
                }
                let unsigned = builder.get_config_value(&Key::SkipSignature);
                let client = Arc::new(builder.build()?);
                let credentials = credentials(client.credentials(), unsigned);
                Ok((Client { objects: Arc::clone(&client) as _, pages: Some(client) }, credentials))
            }
            #[cfg(feature = "http")]
            Service::Http(scheme) => {
                use object_store::ClientConfigKey as Key;
                use object_store::http::HttpBuilder;
                let builder = HttpBuilder::new().with_http_connector(crate::refused::AskedOnce);
                let builder = builder.with_url(format!("{scheme}://{bucket}")).with_retry(settings.retry());
                let builder = settings.apply(builder, |it, key: Key, value| it.with_config(key, value))?;
                let builder = match scheme {
                    "http" => builder.with_config(Key::AllowHttp, "true"),
                    _ => builder,
                };
                Ok((Client { objects: Arc::new(builder.build()?), pages: None }, Box::pin(async { Ok(()) })))
            }
        }
    }
}
