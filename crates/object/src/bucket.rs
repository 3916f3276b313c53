//! A bucket, or a host: opens objects and lists them.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use foresee_store::{Error, Folder, Listed, Version};
use futures_util::TryStreamExt;
use futures_util::future::{self, Either};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::path::{DELIMITER, Path};
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStoreExt};

use crate::answer::Answer;
use crate::beginning::{Beginning, Beginnings, SMALL};
use crate::below::Below;
use crate::explain::{Place, timed_out};
use crate::head::Head;
use crate::object::{Open, version};
use crate::runtime::Runtime;
use crate::service::{Client, Credentials, Service};
use crate::settings::{PAUSE_MIN, Settings};
use crate::silence::Silence;
use crate::unsigned::Unsigned;
use crate::upload::Written;

/// Who gives credentials out is near, or not there: a machine of no cloud has nobody who does.
const CREDENTIALS_MAX: Duration = Duration::from_secs(10);

/// What is to be asked once is not asked again after this.
const ONCE: Duration = Duration::from_millis(4);

/// Lists that cannot be read are asked for so often again: by then it is not by chance that they
/// cannot.
const GARBLED_MAX: u32 = 8;

/// One that is connected to.
pub(crate) struct Bucket {
    client: Client,
    place: Place,
    settings: Settings,
    runtime: Arc<Runtime>,
    /// Whether it is known to be there.
    is_met: AtomicBool,
    head: Head,
    is_refused: AtomicBool,
    silence: Silence,
    unsigned: Unsigned,
    beginnings: Arc<Beginnings>,
}

impl Bucket {
    /// Connects to it, which asks for credentials where they are not at hand.
    pub fn connect(service: Service, name: &str, settings: &Settings, runtime: Arc<Runtime>) -> Result<Self, Error> {
        let place = Place { service, bucket: name.to_owned() };
        let (client, credentials) = service.client(name, settings).map_err(|error| place.unusable(&error))?;
        let given = runtime.wait_for(given(credentials, settings.deadline));
        given.map_err(|why| place.no_credentials(&why))?;
        let (settings, beginnings) = (settings.clone(), Arc::default());
        Ok(Bucket {
            client,
            place,
            settings,
            runtime,
            is_met: AtomicBool::new(false),
            head: Head::default(),
            is_refused: AtomicBool::new(false),
            silence: Silence::default(),
            unsigned: Unsigned::default(),
            beginnings,
        })
    }

    /// Whether its service takes the credentials no more: who connects anew has those that are set by then.
    pub fn is_refused(&self) -> bool {
        self.is_refused.load(Relaxed)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.place.bucket
    }

