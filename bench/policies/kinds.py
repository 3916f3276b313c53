"""Times of policies that are told nothing, on workloads of the kinds that the literature knows (kinds_of_programs).

    make bench-policies
    python3 bench/policies/kinds.py --only fourier_transform b_tree --devices network

Key-value stores, trees, joins, sorts, matrices, graphs, epochs of training, compilers, logs, loops, phases, programs
side by side: 62 kinds, written by somebody who had not built the policies. What they showed led to rules, but no constant
was swept over them. A cell is a kind, a memory of 5, 20 or 50 % of its different blocks, and a device. Readers do not
think; call sites are not known. `informed`, the default, stands beside eleven policies under which runs are read ahead.

Printed first: the cells in which the default takes longest beside the best of the eleven, and beside LRU. Then, of
each device and policy: how many times as long it takes as the best of each cell and as LRU, in the geometric mean,
and in how many cells it is behind.

Raw results go to bench/results/policies-kinds.json. Four minutes; `--table` only prints them.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import geometric_mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cells as traced
import common
import kinds_of_programs

NAME = "policies-kinds"
OURS = "informed"
PLAIN = "lru"
OTHERS = [PLAIN, "arc", "lirs", "2q", "s3fifo", "sieve", "w-tinylfu", "lfu", "slru", "pcc", "ubm"]
# As the simulator spells them: with runs read ahead.
SPELT = {OURS: OURS, **{policy: f"readahead:keep={policy}" for policy in OTHERS}}
MEMORY = ["5%", "20%", "50%"]
DEVICES = {
    "network": traced.DEVICES["network"],
    "S3": ["servers=64,latency_us=20000,mb_per_s=100"],
    "disk": traced.DEVICES["disk"],
}
WORST = 10
# Who takes more times as long as the best, and as LRU, is behind.
BEHIND_BEST, FAR_BEHIND_BEST, BEHIND_PLAIN = 1.03, 1.3, 1.01


def cells_of(arguments, kind, trace, device):
    """The times of each policy on one device, by memory."""
    command = [arguments.foresee, "sim", "-", "--format", "strace", "-p", ",".join(SPELT.values()),
               "-c", ",".join(MEMORY), "--device", *DEVICES[device], "--think", "none", "--json", "-"]
    rows = json.loads(subprocess.run(command, input=trace, text=True, check=True, stdout=subprocess.PIPE).stdout)
    took = {(row["policy"], row["cache_blocks"]): row["elapsed_s"] for row in rows}
    sizes = sorted({row["cache_blocks"] for row in rows if row["policy"] == OURS})
    return [{"kind": kind, "device": device, "memory": memory, "blocks": blocks,
             "elapsed_s": {policy: took[spelt, blocks] for policy, spelt in SPELT.items()}}
            for memory, blocks in zip(MEMORY, sizes, strict=True)]


def measure(arguments):
    """All cells so far, after each kind."""
    cells = []
    for kind in arguments.only:
        print(kind, file=sys.stderr, flush=True)
        trace = kinds_of_programs.trace(kinds_of_programs.workload(kind))
        for device in arguments.devices:
            cells += cells_of(arguments, kind, trace, device)
        yield cells


def best(times):
    return min(OTHERS, key=times.get)


def show_worst(cells, what, beside):
    """Where the default takes longest beside the policy that `beside` names of the times of a cell."""
    ratios = [(cell["elapsed_s"][OURS] / cell["elapsed_s"][beside(cell["elapsed_s"])], cell) for cell in cells]
    print(f"{OURS}, times as long as {what}: the worst of {len(cells)} cells")
    for ratio, cell in sorted(ratios, key=lambda it: -it[0])[:WORST]:
        times = cell["elapsed_s"]
        print(f"  {ratio:6.2f}  {cell['kind']:<27} {cell['device']:<8} {cell['memory']:>4} {cell['blocks']:>6,}"
              f"  {times[OURS]:8.2f} s  {best(times)} {times[best(times)]:.2f} s  {PLAIN} {times[PLAIN]:.2f} s")
    print()


def show_means(cells, device):
    """How each policy does on a device, the best first."""
    times = [cell["elapsed_s"] for cell in cells if cell["device"] == device]
    of_best = {policy: [of_cell[policy] / of_cell[best(of_cell)] for of_cell in times] for policy in SPELT}
    of_plain = {policy: [of_cell[policy] / of_cell[PLAIN] for of_cell in times] for policy in SPELT}
    print(f"{device}, {len(times)} cells: times as long, in the geometric mean, and cells with more than")
    heads = (f"{BEHIND_BEST} of best", f"{FAR_BEHIND_BEST} of best", f"{BEHIND_PLAIN} of LRU")
    print(f"  {'':<10} {'as the best':>12} {'as LRU':>8}" + "".join(f"{head:>14}" for head in heads))
    for policy in sorted(SPELT, key=lambda policy: geometric_mean(of_best[policy])):
        bars = ((of_best, BEHIND_BEST), (of_best, FAR_BEHIND_BEST), (of_plain, BEHIND_PLAIN))
        behind = (sum(ratio > bar for ratio in ratios[policy]) for ratios, bar in bars)
        print(f"  {policy:<10} {geometric_mean(of_best[policy]):>12.3f} {geometric_mean(of_plain[policy]):>8.3f}"
              + "".join(f"{cells_behind:>14}" for cells_behind in behind))
    print()


def main():
    parser = traced.options(__doc__)
    kinds, devices = list(kinds_of_programs.KINDS), list(DEVICES)
    parser.add_argument("--only", nargs="+", metavar="KIND", default=kinds, choices=kinds, help="only these kinds")
    parser.add_argument("--devices", nargs="+", default=devices, choices=devices, help="devices to measure on")
    arguments = parser.parse_args()
    if not arguments.table:
        # What is interrupted keeps what it has.
        for cells in measure(arguments):
            common.keep(arguments, NAME, {"cells": cells})
    cells = traced.read(arguments, NAME)["cells"]
    show_worst(cells, "the best of the others", best)
    show_worst(cells, "LRU with runs read ahead", lambda _: PLAIN)
    for device in DEVICES:
        if any(cell["device"] == device for cell in cells):
            show_means(cells, device)


main()
