//! A network link of chosen slowness on this machine, to measure with: clients connect to a port of
//! it in place of a server's, and what the server sends arrives late and no faster than a rate.

mod connection;
mod counters;
mod delay;
mod link;
mod requests;

use clap::Parser;
use counters::Counters;
use link::Link;
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Pass connections on to a server of this machine, slowly, and count what passes.
///
/// What the server sends arrives later by the latency; more may be under way meanwhile. All
/// connections together share the bandwidth. What clients send is passed on at once.
///
/// Listens on a free port of 127.0.0.1, and prints its number. Each line on standard input is
/// answered by a line of JSON: the connections, bytes and requests since the line before. Ends with
/// its standard input.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// The port of the server, on 127.0.0.1
    #[arg(long, value_name = "PORT")]
    to: u16,
    /// How much later the server's answers arrive, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 20)]
    latency: u64,
    /// What all connections share, in millions of bytes a second
    #[arg(long, value_name = "MB/S", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    bandwidth: u64,
    /// Count the requests of HTTP/1.1, by method
    #[arg(long)]
    http: bool,
}

fn main() {
    if let Err(why) = run(&Cli::parse()) {
        eprintln!("slowlink: {why}");
        std::process::exit(2);
    }
}

fn run(cli: &Cli) -> Result<(), String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| format!("127.0.0.1: {e}"))?;
    let port = listener.local_addr().map_err(|e| format!("127.0.0.1: {e}"))?.port();
    answer(&port.to_string())?;
    let counters = Arc::new(Counters::default());
    let link = Arc::new(Link::new(Duration::from_millis(cli.latency), cli.bandwidth * 1_000_000));
    let (to, http, counted) = (cli.to, cli.http, Arc::clone(&counters));
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            connection::pass(client, to, http, &link, &counted);
        }
    });
    for line in io::stdin().lock().lines() {
        line.map_err(|e| format!("standard input: {e}"))?;
        answer(&counters.take())?;
    }
    Ok(())
}

fn answer(line: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| format!("standard output: {e}"))
}
