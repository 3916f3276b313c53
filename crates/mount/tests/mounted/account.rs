//! How it stands, for whoever asks.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use crate::place::{Mounted, Place, can_mount};
use crate::process::end;

/// What is answered to this question.
fn asked(socket: &Path, question: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    write!(stream, "{question} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn counts_are_told_as_metrics_and_to_top() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("a", [7; 100_000]);
    let socket = place.path("socket");
    // Left by one that was killed.
    drop(UnixListener::bind(&socket).unwrap());
    let mounted = Mounted::directory(place, &["--metrics", "unix:socket", "--memory", "16MiB"]);
    let before = asked(&socket, "GET /metrics");
    assert!(before.starts_with("HTTP/1.1 200 OK\r\n") && before.contains("\nforesee_read_bytes_total 0\n"), "{before}");
    assert_eq!(fs::read(mounted.path("a")).unwrap().len(), 100_000);
    let answer = asked(&socket, "GET /metrics");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    for line in ["foresee_read_bytes_total 100000", "foresee_read_errors_total 0", "# TYPE foresee_memory_bytes gauge"]
    {
        assert!(body.lines().any(|it| it == line), "{line} is not in {body}");
    }
    assert!(body.lines().all(|line| line.starts_with("# ") || line.starts_with("foresee_")), "{body}");
    assert!(asked(&socket, "GET /other").starts_with("HTTP/1.1 404"));
    assert!(asked(&socket, "POST /metrics").starts_with("HTTP/1.1 404"));
    let process = format!("\"process\": {},", mounted.daemon.id());
    let states = foresee_run::status::states().unwrap();
    let state = states.iter().find(|state| state.contains(&process)).unwrap();
    let parts = ["\"mount\", \"from\", \"at\"]", "\"bytes\": 100000,", "\"guessed\": {\"fetched\": "];
    assert!(parts.iter().all(|part| state.contains(part)), "{state}");
}

#[test]
fn the_socket_goes_with_the_mount_unless_somebody_else_has_the_place() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let socket = place.path("socket");
    let run = |command: &str| {
        let words = ["--metrics", "unix:socket", "from", "at", "--", "sh", "-c", command];
        end(place.mount(&words), b"").with(0)
    };
    assert_eq!(run("test -S socket && echo there").out(), "there\n");
    assert!(!socket.exists(), "left after the command's end");
    let refused = place.mount(&["--metrics", "unix:socket", "from", "at", "--", "/no/program"]);
    end(refused, b"").with(127);
    assert!(!socket.exists(), "left where there was no such command");
    // Another took the place meanwhile.
    run("rm socket; echo another > socket");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "another\n");
    fs::remove_file(&socket).unwrap();
    let mut mounted = Mounted::directory(place, &["--metrics", "unix:socket"]);
    assert!(socket.exists());
    end(mounted.place.unmount(), b"").with(0);
    assert!(mounted.daemon.wait().unwrap().success());
    assert!(!socket.exists(), "left after it was unmounted");
}
