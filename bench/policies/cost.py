"""What the default policy costs: a hit at a million resident blocks, a resident block's memory, a ghost's; LRU's beside them.

    make bench-policies
    python3 bench/policies/cost.py

The aims are 150 ns of the processor a hit, 96 bytes a resident block and 32 a ghost, which is what is remembered of a block that was given
up. Measured by `cargo bench -p foresee-manager --bench reference`, medians of nine rounds of a million references: in order, by Zipf's law
and uniformly over all that is resident; the last is what the processor's own caches miss, LRU's too. Where an aim is missed is printed
last. Times on a busy machine are longer, LRU's too: how many times LRU's they are holds there as well.

Raw results go to bench/results/policies-cost.json. A minute, and what cargo builds; `--table` only prints them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cells as traced
import common

NAME = "policies-cost"
OURS, BESIDE = "informed", "lru"
HITS = ("sequential", "zipf", "uniform")
GIVEN_UP = "miss and evict"
HIT_NS_MAX, BLOCK_BYTES_MAX, GHOST_BYTES_MAX = 150, 96, 32


def measure():
    command = [os.environ.get("CARGO", "cargo"), "bench", "-p", "foresee-manager", "--bench", "reference", "--", "--json", OURS]
    done = subprocess.run(command, cwd=common.ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def costs(rows):
    """What each cost is of the default policy and of LRU, with its aim and unit."""
    found = {(row["policy"], row["pattern"]): row for row in rows}

    def both(pattern, key):
        return found[OURS, pattern][key], found[BESIDE, pattern][key]
    return [
        *((f"a hit, {pattern}", "ns", HIT_NS_MAX, *both(pattern, "ns")) for pattern in HITS),
        ("a resident block", "bytes", BLOCK_BYTES_MAX, *both(HITS[0], "bytes")),
        ("a ghost", "bytes", GHOST_BYTES_MAX, *both(GIVEN_UP, "ghost_bytes")),
    ]


def main():
    arguments = traced.options(__doc__).parse_args()
    if not arguments.table:
        common.keep(arguments, NAME, {"machine": common.machine(), "rows": measure()})
    table = costs(traced.read(arguments, NAME)["rows"])
    print(f"{'cost':<20} {'':<5} {'aim':>6} {OURS:>9} {BESIDE:>9} {'times':>6}")
    for what, unit, aim, ours, beside in table:
        times = f"{ours / beside:.2f}" if beside else ""
        print(f"{what:<20} {unit:<5} {aim:>6} {ours:>9.1f} {beside:>9.1f} {times:>6}")
    short = [f"{what} ({ours:.1f} {unit} for {aim})" for what, unit, aim, ours, _ in table if ours > aim]
    print("Falls short: " + (", ".join(short) or "nowhere"))


main()