    /// Waits for an answer, until the deadline. If the store was silent just now it is not asked.
    pub fn ask<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        // Of one that never answered is said what may be wrong.
        if self.is_met.load(Relaxed)
            && let Some(why) = self.silence.why()
        {
            return Err(self.place.unasked(&why));
        }
        let (begun, long) = (Instant::now(), self.settings.deadline / 2);
        let answer = self.ask_even_so(answer);
        if let Err(why) = &answer
            && begun.elapsed() >= long
            && is_in_passing(why)
        {
            self.silence.endured(long, why);
        }
        answer
    }

    /// The same of what is written, which others' silence is not to undo.
    pub fn ask_even_so<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let deadline = self.settings.deadline;
        let bounded = async { tokio::time::timeout(deadline, self.patiently(answer)).await };
        let answer = self.runtime.wait_for(bounded).unwrap_or_else(|_| Err(timed_out(deadline)));
        if answer.is_ok() {
            self.is_met.store(true, Relaxed);
        }
        answer
    }

    /// Waits for an answer. Where there never was one, it is looked after some time whether anybody is
    /// there.
    async fn patiently<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut answer = pin!(answer);
        if self.is_met.load(Relaxed) {
            return answer.await;
        }
        if let Ok(answer) = tokio::time::timeout(self.settings.unmet_deadline, &mut answer).await {
            return answer;
        }
        match future::select(answer, pin!(self.meet())).await {
            Either::Left((answer, _)) => answer,
            Either::Right((met, answer)) => {
                met?;
                answer.await
            }
        }
    }

    /// Asks once for something that need not be there: whatever is answered, somebody is.
    async fn meet(&self) -> Result<(), Error> {
        let once = Settings { deadline: ONCE, ..self.settings.clone() };
        let Place { service, bucket } = &self.place;
        let (client, _) = service.client(bucket, &once).map_err(|error| self.place.unusable(&error))?;
        let head = GetOptions { head: true, ..GetOptions::default() };
        match client.objects.get_opts(&Path::from("foresee"), head).await {
            Err(error) if failed_by(&error) == Some(HttpErrorKind::Connect) => Err(self.place.away(&error)),
            _ => {
                self.is_met.store(true, Relaxed);
                Ok(())
            }
        }
    }

    /// Asks for a part of an object, or for what it is.
    pub async fn get(&self, path: &Path, options: GetOptions) -> Result<object_store::GetResult, Error> {
        self.whole(async || self.client.objects.get_opts(path, options.clone()).await).await
    }

    /// Asks again for as long as answers end too early.
    pub async fn whole<T>(&self, ask: impl AsyncFn() -> object_store::Result<T>) -> Result<T, Error> {
        self.as_it_is(ask).await.map_err(|error| self.explain(&error))
    }

    /// The same with the client's own errors.
    async fn as_it_is<T>(&self, ask: impl AsyncFn() -> object_store::Result<T>) -> object_store::Result<T> {
        let mut garbled = 0;
        loop {
            match ask().await {
                Err(error) if is_cut_off(&error) => tokio::time::sleep(PAUSE_MIN).await,
                Err(error) if garbled < GARBLED_MAX && is_garbled(&error) => {
                    garbled += 1;
                    tokio::time::sleep(PAUSE_MIN).await;
                }
                answer => {
                    // Who refuses one object over and over may have others.
                    if answer.as_ref().err().and_then(failed_by).is_none() {
                        self.silence.broken();
                    }
                    return answer;
                }
            }
        }
    }

    /// What an error means.
    pub fn explain(&self, error: &object_store::Error) -> Error {
        if self.place.are_spent(error) {
            self.is_refused.store(true, Relaxed);
        }
        self.place.explain(error)
    }

    /// Nothing tells one version of an object from another.
    pub fn no_version(&self) -> Error {
        self.place.no_version()
    }

    /// Whoever reads and writes its objects.
    pub fn objects(&self) -> &dyn object_store::ObjectStore {
        &*self.client.objects
    }

    /// Begins an object.
    pub fn create(self: Arc<Self>, key: &str) -> Result<Written, Error> {
        let path = self.path_to_write(key)?;
        if let Some(signer) = &self.client.signer {
            // The client would look for one until the deadline.
            let look = || self.runtime.wait_for(given(signer(), self.settings.deadline));
            self.unsigned.or(look).map_err(|why| self.place.unsigned(&why))?;
        }
        Ok(Written::new(Arc::clone(&self), path))
    }

    /// Removes an object.
    pub fn remove(&self, key: &str) -> Result<(), Error> {
        let path = self.path_to_write(key)?;
        self.ask_even_so(self.delete(&path))
    }

    /// Gives an object another name: it is removed where it was once it is whole where it is to be.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let (from, to) = (self.path_to_write(from)?, self.path_to_write(to)?);
        self.ask_even_so(async {
            self.whole(async || self.objects().copy(&from, &to).await).await?;
            self.delete(&from).await
        })
    }

    async fn delete(&self, path: &Path) -> Result<(), Error> {
        self.whole(async || self.objects().delete(path).await).await
    }

    /// Pages of a server that only shows them are not written.
    fn path_to_write(&self, key: &str) -> Result<Path, Error> {
        match self.client.pages {
            Some(_) => self.path(key),
            None => Err(io::Error::from(io::ErrorKind::Unsupported).into()),
        }
    }

    fn path(&self, key: &str) -> Result<Path, Error> {
        let is_url = self.client.pages.is_none();
        // It would be the bucket itself.
        if !is_url && key.is_empty() {
            return Err(self.place.no_object());
        }
        let path = if is_url { Path::from_url_path(key) } else { Path::parse(key) };
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why).into();
        let path = path.map_err(|error| invalid(error.to_string()))?;
        // To leave slashes out would be to name another object.
        match is_url || path.as_ref() == key {
            true => Ok(path),
            false => Err(invalid("names with empty parts between slashes are not served".to_owned())),
        }
    }

    /// Opens an object in the version it has now.
    pub fn open(self: Arc<Self>, key: &str) -> Result<Open, Error> {
        let path = self.path(key)?;
        let (meta, beginning) = match self.beginnings.room() {
            None => (self.ask(self.look_up(&path))?, Beginning::default()),
            Some(room) => match self.ask(self.begin(&path)) {
                Ok((meta, bytes)) => (meta, Beginning::new(room, bytes)),
                // It may have no first bytes.
                Err(Error::Changed) => (self.ask(self.look_up(&path))?, Beginning::default()),
                Err(error) => return Err(error),
            },
        };
        self.beginnings.met(meta.size);
        Open::new(Arc::clone(&self), path, meta, beginning)
    }

    /// What an object is, with its first bytes, as far as they came.
    async fn begin(&self, path: &Path) -> Result<(ObjectMeta, Vec<u8>), Error> {
        let range = Some(GetRange::Bounded(0..SMALL));
        let answer = self.get(path, GetOptions { range, ..GetOptions::default() }).await?;
        let (meta, mut bytes) = (answer.meta.clone(), Vec::new());
        let mut stream = answer.into_stream();
        while let Ok(Some(chunk)) = stream.try_next().await
            && bytes.len() + chunk.len() <= SMALL as usize
        {
            bytes.extend_from_slice(&chunk);
        }
        Ok((meta, bytes))
    }

    /// The version that an object has now.
    pub fn version(&self, key: &str) -> Result<Version, Error> {
        let path = self.path(key)?;
        let found = self.ask_even_so(self.look_up(&path))?;
        version(&found).ok_or_else(|| self.no_version())
    }

    /// What an object is, by HEAD or else by GET.
    async fn look_up(&self, path: &Path) -> Result<ObjectMeta, Error> {
        if self.head.is_given_up() {
            return self.look_up_by_get(path).await;
        }
        let options = GetOptions { head: true, ..GetOptions::default() };
        let error = match self.as_it_is(async || self.client.objects.get_opts(path, options.clone()).await).await {
            Ok(found) => {
                self.head.fine();
                return Ok(found.meta);
            }
            Err(error) => error,
        };
        let status = Answer::of(&error).status();
        let is_last_word = match status {
            Some(status) => self.head.is_last_word(status, self.is_met.load(Relaxed)),
            None => failed_by(&error).is_some(),
        };
        if is_last_word {
            return Err(self.explain(&error));
        }
        let found = self.look_up_by_get(path).await?;
        self.head.outdone(status);
        Ok(found)
    }

    async fn look_up_by_get(&self, path: &Path) -> Result<ObjectMeta, Error> {
        let range = Some(GetRange::Bounded(0..1));
        let found = match self.get(path, GetOptions { range, ..GetOptions::default() }).await {
            // It may have no first byte.
            Err(Error::Changed) => self.get(path, GetOptions::default()).await?,
            found => found?,
        };
        Ok(found.meta)
    }

    /// Opens an object in the version in which it was listed.
    pub fn open_listed(self: Arc<Self>, key: &str, listed: &Listed) -> Result<Open, Error> {
        let path = self.path(key)?;
        match Open::listed(Arc::clone(&self), path, listed) {
            Some(open) => Ok(open),
            None => self.open(key),
        }
    }

    /// The objects whose keys begin so, by their full names.
    pub fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        let below = self.below(prefix)?;
        let found: Vec<ObjectMeta> = self.ask(async {
            match &below {
                None => self.list_pages(prefix).await,
                // No name begins as one in a folder that is not there.
                Some(below) => match self.list_folder(&below.folder).await {
                    Err(Error::NotFound) => Ok(Vec::new()),
                    found => found,
                },
            }
        })?;
        let name = |path: &Path| self.name_of(path, prefix, below.as_ref());
        let mut listed: Vec<_> = found.into_iter().filter_map(|it| Some(listed(name(&it.location)?, &it))).collect();
        listed.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(listed)
    }

    /// A page of what lies directly below this.
    pub fn folder(&self, prefix: &str, page: Option<&str>) -> Result<Folder, Error> {
        let below = self.below(prefix)?;
        let (result, next) = self.ask(async {
            match &self.client.pages {
                Some(pages) => {
                    let (delimiter, page_token) = (Some(DELIMITER.into()), page.map(str::to_owned));
                    let options = PaginatedListOptions { delimiter, page_token, ..PaginatedListOptions::default() };
                    let prefix = Some(prefix).filter(|it| !it.is_empty());
                    let page = self.page(&**pages, prefix, &options).await?;
                    Ok((page.result, page.page_token))
                }
                None => {
                    Folder::refuse_page(page)?;
                    let folder = below.as_ref().map(|it| &it.folder);
                    let objects = &self.client.objects;
                    Ok((self.whole(async || objects.list_with_delimiter(folder).await).await?, None))
                }
            }
        })?;
        let name = |path: &Path| self.name_of(path, prefix, below.as_ref());
        let objects = result.objects.iter().filter_map(|it| Some(listed(name(&it.location)?, it))).collect();
        let folders = result.common_prefixes.iter().filter_map(name).collect();
        Ok(Folder { objects, folders, next })
    }

    /// What this asks for of a host, which lists whole folders.
    fn below<'a>(&self, prefix: &'a str) -> Result<Option<Below<'a>>, Error> {
        self.client.pages.is_none().then(|| Below::of(prefix, |address| self.path(address))).transpose()
    }

    /// The full name of what is listed, if it is asked for.
    fn name_of(&self, listed: &Path, prefix: &str, below: Option<&Below>) -> Option<String> {
        let key = match below {
            Some(below) => below.address(listed)?,
            // A folder that was made as an object is listed in itself, by its own name.
            None => Some(listed.to_string()).filter(|key| key.starts_with(prefix) && !key.is_empty())?,
        };
        Some(format!("{}/{key}", self.place.bucket))
    }

    async fn list_pages(&self, prefix: &str) -> Result<Vec<ObjectMeta>, Error> {
        let Some(pages) = &self.client.pages else { return Ok(Vec::new()) };
        let (mut found, mut options) = (Vec::new(), PaginatedListOptions::default());
        let prefix = Some(prefix).filter(|it| !it.is_empty());
        loop {
            let page = self.page(&**pages, prefix, &options).await?;
            found.extend(page.result.objects);
            options.page_token = page.page_token;
            if options.page_token.is_none() {
                return Ok(found);
            }
        }
    }

    /// A page of a list, whose next one is another.
    async fn page(
        &self,
        pages: &dyn PaginatedListStore,
        prefix: Option<&str>,
        options: &PaginatedListOptions,
    ) -> Result<PaginatedListResult, Error> {
        let page = self.whole(async || pages.list_paginated(prefix, options.clone()).await).await?;
        // Who asked for that would be given the same names for ever.
        match page.page_token.is_some() && page.page_token == options.page_token {
            true => Err(self.place.endless()),
            false => Ok(page),
        }
    }

    async fn list_folder(&self, folder: &Path) -> Result<Vec<ObjectMeta>, Error> {
        self.client.objects.list(Some(folder)).try_collect().await.map_err(|error| self.explain(&error))
    }
}

