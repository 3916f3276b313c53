//! What differs from service to service: how a bucket is connected to.

#[cfg(feature = "http")]
use std::iter;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use object_store::list::PaginatedListStore;

use crate::refused::AskedOnce;
#[cfg(feature = "http")]
use crate::settings::is_host;
use crate::settings::{Settings, Unusable};
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
use crate::settings::{is_name, variables};
#[cfg(feature = "s3")]
use crate::trust;

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

/// A bucket as the service's client has it.
pub(crate) struct Client {
    pub objects: Arc<dyn object_store::ObjectStore>,
    /// Lists by what names begin with, not by folders only.
    pub pages: Option<Arc<dyn PaginatedListStore>>,
    /// Who signs what is written all the same, where nothing is to be signed.
    pub signer: Option<Signer>,
}

/// Looks for who can sign.
pub(crate) type Signer = Box<dyn Fn() -> Credentials + Send + Sync>;

/// Comes to an end when who asks can say who it is.
pub(crate) type Credentials = BoxFuture<'static, object_store::Result<()>>;

/// Asks for credentials, unless nothing is to be signed.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn credentials<C: Send + Sync + 'static>(
    provider: &Arc<dyn object_store::CredentialProvider<Credential = C>>,
    is_unsigned: bool,
) -> Credentials {
    let provider = Arc::clone(provider);
    Box::pin(async move {
        match is_unsigned {
            true => Ok(()),
            false => provider.get_credential().await.map(drop),
        }
    })
}

