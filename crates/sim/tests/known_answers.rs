//! Miss counts that the papers and other simulators give for traces of real systems. The traces are
//! not part of the repository: where they are absent, the tests say so and pass.

use std::path::PathBuf;

use foresee_sim::load::Trace;
use foresee_sim::trace::{info, open};
use foresee_sim::untimed::{Cell, sweep};

const BLOCK_BYTES: u64 = 4096;

fn trace_path(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces").join(name);
    if !path.exists() {
        println!("skipped: there is no trace {}", path.display());
        return None;
    }
    Some(path)
}

/// A trace, one block a request. Of the CloudPhysics trace (`version,time,op,size,lbn`), the block
/// at each request's first sector.
fn load(name: &str) -> Option<Trace> {
    let path = trace_path(name)?;
    if !name.ends_with(".csv.zst") {
        return Some(Trace::load(&path, None, BLOCK_BYTES).unwrap());
    }
    let text = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let sector = |line: &str| line.split(',').nth(4).unwrap().parse::<u64>().unwrap();
    Some(Trace::of_blocks(String::from_utf8(text).unwrap().lines().map(sector), BLOCK_BYTES))
}

fn misses(trace: &Trace, policy: &str, sizes: &[u64]) -> Vec<u64> {
    let cells: Vec<Cell> = sizes.iter().map(|&cache_blocks| Cell::new(policy.parse().unwrap(), cache_blocks)).collect();
    sweep(trace, &cells, &|_, _| {}).iter().map(|outcome| outcome.misses).collect()
}

/// Misses as libCacheSim 0.3.5 counts them, each object of size 1, with its default parameters.
/// Equal to the request.
const EXACT: &str = "
cs.trc.gz
    blocks      50     200     600    1000
    lru       6657    6657    6657    6657
    fifo      6657    6657    6657    6657
    clock     6657    6657    6657    6657
    arc       6657    6657    6657    6657
    sieve     6657    6657    6657    6657
    lfu       6657    6657    6657    6657
    opt       6457    5857    4257    2657
    2q        6657    6657    6657    4112
    s3fifo    6528    5981    4593    4111
cpp.trc.gz
    blocks      20      50     100     300
    lru       8991    8209    2740    1494
    fifo      8986    8078    4086    1878
    clock     8991    8125    2591    1450
    arc       7447    5987    2077    1307
    sieve     8278    5039    2756    1309
    lfu       8278    5039    2762    1309
    opt       6655    3369    1582    1223
    2q        8639    5571    2408    1554
    s3fifo    7525    4856    2126    1341
multi1.trc.gz
    blocks     100     500    1000    2000
    lru      12977    8483    8210    2662
    fifo     13480    9401    8755    4135
    clock    12802    8345    8154    2670
    arc       9270    8025    7969    2659
    sieve    11839    8044    7970    2659
    lfu      12065    8044    7970    2659
    opt       8259    6536    4536    2606
    2q        9585    8253    8192    4103
    s3fifo    9115    7097    6146    2637
arc_OLTP.txt.zst
    blocks    1000    2000    5000   10000   15000
    lru     614023  525910  423702  359239  323294
    fifo    653340  571918  459965  390442  352647
    clock   609973  520807  422067  356711  322074
    arc     558130  492945  409065  348536  316288
    sieve   616519  537648  439840  361388  319045
    lfu     787687  748205  658219  602565  536068
    opt     424052  361996  290069  246655  227275
    2q      543682  488973  404707  342030  313372
    s3fifo  540669  484187  404521  341108  310977
cloudPhysicsIO.full.csv.zst
    blocks     500    2000    5000   10000   20000
    lru      95398   94189   91527   79438   72053
    fifo     96483   94588   91581   79210   72229
    clock    95293   94081   91458   84750   72151
    arc      94218   92829   87770   79413   64422
    sieve    94379   93411   89798   81059   64431
    lfu      96651   93707   89798   81059   64431
    opt      90175   81870   71311   61843   51843
    2q       94565   93075   87879   78831   72103
    s3fifo   94559   92990   85689   75564   59311
";

/// The same for policies whose papers leave something open, so that two programs may differ by a
/// little:
/// - `slru`: libCacheSim's segments are of whole pages, so that of 50 it uses 48.
/// - `lirs`: libCacheSim's bound on the stack counts HIR pages that are here; ours does not, which
///   makes most of the difference.
///
/// `w-tinylfu` is not among them. libCacheSim has no window where the memory is below 100 pages,
/// and then misses always; and it counts a block twice that enters and leaves the window, but not
/// its uses there, which no sketch of the paper does.
const NEAR: &str = "
cs.trc.gz
    blocks      50     200     600    1000
    slru      6593    6221    5021    3809
    lirs      6623    6025    4453    2799
cpp.trc.gz
    blocks      20      50     100     300
    slru      8257    5163    2368    1323
    lirs      7440    4023    2019    1349
multi1.trc.gz
    blocks     100     500    1000    2000
    slru     11609    7408    5861    3067
    lirs      9006    6992    5021    2631
arc_OLTP.txt.zst
    blocks    1000    2000    5000   10000   15000
    slru    554718  495346  422582  346849  314069
    lirs    598066  526116  433091  362670  329299
cloudPhysicsIO.full.csv.zst
    blocks     500    2000    5000   10000   20000
    slru     94579   93636   89800   82234   60636
    lirs     94631   93073   85289   74395   58681
";

