//! A server that shows a certificate which this machine does not trust, until it is told to.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::place::{Place, can_mount};
use crate::process::{Ended, end, have};

const KEYS: [&str; 14] = [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-days",
    "2",
    "-subj",
    "/CN=foresee",
    "-addext",
    "subjectAltName=DNS:localhost",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
    "-keyout",
];

/// Lists one file, says its port and then each connection that is tried, by a line.
const SERVER: &str = r#"
import http.server, os, ssl, sys, threading
def entry(path, kind):
    changed = "<D:getlastmodified>Mon, 01 Jan 2024 00:00:00 GMT</D:getlastmodified>"
    return (f"<D:response><D:href>{path}</D:href><D:propstat><D:prop>{kind}{changed}"
            "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>")
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_PROPFIND(self):
        folder = entry("/x/", "<D:resourcetype><D:collection/></D:resourcetype>")
        listed = folder + entry("/x/a", "<D:resourcetype/><D:getcontentlength>1</D:getcontentlength>")
        body = f'<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">{listed}</D:multistatus>'.encode()
        self.send_response(207)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
class Server(http.server.ThreadingHTTPServer):
    def get_request(self):
        connection = super().get_request()
        print("asked", flush=True)
        return connection
    def handle_error(self, *_): pass
server = Server(("localhost", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate", "key")
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_port, flush=True)
# It ends with whoever started it.
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
"#;

#[test]
fn who_is_not_trusted_is_asked_once_and_said_to_be_so_once() {
    if !can_mount() || !["openssl", "python3"].iter().all(|it| have(it)) {
        return;
    }
    let place = Place::new();
    let mut made = Command::new("openssl");
    made.args(KEYS).arg(place.path("key")).arg("-out").arg(place.path("certificate"));
    end(made, b"").with(0);
    // What a mount of it comes to, and how many connections it tried.
    let tried = |mount: &dyn Fn(&str) -> Ended| {
        let mut server = Command::new("python3");
        server.args(["-c", SERVER]).current_dir(place.path(".")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
        let ended = mount(&format!("https://localhost:{}/x", lines.next().unwrap()));
        server.kill().unwrap();
        server.wait().unwrap();
        (ended, lines.count())
    };
    let (ended, connections) = tried(&|source| end(place.mount(&["--deadline", "4", source, "at"]), b""));
    let error = ended.with(2).err();
    assert_eq!(error.matches("invalid peer certificate").count(), 1, "{error}");
    assert!(error.lines().count() == 1 && error.contains("SSL_CERT_FILE"), "{error}");
    assert_eq!(connections, 1);
    let trusting = |source: &str| {
        let mut command = place.mount(&[source, "at", "--", "ls", "at"]);
        command.env("SSL_CERT_FILE", place.path("certificate"));
        end(command, b"")
    };
    assert_eq!(tried(&trusting).0.with(0).out(), "a\n");
}
