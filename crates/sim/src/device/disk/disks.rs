//! The disks, as data: one entry each.
//!
//! Where the numbers come from. Published facts: the papers; the validated parameter files of the
//! public DiskSim distribution, for the geometry, the skews, the seek formula and the buffer of the
//! HP C2247A; the RAID literature for the IBM 0661. *Fitted* ones were found here, by comparing the
//! model with requests measured on a real drive, 9,999 on an HP C2247A and 7,980 on an RZ26
//! (`examples/validate_disk.rs`): demerit figures are of the very traces that were fitted to, as
//! there are no others. *Assumed* numbers are neither.

use super::geometry::{Geometry, Zone};
use super::queue::Order;
use super::seek::{Piece, Seek};
use super::{DiskSpec, Overhead};

/// Every disk there is.
pub static REGISTRY: &[&DiskSpec] = &[&HP2247, &RZ26, &RZ56, &IBM0661, &DISK10K];

/// Their names, for help and errors.
pub fn names() -> String {
    let names: Vec<_> = REGISTRY.iter().map(|spec| spec.name).collect();
    names.join(", ")
}

const fn zone(cylinders: u64, spare_cylinders: u64, sectors: u64, track_skew: u64, cylinder_skew: u64) -> Zone {
    Zone { cylinders, spare_cylinders, sectors, track_skew, cylinder_skew }
}

const fn piece(from: u64, base: f64, root: f64, slope: f64) -> Piece {
    Piece { from, base, root, slope }
}

/// The disk of 000. The bus is that paper's; the drive was measured on one that moved 3.05 MB/s
/// (fitted). The tracks that a drive slips past its defects are each drive's own and left out, as
/// is by how much one zone is turned against the next. Fitted besides: `write_ns`, both ends, and
/// that 16 sectors of a write are in the buffer when it goes on. Demerit figure: 0.10 ms of a mean
/// response of 15.3 ms.
static HP2247: DiskSpec = DiskSpec {
    name: "hp2247",
    summary: "HP C2247A, 1.05 GB, 5,400 rpm, the disk of 000",
    geometry: Geometry {
        surfaces: 13,
        zones: &[
            zone(559, 25, 96, 14, 32),
            zone(202, 10, 92, 13, 30),
            zone(141, 5, 88, 13, 29),
            zone(150, 6, 84, 12, 28),
            zone(142, 4, 80, 12, 27),
            zone(326, 8, 72, 11, 24),
            zone(274, 6, 64, 10, 22),
            zone(257, 5, 56, 9, 19),
        ],
        spare_sectors: 0,
        reserved: 1632,
    },
    turn_ns: 11_111_111,
    seek: Seek {
        first_ms: &[2.89, 3.68, 3.81, 3.98, 4.27, 4.65, 4.52, 4.65, 4.82, 4.99],
        pieces: &[piece(11, 3.81, 0.33, 0.0), piece(300, 7.75, 0.0, 0.0059)],
    },
    head_switch_ns: 890_000,
    write_settle_ns: 650_000,
    overhead: Overhead {
        read_miss_ns: 558_000,
        read_hit_ns: 953_000,
        write_ns: 800_000,
        read_end_ns: 100_000,
        write_end_ns: 300_000,
    },
    bus_bytes_per_s: 10_000_000,
    read_buffered_percent: 75,
    write_buffered_sectors: 16,
    segments: 2,
    segment_sectors: 256,
    ahead_sectors: 128,
    ahead_in_track: false,
    order: Order::Scan,
};

/// One of the two disks of 002. The bus is that paper's; the drive was measured on one that moved
/// 7.6 MB/s (fitted).
///
/// Skews and unaddressed cylinders are DiskSim's, and borne out by the trace: 65 % of its reads
/// take within 0.5 ms of what the model says of that very read, and 26 to 31 % with a skew one
/// sector off. That tracks begin one sector further shows in the same way.
///
/// Fitted: the seek curve, to 63 measured distances, 0.09 ms off in the root mean square and 0.26
/// ms at most; all overheads (a read's are 1.45 ms in all, or 1.04 ms from the buffer); and how it
/// reads ahead: of 981 reads that followed one another within a track all were in the buffer, of
/// 279 that went on to the next track after one within a track 36, of 99 after one that had gone on
/// itself 74. Demerit figure: 0.25 ms of a mean response of 15.8 ms.
static RZ26: DiskSpec = DiskSpec {
    name: "rz26",
    summary: "DEC RZ26, 1.05 GB, 5,400 rpm, of 002",
    geometry: Geometry {
        surfaces: 14,
        zones: &[zone(2599, 0, 58, 7, 25)],
        spare_sectors: 1,
        reserved: 29 * 14 * 57 + 1,
    },
    // 5,360 rpm.
    turn_ns: 11_194_030,
    seek: Seek {
        first_ms: &[1.01, 1.90],
        pieces: &[piece(3, 1.758, 0.3656, 0.0), piece(100, 3.135, 0.2608, 0.0), piece(800, 6.952, 0.0, 0.004_639)],
    },
    head_switch_ns: 865_000,
    write_settle_ns: 470_000,
    overhead: Overhead {
        read_miss_ns: 880_000,
        read_hit_ns: 470_000,
        write_ns: 1_950_000,
        read_end_ns: 570_000,
        write_end_ns: 0,
    },
    bus_bytes_per_s: 3_300_000,
    read_buffered_percent: 0,
    write_buffered_sectors: 16,
    segments: 10,
    segment_sectors: 57,
    ahead_sectors: 57,
    ahead_in_track: true,
    order: Order::Fifo,
};

