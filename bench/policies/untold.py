"""Policies that are told nothing: hits of `informed`, the default, and of `experts` beside the best policy of each cell, and their times.

    make bench-policies
    python3 bench/policies/untold.py --traces DIRECTORY

A cell is a trace and a memory of 1, 5, 20, 50 or 90 % of the trace's different blocks (1 % where that is 50 at least). Traces are
those in DIRECTORY (by default ../shared/traces beside the project, if it is there) and the recordings of papers 002 and 004. Half A
has those by which constants are chosen, half B the others (README.md).

Printed first: cells in which the default takes more than 1.01 times as long as LRU with the kernel's readahead, which is the machine
without foresee. Then those in which it has more than a point of hits less than the best policy, and those in which it takes more than
1.03 times as long as the best; then the same of `experts`. Then the means: of each policy by itself against the best one of each cell.

Hits are those of what a policy keeps: of `informed`, what it goes by where nothing is disclosed. Time is that of a network device (64
requests of 5 ms at once), and that of a disk, without thought, where runs are read ahead: under `informed`, else
`readahead:keep=POLICY`, at 20 and 50 %.
Against LRU with the kernel's readahead (`--readahead osf1`) that reads ahead beside the default too, as under `foresee run`, and then
does not, as under the library and the mount, where alone the default reads ahead.

Raw results go to bench/results/policies-untold.json. A minute; `--table` only prints them.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean, mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cells as traced
import common

NAME = "policies-untold"
OURS = ["informed", "experts"]
# What decides what stays, by itself; and with runs read ahead.
KEPT = {"informed": "reuse"}
AHEAD = {"informed": "informed"}
POLICIES = ["lru", "arc", "lirs", "2q", "s3fifo", "sieve", "w-tinylfu", "lfu", "slru", "pcc", "ubm"]
OPTIMUM = "opt"
SHARES = ["1%", "5%", "20%", "50%", "90%"]
BLOCKS_MIN = 50
POINTS_BEHIND_MAX = 1.0

TIMED_POLICIES = ["lru", "lirs", "w-tinylfu", "2q", "pcc"]
TIMED_SHARES = ["20%", "50%"]
DEVICE = ["--device", "servers=64,latency_us=5000,mb_per_s=0", "--think", "none"]
TIMES_MAX = 1.03
# An arm, which waits for no request's latency, but for its way and the turn.
DISK = ["--device", "disk10k", "--think", "none"]
# The machine as it is.
KERNEL = [*DEVICE, "--readahead", "osf1"]
PLAIN = "lru"
BEYOND_PLAIN_MAX = 1.01


def simulate(arguments, file, policies, shares, options=()):
    command = [arguments.foresee, "sim", file, "-p", ",".join(policies), "-c", ",".join(shares), "--json", "-", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def ahead(policy):
    return AHEAD.get(policy, f"readahead:keep={policy}")


def measure(arguments):
    cells = []
    files = traced.traces(arguments.traces)
    for name, file in files.items():
        print(name, file=sys.stderr)
        place = {"trace": name, "half": "A" if traced.is_tuning(name) else "B"}
        for key, policies, shares, spell, options in [
            ("hits_percent", [*OURS, *POLICIES, OPTIMUM], SHARES, lambda it: KEPT.get(it, it), ()),
            ("elapsed_s", [*OURS, *TIMED_POLICIES], TIMED_SHARES, ahead, DEVICE),
            ("on_a_disk_s", [*OURS, *TIMED_POLICIES], TIMED_SHARES, ahead, DISK),
            ("beside_kernel_s", [*OURS, PLAIN], TIMED_SHARES, lambda it: it if it == PLAIN else ahead(it), KERNEL),
        ]:
            names = {spell(policy): policy for policy in policies}
            for row in simulate(arguments, file, names, shares, options):
                if row["policy"] != "unlimited" and row["cache_blocks"] >= BLOCKS_MIN:
                    value = row["elapsed_s"] if options else 100 * (1 - row["miss_ratio"])
                    cells.append(place | {"blocks": row["cache_blocks"], "policy": names[row["policy"]], key: value})
    return cells


def table(cells, key):
    """What each policy came to, by trace, half and blocks."""
    places = {}
    for cell in cells:
        if key in cell:
            places.setdefault((cell["trace"], cell["half"], cell["blocks"]), {})[cell["policy"]] = cell[key]
    return places


def show_hits(places):
    behind = {policy: {} for policy in [*OURS, *POLICIES]}
    for place, hits in places.items():
        best = max(map(hits.get, POLICIES))
        for policy, of_cell in behind.items():
            of_cell[place] = hits[policy] - best
    for ours in OURS:
        short = sorted((points, place) for place, points in behind[ours].items() if points < -POINTS_BEHIND_MAX)
        print(f"{len(short)} of {len(places)} cells: {ours} has more than {POINTS_BEHIND_MAX} point of hits less than the best policy")
        for points, place in short:
            (trace, half, blocks), hits = place, places[place]
            best = max(POLICIES, key=hits.get)
            print(f"  {points:+7.2f}  {half} {trace:<16} {blocks:>7,}  {hits[ours]:6.2f} %  {best} {hits[best]:.2f} %"
                  f"  opt {hits[OPTIMUM]:.2f} %")
    print("\npoints of hits against the best policy of each cell, in the mean: all, half A, half B")
    for policy, of_cell in sorted(behind.items(), key=lambda it: -mean(it[1].values())):
        halves = [mean(points for place, points in of_cell.items() if place[1] in half) for half in ("AB", "A", "B")]
        print(f"  {policy:<10}" + "".join(f"{points:+8.2f}" for points in halves))


def show_beyond_plain(beside, alone):
    beyond = {(ours, way): {place: times[place][ours] / beside[place][PLAIN] for place in beside}
              for way, times in (("beside it", beside), ("alone", alone)) for ours in OURS}
    for (ours, way), ratios in beyond.items():
        slow = sorted(((ratio, place) for place, ratio in ratios.items() if ratio > BEYOND_PLAIN_MAX), reverse=True)
        what = f"{ours} {way} takes more than {BEYOND_PLAIN_MAX} times as long as LRU with the kernel's readahead"
        print(f"{len(slow)} of {len(beside)} cells: {what}")
        for ratio, place in slow:
            trace, half, blocks = place
            plain = beside[place][PLAIN]
            print(f"  {ratio:7.2f}  {half} {trace:<16} {blocks:>7,}  {ratio * plain:8.2f} s  {plain:.2f} s")
    print("\ntimes as long as LRU with the kernel's readahead, in the geometric mean: all, half A, half B; worst")
    for (ours, way), ratios in beyond.items():
        halves = [geometric_mean(ratio for place, ratio in ratios.items() if place[1] in half) for half in ("AB", "A", "B")]
        print(f"  {ours:<10}{way:<10}" + "".join(f"{ratio:8.2f}" for ratio in [*halves, max(ratios.values())]))
    print()


def show_times(places, where):
    best = {place: min(map(times.get, TIMED_POLICIES)) for place, times in places.items()}
    ratios = {policy: {place: times[policy] / best[place] for place, times in places.items()} for policy in [*OURS, *TIMED_POLICIES]}
    for ours in OURS:
        short = sorted(((ratio, place) for place, ratio in ratios[ours].items() if ratio > TIMES_MAX), reverse=True)
        what = f"{ours} takes more than {TIMES_MAX} times as long as the best, runs read ahead, {where}"
        print(f"\n{len(short)} of {len(places)} cells: {what}")
        for ratio, place in short:
            (trace, half, blocks), times = place, places[place]
            name = min(TIMED_POLICIES, key=times.get)
            print(f"  {ratio:7.2f}  {half} {trace:<16} {blocks:>7,}  {times[ours]:8.2f} s"
                  f"  {name} {times[name]:.2f} s  lru {times['lru']:.2f} s")
    print(f"\ntimes as long as under the best policy of each cell, {where}, in the mean: all, half A, half B")
    for policy, of_cell in ratios.items():
        halves = [mean(ratio for place, ratio in of_cell.items() if place[1] in half) for half in ("AB", "A", "B")]
        print(f"  {policy:<10}" + "".join(f"{ratio:8.2f}" for ratio in halves))


def main():
    arguments = traced.options_of_traces(__doc__).parse_args()
    if not arguments.table:
        common.keep(arguments, NAME, {"device": DEVICE[1], "cells": measure(arguments)})
    cells = json.loads((arguments.results / f"{NAME}.json").read_text())["cells"]
    show_beyond_plain(table(cells, "beside_kernel_s"), table(cells, "elapsed_s"))
    show_hits(table(cells, "hits_percent"))
    show_times(table(cells, "elapsed_s"), "on a link")
    show_times(table(cells, "on_a_disk_s"), "on a disk")


main()
