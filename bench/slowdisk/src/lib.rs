//! A real block device of chosen slowness, to measure with: a loop device with ext4 on a file
//! that a FUSE server answers as late as a model says.

mod bad;
mod device;
mod engine;
mod measure;
mod model;
mod mounts;
mod plan;
mod serve;
mod server;
mod signals;
mod stats;
mod supervise;
mod undo;
mod units;

use clap::{Args, CommandFactory, Parser, Subcommand};
use model::{DiskParams, Kind, NetworkParams, Settings};
use plan::Plan;
use std::ffi::OsString;
use std::path::PathBuf;
use supervise::Run;

/// Run a command with a real block device of chosen slowness.
///
/// The device is a loop device with an ext4 filesystem, on a file served through FUSE. Every read
/// that reaches it, through the page cache or past it, is answered when a model of a slow device
/// says so. Writes are never delayed. Needs root, /dev/fuse and loop devices. Whatever happens to
/// the run, nothing of it stays behind.
#[derive(Parser)]
#[command(name = "slowdisk", version)]
struct Cli {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make the device, run a command on it, undo everything, exit with the command's status
    ///
    /// The command finds in its environment SLOWDISK_MOUNT, the directory where the filesystem is
    /// mounted, SLOWDISK_DEVICE, the block device, and SLOWDISK_CONTROL, a file: reading it gives
    /// statistics as lines of a key and a value; writing to it changes the model, by lines such as
    /// `network latency=2ms`, `disk rpm=5400`, `off`, and `reset`, which sets the statistics to
    /// zero. Settings not named keep their values.
    ///
    /// Exits with the command's status, with 128 and the number of the signal that ended it, or
    /// with 2 for a failure of slowdisk itself.
    Run(RunArgs),
    /// Measure what the device gives against what is asked of it
    Check(CheckArgs),
    /// The measuring part of check, to be run on a device that exists
    #[command(hide = true)]
    Measure(MeasureArgs),
    /// Remove what is left of a run whose every process was killed at once
    Undo {
        /// The directory of that run, such as /tmp/slowdisk-1234
        directory: PathBuf,
    },
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    place: PlaceArgs,
    /// Shell command that fills the filesystem first, at full speed; the caches of this
    /// filesystem are empty afterwards. May be given several times
    #[arg(long, value_name = "SCRIPT")]
    setup: Vec<String>,
    /// Do not print the device's settings to stderr
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Args)]
struct ModelArgs {
    /// What the device is like
    #[arg(long, value_enum, default_value = "network")]
    model: Kind,
    /// Bytes per second, such as 150M (powers of 1000). Network: of each request's transfer, 0 for
    /// no limit [default: 0]. Disk: under the head [default: 150M]
    #[arg(long, value_parser = units::rate)]
    bandwidth: Option<u64>,
    /// Network: time of each request, before its transfer
    #[arg(long, value_parser = units::duration, default_value = "5ms", help_heading = "Network model")]
    latency: u64,
    /// Network: how far each latency may be off, evenly to both sides
    #[arg(long, value_parser = units::percent, default_value = "0%", help_heading = "Network model")]
    jitter: f64,
    /// Network: requests served at a time, the others wait; 0 for no limit
    #[arg(long, default_value_t = 0, help_heading = "Network model")]
    servers: usize,
    /// Network: where the sequence of jitter begins
    #[arg(long, default_value_t = 1, help_heading = "Network model")]
    seed: u64,
    /// Disk: time to the next track
    #[arg(long, value_parser = units::duration, default_value = "1ms", help_heading = "Disk model")]
    seek_min: u64,
    /// Disk: time across the whole span
    #[arg(long, value_parser = units::duration, default_value = "16ms", help_heading = "Disk model")]
    seek_max: u64,
    /// Disk: rotations per minute
    #[arg(long, default_value_t = 7200, help_heading = "Disk model")]
    rpm: u64,
    /// Disk: bytes read ahead into the drive's own buffer
    #[arg(long, value_parser = units::size, default_value = "8M", help_heading = "Disk model")]
    drive_buffer: u64,
    /// Disk: bytes under the arm's full stroke; 0 for the device's size. Larger makes the device a
    /// part of a larger drive, with shorter seeks
    #[arg(long, value_parser = units::size, default_value = "0", help_heading = "Disk model")]
    span: u64,
}

