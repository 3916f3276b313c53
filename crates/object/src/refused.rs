//! Last words: what no further attempt would change, and the client would make until the deadline.

use std::error::Error;
use std::iter;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use object_store::{Certificate, ClientOptions};

use crate::nameless;
use crate::parts::{Part, Whole, measured, of_nothing};
use crate::proxy::Proxies;
use crate::trust;

/// A request that is not implemented (RFC 9110 section 15.6.2).
const NOT_IMPLEMENTED: u16 = 501;
/// The same of the one address (section 15.5.6).
const NOT_ALLOWED: u16 = 405;

/// What is not there.
const NOT_FOUND: u16 = 404;
/// The same for ever (section 15.5.11): the client takes a folder that is not found for an empty one.
const GONE: u16 = 410;

/// How a list is asked for (RFC 4918 section 9.1).
const LIST: &str = "PROPFIND";
/// How it is asked what an object is (RFC 9110 section 9.3.2).
const HEAD: &str = "HEAD";

/// What is said of a server that cannot show who it is.
pub(crate) const NOT_TRUSTED: &str = "invalid peer certificate";

/// Connects so that a server that does not implement lists or HEAD is not asked for them again, nor one
/// that is not trusted for anything, and so that a folder that is not there is none. What keys there are that are
/// no paths does not keep lists from being read. Whose certificates are trusted, and who is asked without a
/// proxy, is more than the client knows.
#[derive(Debug)]
pub(crate) struct AskedOnce {
    /// The bucket's address.
    pub bucket: String,
    /// What is trusted beside the system's.
    pub trusted: Vec<Certificate>,
}

impl HttpConnector for AskedOnce {
    fn connect(&self, plain: &ClientOptions) -> object_store::Result<HttpClient> {
        let trusted = self.trusted.iter().cloned();
        let options = trusted.fold(plain.clone(), ClientOptions::with_root_certificate);
        let (connector, proxies) = (ReqwestConnector::default(), Proxies::of(&options));
        let client = connector.connect(&options).map_err(|why| match connector.connect(plain) {
            Ok(_) => trust::unusable(&why),
            Err(_) => why,
        })?;
        let direct = proxies.without(&options).map(|options| connector.connect(&options)).transpose()?;
        let bucket = self.bucket.clone();
        Ok(HttpClient::new(Asked { client, direct, proxies, bucket, is_said: Arc::default() }))
    }
}

#[derive(Debug)]
struct Asked {
    client: HttpClient,
    /// The same without a proxy, if some are asked so.
    direct: Option<HttpClient>,
    proxies: Proxies,
    bucket: String,
    /// That some keys are left out.
    is_said: Arc<AtomicBool>,
}

impl HttpService for Asked {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let (is_list, keys) = (request.method().as_str() == LIST, nameless::prefix(&request));
            let is_head = request.method().as_str() == HEAD;
            let part = request.headers().get("range").and_then(|it| Part::of(it.to_str().ok()?));
            let whole = request.extensions().get::<Whole>().copied();
            let direct = self.direct.as_ref().filter(|_| self.proxies.leave_out(&request));
            let proxy = if direct.is_some() { None } else { self.proxies.name(&request) };
            let asked = direct.unwrap_or(&self.client).execute(request).await;
            let mut answer = asked.map_err(|error| match (error.kind(), proxy) {
                _ if is_not_trusted(&error) => HttpError::new(HttpErrorKind::Unknown, error),
                (kind @ HttpErrorKind::Connect, Some(proxy)) => HttpError::new(kind, proxy.away(&error)),
                _ => error,
            })?;
            let instead = match answer.status().as_u16() {
                NOT_IMPLEMENTED if is_list || is_head => Some(NOT_ALLOWED),
                NOT_FOUND if is_list => Some(GONE),
                _ => None,
            };
            if let Some(Ok(status)) = instead.map(TryInto::try_into) {
                *answer.status_mut() = status;
            }
            Ok(match (keys.filter(|_| answer.status().is_success()), part) {
                (Some(prefix), _) => nameless::readable(answer, prefix, &self.bucket, &self.is_said),
                (None, Some(part)) => measured(of_nothing(answer), part, whole),
                (None, None) => answer,
            })
        })
    }
}

fn is_not_trusted(error: &HttpError) -> bool {
    let mut causes = iter::successors(Some(error as &dyn Error), |&cause| cause.source());
    causes.any(|cause| cause.to_string().contains(NOT_TRUSTED))
}

#[cfg(all(test, feature = "s3"))]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_cannot_be_used_is_told_by_what_names_it() {
        let old = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let why = |options| {
            let trusted = Certificate::from_pem_bundle(old).unwrap();
            let asked_once = AskedOnce { bucket: "s3://b".to_owned(), trusted };
            asked_once.connect(&options).map(drop).unwrap_err().to_string()
        };
        let said = why(ClientOptions::default());
        assert!(said.contains("AWS_CA_BUNDLE names a file with a certificate that cannot be used"), "{said}");
        // What is wrong without it as well is told as it is.
        let said = why(ClientOptions::default().with_proxy_url("no url"));
        assert!(!said.contains("AWS_CA_BUNDLE"), "{said}");
    }
}
