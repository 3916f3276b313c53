//! One connection: a thread passes on what the client sends, one takes in what the server sends,
//! and one hands that to the client when it has arrived.

use crate::counters::Counters;
use crate::delay::Delay;
use crate::link::Link;
use crate::requests::Requests;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

const PIECE: usize = 64 << 10;

/// Both directions, until both have ended. A client whose server cannot be reached sees its
/// connection closed.
pub fn pass(client: TcpStream, to: u16, http: bool, link: &Arc<Link>, counters: &Arc<Counters>) {
    counters.connected();
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { return };
    // Where it fails, small messages wait a little longer.
    let _ = client.set_nodelay(true).and(server.set_nodelay(true));
    let connection = Arc::new(Connection {
        client,
        server,
        http,
        under_way: Delay::default(),
        link: Arc::clone(link),
        counters: Arc::clone(counters),
    });
    for part in [Connection::forward, Connection::take_in, Connection::hand_over] {
        let connection = Arc::clone(&connection);
        thread::spawn(move || part(&connection));
    }
}

struct Connection {
    client: TcpStream,
    server: TcpStream,
    http: bool,
    /// From the server to the client.
    under_way: Delay,
    link: Arc<Link>,
    counters: Arc<Counters>,
}

impl Connection {
    fn forward(&self) {
        let mut piece = [0; PIECE];
        let mut requests = self.http.then(Requests::default);
        while let Ok(length @ 1..) = (&self.client).read(&mut piece) {
            self.counters.asked(length);
            if let Some(requests) = &mut requests {
                requests.read(&piece[..length], |method| self.counters.request(method));
            }
            if (&self.server).write_all(&piece[..length]).is_err() {
                break;
            }
        }
        let _ = self.server.shutdown(Shutdown::Write);
    }

    fn take_in(&self) {
        let mut piece = [0; PIECE];
        while let Ok(length @ 1..) = (&self.server).read(&mut piece) {
            self.counters.answered(length);
            let sent = self.link.send(length);
            let arrives = sent + self.link.latency;
            if !self.under_way.put(arrives, piece[..length].to_vec(), self.link.window(PIECE)) {
                break;
            }
            thread::sleep(sent.saturating_duration_since(Instant::now()));
        }
        self.under_way.end();
    }

    fn hand_over(&self) {
        while let Some(piece) = self.under_way.take() {
            if (&self.client).write_all(&piece).is_err() {
                // The client is gone: the server is to stop sending.
                self.under_way.end();
                let _ = self.server.shutdown(Shutdown::Both);
                return;
            }
        }
        let _ = self.client.shutdown(Shutdown::Write);
    }
}
