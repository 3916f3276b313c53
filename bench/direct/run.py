#!/usr/bin/env python3
"""A file of this machine's that memory cannot hold, read again and again as it was told, beside the best that fio gets of the device.

make bench-direct; needs fio. Three minutes, and room for a GiB in --folder, whose device it is about.
"""

import argparse
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
sys.path.insert(0, str(BENCH))
import common  # noqa: E402

MIB = 1 << 20
SIZE = 1024 * MIB
MEMORY = 256 * MIB
PASSES = 4
SECONDS = 2
# What one request of fio's has, as ours have it: runs are merged to 1 MiB, records are as long as they are.
ORDERS = {"cycle": ("read", MIB), "random": ("randread", 64 << 10)}
# By threads that block and by io_uring, so many requests at once.
ENGINES = ("psync", "io_uring")
DEPTHS = (1, 4, 16, 64)
POLICIES = ("readahead:keep=arc", "informed")


def make_file(path):
    """Each page begins with its number."""
    rest = random.Random(1).randbytes(4096 - 8)
    with path.open("wb") as file:
        for first in range(0, SIZE // 4096, 4096):
            file.write(b"".join(page.to_bytes(8, "little") + rest for page in range(first, first + 4096)))
        os.fsync(file.fileno())


def fio(path, how, length, engine, depth):
    """Bytes a second."""
    jobs = ["--numjobs", depth] if engine == "psync" else ["--iodepth", depth]
    command = ["fio", "--name=best", f"--filename={path}", f"--rw={how}", f"--bs={length}", f"--ioengine={engine}", "--direct=1",
               "--thread", "--time_based", f"--runtime={SECONDS}", "--group_reporting", "--output-format=json", "--norandommap",
               *map(str, jobs)]
    # Threads that read one after the other begin apart, as they would share what the device has read.
    if engine == "psync" and how == "read":
        command.append(f"--offset_increment={SIZE // depth}")
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)["jobs"][0]["read"]["bw_bytes"]


def ours(program, path, policy, order):
    """Seconds and bytes of each pass but the first, which finds nothing."""
    command = [program, path, MEMORY // MIB, policy, order, PASSES]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return [{"seconds": float(seconds), "mib": round(int(count) / MIB, 1)} for seconds, count in lines[1:]]


def spread(speeds):
    return f"{statistics.median(speeds) / 1e6:.0f} ({min(speeds) / 1e6:.0f}, {max(speeds) / 1e6:.0f})"


def table(results):
    lines = ["| order | by | MB/s of the device, median (least, most) | MiB a pass | s a pass |", "| --- | --- | ---: | ---: | ---: |"]
    for order, contenders in results.items():
        for who, it in contenders.items():
            if who in ENGINES:
                for depth, speeds in it.items():
                    lines.append(f"| {order} | fio, {who}, {depth} at once | {spread(speeds)} | | |")
                continue
            passes = [each for one in it for each in one]
            speeds = [each["mib"] * MIB / each["seconds"] for each in passes]
            mib, seconds = (statistics.median(each[what] for each in passes) for what in ("mib", "seconds"))
            lines.append(f"| {order} | {who} | {spread(speeds)} | {mib:.0f} | {seconds:.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each policy")
    parser.add_argument("--program", type=common.program, default=str(BENCH / "direct/target/release/foresee-bench-direct"))
    parser.add_argument("--folder", type=common.folder, default=BENCH.parent / "target", help="where the file lies")
    parser.add_argument("--results", type=common.folder, default=BENCH / "results", help="where raw results go")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(json.loads((arguments.results / "direct.json").read_text())["orders"]))
        return
    results = {order: {} for order in ORDERS}
    with tempfile.TemporaryDirectory(prefix="foresee-direct-", dir=arguments.folder) as folder:
        path = Path(folder) / "file"
        make_file(path)
        # In turn: a device that others share is quicker in one minute than in the next.
        for _ in range(arguments.rounds):
            for order, (how, length) in ORDERS.items():
                for engine in ENGINES:
                    for depth in DEPTHS:
                        speed = fio(path, how, length, engine, depth)
                        results[order].setdefault(engine, {}).setdefault(str(depth), []).append(speed)
                for policy in POLICIES:
                    results[order].setdefault(policy, []).append(ours(arguments.program, path, policy, order))
    text = {"machine": common.machine(), "time": time.strftime("%Y-%m-%d"), "rounds": arguments.rounds, "orders": results}
    common.keep(arguments, "direct", text)
    print(table(results))


if __name__ == "__main__":
    main()
