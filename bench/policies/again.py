"""What policies gain where they are taught what an earlier run learned, and what they lose where that was another program's.

    make bench-policies
    python3 bench/policies/again.py --traces DIRECTORY

Cells are those of `untold.py`: its traces, a memory of 1, 5, 20, 50 or 90 % of the trace's different blocks. Each policy runs

    again      the second half of the trace, after the first half
    other      the whole trace, after the trace that comes third after it in the order of the files' names
    before     the same halves, and the whole trace, without having been taught

Without a clock, by `foresee sim --after`. Halves A and B of the traces are those of `untold.py`. Printed: points of hits gained and lost
by being taught, in the mean, and the cells in which most is gained or lost.

Raw results go to bench/results/policies-again.json. Two minutes; `--table` only prints them.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cells as traced
import common

NAME = "policies-again"
POLICIES = ["reuse", "experts", "pcc"]
SHARES = [1, 5, 20, 50, 90]
BLOCKS_MIN = 50
OTHER = 3
SHOWN = 4


def foresee(arguments, *words):
    return subprocess.run([arguments.foresee, *map(str, words)], check=True, capture_output=True, text=True).stdout


def hits(arguments, trace, blocks, options=()):
    """By policy and size."""
    sizes = ",".join(map(str, blocks))
    rows = json.loads(foresee(arguments, "sim", trace, "-p", ",".join(POLICIES), "-c", sizes, "--json", *options))
    return {(row["policy"], row["cache_blocks"]): 100 * (1 - row["miss_ratio"]) for row in rows if row["policy"] in POLICIES}


def measure(arguments):
    cells = []
    files = traced.traces(arguments.traces)
    names = list(files)
    with tempfile.TemporaryDirectory() as scratch:
        first, second = Path(scratch) / "first.parquet", Path(scratch) / "second.parquet"
        for at, (name, file) in enumerate(files.items()):
            print(name, file=sys.stderr)
            info = json.loads(foresee(arguments, "trace", "info", file, "--json"))
            half = info["requests"] // 2
            foresee(arguments, "trace", "convert", file, first, "--count", half)
            foresee(arguments, "trace", "convert", file, second, "--skip", half)
            blocks = [info["distinct_blocks"] * share // 100 for share in SHARES]
            blocks = [it for it in blocks if it >= BLOCKS_MIN]
            other = files[names[(at + OTHER) % len(names)]]
            found = {"again": (second, first), "other": (file, other)}
            for kind, (trace, before) in found.items():
                untaught = hits(arguments, trace, blocks)
                taught = hits(arguments, trace, blocks, ("--after", before))
                half = "A" if traced.is_tuning(name) else "B"
                cells += [{"trace": name, "half": half, "after": kind, "policy": policy, "blocks": size,
                           "hits_percent": untaught[policy, size], "taught_hits_percent": percent}
                          for (policy, size), percent in taught.items()]
    return cells


def show(cells):
    print("points of hits more where it was taught, in the mean: all, half A, half B; most lost and gained")
    for policy in POLICIES:
        for after in ("again", "other"):
            rows = [row | {"gain": row["taught_hits_percent"] - row["hits_percent"]} for row in cells
                    if (row["policy"], row["after"]) == (policy, after)]
            means = [mean(row["gain"] for row in rows if row["half"] in half) for half in ("AB", "A", "B")]
            print(f"  {policy:<8} {after:<6}" + "".join(f"{points:+8.2f}" for points in means))
            rows.sort(key=lambda row: row["gain"])
            for row in rows[:SHOWN] + rows[-SHOWN:]:
                print(f"      {row['gain']:+7.2f}  {row['half']} {row['trace']:<16} {row['blocks']:>7,}  {row['hits_percent']:6.2f} %")


def main():
    arguments = traced.options_of_traces(__doc__).parse_args()
    if not arguments.table:
        common.keep(arguments, NAME, {"cells": measure(arguments)})
    show(json.loads((arguments.results / f"{NAME}.json").read_text())["cells"])


main()
