//! Servers that cannot list: that is their last word.

use std::pin::Pin;

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};

/// A request that is not implemented (RFC 9110 section 15.6.2).
const NOT_IMPLEMENTED: u16 = 501;
/// The same of the one address (section 15.5.6).
const NOT_ALLOWED: u16 = 405;

/// How a list is asked for (RFC 4918 section 9.1).
const LIST: &str = "PROPFIND";

/// Connects so that a server that does not implement lists is not asked for them again: as any error
/// of a server's it would be, until the deadline.
#[derive(Debug)]
pub(crate) struct AskedOnce;

impl HttpConnector for AskedOnce {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Asked(ReqwestConnector::default().connect(options)?)))
    }
}

#[derive(Debug)]
struct Asked(HttpClient);

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
            let is_list = request.method().as_str() == LIST;
            let mut answer = self.0.execute(request).await?;
            if is_list
                && answer.status().as_u16() == NOT_IMPLEMENTED
                && let Ok(not_allowed) = NOT_ALLOWED.try_into()
            {
                *answer.status_mut() = not_allowed;
            }
            Ok(answer)
        })
    }
}
