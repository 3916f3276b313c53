//! An object that is open.

use std::io::{self, IoSliceMut};
use std::sync::Arc;

use foresee_store::{Error, Listed, Object, Version};
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};

use crate::beginning::Beginning;
use crate::bucket::Bucket;
use crate::parts::Whole;
use crate::settings::PAUSE_MIN;

/// One version of it.
pub(crate) struct Open {
    bucket: Arc<Bucket>,
    path: Path,
    size: u64,
    version: Version,
    beginning: Beginning,
    /// What each request says of the version.
    condition: GetOptions,
}

impl Open {
    /// The version that a service says it has now.
    pub fn new(bucket: Arc<Bucket>, path: Path, now: ObjectMeta, beginning: Beginning) -> Result<Self, Error> {
        let version = version(&now).ok_or_else(|| bucket.no_version())?;
        let mut condition = match tag(&now) {
            Some(tag) if !is_weak(tag) => {
                GetOptions { if_match: Some(format!("\"{}\"", bare(tag))), ..GetOptions::default() }
            }
            // Not `If-Unmodified-Since`: headers have no fractions of seconds, and who knows them refuses the time that
            // he said. What answers say themselves is compared.
            _ => GetOptions::default(),
        };
        condition.extensions.insert(Whole(now.size));
        Ok(Open { bucket, path, size: now.size, version, beginning, condition })
    }

    /// The version that was listed.
    pub fn listed(bucket: Arc<Bucket>, path: Path, listed: &Listed) -> Option<Self> {
        let (modified, size) = (listed.modified?, listed.size);
        let of_tag =
            |e_tag| ObjectMeta { location: path.clone(), last_modified: modified.into(), size, e_tag, version: None };
        let found = match &listed.version {
            Some(Version::Tag(tag)) => Some(tag.to_string()),
            _ => None,
        };
        // Without a tag, the version is the time.
        let untagged = of_tag(None);
        let now = if version(&untagged) == listed.version { untagged } else { of_tag(found) };
        Open::new(bucket, path, now, Beginning::default()).ok()
    }

    async fn fill(&self, offset: u64, len: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        let range = Some(GetRange::Bounded(offset..offset + len));
        let options = GetOptions { range, ..self.condition.clone() };
        loop {
            let answer = self.bucket.get(&self.path, options.clone()).await?;
            let version = version(&answer.meta).filter(|_| answer.meta.size == self.size).ok_or(Error::Changed)?;
            match copy(answer, len, pieces).await? {
                Some(came) => return Ok((came, version)),
                None => tokio::time::sleep(PAUSE_MIN).await,
            }
        }
    }
}

/// Copies what comes of an answer. None if it was cut off before anything came.
async fn copy(answer: GetResult, len: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<Option<usize>, Error> {
    let (mut stream, mut came) = (answer.into_stream(), 0);
    // The pieces themselves stay as they are: who asked goes on with them.
    let mut room = pieces.iter_mut().map(|piece| &mut piece[..]);
    let mut piece: &mut [u8] = &mut [];
    while let Some(chunk) = stream.next().await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            // What came is good; who wants the rest asks for it.
            Err(_) if came > 0 => break,
            Err(_) => return Ok(None),
        };
        if (came + chunk.len()) as u64 > len {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "more bytes came than were asked for").into());
        }
        came += chunk.len();
        let mut rest = &chunk[..];
        while !rest.is_empty() {
            if piece.is_empty() {
                piece = room.next().unwrap_or_default();
            }
            let (now, later) = rest.split_at(rest.len().min(piece.len()));
            let (filled, left) = std::mem::take(&mut piece).split_at_mut(now.len());
            filled.copy_from_slice(now);
            (piece, rest) = (left, later);
        }
    }
    match came {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "an answer without bytes came").into()),
        came => Ok(Some(came)),
    }
}

impl Object for Open {
    fn size(&self) -> u64 {
        self.size
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn place(&self) -> String {
        self.bucket.name().to_owned()
    }

    fn read(&self, offset: u64, pieces: &mut [IoSliceMut<'_>]) -> Result<(usize, Version), Error> {
        let room = pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        match room.min(self.size.saturating_sub(offset)) {
            0 => Ok((0, self.version.clone())),
            len => match self.beginning.read(offset, pieces) {
                0 => self.bucket.ask(self.fill(offset, len, pieces)),
                came => Ok((came, self.version.clone())),
            },
        }
    }
}

/// Equal bytes may have two weak tags, and no request can be bound to one.
fn is_weak(tag: &str) -> bool {
    tag.starts_with("W/")
}

/// A tag without its quotes, which some services leave out where they list it.
fn bare(tag: &str) -> &str {
    tag.trim_matches('"')
}

/// The version that a tag tells, if it does: some services list an empty one where there is none.
pub(crate) fn version_of(tag: &str) -> Option<Version> {
    Some(bare(tag)).filter(|bare| !bare.is_empty()).map(|bare| Version::Tag(bare.into()))
}

/// The tag, if there is one.
fn tag(meta: &ObjectMeta) -> Option<&str> {
    meta.e_tag.as_deref().filter(|tag| version_of(tag).is_some())
}

/// Which bytes these are, if their server says so.
pub(crate) fn version(meta: &ObjectMeta) -> Option<Version> {
    let seconds = meta.last_modified.timestamp();
    match tag(meta).and_then(version_of) {
        Some(version) => Some(version),
        // What is said to have been changed at the beginning of time is not said to.
        None if seconds == 0 => None,
        None => Some(Version::Tag(format!("{seconds}/{}", meta.size).into())),
    }
}
