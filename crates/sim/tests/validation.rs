//! The models beside real drives. The traces are others' data: they are read where they lie, and
//! not shipped.

use std::path::{Path, PathBuf};

use foresee_sim::device::disk;
use foresee_sim::device::validate::{demerit_ns, load, respond};

fn testbeds(file: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/testbeds").join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

fn demerit_ms(device: &str, trace: &str) -> Option<f64> {
    let requests = load(&testbeds(trace)?).unwrap();
    let responses = respond(&device.parse().unwrap(), &requests).unwrap();
    let measured: Vec<u64> = requests.iter().map(|request| request.response_ns).collect();
    Some(demerit_ns(&measured, &responses) / 1e6)
}

#[test]
fn the_hp_c2247a_responds_as_measured() {
    // DiskSim reaches 0.090 ms, with the drive's defects. The drive was measured on a bus of 3 MB/s.
    if let Some(demerit) = demerit_ms("hp2247:bus_kb_per_s=3050", "hp_c2247a.trace") {
        assert!(demerit <= 0.15, "{demerit} ms");
    }
}

#[test]
fn the_rz26_responds_as_measured() {
    if let Some(demerit) = demerit_ms("rz26:bus_kb_per_s=7600", "dec_rz26.trace") {
        assert!(demerit <= 0.3, "{demerit} ms");
    }
}

#[test]
fn the_rz26s_seek_curve_is_as_near_to_the_measured_one_as_its_entry_says() {
    let Some(path) = testbeds("dec_rz26.seek") else { return };
    let spec = disk::REGISTRY.iter().find(|spec| spec.name == "rz26").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let mut squares = Vec::new();
    for (distance, ms) in text.lines().filter_map(|line| line.split_once(',')) {
        let (distance, ms): (u64, f64) = (distance.trim().parse().unwrap(), ms.trim().parse().unwrap());
        // The last line repeats the one before for the whole stroke, which no seek can be.
        if distance < spec.geometry.cylinders() {
            let off_ms = spec.seek.ns(distance) as f64 / 1e6 - ms;
            assert!(off_ms.abs() < 0.27, "{distance} cylinders: {off_ms} ms off");
            squares.push(off_ms * off_ms);
        }
    }
    let rms = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    assert!(squares.len() > 60 && rms < 0.1, "{} distances, {rms} ms", squares.len());
}
