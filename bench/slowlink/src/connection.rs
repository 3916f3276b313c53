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

/// Both directions, until both have ended. A client whose server cannot be reached sees its connection closed.
pub fn pass(client: TcpStream, to: u16, http: bool, link: &Arc<Link>, counters: &Arc<Counters>) {
    counters.connected();
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { return };
    // Only a small message would wait a little longer.
    let _ = client.set_nodelay(true).and(server.set_nodelay(true));
    let (Ok(client_too), Ok(server_too)) = (client.try_clone(), server.try_clone()) else { return };
    let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) else { return };
    let delay = Arc::new(Delay::default());

    let counted = Arc::clone(counters);
    thread::spawn(move || forward(client, &server, http, &counted));
    let (under_way, link, counted) = (Arc::clone(&delay), Arc::clone(link), Arc::clone(counters));
    thread::spawn(move || take_in(server_too, &under_way, &link, &counted));
    thread::spawn(move || hand_over(&delay, client_again, &client_too, &server_again));
}

fn forward(mut client: TcpStream, mut server: &TcpStream, http: bool, counters: &Counters) {
    let mut piece = [0; PIECE];
    let mut requests = http.then(Requests::default);
    while let Ok(length @ 1..) = client.read(&mut piece) {
        counters.asked(length);
        if let Some(requests) = &mut requests {
            requests.read(&piece[..length], |method| counters.request(method));
        }
        if server.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Write);
}

fn take_in(mut server: TcpStream, delay: &Delay, link: &Link, counters: &Counters) {
    let mut piece = [0; PIECE];
    while let Ok(length @ 1..) = server.read(&mut piece) {
        counters.answered(length);
        let sent = link.send(length);
        if !delay.put(sent + link.latency, piece[..length].to_vec(), link.window(PIECE)) {
            break;
        }
        thread::sleep(sent.saturating_duration_since(Instant::now()));
    }
    delay.end();
}

fn hand_over(delay: &Delay, mut client: TcpStream, closing: &TcpStream, server: &TcpStream) {
    while let Some(piece) = delay.take() {
        if client.write_all(&piece).is_err() {
            // The server is to stop sending.
            delay.end();
            let _ = server.shutdown(Shutdown::Both);
            return;
        }
    }
    let _ = closing.shutdown(Shutdown::Write);
}
