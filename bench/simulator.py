"""`foresee sim` beside libCacheSim: misses of every policy both have, and requests a second of processor time.

    python3 -m venv VENV && VENV/bin/pip install libcachesim==0.3.5
    VENV/bin/python bench/simulator.py --traces DIRECTORY

DIRECTORY holds real traces, of which those that are there are used: arc_OLTP.txt.zst, cloudPhysicsIO.full.csv.zst, and
cs, cpp and multi1.trc.gz of LIRS. A synthetic trace with a large footprint is made here. Both programs read the same
oracleGeneral files, every object of size 1. Each speed is the median of several rounds, in turn, on one processor:

- ours: the processor's time of the run, without and with reading the trace and finding its future;
- theirs: of `process_trace`, which reads the trace as it goes, and of making the cache; the better of the default hash table (2^24
  slots, most of the time of a short trace) and one that fits the cache.

What a user pays is measured besides: all of the processor's time of one policy at one size on 5 million requests, from the start of
the process to its end, reading included. Theirs is that of `process_trace` with the package's own defaults, and of the process.

Raw results go to bench/results/simulator.json.
"""

import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

NAME = "simulator.json"
# Sizes at which misses are compared, and whether speed is.
TRACES = {
    "cs.trc.gz": ([50, 200, 600, 1000], False),
    "cpp.trc.gz": ([20, 50, 100, 300], False),
    "multi1.trc.gz": ([100, 500, 1000, 2000], False),
    "arc_OLTP.txt.zst": ([1000, 2000, 5000, 10000, 15000], True),
    "cloudPhysicsIO.full.csv.zst": ([500, 2000, 5000, 10000, 20000], True),
    "synthetic": ([35000, 350000], True),
}
THEIRS = {"lru": "LRU", "fifo": "FIFO", "clock": "Clock", "arc": "ARC", "sieve": "Sieve", "lfu": "LFU", "opt": "Belady",
          "2q": "TwoQ", "s3fifo": "S3FIFO", "slru": "SLRU", "lirs": "LIRS", "w-tinylfu": "WTinyLFU"}
# The default of `foresee run` stands there by itself: they have none like it.
SPEED = ["lru", "arc", "s3fifo", "sieve", "opt", "informed"]
HASH_POWER = 24
# Runs of short traces are repeated to about so many requests: clocks are coarse.
REQUESTS_MIN = 2_000_000
# OLTP again and again, each time on other blocks: a real trace's locality, in a longer one.
LONG = {"trace": "arc_OLTP.txt.zst", "requests": 5_000_000, "sizes": [15000, 350000], "policies": ["lru", "arc"]}
SYNTHETIC = {"requests": 10_000_000, "objects": 8_000_000, "alpha": 0.8, "seed": 1}


def numbers(path):
    """The block of each request of a real trace."""
    text = gzip.open(path).read() if path.suffix == ".gz" else subprocess.run(
        ["zstd", "-dc", path], check=True, capture_output=True).stdout
    if ".csv" in path.name:
        return [int(line.split(b",")[4]) for line in text.splitlines()]
    return [int(line) for line in text.split() if line.strip(b"*")]


def synthetic(numpy):
    """Independent draws from a Zipf distribution over scattered numbers: most blocks come once or twice."""
    random = numpy.random.default_rng(SYNTHETIC["seed"])
    weights = numpy.cumsum(numpy.arange(1, SYNTHETIC["objects"] + 1, dtype=float) ** -SYNTHETIC["alpha"])
    ranks = numpy.searchsorted(weights, random.random(SYNTHETIC["requests"]) * weights[-1])
    return random.permutation(SYNTHETIC["objects"])[ranks]


