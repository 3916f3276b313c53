#!/usr/bin/env python3
"""foresee mount beside other mounts of the same bucket, all of them over a link of 20 ms and 100 MB/s.

Each job has a mount of its own, with nothing of it cached anywhere. What is counted besides the time is what came from the server.
Needs what bench/mounts/README.md says for rclone and s3fs, and what README.md says for mountpoint; what is missing is left out. Raw
results stay in bench/results/mount.json.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCH), str(BENCH / "mounts")]

import common  # noqa: E402
import jobs as trees  # noqa: E402
import kinds  # noqa: E402
import servers  # noqa: E402
from limited import Disk  # noqa: E402

BIG_MIB, CYCLE_MIB, CYCLE_TIMES, CACHE_MIB = 512, 256, 4, 128
RANDOM_READS, RANDOM_BYTES = 2000, 65536
# No job takes so long but one that hangs.
PATIENCE_S = 600

AT_RANDOM = f"""
import os, random, sys, zlib
file = os.open("big", os.O_RDONLY)
places = random.Random(5).sample(range(os.fstat(file).st_size // {RANDOM_BYTES}), {RANDOM_READS})
if "random" in sys.argv:
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
if "told" in sys.argv:
    import foresee
    foresee.hint_segments("big", [(place * {RANDOM_BYTES}, {RANDOM_BYTES}) for place in places])
total = 0
for place in places:
    total = zlib.crc32(os.pread(file, {RANDOM_BYTES}, place * {RANDOM_BYTES}), total)
print(total)
"""
# Past the kernel's page cache: what is measured is the mount's own.
CYCLE = f"""
import mmap, os, zlib
file, piece, total = os.open("cycle", os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 1 << 20), 0
for _ in range({CYCLE_TIMES}):
    for at in range({CYCLE_MIB}):
        count = os.preadv(file, [piece], at << 20)
        total = zlib.crc32(piece[:count], total)
print(total)
"""
# One process reads in order, another at random in another file meanwhile.
BESIDE = f"""
import os, random, subprocess
other = os.fork()
if other == 0:
    file = os.open("cycle", os.O_RDONLY)
    while True:
        os.pread(file, {RANDOM_BYTES}, random.randrange(os.fstat(file).st_size // {RANDOM_BYTES}) * {RANDOM_BYTES})
subprocess.run(["md5sum", "big"])
os.kill(other, 9)
"""
PYTHON = [sys.executable, "-S", "-c"]
# What is in the page cache is read as quickly as it is copied: a checksum of it would take longer.
ONCE = "dd if=cycle of=/dev/null bs=1M status=none"
WARM_TIMES = 8
# The command, as it is given here.
FORESEE = object()
HINT_LIBRARY = {"PYTHONPATH": str(common.ROOT / "bindings/python"), "LD_LIBRARY_PATH": str(common.ROOT / "target/release")}
REGION = "us-east-1"
CREDENTIALS = [f"AWS_ACCESS_KEY_ID={servers.ACCESS}", f"AWS_SECRET_ACCESS_KEY={servers.SECRET}"]


class Foresee(kinds.OverS3):
    """With the memory that the others may have on disk."""

    programs = {"versitygw": kinds.VERSITYGW}

    def command(self, place):
        return ["env", *CREDENTIALS, f"AWS_ENDPOINT_URL={self.url()}", f"AWS_REGION={REGION}", place.foresee, "mount", *self.options,
                f"s3://{servers.BUCKET}", place.mount]


class Mountpoint(kinds.OverS3):
    # Of what has none, versitygw lists one without a name, which its client refuses.
    with_checksums = True
    program = str(BENCH / "mount/mountpoint/target/release/foresee-bench-mountpoint")
    programs = {program: "cd bench/mount/mountpoint && cargo build --release", "versitygw": kinds.VERSITYGW}

    def command(self, place):
        options = [it.replace("CACHE", str(self.cache)) for it in self.options]
        return ["env", *CREDENTIALS, self.program, servers.BUCKET, place.mount, "--endpoint-url", self.url(), "--region", REGION, *options]


class Plain(kinds.Kind):
    """The data where they are, for what the page cache has: nothing is quicker."""

    needs_root = True

    def make_cold(self, place):
        """What is measured is warm."""

    def attach(self, place):
        kinds.mount("none", "bind", place.data, place.mount)

    def count(self, _):
        return {"bytes": 0, "requests": {}}


MOUNTS = [
    Foresee("foresee", "--memory", f"{CACHE_MIB}MiB"),
    Foresee("foresee arc", "--memory", f"{CACHE_MIB}MiB", "--policy", "readahead:keep=arc"),
    kinds.Rclone("rclone"),
    kinds.Rclone("rclone tuned", "--no-modtime", "--vfs-read-chunk-size", "128k", "--vfs-read-wait", "0", "--dir-cache-time", "1h",
                 "--attr-timeout", "1h"),
    kinds.Rclone("rclone full", "--vfs-cache-mode", "full", "--no-modtime", "--vfs-cache-max-size", f"{CACHE_MIB}M",
                 "--vfs-read-ahead", "16M"),
    kinds.S3fs("s3fs"),
    kinds.S3fs("s3fs use_cache", "-o", "use_cache=CACHE"),
    Mountpoint("mountpoint"),
    Mountpoint("mountpoint cache", "--cache", "CACHE", "--max-cache-size", str(CACHE_MIB)),
    Plain("no mount"),
]


@dataclass
class Job:
    name: str
    command: list
    digest: object = zlib.crc32
    # Run before, on the same mount.
    before: list = None
    # It tells a foresee mount what it will read.
    is_told: bool = False


JOBS = [
    Job("grep -r, 1,500 files", ["grep", "-rc", "abc", "tree"], trees.lines_digest),
    Job("grep -r, 1,500 files, under foresee run", [FORESEE, "run", "--no-learn", "--", "grep", "-rc", "abc", "tree"],
        trees.lines_digest, is_told=True),
    Job("2,000 x 64 KiB at random in 512 MiB", [*PYTHON, AT_RANDOM]),
    Job("2,000 x 64 KiB at random, told", [*PYTHON, AT_RANDOM, "told"], is_told=True),
    # The kernel, too.
    Job("2,000 x 64 KiB at random, told, by FADV_RANDOM", [*PYTHON, AT_RANDOM, "told", "random"], is_told=True),
    Job("cat, 512 MiB", ["md5sum", "big"]),
    Job("256 MiB four times, 128 MiB of cache", [*PYTHON, CYCLE]),
    Job("512 MiB in order, beside a reader at random", [*PYTHON, BESIDE]),
    Job(f"256 MiB in order, {WARM_TIMES} times more", ["sh", "-c", f"for pass in $(seq {WARM_TIMES}); do {ONCE}; done"],
        before=["sh", "-c", ONCE]),
]


class Place:
    """Where a mount is measured; all of it is gone with the stack."""

    def __init__(self, stack, arguments):
        self.scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foresee-mount-")))
        self.mount = self.scratch / "mount"
        self.mount.mkdir()
        stack.callback(kinds.abandon, self.mount)
        self.data, self.slowlink, self.foresee = arguments.data, arguments.slowlink, arguments.mount
        self.command = arguments.foresee
        self.disk = Disk() if "SLOWDISK_MOUNT" in os.environ else None


def make_data(root):
    trees.make_data(root, quick=False)
    rng = random.Random(17)
    for name, size in (("big", BIG_MIB), ("cycle", CYCLE_MIB)):
        with (root / name).open("wb") as out:
            for _ in range(size):
                out.write(rng.randbytes(1 << 20))


def run(place, command):
    command = [place.command if word is FORESEE else word for word in command]
    process = subprocess.Popen(command, cwd=place.mount, env=os.environ | HINT_LIBRARY, stdout=subprocess.PIPE, start_new_session=True)
    try:
        return process.communicate(timeout=PATIENCE_S)[0], process.returncode
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def cell(arguments, kind, job):
    """One job on one mount, with a server of its own."""
    row = {"mount": kind.name, "job": job.name}
    try:
        with contextlib.ExitStack() as stack:
            place = Place(stack, arguments)
            trees.make_warm(place.data)
            kind.start(stack, place)
            kind.mount(place)
            if job.before:
                run(place, job.before)
                kind.count(place)
            begun = time.perf_counter()
            output, status = run(place, job.command)
            row |= {"elapsed_s": time.perf_counter() - begun, "status": status, "output": job.digest(output)}
            return row | kind.unmount(place)
    except (servers.Failed, subprocess.TimeoutExpired) as why:
        return row | {"failed": str(why)}


def is_for(kind, job):
    """Whether the job says something of the mount."""
    if isinstance(kind, Plain):
        return job.before is not None
    return isinstance(kind, Foresee) or not job.is_told


def line(row):
    if "failed" in row:
        return f"{row['job']:46} {row['mount']:16} {row['failed']}"
    requests = ", ".join(f"{count} {method}" for method, count in row["requests"].items())
    return f"{row['job']:46} {row['mount']:16} {row['elapsed_s']:7.1f} s {row['bytes'] / (1 << 20):8.1f} MiB   {requests}"


def options(text):
    parser = common.options(text, "job")
    parser.add_argument("--mount", type=common.program, default=str(common.ROOT / "target/release/foresee-mount"),
                        help="the foresee-mount to measure")
    parser.add_argument("--slowlink", default=str(common.ROOT / "target/release/slowlink"), help="the slowlink to measure over")
    parser.add_argument("--only", nargs="+", default=[""], help="only jobs whose name holds one of these")
    return parser


def table(results):
    for row in json.loads(results.read_text())["results"]:
        print(line(row))


def main():
    parser = options(__doc__)
    parser.add_argument("--mounts", nargs="+", default=[kind.name for kind in MOUNTS], help="mounts to measure")
    parser.add_argument("--more", action="store_true", help="add to the results there are: a part of a round at a time")
    arguments = parser.parse_args()
    results = arguments.results / "mount.json"
    if not arguments.table:
        raw = {"latency_ms": servers.LATENCY_MS, "bandwidth_mb": servers.BANDWIDTH_MB, "machine": common.machine(), "results": []}
        if arguments.more and results.exists():
            raw["results"] = json.loads(results.read_text())["results"]
        with tempfile.TemporaryDirectory(prefix="foresee-mount-data-") as data:
            arguments.data = Path(data)
            make_data(arguments.data)
            for _ in range(arguments.rounds):
                for job in (job for job in JOBS if any(part in job.name for part in arguments.only)):
                    for kind in (kind for kind in MOUNTS if kind.name in arguments.mounts and is_for(kind, job)):
                        if lacking := kind.lacking():
                            print(f"{kind.name}: skipped: {lacking}", file=sys.stderr)
                            continue
                        raw["results"].append(cell(arguments, kind, job))
                        print(line(raw["results"][-1]), file=sys.stderr, flush=True)
                        common.keep(arguments, "mount", raw)
    table(results)


if __name__ == "__main__":
    main()
