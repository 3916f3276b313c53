//! All buckets of one service.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foresee_store::{Error, Folder, Listed, Object, Store, Upload, Version};
use url::Url;

use crate::bucket::Bucket;
use crate::runtime::Runtime;
use crate::seldom::Seldom;
use crate::service::Service;
use crate::settings::Settings;

/// A store that is away for a minute, as they are at times, loses nothing.
const DEADLINE: Duration = Duration::from_secs(120);
/// One that nobody has met yet may not be there at all.
const UNMET_DEADLINE: Duration = Duration::from_secs(10);

/// All buckets of one service, each connected to when something of it is opened first, and again once the
/// service does not take the credentials any more.
#[must_use]
pub struct ObjectStore {
    service: Service,
    settings: Settings,
    connected: Mutex<Connected>,
}

#[derive(Default)]
struct Connected {
    runtime: Option<Arc<Runtime>>,
    buckets: HashMap<String, Known>,
}

/// One that was connected to, and when that was tried last.
struct Known {
    bucket: Arc<Bucket>,
    connected: Seldom,
}

impl Connected {
    /// One that takes the credentials with which it was connected to; or else the same, but for one caller now and
    /// then, who connects anew: it may be that nobody has set others.
    fn bucket(&self, name: &str) -> Option<Arc<Bucket>> {
        let Known { bucket, connected } = self.buckets.get(name)?;
        (!bucket.is_refused() || !connected.is_due()).then(|| Arc::clone(bucket))
    }
}

/// What is said of an address with a name and a password.
const NO_USERS: &str = "no name and password are sent to servers: leave out what stands before the @, or give the cache a \
                        store that sends them";

/// What is said of a signed address.
const NO_QUERIES: &str = "addresses with a query are not served";

/// The bucket's name and the key's.
fn halves(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, ""))
}

impl ObjectStore {
    fn new(service: Service) -> Self {
        let settings = Settings { options: Vec::new(), deadline: DEADLINE, unmet_deadline: UNMET_DEADLINE };
        ObjectStore { service, settings, connected: Mutex::default() }
    }

    /// S3, and what speaks as it does: a name is `bucket/key`.
    #[cfg(feature = "s3")]
    pub fn s3() -> Self {
        Self::new(Service::S3)
    }

    /// Google Cloud Storage: a name is `bucket/key`.
    #[cfg(feature = "gcs")]
    pub fn gcs() -> Self {
        Self::new(Service::Gcs)
    }

    /// Azure's blobs: a name is `container/key`.
    #[cfg(feature = "azure")]
    pub fn azure() -> Self {
        Self::new(Service::Azure)
    }

    /// Servers without encryption: a name is `host/path`.
    #[cfg(feature = "http")]
    pub fn http() -> Self {
        Self::new(Service::Http("http"))
    }

    /// Servers with it: a name is `host/path`.
    #[cfg(feature = "http")]
    pub fn https() -> Self {
        Self::new(Service::Http("https"))
    }

    /// Sets an option of the service, in place of what the environment has: the keys are those of
    /// `object_store`, as in `set("region", "eu-west-1")`.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.settings.options.push((key.to_owned(), value.to_owned()));
        self
    }

    /// How long an answer is waited for, attempts and the pauses between them together: two minutes
    /// unless said, but ten seconds, and a moment more, where a bucket or host has never answered and
    /// nobody takes the connection then.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        (self.settings.deadline, self.settings.unmet_deadline) = (deadline, deadline);
        self
    }

    /// Why a name of this host is not served, if so. Such names have secrets in them: no error may
    /// name the host.
    fn refused(&self, host: &str, name: &str) -> Option<&'static str> {
        if !self.service.is_host() {
            return None;
        }
        // A password may have a slash in it: what is before that is no host with a port then.
        let is_host = || Url::parse(&format!("{}://{host}", self.service.scheme())).is_ok();
        match () {
            () if host.contains('@') || name.contains('@') && !is_host() => Some(NO_USERS),
            () if name.contains(['?', '#']) => Some(NO_QUERIES),
            () => None,
        }
    }

    /// The bucket that a name begins with, and what is left of the name.
    fn bucket<'a>(&self, name: &'a str) -> Result<(Arc<Bucket>, &'a str), Error> {
        let (bucket, key) = halves(name);
        let refused = match bucket.is_empty() {
            true => Some("it names no bucket or host"),
            false => self.refused(bucket, name),
        };
        if let Some(why) = refused {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why).into());
        }
        let (known, runtime) = {
            let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
            let runtime = match &connected.runtime {
                Some(runtime) => Arc::clone(runtime),
                None => Arc::clone(connected.runtime.insert(Arc::new(Runtime::new()?))),
            };
            (connected.bucket(bucket), runtime)
        };
        if let Some(known) = known {
            return Ok((known, key));
        }
        // Credentials may have to be asked for: others do not wait for that.
        let made = Arc::new(Bucket::connect(self.service, bucket, &self.settings, runtime)?);
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        let meanwhile = connected.buckets.get(bucket).filter(|it| !it.bucket.is_refused());
        if let Some(Known { bucket, .. }) = meanwhile {
            return Ok((Arc::clone(bucket), key));
        }
        let known = Known { bucket: Arc::clone(&made), connected: Seldom::done() };
        connected.buckets.insert(bucket.to_owned(), known);
        Ok((made, key))
    }
}