/// Waits for credentials; says why there are none.
async fn given(credentials: Credentials, deadline: Duration) -> Result<(), String> {
    match tokio::time::timeout(CREDENTIALS_MAX.min(deadline), credentials).await {
        Ok(given) => given.map_err(|error| error.to_string()),
        Err(_) => Err("nobody answered who gives them out".to_owned()),
    }
}

fn listed(name: String, it: &ObjectMeta) -> Listed {
    Listed { name, size: it.size, version: version(it), modified: Some(it.last_modified.into()) }
}

/// Whether there was no answer, or none of whoever it was meant for: all others say what is so.
fn is_in_passing(error: &Error) -> bool {
    matches!(error, Error::Io(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::Other))
}

/// Whether a list came that cannot be read: shorter than it was, and it said so, or not to be told
/// apart into its chunks. The client has no kinds of error for that.
fn is_garbled(error: &object_store::Error) -> bool {
    let said = error.to_string();
    ["invalid list response", "list response body"].iter().any(|it| said.contains(it))
}

/// Whether a connection ended within an answer. The client tries that again itself, but not where
/// the answer was a refusal: then what it said is lost.
fn is_cut_off(error: &object_store::Error) -> bool {
    matches!(failed_by(error), Some(HttpErrorKind::Request | HttpErrorKind::Interrupted))
}

/// How a connection failed, if one did.
fn failed_by(error: &object_store::Error) -> Option<HttpErrorKind> {
    let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<HttpError>()).map(HttpError::kind)
}

#[cfg(all(test, feature = "gcs"))]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn who_signs_is_not_looked_for_again_by_each_who_writes() {
        let options = vec![("skip_signature".to_owned(), "1".to_owned())];
        let settings = Settings { options, deadline: Duration::from_secs(9), unmet_deadline: Duration::from_secs(9) };
        let runtime = Arc::new(Runtime::new().unwrap());
        let mut bucket = Bucket::connect(Service::Gcs, "b", &settings, runtime).unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        bucket.client.signer = Some(Box::new(move || {
            counted.fetch_add(1, Relaxed);
            let none = object_store::Error::NotImplemented { operation: String::new(), implementer: String::new() };
            Box::pin(future::ready(Err(none)))
        }));
        let bucket = Arc::new(bucket);
        for key in ["a", "b", "c"] {
            let error = Arc::clone(&bucket).create(key).map(drop).unwrap_err().to_string();
            assert!(error.contains("GOOGLE_SKIP_SIGNATURE"), "{error}");
        }
        assert_eq!(asked.load(Relaxed), 1);
    }
}
