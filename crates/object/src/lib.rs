//! Objects of S3, Google Cloud Storage, Azure and plain HTTP servers.
//!
//! [`ObjectStore`] is a [`Store`](foresee_store::Store) of all buckets of one service. The cache
//! `foresee` has one for each scheme whose feature is on, and addresses are opened as files are:
//!
//! | feature | addresses | settings |
//! | --- | --- | --- |
//! | `s3` | `s3://bucket/key` | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, ... |
//! | `gcs` | `gs://bucket/key` | `GOOGLE_SERVICE_ACCOUNT`, `GOOGLE_APPLICATION_CREDENTIALS`, ... |
//! | `azure` | `az://container/key` | `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`, ... |
//! | `http` | `http://host/path`, `https://host/path` | none |
//!
//! The variables are those of the crate `object_store`, which speaks with the services. What they
//! do not say of S3 is taken from the profile that `AWS_PROFILE` names, or else `default`, in
//! `~/.aws/config` and `~/.aws/credentials` (`AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE`
//! elsewhere): region, endpoint_url (or that of s3 in its services), keys, credential_process. A
//! profile that signs on or takes a role is asked of the command `aws`, which must be there then.
//! [`ObjectStore::set`] goes before the environment. What is empty is not set, and an endpoint that
//! is no address is an error that names it. Proxies are the environment's (`http_proxy`,
//! `https_proxy`, `all_proxy`, `no_proxy`), and so are certificates: `SSL_CERT_FILE` in place of the
//! system's, `AWS_CA_BUNDLE` beside them for S3.
//!
//! # What holds
//! - **Versions**: an object's is its entity tag, or else when it was changed last and its length.
//!   Each request says which version it is for, and what comes is looked at: bytes of another are
//!   never handed over.
//! - **Retries**: what was not answered, cut off, or answered with 5xx, 429 or 408 is tried again,
//!   after pauses that grow and are drawn by chance, until the [deadline](ObjectStore::deadline).
//!   Other answers are errors at once, and so is a certificate that is not trusted. Where it passed,
//!   and for half as long nothing was answered, what is read within a quarter of a second is not
//!   asked for, and an error that says why: long reads do not wait for it twice.
//! - **Requests**: an object is opened by the request for its first 32 KiB, so that a small one
//!   takes one in all; after a larger one, it is asked first what the next one is.
//! - **Lengths**: an answer of more bytes than were asked for is an error; the rest of a shorter
//!   one is asked for.
//!
//! ```no_run
//! # fn main() -> Result<(), foresee::Error> {
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use foresee_object::ObjectStore;
//!
//! let minio = ObjectStore::s3().set("endpoint", "http://localhost:9000").deadline(Duration::from_secs(10));
//! let cache = foresee::Cache::builder().store("minio", Arc::new(minio)).open()?;
//! let file = cache.open("minio://bucket/key")?;
//! # Ok(())
//! # }
//! ```

mod answer;
mod beginning;
mod below;
mod bucket;
mod explain;
mod head;
mod nameless;
mod object;
mod parts;
#[cfg(feature = "s3")]
mod profile;
mod proxy;
mod refused;
mod runtime;
mod seldom;
mod service;
mod settings;
mod silence;
mod store;
mod trust;
mod unsigned;
mod upload;

pub use store::ObjectStore;