impl Store for ObjectStore {
    fn open(&self, name: &str) -> Result<Arc<dyn Object>, Error> {
        let (bucket, key) = self.bucket(name)?;
        Ok(Arc::new(bucket.open(key)?))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, Error> {
        let (bucket, key) = self.bucket(prefix)?;
        bucket.list(key)
    }

    fn open_listed(&self, listed: &Listed) -> Result<Arc<dyn Object>, Error> {
        let (bucket, key) = self.bucket(&listed.name)?;
        Ok(Arc::new(bucket.open_listed(key, listed)?))
    }

    fn folder(&self, prefix: &str, page: Option<&str>) -> Result<Folder, Error> {
        let (bucket, key) = self.bucket(prefix)?;
        bucket.folder(key, page)
    }

    fn version(&self, name: &str) -> Result<Version, Error> {
        let (bucket, key) = self.bucket(name)?;
        bucket.version(key)
    }

    fn create(&self, name: &str) -> Result<Box<dyn Upload>, Error> {
        let (bucket, key) = self.bucket(name)?;
        Ok(Box::new(bucket.create(key)?))
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        let (bucket, key) = self.bucket(name)?;
        bucket.remove(key)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let (bucket, key) = self.bucket(from)?;
        // By its name: looked up once more it may be connected to anew, and another that is not written need not be.
        let (same, to) = halves(to);
        match bucket.name() == same {
            true => bucket.rename(key, to),
            false => Err(io::Error::from(io::ErrorKind::CrossesDevices).into()),
        }
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn depth(&self) -> usize {
        64
    }
}

#[cfg(all(test, feature = "http"))]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server's address that gives this answer to each request, by its first line, and so late.
    fn answering(answer: impl Fn(&str) -> (Duration, &'static str) + Send + Sync + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
                thread::spawn(move || {
                    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    let asked: Vec<_> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
                    let (after, answer) = answer(&asked[0]);
                    thread::sleep(after);
                    let _ = write!(stream, "HTTP/1.1 {answer}\r\nConnection: close\r\n\r\nx");
                });
            }
        });
        host
    }

    fn opened(host: &str, unmet_deadline: Duration) -> Result<u64, String> {
        let mut store = ObjectStore::http();
        store.settings.unmet_deadline = unmet_deadline;
        let opened = store.open(&format!("{host}/a"));
        opened.map(|it| it.size()).map_err(|error| error.to_string())
    }

    const FOUND: &str = "206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes 0-0/1\r\nContent-Length: 1";

    #[test]
    fn what_never_answered_says_why_long_before_the_deadline() {
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let why = opened(&nobody, Duration::from_millis(100)).unwrap_err();
        assert!(why.contains(&format!("http://{nobody} does not answer: Connection refused")), "{why}");
    }

    #[test]
    fn where_no_tls_is_spoken_is_said() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plain = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 1 << 16]);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            }
        });
        let mut store = ObjectStore::https();
        store.settings.unmet_deadline = Duration::from_millis(100);
        let why = store.open(&format!("{plain}/a")).map(drop).unwrap_err().to_string();
        assert!(why.contains("its address begins with http://"), "{why}");
    }

    #[cfg(feature = "s3")]
    #[test]
    fn the_server_that_does_not_answer_is_named_beside_the_bucket() {
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut store = ObjectStore::s3().set("skip_signature", "true").set("region", "here");
        store = store.set("endpoint", &format!("http://me:mine@{nobody}"));
        store.settings.unmet_deadline = Duration::from_millis(100);
        let why = store.open("b/a").map(drop).unwrap_err().to_string();
        assert!(why.contains(&format!("s3://b does not answer at http://{nobody}: Connection refused")), "{why}");
    }

    #[test]
    fn who_is_slow_to_answer_is_waited_for() {
        let (soon, later) = (Duration::from_millis(50), Duration::from_millis(400));
        for to_head in ["404 Not Found", "500 Internal Server Error", "429 Too Many Requests", "200 OK"] {
            let host = answering(move |asked| match asked.starts_with("HEAD") {
                true => (Duration::ZERO, to_head),
                false => (later, FOUND),
            });
            assert_eq!(opened(&host, soon), Ok(1), "{to_head}");
        }
    }

    #[test]
    fn a_server_that_sends_no_parts_is_refused_by_that() {
        let whole = answering(|asked| match asked.starts_with("HEAD") {
            true => (Duration::ZERO, "404 Not Found"),
            false => (Duration::ZERO, "200 OK\r\nETag: \"1\"\r\nContent-Length: 1"),
        });
        let why = opened(&whole, Duration::MAX);
        assert!(why.as_ref().is_err_and(|why| why.contains("sends this as a whole alone")), "{why:?}");
    }

    #[cfg(feature = "s3")]
    #[test]
    fn who_takes_the_credentials_no_more_is_connected_to_with_others() {
        let host = answering(|asked| match asked.contains("/spent") {
            true => (Duration::ZERO, "400 Bad Request\r\n\r\n<Error><Code>ExpiredToken</Code></Error>"),
            false => (Duration::ZERO, FOUND),
        });
        let store = ObjectStore::s3().set("access_key_id", "me").set("secret_access_key", "mine");
        let store = store.set("endpoint", &format!("http://{host}")).set("region", "here");
        let bucket = |name: &str| store.bucket(name).map(|it| it.0).map_err(|it| it.to_string()).unwrap();
        let before = bucket("b");
        assert_eq!(store.open("b/a").map(|it| it.size()).map_err(|it| it.to_string()), Ok(1));
        assert!(Arc::ptr_eq(&before, &bucket("b")));
        let why = store.open("b/spent").map(drop).unwrap_err().to_string();
        assert!(why.contains("renew them, and open it again"), "{why}");
        // Others are hardly set already.
        assert!(Arc::ptr_eq(&before, &bucket("b")));
        let wait = || store.connected.lock().unwrap().buckets["b"].connected.wait();
        wait();
        let after = bucket("b");
        assert!(!Arc::ptr_eq(&before, &after) && Arc::ptr_eq(&after, &bucket("b")));
        // Of many who ask at once one connects.
        assert!(store.open("b/spent").is_err());
        wait();
        let all: Vec<_> = thread::scope(|scope| {
            let asking: Vec<_> = (0..16).map(|_| scope.spawn(|| bucket("b"))).collect();
            asking.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let others = all.iter().filter(|it| !Arc::ptr_eq(it, &after)).collect::<Vec<_>>();
        assert!(others.iter().all(|it| Arc::ptr_eq(it, others[0])) && !others.is_empty());
    }

    #[test]
    fn an_object_that_is_refused_is_asked_for_once_where_head_was_fine() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let host = answering(move |line| {
            seen.lock().unwrap().push(line.split(" HTTP").next().unwrap_or_default().to_owned());
            match line.contains("/closed") {
                true => (Duration::ZERO, "403 Forbidden"),
                false => (Duration::ZERO, "200 OK\r\nETag: \"1\"\r\nContent-Length: 1"),
            }
        });
        let store = ObjectStore::http();
        for name in ["a", "closed", "closed", "closed", "b"] {
            assert_eq!(store.version(&format!("{host}/{name}")).is_err(), name == "closed");
        }
        let expected = ["HEAD /a", "HEAD /closed", "GET /closed", "HEAD /closed", "HEAD /closed", "HEAD /b"];
        assert_eq!(*asked.lock().unwrap(), expected);
    }

    #[test]
    fn an_object_without_bytes_is_one_where_all_of_it_is_sent_for_a_part() {
        for to_head in ["405 Method Not Allowed", "200 OK\r\nETag: \"1\"\r\nContent-Length: 0"] {
            let host = answering(move |asked| match asked.starts_with("HEAD") {
                true => (Duration::ZERO, to_head),
                false => (Duration::ZERO, "200 OK\r\nETag: \"1\"\r\nContent-Length: 0"),
            });
            assert_eq!(opened(&host, Duration::MAX), Ok(0), "{to_head}");
        }
    }

    #[cfg(feature = "s3")]
    #[test]
    fn no_object_is_renamed_into_another_bucket_which_is_not_connected_to() {
        let store = ObjectStore::s3().set("skip_signature", "true").set("region", "here");
        let why = store.rename("b/a", "other/a").unwrap_err().to_string();
        assert!(why.contains("cross-device"), "{why}");
        assert_eq!(store.connected.lock().unwrap().buckets.keys().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn who_refuses_one_object_over_and_over_is_asked_for_others() {
        let host = answering(|asked| match asked.contains("/bad") {
            true => (Duration::ZERO, "500 Internal Server Error\r\nContent-Length: 1"),
            false => (Duration::ZERO, FOUND),
        });
        let mut store = ObjectStore::http();
        store.settings.deadline = Duration::from_secs(2);
        let opened =
            |name: &str| store.open(&format!("{host}/{name}")).map(|it| it.size()).map_err(|it| it.to_string());
        assert_eq!(opened("a"), Ok(1));
        assert!(opened("bad").is_err());
        assert_eq!(opened("b"), Ok(1));
    }
}