/// Whether nothing is to be signed, by what is set of it, which the client takes for that.
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
fn is_unsigned(set: Option<String>) -> bool {
    set.is_some_and(|it| ["1", "true", "on", "yes", "y"].iter().any(|yes| it.eq_ignore_ascii_case(yes)))
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

    /// Whether it is a server of HTTP and no more, whose answers are its own.
    pub fn is_host(self) -> bool {
        match self {
            #[cfg(feature = "http")]
            Service::Http(_) => true,
            #[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
            _ => false,
        }
    }

    pub fn is_s3(self) -> bool {
        match self {
            #[cfg(feature = "s3")]
            Service::S3 => true,
            #[cfg(any(feature = "gcs", feature = "azure", feature = "http"))]
            _ => false,
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
            Service::Http(_) => "no credentials",
        }
    }

    /// What else helps those who may not read.
    pub fn payer(self) -> &'static str {
        match self {
            #[cfg(feature = "s3")]
            Service::S3 => ", or AWS_REQUEST_PAYER=true where who reads is to pay for it",
            #[cfg(any(feature = "gcs", feature = "azure", feature = "http"))]
            _ => "",
        }
    }

    /// Whether a bucket, or a host, can be called so.
    fn has(self, bucket: &str) -> bool {
        match self {
            #[cfg(feature = "http")]
            Service::Http(_) => is_host(bucket),
            #[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
            _ => is_name(bucket),
        }
    }

    /// Sets a client up; nothing is asked yet.
    pub fn client(self, bucket: &str, settings: &Settings) -> Result<(Client, Credentials), Unusable> {
        if !self.has(bucket) {
            return Err(Unusable::Setting("no bucket or host can be called so".to_owned()));
        }
        let asked_once = |trusted| AskedOnce { bucket: format!("{}://{bucket}", self.scheme()), trusted };
        match self {
            #[cfg(feature = "s3")]
            Service::S3 => {
                use object_store::ClientConfigKey::AllowHttp;
                use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};
                let of_environment = variables(&["AWS_"]);
                let builder = settings.apply(AmazonS3Builder::new(), of_environment, AmazonS3Builder::with_config)?;
                let mut builder = crate::profile::apply(builder)?.with_bucket_name(bucket).with_retry(settings.retry());
                let endpoint = builder.get_config_value(&Key::S3Endpoint);
                let is_plain = Settings::is_plain(endpoint.or_else(|| builder.get_config_value(&Key::Endpoint)));
                builder = match is_plain {
                    true => builder.with_config(Key::Client(AllowHttp), "true"),
                    false => builder,
                };
                // Nobody shows a certificate over plain HTTP, and whether the file is there is not looked at.
                let trusted = if is_plain { Vec::new() } else { trust::bundle()? };
                builder = builder.with_http_connector(asked_once(trusted));
                // One by one: not everybody who speaks as S3 does removes several by one request.
                builder = builder.with_config(Key::DisableBulkDelete, "true");
                let is_unsigned = is_unsigned(builder.get_config_value(&Key::SkipSignature));
                let client = Arc::new(builder.build()?);
                let credentials = credentials(client.credentials(), is_unsigned);
                Ok((Client { objects: Arc::clone(&client) as _, pages: Some(client), signer: None }, credentials))
            }
            #[cfg(feature = "gcs")]
            Service::Gcs => {
                use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey as Key};
                let of_environment = variables(&["SERVICE_ACCOUNT", "GOOGLE_"]);
                let builder = settings.apply(
                    GoogleCloudStorageBuilder::new(),
                    of_environment,
                    GoogleCloudStorageBuilder::with_config,
                )?;
                let is_unsigned = is_unsigned(builder.get_config_value(&Key::SkipSignature));
                let builder = builder.with_bucket_name(bucket).with_retry(settings.retry());
                let builder = builder.with_http_connector(asked_once(Vec::new()));
                let client = Arc::new(builder.build()?);
                let credentials = credentials(client.credentials(), is_unsigned);
                let provider = Arc::clone(client.credentials());
                let signer = is_unsigned.then(|| Box::new(move || self::credentials(&provider, false)) as Signer);
                Ok((Client { objects: Arc::clone(&client) as _, pages: Some(client), signer }, credentials))
            }
            #[cfg(feature = "azure")]
            Service::Azure => {
                use object_store::ClientConfigKey::AllowHttp;
                use object_store::azure::{AzureConfigKey as Key, MicrosoftAzureBuilder};
                let of_environment = variables(&["AZURE_", "IDENTITY_ENDPOINT"]);
                let mut builder =
                    settings.apply(MicrosoftAzureBuilder::new(), of_environment, MicrosoftAzureBuilder::with_config)?;
                builder = builder.with_container_name(bucket).with_retry(settings.retry());
                builder = builder.with_http_connector(asked_once(Vec::new()));
                if Settings::is_plain(builder.get_config_value(&Key::Endpoint)) {
                    builder = builder.with_config(Key::Client(AllowHttp), "true");
                }
                let is_unsigned = is_unsigned(builder.get_config_value(&Key::SkipSignature));
                let client = Arc::new(builder.build()?);
                let credentials = credentials(client.credentials(), is_unsigned);
                Ok((Client { objects: Arc::clone(&client) as _, pages: Some(client), signer: None }, credentials))
            }
            #[cfg(feature = "http")]
            Service::Http(scheme) => {
                use object_store::ClientConfigKey as Key;
                use object_store::http::HttpBuilder;
                let builder = HttpBuilder::new().with_http_connector(asked_once(Vec::new()));
                let builder = builder.with_url(format!("{scheme}://{bucket}")).with_retry(settings.retry());
                let builder = settings.apply(builder, iter::empty(), HttpBuilder::with_config)?;
                let builder = match scheme {
                    "http" => builder.with_config(Key::AllowHttp, "true"),
                    _ => builder,
                };
                Ok((
                    Client { objects: Arc::new(builder.build()?), pages: None, signer: None },
                    Box::pin(async { Ok(()) }),
                ))
            }
        }
    }
}

#[cfg(all(test, any(feature = "s3", feature = "gcs", feature = "azure")))]
mod tests {
    use super::is_unsigned;

    #[test]
    fn nothing_is_signed_where_the_client_signs_nothing() {
        let unsigned = |set: &str| is_unsigned(Some(set.to_owned()));
        assert!(["1", "true", "TRUE", "on", "Yes", "y"].into_iter().all(unsigned));
        assert!(!["0", "false", "off", "no", "n", ""].into_iter().any(unsigned) && !is_unsigned(None));
    }
}
