"""The cells of the tables: traces, devices, sizes of memory, time to think; and how they are simulated."""

import argparse
import gzip
import itertools
import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from common import BENCH, ROOT, folder

RECORDINGS = ("papers/src/p002/traces", "papers/src/p004/traces")
# Of a longer block trace, so many requests from its begin: what is told of them takes 240 bytes each.
REQUESTS_MAX = 100_000
# A recording of more bytes is left out of quick tables.
QUICK_BYTES = 25_000
DEVICES = {
    "network": ["servers=64,latency_us=5000,mb_per_s=1000"],
    "S3": ["servers=0,latency_us=20000,mb_per_s=100"],
    "slow link": ["servers=64,latency_us=5000,mb_per_s=8"],
    "disk": ["disk10k"],
    "4 disks": ["disk10k", "--disks", "4"],
}
# Requests that each of them serves at once, as far as it is asked to: the manager has 128 under way ahead of need, and up to
# 512 where as many are served side by side. Who does not measure that must know it (docs/sim.md).
SERVERS = {"network": 64, "S3": 256, "slow link": 64, "disk": 1, "4 disks": 1}
KNOWS_SERVERS = "forestall"
MEMORY = ("5%", "20%", "50%", "90%")
# Who does not know when its programs read lets them think a little, as quick ones do.
THINK = {True: ("none", "traced"), False: ("none", "50us")}
# Half A, by which constants are chosen, in all tables, and half B, which judges (README.md). By name, so that a trace more or less in a
# folder moves none of them.
TUNING = ("arc_OLTP", "cpp", "multi1", "p002-cs1", "p002-cs3", "p002-din", "p002-gli", "p002-ldk", "p002-sort", "p004-multi3",
          "p004-viewer")
JUDGING = ("cloudPhysicsIO", "cs", "p002-cs2", "p002-pjn", "p004-cscope", "p004-gcc", "p004-glimpse", "p004-multi1", "p004-multi2",
           "p004-tpc-h")


class Cells:
    """What is measured."""

    def __init__(self, arguments):
        self.foresee = arguments.foresee
        self.memory = MEMORY[1:3] if arguments.quick else MEMORY
        self.traces = traces(arguments.traces)
        if arguments.quick:
            self.traces = {name: path for name, path in self.traces.items() if path.stat().st_size < QUICK_BYTES}
        if arguments.only:
            self.traces = {name: self.traces[name] for name in arguments.only}

    def rows(self, runs):
        """Simulates each of these (what is told, policies, options) in every cell; all rows so far, after each trace."""
        rows = []
        for name, path in sorted(self.traces.items()):
            with tempfile.TemporaryDirectory() as scratch:
                path, knows_times = readable(path, Path(scratch) / "trace")
                for (device, words), think in itertools.product(DEVICES.items(), THINK[knows_times]):
                    for told, policies, more in runs:
                        names = spelled(policies, device)
                        command = [self.foresee, "sim", path, "-p", ",".join(names), "-c", ",".join(self.memory), "--device", *words,
                                   "--think", think, *more, "--bound", "--json", "-"]
                        done = subprocess.run(command, capture_output=True, text=True)
                        if done.returncode != 0:
                            sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
                        found = json.loads(done.stdout)
                        rows += [{"trace": name, "tuning": is_tuning(name), "device": device, "think": think,
                                  "memory": self.memory[at * len(self.memory) // len(found)], "told": told,
                                  "policy": names[row["policy"]], "blocks": row["cache_blocks"],
                                  **{key: row[key] for key in ("elapsed_s", "least_s")}}
                                 for at, row in enumerate(found)]
            print(f"{name}: simulated", file=sys.stderr, flush=True)
            yield rows


def spelled(policies, device):
    """These policies' names, by the words for which the simulator takes them on this device."""
    return {f"{name}:servers={SERVERS[device]}" if name == KNOWS_SERVERS else name: name for name in policies}


def options(text):
    """A parser with the options of tables that need no rounds and no slow disk."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foresee", default=str(ROOT / "target/release/foresee"), help="the foresee to measure")
    parser.add_argument("--results", type=folder, default=BENCH / "results", help="where raw results go")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    return parser


def options_of_traces(text):
    """The same, of those that read traces."""
    parser = options(text)
    parser.add_argument("--traces", type=folder, default=ROOT.parent / "shared/traces", help="a folder of block traces")
    return parser


def traces(folder):
    """By name, in the order of the files' names."""
    return {name_of(path): path for path in sorted(paths(folder), key=lambda path: path.name)}


def is_tuning(name):
    """Whether the trace is of half A. What no list names is so by chance, always the same."""
    return name in TUNING or name not in JUDGING and zlib.crc32(name.encode()) % 2 == 0


def paths(folder):
    recorded = [path for there in RECORDINGS for path in (ROOT / there).glob("*.parquet")]
    return recorded + [path for ending in ("trc.gz", "txt.zst", "csv.zst") for path in folder.glob(f"*.{ending}")]


def name_of(path):
    """A recording's with its paper's number."""
    name = path.name.split(".")[0]
    return f"{path.parents[1].name}-{name}" if path.suffix == ".parquet" else name


def readable(path, cut):
    """The trace, its begin at `cut` if it is long; and whether it has times."""
    if path.suffix == ".parquet":
        return path, False
    unpacked = gzip.open(path, "rt") if path.suffix == ".gz" else subprocess.Popen(
        ["zstd", "-dc", path], stdout=subprocess.PIPE, text=True).stdout
    with unpacked as lines:
        lines = list(itertools.islice(lines, REQUESTS_MAX))
    cut.write_text("".join(lines))
    return cut, "," in lines[0]


def read(arguments, table):
    return json.loads((arguments.results / f"{table}.json").read_text())