/// The other disk of 002, built from what that paper states: 665 MB, 16 ms of average seek, 8.3 ms
/// of average latency, 1.875 MB/s at best, which are 60 sectors a turn. Assumed: 15 surfaces, the
/// short seeks, the electronics. The paper speaks of the disk's buffering and says no more: that
/// its buffer has 64 KB, and reads on, is fitted to that paper's elapsed times. Without
/// one, neighbouring blocks that are asked for one by one would come one a turn, and glimpse beside
/// Read300 take 262 s, not 156; with it, 150 s.
static RZ56: DiskSpec = DiskSpec {
    name: "rz56",
    summary: "DEC RZ56, 665 MB, 3,600 rpm, of 002, built from averages",
    geometry: Geometry { surfaces: 15, zones: &[zone(1443, 0, 60, 4, 17)], spare_sectors: 0, reserved: 0 },
    turn_ns: 16_666_666,
    seek: Seek { first_ms: &[], pieces: &[piece(1, 4.0, 0.592, 0.0)] },
    head_switch_ns: 1_000_000,
    write_settle_ns: 0,
    overhead: Overhead {
        read_miss_ns: 1_500_000,
        read_hit_ns: 1_500_000,
        write_ns: 1_500_000,
        read_end_ns: 0,
        write_end_ns: 0,
    },
    bus_bytes_per_s: 1_875_000,
    read_buffered_percent: 0,
    write_buffered_sectors: 0,
    segments: 1,
    segment_sectors: 128,
    ahead_sectors: 128,
    ahead_in_track: false,
    order: Order::Fifo,
};

/// The disk of 001. Assumed: the cylinder's skew (a seek of one cylinder), a bus of 4 MB/s, and how
/// the buffer is used. Its size, 128 KB, is that of IBM's data sheet of the 0661-467, the model of
/// 400 MB. That it reads on into it follows from 001's Table 3: 722 neighbouring blocks, one
/// request each, come every half turn, and without a buffer only one a turn would.
static IBM0661: DiskSpec = DiskSpec {
    name: "ibm0661",
    summary: "IBM 0661 Lightning, 320 MB, 4,318 rpm, of 001",
    geometry: Geometry { surfaces: 14, zones: &[zone(949, 0, 48, 4, 9)], spare_sectors: 0, reserved: 0 },
    turn_ns: 13_895_322,
    seek: Seek { first_ms: &[], pieces: &[piece(1, 2.0, 0.46, 0.01)] },
    // The 4 sectors of its skew; published as 1.16 ms.
    head_switch_ns: 1_157_900,
    write_settle_ns: 0,
    overhead: Overhead {
        read_miss_ns: 500_000,
        read_hit_ns: 500_000,
        write_ns: 500_000,
        read_end_ns: 0,
        write_end_ns: 0,
    },
    bus_bytes_per_s: 4_000_000,
    read_buffered_percent: 50,
    write_buffered_sectors: 0,
    segments: 1,
    segment_sectors: 256,
    ahead_sectors: 128,
    ahead_in_track: false,
    order: Order::Fifo,
};

/// The disk of 003, of which that paper states 72 GB and 10,000 rpm. An average seek of 4.9 ms is
/// what data sheets of such disks give. Assumed: 12 surfaces, three zones of 400 to 700 sectors a
/// turn (34 to 60 MB/s), the skews that go with them, the short seeks, the electronics, and a
/// buffer of 1 MB that reads on.
static DISK10K: DiskSpec = DiskSpec {
    name: "disk10k",
    summary: "72 GB, 10,000 rpm, of 003, built from averages",
    geometry: Geometry {
        surfaces: 12,
        zones: &[zone(7000, 0, 700, 60, 90), zone(8000, 0, 550, 48, 72), zone(6900, 0, 400, 36, 54)],
        spare_sectors: 0,
        reserved: 0,
    },
    turn_ns: 6_000_000,
    seek: Seek { first_ms: &[], pieces: &[piece(1, 0.6, 0.0545, 0.0)] },
    head_switch_ns: 500_000,
    write_settle_ns: 200_000,
    overhead: Overhead {
        read_miss_ns: 900_000,
        read_hit_ns: 100_000,
        write_ns: 900_000,
        read_end_ns: 0,
        write_end_ns: 0,
    },
    bus_bytes_per_s: 100_000_000,
    read_buffered_percent: 0,
    write_buffered_sectors: 8,
    segments: 8,
    segment_sectors: 256,
    ahead_sectors: 256,
    ahead_in_track: false,
    order: Order::Fifo,
};