def write(numpy, path, blocks):
    """An oracleGeneral file: time, object, size, next access."""
    blocks = numpy.asarray(blocks, dtype=numpy.uint64)
    same = numpy.argsort(blocks, kind="stable")
    follows = blocks[same[1:]] == blocks[same[:-1]]
    records = numpy.zeros(len(blocks), dtype=[("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
    records["object"], records["size"], records["next"] = blocks, 1, -1
    records["next"][same[:-1][follows]] = same[1:][follows]
    records.tofile(path)


def timed(command):
    """What a command printed, and the processor's time it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def simulation(foresee, path, policies, sizes):
    return [foresee, "sim", path, "--policy", ",".join(policies), "--cache", ",".join(map(str, sizes)), "--json"]


def ours(foresee, path, policies, sizes):
    """Rows of `foresee sim`, and the processor's time that is no policy's."""
    rows, cpu = timed(simulation(foresee, path, policies, sizes))
    return rows, cpu - sum(row["cpu_s"] for row in rows)


def simulate(path, policy, size, power, repeats):
    """What the child does: one policy at one size in libCacheSim."""
    import libcachesim

    parameters = libcachesim.ReaderInitParam(ignore_obj_size=True)
    reader = libcachesim.TraceReader(path, libcachesim.TraceType.ORACLE_GENERAL_TRACE, parameters)
    requests, cpu = reader.get_num_of_req(), 0
    for _ in range(repeats):
        reader.reset()
        begun = time.process_time()
        cache = getattr(libcachesim, THEIRS[policy])(cache_size=size, hashpower=power)
        ratio, _ = cache.process_trace(reader)
        cpu += time.process_time() - begun
    print(json.dumps({"requests": requests, "misses": round(ratio * requests), "cpu_s": cpu / repeats}))


def simulation_of_theirs(path, policy, size, power, repeats):
    return [sys.executable, __file__, "--simulate", path, policy, str(size), str(power), str(repeats)]


def theirs(path, policy, size, power=HASH_POWER, repeats=1):
    return timed(simulation_of_theirs(path, policy, size, power, repeats))[0]


def misses(foresee, path, sizes):
    rows, _ = ours(foresee, path, THEIRS, sizes)
    found = {(row["policy"], row["cache_blocks"]): row["misses"] for row in rows}
    return [{"policy": policy, "blocks": size, "ours": found[policy, size],
             "theirs": theirs(path, policy, size)["misses"], "requests": rows[0]["requests"]}
            for policy in THEIRS for size in sizes]


def speed(foresee, path, policy, size, requests, rounds):
    repeats = max(1, REQUESTS_MIN // requests)
    row = {"policy": policy, "blocks": size, "requests": requests, "ours_s": [], "ours_with_loading_s": [],
           "theirs_s": [], "theirs_fitting_s": []}
    for _ in range(rounds):
        rows, loading = ours(foresee, path, [policy], [size] * repeats)
        cpu = statistics.mean(it["cpu_s"] for it in rows if it["policy"] == policy)
        row["ours_s"].append(cpu)
        row["ours_with_loading_s"].append(cpu + loading)
        if policy in THEIRS:
            row["theirs_s"].append(theirs(path, policy, size, HASH_POWER, repeats)["cpu_s"])
            row["theirs_fitting_s"].append(theirs(path, policy, size, size.bit_length(), repeats)["cpu_s"])
    return row


def long(numpy, path, blocks):
    """The trace that is long."""
    blocks = numpy.asarray(blocks, dtype=numpy.uint64)
    times = -(-LONG["requests"] // len(blocks))
    beyond = blocks.max() + numpy.uint64(1)
    again = numpy.concatenate([blocks + numpy.uint64(nth) * beyond for nth in range(times)])
    write(numpy, path, again[:LONG["requests"]])


def whole(foresee, path, policy, size, rounds):
    """All of the processor's time of both, in turn."""
    row = {"policy": policy, "blocks": size, "requests": LONG["requests"], "ours_s": [], "theirs_s": [], "their_process_s": []}
    for _ in range(rounds):
        rows, cpu = timed(simulation(foresee, path, [policy], [size]))
        row["ours_s"].append(cpu)
        found, cpu = timed(simulation_of_theirs(path, policy, size, HASH_POWER, 1))
        row["theirs_s"].append(found["cpu_s"])
        row["their_process_s"].append(cpu)
        assert rows[0]["misses"] == found["misses"], (rows, found)
    return row


def measure_whole(numpy, arguments, result):
    """One policy at one size of a long trace, as a user has it."""
    source = arguments.traces / LONG["trace"]
    if not source.exists():
        print(f"skipped: there is no {source}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/long.oracleGeneral"
        long(numpy, path, numbers(source))
        result["whole"] = [whole(arguments.foresee, path, policy, size, arguments.rounds)
                           for size in LONG["sizes"] for policy in LONG["policies"]]


def sweep(foresee, path):
    """All policies at twelve sizes, on all processors: seconds on the wall's clock."""
    begun = time.perf_counter()
    sizes = ",".join(str(1000 * 2 ** (step // 2) * (3 if step % 2 else 2) // 2) for step in range(12))
    subprocess.run([foresee, "sim", path, "--cache", sizes, "--json"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measure(arguments, name, path, result):
    """One trace; what was measured of others stays."""
    sizes, timed = TRACES[name]
    result["misses"][name] = misses(arguments.foresee, path, sizes)
    if name.startswith("arc_OLTP"):
        result["sweep_s"] = sweep(arguments.foresee, path)
    if timed:
        requests = result["misses"][name][0]["requests"]
        everywhere = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(everywhere)})
        result["speed"][name] = [speed(arguments.foresee, path, policy, size, requests, arguments.rounds)
                                 for size in (sizes[0], sizes[-1]) for policy in SPEED]
        os.sched_setaffinity(0, everywhere)


def measure_all(arguments):
    import numpy

    file = arguments.results / NAME
    before = json.loads(file.read_text()) if file.exists() else {}
    result = {"libcachesim": "0.3.5", "synthetic": SYNTHETIC, "machine": common.machine(),
              "misses": before.get("misses", {}), "speed": before.get("speed", {}), "sweep_s": before.get("sweep_s"),
              "whole": before.get("whole", [])}
    arguments.results.mkdir(exist_ok=True)
    if not arguments.only or "long" in arguments.only:
        measure_whole(numpy, arguments, result)
        (arguments.results / NAME).write_text(json.dumps(result, indent=1) + "\n")
    for name in [name for name in arguments.only or TRACES if name != "long"]:
        source = arguments.traces / name
        if name != "synthetic" and not source.exists():
            print(f"skipped: there is no {source}", file=sys.stderr)
            continue
        print(f"{name} ...", file=sys.stderr)
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/{name}.oracleGeneral"
            write(numpy, path, synthetic(numpy) if name == "synthetic" else numbers(source))
            measure(arguments, name, path, result)
        file.write_text(json.dumps(result, indent=1) + "\n")


def table(result):
    print("| trace | misses equal | not equal, in points of hit ratio |\n| --- | --- | --- |")
    for name, rows in result["misses"].items():
        apart = {}
        for row in rows:
            points = 100 * (row["theirs"] - row["ours"]) / row["requests"]
            apart.setdefault(row["policy"], []).append(points)
        equal = ", ".join(policy for policy, points in apart.items() if not any(points))
        other = [f"{policy} {min(points):+.2f} to {max(points):+.2f}" for policy, points in apart.items() if any(points)]
        print(f"| {name} | {equal} | {', '.join(other)} |")
    print("\n| trace | blocks | policy | libCacheSim | its table fitting | foresee | with loading | ratio to the better |\n"
          "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for name, rows in result["speed"].items():
        for row in rows:
            median = {key: statistics.median(row[key]) for key in row if key.endswith("_s") and row[key]}
            rates = [f"{row['requests'] / median[key] / 1e6:.1f} M/s" if key in median else ""
                     for key in ("theirs_s", "theirs_fitting_s", "ours_s", "ours_with_loading_s")]
            ratio = f"{min(median['theirs_s'], median['theirs_fitting_s']) / median['ours_s']:.2f}x" if "theirs_s" in median else ""
            print(f"| {name} | {row['blocks']:,} | {row['policy']} | {' | '.join(rates)} | {ratio} |")
    if result.get("whole"):
        print("\n| requests | blocks | policy | libCacheSim, its process | foresee's process | ratio |\n"
              "| ---: | ---: | --- | ---: | ---: | ---: |")
        for row in result["whole"]:
            process, theirs_s, ours_s = (statistics.median(row[key]) for key in ("their_process_s", "theirs_s", "ours_s"))
            print(f"| {row['requests']:,} | {row['blocks']:,} | {row['policy']} | {theirs_s:.2f} s, {process:.2f} s | "
                  f"{ours_s:.2f} s | {theirs_s / ours_s:.2f}x |")
    if result["sweep_s"]:
        print(f"\nAll policies at 12 sizes on OLTP: {result['sweep_s']:.1f} s on {result['machine']['processors']} processors.")


def main():
    if sys.argv[1:2] == ["--simulate"]:
        path, policy, *numbers_given = sys.argv[2:]
        simulate(path, policy, *map(int, numbers_given))
        return
    parser = common.options(__doc__, "policy")
    parser.add_argument("--traces", type=Path, default=common.ROOT.parent / "shared/traces", help="where the real traces are")
    parser.add_argument("--only", nargs="+", choices=[*TRACES, "long"], help="only these traces; results of others stay")
    arguments = parser.parse_args()
    if not arguments.table:
        measure_all(arguments)
    table(json.loads((arguments.results / NAME).read_text()))


main()