#[derive(Args)]
struct PlaceArgs {
    /// Size of the device, such as 4G (powers of 1024). The image is sparse
    #[arg(long, value_parser = units::size, default_value = "4G")]
    size: u64,
    /// Image file, which is kept. If it exists, its filesystem is used as it is and --size does
    /// not count [default: a temporary one in TMPDIR]
    #[arg(long)]
    image: Option<PathBuf>,
    /// Where to mount [default: a temporary directory]
    #[arg(long, value_name = "DIR")]
    mount: Option<PathBuf>,
    /// How far the kernel reads ahead of a sequential reader
    #[arg(long, default_value_t = 128, value_name = "KB")]
    read_ahead_kb: u64,
}

#[derive(Args)]
struct CheckArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    measure: MeasureArgs,
}

#[derive(Args)]
struct MeasureArgs {
    /// The latency to ask of the network model
    #[arg(long, default_value = "5ms")]
    latency: String,
    /// Time for each line of the tables
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

impl ModelArgs {
    fn settings(&self) -> Result<Settings, String> {
        let mut settings = Settings {
            kind: self.model,
            network: NetworkParams {
                latency: self.latency,
                jitter: self.jitter,
                servers: self.servers,
                seed: self.seed,
                ..Default::default()
            },
            disk: DiskParams {
                seek_min: self.seek_min,
                seek_max: self.seek_max,
                rpm: self.rpm,
                buffer: self.drive_buffer,
                span: self.span,
                ..Default::default()
            },
        };
        match (self.bandwidth, self.model) {
            (Some(rate), Kind::Network) => settings.network.bandwidth = rate,
            (Some(rate), Kind::Disk) => settings.disk.bandwidth = rate,
            _ => (),
        }
        settings.check().map_err(|why| format!("--{why}"))?;
        Ok(settings)
    }
}

impl PlaceArgs {
    fn plan(&self) -> Result<Plan, String> {
        plan::check_environment()?;
        Plan::new(self.image.as_deref(), self.mount.as_deref(), self.size)
    }
}

/// The words it takes.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Does what this process's words say, and ends it.
pub fn main() {
    let result = match Cli::parse().action {
        Action::Run(args) => run(args),
        Action::Check(args) => check(args),
        Action::Measure(args) => measure::measure(&args.latency, args.seconds).map(|()| 0),
        Action::Undo { directory } => undo_run(directory),
    };
    std::process::exit(result.unwrap_or_else(|why| {
        eprintln!("slowdisk: {why}");
        2
    }));
}

fn run(args: RunArgs) -> Result<i32, String> {
    let run = Run {
        settings: args.model.settings()?,
        plan: args.place.plan()?,
        read_ahead_kb: args.place.read_ahead_kb,
        setup: args.setup,
        command: args.command,
        quiet: args.quiet,
    };
    Ok(run.execute())
}

fn check(args: CheckArgs) -> Result<i32, String> {
    units::duration(&args.measure.latency).map_err(|why| format!("--latency: {why}"))?;
    if !(0.01..=3600.0).contains(&args.measure.seconds) {
        return Err(format!("--seconds {}: must be between 0.01 and 3600", args.measure.seconds));
    }
    let program = std::env::current_exe().map_err(|e| format!("/proc/self/exe: {e}"))?;
    let seconds = args.measure.seconds.to_string();
    let run = Run {
        settings: Settings { kind: Kind::Off, network: NetworkParams::default(), disk: DiskParams::default() },
        plan: args.place.plan()?,
        read_ahead_kb: args.place.read_ahead_kb,
        setup: Vec::new(),
        command: vec![
            program.into(),
            "measure".into(),
            "--latency".into(),
            args.measure.latency.into(),
            "--seconds".into(),
            seconds.into(),
        ],
        quiet: false,
    };
    Ok(run.execute())
}

fn undo_run(directory: PathBuf) -> Result<i32, String> {
    let (plan, server) = Plan::read_note(&directory)?;
    let problems = undo::undo(&plan, server);
    problems.iter().for_each(|problem| eprintln!("slowdisk: {problem}"));
    Ok(if problems.is_empty() { 0 } else { 2 })
}
