//! A server of objects that speaks as much of HTTP and S3 as reading and writing them takes, and
//! misbehaves where it is told to. For tests: what it does not understand it panics at, in a thread
//! of its own.

mod faults;
mod list;
mod request;
mod write;

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use faults::Fault;
pub use faults::Faults;
use list::Key;
use request::Request;
use write::Uploads;

/// How a server tells versions apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// By entity tags, and it refuses requests for others.
    Tags,
    /// By entity tags, and it answers requests for others with what it has.
    IgnoredTags,
    /// By the time of the last change alone.
    Times,
    /// Not at all.
    None,
}

impl Versions {
    fn have_tags(self) -> bool {
        matches!(self, Versions::Tags | Versions::IgnoredTags)
    }
}

fn tag(generation: u64) -> String {
    format!("\"g{generation}\"")
}

/// The day of January 2025 on which it was put.
fn day(generation: u64) -> u64 {
    generation % 27 + 1
}

/// By path: generation and bytes.
type Objects = BTreeMap<String, (u64, Arc<[u8]>)>;

/// What it has, and how it is.
struct State {
    objects: Mutex<Objects>,
    generations: AtomicU64,
    versions: Versions,
    faults: Faults,
    is_away: AtomicBool,
    /// Microseconds before each answer.
    late_us: AtomicU64,
    /// Whether nobody may write.
    is_read_only: AtomicBool,
    /// The status of all answers to HEAD, which say no more.
    head: Mutex<Option<&'static str>>,
    /// Parts of objects that are not there yet.
    uploads: Mutex<Uploads>,
    /// Names of a page at most.
    page_names: AtomicUsize,
    /// Lines of the requests that came.
    asked: Mutex<Vec<String>>,
}

/// The server: on a port of its own, until the test is over.
#[derive(Clone)]
pub struct Server {
    state: Arc<State>,
    port: u16,
}

impl Server {
    /// One that tells versions apart so, and fails so often. A page of its lists has two names.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn new(versions: Versions, faults: Faults) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            objects: Mutex::default(),
            generations: AtomicU64::new(1),
            versions,
            faults,
            is_away: AtomicBool::new(false),
            late_us: AtomicU64::new(0),
            is_read_only: AtomicBool::new(false),
            head: Mutex::default(),
            uploads: Mutex::default(),
            page_names: AtomicUsize::new(2),
            asked: Mutex::default(),
        });
        let served = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = Arc::clone(&served);
                thread::spawn(move || state.serve(&connection));
            }
        });
        Server { state, port }
    }

    /// The address that paths follow.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Puts an object in the place of what had this path: `/bucket/key`.
    pub fn put(&self, path: &str, bytes: impl Into<Arc<[u8]>>) {
        self.state.put(path, bytes);
    }

    /// The bytes of an object, if it is there.
    pub fn get(&self, path: &str) -> Option<Arc<[u8]>> {
        self.state.objects().get(path).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Removes an object.
    pub fn remove(&self, path: &str) {
        self.state.objects().remove(path);
    }

    /// It answers nobody, or does again.
    pub fn go_away(&self, is_away: bool) {
        self.state.is_away.store(is_away, SeqCst);
    }

    /// Its answers come so much later from now on.
    pub fn answer_after(&self, time: Duration) {
        self.state.late_us.store(time.as_micros() as u64, SeqCst);
    }

    /// Its lists have so many names a page from now on.
    pub fn list_by(&self, names: usize) {
        self.state.page_names.store(names, SeqCst);
    }

    /// Objects that somebody began to write in parts, and neither finished nor gave up.
    ///
    /// # Panics
    /// If the server did.
    pub fn unfinished(&self) -> usize {
        self.state.uploads.lock().unwrap().len()
    }

    /// From now on nobody may write, or everybody.
    pub fn refuse_writes(&self, is_read_only: bool) {
        self.state.is_read_only.store(is_read_only, SeqCst);
    }

    /// From now on HEAD is answered with this status and no more.
    ///
    /// # Panics
    /// If the server did.
    pub fn answer_head(&self, status: &'static str) {
        *self.state.head.lock().unwrap() = Some(status);
    }

    /// What was asked so far, as lines.
    ///
    /// # Panics
    /// If the server did.
    pub fn asked(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().clone()
    }
}

/// A code of S3's and its answer.
fn refusal(status: &str, code: &str) -> (String, Vec<u8>) {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>as it is</Message></Error>");
    (format!("HTTP/1.1 {status}\r\n"), body.into_bytes())
}

impl State {
    fn objects(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap()
    }

