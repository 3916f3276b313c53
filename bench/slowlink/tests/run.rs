//! The program itself, between a server and clients of this test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

struct Slowlink {
    child: Child,
    out: BufReader<ChildStdout>,
    port: u16,
}

impl Slowlink {
    /// Before a server that answers each connection's first byte with so many others, and then
    /// closes.
    fn before_server(answer: usize, options: &[&str]) -> Slowlink {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap().port().to_string();
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                thread::spawn(move || {
                    let _ = client.read(&mut [0; 4096]);
                    // Fails where the client does not wait for all of it.
                    let _ = client.write_all(&vec![7; answer]);
                });
            }
        });
        let mut child = Command::new(env!("CARGO_BIN_EXE_slowlink"))
            .args(["--to", &to])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut port = String::new();
        out.read_line(&mut port).unwrap();
        Slowlink { child, out, port: port.trim().parse().unwrap() }
    }

    fn ask(&self, request: &[u8]) -> TcpStream {
        let mut client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        client.write_all(request).unwrap();
        client
    }

    fn counts(&mut self) -> String {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Slowlink {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn read_all(mut client: TcpStream) -> usize {
    let mut got = Vec::new();
    client.read_to_end(&mut got).unwrap();
    assert!(got.iter().all(|byte| *byte == 7));
    got.len()
}

#[test]
fn counts_what_passes_and_begins_anew() {
    let mut link = Slowlink::before_server(300_000, &["--latency", "0", "--http"]);
    assert_eq!(read_all(link.ask(b"GET / HTTP/1.1\r\n\r\n")), 300_000);
    assert_eq!(read_all(link.ask(b"HEAD / HTTP/1.1\r\n\r\n")), 300_000);
    let expected =
        r#"{"connections": 2, "bytes_to_server": 37, "bytes_to_client": 600000, "requests": {"GET": 1, "HEAD": 1}}"#;
    assert_eq!(link.counts().trim(), expected);
    let none = r#"{"connections": 0, "bytes_to_server": 0, "bytes_to_client": 0, "requests": {}}"#;
    assert_eq!(link.counts().trim(), none);
}

/// Neither can be quicker, however fast the machine.
#[test]
fn answers_are_late_and_all_share_the_rate() {
    let link = Slowlink::before_server(1_000_000, &["--latency", "50", "--bandwidth", "20"]);
    let begun = Instant::now();
    let (one, other) = (link.ask(b"x"), link.ask(b"x"));
    let second = thread::spawn(move || read_all(other));
    assert_eq!(read_all(one) + second.join().unwrap(), 2_000_000);
    assert!(begun.elapsed() >= Duration::from_millis(50 + 100 - 10));
}

#[test]
fn a_client_that_leaves_does_not_draw_the_rest() {
    let mut link = Slowlink::before_server(1 << 30, &["--latency", "1"]);
    let mut client = link.ask(b"x");
    client.read_exact(&mut [0; 1000]).unwrap();
    drop(client);
    // Ends once nothing more comes.
    while !link.counts().contains(r#""bytes_to_client": 0"#) {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(read_all_of_little(&link), 1000);
}

/// The link is still good for others.
fn read_all_of_little(link: &Slowlink) -> usize {
    let mut client = link.ask(b"x");
    let mut got = [0; 1000];
    client.read_exact(&mut got).unwrap();
    got.len()
}
