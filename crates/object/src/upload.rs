//! An object that is written: in parts, several at once, and there as a whole or not at all.

use std::io;
use std::sync::Arc;

use foresee_store::{Error, Upload, Version};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload, WriteMultipart};

use crate::bucket::Bucket;
use crate::object::version_of;

/// S3 takes 10,000 parts of one object, and none but the last below 5 MiB: 78 GiB.
const PART_BYTES: usize = 8 << 20;
/// Parts under way at once, beside the one that is filled.
const PARTS_AT_ONCE: usize = 3;
/// A store that is asked once more, because its answer was lost, does not know the upload any more.
const FINISHED_OR_GIVEN_UP: &str =
    "its upload was finished by a request whose answer was lost, or given up: write it once more";

/// Its bytes so far.
pub(crate) struct Written {
    bucket: Arc<Bucket>,
    path: Path,
    /// What no part has; all of it, as long as it is less than one.
    rest: Vec<u8>,
    parts: Option<WriteMultipart>,
}

impl Written {
    /// None yet.
    pub fn new(bucket: Arc<Bucket>, path: Path) -> Self {
        Written { bucket, path, rest: Vec::new(), parts: None }
    }

    async fn put_part(&mut self) -> Result<(), Error> {
        let explained = |error| self.bucket.explain(&error);
        if self.parts.is_none() {
            let upload = self.bucket.whole(async || self.bucket.objects().put_multipart(&self.path).await).await?;
            self.parts = Some(WriteMultipart::new_with_chunk_size(upload, PART_BYTES));
        }
        let Some(parts) = &mut self.parts else { return Ok(()) };
        parts.wait_for_capacity(PARTS_AT_ONCE).await.map_err(explained)?;
        parts.put(std::mem::take(&mut self.rest).into());
        Ok(())
    }
}

impl Upload for Written {
    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PART_BYTES - self.rest.len()));
            self.rest.extend_from_slice(now);
            bytes = later;
            if self.rest.len() == PART_BYTES {
                let bucket = Arc::clone(&self.bucket);
                bucket.ask_even_so(self.put_part())?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Option<Version>, Error> {
        let (bucket, rest) = (Arc::clone(&self.bucket), std::mem::take(&mut self.rest));
        match self.parts.take() {
            None => {
                let put = bucket.ask_even_so(async {
                    let all = PutPayload::from(rest);
                    bucket.whole(async || bucket.objects().put(&self.path, all.clone()).await).await
                })?;
                Ok(put.e_tag.as_deref().and_then(version_of))
            }
            Some(mut parts) => bucket.ask_even_so(async {
                parts.put(rest.into());
                // Not everybody who speaks as S3 does says then which tag the whole has.
                parts.finish().await.map(|_| None).map_err(|error| match bucket.explain(&error) {
                    Error::NotFound => io::Error::other(FINISHED_OR_GIVEN_UP).into(),
                    error => error,
                })
            }),
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take() {
            // Parts that stay behind cost money, and nobody sees them; but who drops it has an error of his own
            // already.
            let _ = self.bucket.ask_even_so(async { parts.abort().await.map_err(|error| self.bucket.explain(&error)) });
        }
    }
}
