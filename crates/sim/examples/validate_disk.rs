//! Compares a disk's model with a trace measured on a real one:
//! `cargo run --release -p foresee-sim --example validate_disk -- hp2247:bus_kb_per_s=3050 TRACE`.

use std::path::Path;
use std::process::ExitCode;

use foresee_sim::device::disk;
use foresee_sim::device::validate::{Measured, demerit_ns, load, respond};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments[..] {
        [device, trace] => compare(device, trace),
        _ => Err(usage()),
    };
    result.map_or_else(
        |error| {
            eprintln!("validate_disk: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn usage() -> String {
    let disks: String = disk::REGISTRY.iter().map(|spec| format!("\n  {:<8} {}", spec.name, spec.summary)).collect();
    format!("write: validate_disk DISK TRACE, as in hp2247:bus_kb_per_s=3050 hp_c2247a.trace; disks:{disks}")
}

fn compare(device: &str, trace: &str) -> Result<(), String> {
    let requests = load(Path::new(trace)).map_err(|error| error.to_string())?;
    let responses = respond(&device.parse()?, &requests)?;
    println!("{:<10} {:>8} {:>12} {:>12} {:>12}", "requests", "", "measured ms", "modelled ms", "demerit ms");
    let kinds: std::collections::BTreeSet<_> = requests.iter().map(|it| (it.write, it.kind.clone())).collect();
    let print = |name: &str, wanted: &dyn Fn(&Measured) -> bool| {
        let both = requests.iter().zip(&responses).filter(|(request, _)| wanted(request));
        let (measured, modelled): (Vec<u64>, Vec<u64>) = both.map(|(request, &it)| (request.response_ns, it)).unzip();
        let mean_ms = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len() as f64 / 1e6;
        let demerit = demerit_ns(&measured, &modelled) / 1e6;
        println!(
            "{name:<10} {:>8} {:>12.3} {:>12.3} {demerit:>12.3}",
            measured.len(),
            mean_ms(&measured),
            mean_ms(&modelled)
        );
    };
    print("all", &|_| true);
    print("reads", &|it| !it.write);
    print("writes", &|it| it.write);
    for (write, kind) in &kinds {
        let name = format!("{} {kind}", if *write { "write" } else { "read" });
        print(&name, &|it| it.write == *write && it.kind == *kind);
    }
    Ok(())
}
