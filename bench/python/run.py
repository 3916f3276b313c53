#!/usr/bin/env python3
"""The Python package beside what Python programs cache by today, over an S3 server (versitygw) behind a link of 20 ms and 100 MB/s.

Each run is a process of its own (contenders.py) that finds nothing; the link counts bytes and requests. `make bench-python` runs it in an
environment that has the package and its peers.
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
from contenders import MIB, RECORD, RECORDS  # noqa: E402

JOBS = {
    "passes": ["blockcache", "background", "obspec-utils", "zarr CacheStore", "foresee", "foresee arc", "foresee told", "foresee told arc",
               "foresee::", "foresee cache_type", "foresee.zarr"],
    "plane": ["s3fs none", "s3fs readahead", "foresee", "foresee planned", "foresee:: planned"],
    "loader": ["blockcache", "foresee", "foresee told", "foresee told arc", "foresee:: told", "torch blockcache 0", "torch blockcache 2",
               "foresee.torch 0", "foresee.torch 2"],
    "scan": ["adaptive", "foresee", "foresee::"],
    "tables": ["pandas over s3fs", "pandas over foresee", "duckdb over s3fs", "duckdb over foresee"],
}
TABLES = 2000
SCAN = 10 << 10


def make_data(folder, jobs):
    """What the jobs read."""
    import h5py
    import numpy
    import pandas
    import zarr

    random_bytes = numpy.random.default_rng(1).bytes
    if "passes" in jobs:
        (folder / "cycle").write_bytes(random_bytes(64 * MIB))
        array = zarr.create_array(folder / "parts.zarr", shape=(64 * MIB,), chunks=(MIB,), dtype="u1", compressors=None)
        array[:] = numpy.frombuffer(random_bytes(64 * MIB), "u1")
    if "plane" in jobs:
        with h5py.File(folder / "volume.h5", "w") as file:
            file.create_dataset("data", data=numpy.random.default_rng(2).random((64, 528, 384), "f4"), chunks=(16, 48, 64))
    if "loader" in jobs:
        (folder / "records").write_bytes(random_bytes(RECORD * RECORDS))
    if "scan" in jobs:
        # Larger than memory should be, and none of it on the disk.
        with (folder / "scan").open("wb") as file:
            file.truncate(SCAN * MIB)
    if "tables" in jobs:
        (folder / "tables").mkdir()
        for at in range(TABLES):
            numbers = random.Random(at).sample(range(10**6), 1000)
            pandas.DataFrame({"x": numbers, "y": numbers[::-1]}).to_parquet(folder / f"tables/{at:05}.parquet")


def run(arguments, link, job, contender):
    """One process: of each pass, its seconds and what passed the link."""
    environment = dict(os.environ, AWS_ENDPOINT_URL=f"http://{servers.HERE}:{link.port}", AWS_REGION="us-east-1", AWS_ALLOW_HTTP="true",
                       AWS_ACCESS_KEY_ID=servers.ACCESS, AWS_SECRET_ACCESS_KEY=servers.SECRET)
    command = [arguments.python, BENCH / "python/contenders.py", job, contender]
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    found = []
    for line in process.stdout:
        counts = link.counts()
        if found or json.loads(line):
            passed = {"mb": round(counts["bytes_to_client"] / 1e6, 2), "requests": sum(counts["requests"].values())}
            found.append({**{name: round(it, 3) for name, it in json.loads(line).items()}, **passed})
        process.stdin.write("\n")
        process.stdin.flush()
    if process.wait() or not found:
        raise RuntimeError(f"{job}: {contender} failed")
    return found


def table(results):
    """Of each pass, the median of the rounds."""
    lines = ["| job | by | rounds | s | of it stalled | MB | requests |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    columns = (("seconds", ".2f"), ("stalled", ".2f"), ("mb", ".0f"), ("requests", ".0f"))
    for job, contenders in results.items():
        for contender, rounds in contenders.items():
            cells = []
            for what, form in columns:
                passes = (statistics.median(it[what] for it in same) for same in zip(*rounds) if what in same[0])
                cells.append(", ".join(f"{it:{form}}" for it in passes))
            lines.append(f"| {job} | {contender} | {len(rounds)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS), help="these jobs")
    parser.add_argument("--by", nargs="+", help="these contenders")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each contender in each job, in turns")
    parser.add_argument("--python", default=sys.executable, help="a Python with the package, s3fs and the peers")
    parser.add_argument("--slowlink", type=common.program, default=str(ROOT / "target/release/slowlink"))
    parser.add_argument("--results", type=common.folder, default=BENCH / "results", help="where raw results go, beside those of other jobs")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    arguments = parser.parse_args()
    path = arguments.results / "python.json"
    before = json.loads(path.read_text()) if path.exists() else {"jobs": {}}
    if arguments.table:
        print(table(before["jobs"]))
        return
    if not servers.find("versitygw"):
        sys.exit("versitygw is not here: go install github.com/versity/versitygw/cmd/versitygw@latest")
    results = {}
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foresee-python-")))
        data = scratch / "data"
        data.mkdir()
        make_data(data, arguments.only)
        link = servers.Link(stack, arguments.slowlink, servers.s3(stack, scratch, data), "--http")
        for job in arguments.only:
            chosen = [it for it in JOBS[job] if not arguments.by or it in arguments.by]
            for _ in range(arguments.rounds):
                for contender in list(chosen):
                    try:
                        found = run(arguments, link, job, contender)
                    except RuntimeError as error:
                        print(f"{error}: left out", file=sys.stderr)
                        chosen.remove(contender)
                        continue
                    results.setdefault(job, {}).setdefault(contender, []).append(found)
                    print(f"{job}: {contender}: {found}", file=sys.stderr, flush=True)
            # A job takes minutes: what is known is kept, of contenders that were left out too.
            before["jobs"][job] = before["jobs"].get(job, {}) | results.get(job, {})
            raw = {"machine": common.machine(), "time": time.strftime("%Y-%m-%d"), "jobs": before["jobs"]}
            path.write_text(json.dumps(raw, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
