"""Policies that are told nothing: hits of `experts` beside the best policy of each cell, and its time where runs are read ahead.

    make bench-policies
    python3 bench/policies/untold.py --traces DIRECTORY

A cell is a trace and a memory of 1, 5, 20, 50 or 90 % of the trace's different blocks (1 % where that is 50 at least). Traces are
those in DIRECTORY (by default ../shared/traces beside the project, if it is there) and the recordings of papers 002 and 004. In the
order of their files' names, every other one, from the first, is of half A, by which constants are chosen, the others of half B.

Printed first: cells in which `experts` has more than a point of hits less than the best policy, and those in which it takes more than
1.03 times as long as the best. Then the means: of `experts`, and of each policy by itself, against the best policy of each cell.

Time is that of a network device (64 requests of 5 ms at once), without thought, under `readahead:keep=POLICY`, at 20 and 50 %.

Raw results go to bench/results/policies-untold.json. Ten minutes; `--table` only prints them.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cells as traced
import common

NAME = "policies-untold"
OURS = "experts"
POLICIES = ["lru", "arc", "lirs", "2q", "s3fifo", "sieve", "w-tinylfu", "lfu", "slru", "pcc", "ubm"]
OPTIMUM = "opt"
SHARES = ["1%", "5%", "20%", "50%", "90%"]
BLOCKS_MIN = 50
POINTS_BEHIND_MAX = 1.0

TIMED_POLICIES = ["lru", "lirs", "w-tinylfu", "2q", "pcc"]
TIMED_SHARES = ["20%", "50%"]
DEVICE = ["--device", "servers=64,latency_us=5000,mb_per_s=0", "--think", "none"]
TIMES_MAX = 1.03


def simulate(arguments, file, policies, shares, options=()):
    command = [arguments.foresee, "sim", file, "-p", ",".join(policies), "-c", ",".join(shares), "--json", "-", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def measure(arguments):
    cells = []
    files = traced.traces(arguments.traces)
    for name, file in files.items():
        print(name, file=sys.stderr)
        place = {"trace": name, "half": "A" if name in traced.tuning(files) else "B"}
        for row in simulate(arguments, file, [OURS, *POLICIES, OPTIMUM], SHARES):
            if row["policy"] != "unlimited" and row["cache_blocks"] >= BLOCKS_MIN:
                cells.append(place | {"blocks": row["cache_blocks"], "policy": row["policy"],
                                      "hits_percent": 100 * (1 - row["miss_ratio"])})
        timed = [f"readahead:keep={policy}" for policy in [OURS, *TIMED_POLICIES]]
        for row in simulate(arguments, file, timed, TIMED_SHARES, DEVICE):
            cells.append(place | {"blocks": row["cache_blocks"], "policy": row["policy"].split("=")[1],
                                  "elapsed_s": row["elapsed_s"]})
    return cells


def table(cells, key):
    """What each policy came to, by trace, half and blocks."""
    places = {}
    for cell in cells:
        if key in cell:
            places.setdefault((cell["trace"], cell["half"], cell["blocks"]), {})[cell["policy"]] = cell[key]
    return places


def show_hits(places):
    behind = {policy: {} for policy in [OURS, *POLICIES]}
    short = []
    for place, hits in places.items():
        best = max(POLICIES, key=hits.get)
        for policy, of_cell in behind.items():
            of_cell[place] = hits[policy] - hits[best]
        if behind[OURS][place] < -POINTS_BEHIND_MAX:
            short.append((behind[OURS][place], place, hits, best))
    print(f"{len(short)} of {len(places)} cells: more than {POINTS_BEHIND_MAX} point of hits behind the best policy")
    for points, (trace, half, blocks), hits, best in sorted(short, key=lambda it: it[0]):
        print(f"  {points:+7.2f}  {half} {trace:<16} {blocks:>7,}  {hits[OURS]:6.2f} %  {best} {hits[best]:.2f} %"
              f"  opt {hits[OPTIMUM]:.2f} %")
    print("\npoints of hits against the best policy of each cell, in the mean: all, half A, half B")
    for policy, of_cell in sorted(behind.items(), key=lambda it: -mean(it[1].values())):
        halves = [mean(points for place, points in of_cell.items() if place[1] in half) for half in ("AB", "A", "B")]
        print(f"  {policy:<10}" + "".join(f"{points:+8.2f}" for points in halves))


def show_times(places):
    times = {place: of_cell[OURS] / min(of_cell[policy] for policy in TIMED_POLICIES)
             for place, of_cell in places.items()}
    short = sorted(((ratio, place) for place, ratio in times.items() if ratio > TIMES_MAX), reverse=True)
    print(f"\n{len(short)} of {len(times)} cells: runs read ahead, more than {TIMES_MAX} times as long as under the best")
    for ratio, place in short:
        trace, half, blocks = place
        best = min(TIMED_POLICIES, key=places[place].get)
        print(f"  {ratio:7.2f}  {half} {trace:<16} {blocks:>7,}  {places[place][OURS]:8.2f} s"
              f"  {best} {places[place][best]:.2f} s  lru {places[place]['lru']:.2f} s")
    print("\ntimes as long as under the best policy of each cell, in the mean")
    for policy in [OURS, *TIMED_POLICIES]:
        ratios = [of_cell[policy] / min(of_cell[other] for other in TIMED_POLICIES) for of_cell in places.values()]
        print(f"  {policy:<10} {mean(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foresee", default=str(common.ROOT / "target/release/foresee"), help="the foresee to measure")
    parser.add_argument("--traces", type=common.folder, default=common.ROOT.parent / "shared/traces",
                        help="a folder of block traces")
    parser.add_argument("--results", type=common.folder, default=common.BENCH / "results", help="where raw results go")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    arguments = parser.parse_args()
    if not arguments.table:
        common.keep(arguments, NAME, {"device": DEVICE[1], "cells": measure(arguments)})
    cells = json.loads((arguments.results / f"{NAME}.json").read_text())["cells"]
    show_hits(table(cells, "hits_percent"))
    show_times(table(cells, "elapsed_s"))


main()
