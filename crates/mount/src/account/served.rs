//! What anybody may ask for by HTTP, at an address of one's choice.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use super::socket::SocketFile;

/// Who asks says all of it within this time, and takes the answer; the next one waits meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest question.
const HEAD_BYTES_MAX: u64 = 16 << 10;
const STACK_BYTES: usize = 128 << 10;

/// Where it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Where {
    /// A socket of this machine.
    Unix(PathBuf),
    /// `HOST:PORT`.
    Network(String),
}

impl FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Where::Unix(path.into())),
            None if text.contains(':') => Ok(Where::Network(text.to_owned())),
            _ => Err(format!("'{text}' is neither unix:PATH nor HOST:PORT")),
        }
    }
}

impl Where {
    /// Answers there from now on. A socket of this machine is there until what is returned is dropped.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn answer(&self, text: impl Fn() -> String + Send + 'static) -> Result<Option<SocketFile>, String> {
        match self {
            Where::Unix(path) => {
                let listening = SocketFile::listen(path).map_err(|error| format!("{}: {error}", path.display()));
                let (listener, file) = listening?;
                let (reads, writes) = (UnixStream::set_read_timeout, UnixStream::set_write_timeout);
                begin(move || Ok(listener.accept()?.0), reads, writes, text)?;
                Ok(Some(file))
            }
            Where::Network(address) => {
                let listener = TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
                let (reads, writes) = (TcpStream::set_read_timeout, TcpStream::set_write_timeout);
                begin(move || Ok(listener.accept()?.0), reads, writes, text)?;
                Ok(None)
            }
        }
    }
}

type SetTimeout<S> = fn(&S, Option<Duration>) -> io::Result<()>;

fn begin<S: Read + Write + 'static>(
    accept: impl Fn() -> io::Result<S> + Send + 'static,
    reads: SetTimeout<S>,
    writes: SetTimeout<S>,
    text: impl Fn() -> String + Send + 'static,
) -> Result<(), String> {
    let answer = move || {
        loop {
            let Ok(mut asker) = accept() else {
                // Too many descriptors are open, perhaps not for long.
                thread::sleep(PATIENCE);
                continue;
            };
            // Who goes away is told nothing.
            let _ = reads(&asker, Some(PATIENCE)).and_then(|()| writes(&asker, Some(PATIENCE)));
            let _ = speak(&mut asker, &text);
        }
    };
    thread::Builder::new()
        .name("foresee".into())
        .stack_size(STACK_BYTES)
        .spawn(answer)
        .map_err(|error| error.to_string())?;
    Ok(())
}

fn speak<S: Read + Write>(asker: &mut S, text: &impl Fn() -> String) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 1024];
        let count = asker.read(&mut part)?;
        head.extend_from_slice(&part[..count]);
        if count == 0 || head.len() as u64 > HEAD_BYTES_MAX {
            return Ok(());
        }
    }
    let is_known = head.starts_with(b"GET /metrics ") || head.starts_with(b"GET / ");
    let (status, body) = if is_known { ("200 OK", text()) } else { ("404 Not Found", String::new()) };
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    asker.write_all(head.as_bytes())?;
    asker.write_all(body.as_bytes())
}
