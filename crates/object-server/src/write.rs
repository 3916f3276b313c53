//! Objects that are put, in one piece or in parts, copied and removed, as S3 does.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;

use crate::request::Request;
use crate::{State, refusal};

/// Parts of uploads that are under way, by their uploads' and their own numbers.
pub type Uploads = BTreeMap<String, BTreeMap<u64, Vec<u8>>>;

fn ok(headers: &str, body: String) -> (String, Vec<u8>) {
    (format!("HTTP/1.1 200 OK\r\n{headers}"), body.into_bytes())
}

impl State {
    pub fn put(&self, path: &str, bytes: impl Into<std::sync::Arc<[u8]>>) -> String {
        let generation = self.generations.fetch_add(1, SeqCst);
        self.objects().insert(path.to_owned(), (generation, bytes.into()));
        format!("ETag: \"g{generation}\"\r\n")
    }

    /// Carries it out, if it changes something.
    pub fn write(&self, request: &Request) -> Option<(String, Vec<u8>)> {
        let said = |name: &str| {
            let of = |part: &str| Some(part.strip_prefix(name)?.strip_prefix('=')?.to_owned());
            request.query.split('&').find_map(of)
        };
        let mut uploads = self.uploads.lock().unwrap();
        let (upload, part) = (said("uploadId"), said("partNumber").and_then(|it| it.parse().ok()));
        Some(match (&*request.method, upload, part) {
            ("PUT", Some(upload), Some(part)) => match uploads.get_mut(&upload) {
                Some(parts) => {
                    parts.insert(part, request.body.clone());
                    ok(&format!("ETag: \"p{part}\"\r\n"), String::new())
                }
                None => refusal("404 Not Found", "NoSuchUpload"),
            },
            ("PUT", ..) => match &request.copy_source {
                None => ok(&self.put(&request.path, &*request.body), String::new()),
                Some(source) => {
                    let source = format!("/{}", source.trim_start_matches('/'));
                    let found = self.objects().get(&source).map(|(_, bytes)| bytes.clone());
                    match found {
                        Some(bytes) => {
                            self.put(&request.path, bytes);
                            let tag = "<CopyObjectResult><ETag>\"c\"</ETag></CopyObjectResult>";
                            ok("", tag.to_owned())
                        }
                        None => refusal("404 Not Found", "NoSuchKey"),
                    }
                }
            },
            ("POST", None, _) => {
                let upload = format!("u{}", self.generations.fetch_add(1, SeqCst));
                uploads.insert(upload.clone(), BTreeMap::new());
                let id = format!("<UploadId>{upload}</UploadId>");
                ok("", format!("<InitiateMultipartUploadResult>{id}</InitiateMultipartUploadResult>"))
            }
            ("POST", Some(upload), _) => match uploads.remove(&upload) {
                Some(parts) => {
                    self.put(&request.path, parts.into_values().flatten().collect::<Vec<u8>>());
                    let tag = "<ETag>\"whole\"</ETag>";
                    ok("", format!("<CompleteMultipartUploadResult>{tag}</CompleteMultipartUploadResult>"))
                }
                None => refusal("404 Not Found", "NoSuchUpload"),
            },
            ("DELETE", Some(upload), _) => {
                uploads.remove(&upload);
                (String::from("HTTP/1.1 204 No Content\r\n"), Vec::new())
            }
            ("DELETE", ..) => {
                self.objects().remove(&request.path);
                (String::from("HTTP/1.1 204 No Content\r\n"), Vec::new())
            }
            _ => return None,
        })
    }
}
