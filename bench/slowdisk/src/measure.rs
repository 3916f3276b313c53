//! How well the device keeps to its models: reads it directly, at several depths.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;

/// Measures the device named by the environment of a run, for so long per line of the table.
pub fn measure(latency: &str, seconds: f64) -> Result<(), String> {
    let from_env = |name: &str| {
        let value = std::env::var_os(name).ok_or_else(|| format!("{name}: not set; run this by slowdisk check"))?;
        Ok::<_, String>(PathBuf::from(value))
    };
    let bench = Bench {
        device: from_env("SLOWDISK_DEVICE")?,
        control: from_env("SLOWDISK_CONTROL")?,
        time: Duration::from_secs_f64(seconds),
    };
    bench.network(latency)?;
    bench.disk()
}

struct Bench {
    device: PathBuf,
    control: PathBuf,
    time: Duration,
}

impl Bench {
    fn network(&self, latency: &str) -> Result<(), String> {
        let asked = crate::units::duration(latency)? as f64 / 1e6;
        self.tell(&format!("network latency={latency} jitter=0 servers=0 bandwidth=0"))?;
        println!("network model, random 4 KiB reads, O_DIRECT; times in ms");
        println!("depth   asked    mean     p50     p99     min   reads/s  depth seen (mean, max)");
        for depth in [1, 4, 16, 64, 128] {
            let result = self.random(depth)?;
            println!(
                "{depth:>5} {asked:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {:>9.0}  {} {}",
                result.mean(),
                result.percentile(50),
                result.percentile(99),
                result.percentile(0),
                result.rate(),
                self.statistic("depth_mean")?,
                self.statistic("depth_max")?,
            );
        }
        Ok(())
    }

    fn disk(&self) -> Result<(), String> {
        self.tell("disk")?;
        println!("\n{}", self.statistic("model")?);
        println!("depth    mean     p99   reads/s   (random 4 KiB reads, O_DIRECT; times in ms)");
        for depth in [1, 32, 128] {
            let result = self.random(depth)?;
            println!("{depth:>5} {:>7.2} {:>7.2} {:>9.1}", result.mean(), result.percentile(99), result.rate());
        }
        println!("sequential 1 MiB reads: {:.1} MB/s", self.sequential()?);
        Ok(())
    }

    /// That many threads, each reading one random block after another.
    fn random(&self, depth: u64) -> Result<Latencies, String> {
        self.tell("reset")?;
        let start = Instant::now();
        let threads: Vec<_> = (0..depth)
            .map(|number| {
                let file = self.open()?;
                let time = self.time;
                Ok(thread::spawn(move || read_random(&file, number + 1, start, time)))
            })
            .collect::<Result<_, String>>()?;
        let mut millis = Vec::new();
        for thread in threads {
            let part = thread.join().map_err(|_| "a reading thread panicked".to_string())?;
            millis.extend(part.map_err(|e| self.complain(e))?);
        }
        millis.sort_by(f64::total_cmp);
        Ok(Latencies { millis, seconds: start.elapsed().as_secs_f64() })
    }

    fn sequential(&self) -> Result<f64, String> {
        let file = self.open()?;
        let size = device_size(&file).map_err(|e| self.complain(e))?;
        let mut buffer = Aligned::new(1 << 20);
        let start = Instant::now();
        let mut offset = 0;
        while start.elapsed() < self.time && offset + (1 << 20) <= size {
            file.read_exact_at(buffer.bytes(), offset).map_err(|e| self.complain(e))?;
            offset += 1 << 20;
        }
        Ok(offset as f64 / 1e6 / start.elapsed().as_secs_f64())
    }

    fn open(&self) -> Result<File, String> {
        File::options().read(true).custom_flags(libc::O_DIRECT).open(&self.device).map_err(|e| self.complain(e))
    }

    fn complain(&self, error: io::Error) -> String {
        format!("{}: {error}", self.device.display())
    }

    fn tell(&self, line: &str) -> Result<(), String> {
        fs::write(&self.control, line).map_err(|e| format!("{}: writing {line}: {e}", self.control.display()))
    }

    fn statistic(&self, key: &str) -> Result<String, String> {
        let text = fs::read_to_string(&self.control).map_err(|e| format!("{}: {e}", self.control.display()))?;
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        Ok(line.unwrap_or_default().to_string())
    }
}

fn read_random(file: &File, seed: u64, start: Instant, time: Duration) -> io::Result<Vec<f64>> {
    let blocks = device_size(file)? / BLOCK as u64;
    let mut buffer = Aligned::new(BLOCK);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut millis = Vec::new();
    while start.elapsed() < time {
        // xorshift: any spread will do, and no two threads share one.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let began = Instant::now();
        file.read_exact_at(buffer.bytes(), state % blocks * BLOCK as u64)?;
        millis.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(millis)
}

fn device_size(file: &File) -> io::Result<u64> {
    const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
    let mut size = 0u64;
    // SAFETY: the request writes one 64-bit integer to the local given.
    match unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &mut size) } {
        0 => Ok(size),
        _ => Err(io::Error::last_os_error()),
    }
}

struct Latencies {
    /// Sorted.
    millis: Vec<f64>,
    seconds: f64,
}

impl Latencies {
    fn mean(&self) -> f64 {
        self.millis.iter().sum::<f64>() / self.millis.len().max(1) as f64
    }

    fn percentile(&self, percent: usize) -> f64 {
        let last = self.millis.len().saturating_sub(1);
        self.millis.get(last * percent / 100).copied().unwrap_or(0.0)
    }

    fn rate(&self) -> f64 {
        self.millis.len() as f64 / self.seconds
    }
}

/// A buffer at a multiple of the block size, as direct I/O wants it.
struct Aligned {
    memory: Vec<u8>,
    from: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize) -> Self {
        let memory = vec![0; len + BLOCK];
        let from = memory.as_ptr().align_offset(BLOCK);
        Aligned { memory, from, len }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.from..self.from + self.len]
    }
}