    fn serve(&self, connection: &TcpStream) {
        // A head and its body are two writes: the second would wait for the first one's acknowledgement, 40
        // ms.
        let _ = connection.set_nodelay(true);
        let mut lines = BufReader::new(connection);
        while let Some(request) = Request::read(&mut lines) {
            if self.is_away.load(SeqCst) {
                return;
            }
            self.asked.lock().unwrap().push(format!("{} {}", request.line, request.range.as_deref().unwrap_or("")));
            thread::sleep(Duration::from_micros(self.late_us.load(SeqCst)));
            if request.is_head
                && let Some(status) = *self.head.lock().unwrap()
            {
                let mut connection = connection;
                if write!(connection, "HTTP/1.1 {status}\r\n\r\n").is_err() {
                    return;
                }
                continue;
            }
            let fault = self.faults.of(&request);
            if fault == Some(Fault::Busy) {
                let (head, body) = refusal("503 Slow Down", "SlowDown");
                if respond(connection, &request, &head, &body, body.len(), body.len()).is_err() {
                    return;
                }
                continue;
            }
            if let Some(Fault::Late(micros)) = fault {
                thread::sleep(Duration::from_micros(micros));
            }
            if let Some(Fault::Cut(part)) = fault
                && request.changes_something()
            {
                if part % 2 == 0 {
                    self.answer(&request);
                }
                return;
            }
            let (head, body) = self.answer(&request);
            let (said, sent) = match fault {
                Some(Fault::Cut(part)) => (body.len(), body.len() * part / 1000),
                Some(Fault::Short(part)) => (body.len() * part / 1000, body.len() * part / 1000),
                _ => (body.len(), body.len()),
            };
            if respond(connection, &request, &head, &body, said, sent).is_err() || said > sent {
                return;
            }
        }
    }

    /// The head without its length, and the body.
    fn answer(&self, request: &Request) -> (String, Vec<u8>) {
        let bucket = request.path.split('/').nth(1).unwrap_or_default();
        match bucket {
            "closed" => return refusal("403 Forbidden", "AccessDenied"),
            "elsewhere" => return refusal("301 Moved Permanently", "PermanentRedirect"),
            "misplaced" => return refusal("400 Bad Request", "AuthorizationHeaderMalformed"),
            "absent" => return refusal("404 Not Found", "NoSuchBucket"),
            "punctual" => return refusal("403 Forbidden", "RequestTimeTooSkewed"),
            _ => {}
        }
        // A bucket of somebody's, who signs with a key of this name.
        if let Some(owner) = bucket.strip_prefix("of-")
            && !request.authorization.as_ref().is_some_and(|it| it.contains(&format!("Credential={owner}/")))
        {
            return refusal("403 Forbidden", "AccessDenied");
        }
        if request.query.contains("list-type=2") {
            let objects = self.objects();
            let begin = format!("/{bucket}/");
            let key = |(path, (generation, bytes)): (&String, &(u64, Arc<[u8]>))| {
                let name = path.strip_prefix(&begin)?.to_owned();
                let tag = if self.versions.have_tags() { tag(*generation) } else { String::new() };
                Some(Key { name, size: bytes.len(), tag, day: day(*generation) })
            };
            let keys = |first: &str| objects.range(format!("{begin}{first}")..).map_while(key);
            let page = list::page(keys, &request.query, self.page_names.load(SeqCst));
            return (String::from("HTTP/1.1 200 OK\r\n"), page);
        }
        if request.changes_something() && self.is_read_only.load(SeqCst) {
            return refusal("403 Forbidden", "AccessDenied");
        }
        if let Some(answer) = self.write(request) {
            return answer;
        }
        let Some((generation, bytes)) = self.objects().get(&request.path).cloned() else {
            return refusal("404 Not Found", "NoSuchKey");
        };
        let (tag, day) = (tag(generation), day(generation));
        let weekday = ["Wed", "Thu", "Fri", "Sat", "Sun", "Mon", "Tue"][(day as usize - 1) % 7];
        let time = format!("{weekday}, {day:02} Jan 2025 00:00:00 GMT");
        let is_of_another = match self.versions {
            Versions::Tags => request.if_match.as_ref().is_some_and(|it| *it != tag),
            // Its objects were changed within a second, of which the header says the beginning.
            Versions::Times => request.if_unmodified_since.is_some(),
            Versions::IgnoredTags | Versions::None => false,
        };
        if is_of_another {
            return refusal("412 Precondition Failed", "PreconditionFailed");
        }
        let mut versions = String::new();
        if self.versions.have_tags() {
            versions += &format!("ETag: {tag}\r\n");
        }
        if self.versions != Versions::None {
            versions += &format!("Last-Modified: {time}\r\n");
        }
        match request.bytes(bytes.len()) {
            None => (format!("HTTP/1.1 200 OK\r\n{versions}"), bytes.to_vec()),
            Some(range) if range.is_empty() => refusal("416 Range Not Satisfiable", "InvalidRange"),
            Some(range) => {
                let (first, last, size) = (range.start, range.end - 1, bytes.len());
                let head =
                    format!("HTTP/1.1 206 Partial Content\r\n{versions}Content-Range: bytes {first}-{last}/{size}\r\n");
                (head, bytes[range].to_vec())
            }
        }
    }
}

fn respond(
    mut connection: &TcpStream,
    request: &Request,
    head: &str,
    body: &[u8],
    said: usize,
    sent: usize,
) -> std::io::Result<()> {
    let head = format!("{head}Content-Length: {said}\r\n\r\n");
    connection.write_all(head.as_bytes())?;
    if !request.is_head {
        connection.write_all(&body[..sent])?;
    }
    connection.flush()
}
