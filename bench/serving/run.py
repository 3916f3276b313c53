#!/usr/bin/env python3
"""The library over an object store, beside the crate object_store, mountpoint's prefetcher, fsspec's caches and what they can be told.

An S3 server (versitygw) of this machine lies behind a link of 20 ms and 100 MB/s (bench/slowlink), which counts bytes and requests. Each
run is a process of its own that finds nothing; what it read is checked. Needs `versitygw` and a Python with s3fs (--python); what is not
there, mountpoint too, is named and left out.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
sys.path += [str(BENCH), str(BENCH / "mounts")]
import common  # noqa: E402
import servers  # noqa: E402

MIB = 1 << 20
PIECE = 64 << 10
SMALL, SMALL_MEAN = 1500, 8192
# What waits for each request in turn would take minutes otherwise.
UNTOLD_PIECES, UNTOLD_SMALL = 400, 300
# By the library's default policy, `informed`, and by the one that takes less of the processor and knows no cycles.
TOLD, UNTOLD = ([name, f"{name}@readahead:keep=arc"] for name in ("foresee-told", "foresee"))
CACHES = ["readahead-5120", "adaptive-5120", "blockcache-5120", "background-5120"]


def jobs():
    """By name: the reads, and who is told them or not."""
    places = random.Random(5).choices(range(512 * MIB // PIECE), k=2000)
    pieces = [("big", place * PIECE, PIECE) for place in places]
    small = [(f"small/{at % 290}/{at}", 0, 0) for at in range(SMALL)]
    cycle = [("cycle", at * MIB, MIB) for at in range(256)] * 4
    in_order = [("big", at * MIB, MIB) for at in range(512)]
    return {
        "2,000 x 64 KiB at random in 512 MiB, told": (pieces, [*TOLD, "object_store-64", "cat"]),
        "400 of them, not told": (pieces[:UNTOLD_PIECES], [*UNTOLD, "object_store", "mountpoint", "blockcache-64", *CACHES]),
        "512 MiB in order": (in_order, [*TOLD, *UNTOLD, "object_store-stream", "object_store-64", "object_store", "mountpoint", *CACHES]),
        "256 MiB four times in a cycle": (cycle, [*TOLD, *UNTOLD, "object_store-stream", "mountpoint", *CACHES]),
        "1,500 small objects, 12 MB, told": (small, [*TOLD, "object_store-64", "cat"]),
        "300 of them, not told": (small[:UNTOLD_SMALL], [*UNTOLD, "object_store", "mountpoint", "readahead-5120"]),
    }


def make_data(folder):
    """Each page begins with its number."""
    rest = random.Random(1).randbytes(4096 - 8)
    for name, size in (("big", 512 * MIB), ("cycle", 256 * MIB)):
        with (folder / name).open("wb") as file:
            for first in range(0, size // 4096, 4096):
                file.write(b"".join(page.to_bytes(8, "little") + rest for page in range(first, first + 4096)))
    sizes = random.Random(2)
    for at in range(SMALL):
        path = folder / f"small/{at % 290}/{at}"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = max(8, int(sizes.expovariate(1 / SMALL_MEAN)))
        path.write_bytes(b"".join(page.to_bytes(8, "little") + rest for page in range(size // 4096 + 1))[:size])


def program(arguments, contender):
    """What reads so."""
    if contender == "mountpoint":
        return (arguments.mountpoint,)
    if contender.startswith(("foresee", "object_store")):
        return (arguments.program,)
    return arguments.python, BENCH / "serving/fsspec_reads.py"


def lacking(arguments):
    """The programs that are not here, each with the remedy."""
    if not Path(arguments.mountpoint).exists():
        yield program(arguments, "mountpoint"), "mountpoint is left out: cd bench/mount/mountpoint && cargo build --release"
    if subprocess.run([arguments.python, "-c", "import s3fs"], stderr=subprocess.DEVNULL).returncode:
        yield program(arguments, "cat"), "fsspec is left out: pip install s3fs, and --python"


def run(arguments, link, contender, reads):
    """One process; its seconds, and what passed the link from its beginning to its end."""
    command = [*program(arguments, contender), contender]
    endpoint = f"http://{servers.HERE}:{link.port}"
    environment = dict(os.environ, AWS_ENDPOINT_URL=endpoint, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID=servers.ACCESS,
                       AWS_SECRET_ACCESS_KEY=servers.SECRET, AWS_ALLOW_HTTP="true")
    lines = "".join(f"{key} {offset} {length}\n" for key, offset, length in reads)
    link.counts()
    done = subprocess.run(list(map(str, command)), input=lines, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{contender} failed")
    counts = link.counts()
    return {"seconds": round(float(done.stdout), 3), "mib": round(counts["bytes_to_client"] / MIB, 1),
            "requests": sum(counts["requests"].values())}


def table(results):
    lines = ["| job | by | s, median (least, most) | MiB | requests |", "| --- | --- | ---: | ---: | ---: |"]
    for job, contenders in results.items():
        for contender, rounds in contenders.items():
            seconds = [it["seconds"] for it in rounds]
            mib, requests = (statistics.median(it[what] for it in rounds) for what in ("mib", "requests"))
            spread = f"{statistics.median(seconds):.1f} ({min(seconds):.1f}, {max(seconds):.1f})"
            lines.append(f"| {job} | {contender} | {spread} | {mib:.0f} | {requests:.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each contender in each job")
    parser.add_argument("--program", type=common.program, default=str(BENCH / "serving/target/release/foresee-bench-serving"))
    parser.add_argument("--mountpoint", type=common.program,
                        default=str(BENCH / "mount/mountpoint/target/release/foresee-bench-mountpoint-reads"))
    parser.add_argument("--slowlink", type=common.program, default=str(ROOT / "target/release/slowlink"))
    parser.add_argument("--python", default=sys.executable, help="a Python with s3fs")
    parser.add_argument("--only", nargs="+", help="jobs whose names contain one of these words")
    parser.add_argument("--by", nargs="+", help="these contenders only")
    parser.add_argument("--results", type=common.folder, default=BENCH / "results", help="where raw results go")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(json.loads((arguments.results / "serving.json").read_text())["jobs"]))
        return
    if not servers.find("versitygw"):
        sys.exit("versitygw is not here: go install github.com/versity/versitygw/cmd/versitygw@latest")
    absent = dict(lacking(arguments))
    for remedy in absent.values():
        print(remedy, file=sys.stderr)
    chosen = {name: job for name, job in jobs().items() if not arguments.only or any(word in name for word in arguments.only)}
    results = {name: {} for name in chosen}
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foresee-serving-")))
        data = scratch / "data"
        data.mkdir()
        make_data(data)
        link = servers.Link(stack, arguments.slowlink, servers.s3(stack, scratch, data), "--http")
        for number in range(arguments.rounds):
            for name, (reads, contenders) in chosen.items():
                who = [it for it in contenders if (not arguments.by or it in arguments.by) and program(arguments, it) not in absent]
                # Whoever comes first in one round comes last in the next.
                for contender in who[::-1] if number % 2 else who:
                    result = run(arguments, link, contender, reads)
                    results[name].setdefault(contender, []).append(result)
                    print(f"{number + 1}: {name}: {contender}: {result}", file=sys.stderr, flush=True)
                results[name] = {it: results[name][it] for it in who}
    if not arguments.only and not arguments.by:
        raw = {"machine": common.machine(), "time": time.strftime("%Y-%m-%d"), "rounds": arguments.rounds, "jobs": results}
        (arguments.results / "serving.json").write_text(json.dumps(raw, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
