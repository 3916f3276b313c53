//! The eight applications of section 5.1, as they were recorded, and how they advise.
//!
//! What a program computes for each block it asks for is ours: *fitted* to the paper's times beside
//! Read300 where there are any, one number a program, else *assumed*.

use super::recorded::{DoneWith, Recorded};
use super::{Disk, MS};

/// One that advises nothing.
const QUIET: Recorded = Recorded {
    trace: &[],
    disk: Disk::Rz56,
    think_ns: 0,
    mru: &[],
    priorities: &[],
    done_with: DoneWith::Never,
    temporary: None,
};

/// cscope, eight symbols: the database is read from end to end for each.
pub static CS1: Recorded = Recorded {
    trace: include_bytes!("../traces/cs1.parquet"),
    // Fitted: over 45 % of the time is saved at best.
    think_ns: 5 * MS,
    mru: &[0],
    priorities: &[("cscope.out", 0)],
    ..QUIET
};

/// cscope, four texts in the larger package: all files are read for each, in one order.
pub static CS2: Recorded = Recorded {
    trace: include_bytes!("../traces/cs2.parquet"),
    // Fitted to 225 s beside Read300.
    think_ns: 8 * MS,
    mru: &[0],
    ..QUIET
};

/// The same in the smaller one.
pub static CS3: Recorded = Recorded { trace: include_bytes!("../traces/cs3.parquet"), ..CS2 };

/// A cache simulator in the way of dinero: nine caches, and one trace for all.
pub static DIN: Recorded = Recorded {
    trace: include_bytes!("../traces/din.parquet"),
    // Fitted to 155 s beside Read300.
    think_ns: 9 * MS,
    mru: &[0],
    priorities: &[("cc.din", 0)],
    ..QUIET
};

/// glimpse, five searches: the index each time, and the articles of those partitions in which all
/// words occur.
pub static GLI: Recorded = Recorded {
    trace: include_bytes!("../traces/gli.parquet"),
    // Assumed.
    think_ns: 2 * MS,
    mru: &[1, 0],
    priorities: &[(".glimpse_", 1)],
    ..QUIET
};

/// ld. The paper's own advice is made in the kernel: a block is freed when all its data have been
/// accessed.
pub static LDK: Recorded = Recorded {
    trace: include_bytes!("../traces/ldk.parquet"),
    // Assumed.
    think_ns: MS / 2,
    done_with: DoneWith::Accessed,
    ..QUIET
};

/// Postgres: a join by an index.
pub static PJN: Recorded = Recorded {
    trace: include_bytes!("../traces/pjn.parquet"),
    disk: Disk::Rz26,
    // Assumed.
    think_ns: 5 * MS,
    priorities: &[("twohundredk_unique1", 1)],
    ..QUIET
};

/// sort: sorted pieces go to temporary files, which are merged eight at a time.
pub static SORT: Recorded = Recorded {
    trace: include_bytes!("../traces/sort.parquet"),
    disk: Disk::Rz26,
    // Assumed.
    think_ns: 8 * MS,
    mru: &[-1, 0],
    priorities: &[("input", -1)],
    done_with: DoneWith::Read,
    temporary: Some("tmp/"),
};

#[cfg(test)]
mod tests {
    use super::*;

    type IsPart = fn(&str) -> bool;

    /// What of the data the paper gives a size of, in MB of 10^6 bytes.
    const SIZES: [(&Recorded, f64, IsPart); 10] = [
        (&CS1, 9.0, |name| name == "cscope.out"),
        (&CS2, 18.0, |name| !name.starts_with("cscope.")),
        (&CS3, 10.0, |name| !name.starts_with("cscope.")),
        (&DIN, 8.0, |name| name == "cc.din"),
        (&GLI, 2.0, |name| name == ".glimpse_index"),
        (&LDK, 25.0, |name| name.ends_with(".ko")),
        (&PJN, 3.2, |name| name == "twentyk"),
        (&PJN, 32.0, |name| name == "twohundredk"),
        (&PJN, 5.0, |name| name == "twohundredk_unique1"),
        (&SORT, 17.0, |name| name == "input"),
    ];

    #[test]
    fn sizes_are_the_papers_and_names_are_of_no_machine() {
        for (recorded, mb, is_part) in SIZES {
            let files = recorded.files();
            let bytes: u64 = files.iter().filter(|(name, _)| is_part(name)).map(|(_, bytes)| bytes).sum();
            assert!((bytes as f64 / 1e6 / mb - 1.0).abs() < 0.05, "{bytes} bytes where the paper has {mb} MB");
            assert!(files.iter().all(|(name, _)| !name.starts_with('/')), "{files:?}");
        }
    }
}