/// How far apart two programs may be, in points of hit ratio.
const NEAR_POINTS: f64 = 0.5;

/// Calls back with each row of such a table: the trace, the policy, the sizes, the misses.
fn each_row(table: &str, check: impl Fn(&Trace, &str, &[u64], &[u64])) {
    let (mut trace, mut sizes) = (None, Vec::new());
    for line in table.lines().skip(1) {
        let Some(row) = line.strip_prefix("    ") else {
            trace = load(line);
            continue;
        };
        let mut words = row.split_ascii_whitespace();
        let (first, numbers) = (words.next().unwrap(), words.map(|word| word.parse().unwrap()).collect::<Vec<u64>>());
        match &trace {
            _ if first == "blocks" => sizes = numbers,
            Some(trace) => check(trace, first, &sizes, &numbers),
            None => {}
        }
    }
}

#[test]
fn misses_are_those_of_libcachesim() {
    each_row(EXACT, |trace, policy, sizes, expected| {
        assert_eq!(misses(trace, policy, sizes), expected, "{policy} at {sizes:?}");
    });
}

#[test]
fn misses_are_near_those_of_libcachesim() {
    each_row(NEAR, |trace, policy, sizes, expected| {
        for ((found, &expected), size) in misses(trace, policy, sizes).into_iter().zip(expected).zip(sizes) {
            let points = 100.0 * found.abs_diff(expected) as f64 / trace.references as f64;
            let (whole, each) =
                (policy != "slru" || size % 4 == 0, format!("{policy} at {size}: {found} of {expected}"));
            assert!(points < NEAR_POINTS || !whole, "{each}");
        }
    });
}

/// Of a loop over more than the memory holds LRU keeps nothing, and these all that fits, but for
/// the page that each miss takes.
#[test]
fn of_a_loop_some_keep_what_fits() {
    let (blocks, pages, passes) = (100, 60, 50);
    let trace = Trace::of_blocks((0..passes).flat_map(|_| 0..blocks), BLOCK_BYTES);
    assert_eq!(misses(&trace, "lru", &[pages]), [passes * blocks]);
    for policy in ["mru", "lirs", "opt"] {
        let found = misses(&trace, policy, &[pages])[0];
        assert!(found <= pages + passes * (blocks - pages + 1), "{policy}: {found}");
    }
}

/// LRU is ten to sixty points behind on most of these, PCC forty-five on one.
#[test]
fn who_follows_the_experts_is_near_the_best_of_them() {
    for (name, sizes) in
        [("cs.trc.gz", [200, 600, 1000]), ("cpp.trc.gz", [50, 100, 300]), ("multi1.trc.gz", [500, 1000, 2000])]
    {
        let Some(trace) = load(name) else { return };
        let of_each = ["lirs", "lru", "w-tinylfu", "slru", "2q", "pcc"].map(|policy| misses(&trace, policy, &sizes));
        for (at, own) in misses(&trace, "experts", &sizes).into_iter().enumerate() {
            let best = of_each.iter().map(|misses| misses[at]).min().unwrap();
            let points = 100.0 * (own as f64 - best as f64) / trace.references as f64;
            assert!(points < 2.0, "{name} at {}: {own} misses, the best {best}", sizes[at]);
        }
    }
}

/// Where nothing is disclosed, cost and benefit leave LRU as it is.
#[test]
fn tip_without_hints_is_lru() {
    let Some(trace) = load("multi1.trc.gz") else { return };
    let misses = |policy: &str| misses(&trace, policy, &[200, 500, 1000]);
    let lru = misses("lru");
    for policy in ["tip1", "tip2", "tip2:majorant=0"] {
        assert_eq!(misses(policy), lru, "{policy}");
    }
}

/// Hit ratios of LRU and ARC that the paper of ARC (FAST 2003) prints, in percent.
#[test]
fn hit_ratios_of_oltp_are_those_of_arcs_paper() {
    let Some(trace) = load("arc_OLTP.txt.zst") else { return };
    let sizes = [1000, 2000, 5000, 10_000, 15_000];
    for (policy, percents) in
        [("lru", [32.83, 42.47, 53.65, 60.70, 64.63]), ("arc", [38.93, 46.08, 55.25, 61.87, 65.40])]
    {
        for (misses, percent) in misses(&trace, policy, &sizes).into_iter().zip(percents) {
            let found = 100.0 * (1.0 - misses as f64 / trace.references as f64);
            // What is printed for ARC at 1,000 pages differs from what its rules give by two hundredths of a
            // point.
            assert!((found - percent).abs() < 0.025, "{policy}: {found} of {percent} percent");
        }
    }
}

#[test]
fn what_the_traces_hold() {
    for (name, requests, distinct) in [
        ("cs.trc.gz", 6781, 1409),
        ("cpp.trc.gz", 9047, 1223),
        ("multi1.trc.gz", 15_858, 2606),
        ("arc_OLTP.txt.zst", 914_145, 186_880),
    ] {
        let Some(path) = trace_path(name) else { continue };
        let info = info(open(&path, None, BLOCK_BYTES).unwrap(), BLOCK_BYTES).unwrap();
        assert_eq!((info.format, info.requests, info.distinct_blocks), ("blocks", requests, distinct), "{name}");
        assert_eq!(info.bytes, requests * BLOCK_BYTES);
        assert!((info.reread_share - (1.0 - distinct as f64 / requests as f64)).abs() < 1e-12);
    }
}
