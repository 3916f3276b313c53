"""Policies that are told nothing on workloads that nobody chose: parts of eleven kinds, put together by chance (workloads.py).

    make bench-policies
    python3 bench/policies/chance.py --seed 7

A cell is a workload and a memory of 300, 1,000 or 3,000 pages; 60,000 references a workload, all
in one file, so that nothing is learned of files apart. Printed: how many points of hits each policy
is behind the best of them in the mean, how many it is behind LRU at most, and in how many cells that is more than one; then the cells in
which `reuse`, by which the default keeps, has least beside LRU. No constant of a policy was chosen by these but one (`estimate/debt.rs`),
which changes hits by 0.01 points; try other seeds.

Raw results go to bench/results/policies-chance.json. One minute; `--table` only prints them.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cells as traced
import common
import workloads

NAME = "policies-chance"
OURS = "reuse"
POLICIES = [OURS, "lru", "arc", "lirs", "2q", "w-tinylfu", "pcc:other=arc", "experts", "opt"]
OPTIMUM = "opt"
PAGES = [300, 1000, 3000]
REFERENCES = 60_000
WORST = 10


def cells_of(arguments, seed):
    """The hits of each policy, in percent, of one workload."""
    name, blocks = workloads.workload(seed, REFERENCES)
    command = [arguments.foresee, "sim", "-", "--format", "blocks", "-p", ",".join(POLICIES), "-c", ",".join(map(str, PAGES)),
               "--json", "-"]
    trace = "".join(f"{block}\n" for block in blocks)
    rows = json.loads(subprocess.run(command, input=trace, text=True, check=True, stdout=subprocess.PIPE).stdout)
    cells = []
    for pages in PAGES:
        of_cell = {row["policy"]: row["miss_ratio"] for row in rows if row["cache_blocks"] == pages and row["policy"] in POLICIES}
        hits = {policy: round(100 * (1 - misses), 3) for policy, misses in of_cell.items()}
        cells.append({"seed": seed, "workload": name, "pages": pages, "hits_percent": hits})
    return cells


def measure(arguments):
    seeds = range(arguments.seed * 1000, arguments.seed * 1000 + arguments.workloads)
    with ThreadPoolExecutor(2) as threads:
        return [cell for cells in threads.map(lambda seed: cells_of(arguments, seed), seeds) for cell in cells]


def show(cells):
    hits = [cell["hits_percent"] for cell in cells]
    best = [max(percent for policy, percent in of_cell.items() if policy != OPTIMUM) for of_cell in hits]
    print(f"{len(cells)} cells; points of hits\n")
    print(f"{'policy':<16}{'behind the best,':>18}{'behind LRU,':>14}{'cells with more':>18}")
    print(f"{'':<16}{'in the mean':>18}{'at most':>14}{'than 1 of that':>18}")
    for policy in sorted(POLICIES, key=lambda policy: -mean(of_cell[policy] for of_cell in hits)):
        behind = mean(least - of_cell[policy] for least, of_cell in zip(best, hits))
        lru = [of_cell["lru"] - of_cell[policy] for of_cell in hits]
        print(f"{policy:<16}{behind:>18.2f}{max(lru):>14.1f}{sum(points > 1 for points in lru):>18}")
    print(f"\nwhere {OURS} is furthest behind LRU")
    for cell in sorted(cells, key=lambda cell: cell["hits_percent"][OURS] - cell["hits_percent"]["lru"])[:WORST]:
        of_cell = cell["hits_percent"]
        print(f"  {of_cell[OURS] - of_cell['lru']:+6.1f}  {of_cell[OURS]:5.1f} %, lru {of_cell['lru']:5.1f}, opt {of_cell[OPTIMUM]:5.1f}"
              f"  {cell['pages']:>5,} pages, {cell['seed']}: {cell['workload']}")


def main():
    parser = traced.options(__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the workloads")
    parser.add_argument("--workloads", type=int, default=200, help="how many there are")
    arguments = parser.parse_args()
    if not arguments.table:
        common.keep(arguments, NAME, {"seed": arguments.seed, "cells": measure(arguments)})
    show(traced.read(arguments, NAME)["cells"])


main()
